//! `/v1/self`: whose token it is, and what it may.

use actix_web::{HttpMessage as _, HttpRequest, HttpResponse};

use crate::actors::access::Bearer;
use crate::http::problem::Problem;
use crate::http::query::Query;
use crate::http::view::Myself;

/// Whose token this is, and what it may.
#[utoipa::path(get, path = "/v1/self", tag = "access",
    responses((status = 200, description = "Of the token of this request", body = Myself)))]
pub(super) async fn look(request: HttpRequest) -> Result<HttpResponse, Problem> {
    Query::read(&request, &[])?;
    let extensions = request.extensions();
    let bearer = extensions
        .get::<Bearer>()
        .ok_or_else(|| Problem::unavailable("nobody has looked at the token"))?;
    Ok(HttpResponse::Ok().json(Myself {
        name: bearer.name.clone(),
        role: bearer.role.to_string(),
    }))
}
