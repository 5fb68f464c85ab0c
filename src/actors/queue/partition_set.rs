//! A set of partitions of one queue.
//!
//! A single word of bits, because the parts test each item for membership.

use crate::domain::partition::bit;

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct PartitionSet(u64);

// === impl PartitionSet ===

impl PartitionSet {
    pub(super) fn of(parts: impl IntoIterator<Item = u8>) -> Self {
        Self(parts.into_iter().fold(0, |all, part| all | bit(part)))
    }

    pub(super) fn add(&mut self, others: Self) {
        self.0 |= others.0;
    }

    pub(super) fn remove(&mut self, others: Self) {
        self.0 &= !others.0;
    }

    /// Whether the sets have a partition in common.
    pub(super) fn meets(self, others: Self) -> bool {
        self.0 & others.0 != 0
    }

    pub(super) fn has(self, part: u8) -> bool {
        self.0 & bit(part) != 0
    }
}
