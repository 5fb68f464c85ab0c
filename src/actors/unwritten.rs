//! Attempts that were answered and are not durable yet, counted for each queue.
//!
//! After a crash they are made again, like those that no answer has come for. So a queue hands out no
//! more than would keep both together within the windows of its sessions, one commit, and what becomes
//! durable in a [`MOMENT`]: at full speed several commits are on their way. A disk that is full, or a
//! database that says nothing, makes nothing durable, and must not make a duplicate of everything that
//! waits.
//!
//! Whoever hears the answer counts first and tells others then, so that no attempt is uncounted in
//! between; whoever sees the commit takes the count back, by [`Counted`] however that work ends.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use std::time::Duration;

use tokio::time::Instant;

use crate::actors::ports::QueuePort;

/// As long as results are on their way to the disk at full speed.
const MOMENT: Duration = Duration::from_millis(20);

/// The attempts of one queue.
#[derive(Debug, Default)]
pub struct Unwritten {
    count: AtomicU64,
    /// All that were counted and are durable.
    durable: AtomicU64,
    /// The queue has stopped for them.
    awaited: AtomicBool,
}

/// How many attempts of a queue become durable.
#[derive(Debug)]
pub struct Pace {
    durable: u64,
    at: Instant,
    in_a_moment: u64,
}

/// So many attempts of a queue, counted until this is dropped.
pub struct Counted {
    port: Arc<QueuePort>,
    attempts: u64,
}

/// Attempts are durable that the queue has waited for.
#[derive(Debug, Clone, Copy)]
pub struct AttemptsWritten;

impl actix::Message for AttemptsWritten {
    type Result = ();
}

// === impl Unwritten ===

impl Unwritten {
    pub fn count(&self) -> u64 {
        self.count.load(Ordering::Acquire)
    }

    pub fn add(&self, attempts: usize) {
        self.count.fetch_add(attempts as u64, Ordering::AcqRel);
    }

    /// The queue wants to hear when some of them are durable.
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
    /// Looks how many have become durable since the last look.
    pub fn look(&mut self, unwritten: &Unwritten) {
        let (durable, now) = (unwritten.durable.load(Ordering::Relaxed), Instant::now());
        let took = now.duration_since(self.at).max(MOMENT);
        let share = MOMENT.as_secs_f64() / took.as_secs_f64();
        self.in_a_moment = ((durable - self.durable) as f64 * share) as u64;
        (self.durable, self.at) = (durable, now);
    }

    /// Attempts that became durable in a [`MOMENT`], as of the last look.
    pub fn in_a_moment(&self) -> u64 {
        self.in_a_moment
    }
}

// === impl Counted ===

impl Counted {
    /// Counts attempts whose rows the caller is about to write; `None` for none.
    pub fn new(port: &Arc<QueuePort>, attempts: usize) -> Option<Self> {
        port.unwritten.add(attempts);
        Self::counted_before(port, attempts)
    }

    /// The same for attempts that were counted when their answer came.
    pub fn counted_before(port: &Arc<QueuePort>, attempts: usize) -> Option<Self> {
        (attempts > 0).then(|| Self {
            port: Arc::clone(port),
            attempts: attempts as u64,
        })
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        let unwritten = &self.port.unwritten;
        unwritten
            .durable
            .fetch_add(self.attempts, Ordering::Relaxed);
        let _ = unwritten
            .count
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, |count| {
                Some(count.saturating_sub(self.attempts))
            });
        if unwritten.awaited.swap(false, Ordering::AcqRel) {
            // A mailbox that is full makes it look by itself, and its timer does.
            let _ = self.port.addr.try_send(AttemptsWritten);
        }
    }
}
