//! Why a submission is refused: the answer over SMPP, which check it was, and when it may pass.
//!
//! Made by the checks of Ingest and of the rooms below it, and told to clients that can be told more than a
//! command_status.

use crate::clock;
use crate::pb::{SubmitCause, SubmitResult};
use crate::smpp::CommandStatus;

/// A submission that a check has refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Declined {
    pub status: CommandStatus,
    pub cause: SubmitCause,
    /// Unix milliseconds from which it may pass; 0 if that is not known.
    pub retry_at: i64,
}

// === impl Declined ===

impl Declined {
    /// A refusal by a limit; when it ends is not known.
    pub fn by(cause: SubmitCause, status: CommandStatus) -> Self {
        Self {
            status,
            cause,
            retry_at: 0,
        }
    }

    /// A refusal by a limit that lets it pass from this moment on, Unix milliseconds.
    pub fn until(cause: SubmitCause, status: CommandStatus, retry_at: i64) -> Self {
        Self {
            status,
            cause,
            retry_at,
        }
    }

    /// A refusal by a rate that lets `ahead` others pass before it, and itself.
    pub fn by_rate(cause: SubmitCause, ahead: u64, rate: f64) -> Self {
        // The bucket is all but empty, so each token takes its whole interval.
        let wait_ms = ((ahead as f64) * 1e3 / rate).ceil();
        // A rate of nearly nothing: as long as a client remembers.
        let wait_ms = wait_ms.clamp(1.0, 366.0 * 86_400_000.0) as i64;
        let status = CommandStatus::ESME_RTHROTTLED;
        Self::until(cause, status, clock::now_ms().saturating_add(wait_ms))
    }

    /// The answer to the submission with this sequence number.
    pub fn result(self, sequence: u32) -> SubmitResult {
        SubmitResult {
            sequence,
            status: self.status.0,
            cause: self.cause.into(),
            retry_at: self.retry_at,
            ..SubmitResult::default()
        }
    }
}

impl From<CommandStatus> for Declined {
    fn from(status: CommandStatus) -> Self {
        Self::by(SubmitCause::Unspecified, status)
    }
}
