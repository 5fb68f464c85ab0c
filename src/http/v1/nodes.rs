//! `/v1/nodes`: the nodes that share the store, and what each of them holds.

use actix_web::{HttpRequest, HttpResponse, web};

use super::ask;
use crate::api::Nodes;
use crate::http::State;
use crate::http::problem::Problem;
use crate::http::query::Query;
use crate::pb::ListNodes;

/// The nodes that share the store, and what each of them owns.
#[utoipa::path(get, path = "/v1/nodes", tag = "nodes",
    responses((status = 200, description = "Empty with the embedded store", body = Nodes)))]
pub(super) async fn list(
    request: HttpRequest,
    state: web::Data<State>,
) -> Result<HttpResponse, Problem> {
    Query::read(&request, &[])?;
    let list = ask(&state, ListNodes {}).await?;
    Ok(HttpResponse::Ok().json(Nodes::from(list)))
}
