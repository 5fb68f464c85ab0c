//! Which messages to list, and a page of them.

use std::ops::Range;

use super::{Stored, archive};
use crate::pb::MessageState;

/// Rows walked per request of a person: a search for something rare must not keep a store busy for long.
pub(super) const MAX_SCAN: i64 = 500_000;

/// Which messages to list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Search {
    /// Destination, exact, without a leading plus.
    pub to: Option<String>,
    /// Source address, exact, without a leading plus.
    pub from: Option<String>,
    /// Interned name of the account or operator that brought it.
    pub sender: Option<u32>,
    /// Accepted at this time or later, Unix milliseconds.
    pub since: Option<i64>,
    /// Accepted before this time, Unix milliseconds.
    pub until: Option<i64>,
    /// Keep only messages in this state; `Enroute` means not final.
    pub state: Option<MessageState>,
    /// Only ids below this one (paging).
    pub before: Option<u64>,
    pub limit: usize,
}

/// A page of messages.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Found {
    pub messages: Vec<Stored>,
    /// `before` of the next page, which may be empty; `None` when everything was looked at.
    pub next_before: Option<u64>,
}

// === impl Search ===

impl Search {
    /// The ids that its times and its page leave: from the first up to the second, without it.
    pub fn ids(&self) -> Range<u64> {
        let until = self.until.map_or(i64::MAX as u64, archive::first_id);
        let before = self.before.unwrap_or(i64::MAX as u64);
        self.since.map_or(0, archive::first_id)..until.min(before).min(i64::MAX as u64)
    }
}
