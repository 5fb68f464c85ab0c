//! Transaction ids: numbers that nobody guesses, and that come once in four thousand million.
//!
//! An answer may come long after its dialogue was given up. So a number must not be used again while that may be,
//! and a stranger who sees some numbers must not know the next ones: before its first answer a
//! dialogue cannot know its peer's address, and takes the answer of whoever names its number. A counter is
//! permuted under a key of this process: a Feistel network of four rounds over the halves of its 32 bits, which
//! is one-to-one whatever its rounds are.

use std::hash::{BuildHasher, RandomState};

/// Where the ids of one table come from.
#[derive(Debug)]
pub(super) struct TransactionIds {
    key: RandomState,
    counter: u32,
}

// === impl TransactionIds ===

impl TransactionIds {
    pub(super) fn new() -> Self {
        Self {
            // From the randomness of the operating system.
            key: RandomState::new(),
            counter: 0,
        }
    }

    /// The next one that is not 0 and not in use.
    pub(super) fn next(&mut self, is_used: impl Fn(u32) -> bool) -> u32 {
        loop {
            let id = self.permuted(self.counter);
            self.counter = self.counter.wrapping_add(1);
            if id != 0 && !is_used(id) {
                return id;
            }
        }
    }

    fn permuted(&self, number: u32) -> u32 {
        let (mut left, mut right) = ((number >> 16) as u16, number as u16);
        for round in 0..4_u8 {
            let mixed = self.key.hash_one((round, right)) as u16;
            (left, right) = (right, left ^ mixed);
        }
        u32::from(left) << 16 | u32::from(right)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn no_id_comes_twice() {
        let mut ids = TransactionIds::new();
        let seen: HashSet<u32> = (0..100_000).map(|_| ids.next(|_| false)).collect();
        assert_eq!(seen.len(), 100_000);
        assert!(!seen.contains(&0));
    }

    #[test]
    fn an_id_in_use_is_passed_over() {
        let mut ids = TransactionIds::new();
        let second = ids.permuted(1);
        let first = ids.next(|_| false);
        assert_ne!(ids.next(|id| id == second), first);
        assert_eq!(ids.counter, 3);
    }

    #[test]
    fn ids_begin_elsewhere_each_time_and_do_not_count_up() {
        let mut firsts = HashSet::new();
        let mut steps = HashSet::new();
        for _ in 0..32 {
            let mut ids = TransactionIds::new();
            let (first, second) = (ids.next(|_| false), ids.next(|_| false));
            firsts.insert(first);
            steps.insert(second.wrapping_sub(first));
        }
        assert!(firsts.len() > 30 && steps.len() > 30);
    }
}
