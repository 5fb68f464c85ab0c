//! The id of a request: in every answer, in problems, in the log and in spans, so that a client and the administrator
//! speak of the same request.
//!
//! A client or a proxy may bring an id of its own in X-Request-Id. Problems are written where the request is not at
//! hand, so the id is in the task that serves it.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use actix_web::Error;
use actix_web::body::MessageBody;
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::error::InternalError;
use actix_web::http::header::{
    CACHE_CONTROL, HeaderMap, HeaderName, HeaderValue, X_CONTENT_TYPE_OPTIONS,
};
use actix_web::middleware::Next;

use super::audit::shown_path;
use super::peers;
use super::problem::ProblemType;
use crate::actors::runtime::locks::lock;

pub(super) const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
/// Longest id of a client's own.
const LONGEST: usize = 64;
/// Refused requests of a [`WINDOW`] that are logged one by one.
const MOST_LINES: u32 = 1_000;
const WINDOW: Duration = Duration::from_secs(60);

tokio::task_local! {
    static CURRENT: String;
}

/// Lines of the log about refused requests, so that no crowd fills it.
struct RefusalLines(Mutex<Option<LineWindow>>);

struct LineWindow {
    since: Instant,
    lines: u32,
    left_out: u32,
}

static LINES: RefusalLines = RefusalLines(Mutex::new(None));

/// The id of the request that this task serves.
pub(super) fn current() -> Option<String> {
    CURRENT.try_with(String::clone).ok()
}

/// Middleware, the outermost one: gives the request its id, and the answer the fields that all answers have.
pub(super) async fn mark(
    request: ServiceRequest,
    next: Next<impl MessageBody>,
) -> Result<ServiceResponse<impl MessageBody>, Error> {
    let id = given(request.headers()).unwrap_or_else(|| format!("{:032x}", rand::random::<u128>()));
    let method = request.method().clone();
    let path = shown_path(request.request());
    let client = peers::client(request.request());
    CURRENT
        .scope(id.clone(), async move {
            let mut answer = match next.call(request).await {
                Ok(answer) => Ok(answer),
                Err(error) => {
                    let response = error.error_response();
                    Err((error, response))
                }
            };
            let (status, kind, headers) = match &mut answer {
                Ok(answer) => {
                    let kind = answer.response().extensions().get::<ProblemType>().copied();
                    (answer.status(), kind, answer.headers_mut())
                }
                Err((_, response)) => {
                    let kind = response.extensions().get::<ProblemType>().copied();
                    (response.status(), kind, response.headers_mut())
                }
            };
            for (name, value) in [
                (CACHE_CONTROL, HeaderValue::from_static("no-store")),
                (X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
            ] {
                if !headers.contains_key(&name) {
                    headers.insert(name, value);
                }
            }
            if let Ok(value) = HeaderValue::try_from(id.as_str()) {
                headers.insert(REQUEST_ID, value);
            }
            if let Some(kind) = kind
                && LINES.may_write(Instant::now())
            {
                let client = client.map(tracing::field::display);
                let status = status.as_u16();
                tracing::info!(
                    target: "http", request_id = id, %method, path, client, status, problem = kind.as_str(),
                    "refused"
                );
            }
            answer.map_err(|(error, response)| InternalError::from_response(error, response).into())
        })
        .await
}

/// The id that a client or a proxy has given.
fn given(headers: &HeaderMap) -> Option<String> {
    let text = headers.get(REQUEST_ID)?.to_str().ok()?;
    let is_plain = |sign: u8| sign.is_ascii_alphanumeric() || b"-_.:".contains(&sign);
    let fits = (1..=LONGEST).contains(&text.len()) && text.bytes().all(is_plain);
    fits.then(|| text.to_owned())
}

// === impl RefusalLines ===

impl RefusalLines {
    /// Whether one more line is written; says at the end of a window how many were not.
    fn may_write(&self, now: Instant) -> bool {
        let mut window = lock(&self.0);
        let fresh = || LineWindow {
            since: now,
            lines: 0,
            left_out: 0,
        };
        let window = window.get_or_insert_with(fresh);
        if now.duration_since(window.since) >= WINDOW {
            if window.left_out > 0 {
                let left_out = window.left_out;
                tracing::info!(target: "http", left_out, "more requests were refused");
            }
            *window = fresh();
        }
        let may = window.lines < MOST_LINES;
        if may {
            window.lines += 1;
        } else {
            window.left_out = window.left_out.saturating_add(1);
        }
        may
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_of_clients_are_plain_and_short() {
        let of = |text: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(REQUEST_ID, HeaderValue::from_str(text).unwrap());
            given(&headers)
        };
        let id = "4a0b8a1e-0a52-4f6e-9f3c-1d3d4c1f9a77";
        assert_eq!(of(id).as_deref(), Some(id));
        for wrong in ["", "a b", "\"x\"", &"x".repeat(65)] {
            assert_eq!(of(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_crowd_is_summed_up() {
        let lines = RefusalLines(Mutex::new(None));
        let now = Instant::now();
        let written = (0..MOST_LINES + 10)
            .filter(|_| lines.may_write(now))
            .count();
        assert_eq!(written, MOST_LINES as usize);
        assert!(lines.may_write(now + WINDOW));
    }
}
