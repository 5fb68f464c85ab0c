//! Errors as problem+json (RFC 9457): what went wrong, with which field, and what to do.

mod kinds;
mod limits;

use std::fmt;
use std::time::Duration;

use actix::MailboxError;
use actix_web::http::StatusCode;
use actix_web::{HttpResponse, ResponseError};
use serde_json::{Map, Value, json};

use super::request_ids;
use crate::actors::control::settings::SettingsError;
use crate::api::{ProblemDetails, findings};
use crate::config;
use crate::domain::access::{AccessRole, KeyRole};
use crate::domain::settings::ResourceKey;
use crate::pb::Refusal;
use crate::pb::refusal::Reason;

pub(super) use self::kinds::ProblemType;
pub(crate) use self::limits::LimitName;

/// The media type of every error.
pub(super) const CONTENT_TYPE: &str = "application/problem+json";
/// `type` of a problem: `urn:smsc:problem:` and a word that stays the same for ever.
const TYPE_PREFIX: &str = "urn:smsc:problem:";

/// An error answer.
#[derive(Debug)]
pub(crate) struct Problem {
    status: StatusCode,
    kind: ProblemType,
    title: &'static str,
    detail: String,
    /// More members, such as `field`.
    more: Map<String, Value>,
    /// One more header, such as Allow.
    header: Option<Box<(&'static str, String)>>,
}

// === impl Problem ===

impl Problem {
    fn new(kind: ProblemType, detail: impl Into<String>) -> Self {
        Self {
            status: kind.status(),
            kind,
            title: kind.title(),
            detail: detail.into(),
            more: Map::new(),
            header: None,
        }
    }

    /// One that has another status than is usual for its type, and the name of that as its title.
    fn of_status(status: StatusCode, kind: ProblemType, detail: &str) -> Self {
        Self {
            status,
            title: status.canonical_reason().unwrap_or(kind.title()),
            ..Self::new(kind, detail)
        }
    }

    /// A path that leads nowhere.
    pub(crate) fn not_found(detail: impl Into<String>) -> Self {
        Self::new(ProblemType::NotFound, detail)
    }

    /// There is none of this kind and name; the path below `/v1` lists those that there are.
    pub(crate) fn no_such(kind: &str, name: &str, path: &str) -> Self {
        Refusal::no_such(kind, name, path).into()
    }

    /// A path that exists, with a method that it does not take.
    pub(crate) fn method_not_allowed(method: &str, path: &str, allowed: String) -> Self {
        let detail = format!("{path} takes {allowed}, not {method}");
        Self::new(ProblemType::MethodNotAllowed, detail).with_header("Allow", allowed)
    }

    /// A value that cannot be read; `field` is its name in the path or query.
    pub(crate) fn bad_value(field: &str, detail: impl Into<String>) -> Self {
        Self::new(ProblemType::BadValue, detail).with("field", json!(field))
    }

    /// No token, or a wrong one; `challenge` is the WWW-Authenticate header (RFC 6750 §3).
    pub(crate) fn unauthorized(challenge: &'static str, detail: &str) -> Self {
        Self::new(ProblemType::Unauthorized, detail).with_header("WWW-Authenticate", challenge)
    }

    /// The token is good, and its role too small.
    pub(crate) fn forbidden(needed: AccessRole, role: AccessRole) -> Self {
        let detail =
            format!("this needs a token with the role {needed}; this one has the role {role}");
        Self::new(ProblemType::Forbidden, detail).with("role", json!(needed.as_str()))
    }

    /// The session is good, and a page of somebody else uses it.
    pub(crate) fn foreign(own: &str) -> Self {
        let detail = format!(
            "a session changes something only for pages of {own}, which the Origin header must say; programs use a token"
        );
        Self::new(ProblemType::ForeignOrigin, detail)
    }

    /// The key is good, and its role does not allow this.
    pub(crate) fn forbidden_key(needed: KeyRole, role: KeyRole) -> Self {
        let enough = KeyRole::ALL.iter().filter(|role| role.allows(needed));
        let enough: Vec<_> = enough.map(|role| role.as_str()).collect();
        let enough = enough.join(" or ");
        let detail =
            format!("this needs an API key with the role {enough}; this one has the role {role}");
        Self::new(ProblemType::Forbidden, detail).with("role", json!(needed.as_str()))
    }

