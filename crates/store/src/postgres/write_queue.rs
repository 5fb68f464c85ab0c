//! Batches that wait for the writer's lanes: two bounded queues under one lock.
//!
//! Callers never block on it. Guarantees that dependent work is written in the order of the calls,
//! that waiting rows are bounded, and that a barrier resolves after everything asked before it.
//!
//! Two transactions of two lanes commit in any order, so only work that nothing can depend on before
//! it was answered may go to any lane: batches that accept messages and nothing else. Those of them with messages for
//! other nodes go through the last lane, in order: their owners take them by commits, and the messages of one session
//! keep their order. Later writes
//! for a message (attempt, final state, command) can only be requested after its acceptance was
//! answered, but among these one is often requested before the other was answered (`sent`, then
//! `fin` of the same message). They all go through lane 0, in order. `told` is different: a receipt is given out after
//! the final state is durable, and nothing follows it, so it may go to any lane.
//!
//! Results come before new messages. A message costs lane 0 two rows after its acceptance, so the other lanes could
//! accept much faster than lane 0 ends what was accepted; queues would grow beyond their memory, and the bodies be
//! read again. While more results wait than one commit takes, as many new messages are written as have ended.
//!
//! Few results wait for more. A commit costs as much as twenty of its rows, and a sender with a small window sees its
//! answers as late as the processor is busy with commits. So when some results, but few, wait right after a commit of
//! results, the next one begins after a rest; lane 0 writes new messages meanwhile. Where nothing waits at that moment,
//! what comes is written at once.

