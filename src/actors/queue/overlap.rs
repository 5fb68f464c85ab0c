//! Compares items dispatched in memory with items read from the store, so that none enters a queue
//! twice.
//!
//! Each item carries the term in which it was given to the store
//! ([`crate::actors::context::local_lease`]). Before each reading of the store a new term begins, and
//! the reading waits for pending writes. So an item of an earlier term is in what was read, if it is
//! still active, and an item of a later term is not. Items of the reading's own term are either in what
//! was read or came after it: their ids tell. Ids alone would not suffice: a message may leave a queue
//! and come back to it while a dispatch is on its way.

use std::collections::HashSet;
use std::time::Duration;

use tokio::time::Instant;

use super::partition_set::PartitionSet;
use crate::pb::QueueItem;
use crate::pb::delivery::What;

/// Longer than any dispatch in memory takes.
const LONGEST_DISPATCH: Duration = Duration::from_secs(30);

/// The term of a reading of the store.
pub(super) struct Overlap {
    term: u64,
    /// The ids that were read.
    known: HashSet<(u64, What), ahash::RandomState>,
    /// Partitions that were read once more since.
    closed: PartitionSet,
    until: Instant,
}

// === impl Overlap ===

impl Overlap {
    /// Of the reading that began with `term` and found `known`.
    pub(super) fn new(term: u64, known: HashSet<(u64, What), ahash::RandomState>) -> Self {
        Self {
            term,
            known,
            closed: PartitionSet::default(),
            until: Instant::now() + LONGEST_DISPATCH,
        }
    }

    /// Whether an item was dispatched during the reading and is not in what was read.
    pub(super) fn lacks(&self, item: &QueueItem) -> bool {
        item.term == self.term
            && !self.closed.has(item.part as u8)
            && !self.known.contains(&(item.id, item.what()))
    }

    /// These partitions were read separately.
    pub(super) fn close(&mut self, parts: PartitionSet) {
        self.closed.add(parts);
    }

    /// Whether no dispatch of that time can be under way any more.
    pub(super) fn is_over(&self) -> bool {
        self.until <= Instant::now()
    }
}
