//! Whether a target counts as available, with a delay in both directions (failover, failback).
//!
//! Used by the queues of operators. A target without a bind counts as available until that has lasted
//! for `failover_after`, so that a short outage moves nothing; a target that is back counts as
//! unavailable until it was bound for `failback_after` without interruption, so that an unstable one
//! is not used at once. The caller passes the time.

use std::time::{Duration, Instant};

/// How long a change must last before it counts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Patience {
    /// How long it must be away before it counts as away.
    pub failover_after: Duration,
    /// How long it must be back before it counts as available.
    pub failback_after: Duration,
}

/// What is remembered of one target.
#[derive(Debug)]
pub struct Presence {
    is_there: bool,
    /// Since when `is_there` is what it is.
    since: Option<Instant>,
    /// What it counted as when `is_there` last changed.
    counted: bool,
}

// === impl Patience ===

impl Patience {
    /// Whether every change counts at once.
    pub fn is_none(&self) -> bool {
        self.failover_after.is_zero() && self.failback_after.is_zero()
    }
}

// === impl Presence ===

impl Presence {
    /// Never seen: when it first comes, it counts at once.
    pub fn new() -> Self {
        Self {
            is_there: false,
            since: None,
            counted: false,
        }
    }

    /// Whether this would be its return: it was there before, and was away when it was last looked at.
    pub fn comes_back(&self, is_there: bool) -> bool {
        is_there && !self.is_there && self.since.is_some()
    }

    /// Records the current state; returns the state that counts.
    pub fn see(&mut self, is_there: bool, now: Instant, patience: Patience) -> bool {
        if is_there != self.is_there {
            // Nothing is known of the time before it first came.
            self.counted = self.since.is_none() || self.counts(now, patience);
            self.is_there = is_there;
            self.since = Some(now);
        }
        self.counts(now, patience)
    }

    fn counts(&self, now: Instant, patience: Patience) -> bool {
        let Some(since) = self.since else {
            return false;
        };
        let after = if self.is_there {
            patience.failback_after
        } else {
            patience.failover_after
        };
        if now.duration_since(since) >= after {
            return self.is_there;
        }
        self.counted
    }
}

impl Default for Presence {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const PATIENCE: Patience = Patience {
        failover_after: Duration::from_secs(5),
        failback_after: Duration::from_secs(30),
    };

    /// `(seconds, is there, counts as there)`
    fn run(steps: &[(u64, bool, bool)]) {
        let start = Instant::now();
        let mut presence = Presence::new();
        for &(at, is_there, wanted) in steps {
            let now = start + Duration::from_secs(at);
            let counts = presence.see(is_there, now, PATIENCE);
            assert_eq!(counts, wanted, "after {at} s in {steps:?}");
        }
    }

    #[test]
    fn the_first_time_counts_at_once() {
        run(&[(0, false, false), (100, false, false), (101, true, true)]);
    }

    #[test]
    fn it_comes_back_once_it_was_there_before() {
        let (mut presence, now) = (Presence::new(), Instant::now());
        let mut returns = 0;
        for is_there in [false, true, true, false, false, true, true] {
            returns += u32::from(presence.comes_back(is_there));
            presence.see(is_there, now, PATIENCE);
        }
        assert_eq!(returns, 1, "the first time is no return");
    }

    #[test]
    fn a_blink_moves_nothing() {
        run(&[
            (0, true, true),
            (10, false, true),
            (14, false, true),
            (14, true, true),
            (15, false, true),
        ]);
    }

    #[test]
    fn what_was_away_is_taken_again_after_a_while_without_break() {
        run(&[
            (0, true, true),
            (10, false, true),
            (15, false, false),
            (20, true, false),
            (49, true, false),
            (49, false, false),
            (50, true, false),
            (79, true, false),
            (80, true, true),
            (81, false, true),
        ]);
    }

    #[test]
    fn a_break_that_nobody_looked_at_counts_by_its_length() {
        // Seen to be away at 10 and back at 40: it was away for longer than allowed.
        run(&[
            (0, true, true),
            (10, false, true),
            (40, true, false),
            (70, true, true),
        ]);
    }

    proptest! {
        #[test]
        fn without_patience_it_counts_as_it_is(steps in proptest::collection::vec((any::<bool>(), 0u64..9), 1..50)) {
            let mut now = Instant::now();
            let mut presence = Presence::new();
            for (is_there, seconds) in steps {
                now += Duration::from_secs(seconds);
                prop_assert_eq!(presence.see(is_there, now, Patience::default()), is_there);
            }
        }

        /// With frequent checks, the state changes only after an uninterrupted time.
        #[test]
        fn a_change_counts_only_when_it_lasts(steps in proptest::collection::vec(any::<bool>(), 1..200)) {
            let start = Instant::now();
            let mut presence = Presence::new();
            let mut before = false;
            for (at, is_there) in steps.iter().enumerate() {
                let now = start + Duration::from_secs(at as u64);
                let counts = presence.see(*is_there, now, PATIENCE);
                let first = !steps[..at].contains(&true);
                if counts != before && !first {
                    // A change that was over before the check counts by its length.
                    let upto = if counts == *is_there { at } else { at - 1 };
                    let run = steps[..=upto].iter().rev().take_while(|one| **one == counts);
                    let least = if counts { 30 } else { 5 };
                    prop_assert!(run.count() >= least);
                }
                before = counts;
            }
        }
    }
}
