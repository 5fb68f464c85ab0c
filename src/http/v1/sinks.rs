//! `/v1/sinks`: what waits for each event sink, and what has become of publishing.

use actix_web::{HttpRequest, HttpResponse, web};

use super::call;
use crate::actors::control::admin::sinks;
use crate::api::Sinks;
use crate::http::State;
use crate::http::problem::Problem;
use crate::http::query::Query;

/// Every event sink of the configuration: what waits on all nodes, and what the answering node has published.
#[utoipa::path(get, path = "/v1/sinks", tag = "outbox",
    responses((status = 200, description = "The event sinks", body = Sinks)))]
pub(super) async fn list(
    request: HttpRequest,
    state: web::Data<State>,
) -> Result<HttpResponse, Problem> {
    Query::read(&request, &[])?;
    Ok(HttpResponse::Ok().json(call(&state, sinks::list).await??))
}
