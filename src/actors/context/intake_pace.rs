//! Lets no more new messages in than their queue can keep in memory, while the queue is as fast as this machine allows.
//!
//! Senders that push as fast as they are answered, through large windows, could have messages accepted much faster than
//! they are sent and ended. Those beyond the queue's page lose their bodies, each is read from the store again, and that
//! takes the time in which others would be sent: the more is accepted, the less arrives. So a queue that hands out messages
//! at the speed of the machine ([`FAST`]) keeps its backlog at a page: Ingest waits for room before it writes, as long as
//! [`LONGEST`]. A slower queue is limited by its operator, and so is one with a rate: what waits for these is stored at
//! once, as a store-and-forward centre has to.
//!
//! Used by Ingest ([`enter`]) and by the queue's actor ([`IntakePace::steer`]). Messages enter in the order of the calls.
//! A queue on another node does not hold back what this one accepts for it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use tokio::sync::Semaphore;
use tokio::time::{Instant, timeout};

use crate::actors::context::NodeContext;
use crate::actors::context::ports::QueuePort;

/// Messages a second that a queue hands out only where the operator is not what limits it.
const FAST: f64 = 10_000.0;
/// How often the speed of a queue is measured.
const MEASURED: Duration = Duration::from_millis(50);
/// A queue that was fast counts as fast for so long: this process may not have had the processor for a moment.
const STAYS_FAST: Duration = Duration::from_millis(500);
/// What has waited so long enters all the same.
const LONGEST: Duration = Duration::from_secs(1);
/// Room that a batch waits for at most: a page has more of it.
const MOST: usize = 512;
/// More than can wait to enter.
const EVERYTHING: usize = 1 << 24;

/// Who may enter a queue.
#[derive(Debug)]
pub struct IntakePace {
    /// Whether new messages wait for room.
    holds_back: AtomicBool,
    room: Semaphore,
    /// Messages that wait for room.
    waiting: AtomicUsize,
    /// Messages that have entered and are not written yet.
    entered: AtomicUsize,
}

/// How fast a queue hands out messages.
#[derive(Debug)]
pub struct Speed {
    at: Instant,
    granted: u64,
    fast_until: Instant,
}

/// What the queue knows when it steers.
#[derive(Debug, Clone, Copy)]
pub struct Filling {
    /// Messages that wait for their turn.
    pub waiting: usize,
    /// Whose bodies may be in memory.
    pub page: usize,
    /// Handed out since it steered last.
    pub granted: usize,
    pub is_fast: bool,
}

/// Messages that have entered their queues; until this is dropped they count as not written.
#[must_use]
#[derive(Default)]
pub struct Entered(Vec<(Arc<QueuePort>, usize)>);

/// Messages that wait for room.
struct Waiting<'a>(&'a IntakePace, usize);

/// Waits until all these messages, by the queue of each, may be written.
pub async fn enter(node: &NodeContext, queues: impl Iterator<Item = u32>) -> Entered {
    let mut counts: Vec<(u32, usize)> = Vec::new();
    for queue in queues {
        match counts.iter_mut().find(|(known, _)| *known == queue) {
            Some((_, count)) => *count += 1,
            None => counts.push((queue, 1)),
        }
    }
    let mut entered = Entered::default();
    for (queue, count) in counts {
        let Some(port) = node.queue(queue) else {
            continue;
        };
        if port.intake.must_wait() {
            node.metrics.intake_held_back.inc_by(count as u64);
            port.intake.wait(count).await;
        }
        port.intake.entered.fetch_add(count, Ordering::AcqRel);
        entered.0.push((port, count));
    }
    entered
}

// === impl IntakePace ===

impl Default for IntakePace {
    fn default() -> Self {
        Self {
            holds_back: AtomicBool::new(false),
            room: Semaphore::new(0),
            waiting: AtomicUsize::new(0),
            entered: AtomicUsize::new(0),
        }
    }
}

impl IntakePace {
    /// Whoever comes while others wait is behind them.
    fn must_wait(&self) -> bool {
        self.holds_back.load(Ordering::Acquire) || self.waiting.load(Ordering::Acquire) > 0
    }

    async fn wait(&self, messages: usize) {
        self.waiting.fetch_add(messages, Ordering::AcqRel);
        let _waiting = Waiting(self, messages);
        let wanted = messages.min(MOST) as u32;
        if let Ok(Ok(room)) = timeout(LONGEST, self.room.acquire_many(wanted)).await {
            room.forget();
        }
    }

