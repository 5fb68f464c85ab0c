//! `/v1/drain` and `/v1/log-level`: this node itself.

use actix_web::{HttpRequest, HttpResponse, web};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{body, call};
use crate::actors::control::admin::drain;
use crate::api::Drain;
use crate::http::api_request::{ApiAnswer, ApiRequest};
use crate::http::problem::Problem;
use crate::http::query::Query;
use crate::telemetry::logs;

/// What this node logs.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct LogLevel {
    /// A filter such as `info,smsc::smpp=debug`.
    level: String,
}

/// What this node shall log.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct LogLevelOrder {
    /// `off`, `error`, `warn`, `info`, `debug` or `trace`, or a filter such as `info,smsc::smpp=debug`.
    /// The target `audit` is logged in any case.
    #[schema(min_length = 1, max_length = 500)]
    level: String,
}

/// The progress of the drain of this node.
#[utoipa::path(get, path = "/v1/drain", tag = "nodes",
    responses((status = 200, description = "Also without a drain", body = Drain)))]
pub(super) async fn drain(request: ApiRequest) -> ApiAnswer {
    Query::read(&request, &[])?;
    Ok(HttpResponse::Ok().json(call(&request, drain::show).await?))
}

/// Begins the drain of this node.
///
/// The node accepts nothing more, finishes its windows, unbinds, hands over what it owns to other
/// nodes, and `/health/ready` answers 503. The process stays, so that it can be inspected, stopped,
/// or resumed.
#[utoipa::path(post, path = "/v1/drain", tag = "nodes",
    responses((status = 200, description = "It has begun", body = Drain)))]
pub(super) async fn begin_drain(request: ApiRequest) -> ApiAnswer {
    Query::read(&request, &[])?;
    Ok(HttpResponse::Ok().json(call(&request, drain::begin).await?))
}

/// Ends the drain of this node: it accepts messages and binds again.
#[utoipa::path(delete, path = "/v1/drain", tag = "nodes",
    responses((status = 200, description = "It has ended", body = Drain)))]
pub(super) async fn end_drain(request: ApiRequest) -> ApiAnswer {
    Query::read(&request, &[])?;
    Ok(HttpResponse::Ok().json(call(&request, drain::end).await?))
}

/// What this node logs.
#[utoipa::path(get, path = "/v1/log-level", tag = "nodes",
    responses((status = 200, description = "The filter in force", body = LogLevel)))]
pub(super) async fn log_level(request: HttpRequest) -> ApiAnswer {
    Query::read(&request, &[])?;
    let level = logs::level();
    Ok(HttpResponse::Ok().json(LogLevel { level }))
}

/// Changes what this node logs, until it is restarted.
#[utoipa::path(put, path = "/v1/log-level", tag = "nodes", request_body = LogLevelOrder,
    responses((status = 200, description = "The filter in force", body = LogLevel)))]
pub(super) async fn set_log_level(request: HttpRequest, octets: web::Bytes) -> ApiAnswer {
    Query::read(&request, &[])?;
    let order: LogLevelOrder = body(&octets)?;
    logs::set_level(&order.level).map_err(|reason| Problem::bad_value("level", reason))?;
    let level = logs::level();
    Ok(HttpResponse::Ok().json(LogLevel { level }))
}
