//! Blocks of the lists that are out of memory: which were asked for, and who waits for them.
//!
//! Called by [`super::Backlog`]. Keeps true that a block is asked for once, however many want it, that its
//! number is never used again, and that one block at a time is on its way out of memory.

use std::collections::HashMap;
use std::ops::Range;
use std::rc::Rc;

use crate::actors::queue::transfer_order::TransferOrder;

#[derive(Default)]
pub(super) struct Blocks {
    /// Who waits for those that were asked for, by number.
    asked: HashMap<u64, Vec<Waiter>>,
    /// The number of the next one that goes out of memory.
    next: u64,
    /// One is on its way out of memory.
    is_leaving: bool,
}

/// Who goes on when a block has come, or could not be read.
pub enum Waiter {
    /// Whoever takes what is next, and looks by itself.
    Anyone,
    /// Expiry looks through the lists once more.
    Expiry,
    Transfer(Rc<TransferOrder>),
}

// === impl Blocks ===

impl Blocks {
    /// Whether the block has to be read: nobody has asked for it yet.
    pub(super) fn ask(&mut self, number: u64, waiter: Waiter) -> bool {
        let waiting = self.asked.entry(number).or_default();
        waiting.push(waiter);
        waiting.len() == 1
    }

    /// Those who wait for a block that has come, or could not be read.
    pub(super) fn came(&mut self, number: u64) -> Vec<Waiter> {
        self.asked.remove(&number).unwrap_or_default()
    }

    pub(super) fn is_asked(&self, number: u64) -> bool {
        self.asked.contains_key(&number)
    }

    /// Whether none is on its way back into memory.
    pub(super) fn is_idle(&self) -> bool {
        self.asked.is_empty()
    }

    pub(super) fn is_leaving(&self) -> bool {
        self.is_leaving
    }

    /// The number of the next block that goes out of memory.
    pub(super) fn next(&self) -> u64 {
        self.next
    }

    /// The block with the next number is on its way out.
    pub(super) fn begin_leaving(&mut self) {
        self.next += 1;
        self.is_leaving = true;
    }

    pub(super) fn end_leaving(&mut self) {
        self.is_leaving = false;
    }

    /// Goes on with the numbers of earlier lists; gives back those, which mean nothing any more.
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
        assert!(blocks.ask(3, Waiter::Anyone));
        assert!(!blocks.ask(3, Waiter::Expiry));
        assert!(blocks.is_asked(3) && !blocks.is_idle());
        assert_eq!(blocks.came(3).len(), 2);
        assert!(blocks.is_idle());
        assert!(blocks.ask(3, Waiter::Expiry), "it has gone out again");
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
