//! How long it is to the next tick of a queue: a moment while there is something to do, longer while it rests.
//!
//! Used by the action that ticks. A node may have thousands of queues, and nearly all of them are empty. Invariant: one timer
//! counts, the one that was set last.

use std::time::Duration;

/// Pause between two ticks.
pub(super) const TICK: Duration = Duration::from_millis(100);
/// Pause between two ticks while the queue rests: what others change without a message to it is shown so late.
pub(super) const REST: Duration = Duration::from_secs(1);

/// The timer of a queue.
#[derive(Debug, Default)]
pub(super) struct QueueTimer {
    is_resting: bool,
    /// The number of the timer that counts.
    number: u64,
}

// === impl QueueTimer ===

impl QueueTimer {
    /// Whether the queue has nothing to do, and ticks seldom.
    pub(super) fn is_resting(&self) -> bool {
        self.is_resting
    }

    /// A timer is set; returns its time and its number. Those set before no longer count.
    pub(super) fn set(&mut self, is_resting: bool) -> (Duration, u64) {
        self.is_resting = is_resting;
        self.number += 1;
        let pause = if is_resting { REST } else { TICK };
        (pause, self.number)
    }

    /// Whether the timer with this number counts.
    pub(super) fn counts(&self, number: u64) -> bool {
        self.number == number
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_timer_that_was_set_last_counts() {
        let mut timer = QueueTimer::default();
        let (pause, first) = timer.set(true);
        assert!(timer.is_resting() && timer.counts(first));
        assert_eq!(pause, REST);
        let (pause, second) = timer.set(false);
        assert!(!timer.is_resting() && timer.counts(second));
        assert_eq!(pause, TICK);
        assert!(!timer.counts(first));
    }
}
