//! Message ids: ascending, unique over nodes, and readable as a time.
//!
//! `id = milliseconds << 20 | node << 12 | sequence`, and never below the one before plus one, so
//! a clock that steps backwards (or a burst above 4096 ids per millisecond) borrows from the
//! future instead of repeating or going back. The store relies on it: rows are appended at their
//! right edge, partitions are ranges of ids. Called by ingest for each accepted batch.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

/// Bits below the milliseconds: node and sequence.
const TIME_SHIFT: u32 = 20;
/// Bits of the sequence.
const SEQUENCE_BITS: u32 = 12;
/// Ids of one node in one millisecond, and so the longest block.
pub const MAX_BLOCK: u64 = 1 << SEQUENCE_BITS;
/// The milliseconds have 44 bits: enough until the year 2527.
const MAX_MILLIS: u64 = (1 << (64 - TIME_SHIFT)) - 1;

/// Hands out ids; shared by every thread of the node, without a lock.
#[derive(Debug)]
pub struct IdGenerator {
    node: u64,
    last: AtomicU64,
}

// === impl IdGenerator ===

impl IdGenerator {
    /// A generator for this node that continues above `seed`, the highest id the store knows.
    pub fn new(node: u8, seed: u64) -> Self {
        Self {
            node: u64::from(node),
            last: AtomicU64::new(seed),
        }
    }

    /// The next id at `now_ms` (Unix milliseconds).
    pub fn next(&self, now_ms: i64) -> u64 {
        self.next_block(now_ms, 1).start
    }

    /// `count` ascending ids at `now_ms` (Unix milliseconds), in as many blocks as that takes.
    pub fn take(&self, now_ms: i64, count: usize) -> impl Iterator<Item = u64> + use<> {
        let first = self.next_block(now_ms, count);
        let mut left = count - first.clone().count();
        let mut more = Vec::new();
        while left > 0 {
            let block = self.next_block(now_ms, left);
            left -= block.clone().count();
            more.push(block);
        }
        std::iter::once(first).chain(more).flatten()
    }

    /// `count` consecutive ids at `now_ms` (Unix milliseconds); at most [`MAX_BLOCK`] of them, so
    /// that a block never runs into the ids of another node.
    fn next_block(&self, now_ms: i64, count: usize) -> Range<u64> {
        let count = (count as u64).min(MAX_BLOCK);
        if count == 0 {
            return 0..0;
        }
        let clock = u64::try_from(now_ms).unwrap_or(0).min(MAX_MILLIS) << TIME_SHIFT;
        let mut last = self.last.load(Ordering::Relaxed);
        loop {
            let start = self.start_of_block(clock.max(last.saturating_add(1)), count);
            // Relaxed is enough: the value itself is the only thing that is shared.
            match self.last.compare_exchange_weak(
                last,
                start + count - 1,
                Ordering::Relaxed,
                Ordering::Relaxed,
            ) {
                Ok(_) => return start..start + count,
                Err(current) => last = current,
            }
        }
    }

    /// The highest id handed out so far (or the seed).
    pub fn last(&self) -> u64 {
        self.last.load(Ordering::Relaxed)
    }

    /// The node whose ids these are.
    pub fn node(&self) -> u8 {
        self.node as u8
    }

    /// The lowest id not below `floor` from which `count` ids of this node follow one another.
    fn start_of_block(&self, floor: u64, count: u64) -> u64 {
        let slot = (floor >> TIME_SHIFT << TIME_SHIFT) | (self.node << SEQUENCE_BITS);
        let start = floor.max(slot);
        if start + count <= slot + MAX_BLOCK {
            start
        } else {
            slot + (1 << TIME_SHIFT)
        }
    }
}

// === helpers ===

/// When the id was made, in Unix milliseconds (later than the truth while it borrows).
pub fn millis(id: u64) -> i64 {
    (id >> TIME_SHIFT) as i64
}

