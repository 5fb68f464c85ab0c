//! Why a submission over HTTP or the local socket was refused, in terms that every API can answer with.

use std::fmt;

use crate::actors::context::declined::Declined;
use crate::actors::context::plan::AccountPlan;
use crate::config::Smpp;
use crate::pb::SubmitCause;
use crate::smpp::CommandStatus;

/// A refusal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    pub reason: Reason,
    /// The command_status that SMPP would have answered, by name.
    pub command_status: String,
    /// The check that has refused it, if that is known.
    pub cause: SubmitCause,
    /// Unix milliseconds from which it may pass, if that is known.
    pub retry_at: Option<i64>,
}

/// The reason of a refusal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// Above the rate, a limit or the quota of the account; later it may pass.
    Rate,
    /// The queue, the account or the disk is full; later it may pass.
    Full,
    /// The store or an actor does not answer; whether it was accepted is unknown.
    Unavailable,
    /// The balance does not cover it.
    Balance,
    /// The destination does not exist, has no route, is not allowed, or has opted out.
    Destination,
    /// The sender is not allowed.
    Sender,
    /// The time to send it is too far away.
    Schedule,
    /// It would expire before it may be sent.
    Expiry,
    /// It repeats an accepted message.
    Duplicate,
    /// Its text is too long, or cannot be written for its operator.
    Text,
    Other,
}

/// A request with more than its account may ever submit at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OverBurst {
    /// Short messages of the request.
    pub wanted: u64,
    /// Those that the account may submit at once.
    pub most: u32,
}

// === impl Refused ===

impl Refused {
    pub(super) fn new(declined: Declined, account: &AccountPlan, smpp: &Smpp) -> Self {
        let status = declined.status;
        let of_cause = match declined.cause {
            SubmitCause::Unspecified => None,
            SubmitCause::Rate | SubmitCause::Policy | SubmitCause::Quota | SubmitCause::Memory => {
                Some(Reason::Rate)
            }
            SubmitCause::Balance => Some(Reason::Balance),
            SubmitCause::Queue | SubmitCause::Waiting | SubmitCause::Disk => Some(Reason::Full),
            SubmitCause::TooLong | SubmitCause::Unwritable => Some(Reason::Text),
            SubmitCause::NoRoute
            | SubmitCause::NotAllowed
            | SubmitCause::OptedOut
            | SubmitCause::NoSuchNumber => Some(Reason::Destination),
        };
        Self {
            reason: of_cause.unwrap_or_else(|| Reason::of_status(status, account, smpp)),
            command_status: status.to_string(),
            cause: declined.cause,
            retry_at: (declined.retry_at > 0).then_some(declined.retry_at),
        }
    }

    /// The reason for people, by the names that fields have in every API.
    pub fn detail(&self) -> String {
        let of_cause = match self.cause {
            SubmitCause::Unspecified => None,
            SubmitCause::Rate => Some("above the rate of the account"),
            SubmitCause::Policy => Some("above a limit between addresses"),
            SubmitCause::Quota => Some("the account's quota of the day is used up"),
            SubmitCause::Balance => Some("the balance of the account does not cover it"),
            SubmitCause::Memory => {
                Some("the account has as many submissions under way as there is memory for")
            }
            SubmitCause::Queue => Some("too many messages wait in the queue"),
            SubmitCause::Waiting => {
                Some("the account has as many unfinished messages as it may have")
            }
            SubmitCause::Disk => Some("the disk of the SMSC is full"),
            SubmitCause::TooLong => Some(
                "text is too long: it needs more than 255 short messages, the most that can be numbered",
            ),
            SubmitCause::Unwritable => Some(
                "text has characters or a header that the operator of this destination does not take",
            ),
            SubmitCause::NoRoute => Some("to is a number to which no route leads"),
            SubmitCause::NotAllowed => Some("to is a number to which the account may not send"),
            SubmitCause::OptedOut => {
                Some("to is a number that has opted out of messages of the account")
            }
            SubmitCause::NoSuchNumber => Some("to is in a range of numbers that are not there"),
        };
        of_cause.map_or_else(|| self.of_reason(), str::to_owned)
    }

    fn of_reason(&self) -> String {
        let text = match self.reason {
            Reason::Balance => "the balance of the account does not cover it",
            Reason::Rate => "above the rate, a limit or the quota of the account",
            Reason::Full => {
                "too many messages wait: the queue, the account or the disk of the SMSC is full"
            }
            Reason::Unavailable => {
                "the store does not answer; the message was not accepted, or that is unknown"
            }
            Reason::Destination => {
                "to does not exist, has no route, is not allowed for the account, or has opted out"
            }
            Reason::Sender => "from is not allowed for the account",
            Reason::Schedule => "send_at is more than 366 days ahead",
            Reason::Expiry => "the validity is over before the message may be sent",
            Reason::Duplicate => "it repeats an accepted message",
            Reason::Text => "text is too long, or cannot be written for its operator",
            Reason::Other => {
                return format!(
                    "the SMSC refuses this message; over SMPP the answer would be {}",
                    self.command_status
                );
            }
        };
        text.to_owned()
    }
}

// === impl Reason ===

impl Reason {
    /// What a status alone says.
    fn of_status(status: CommandStatus, account: &AccountPlan, smpp: &Smpp) -> Self {
        let is = |configured: u32| status == CommandStatus(configured);
        match status {
            _ if account.config.prepaid && is(smpp.balance_status) => Self::Balance,
            CommandStatus::ESME_RTHROTTLED => Self::Rate,
            CommandStatus::ESME_RMSGQFUL => Self::Full,
            CommandStatus::ESME_RSYSERR => Self::Unavailable,
            CommandStatus::ESME_RINVDSTADR => Self::Destination,
            CommandStatus::ESME_RINVSRCADR => Self::Sender,
            CommandStatus::ESME_RINVSCHED => Self::Schedule,
            CommandStatus::ESME_RINVEXPIRY => Self::Expiry,
            _ if !account.config.duplicate_window.is_zero() && is(smpp.duplicate_status) => {
                Self::Duplicate
            }
            _ => Self::Other,
        }
    }
}

// === impl OverBurst ===

impl fmt::Display for OverBurst {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { wanted, most } = self;
        write!(
            f,
            "the request makes {wanted} short messages, and the account may submit {most} at once; divide it into requests of at most {most}"
        )
    }
}
