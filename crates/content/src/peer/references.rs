//! Reference numbers for the parts of long messages.
//!
//! A handset knows the parts of one message by their sender and reference (3GPP TS 23.040
//! §9.2.3.24.1). Each pair of source and destination counts for itself, so that the next long
//! message of a pair takes a reference that the longest time has not seen. A pair that is not
//! remembered begins at the second of the day: one that was forgotten, by a restart or for lack of
//! room, does not begin where it was as long as it sends less than one long message per second.

use std::collections::HashMap;

/// Pairs that are remembered: 16 octets each, and the previous generation as many.
const PAIRS: usize = 65_536;

/// The counters.
#[derive(Debug, Default)]
pub struct References {
    hasher: ahash::RandomState,
    /// Used lately; when it is full it becomes `before`, whose rest is forgotten.
    now: HashMap<u64, u16, ahash::RandomState>,
    before: HashMap<u64, u16, ahash::RandomState>,
}

// === impl References ===

impl References {
    /// The next reference for this pair. `seconds` is the time; `node` keeps nodes that divide
    /// messages of one pair apart.
    pub fn next(&mut self, source: &[u8], destination: &[u8], seconds: i64, node: u8) -> u16 {
        let key = self.hasher.hash_one((source, destination));
        let last = self
            .now
            .get(&key)
            .or_else(|| self.before.get(&key))
            .copied();
        let next = match last {
            Some(last) => last.wrapping_add(1),
            None => (seconds as u16).wrapping_add(u16::from(node).wrapping_mul(0x0333)),
        };
        if self.now.len() >= PAIRS {
            self.before = std::mem::take(&mut self.now);
        }
        self.now.insert(key, next);
        next
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pair_takes_every_reference_before_one_comes_again() {
        let mut references = References::default();
        let mut seen = std::collections::HashSet::new();
        for _ in 0..=u16::MAX {
            assert!(seen.insert(references.next(b"a", b"b", 7, 0)));
        }
        assert!(!seen.insert(references.next(b"a", b"b", 7, 0)));
    }

    #[test]
    fn a_restart_does_not_begin_where_it_was() {
        let mut before = References::default();
        let used: Vec<u16> = (0..50).map(|_| before.next(b"a", b"b", 1_000, 0)).collect();
        let mut after = References::default();
        let fresh: Vec<u16> = (0..50).map(|_| after.next(b"a", b"b", 1_060, 0)).collect();
        assert!(fresh.iter().all(|reference| !used.contains(reference)));
    }

    #[test]
    fn pairs_are_forgotten_before_they_fill_the_memory() {
        let mut references = References::default();
        for number in 0..3 * PAIRS as u32 {
            references.next(&number.to_be_bytes(), b"b", 0, 0);
        }
        assert!(references.now.len() + references.before.len() <= 2 * PAIRS);
    }
}
