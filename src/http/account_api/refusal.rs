//! A refusal as an answer of HTTP: whose fault it is, which field, and when to come back.

use std::time::Duration;

use actix_web::http::StatusCode;

use crate::actors::ingress::account_api::{Reason, Refused};
use crate::http::problem::Problem;

/// When to come back if the SMSC cannot take more now.
const SOON: Duration = Duration::from_secs(1);
/// When to come back if a queue or the disk is full.
const LATER: Duration = Duration::from_secs(30);

/// The answer to a message that was refused.
pub(super) fn problem(refused: &Refused) -> Problem {
    let status = &refused.command_status;
    let because = |field, detail: &str| Problem::refused_message(field, status, detail);
    match refused.reason {
        Reason::Balance => {
            Problem::payment_required("the balance of the account does not cover it")
        }
        Reason::Rate => {
            Problem::too_many(SOON, "above the rate, a limit or the quota of the account")
        }
        Reason::Full => Problem::later(
            StatusCode::INSUFFICIENT_STORAGE,
            LATER,
            "too many messages wait: the queue, the account or the disk of the SMSC is full",
        ),
        Reason::Unavailable => Problem::later(
            StatusCode::SERVICE_UNAVAILABLE,
            SOON,
            "the store does not answer; the message was not accepted, or that is unknown",
        ),
        Reason::Destination => because(
            "to",
            "to does not exist, has no route, is not allowed for the account, or has opted out",
        ),
        Reason::Sender => because("from", "from is not allowed for the account"),
        Reason::Schedule => because("send_at", "send_at is in the past or too far away"),
        Reason::Expiry => because(
            "valid_until",
            "the validity is over before the message may be sent",
        ),
        Reason::Duplicate => because("text", "it repeats an accepted message"),
        Reason::Other => because("message", &format!("it was refused with {status}")),
    }
}
