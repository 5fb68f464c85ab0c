//! `/v1/nats-sources/state`: how sources of commands on NATS stand. The sources themselves are in [`super::resources`].

use actix_web::HttpResponse;

use super::call;
use crate::api::NatsSourceStates;
use crate::http::api_request::{ApiAnswer, ApiRequest};
use crate::http::query::Query;

/// How the sources of commands of the answering node stand.
#[utoipa::path(get, path = "/v1/nats-sources/state", tag = "configuration",
    responses((status = 200, description = "Those that it takes commands from", body = NatsSourceStates)))]
pub(super) async fn state(request: ApiRequest) -> ApiAnswer {
    Query::read(&request, &[])?;
    let sources = call(&request, async |admin| admin.sources.list()).await?;
    Ok(HttpResponse::Ok().json(NatsSourceStates { sources }))
}