    /// An Idempotency-Key that another request had.
    pub(crate) fn key_reused() -> Self {
        let detail = "another request had this Idempotency-Key; a new request needs a new key";
        Self::new(ProblemType::IdempotencyKeyReused, detail).with("field", json!("Idempotency-Key"))
    }

    /// A message that was refused with a command_status because of a field.
    pub(crate) fn refused_message(field: &str, command_status: &str, detail: &str) -> Self {
        Self::new(ProblemType::MessageRefused, detail)
            .with("field", json!(field))
            .with("command_status", json!(command_status))
    }

    /// What is worth another try after a while.
    pub(crate) fn later(status: StatusCode, wait: Duration, detail: &str) -> Self {
        Self::of_status(status, ProblemType::Unavailable, detail)
            .with_header("Retry-After", wait.as_secs().to_string())
    }

    /// A request that was refused before it reached its handler.
    pub(crate) fn refused(status: StatusCode) -> Self {
        Self::of_status(status, ProblemType::Refused, "the request cannot be read")
    }

    /// A request body beyond the limit, in octets.
    pub(crate) fn too_large(limit: u64) -> Self {
        let detail =
            format!("the request body has more than {limit} octets, the most that this path takes");
        Self::new(ProblemType::TooLarge, detail).with("most_octets", json!(limit))
    }

    /// A body that does not say how long it is.
    pub(crate) fn length_required() -> Self {
        let detail = "the body comes in chunks; send it with a Content-Length, or none for a command without a body";
        Self::new(ProblemType::LengthRequired, detail)
    }

    /// A body that is compressed, or in another encoding than UTF-8 (RFC 9110 §15.5.16).
    pub(crate) fn unsupported_encoding(detail: impl Into<String>) -> Self {
        Self::new(ProblemType::UnsupportedEncoding, detail)
            .with_header("Accept-Encoding", "identity")
    }

    /// A body that did not come to its end in this time.
    pub(crate) fn body_too_slow(wait: Duration) -> Self {
        let seconds = wait.as_secs();
        let detail =
            format!("the body did not come to its end within {seconds} seconds; nothing was done");
        Self::new(ProblemType::RequestTimeout, detail).with_header("Connection", "close")
    }

    /// An Idempotency-Key whose request is being carried out.
    pub(crate) fn key_in_progress() -> Self {
        let detail = "a request with this Idempotency-Key is being carried out; repeat it with the same key to get its answer";
        Self::new(ProblemType::IdempotencyKeyInProgress, detail)
            .with_header("Retry-After", "1")
            .with("field", json!("Idempotency-Key"))
    }

    /// Something behind the API does not answer or cannot work now; worth another try soon.
    pub(crate) fn unavailable(detail: impl Into<String>) -> Self {
        Self::new(ProblemType::Unavailable, detail).with_header("Retry-After", "1")
    }

    /// The node cannot do its work now.
    pub(crate) fn not_ready(reasons: &[String], degraded: &[String]) -> Self {
        Self::new(ProblemType::NotReady, reasons.join("; "))
            .with("not_ready", json!(reasons))
            .with("degraded", json!(degraded))
    }

    /// A configuration that cannot be used: everything that is wrong with it. `own` is the resource
    /// that was given, whose keys are named without it.
    pub(crate) fn invalid(problems: &[config::ConfigProblem], own: Option<&ResourceKey>) -> Self {
        let found = findings(problems, own);
        let said: Vec<String> = found
            .iter()
            .map(|one| format!("{}: {}", one.field, one.message))
            .collect();
        Self::new(ProblemType::Invalid, said.join("; ")).with("problems", json!(found))
    }

    /// Why the configuration was not changed.
    pub(crate) fn settings(error: SettingsError, own: Option<&ResourceKey>) -> Self {
        match error {
            SettingsError::Invalid(problems) => Self::invalid(&problems, own),
            SettingsError::NotFound(detail) => Self::not_found(detail),
            SettingsError::Precondition(detail) => {
                Self::new(ProblemType::PreconditionFailed, detail)
            }
            SettingsError::Sealed(detail) => Self::conflict(detail),
            SettingsError::Busy => Self::conflict(error.to_string()),
            SettingsError::Store(error) => Self::unavailable(error.to_string()),
        }
    }

    pub(crate) fn conflict(detail: impl Into<String>) -> Self {
        Self::new(ProblemType::Conflict, detail)
    }

