//! Who waits for the answer of a look-up, by number: a message that comes when the answer is known goes behind
//! those that came before it.
//!
//! Ingest enters what it sends to the queue of a look-up, and asks before it sends a message to its target; the
//! queue enters what other nodes or the store bring, and removes what has left. Invariants: a message is entered
//! before its acceptance is acknowledged, and removed after its next queue has it; memory is bounded.

use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use crate::actors::runtime::locks::lock;
use crate::domain::address;
use crate::domain::id;
use crate::domain::partition::{WHOLE, bit};

/// Messages that are told apart by number; with more, all numbers of their partitions wait.
const MOST: usize = 262_144;
/// An entry that is older while nothing waits is of a message that left unseen (ms).
const FORGOTTEN_AFTER: i64 = 60_000;

/// The lines before the look-ups of this node.
#[derive(Default)]
pub struct LookUpLines {
    pub network: LookUpLine,
    pub imsi: LookUpLine,
}

/// The messages in the queue of one look-up, as far as this node has them.
#[derive(Default)]
pub struct LookUpLine {
    entries: Mutex<Entries>,
    /// How many there are, to be read without the lock.
    count: AtomicUsize,
    /// Partitions with messages that are not entered, a bit for each.
    behind: AtomicU64,
}

#[derive(Default)]
struct Entries {
    /// The number of each message, and its partition.
    numbers: HashMap<u64, (Box<[u8]>, u8), ahash::RandomState>,
    waiting: HashMap<Box<[u8]>, u32, ahash::RandomState>,
}

// === impl LookUpLine ===

impl LookUpLine {
    /// A message to this destination, of this partition, waits.
    pub fn join(&self, destination: &[u8], part: u8, id: u64) {
        let mut entries = lock(&self.entries);
        if entries.numbers.contains_key(&id) {
            return;
        }
        if entries.numbers.len() >= MOST {
            return self.fall_behind(part);
        }
        let number: Box<[u8]> = address::normalise(destination).into();
        entries.numbers.insert(id, (number.clone(), part));
        *entries.waiting.entry(number).or_default() += 1;
        self.count.store(entries.numbers.len(), Ordering::Release);
    }

    /// Messages of a partition wait whose numbers are not known yet: until [`Self::has_caught_up`], everything in
    /// the partition goes behind them.
    pub fn fall_behind(&self, part: u8) {
        self.behind.fetch_or(bit(part), Ordering::Release);
    }

    /// All that waits is entered, or has left.
    pub fn has_caught_up(&self) {
        if self.behind.load(Ordering::Relaxed) != 0 {
            self.behind.store(0, Ordering::Release);
        }
    }

    /// A message has gone to its next queue, or has ended.
    pub fn leave(&self, id: u64) {
        if self.count.load(Ordering::Acquire) == 0 {
            return;
        }
        let mut entries = lock(&self.entries);
        entries.remove(id);
        self.count.store(entries.numbers.len(), Ordering::Release);
    }

    /// Whether a message to this destination has to wait behind others.
    pub fn is_before(&self, destination: &[u8], part: u8) -> bool {
        let behind = self.behind.load(Ordering::Acquire);
        if behind & (bit(part) | bit(WHOLE)) != 0 {
            return true;
        }
        self.count.load(Ordering::Acquire) > 0
            && lock(&self.entries)
                .waiting
                .contains_key(address::normalise(destination))
    }

    /// Nothing waits in the queue at `now` (Unix ms): removes what was cancelled, or has gone to another node.
    pub fn tidy(&self, now: i64) {
        if self.count.load(Ordering::Relaxed) == 0 {
            return;
        }
        self.forget(|id, _| id::millis(id) + FORGOTTEN_AFTER < now);
    }

    /// These partitions belong to another node, or are read from the store again.
    pub fn forget_parts(&self, is_one: impl Fn(u8) -> bool) {
        self.forget(|_, part| is_one(part));
    }

    fn forget(&self, is_one: impl Fn(u64, u8) -> bool) {
        let mut entries = lock(&self.entries);
        let all = entries.numbers.iter();
        let gone = all.filter(|(id, (_, part))| is_one(**id, *part));
        let gone: Vec<u64> = gone.map(|(id, _)| *id).collect();
        gone.into_iter().for_each(|id| entries.remove(id));
        self.count.store(entries.numbers.len(), Ordering::Release);
    }
}

// === impl Entries ===

impl Entries {
    fn remove(&mut self, id: u64) {
        let Some((number, _)) = self.numbers.remove(&id) else {
            return;
        };
        if let Some(count) = self.waiting.get_mut(&number) {
            *count -= 1;
            if *count == 0 {
                self.waiting.remove(&number);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NUMBER: &[u8] = b"+447700900123";

    #[test]
    fn whoever_comes_later_waits_until_the_last_has_left() {
        let line = LookUpLine::default();
        assert!(!line.is_before(NUMBER, 3));
        line.join(NUMBER, 3, 7);
        line.join(NUMBER, 3, 8);
        line.join(NUMBER, 3, 8);
        assert!(line.is_before(b"447700900123", 3), "however it is written");
        assert!(!line.is_before(b"447700900124", 3));
        line.leave(8);
        assert!(line.is_before(NUMBER, 3));
        line.leave(8);
        line.leave(7);
        assert!(!line.is_before(NUMBER, 3));
        assert!(lock(&line.entries).waiting.is_empty());
    }

    #[test]
    fn a_partition_waits_while_its_numbers_are_not_known() {
        let line = LookUpLine::default();
        line.fall_behind(3);
        assert!(line.is_before(NUMBER, 3) && !line.is_before(NUMBER, 4));
        line.has_caught_up();
        assert!(!line.is_before(NUMBER, 3));
        line.fall_behind(WHOLE);
        assert!(line.is_before(NUMBER, 4));
    }

    #[test]
    fn partitions_that_go_to_another_node_are_forgotten() {
        let line = LookUpLine::default();
        line.join(NUMBER, 3, 7);
        line.join(NUMBER, 4, 8);
        line.forget_parts(|part| part == 3);
        assert!(line.is_before(NUMBER, 4));
        line.forget_parts(|_| true);
        assert!(!line.is_before(NUMBER, 4));
    }

    #[test]
    fn memory_is_bounded_and_what_left_unseen_is_forgotten() {
        let line = LookUpLine::default();
        let first = 1_000 << 20;
        for id in 0..MOST as u64 {
            line.join(&id.to_be_bytes(), 1, first + id);
        }
        assert!(!line.is_before(NUMBER, 1));
        line.join(NUMBER, 1, first + MOST as u64);
        assert!(line.is_before(NUMBER, 1), "with all others there");
        assert_eq!(lock(&line.entries).numbers.len(), MOST);
        line.has_caught_up();
        line.tidy(1_000 + FORGOTTEN_AFTER);
        assert_eq!(line.count.load(Ordering::Relaxed), MOST, "not old enough");
        line.tidy(2_000 + FORGOTTEN_AFTER);
        assert_eq!(line.count.load(Ordering::Relaxed), 0);
        assert!(lock(&line.entries).waiting.is_empty());
    }
}
