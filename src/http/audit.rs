//! Middleware: records every request that does more than read in the audit log, with its outcome.
//!
//! It runs after the token check, so that it knows the token, and before the role check, so that it
//! records refusals too: some per token and minute one by one, the others as a number, so that a client
//! without permission cannot fill the log. Reading texts is recorded too. A dry run changes nothing and is not recorded,
//! unless its role was refused: then the entry says that it was one.

use std::time::{Duration, Instant};

use actix_web::body::BoxBody;
use actix_web::dev::ServiceRequest;
use actix_web::http::{Method, StatusCode};
use actix_web::middleware::Next;
use actix_web::{HttpMessage, HttpRequest, web};

use super::api_request::MiddlewareAnswer;
use super::limit::RefusalAudit;
use super::{State, peers, request_ids};
use crate::actors::context::audit::AuditNote;
use crate::actors::control::access::Bearer;
use crate::actors::control::admin::{AdminCall, access};
use crate::domain::address::{mask, mask_in};

/// The store has as long; the log line is there in any case.
const WITHIN: Duration = Duration::from_secs(5);
/// How the path of an estimate ends.
const ESTIMATE: &str = "/messages/estimate";
/// What stands before a subscriber's number.
const NUMBERS: [&str; 4] = [
    "/v1/subscribers/",
    "/v1/opt-outs/",
    "/v1/lookups/network/",
    "/v1/lookups/imsi/",
];

/// A handler's detail about a request that is not in its path. A read with a detail is recorded
/// too.
#[derive(Debug, Clone)]
pub(super) struct Detail {
    said: String,
    /// The version of the configuration that was made, 0 for none.
    version: u64,
}

/// A request only asks what would change. A handler says so, which knows: a query alone hides nothing.
#[derive(Debug, Clone, Copy)]
struct DryRun;

/// Adds a detail for the audit log that is not in the path.
pub(super) fn detail(request: &HttpRequest, said: impl Into<String>) {
    changed(request, said, 0);
}

/// Adds what a request has changed of the configuration, and the version that it made.
pub(super) fn changed(request: &HttpRequest, said: impl Into<String>, version: u64) {
    let said = said.into();
    request.extensions_mut().insert(Detail { said, version });
}

/// Says that a request changes nothing, because its query or its body says so.
pub(super) fn is_dry_run(request: &HttpRequest) {
    request.extensions_mut().insert(DryRun);
}

/// Records commands and changes, and reads with a [`Detail`].
pub(super) async fn note(request: ServiceRequest, next: Next<BoxBody>) -> MiddlewareAnswer {
    let is_look = is_look(request.method(), request.path());
    let asks_for_dry_run = asks_for_dry_run(request.query_string());
    let bearer = request.extensions().get::<Bearer>().cloned();
    let state = request.app_data::<web::Data<State>>().cloned();
    let mut note = note_of(request.request());
    if let Some(bearer) = bearer {
        note.token = bearer.name;
        note.role = bearer.role.to_string();
    }
    let answer = next.call(request).await;
    let mut is_dry_run = false;
    let status = match &answer {
        Ok(answer) => {
            let extensions = answer.request().extensions();
            if let Some(detail) = extensions.get::<Detail>() {
                note.detail.clone_from(&detail.said);
                note.version = detail.version;
            }
            is_dry_run = extensions.get::<DryRun>().is_some();
            answer.status()
        }
        Err(error) => error.as_response_error().status_code(),
    };
    if is_look && note.detail.is_empty() || is_dry_run {
        return answer;
    }
    // No handler was reached.
    if asks_for_dry_run && status == StatusCode::FORBIDDEN {
        note.detail = "a dry run".to_owned();
    }
    note.status = status.as_u16();
    let Some(state) = state else {
        tell(&note);
        return answer;
    };
    if status.is_client_error() {
        write_refusal(&state, note).await;
    } else {
        write(&state, note).await;
    }
    answer
}

/// What a request is, without whose it is and what has become of it.
pub(super) fn note_of(request: &HttpRequest) -> AuditNote {
    let address = peers::client(request);
    AuditNote {
        address: address.map_or_else(String::new, |address| address.to_string()),
        method: request.method().to_string(),
        path: shown_path(request),
        ..AuditNote::default()
    }
}

