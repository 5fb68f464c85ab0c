//! Message ids: ascending, unique over nodes, and readable as a time.
//!
//! `id = milliseconds << 20 | node << 12 | sequence`, and never below the one before plus one, so
//! a clock that steps backwards (or a burst above 4096 ids per millisecond) borrows from the
//! future instead of repeating or going back. The store relies on it: rows are appended at their
//! right edge, partitions are ranges of ids. Called by ingest for each accepted batch.
//!
//! What is borrowed is at most [`MAX_LEAD_MS`]. Otherwise, after a clock jumped ahead and was
//! corrected, ids would stay as far in the future as the jump was long; so none are assigned until
//! the clock is near again, or the ids of the wrong time were set [`Aside`].
//!
//! An id is never below the acceptance of its message, and at most that much above: it bounds a
//! search by time, but `accepted_at` has the time of acceptance.

use std::fmt;
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
/// How far ids may run ahead of the wall clock, in milliseconds.
pub const MAX_LEAD_MS: i64 = 60_000;

/// The ids run too far ahead of the wall clock: none are given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ahead {
    /// Milliseconds.
    pub by_ms: i64,
}

/// Ids of a time when a clock was wrong, which are still in the future. Their node number is
/// reserved until that time has come, so that no id is given twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Aside {
    pub node: u8,
    pub first: u64,
    pub last: u64,
}

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
    ///
    /// # Errors
    /// As [`Self::take`].
    pub fn next(&self, now_ms: i64) -> Result<u64, Ahead> {
        check(self.last(), now_ms)?;
        Ok(self.next_anyway(now_ms))
    }

    /// `count` ascending ids at `now_ms` (Unix milliseconds), in as many blocks as that takes.
    ///
    /// # Errors
    /// They would be more than [`MAX_LEAD_MS`] ahead of `now_ms`.
    pub fn take(
        &self,
        now_ms: i64,
        count: usize,
    ) -> Result<impl Iterator<Item = u64> + use<>, Ahead> {
        check(self.last(), now_ms)?;
        Ok(self.take_anyway(now_ms, count))
    }

    /// The next id, however far ahead it is: for what must be written down whatever the clock.
    pub fn next_anyway(&self, now_ms: i64) -> u64 {
        self.next_block(now_ms, 1).start
    }

    /// Ids, however far ahead they are: for what belongs to something that has its id already.
    pub fn take_anyway(&self, now_ms: i64, count: usize) -> impl Iterator<Item = u64> + use<> {
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

// === impl Aside ===

impl Aside {
    pub fn contains(&self, id: u64) -> bool {
        node(id) == self.node && (self.first..=self.last).contains(&id)
    }

    /// Whether its time is not over yet at `now_ms` (Unix milliseconds): its node number is still
    /// reserved.
    pub fn is_ahead(&self, now_ms: i64) -> bool {
        self.last >= lowest_at(now_ms)
    }
}

// === impl Ahead ===

impl fmt::Display for Ahead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ids run {} s ahead of the clock", self.by_ms / 1_000)
    }
}

impl std::error::Error for Ahead {}

// === helpers ===

/// Whether ids may go on above this one at `now_ms` (Unix milliseconds).
///
/// # Errors
/// It is more than [`MAX_LEAD_MS`] ahead.
pub fn check(last: u64, now_ms: i64) -> Result<(), Ahead> {
    match millis(last) - now_ms {
        by_ms if by_ms > MAX_LEAD_MS => Err(Ahead { by_ms }),
        _ => Ok(()),
    }
}

/// The node number for new ids: the wished one unless ids that were set aside have it, else one after.
/// `None` when they have all of them.
pub fn free_node(asides: &[Aside], preferred: u8, now_ms: i64) -> Option<u8> {
    let is_free = |node: &u8| {
        let mut theirs = asides.iter().filter(|aside| aside.node == *node);
        !theirs.any(|aside| aside.is_ahead(now_ms))
    };
    (0..=u8::MAX)
        .map(|step| preferred.wrapping_add(step))
        .find(is_free)
}

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
        let id = ids.next(1_700_000_000_123).unwrap();
        assert_eq!(millis(id), 1_700_000_000_123);
        assert_eq!(node(id), 7);
        assert_eq!(id & 0xFFF, 0);
        assert_eq!(ids.next(1_700_000_000_123), Ok(id + 1));
        assert!(lowest_at(1_700_000_000_123) <= id && id < lowest_at(1_700_000_000_124));
    }

    #[test]
    fn continues_above_the_seed_of_another_node_and_a_clock_that_stepped_back() {
        let seed = IdGenerator::new(9, 0).next(5_000).unwrap();
        let ids = IdGenerator::new(3, seed);
        let id = ids.next(1_000).unwrap();
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
    fn a_clock_that_jumped_and_was_put_right_stops_the_ids() {
        let ids = IdGenerator::new(3, 0);
        let jumped = 1_700_086_400_000;
        let last = ids.next(jumped).unwrap();
        let near = jumped - MAX_LEAD_MS;
        assert_eq!(
            ids.next(near - 1),
            Err(Ahead {
                by_ms: MAX_LEAD_MS + 1
            })
        );
        assert_eq!(ids.last(), last, "nothing was taken");
        assert!(ids.take(near - 1, 2).is_err());
        assert!(ids.take(near, 2).unwrap().eq([last + 1, last + 2]));
        let anyway = ids.next_anyway(near - 86_000_000);
        assert_eq!(anyway, last + 3, "unless it must be");
    }

    #[test]
    fn ids_that_were_set_aside_keep_their_number_until_their_time_is_over() {
        let aside = |node: u8, from: i64, to: i64| Aside {
            node,
            first: lowest_at(from) | u64::from(node) << SEQUENCE_BITS,
            last: lowest_at(to) | u64::from(node) << SEQUENCE_BITS,
        };
        let asides = [aside(0, 1_000, 2_000), aside(1, 5_000, 6_000)];
        assert!(asides[0].contains(asides[0].first) && asides[0].contains(asides[0].last));
        assert!(!asides[0].contains(asides[0].first | 1 << SEQUENCE_BITS));
        assert!(!asides[0].contains(asides[0].last + 1));
        assert_eq!(free_node(&[], 7, 0), Some(7));
        assert_eq!(free_node(&asides, 0, 500), Some(2));
        assert_eq!(free_node(&asides, 0, 2_000), Some(2));
        assert_eq!(free_node(&asides, 0, 2_001), Some(0));
        assert_eq!(free_node(&asides, 255, 0), Some(255));
        let all: Vec<Aside> = (0..=u8::MAX).map(|node| aside(node, 1, 9)).collect();
        assert_eq!(free_node(&all, 0, 5), None);
    }

    #[test]
    fn more_than_a_block_are_as_many_as_were_asked_for() {
        let ids = IdGenerator::new(7, 0);
        for count in [0, 1, 4_096, 4_097, 20_000] {
            let taken: Vec<u64> = ids.take(1_000, count).unwrap().collect();
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
                let ahead = millis(last) - now;
                prop_assert_eq!(check(last, now).is_err(), ahead > MAX_LEAD_MS);
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
