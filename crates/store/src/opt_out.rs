//! The opt-out port: numbers that want no messages, from one account or from all.
//!
//! Read by every node into memory, at start and then incrementally (`actors/policy/opt_outs.rs`).
//! Guarantees that a change has a higher version than any that was read before it became visible, so
//! that reading everything after the last version misses nothing.

use super::Reply;
use super::cold::{ColdRecord as _, ColdStatement, ColdTables, record, values};

/// Milliseconds for which the removal of a number from a list is kept. A node that has read nothing
/// for this time reads everything again.
pub const REMEMBERED: i64 = 24 * 3_600_000;

record! {
    /// A number on a list, or off it again.
    #[derive(Debug, Clone, Default, PartialEq, Eq)]
    pub struct OptOutRow in "opt_out" {
        /// system_id; empty for the list of everybody.
        pub account: String,
        /// Without a leading plus.
        pub number: String,
        /// Off, when false.
        pub out: bool,
        /// Unix milliseconds.
        pub at: i64,
        /// Who changed it.
        pub who: String,
        /// Given by the store.
        pub version: u64,
    }
}

/// Which entries to list, newest first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OptOutSearch {
    /// The list of this account.
    pub account: Option<String>,
    pub number: Option<String>,
    /// Below this version.
    pub below: u64,
    pub limit: usize,
}

/// Reading of opt-out lists. Calls never block.
pub trait OptOutListStore {
    /// Changes after a version in their order, also those that took numbers off.
    fn opt_outs_after(&self, version: u64, limit: usize) -> Reply<Vec<OptOutRow>>;

    /// Numbers that are on lists.
    fn opt_outs(&self, search: OptOutSearch) -> Reply<Vec<OptOutRow>>;
}

/// The opt-out part of a store. Calls never block.
pub trait OptOutStore: OptOutListStore {
    /// Puts a number on a list or takes it off; false when it was there, or off, already.
    fn set_opt_out(&self, row: OptOutRow) -> Reply<bool>;
}

// === impl OptOutRow ===

impl OptOutRow {
    /// The statement that reads changes after a version in their order.
    pub(crate) fn after(version: u64, limit: usize) -> ColdStatement {
        let rest = "WHERE version > $1 ORDER BY version LIMIT $2";
        Self::select(rest, values![version, limit])
    }

    /// The statement that puts its number on its list, or takes it off.
    pub(crate) fn set(&self) -> ColdStatement {
        self.insert(
            "ON CONFLICT(account, number) DO UPDATE SET
             out = excluded.out, at = excluded.at, who = excluded.who, version = excluded.version",
        )
    }
}

impl<S: ColdTables> OptOutListStore for S {
    fn opt_outs_after(&self, version: u64, limit: usize) -> Reply<Vec<OptOutRow>> {
        self.look_up(OptOutRow::after(version, limit), OptOutRow::all)
    }

    fn opt_outs(&self, search: OptOutSearch) -> Reply<Vec<OptOutRow>> {
        let found = OptOutRow::select(
            "WHERE out AND version < $1 AND (CAST($2 AS text) IS NULL OR account = $2)
               AND (CAST($3 AS text) IS NULL OR number = $3)
             ORDER BY version DESC LIMIT $4",
            values![search.below, search.account, search.number, search.limit],
        );
        self.select(found, OptOutRow::all)
    }
}
