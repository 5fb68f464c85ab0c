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
pub struct Pace {
    durable: u64,
    at: Instant,
    in_a_moment: u64,
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

// === impl Pace ===

impl Default for Pace {
    fn default() -> Self {
        Self {
            durable: 0,
            at: Instant::now(),
            in_a_moment: 0,
        }
    }
}

impl Pace {
    /// Measures how many have become durable since the last call.
    pub fn look(&mut self, unwritten: &Unwritten) {
        let (durable, now) = (unwritten.durable.load(Ordering::Relaxed), Instant::now());
        let took = now.duration_since(self.at).max(MOMENT);
        let share = MOMENT.as_secs_f64() / took.as_secs_f64();
        self.in_a_moment = ((durable - self.durable) as f64 * share) as u64;
        (self.durable, self.at) = (durable, now);
    }

    /// Attempts that became durable in a [`MOMENT`], as last measured.
    pub fn in_a_moment(&self) -> u64 {
        self.in_a_moment
    }
}
