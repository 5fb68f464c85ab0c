//! Why a submission over HTTP or the local socket was refused, in terms that every API can answer with.

use crate::actors::context::plan::AccountPlan;
use crate::config::Smpp;
use crate::smpp::CommandStatus;

/// A refusal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    pub reason: Reason,
    /// The command_status that SMPP would have answered, by name.
    pub command_status: String,
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
    /// The time to send it is in the past or too far away.
    Schedule,
    /// It would expire before it may be sent.
    Expiry,
    /// It repeats an accepted message.
    Duplicate,
    Other,
}

// === impl Refused ===

impl Refused {
    pub(super) fn new(status: CommandStatus, account: &AccountPlan, smpp: &Smpp) -> Self {
        let is = |configured: u32| status == CommandStatus(configured);
        let reason = match status {
            _ if account.config.prepaid && is(smpp.balance_status) => Reason::Balance,
            CommandStatus::ESME_RTHROTTLED => Reason::Rate,
            CommandStatus::ESME_RMSGQFUL => Reason::Full,
            CommandStatus::ESME_RSYSERR => Reason::Unavailable,
            CommandStatus::ESME_RINVDSTADR => Reason::Destination,
            CommandStatus::ESME_RINVSRCADR => Reason::Sender,
            CommandStatus::ESME_RINVSCHED => Reason::Schedule,
            CommandStatus::ESME_RINVEXPIRY => Reason::Expiry,
            _ if !account.config.duplicate_window.is_zero() && is(smpp.duplicate_status) => {
                Reason::Duplicate
            }
            _ => Reason::Other,
        };
        Self {
            reason,
            command_status: status.to_string(),
        }
    }

    /// The reason for people, by the names that fields have in every API.
    pub fn detail(&self) -> String {
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
            Reason::Schedule => "send_at is in the past or too far away",
            Reason::Expiry => "the validity is over before the message may be sent",
            Reason::Duplicate => "it repeats an accepted message",
            Reason::Other => return format!("it was refused with {}", self.command_status),
        };
        text.to_owned()
    }
}
