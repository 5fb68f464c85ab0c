//! `/cgi-bin/sendsms` as smsbox of Kannel 1.4 serves it.
//!
//! Texts of answers are Kannel's (`gw/smsbox.c`), because programs compare them.

mod charset;
mod order;

use actix_web::http::StatusCode;
use actix_web::{HttpRequest, HttpResponse, web};

use self::order::Order;
use super::args::{Args, Unreadable};
use super::login::{Shut, login};
use super::{LATER, State, plain, submit};
use crate::actors::ingress::account_api::{Reason, Refused};
use crate::clock;
use crate::domain::access::KeyRole;
use crate::http::api_request::ApiRequest;

const NO_ACCESS: &str = "Authorization failed for sendsms";
const NEVER: &str = "Not routable. Do not try again.";

/// An answer that is no acceptance.
#[derive(Debug, PartialEq, Eq)]
struct KannelError {
    status: StatusCode,
    said: String,
}

/// Submits one text to one or several receivers.
pub(super) async fn send(request: ApiRequest<State>, body: web::Bytes) -> HttpResponse {
    match answer(&request, &request.state, &body).await {
        Ok(said) => plain(StatusCode::ACCEPTED, said),
        Err(failure) => plain(failure.status, failure.said),
    }
}

async fn answer(request: &HttpRequest, state: &State, body: &[u8]) -> Result<String, KannelError> {
    let args = Args::of_form(request, body).map_err(|why| match why {
        Unreadable::Kind => {
            let said = "Unsupported content-type, rejected";
            KannelError::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, said)
        }
        Unreadable::TooMany => KannelError::rejected("Too many parameters, rejected"),
    })?;
    let given = |name, other| args.either(name, other).cloned().unwrap_or_default();
    let (name, password) = (given("username", "user"), given("password", "pass"));
    let name = String::from_utf8_lossy(&name);
    let login = login(request, state, &name, &password, KeyRole::Send).await?;
    if state.api.is_draining() {
        return Err(Shut::NotNow.into());
    }
    let Order {
        messages,
        receivers,
        mut denied,
        is_deferred,
    } = Order::read(&args, &login.account, clock::now_ms())?;
    let results = submit(request, state, &login.account, messages).await;
    let results = results.ok_or(Shut::NotNow)?;
    let mut first = None;
    for (receiver, result) in receivers.iter().zip(&results) {
        if let Err(refused) = result {
            denied.push(receiver.clone());
            first.get_or_insert(refused);
        }
    }
    match first {
        Some(refused) if results.iter().all(Result::is_err) => Err(refused.into()),
        _ => Ok(accepted(is_deferred, &denied)),
    }
}

fn accepted(is_deferred: bool, denied: &[String]) -> String {
    let said = if is_deferred {
        "3: Queued for later delivery"
    } else {
        "0: Accepted for delivery"
    };
    match denied {
        [] => said.to_owned(),
        denied => format!("{said}. Denied receivers are: {}", denied.join(" ")),
    }
}

// === impl KannelError ===

impl KannelError {
    fn new(status: StatusCode, said: impl Into<String>) -> Self {
        let said = said.into();
        Self { status, said }
    }

    /// What is wrong with a parameter.
    fn rejected(said: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, said)
    }

    fn misformed(field: &str) -> Self {
        Self::rejected(format!("{field} field misformed, rejected"))
    }
}

impl From<Shut> for KannelError {
    fn from(shut: Shut) -> Self {
        match shut {
            Shut::Refused => Self::new(StatusCode::FORBIDDEN, NO_ACCESS),
            Shut::TooMany | Shut::NotNow => Self::new(StatusCode::SERVICE_UNAVAILABLE, LATER),
        }
    }
}

impl From<&Refused> for KannelError {
    fn from(refused: &Refused) -> Self {
        let never =
            |why: &str| Self::new(StatusCode::FORBIDDEN, format!("{why}. Do not try again."));
        match refused.reason {
            Reason::Rate | Reason::Full | Reason::Unavailable => Shut::NotNow.into(),
            Reason::Schedule => Self::misformed("Deferred"),
            Reason::Expiry => Self::misformed("Validity"),
            Reason::Destination => Self::new(StatusCode::FORBIDDEN, NEVER),
            Reason::Sender => never("Sender not allowed"),
            Reason::Balance => never("Not enough credits"),
            Reason::Duplicate => never("Repeats an accepted message"),
            Reason::Text | Reason::Other => {
                never(&format!("Refused with {}", refused.command_status))
            }
        }
    }
}
