//! What waits for the writer: a bounded queue of batches and jobs under one lock.
//!
//! Callers never block on it; the writer takes as much as fits one commit in one turn, so the lock is
//! taken once per commit on that side. Guarantees that the order of the calls is the order of the
//! commits, and that waiting rows are bounded.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::oneshot;

use super::writer::Job;
use crate::{Reply, StoreError, WriteBatch, Written};

/// New messages are refused while this many rows wait: it is many seconds of work.
const MAX_WAITING_ROWS: usize = 262_144;
/// Results are bounded by the windows of the sessions; this is the last resort.
const MAX_WAITING_RESULTS: usize = 4 * MAX_WAITING_ROWS;

/// A batch and who waits for it.
#[derive(Debug)]
pub struct Pending {
    pub batch: WriteBatch,
    pub answer: oneshot::Sender<Result<Written, StoreError>>,
}

/// One piece of work for the writer.
#[allow(
    clippy::large_enum_variant,
    reason = "jobs are rare, and boxing batches would allocate on the hot path"
)]
pub enum Work {
    Batch(Pending),
    /// Runs alone, between commits; on a full disk before batches that wait: it may make space.
    Job(Job),
    /// Runs alone, after everything that was pushed before.
    Barrier(Job),
}

/// The queue.
#[derive(Default)]
pub struct WriteQueue {
    state: Mutex<State>,
    wake: Condvar,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<Work>,
    rows: usize,
    closed: bool,
    /// Set while the disk is full: what new messages are refused with.
    full: Option<StoreError>,
    /// The writer sleeps: only then is a wake-up worth a system call.
    idle: bool,
}

/// How much the writer takes at once.
#[derive(Debug, Clone, Copy)]
pub struct Take {
    /// Rows after which no further batch is taken.
    pub rows: usize,
    /// How long to wait for more when there are fewer.
    pub linger: Duration,
    /// While the disk is full: how long to wait before it is tried again. Only a job, or the end, comes
    /// before that.
    pub pause: Option<Duration>,
}

// === impl Work ===

impl Work {
    fn is_job(&self) -> bool {
        matches!(self, Self::Job(_))
    }
}

// === impl WriteQueue ===

impl WriteQueue {
    /// Queues a batch, or answers it at once when that is not possible.
    pub fn push(&self, pending: Pending) {
        let rows = pending.batch.len();
        let mut state = self.lock();
        let refusal = if state.closed {
            Some(StoreError::Closed)
        } else if let Some(full) = state
            .full
            .as_ref()
            .filter(|_| !pending.batch.accept.is_empty())
        {
            Some(full.clone())
        } else {
            let limit = if pending.batch.accept.is_empty() {
                MAX_WAITING_RESULTS
            } else {
                MAX_WAITING_ROWS
            };
            (state.rows > limit).then(|| {
                StoreError::Failed(format!("overloaded: {} rows wait for the disk", state.rows))
            })
        };
        if let Some(refusal) = refusal {
            drop(state);
            let _ = pending.answer.send(Err(refusal));
            return;
        }
        state.rows += rows;
        state.waiting.push_back(Work::Batch(pending));
        self.wake(state);
    }

    /// Resolves when every batch that was pushed before has been answered.
    pub fn barrier(&self) -> Reply<()> {
        let (answer, reply) = Reply::pair();
        // A closed write_queue drops it with its answer, which reads as `Closed`.
        self.push_work(Work::Barrier(Box::new(move |writer| {
            writer.wait_for_held(answer);
        })));
        reply
    }

    /// Queues a job; false when the write queue is closed, and the job is dropped.
    pub fn push_job(&self, job: Job) -> bool {
        self.push_work(Work::Job(job))
    }

    fn push_work(&self, work: Work) -> bool {
        let mut state = self.lock();
        if state.closed {
            return false;
        }
        state.waiting.push_back(work);
        drop(state);
        // Also when the writer rests from a full disk.
        self.wake.notify_one();
        true
    }

    /// Moves work into `into` (emptied by the caller): batches up to the limit, or a single job.
    /// False when the write queue is closed and empty.
    pub fn take(&self, into: &mut Vec<Pending>, job: &mut Option<Job>, take: Take) -> bool {
        let mut state = match take.pause {
            None => self.wait(),
            Some(pause) => self.pause(pause),
        };
        if state.waiting.is_empty() {
            return !state.closed;
        }
        if take.pause.is_some()
            && let Some(at) = state.waiting.iter().position(Work::is_job)
        {
            if let Some(Work::Job(first)) = state.waiting.remove(at) {
                *job = Some(first);
            }
            return true;
        }
        if !take.linger.is_zero() {
            let end = Instant::now() + take.linger;
            while state.rows < take.rows && !state.closed {
                let left = end.saturating_duration_since(Instant::now());
                if left.is_zero() {
                    break;
                }
                state.idle = true;
                state = self
                    .wake
                    .wait_timeout(state, left)
                    .unwrap_or_else(PoisonError::into_inner)
                    .0;
                state.idle = false;
            }
        }
        let limit = match take.pause {
            // The last that is tried.
            Some(_) if state.closed => usize::MAX,
            _ => take.rows,
        };
        let mut rows = 0;
        while rows < limit {
            match state.waiting.pop_front() {
                Some(Work::Batch(pending)) => {
                    rows += pending.batch.len();
                    into.push(pending);
                }
                Some(Work::Job(first) | Work::Barrier(first)) if into.is_empty() => {
                    *job = Some(first);
                    break;
                }
                Some(later) => {
                    state.waiting.push_front(later);
                    break;
                }
                None => break,
            }
        }
        state.rows -= rows;
        true
    }

    /// From now on new messages are refused with this, or accepted with `None`; returns those that
    /// wait.
    pub fn refuse_accepts(&self, full: Option<StoreError>) -> Vec<Pending> {
        let mut state = self.lock();
        state.full = full;
        if state.full.is_none() {
            return Vec::new();
        }
        let mut refused = Vec::new();
        let mut kept = VecDeque::with_capacity(state.waiting.len());
        for work in std::mem::take(&mut state.waiting) {
            match work {
                Work::Batch(pending) if !pending.batch.accept.is_empty() => refused.push(pending),
                other => kept.push_back(other),
            }
        }
        state.waiting = kept;
        state.rows -= refused.iter().map(|one| one.batch.len()).sum::<usize>();
        refused
    }

    /// Refuses new batches from now on; waiting ones are still taken.
    pub fn close(&self) {
        let mut state = self.lock();
        state.closed = true;
        drop(state);
        self.wake.notify_all();
    }

    /// Rows that wait.
    pub fn rows(&self) -> usize {
        self.lock().rows
    }

    /// Waits for anything.
    fn wait(&self) -> MutexGuard<'_, State> {
        let mut state = self.lock();
        while state.waiting.is_empty() && !state.closed {
            state.idle = true;
            state = self
                .wake
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
        state.idle = false;
        state
    }

    /// Waits for the time to pass, for a job, or for the end.
    fn pause(&self, pause: Duration) -> MutexGuard<'_, State> {
        let end = Instant::now() + pause;
        let mut state = self.lock();
        while !state.closed && !state.waiting.iter().any(Work::is_job) {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            // `idle` stays false: results wake no thread meanwhile.
            state = self
                .wake
                .wait_timeout(state, left)
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
        state
    }

    fn wake(&self, state: MutexGuard<'_, State>) {
        let idle = state.idle;
        drop(state);
        if idle {
            self.wake.notify_one();
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // The state is valid between any two statements, so a poisoned lock can be used.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
