//! Requests of a queue to the store that have no answer yet.
//!
//! Used by the actor, which runs them. Invariants: an answer for lists that were discarded since the
//! request is dropped, both the next reading of the store and leaving partitions wait for pending writes, and
//! lists are not discarded while attempts of theirs are noted.

use std::sync::{Arc, Weak};

/// The lists of a queue as they were when something was requested.
#[derive(Debug, Clone)]
pub(super) struct TheseLists(Weak<()>);

#[derive(Debug, Default)]
pub(super) struct StoreRequests {
    /// Goes when the lists are discarded.
    lists: Arc<()>,
    /// The generation of the local lease in which the lists were filled.
    lease: u64,
    /// Results that are being written.
    writes: usize,
    /// Batches whose attempts are being noted before they are made.
    notes: usize,
}

// === impl TheseLists ===

impl TheseLists {
    /// Whether they have not been discarded since.
    pub(super) fn are_there(&self) -> bool {
        self.0.strong_count() > 0
    }
}

// === impl StoreRequests ===

impl StoreRequests {
    /// Nothing pending, for lists that are filled in this generation of the local lease.
    pub(super) fn new(lease: u64) -> Self {
        Self {
            lease,
            ..Self::default()
        }
    }

    /// The lists are discarded: earlier answers are dropped, but writes are still waited for.
    pub(super) fn begin_after(&mut self, earlier: &Self) {
        self.writes = earlier.writes;
        self.notes = earlier.notes;
    }

    /// What a request is about.
    pub(super) fn lists(&self) -> TheseLists {
        TheseLists(Arc::downgrade(&self.lists))
    }

    pub(super) fn lease(&self) -> u64 {
        self.lease
    }

    pub(super) fn is_writing(&self) -> bool {
        self.writes > 0
    }

    pub(super) fn begin_write(&mut self) {
        self.writes += 1;
    }

    pub(super) fn end_write(&mut self) {
        self.writes = self.writes.saturating_sub(1);
    }

    pub(super) fn is_noting(&self) -> bool {
        self.notes > 0
    }

    pub(super) fn begin_note(&mut self) {
        self.notes += 1;
    }

    pub(super) fn end_note(&mut self) {
        self.notes = self.notes.saturating_sub(1);
    }

    /// The actor has failed, and its pending writes with it.
    pub(super) fn drop_writes(&mut self) {
        self.writes = 0;
        self.notes = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn new_lists_wait_for_the_writes_of_the_old_ones() {
        let mut before = StoreRequests::new(3);
        before.begin_write();
        let lists = before.lists();
        let mut after = StoreRequests::new(4);
        after.begin_after(&before);
        assert!(lists.are_there());
        drop(before);
        assert!(!lists.are_there() && after.lists().are_there());
        assert_eq!((after.lease(), after.is_writing()), (4, true));
        after.end_write();
        assert!(!after.is_writing());
    }

    #[test]
    fn a_write_that_went_with_the_actor_is_not_waited_for() {
        let mut under_way = StoreRequests::new(1);
        under_way.begin_write();
        under_way.drop_writes();
        under_way.end_write();
        assert!(!under_way.is_writing());
    }
}
