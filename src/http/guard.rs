//! Requests that are refused before they are read: bodies that are too long, of unknown length, or compressed.

use actix_web::Error;
use actix_web::body::{BoxBody, MessageBody};
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::http::header::{CONTENT_ENCODING, CONTENT_LENGTH, TRANSFER_ENCODING};
use actix_web::middleware::Next;

use super::api_request::MiddlewareAnswer;
use super::problem::Problem;

/// Longest request body: one resource needs less, but for those of [`LONG`].
const MAX_BODY: u64 = 16 * 1024;
/// Longest list of addresses: tens of thousands of them.
const MAX_LIST: u64 = 1024 * 1024;
/// The resources that may hold addresses or prices one by one.
const LONG: [&str; 5] = [
    "/v1/accounts/",
    "/v1/lists/",
    "/v1/number-ranges/",
    "/v1/operators/",
    "/v1/policies/",
];
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
    let path = request.path();
    let limit = match path {
        _ if DOCUMENTS.contains(&path) => MAX_DOCUMENT,
        _ if LONG.iter().any(|long| path.starts_with(long)) => MAX_LIST,
        _ => MAX_BODY,
    };
    if announced.is_some_and(|length| length > limit) {
        return Err(Problem::too_large(limit).into());
    }
    if headers.contains_key(TRANSFER_ENCODING) {
        return Err(Problem::length_required().into());
    }
    check_encoding(&request)?;
    next.call(request).await
}

/// Middleware: refuses compressed bodies.
pub(super) async fn plain_bodies(request: ServiceRequest, next: Next<BoxBody>) -> MiddlewareAnswer {
    check_encoding(&request)?;
    next.call(request).await
}

/// Bodies are read as they are (RFC 9110 §8.4): a compressed one could have any size.
fn check_encoding(request: &ServiceRequest) -> Result<(), Problem> {
    let encoding = request.headers().get(CONTENT_ENCODING);
    let encoding = encoding.map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned());
    match encoding.filter(|value| !value.trim().eq_ignore_ascii_case("identity")) {
        None => Ok(()),
        Some(encoding) => {
            let detail =
                format!("the body has the Content-Encoding {encoding:?}; send it as it is");
            Err(Problem::unsupported_encoding(detail))
        }
    }
}
