//! `/v1/binds`: every SMPP session, inbound and outbound.

use actix_web::{HttpRequest, HttpResponse, web};

use super::ask;
use crate::api::{Bind, Binds};
use crate::http::State;
use crate::http::problem::Problem;
use crate::http::query::Query;
use crate::pb::ListBinds;

/// Every SMPP session, inbound and outbound, of this node.
#[utoipa::path(get, path = "/v1/binds", tag = "binds",
    responses((status = 200, description = "Oldest first", body = Binds)))]
pub(super) async fn list(
    request: HttpRequest,
    state: web::Data<State>,
) -> Result<HttpResponse, Problem> {
    Query::read(&request, &[])?;
    let list = ask(&state, ListBinds {}).await?;
    Ok(HttpResponse::Ok().json(Binds {
        binds: list.binds.into_iter().map(Bind::from).collect(),
    }))
}