use std::cell::Cell;
use std::collections::{BTreeSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{Notify, oneshot};
use tokio::time::Instant;

use crate::{StoreError, StoreResult, WriteBatch, Written};

/// New messages are refused while this many rows wait: it is many seconds of work.
const MAX_WAITING_ROWS: usize = 262_144;
/// Results are bounded by the windows of the sessions; this is the last resort.
const MAX_WAITING_RESULTS: usize = 4 * MAX_WAITING_ROWS;
/// While results wait, one row of a new message for so many rows of lane 0: an attempt and a final state.
const RESULTS_FOR_ONE: usize = 2;
/// So many results are written without a rest.
const MANY_RESULTS: usize = 128;
/// How long a rest is, in times that the commit of results before it took.
const REST: u32 = 2;
const LONGEST_REST: Duration = Duration::from_millis(8);
/// A new message waits no longer for results, whatever holds them up.
const LONGEST_BEHIND: Duration = Duration::from_millis(500);

/// A batch and who waits for it.
pub struct PendingBatch {
    /// Kept for a while when it is written.
    pub batch: Arc<WriteBatch>,
    /// `None` once it is answered.
    answer: Cell<Option<oneshot::Sender<StoreResult<Written>>>>,
    /// Refused before it was known whether it is written.
    is_refused: Cell<bool>,
    number: u64,
    since: Instant,
}

/// The queues.
pub struct PostgresWriteQueue {
    state: Mutex<PostgresQueueState>,
    /// One per lane.
    wake: Vec<Notify>,
}

#[derive(Default)]
struct PostgresQueueState {
    /// For lane 0 only.
    ordered: VecDeque<PendingBatch>,
    /// Nothing but acknowledged receipts: for any lane.
    told: VecDeque<PendingBatch>,
    /// Nothing but accepted messages: for any lane, and for the last one only with some for other nodes.
    accepts: VecDeque<PendingBatch>,
    rows: usize,
    /// Of them in `ordered`.
    ordered_rows: usize,
    /// When the results were taken that lane 0 is writing.
    taken_at: Option<Instant>,
    /// Few results are not taken before.
    rests_until: Option<Instant>,
    /// Rows of results that were taken, and are not set off against new messages, while results wait.
    share: usize,
    closed: bool,
    /// Lanes that wait to be woken.
    idle: Vec<usize>,
    /// The next number to give.
    next: u64,
    /// Numbers that wait or are being written.
    open: BTreeSet<u64>,
    /// Each resolves when no open number is below its own.
    barriers: Vec<(u64, oneshot::Sender<StoreResult>)>,
}

// === impl PendingBatch ===

impl PendingBatch {
    /// A batch that is written once more; nobody waits for it.
    pub fn again(batch: Arc<WriteBatch>) -> Self {
        Self {
            batch,
            answer: Cell::new(None),
            is_refused: Cell::new(false),
            number: u64::MAX,
            since: Instant::now(),
        }
    }

    /// Whether it holds new messages and has waited too long for the database.
    pub fn is_overdue(&self, limit: Duration) -> bool {
        !self.batch.accept.is_empty() && self.since.elapsed() >= limit
    }

    /// Answers it while its transaction goes on; what is answered already stays so.
    pub fn answer(&self, result: StoreResult<Written>) {
        if let Some(answer) = self.answer.take() {
            let _ = answer.send(result);
        }
    }

    /// Refuses it although it may have been written, if that can be undone.
    pub fn refuse_undecided(&self, limit: Duration) {
        if self.is_overdue(limit)
            && is_new_alone(&self.batch)
            && let Some(answer) = self.answer.take()
        {
            let _ = answer.send(Err(StoreError::Undecided {
                waited_ms: limit.as_millis() as u64,
            }));
            self.is_refused.set(true);
        }
    }

    pub fn is_answered(&self) -> bool {
        let answer = self.answer.take();
        let is_answered = answer.is_none();
        self.answer.set(answer);
        is_answered
    }

    /// Whether its sender was told that it is not accepted, by [`Self::refuse_undecided`].
    pub fn is_refused(&self) -> bool {
        self.is_refused.get()
    }

    /// Whether it is charged to blocks of an earlier membership, which no longer exist.
    pub fn is_of_another(&self, epoch: u64) -> bool {
        self.batch.charge.iter().any(|row| row.epoch != epoch)
    }
}

/// Whether a batch has nothing but acknowledged receipts.
fn is_told_alone(batch: &WriteBatch) -> bool {
    !batch.told.is_empty() && batch.len() == batch.told.len()
}

/// Whether all rows of a batch are about messages that it accepts, a divided text among them.
fn is_new_alone(batch: &WriteBatch) -> bool {
    let is_own = |id| batch.accept.iter().any(|message| message.id == id);
    !batch.accept.is_empty()
        && batch.len() == batch.rows_of_acceptance() + batch.sent.len()
        && batch.sent.iter().all(|row| is_own(row.id))
}

// === impl PostgresWriteQueue ===

impl PostgresWriteQueue {
    pub fn new(lanes: usize) -> Self {
        Self {
            state: Mutex::default(),
            wake: (0..lanes).map(|_| Notify::new()).collect(),
        }
    }

    /// Queues a batch, or answers it at once when that is not possible.
    pub fn push(&self, batch: WriteBatch, answer: oneshot::Sender<StoreResult<Written>>) {
        let rows = batch.len();
        let mut state = self.lock();
        let limit = if batch.accept.is_empty() {
            MAX_WAITING_RESULTS
        } else {
            MAX_WAITING_ROWS
        };
        let refusal = if state.closed {
            Some(StoreError::Closed)
        } else {
            (state.rows > limit).then(|| {
                StoreError::Failed(format!(
                    "overloaded: {} rows wait for the database",
                    state.rows
                ))
            })
        };
        if let Some(refusal) = refusal {
            drop(state);
            let _ = answer.send(Err(refusal));
            return;
        }
        let number = state.next;
        state.next += 1;
        state.open.insert(number);
        state.rows += rows;
        // A single lane takes all in order, so that no queue blocks another.
        let has_others = self.wake.len() > 1;
        let (is_new, is_told) = (batch.accepts_alone(), is_told_alone(&batch));
        let pending = PendingBatch {
            batch: Arc::new(batch),
            answer: Cell::new(Some(answer)),
            is_refused: Cell::new(false),
            number,
            since: Instant::now(),
        };
        let lane = if has_others && (is_new || is_told) {
            if is_told {
                state.told.push_back(pending);
            } else {
                state.accepts.push_back(pending);
            }
            state.idle.iter().max().copied()
        } else {
            state.ordered_rows += rows;
            state.ordered.push_back(pending);
            (state.idle.contains(&0) && state.has_results_to_write()).then_some(0)
        };
        if let Some(lane) = lane {
            state.idle.retain(|idle| *idle != lane);
            drop(state);
            self.wake[lane].notify_one();
        }
    }

    /// Takes batches up to so many rows for a lane; waits for work. `None` when the write queue is closed
    /// and there is no more for this lane.
    pub async fn take(&self, lane: usize, limit: usize) -> Option<Vec<PendingBatch>> {
        if lane == 0 && self.wake.len() > 1 {
            self.lock().begin_rest();
        }
        loop {
            let rests_until = {
                let mut state = self.lock();
                let is_last = lane + 1 == self.wake.len();
                let group = state.pop(lane, is_last, limit);
                if !group.is_empty() {
                    // It may have looked by itself, without being woken.
                    state.idle.retain(|idle| *idle != lane);
                    let another = state.wakes_another(lane, limit);
                    drop(state);
                    if let Some(another) = another {
                        self.wake[another].notify_one();
                    }
                    return Some(group);
                }
                if state.closed {
                    return None;
                }
                if !state.idle.contains(&lane) {
                    state.idle.push(lane);
                }
                state.rests_until.filter(|_| lane == 0)
            };
            let woken = self.wake[lane].notified();
            let latest = Instant::now() + LONGEST_BEHIND;
            let until = rests_until.map_or(latest, |end| end.min(latest));
            let _ = tokio::time::timeout_at(until, woken).await;
        }
    }

    /// Answers one batch, unless it is answered already, and forgets it.
    pub fn end(&self, pending: PendingBatch, result: StoreResult<Written>) {
        pending.answer(result);
        let mut state = self.lock();
        state.open.remove(&pending.number);
        let first = state.open.first().copied().unwrap_or(u64::MAX);
        let over = |(number, _): &mut (u64, _)| *number <= first;
        for (_, barrier) in state.barriers.extract_if(.., over) {
            let _ = barrier.send(Ok(()));
        }
    }

    /// Resolves when everything that was pushed before has ended: what was refused undecided, when it is taken back.
    pub fn barrier(&self, answer: oneshot::Sender<StoreResult>) {
        let mut state = self.lock();
        if state.open.is_empty() {
            let _ = answer.send(Ok(()));
        } else {
            let number = state.next;
            state.barriers.push((number, answer));
        }
    }

    /// Refuses new messages that have waited longer than this for the database.
    pub fn refuse_overdue(&self, limit: Duration) {
        let overdue: Vec<PendingBatch> = {
            let mut state = self.lock();
            let PostgresQueueState {
                ordered,
                accepts,
                rows,
                ordered_rows,
                ..
            } = &mut *state;
            let mut overdue = Vec::new();
            while accepts.front().is_some_and(|first| first.is_overdue(limit)) {
                overdue.extend(accepts.pop_front());
            }
            if ordered
                .front()
                .is_some_and(|first| first.since.elapsed() >= limit)
            {
                let (late, rest) = std::mem::take(ordered)
                    .into_iter()
                    .partition::<Vec<_>, _>(|pending| pending.is_overdue(limit));
                *ordered = rest.into();
                *ordered_rows = ordered.iter().map(|pending| pending.batch.len()).sum();
                overdue.extend(late);
            }
            *rows -= overdue
                .iter()
                .map(|pending| pending.batch.len())
                .sum::<usize>();
            overdue
        };
        for pending in overdue {
            self.end(pending, Err(no_answer(limit)));
        }
    }

    /// Refuses new batches from now on; waiting ones are still taken.
    pub fn close(&self) {
        self.lock().closed = true;
        for lane in &self.wake {
            lane.notify_one();
        }
    }

    pub fn is_closed(&self) -> bool {
        self.lock().closed
    }

    /// Rows that wait.
    pub fn rows(&self) -> usize {
        self.lock().rows
    }

    fn lock(&self) -> MutexGuard<'_, PostgresQueueState> {
        // The state is valid between any two statements, so a poisoned lock can be used.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The error for new messages while the database is away.
pub fn no_answer(limit: Duration) -> StoreError {
    StoreError::Failed(format!(
        "the database has not answered for {} ms",
        limit.as_millis()
    ))
}

// === impl PostgresQueueState ===

impl PostgresQueueState {
    fn pop(&mut self, lane: usize, is_last: bool, limit: usize) -> Vec<PendingBatch> {
        let mut group = Vec::new();
        if lane == 0 && self.has_results_to_write() {
            self.taken_at = Some(Instant::now());
            self.rests_until = None;
            let rows = take(&mut self.ordered, limit, |_| true, &mut group);
            self.ordered_rows -= rows;
            self.rows -= rows;
            self.share += rows;
        } else {
            let told = take(&mut self.told, limit, |_| true, &mut group);
            let room = self.room_for_new(limit).min(limit.saturating_sub(told));
            let may = |new: &WriteBatch| is_last || new.remote_items.is_empty();
            let new = take(&mut self.accepts, room, may, &mut group);
            self.rows -= told + new;
            self.share = self.share.saturating_sub(new * RESULTS_FOR_ONE);
        }
        if self.ordered_rows < limit {
            self.share = 0;
        }
        group
    }

    /// Lane 0 has ended a commit: if few results wait already, they wait for more.
    fn begin_rest(&mut self) {
        let now = Instant::now();
        if let Some(taken_at) = self.taken_at.take()
            && !self.ordered.is_empty()
        {
            self.rests_until = Some(now + LONGEST_REST.min((now - taken_at) * REST));
        }
    }

    fn has_results_to_write(&self) -> bool {
        let is_rested = self.rests_until.is_none_or(|end| Instant::now() >= end);
        !self.ordered.is_empty() && (is_rested || self.ordered_rows >= MANY_RESULTS || self.closed)
    }

    /// Rows of new messages that may be written now.
    fn room_for_new(&self, limit: usize) -> usize {
        let waits_too_long = |first: &PendingBatch| first.since.elapsed() >= LONGEST_BEHIND;
        let is_next = self.closed || self.accepts.front().is_some_and(waits_too_long);
        if is_next || self.ordered_rows < limit {
            limit
        } else {
            limit.min(self.share / RESULTS_FOR_ONE)
        }
    }

    /// An idle lane that can write new messages now that this one has taken something.
    fn wakes_another(&mut self, lane: usize, limit: usize) -> Option<usize> {
        let has_new = !self.accepts.is_empty() && self.room_for_new(limit) > 0;
        let has_work = lane == 0 && (has_new || !self.told.is_empty());
        let idle = self.idle.iter().copied().filter(|idle| *idle != lane).max();
        let another = idle.filter(|_| has_work)?;
        self.idle.retain(|idle| *idle != another);
        Some(another)
    }
}

/// Moves the first batches that `may` be taken, up to so many rows, into a group; returns how many rows.
fn take(
    queue: &mut VecDeque<PendingBatch>,
    limit: usize,
    may: impl Fn(&WriteBatch) -> bool,
    group: &mut Vec<PendingBatch>,
) -> usize {
    let mut rows = 0;
    while rows < limit
        && queue.front().is_some_and(|first| may(&first.batch))
        && let Some(pending) = queue.pop_front()
    {
        rows += pending.batch.len();
        group.push(pending);
    }
    rows
}

#[cfg(test)]
mod tests;
