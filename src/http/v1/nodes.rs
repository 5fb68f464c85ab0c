//! `/v1/nodes`: the nodes that share the store, and what each of them holds.

use actix_web::HttpResponse;

use super::call;
use crate::actors::control::admin::nodes;
use crate::api::Nodes;
use crate::http::api_request::{ApiAnswer, ApiRequest};
use crate::http::query::Query;

/// The nodes that share the store, and what each of them owns.
#[utoipa::path(get, path = "/v1/nodes", tag = "nodes",
    responses((status = 200, description = "Empty with the embedded store", body = Nodes)))]
pub(super) async fn list(request: ApiRequest) -> ApiAnswer {
    Query::read(&request, &[])?;
    Ok(HttpResponse::Ok().json(call(&request, nodes::list).await?))
}
