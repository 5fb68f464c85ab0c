//! Wakes binds when messages are due, more exactly than the runtime's timer.
//!
//! The runtime's timer has a granularity of a millisecond, which would be most of the latency that
//! is to be measured. A thread that parks until the next message is due wakes within some tens of
//! microseconds. Used only with a rate; ends when it is dropped.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use tokio::sync::Notify;

use super::plan::{due_at_us, sharers};

/// Messages closer together than this are sent in batches, once a [`TICK_US`]: a wake-up each would
/// cost more than the message.
const CLOSE_US: u64 = 500;
/// The length of a batch; latencies then include up to this much of our own waiting.
const TICK_US: u64 = 1000;
/// The longest nap, so that the end of a run is noticed.
const NAP_US: u64 = 100_000;

/// The thread that wakes.
#[derive(Debug)]
pub(super) struct Pacer {
    ended: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

// === impl Pacer ===

impl Pacer {
    /// Wakes the binds in turn, as many as share what is due.
    pub(super) fn start(rate: f64, start: Instant, binds: Vec<Arc<Notify>>) -> Self {
        let ended = Arc::new(AtomicBool::new(false));
        let thread = {
            let ended = ended.clone();
            thread::spawn(move || pace(rate, start, &binds, &ended))
        };
        Self {
            ended,
            thread: Some(thread),
        }
    }
}

impl Drop for Pacer {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            // It does not panic, and if it did the run's numbers would tell.
            let _ = thread.join();
        }
    }
}

fn pace(rate: f64, start: Instant, binds: &[Arc<Notify>], ended: &AtomicBool) {
    let (mut next, mut turn) = (0u64, 0usize);
    let shortest_us = if due_at_us(1, rate) < CLOSE_US {
        TICK_US
    } else {
        0
    };
    while !ended.load(Ordering::Relaxed) {
        let now_us = start.elapsed().as_micros() as u64;
        let due_us = due_at_us(next, rate);
        if due_us > now_us {
            let nap = (due_us - now_us).clamp(shortest_us, NAP_US);
            thread::park_timeout(Duration::from_micros(nap));
            continue;
        }
        let scheduled = (now_us as f64 * rate / 1e6) as u64 + 1;
        let due = scheduled - next.min(scheduled);
        for _ in 0..sharers(due, binds.len()) {
            binds[turn % binds.len()].notify_one();
            turn = turn.wrapping_add(1);
        }
        next = scheduled.max(next + 1);
    }
}
