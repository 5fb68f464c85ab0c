//! What waits for the writer: a bounded queue of batches and jobs under one lock.
//!
//! Callers never block on it; the writer takes as much as fits one commit in one turn, so the lock is
//! taken once per commit on that side. Guarantees that waiting rows are bounded, and that the order of the calls is the
//! order of the commits, with one exception: batches with nothing but new messages may be committed before others that wait.
//!
//! Few results wait for more. A commit writes whole pages, however few rows are new in them: the last page of each table
//! that it touches, and an attempt, a final state and an acknowledged receipt touch six. So a commit of results is followed
//! by a rest, in which only new messages are written; and what nobody waits for, attempts and acknowledged receipts, waits
//! as long for something else. What follows a quiet moment is written at once, and so are results when many rows wait: they
//! fill their pages in any case.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use self::work::{Haste, WriterWork};
use super::writer::WriterJob;
use crate::{Reply, StoreError};

pub use self::work::WaitingBatch;

mod work;

/// When so many rows wait, results are written without a rest.
const MANY_ROWS: usize = 128;

/// New messages are refused while this many rows wait: it is many seconds of work.
const MAX_WAITING_ROWS: usize = 262_144;
/// Results are bounded by the windows of the sessions; this is the last resort.
const MAX_WAITING_RESULTS: usize = 4 * MAX_WAITING_ROWS;

/// The queue.
pub struct SqliteWriteQueue {
    state: Mutex<SqliteQueueState>,
    wake: Condvar,
    /// How long results rest after a commit of results.
    rest: Duration,
}

/// Work with its place in the order of the calls.
type Placed<T> = (u64, T);

#[derive(Default)]
struct SqliteQueueState {
    /// Nothing but new messages.
    accepts: VecDeque<Placed<WaitingBatch>>,
    /// Everything else.
    ordered: VecDeque<Placed<WriterWork>>,
    /// The next place to give.
    next: u64,
    rows: usize,
    /// Pieces of work in `ordered` that rest for nothing.
    hasty: usize,
    /// Batches in `ordered` that someone waits for, without the hasty ones.
    awaited: usize,
    /// What was taken has results that someone waits for: the next ones rest when it is committed.
    takes_results: bool,
    /// Few results are not taken before.
    rests_until: Option<Instant>,
    /// When the first in `ordered` came, if nobody waits for it.
    since: Option<Instant>,
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

// === impl SqliteWriteQueue ===

impl SqliteWriteQueue {
    /// `rest` is how long few results wait for more.
    pub fn new(rest: Duration) -> Self {
        Self {
            state: Mutex::default(),
            wake: Condvar::new(),
            rest,
        }
    }

    /// Queues a batch, or answers it at once when that is not possible.
    pub fn push(&self, pending: WaitingBatch) {
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
        if pending.batch.accepts_alone() {
            state.push_new(pending);
        } else {
            state.push_ordered(WriterWork::Batch(pending));
        }
        self.wake(state);
    }

    /// Resolves when every batch that was pushed before has been answered.
    pub fn barrier(&self) -> Reply<()> {
        let (answer, reply) = Reply::pair();
        // A closed write_queue drops it with its answer, which reads as `Closed`.
        self.push_work(WriterWork::Barrier(Box::new(move |writer| {
            writer.wait_for_held(answer);
        })));
        reply
    }

    /// Queues a job; false when the write queue is closed, and the job is dropped.
    pub fn push_job(&self, job: WriterJob) -> bool {
        self.push_work(WriterWork::Job(job))
    }

    fn push_work(&self, work: WriterWork) -> bool {
        let mut state = self.lock();
        if state.closed {
            return false;
        }
        state.push_ordered(work);
        drop(state);
        // Also when the writer rests from a full disk.
        self.wake.notify_one();
        true
    }

