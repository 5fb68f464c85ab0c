//! Loop detection: messages that circulate between peers which forward messages that are for neither of
//! them.
//!
//! No field of SMPP counts hops, so equal messages are counted instead: one that passes repeatedly
//! within a minute is in a loop. Called by ingest, under a lock, for messages from operators that a
//! route sends on; hashes only, bounded.

use std::collections::HashMap;

/// How long equal messages are counted together, at least; twice that at most.
const WINDOW_MS: i64 = 60_000;
/// Different messages per window; beyond, the window ends early.
const MOST: usize = 100_000;

/// Counts equal messages.
#[derive(Debug, Default)]
pub struct Circles {
    /// Since when `now` counts, Unix milliseconds.
    since: i64,
    now: HashMap<u64, u32>,
    before: HashMap<u64, u32>,
}

// === impl Circles ===

impl Circles {
    /// Counts a message, by the hash of what makes it the same, and returns whether it came at most
    /// `limit` times, this one included.
    pub fn admits(&mut self, message: u64, limit: u32, now_ms: i64) -> bool {
        // A clock that was set back also resets the count.
        let age = now_ms.saturating_sub(self.since);
        if !(0..WINDOW_MS).contains(&age) || self.now.len() >= MOST {
            self.before = if (0..2 * WINDOW_MS).contains(&age) {
                std::mem::take(&mut self.now)
            } else {
                HashMap::new()
            };
            self.now.clear();
            self.since = now_ms;
        }
        let count = self.now.entry(message).or_default();
        *count = count.saturating_add(1);
        count.saturating_add(self.before.get(&message).copied().unwrap_or(0)) <= limit
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_message_passes_a_few_times_within_a_minute() {
        let mut circles = Circles::default();
        let start = 1_000_000;
        for at in 0..3 {
            assert!(circles.admits(7, 3, start + at));
            assert!(circles.admits(8 + at as u64, 3, start + at), "others");
        }
        assert!(!circles.admits(7, 3, start + 4));
        // Over the end of a window, too; after two of them it is forgotten.
        assert!(!circles.admits(7, 3, start + WINDOW_MS));
        assert!(circles.admits(7, 3, start + 3 * WINDOW_MS + 1));
    }

    #[test]
    fn a_clock_that_is_set_back_stops_nothing_and_memory_is_bounded() {
        let mut circles = Circles::default();
        assert!(circles.admits(1, 1, 10_000_000));
        assert!(circles.admits(1, 1, 1_000));
        for message in 0..3 * MOST as u64 {
            circles.admits(message, 1, 2_000);
        }
        assert!(circles.now.len() <= MOST && circles.before.len() <= MOST);
    }
}
