//! Answered attempts that are not durable yet, counted for each queue.
//!
//! After a crash they are repeated, like attempts without an answer. So a queue hands out no more
//! messages than would keep both together within the windows of its sessions, one commit, and the
//! attempts that become durable in a [`MOMENT`]: at full speed several commits are pending. While a
//! disk is full or a database does not answer, nothing becomes durable; without this limit every
//! waiting message would be sent, and repeated later.
//!
//! The actor that gets an answer counts it before it reports it to others, so that no attempt is
//! uncounted in between. The actor that sees the commit takes the count back, by
//! [`Counted`](crate::actors::context::ports::Counted), however that work ends.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use tokio::time::Instant;

/// How long results take to become durable at full speed.
const MOMENT: Duration = Duration::from_millis(20);
/// The pace is measured over this time at least: several commits.
const MEASURED: Duration = Duration::from_millis(50);
/// Attempts that become durable in a moment only where the operator is not what limits the queue: 10,000 a second.
const FAST: u64 = 200;
/// A queue that was fast counts as fast for so long: this process may not have had the processor for a moment.
const STAYS_FAST: Duration = Duration::from_millis(500);

/// The unwritten attempts of one queue.
#[derive(Debug, Default)]
pub struct Unwritten {
    count: AtomicU64,
    /// All counted attempts that have become durable.
    durable: AtomicU64,
    /// Whether the queue has stopped for them.
    awaited: AtomicBool,
}

/// The rate at which attempts of a queue become durable.
#[derive(Debug)]
pub struct DurablePace {
    durable: u64,
    at: Instant,
    in_a_moment: u64,
    fast_until: Instant,
}

// === impl Unwritten ===

impl Unwritten {
    pub fn count(&self) -> u64 {
        self.count.load(Ordering::Acquire)
    }

    pub fn add(&self, attempts: usize) {
        self.count.fetch_add(attempts as u64, Ordering::AcqRel);
    }

    /// `attempts` are durable, or never will be; returns whether the queue has stopped for them.
    pub fn written(&self, attempts: u64) -> bool {
        self.durable.fetch_add(attempts, Ordering::Relaxed);
        let less = |count: u64| Some(count.saturating_sub(attempts));
        let _ = self
            .count
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, less);
        self.awaited.swap(false, Ordering::AcqRel)
    }

    /// The queue wants a message when some of them are durable.
    pub fn wait(&self) {
        self.awaited.store(true, Ordering::Release);
    }
}

// === impl DurablePace ===

impl Default for DurablePace {
    fn default() -> Self {
        let now = Instant::now();
        Self {
            durable: 0,
            at: now,
            in_a_moment: 0,
            fast_until: now,
        }
    }
}

impl DurablePace {
    /// Measures how many have become durable since it measured last, if that was some time ago.
    pub fn look(&mut self, unwritten: &Unwritten) {
        let now = Instant::now();
        let took = now.duration_since(self.at);
        if took < MEASURED {
            return;
        }
        let durable = unwritten.durable.load(Ordering::Relaxed);
        let count = u128::from(durable - self.durable);
        self.in_a_moment = (count * MOMENT.as_micros() / took.as_micros()) as u64;
        if self.in_a_moment >= FAST {
            self.fast_until = now + STAYS_FAST;
        }
        (self.durable, self.at) = (durable, now);
    }

    /// Attempts that became durable in a [`MOMENT`], as last measured.
    pub fn in_a_moment(&self) -> u64 {
        self.in_a_moment
    }

    /// Whether attempts become durable as fast as this machine allows, or did so a moment ago.
    pub fn is_fast(&self) -> bool {
        Instant::now() < self.fast_until
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn the_pace_is_that_of_the_last_moment() {
        let (unwritten, mut pace) = (Unwritten::default(), DurablePace::default());
        unwritten.add(1_000);
        unwritten.written(1_000);
        pace.look(&unwritten);
        assert_eq!(
            (pace.in_a_moment(), pace.is_fast()),
            (0, false),
            "too soon to tell"
        );
        tokio::time::advance(MEASURED).await;
        pace.look(&unwritten);
        assert_eq!((pace.in_a_moment(), pace.is_fast()), (400, true));
        tokio::time::advance(MEASURED).await;
        pace.look(&unwritten);
        assert_eq!((pace.in_a_moment(), pace.is_fast()), (0, true));
        tokio::time::advance(STAYS_FAST).await;
        pace.look(&unwritten);
        assert!(!pace.is_fast());
    }
}