    /// Moves work into `into` (emptied by the caller): batches up to the limit, or a single job.
    /// False when the write queue is closed and empty.
    pub fn take(
        &self,
        into: &mut Vec<WaitingBatch>,
        job: &mut Option<WriterJob>,
        take: Take,
    ) -> bool {
        let mut state = match take.pause {
            None => self.wait(),
            Some(pause) => self.pause(pause),
        };
        if state.is_empty() {
            return !state.closed;
        }
        if take.pause.is_some()
            && let Some(at) = state.ordered.iter().position(|(_, work)| work.is_job())
        {
            if let Some(WriterWork::Job(first)) = state.remove_ordered(at) {
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
        let with_results = take.pause.is_some() || state.has_results_to_write(self.rest);
        let has_awaited = with_results && state.awaited > 0;
        let mut rows = 0;
        while rows < limit {
            match state.pop(with_results) {
                Some((_, WriterWork::Batch(pending))) => {
                    rows += pending.batch.len();
                    into.push(pending);
                }
                Some((_, WriterWork::Job(first) | WriterWork::Barrier(first)))
                    if into.is_empty() =>
                {
                    *job = Some(first);
                    break;
                }
                Some(later) => {
                    state.put_back(later);
                    break;
                }
                None => break,
            }
        }
        state.takes_results = has_awaited;
        true
    }

    /// From now on new messages are refused with this, or accepted with `None`; returns those that
    /// wait.
    pub fn refuse_accepts(&self, full: Option<StoreError>) -> Vec<WaitingBatch> {
        let mut state = self.lock();
        state.full = full;
        if state.full.is_none() {
            return Vec::new();
        }
        let mut refused: Vec<_> = (state.accepts.drain(..))
            .map(|(_, pending)| pending)
            .collect();
        for (place, work) in std::mem::take(&mut state.ordered) {
            match work {
                WriterWork::Batch(pending) if !pending.batch.accept.is_empty() => {
                    refused.push(pending)
                }
                other => state.ordered.push_back((place, other)),
            }
        }
        state.count();
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

    /// Waits for something to write.
    fn wait(&self) -> MutexGuard<'_, SqliteQueueState> {
        let mut state = self.lock();
        state.begin_rest(self.rest);
        while !state.closed && !state.has_work(self.rest) {
            state.idle = true;
            state = match state.rest_ends(self.rest) {
                None => self
                    .wake
                    .wait(state)
                    .unwrap_or_else(PoisonError::into_inner),
                Some(end) => {
                    let left = end.saturating_duration_since(Instant::now());
                    self.wake
                        .wait_timeout(state, left)
                        .unwrap_or_else(PoisonError::into_inner)
                        .0
                }
            };
        }
        state.idle = false;
        state
    }

    /// Waits for the time to pass, for a job, or for the end.
    fn pause(&self, pause: Duration) -> MutexGuard<'_, SqliteQueueState> {
        let end = Instant::now() + pause;
        let mut state = self.lock();
        while !state.closed && !state.ordered.iter().any(|(_, work)| work.is_job()) {
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

    fn wake(&self, state: MutexGuard<'_, SqliteQueueState>) {
        // It looks again when the rest ends.
        let is_needed = state.idle && state.has_news(self.rest);
        drop(state);
        if is_needed {
            self.wake.notify_one();
        }
    }

    fn lock(&self) -> MutexGuard<'_, SqliteQueueState> {
        // The state is valid between any two statements, so a poisoned lock can be used.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl SqliteQueueState ===

impl SqliteQueueState {
    fn is_empty(&self) -> bool {
        self.accepts.is_empty() && self.ordered.is_empty()
    }

    fn place(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    fn push_new(&mut self, pending: WaitingBatch) {
        let place = self.place();
        self.rows += pending.batch.len();
        self.accepts.push_back((place, pending));
    }

    fn push_ordered(&mut self, work: WriterWork) {
        let place = self.place();
        if self.ordered.is_empty() {
            self.since = Some(Instant::now());
        }
        self.add(&work);
        self.ordered.push_back((place, work));
    }

    /// Counts work of `ordered`.
    fn add(&mut self, work: &WriterWork) {
        self.rows += work.rows();
        match work.haste() {
            Haste::None => {}
            Haste::Results => self.awaited += 1,
            Haste::Now => self.hasty += 1,
        }
    }

    fn subtract(&mut self, work: &WriterWork) {
        self.rows -= work.rows();
        match work.haste() {
            Haste::None => {}
            Haste::Results => self.awaited -= 1,
            Haste::Now => self.hasty -= 1,
        }
    }

    /// Counts everything anew.
    fn count(&mut self) {
        (self.rows, self.hasty, self.awaited) = (0, 0, 0);
        self.rows = (self.accepts.iter())
            .map(|(_, pending)| pending.batch.len())
            .sum();
        let ordered = std::mem::take(&mut self.ordered);
        for (_, work) in &ordered {
            self.add(work);
        }
        self.ordered = ordered;
    }

    fn remove_ordered(&mut self, at: usize) -> Option<WriterWork> {
        let (_, work) = self.ordered.remove(at)?;
        self.subtract(&work);
        Some(work)
    }

    /// The next piece of work in the order of the calls, or the next new messages.
    fn pop(&mut self, with_results: bool) -> Option<Placed<WriterWork>> {
        let ordered = self.ordered.front().filter(|_| with_results);
        let is_new = match (self.accepts.front(), ordered) {
            (Some(new), Some(other)) => new.0 < other.0,
            (new, _) => new.is_some(),
        };
        if is_new {
            let (place, pending) = self.accepts.pop_front()?;
            self.rows -= pending.batch.len();
            return Some((place, WriterWork::Batch(pending)));
        }
        ordered?;
        let (place, work) = self.ordered.pop_front()?;
        self.subtract(&work);
        Some((place, work))
    }

    /// Undoes the last [`Self::pop`], of a job.
    fn put_back(&mut self, (place, work): Placed<WriterWork>) {
        self.add(&work);
        self.ordered.push_front((place, work));
    }

    /// A commit has ended: results rest if it had some.
    fn begin_rest(&mut self, rest: Duration) {
        if std::mem::take(&mut self.takes_results) {
            self.rests_until = Some(Instant::now() + rest);
        }
    }

    /// When few results are written that wait; `None` where none wait.
    fn rest_ends(&self, rest: Duration) -> Option<Instant> {
        if self.ordered.is_empty() {
            return None;
        }
        match self.awaited {
            0 => self.since.map(|since| since + rest),
            _ => Some(self.rests_until.unwrap_or_else(Instant::now)),
        }
    }

    fn has_results_to_write(&self, rest: Duration) -> bool {
        let is_now = self.closed || self.hasty > 0 || self.rows >= MANY_ROWS;
        let is_rested = || {
            self.rest_ends(rest)
                .is_some_and(|end| Instant::now() >= end)
        };
        !self.ordered.is_empty() && (is_now || is_rested())
    }

    fn has_work(&self, rest: Duration) -> bool {
        !self.accepts.is_empty() || self.has_results_to_write(rest)
    }

    /// Whether the writer, which sleeps, has to be woken: it wakes by itself when the rest ends of what it has seen.
    fn has_news(&self, rest: Duration) -> bool {
        self.has_work(rest) || self.ordered.len() == 1 || self.awaited == 1
    }
}

#[cfg(test)]
mod tests;
