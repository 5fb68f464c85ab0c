//! Middleware: whatever is not a mere look is written down, with what came of it.
//!
//! Wrapped by the check of the token, so that it knows whose request it is; it wraps the check of the
//! role, so that refusals are in the log too.

use std::time::Duration;

use actix_web::body::BoxBody;
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::http::Method;
use actix_web::middleware::Next;
use actix_web::{Error, HttpMessage, web};

use super::State;
use crate::actors::access::Bearer;
use crate::domain::address::mask;
use crate::pb::NoteAudit;

/// The store has as long; the log line is there in any case.
const WITHIN: Duration = Duration::from_secs(5);
/// What stands before a subscriber's number.
const NUMBERS: [&str; 2] = ["/v1/subscribers/", "/v1/opt-outs/"];

/// Writes commands and changes down.
pub(super) async fn note(
    request: ServiceRequest,
    next: Next<BoxBody>,
) -> Result<ServiceResponse<BoxBody>, Error> {
    if [Method::GET, Method::HEAD].contains(request.method()) {
        return next.call(request).await;
    }
    let bearer = request.extensions().get::<Bearer>().cloned();
    let state = request.app_data::<web::Data<State>>().cloned();
    let mut note = NoteAudit {
        address: request
            .peer_addr()
            .map_or_else(String::new, |peer| peer.ip().to_string()),
        method: request.method().to_string(),
        path: without_number(request.path()),
        ..NoteAudit::default()
    };
    if let Some(bearer) = bearer {
        note.token = bearer.name;
        note.role = bearer.role.to_string();
    }
    let answer = next.call(request).await;
    let status = match &answer {
        Ok(answer) => answer.status(),
        Err(error) => error.as_response_error().status_code(),
    };
    note.status = status.as_u16().into();
    tracing::info!(
        target: "audit",
        token = note.token, role = note.role, address = note.address, method = note.method,
        path = note.path, status = note.status,
        "request"
    );
    if let Some(state) = state {
        match state.admin.send(note).timeout(WITHIN).await {
            Ok(Ok(_)) => {}
            Ok(Err(refusal)) => {
                tracing::error!(reason = refusal.detail, "not written into the audit log");
            }
            Err(error) => tracing::error!(%error, "not written into the audit log"),
        }
    }
    answer
}

/// The audit log outlives the erasure of a subscriber: it must not keep the number.
pub(super) fn without_number(path: &str) -> String {
    let split = |head: &&str| path.starts_with(head);
    let Some(head) = NUMBERS.into_iter().find(split) else {
        return path.to_owned();
    };
    let rest = &path[head.len()..];
    let (number, rest) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    format!("{head}{}{rest}", mask(number.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::without_number;

    #[test]
    fn numbers_are_masked() {
        assert_eq!(
            without_number("/v1/queues/a/suspend"),
            "/v1/queues/a/suspend"
        );
        let path = without_number("/v1/subscribers/447700900123/messages");
        assert!(!path.contains("447700900123"), "{path}");
        assert!(path.ends_with("/messages"), "{path}");
        let path = without_number("/v1/opt-outs/447700900123");
        assert_eq!(path, "/v1/opt-outs/4477*****123");
    }
}
