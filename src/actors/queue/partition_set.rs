//! A set of partitions of one queue.
//!
//! A single word of bits, because the parts test each item for membership.

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct Parts(u64);

// === impl Parts ===

impl Parts {
    /// Numbers are below 32, or WHOLE, which has the highest bit.
    fn bit(part: u8) -> u64 {
        1 << part.min(63)
    }

    pub(super) fn of(parts: impl IntoIterator<Item = u8>) -> Self {
        Self(parts.into_iter().fold(0, |all, part| all | Self::bit(part)))
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
        self.0 & Self::bit(part) != 0
    }
}