/// The node that made the id.
pub fn node(id: u64) -> u8 {
    (id >> SEQUENCE_BITS) as u8
}

/// The lowest id that any node makes at `at_ms` (Unix milliseconds): for ranges of time over ids.
pub fn lowest_at(at_ms: i64) -> u64 {
    u64::try_from(at_ms).unwrap_or(0).min(MAX_MILLIS) << TIME_SHIFT
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn carries_time_node_and_sequence() {
        let ids = IdGenerator::new(7, 0);
        let id = ids.next(1_700_000_000_123);
        assert_eq!(millis(id), 1_700_000_000_123);
        assert_eq!(node(id), 7);
        assert_eq!(id & 0xFFF, 0);
        assert_eq!(ids.next(1_700_000_000_123), id + 1);
        assert!(lowest_at(1_700_000_000_123) <= id && id < lowest_at(1_700_000_000_124));
    }

    #[test]
    fn continues_above_the_seed_of_another_node_and_a_clock_that_stepped_back() {
        let seed = IdGenerator::new(9, 0).next(5_000);
        let ids = IdGenerator::new(3, seed);
        let id = ids.next(1_000);
        assert!(id > seed);
        assert_eq!(node(id), 3);
    }

    #[test]
    fn a_full_millisecond_borrows_the_next_one() {
        let ids = IdGenerator::new(255, 0);
        ids.next_block(1_000, 4_000);
        let block = ids.next_block(1_000, 97);
        assert_eq!(millis(block.start), 1_001);
        assert_eq!(node(block.end - 1), 255);
        assert_eq!(ids.next_block(1_000, 0), 0..0);
        assert_eq!(ids.next_block(1_000, usize::MAX).count() as u64, MAX_BLOCK);
    }

    #[test]
    fn more_than_a_block_are_as_many_as_were_asked_for() {
        let ids = IdGenerator::new(7, 0);
        for count in [0, 1, 4_096, 4_097, 20_000] {
            let taken: Vec<u64> = ids.take(1_000, count).collect();
            assert_eq!(taken.len(), count);
            assert!(taken.is_sorted_by(|one, other| one < other));
            assert!(taken.iter().all(|id| node(*id) == 7));
            assert_eq!(taken.last().copied().unwrap_or(0), ids.last());
        }
    }

    #[test]
    fn threads_never_see_the_same_id() {
        let ids = IdGenerator::new(1, 0);
        let all: Vec<Vec<u64>> = std::thread::scope(|scope| {
            let workers: Vec<_> = (0..4)
                .map(|_| {
                    scope.spawn(|| {
                        (0..2_000)
                            .flat_map(|n| ids.next_block(1_000 + n / 100, 3))
                            .collect()
                    })
                })
                .collect();
            workers.into_iter().map(|w| w.join().unwrap()).collect()
        });
        for own in &all {
            assert!(own.is_sorted(), "each thread sees its ids ascend");
        }
        let distinct: HashSet<u64> = all.iter().flatten().copied().collect();
        assert_eq!(distinct.len(), 4 * 2_000 * 3);
    }

    proptest! {
        #[test]
        fn always_ascends_and_stays_on_its_node(
            own in any::<u8>(),
            seed in 0..u64::MAX / 2,
            steps in proptest::collection::vec((any::<i32>(), 1..5_000usize), 1..200),
        ) {
            let ids = IdGenerator::new(own, seed);
            let mut last = seed;
            let mut now = 1_700_000_000_000_i64;
            for (step, count) in steps {
                now += i64::from(step % 50);
                let block = ids.next_block(now, count);
                prop_assert!(block.start > last);
                prop_assert_eq!(block.end - block.start, (count as u64).min(MAX_BLOCK));
                prop_assert_eq!(node(block.start), own);
                prop_assert_eq!(node(block.end - 1), own);
                prop_assert!(millis(block.start) >= now);
                last = block.end - 1;
            }
        }
    }
}
