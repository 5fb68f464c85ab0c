//! What is dispatched in memory, compared with what was read from the store.
//!
//! Each item carries the term in which it was given to the store ([`crate::actors::local_lease`]), and a
//! term begins before each reading waits for the writes that were asked for. So one of an earlier term
//! is in what was read, if it is active still, and one of this term is not. In between are those of the
//! reading itself: they are in what was read, or came after it, and their ids tell. An id by itself
//! would not do: a message may leave a queue, and come back to it, while a dispatch is on its way.

use std::collections::HashSet;
use std::time::Duration;

use tokio::time::Instant;

use super::Queue;
use super::partitions::Parts;
use crate::pb::QueueItem;
use crate::pb::delivery::What;

/// Longer than any dispatch in memory is under way.
const LONGEST_DISPATCH: Duration = Duration::from_secs(30);

/// The term of a reading of the store.
pub(super) struct Overlap {
    term: u64,
    /// What was read.
    known: HashSet<(u64, What), ahash::RandomState>,
    /// Partitions that were read once more since.
    closed: Parts,
    until: Instant,
}

impl Queue {
    /// Whether an item that was handed over is not in the lists by a reading of the store. `term` is
    /// that of its partition now; without one its owner has found it in the store.
    pub(super) fn is_news(&self, item: &QueueItem, term: Option<u64>) -> bool {
        let Some(term) = term else { return false };
        let came_after = |overlap: &Overlap| {
            item.term == overlap.term
                && !overlap.closed.has(item.part as u8)
                && !overlap.known.contains(&(item.id, item.what()))
        };
        item.term == term || self.overlap.as_ref().is_some_and(came_after)
    }

    /// The reading that began with `term` is over, and has found `known`.
    pub(super) fn end_reading(
        &mut self,
        term: u64,
        known: HashSet<(u64, What), ahash::RandomState>,
    ) {
        self.node.local_lease.begin_term(self.port.id);
        self.overlap = Some(Overlap {
            term,
            known,
            closed: Parts::default(),
            until: Instant::now() + LONGEST_DISPATCH,
        });
    }

    /// These partitions were read by themselves.
    pub(super) fn close_overlap(&mut self, parts: Parts) {
        if let Some(overlap) = &mut self.overlap {
            overlap.closed.add(parts);
        }
    }

    pub(super) fn forget_overlap(&mut self) {
        let is_over = |overlap: &Overlap| overlap.until <= Instant::now();
        if self.overlap.as_ref().is_some_and(is_over) {
            self.overlap = None;
        }
    }
}
