//! Blocks of the lists that are out of memory: which ones are being read, and what continues afterwards.
//!
//! Called by [`super::Backlog`]. Invariants: a block is read once, however many wait for it; its number is
//! never used again; and one block at a time is being written out of memory.

use std::collections::HashMap;
use std::ops::Range;
use std::rc::Rc;

use crate::actors::queue::transfer_order::TransferOrder;

#[derive(Default)]
pub(super) struct Blocks {
    /// Who waits for each block that is being read, by its number.
    asked: HashMap<u64, Vec<BlockWaiter>>,
    /// The number of the next block to be written out.
    next: u64,
    /// Whether a block is being written out.
    is_leaving: bool,
}

/// What continues when a block is in memory again or could not be read.
pub enum BlockWaiter {
    /// A caller that takes the next message and will look again by itself.
    Anyone,
    /// Expiry looks through the lists again.
    Expiry,
    Transfer(Rc<TransferOrder>),
}

// === impl Blocks ===

impl Blocks {
    /// Registers `waiter`; returns whether the block has to be read, because nobody asked for it yet.
    pub(super) fn ask(&mut self, number: u64, waiter: BlockWaiter) -> bool {
        let waiting = self.asked.entry(number).or_default();
        waiting.push(waiter);
        waiting.len() == 1
    }

    /// The waiters of a block that is in memory again or could not be read.
    pub(super) fn came(&mut self, number: u64) -> Vec<BlockWaiter> {
        self.asked.remove(&number).unwrap_or_default()
    }

    pub(super) fn is_asked(&self, number: u64) -> bool {
        self.asked.contains_key(&number)
    }

    /// Whether no block is being read back.
    pub(super) fn is_idle(&self) -> bool {
        self.asked.is_empty()
    }

    pub(super) fn is_leaving(&self) -> bool {
        self.is_leaving
    }

    /// The number of the next block to be written out.
    pub(super) fn next(&self) -> u64 {
        self.next
    }

    /// The block with the next number is being written out.
    pub(super) fn begin_leaving(&mut self) {
        self.next += 1;
        self.is_leaving = true;
    }

    pub(super) fn end_leaving(&mut self) {
        self.is_leaving = false;
    }

    /// Continues with the numbers of earlier lists; returns the numbers of their blocks, which are
    /// obsolete.
    pub(super) fn number_after(&mut self, earlier: &Self) -> Range<u64> {
        self.next = earlier.next;
        0..earlier.next
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_is_asked_for_once_and_all_who_want_it_hear_of_it() {
        let mut blocks = Blocks::default();
        assert!(blocks.ask(3, BlockWaiter::Anyone));
        assert!(!blocks.ask(3, BlockWaiter::Expiry));
        assert!(blocks.is_asked(3) && !blocks.is_idle());
        assert_eq!(blocks.came(3).len(), 2);
        assert!(blocks.is_idle());
        assert!(blocks.ask(3, BlockWaiter::Expiry), "it has gone out again");
    }

    #[test]
    fn numbers_are_not_used_again_by_later_lists() {
        let mut before = Blocks::default();
        assert_eq!(before.next(), 0);
        before.begin_leaving();
        let mut after = Blocks::default();
        assert_eq!(after.number_after(&before), 0..1);
        assert_eq!(after.next(), 1);
        assert!(!after.is_leaving(), "that was of the earlier lists");
    }
}