    /// Makes room, or lets everything in, as the queue has become. To be called whenever it has handed out messages, and
    /// by its timer.
    pub fn steer(&self, queue: Filling) {
        let holds_back = self.holds_back.load(Ordering::Acquire);
        let free = self.room.available_permits();
        if !holds_back {
            if queue.is_fast && queue.waiting > queue.page {
                self.room.forget_permits(free);
                self.holds_back.store(true, Ordering::Release);
            }
            return;
        }
        let is_over = queue.waiting < queue.page / 2 && self.waiting.load(Ordering::Acquire) == 0;
        if !queue.is_fast || is_over {
            self.holds_back.store(false, Ordering::Release);
            self.room.add_permits(EVERYTHING.saturating_sub(free));
            return;
        }
        let taken = queue.waiting + self.entered.load(Ordering::Acquire) + free;
        let more = match queue.page.checked_sub(taken) {
            Some(more) => more,
            // What is behind a long backlog must not stand still.
            None => (queue.granted / 2).min((queue.page / 4).saturating_sub(free)),
        };
        self.room.add_permits(more);
    }
}

// === impl Speed ===

impl Default for Speed {
    fn default() -> Self {
        let now = Instant::now();
        Self {
            at: now,
            granted: 0,
            fast_until: now,
        }
    }
}

impl Speed {
    /// Whether the queue is as fast as the machine allows. `granted`: total of messages handed out.
    pub fn is_fast(&mut self, granted: u64) -> bool {
        let now = Instant::now();
        let spent = now - self.at;
        if spent >= MEASURED {
            let count = granted - self.granted;
            if count as f64 >= FAST * spent.as_secs_f64() {
                self.fast_until = now + STAYS_FAST;
            }
            (self.at, self.granted) = (now, granted);
        }
        now < self.fast_until
    }
}

// === impl Entered ===

impl Drop for Entered {
    fn drop(&mut self) {
        for (port, count) in &self.0 {
            port.intake.entered.fetch_sub(*count, Ordering::AcqRel);
        }
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.waiting.fetch_sub(self.1, Ordering::AcqRel);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: usize = 1_000;

    fn full() -> Filling {
        Filling {
            waiting: PAGE + 1,
            page: PAGE,
            granted: 0,
            is_fast: true,
        }
    }

    #[tokio::test(start_paused = true)]
    async fn new_messages_wait_for_room_in_their_order() {
        let pace = IntakePace::default();
        assert!(!pace.must_wait());
        pace.steer(full());
        assert!(pace.must_wait());
        let (first, second) = (pace.wait(600), pace.wait(300));
        tokio::pin!(first, second);
        assert!(futures_util::poll!(&mut first).is_pending());
        assert!(futures_util::poll!(&mut second).is_pending());
        pace.steer(Filling {
            waiting: 500,
            ..full()
        });
        // Room for 500: enough for the second, which is behind the first.
        assert!(futures_util::poll!(&mut second).is_pending());
        pace.steer(Filling {
            waiting: 0,
            ..full()
        });
        assert!(futures_util::poll!(&mut first).is_ready());
        assert!(futures_util::poll!(&mut second).is_ready());
        pace.steer(Filling {
            waiting: 400,
            ..full()
        });
        assert!(!pace.must_wait());
    }

    #[tokio::test(start_paused = true)]
    async fn a_queue_that_is_slow_lets_everything_in() {
        let pace = IntakePace::default();
        pace.steer(Filling {
            is_fast: false,
            ..full()
        });
        assert!(!pace.must_wait());
        pace.steer(full());
        let waits = pace.wait(5_000);
        tokio::pin!(waits);
        assert!(futures_util::poll!(&mut waits).is_pending());
        pace.steer(Filling {
            is_fast: false,
            ..full()
        });
        assert!(futures_util::poll!(&mut waits).is_ready());
        // What was let in then is no room later.
        pace.steer(full());
        let waits = pace.wait(1);
        tokio::pin!(waits);
        assert!(futures_util::poll!(&mut waits).is_pending());
    }

    #[tokio::test(start_paused = true)]
    async fn nothing_waits_for_ever_and_a_long_backlog_lets_half_in() {
        let pace = IntakePace::default();
        let long = Filling {
            waiting: 1_000_000,
            granted: 100,
            ..full()
        };
        pace.steer(long);
        pace.wait(10).await;
        pace.steer(long);
        let waits = pace.wait(50);
        tokio::pin!(waits);
        assert!(futures_util::poll!(&mut waits).is_ready());
    }

    #[tokio::test(start_paused = true)]
    async fn the_speed_of_a_queue_is_that_of_the_last_moment() {
        let mut speed = Speed::default();
        assert!(!speed.is_fast(1_000_000));
        tokio::time::advance(MEASURED).await;
        assert!(speed.is_fast(1_000_000));
        tokio::time::advance(STAYS_FAST).await;
        assert!(!speed.is_fast(1_000_100));
    }
}
