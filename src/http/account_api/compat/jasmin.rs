//! `/send`, `/rate`, `/balance` and `/ping` as the HTTP API of Jasmin serves them.
//!
//! Texts of answers are Jasmin's (`jasmin/protocols/http`), because programs compare them.

mod fields;
mod order;

use actix_web::http::StatusCode;
use actix_web::http::header::ContentType;
use actix_web::{HttpRequest, HttpResponse, web};
use serde_json::{Value, json};

use super::args::{Args, Unreadable};
use super::login::{CompatLogin, Shut, login};
use super::{State, plain, submit};
use crate::actors::ingress::account_api::{Reason, Refused};
use crate::clock;
use crate::domain::access::KeyRole;
use crate::http::api_request::ApiRequest;

const CANNOT_SEND: &str = "Cannot send submit_sm, check SMPPClientManagerPB log file for details";
const CANNOT_CHARGE: &str = "Cannot charge submit_sm, check RouterPB log file for details";
const TOO_FAST: &str = "User throughput exceeded";
/// Where Jasmin has no number.
const NOT_DEFINED: &str = "ND";

/// An answer that is an error.
#[derive(Debug, PartialEq, Eq)]
struct JasminError {
    status: StatusCode,
    said: String,
}

/// Submits one message.
pub(super) async fn send(request: ApiRequest<State>, body: web::Bytes) -> HttpResponse {
    match submitted(&request, &request.state, &body).await {
        Ok(id) => plain(StatusCode::OK, format!("Success \"{id}\"")),
        Err(failure) => plain(failure.status, format!("Error \"{}\"", failure.said)),
    }
}

/// What a message would cost, without sending it.
pub(super) async fn rate(request: ApiRequest<State>, body: web::Bytes) -> HttpResponse {
    in_json(rated(&request, &request.state, &body).await)
}

/// What the account has left.
pub(super) async fn balance(request: ApiRequest<State>, body: web::Bytes) -> HttpResponse {
    in_json(left(&request, &request.state, &body).await)
}

/// Whether the API answers.
pub(super) async fn ping() -> HttpResponse {
    plain(StatusCode::OK, "Jasmin/PONG".to_owned())
}

async fn submitted(request: &HttpRequest, state: &State, body: &[u8]) -> Result<u64, JasminError> {
    let args = read(request, body)?;
    fields::check(&args, fields::SEND)?;
    order::has_content(&args)?;
    let login = enter(request, state, &args, KeyRole::Send).await?;
    if state.api.is_draining() {
        return Err(JasminError::cannot_send());
    }
    let message = order::message(&args, &login.account, clock::now_ms())?;
    let results = submit(request, state, &login.account, vec![message]).await;
    match results.and_then(|mut results| results.pop()) {
        Some(Ok(id)) => Ok(id),
        Some(Err(refused)) => Err(JasminError::from_refusal(&refused, &args)),
        None => Err(JasminError::cannot_send()),
    }
}

async fn rated(request: &HttpRequest, state: &State, body: &[u8]) -> Result<Value, JasminError> {
    let args = read(request, body)?;
    fields::check(&args, fields::RATE)?;
    let login = enter(request, state, &args, KeyRole::Send).await?;
    let message = order::message(&args, &login.account, clock::now_ms())?;
    let estimate = state.api.estimate(&login.account, message);
    if let Some(refused) = estimate.refused {
        return Err(JasminError::from_refusal(&refused, &args));
    }
    let segments = estimate.segments.max(1);
    let unit = estimate.price.unwrap_or(0) as f64 / f64::from(segments);
    Ok(json!({ "unit_rate": unit, "submit_sm_count": segments }))
}

async fn left(request: &HttpRequest, state: &State, body: &[u8]) -> Result<Value, JasminError> {
    let args = read(request, body)?;
    fields::check(&args, fields::BALANCE)?;
    let login = enter(request, state, &args, KeyRole::Read).await?;
    let balance = state.api.balance(&login.account).await;
    let failed = |_| JasminError::new(StatusCode::INTERNAL_SERVER_ERROR, "System error");
    let balance = balance.map_err(failed)?;
    let credits = if balance.prepaid {
        json!(balance.credits as f64)
    } else {
        json!(NOT_DEFINED)
    };
    let messages = match balance.quota_per_day {
        None => json!(NOT_DEFINED),
        Some(quota) => json!(quota.saturating_sub(balance.quota_used_today).max(0)),
    };
    Ok(json!({ "balance": credits, "sms_count": messages }))
}

fn read(request: &HttpRequest, body: &[u8]) -> Result<Args, JasminError> {
    Args::of_form_or_json(request, body).map_err(|why| {
        JasminError::invalid(match why {
            Unreadable::Kind => "The body is neither a form nor a JSON object.",
            Unreadable::TooMany => "There are too many arguments.",
        })
    })
}

async fn enter(
    request: &HttpRequest,
    state: &State,
    args: &Args,
    role: KeyRole,
) -> Result<CompatLogin, JasminError> {
    let name = args.text("username");
    let password = args.octets("password").cloned().unwrap_or_default();
    let login = login(request, state, &name, &password, role).await;
    login.map_err(|shut| match shut {
        Shut::Refused => {
            let said = format!("Authentication failure for username:{name}");
            JasminError::forbidden(said)
        }
        Shut::TooMany => JasminError::forbidden(TOO_FAST),
        Shut::NotNow => JasminError::cannot_send(),
    })
}

/// Errors are JSON as well: a string.
fn in_json(answer: Result<Value, JasminError>) -> HttpResponse {
    let (status, value) = match answer {
        Ok(value) => (StatusCode::OK, value),
        Err(failure) => (failure.status, Value::String(failure.said)),
    };
    HttpResponse::build(status)
        .content_type(ContentType::json())
        .body(value.to_string())
}

// === impl JasminError ===

impl JasminError {
    fn new(status: StatusCode, said: impl Into<String>) -> Self {
        let said = said.into();
        Self { status, said }
    }

    fn invalid(said: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, said)
    }

    fn forbidden(said: impl Into<String>) -> Self {
        Self::new(StatusCode::FORBIDDEN, said)
    }

    /// A value that cannot be used.
    fn of_value(name: &str, args: &Args) -> Self {
        let value = args.text(name);
        Self::invalid(format!(
            "Argument [{name}] has an invalid value: [{value}]."
        ))
    }

    fn cannot_send() -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, CANNOT_SEND)
    }

    fn from_refusal(refused: &Refused, args: &Args) -> Self {
        match refused.reason {
            Reason::Destination => Self::new(StatusCode::PRECONDITION_FAILED, "No route found"),
            Reason::Sender => Self::invalid(format!(
                "Value filter failed for user [{}] (source_address filter mismatch).",
                args.text("username")
            )),
            Reason::Balance => Self::forbidden(CANNOT_CHARGE),
            Reason::Rate => Self::forbidden(TOO_FAST),
            Reason::Full | Reason::Unavailable => Self::cannot_send(),
            Reason::Schedule => Self::of_value("sdt", args),
            Reason::Expiry => Self::of_value("validity-period", args),
            Reason::Duplicate => Self::invalid("The message repeats an accepted one."),
            Reason::Text | Reason::Other => {
                Self::invalid(format!("Refused with {}.", refused.command_status))
            }
        }
    }
}
