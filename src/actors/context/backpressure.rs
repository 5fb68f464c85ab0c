//! Lets no more new messages in than can be sent at once, while the queue is as fast as this machine allows.
//!
//! Senders that push as fast as they are answered, through large windows, could have messages accepted much faster than
//! they are sent and ended. What waits takes memory and, beyond the queue's page, is read from the store again, and both
//! take the time in which others would be sent: the more is accepted, the less arrives. So a queue whose messages end
//! at the speed of the machine ([`Pace::is_fast`](super::unwritten::Pace::is_fast)) keeps a short backlog ([`BACKLOG`]):
//! Ingest waits for room before it writes, as long as [`LONGEST`] for all queues of a batch. A slower queue is limited by its operator, and so
//! is one with a rate: what waits for these is stored at once, as a store-and-forward centre has to.
//!
//! Used by Ingest and by the queue's actor ([`Backpressure::steer`]). Messages enter in the order of the calls.
//! A queue on another node does not hold back what this one accepts for it.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use tokio::sync::Semaphore;
use tokio::time::timeout;

/// Messages that wait at most while new ones are held back, within the page: enough for the windows of an operator until the
/// next commit, and little enough for the caches of a processor. With four times as many a message costs an eighth more
/// (docs/developers/performance.md).
const BACKLOG: usize = 1024;
/// What has waited so long enters all the same: longer than what four binds have read may take in a queue that is just
/// fast.
const LONGEST: Duration = Duration::from_secs(2);
/// Room that a batch waits for at most, so that a large one does not hold up those behind it.
const MOST: usize = 512;
/// More than can wait to enter.
const EVERYTHING: usize = 1 << 24;

/// Whether new messages may enter a queue, and how many.
#[derive(Debug)]
pub struct Backpressure {
    /// Whether new messages wait for room.
    holds_back: AtomicBool,
    room: Semaphore,
    /// Messages that wait for room.
    waiting: AtomicUsize,
    /// Messages that have entered and are not written yet.
    entered: AtomicUsize,
}

/// What the queue knows when it steers.
#[derive(Debug, Clone, Copy)]
pub struct QueueLevel {
    /// Messages that wait for their turn.
    pub waiting: usize,
    /// Whose bodies may be in memory.
    pub page: usize,
    /// Handed out since it steered last.
    pub granted: usize,
    pub is_fast: bool,
}

/// Messages that wait for room.
struct WaitingForRoom<'a>(&'a Backpressure, usize);

// === impl Backpressure ===

impl Default for Backpressure {
    fn default() -> Self {
        Self {
            holds_back: AtomicBool::new(false),
            room: Semaphore::new(0),
            waiting: AtomicUsize::new(0),
            entered: AtomicUsize::new(0),
        }
    }
}

impl Backpressure {
    /// Whether new messages have to wait; whoever comes while others wait is behind them.
    pub fn must_wait(&self) -> bool {
        self.holds_back.load(Ordering::Acquire) || self.waiting.load(Ordering::Acquire) > 0
    }

    /// Waits for room for so many.
    pub async fn wait(&self, messages: usize) {
        self.waiting.fetch_add(messages, Ordering::AcqRel);
        let _waiting = WaitingForRoom(self, messages);
        let wanted = messages.min(MOST) as u32;
        if let Ok(Ok(room)) = timeout(LONGEST, self.room.acquire_many(wanted)).await {
            room.forget();
        }
    }

    /// So many go to the store, and count until they are [`Self::written`].
    pub fn entered(&self, messages: usize) {
        self.entered.fetch_add(messages, Ordering::AcqRel);
    }

    pub fn written(&self, messages: usize) {
        self.entered.fetch_sub(messages, Ordering::AcqRel);
    }

    /// Makes room, or lets everything in, as the queue has become. To be called whenever it has handed out messages, and
    /// by its timer.
    pub fn steer(&self, queue: QueueLevel) {
        let most = queue.page.min(BACKLOG);
        let holds_back = self.holds_back.load(Ordering::Acquire);
        if !holds_back {
            if queue.is_fast && queue.waiting > most {
                self.room.forget_permits(self.room.available_permits());
                self.holds_back.store(true, Ordering::Release);
            }
            return;
        }
        let free = self.room.available_permits();
        let is_over = queue.waiting < most / 2 && self.waiting.load(Ordering::Acquire) == 0;
        if !queue.is_fast || is_over {
            self.holds_back.store(false, Ordering::Release);
            self.room.add_permits(EVERYTHING.saturating_sub(free));
            return;
        }
        let taken = queue.waiting + self.entered.load(Ordering::Acquire) + free;
        let more = match most.checked_sub(taken) {
            Some(more) => more,
            // What is behind a long backlog must not stand still.
            None => (queue.granted / 2).min((most / 4).saturating_sub(free)),
        };
        self.room.add_permits(more);
    }
}

// === impl WaitingForRoom ===

impl Drop for WaitingForRoom<'_> {
    fn drop(&mut self) {
        self.0.waiting.fetch_sub(self.1, Ordering::AcqRel);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: usize = 1_000;

    fn full() -> QueueLevel {
        QueueLevel {
            waiting: PAGE + 1,
            page: PAGE,
            granted: 0,
            is_fast: true,
        }
    }

    #[tokio::test(start_paused = true)]
    async fn new_messages_wait_for_room_in_their_order() {
        let pace = Backpressure::default();
        assert!(!pace.must_wait());
        pace.steer(full());
        assert!(pace.must_wait());
        let (first, second) = (pace.wait(600), pace.wait(300));
        tokio::pin!(first, second);
        assert!(futures_util::poll!(&mut first).is_pending());
        assert!(futures_util::poll!(&mut second).is_pending());
        pace.steer(QueueLevel {
            waiting: 500,
            ..full()
        });
        // Room for 500: enough for the second, which is behind the first.
        assert!(futures_util::poll!(&mut second).is_pending());
        pace.steer(QueueLevel {
            waiting: 0,
            ..full()
        });
        assert!(futures_util::poll!(&mut first).is_ready());
        assert!(futures_util::poll!(&mut second).is_ready());
        pace.steer(QueueLevel {
            waiting: 400,
            ..full()
        });
        assert!(!pace.must_wait());
    }

    #[tokio::test(start_paused = true)]
    async fn a_queue_that_is_slow_lets_everything_in() {
        let pace = Backpressure::default();
        pace.steer(QueueLevel {
            is_fast: false,
            ..full()
        });
        assert!(!pace.must_wait());
        pace.steer(full());
        let waits = pace.wait(5_000);
        tokio::pin!(waits);
        assert!(futures_util::poll!(&mut waits).is_pending());
        pace.steer(QueueLevel {
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
        let pace = Backpressure::default();
        let long = QueueLevel {
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
}
