//! Sets of partitions, and which of them are on their way to another node.

use tokio::sync::oneshot;

/// Partitions on their way out.
#[derive(Default)]
pub(super) struct Leaving {
    pub(super) parts: Parts,
    pub(super) waiters: Vec<(Parts, oneshot::Sender<()>)>,
}

/// A set of partitions.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct Parts(pub(super) u64);

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

    pub(super) fn has(self, part: u8) -> bool {
        self.0 & Self::bit(part) != 0
    }
}

// === impl Leaving ===

impl Leaving {
    pub(super) fn has(&self, part: u8) -> bool {
        self.parts.has(part)
    }
}
