//! `/v1/sinks`: what waits for each event sink, and what has become of publishing.

use super::answer;
use crate::actors::control::admin::sinks;
use crate::api::Sinks;
use crate::http::api_request::{ApiAnswer, ApiRequest};
use crate::http::query::Query;

/// Every event sink of the configuration: what waits on all nodes, and what the answering node has published.
#[utoipa::path(get, path = "/v1/sinks", tag = "outbox",
    responses((status = 200, description = "The event sinks", body = Sinks)))]
pub(super) async fn list(request: ApiRequest) -> ApiAnswer {
    Query::read(&request, &[])?;
    answer(&request, sinks::list).await
}
