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
    let detail = refused.detail();
    let because = |field| Problem::refused_message(field, &refused.command_status, &detail);
    match refused.reason {
        Reason::Balance => Problem::payment_required(&detail),
        Reason::Rate => Problem::too_many(SOON, &detail),
        Reason::Full => Problem::later(StatusCode::INSUFFICIENT_STORAGE, LATER, &detail),
        Reason::Unavailable => Problem::later(StatusCode::SERVICE_UNAVAILABLE, SOON, &detail),
        Reason::Destination => because("to"),
        Reason::Sender => because("from"),
        Reason::Schedule => because("send_at"),
        Reason::Expiry => because("valid_until"),
        Reason::Duplicate => because("text"),
        Reason::Other => because("message"),
    }
}
