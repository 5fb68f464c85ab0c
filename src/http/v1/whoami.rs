//! `/v1/self`: whose token it is, and what it may.

use actix_web::{HttpRequest, HttpResponse};

use crate::http::problem::Problem;
use crate::http::query::Query;
use crate::http::view::Myself;

/// `GET /v1/self`
pub(super) async fn look(request: HttpRequest) -> Result<HttpResponse, Problem> {
    Query::read(&request, &[])?;
    // There is one token, and it may do everything.
    Ok(HttpResponse::Ok().json(Myself {
        name: "admin token".to_owned(),
        role: "admin".to_owned(),
    }))
}
