//! `/v1/nats-sources/state`: how sources of commands on NATS stand. The sources themselves are in [`super::resources`].

use actix_web::{HttpRequest, HttpResponse, web};

use super::call;
use crate::api::NatsSourceStates;
use crate::http::State;
use crate::http::problem::Problem;
use crate::http::query::Query;

/// How the sources of commands of the answering node stand.
#[utoipa::path(get, path = "/v1/nats-sources/state", tag = "configuration",
    responses((status = 200, description = "Those that it takes commands from", body = NatsSourceStates)))]
pub(super) async fn state(
    request: HttpRequest,
    state: web::Data<State>,
) -> Result<HttpResponse, Problem> {
    Query::read(&request, &[])?;
    let sources = call(&state, async |admin| admin.sources.list()).await?;
    Ok(HttpResponse::Ok().json(NatsSourceStates { sources }))
}
