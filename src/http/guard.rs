//! Requests that are refused before they are read.

use actix_web::Error;
use actix_web::body::MessageBody;
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::http::header::{CONTENT_LENGTH, TRANSFER_ENCODING};
use actix_web::middleware::Next;

use super::problem::Problem;

/// Longest request body: one resource needs less.
const MAX_BODY: u64 = 16 * 1024;
/// Longest configuration as one document: tens of thousands of routes.
pub(super) const MAX_DOCUMENT: u64 = 16 * 1024 * 1024;
/// The paths that take it, or the names of all of a kind.
const DOCUMENTS: [&str; 2] = ["/v1/config", "/v1/mo-rules"];

/// Middleware: refuses requests with a large body before anything reads it.
pub(super) async fn small_requests(
    request: ServiceRequest,
    next: Next<impl MessageBody>,
) -> Result<ServiceResponse<impl MessageBody>, Error> {
    let headers = request.headers();
    let announced = headers
        .get(CONTENT_LENGTH)
        .and_then(|value| value.to_str().ok()?.parse::<u64>().ok());
    let limit = match DOCUMENTS.contains(&request.path()) {
        true => MAX_DOCUMENT,
        false => MAX_BODY,
    };
    if announced.is_some_and(|length| length > limit) || headers.contains_key(TRANSFER_ENCODING) {
        return Err(Problem::too_large(limit).into());
    }
    next.call(request).await
}
