//! What is refused before anything reads it.

use actix_web::Error;
use actix_web::body::MessageBody;
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::http::header::{CONTENT_LENGTH, TRANSFER_ENCODING};
use actix_web::middleware::Next;

use super::problem::Problem;

/// Longest request body; no request of this API needs one.
const MAX_BODY: u64 = 16 * 1024;

/// Middleware: refuses requests with a large body before anything reads it.
pub(super) async fn small_requests(
    request: ServiceRequest,
    next: Next<impl MessageBody>,
) -> Result<ServiceResponse<impl MessageBody>, Error> {
    let headers = request.headers();
    let announced = headers
        .get(CONTENT_LENGTH)
        .and_then(|value| value.to_str().ok()?.parse::<u64>().ok());
    if announced.is_some_and(|length| length > MAX_BODY) || headers.contains_key(TRANSFER_ENCODING)
    {
        return Err(Problem::too_large(MAX_BODY).into());
    }
    next.call(request).await
}
