//! `/v1/nodes`: the nodes that share the store, and what each of them holds.

use actix_web::{HttpRequest, HttpResponse, web};

use super::ask;
use crate::http::State;
use crate::http::problem::Problem;
use crate::http::query::Query;
use crate::http::view::Nodes;
use crate::pb::ListNodes;

/// `GET /v1/nodes`
pub(super) async fn list(
    request: HttpRequest,
    state: web::Data<State>,
) -> Result<HttpResponse, Problem> {
    Query::read(&request, &[])?;
    let list = ask(&state, ListNodes {}).await?;
    Ok(HttpResponse::Ok().json(Nodes::from(list)))
}
