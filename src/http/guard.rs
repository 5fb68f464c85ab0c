//! Which methods a path takes, and what the rest is answered.

use actix_web::body::MessageBody;
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::guard::{Any, Get, Head};
use actix_web::http::header::{CONTENT_LENGTH, TRANSFER_ENCODING};
use actix_web::middleware::Next;
use actix_web::{Error, FromRequest, Handler, HttpRequest, Resource, Responder, web};

use super::problem::Problem;

/// Longest request body; no request of this API needs one.
const MAX_BODY: u64 = 16 * 1024;

/// A path, and what it is there for.
pub(super) struct Path {
    path: &'static str,
    method: Method,
}

#[derive(Clone, Copy)]
enum Method {
    Read,
    Command,
    Remove,
}

/// A path that is read.
pub(super) fn read(path: &'static str) -> Path {
    Path {
        path,
        method: Method::Read,
    }
}

/// A path that carries out a command.
pub(super) fn command(path: &'static str) -> Path {
    Path {
        path,
        method: Method::Command,
    }
}

/// A path whose content is removed.
pub(super) fn removal(path: &'static str) -> Path {
    Path {
        path,
        method: Method::Remove,
    }
}

// === impl Path ===

impl Path {
    /// The resource with its handler, and an answer to every other method.
    pub(super) fn to<F, Args>(self, handler: F) -> Resource
    where
        F: Handler<Args>,
        Args: FromRequest + 'static,
        F::Output: Responder + 'static,
    {
        let resource = web::resource(self.path);
        match self.method {
            Method::Read => resource
                .route(web::route().guard(Any(Get()).or(Head())).to(handler))
                .default_service(web::to(|request: HttpRequest| {
                    wrong_method(request, "GET, HEAD")
                })),
            Method::Command => resource
                .route(web::post().to(handler))
                .default_service(web::to(|request: HttpRequest| {
                    wrong_method(request, "POST")
                })),
            Method::Remove => resource
                .route(web::delete().to(handler))
                .default_service(web::to(|request: HttpRequest| {
                    wrong_method(request, "DELETE")
                })),
        }
    }
}

async fn wrong_method(
    request: HttpRequest,
    allowed: &'static str,
) -> Result<&'static str, Problem> {
    Err(Problem::method_not_allowed(
        request.method().as_str(),
        request.path(),
        allowed,
    ))
}

/// Answers whatever has no route.
pub(super) async fn unknown_path(request: HttpRequest) -> Result<&'static str, Problem> {
    Err(Problem::not_found(format!(
        "there is nothing at {}; the paths are /health/live, /health/ready, /metrics, /v1/queues, /v1/binds, /v1/operators, /v1/nodes, /v1/events, /v1/messages and /v1/subscribers/MSISDN/messages",
        request.path()
    )))
}

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
