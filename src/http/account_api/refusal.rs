//! A refusal as an answer of HTTP: whose fault it is, which field, and when to come back.

use std::time::Duration;

use actix_web::http::StatusCode;

use crate::actors::ingress::account_api::{OverBurst, Reason, Refused};
use crate::http::problem::{LimitName, Problem};
use crate::pb::SubmitCause;

/// When to come back if the SMSC cannot take more now.
const SOON: Duration = Duration::from_secs(1);

/// The answer to a message that was refused.
pub(super) fn problem(refused: &Refused) -> Problem {
    let detail = refused.detail();
    let because = |field| Problem::refused_message(field, &refused.command_status, &detail);
    let limit = limit_of(refused.cause);
    match refused.reason {
        Reason::Balance => Problem::payment_required(&detail),
        Reason::Rate => {
            let limit = limit.unwrap_or(LimitName::Rate);
            Problem::too_many_until(limit, refused.retry_at, &detail)
        }
        Reason::Full => Problem::full(limit, &detail),
        Reason::Unavailable => Problem::later(StatusCode::SERVICE_UNAVAILABLE, SOON, &detail),
        Reason::Destination => because("to"),
        Reason::Sender => because("from"),
        Reason::Schedule => because("send_at"),
        Reason::Expiry => because("valid_until"),
        Reason::Duplicate | Reason::Text => because("text"),
        Reason::Other => because("message"),
    }
}

/// The answer to a request that no bucket of its account will ever hold.
pub(super) fn over_burst(over: OverBurst) -> Problem {
    Problem::too_big_a_batch(&over.to_string(), over.most)
}

/// The limit that has refused a message.
fn limit_of(cause: SubmitCause) -> Option<LimitName> {
    Some(match cause {
        SubmitCause::Unspecified
        | SubmitCause::TooLong
        | SubmitCause::Unwritable
        | SubmitCause::NoRoute
        | SubmitCause::NotAllowed
        | SubmitCause::OptedOut
        | SubmitCause::NoSuchNumber => return None,
        SubmitCause::Rate => LimitName::Rate,
        SubmitCause::Policy => LimitName::Policy,
        SubmitCause::Quota => LimitName::Quota,
        SubmitCause::Balance => LimitName::Balance,
        SubmitCause::Memory => LimitName::Memory,
        SubmitCause::Queue => LimitName::Queue,
        SubmitCause::Waiting => LimitName::Waiting,
        SubmitCause::Disk => LimitName::Disk,
    })
}
