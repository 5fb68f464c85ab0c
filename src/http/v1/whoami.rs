//! `/v1/self`: the name of the token and its permissions.

use actix_web::{HttpRequest, HttpResponse};

use crate::api::Myself;
use crate::http::api_request::ApiAnswer;
use crate::http::auth::myself;
use crate::http::query::Query;

/// The name and role of the token of this request.
#[utoipa::path(get, path = "/v1/self", tag = "access",
    responses((status = 200, description = "The token of this request", body = Myself)))]
pub(super) async fn look(request: HttpRequest) -> ApiAnswer {
    Query::read(&request, &[])?;
    Ok(HttpResponse::Ok().json(myself(&request)?))
}
