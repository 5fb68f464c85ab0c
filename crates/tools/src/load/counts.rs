//! The totals of a load run.
//!
//! Kept by the ledger, read by progress bar and summary. All but `outstanding` only grow.

use std::collections::BTreeMap;

use smsc_smpp::CommandStatus;

/// Totals of a run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LoadCounts {
    /// Submits waiting for their answer.
    pub outstanding: u64,
    /// Positive answers.
    pub accepted: u64,
    /// Negative answers by status.
    pub refused: BTreeMap<u32, u64>,
    /// Submits that were sent again after their connection broke.
    pub resubmitted: u64,
    /// Submits whose answer never came.
    pub unanswered: u64,
    /// Receipts that matched an accepted message, by message_state.
    pub receipts: BTreeMap<u8, u64>,
    /// Of those, the ones that came before their answer.
    pub early: u64,
    /// Receipts for an id whose receipt had come already.
    pub duplicated: u64,
    /// Receipts for messages of ours whose answer was lost.
    pub for_lost_answers: u64,
    /// Receipts for unknown ids.
    pub unknown: u64,
    /// Receipts of a state that is not final.
    pub intermediate: u64,
    /// Receipts without an id or a state.
    pub unreadable: u64,
    /// deliver_sm that are no receipts.
    pub mobile_originated: u64,
    /// Answers with an id that another message has got already.
    pub ids_given_twice: u64,
    /// Connections that broke.
    pub disconnects: u64,
}

// === impl LoadCounts ===

impl LoadCounts {
    /// Negative answers.
    pub fn refused_total(&self) -> u64 {
        self.refused.values().sum()
    }

    /// Answers ESME_RTHROTTLED.
    pub fn throttled(&self) -> u64 {
        let throttled = CommandStatus::ESME_RTHROTTLED.0;
        self.refused.get(&throttled).copied().unwrap_or(0)
    }

    /// Receipts that matched.
    pub fn receipts_total(&self) -> u64 {
        self.receipts.values().sum()
    }
}