    /// The problem as part of another answer.
    pub(crate) fn details(&self) -> ProblemDetails {
        let details = serde_json::from_value(Value::Object(self.members()));
        details.unwrap_or_default()
    }

    fn members(&self) -> Map<String, Value> {
        let mut members = Map::new();
        members.insert(
            "type".to_owned(),
            json!(format!("{TYPE_PREFIX}{}", self.kind.as_str())),
        );
        members.insert("title".to_owned(), json!(self.title));
        members.insert("status".to_owned(), json!(self.status.as_u16()));
        members.insert("detail".to_owned(), json!(self.detail));
        members.extend(self.more.clone());
        members
    }

    fn with_header(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.header = Some(Box::new((name, value.into())));
        self
    }

    fn with(mut self, name: &str, value: Value) -> Self {
        self.more.insert(name.to_owned(), value);
        self
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}: {}", self.title, self.detail)
    }
}

impl ResponseError for Problem {
    fn status_code(&self) -> StatusCode {
        self.status
    }

    fn error_response(&self) -> HttpResponse {
        let mut answer = HttpResponse::build(self.status);
        if let Some((name, value)) = self.header.as_deref() {
            answer.insert_header((*name, value.as_str()));
        }
        let mut members = self.members();
        if let Some(id) = request_ids::current() {
            members.insert("request_id".to_owned(), json!(id));
        }
        let mut answer = answer
            .insert_header(("Content-Type", CONTENT_TYPE))
            .body(Value::Object(members).to_string());
        answer.extensions_mut().insert(self.kind);
        answer
    }
}

impl From<SettingsError> for Problem {
    fn from(error: SettingsError) -> Self {
        Self::settings(error, None)
    }
}

impl From<MailboxError> for Problem {
    fn from(error: MailboxError) -> Self {
        Self::unavailable(format!(
            "the Admin actor does not answer ({error}); it may be restarting, try again"
        ))
    }
}

impl From<Refusal> for Problem {
    fn from(refusal: Refusal) -> Self {
        match refusal.reason() {
            Reason::NotFound => Self::not_found(refusal.detail),
            Reason::Conflict => Self::conflict(refusal.detail),
            Reason::Unavailable | Reason::Unspecified => Self::unavailable(refusal.detail),
        }
    }
}

#[cfg(test)]
mod tests {
    use actix_web::body::to_bytes;

    use super::*;

    async fn body(problem: &Problem) -> Value {
        let answer = problem.error_response();
        assert_eq!(answer.headers().get("content-type").unwrap(), CONTENT_TYPE);
        serde_json::from_slice(&to_bytes(answer.into_body()).await.unwrap()).unwrap()
    }

    #[actix_web::test]
    async fn has_the_members_of_rfc_9457() {
        let problem = Problem::bad_value(
            "limit",
            "limit must be a number from 1 to 1000, not \"abc\"",
        );
        assert_eq!(
            body(&problem).await,
            json!({
                "type": "urn:smsc:problem:bad-value",
                "title": "Bad value",
                "status": 400,
                "detail": "limit must be a number from 1 to 1000, not \"abc\"",
                "field": "limit",
            })
        );
    }

    #[actix_web::test]
    async fn names_the_allowed_methods() {
        let problem = Problem::method_not_allowed("DELETE", "/v1/queues", "GET, HEAD".to_owned());
        assert_eq!(
            problem.error_response().headers().get("allow").unwrap(),
            "GET, HEAD"
        );
        assert_eq!(
            body(&problem).await["detail"],
            "/v1/queues takes GET, HEAD, not DELETE"
        );
    }

    #[actix_web::test]
    async fn refusals_keep_their_reason() {
        for (refusal, status) in [
            (Reason::NotFound, 404),
            (Reason::Conflict, 409),
            (Reason::Unavailable, 503),
            (Reason::Unspecified, 503),
        ] {
            let problem = Problem::from(Refusal {
                reason: refusal.into(),
                detail: "because".to_owned(),
            });
            let body = body(&problem).await;
            assert_eq!(body["status"], status);
            assert_eq!(body["detail"], "because");
        }
    }

    #[actix_web::test]
    async fn says_everything_that_is_not_ready() {
        let problem = Problem::not_ready(&["draining".to_owned(), "store: full".to_owned()], &[]);
        let body = body(&problem).await;
        assert_eq!(body["detail"], "draining; store: full");
        assert_eq!(body["not_ready"], json!(["draining", "store: full"]));
    }
}
