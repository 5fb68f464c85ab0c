//! `/v1/archive`: how far finished messages have been copied elsewhere.

use super::answer;
use crate::actors::control::admin::archive;
use crate::api::Archive;
use crate::http::api_request::{ApiAnswer, ApiRequest};
use crate::http::query::Query;

/// How the archive stands: what waits in the store, and what the answering node has written.
#[utoipa::path(get, path = "/v1/archive", tag = "nodes",
    responses((status = 200, description = "Also where there is none", body = Archive)))]
pub(super) async fn show(request: ApiRequest) -> ApiAnswer {
    Query::read(&request, &[])?;
    answer(&request, archive::show).await
}