/// Records a request that was refused, unless its token has had so many of them that they are summed up.
pub(super) async fn write_refusal(state: &web::Data<State>, note: AuditNote) {
    match state.clients.refused(&note.token, Instant::now()) {
        RefusalAudit::Write => write(state, note).await,
        RefusalAudit::Count => {}
        RefusalAudit::CountFor(left) => {
            actix_web::rt::spawn(sum_up(state.clone(), note, left));
        }
    }
}

/// Whether a request changes nothing: an estimate is a POST only because it has a body.
fn is_look(method: &Method, path: &str) -> bool {
    [Method::GET, Method::HEAD].contains(method) || path.ends_with(ESTIMATE)
}

/// Whether a query says `dry_run=true`, in any form in which handlers take it.
fn asks_for_dry_run(query: &str) -> bool {
    let asked = ["dry_run=true", "dry_run=1"];
    query.split('&').any(|one| asked.contains(&one))
}

/// One entry for all refused requests of a token that were not written one by one, when the time is
/// over for which they are counted.
async fn sum_up(state: web::Data<State>, mut note: AuditNote, left: Duration) {
    tokio::time::sleep(left).await;
    let count = state.clients.refused_besides(&note.token);
    note.detail = format!("one of {count} refused requests of a minute, not written one by one");
    write(&state, note).await;
}

/// Records a request that is none of `/v1`.
pub(super) async fn write(state: &State, note: AuditNote) {
    tell(&note);
    let order = AdminCall(|admin| access::note(admin, note));
    match state.admin.send(order).timeout(WITHIN).await {
        Ok(Ok(())) => {}
        Ok(Err(refusal)) => {
            tracing::error!(reason = refusal.detail, "not written into the audit log");
        }
        Err(error) => tracing::error!(%error, "not written into the audit log"),
    }
}

/// Records a request in the log of the node.
pub(super) fn tell(note: &AuditNote) {
    tracing::info!(
        target: "audit",
        token = note.token, role = note.role, address = note.address, method = note.method,
        path = note.path, status = note.status, detail = note.detail,
        version = (note.version > 0).then_some(note.version),
        request_id = request_ids::current(),
        "request"
    );
}

/// The detail about a change of an opt-out list: whose it is (empty for that of everybody), and why, without the number
/// as it was asked for.
pub(super) fn of_opt_out(account: &str, number: &str, reason: &str) -> String {
    let list = match account {
        "" => "the list for all accounts".to_owned(),
        account => format!("the list of {account}"),
    };
    match reason {
        "" => list,
        reason => format!("{list}: {}", mask_in(reason, number.as_bytes())),
    }
}

/// The path of a request for logs, spans and the audit log, which outlive the erasure of a subscriber: without the number.
/// A path that is none of this server's is not shown: what a stranger writes there may be a number or a text.
pub(super) fn shown_path(request: &HttpRequest) -> String {
    match request.match_pattern() {
        Some(_) => without_number(request.path()),
        None => "(no path of this server)".to_owned(),
    }
}

fn without_number(path: &str) -> String {
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
    use super::*;

    #[test]
    fn an_estimate_is_a_look() {
        assert!(is_look(&Method::POST, "/v1/accounts/a/messages/estimate"));
        assert!(is_look(&Method::GET, "/v1/queues"));
        assert!(!is_look(&Method::POST, "/v1/accounts/a/messages"));
    }

    #[test]
    fn a_dry_run_is_known_by_its_query() {
        for (query, is_one) in [
            ("dry_run=true", true),
            ("resource=routes/44&dry_run=1", true),
            ("dry_run=false", false),
            ("", false),
            ("dry_run=true2", false),
        ] {
            assert_eq!(asks_for_dry_run(query), is_one, "{query}");
        }
    }

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
        let path = without_number("/v1/lookups/imsi/447700900123");
        assert_eq!(path, "/v1/lookups/imsi/4477*****123");
        assert_eq!(without_number("/v1/lookups/imsi"), "/v1/lookups/imsi");
        assert_eq!(
            of_opt_out(
                "shop",
                "+447700900123",
                "+447700900123 asked, ticket 20360712"
            ),
            "the list of shop: +4477*****123 asked, ticket 20360712"
        );
    }
}
