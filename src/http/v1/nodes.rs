//! `/v1/nodes`: the nodes that share the store, and what each of them holds.

use actix_web::{HttpRequest, HttpResponse, web};

use super::call;
use crate::actors::control::admin::nodes;
use crate::api::Nodes;
use crate::http::State;
use crate::http::problem::Problem;
use crate::http::query::Query;

/// The nodes that share the store, and what each of them owns.
#[utoipa::path(get, path = "/v1/nodes", tag = "nodes",
    responses((status = 200, description = "Empty with the embedded store", body = Nodes)))]
pub(super) async fn list(
    request: HttpRequest,
    state: web::Data<State>,
) -> Result<HttpResponse, Problem> {
    Query::read(&request, &[])?;
    Ok(HttpResponse::Ok().json(call(&state, nodes::list).await?))
}
