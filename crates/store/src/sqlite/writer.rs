//! The writer thread: takes what waits, writes it in one transaction, answers after the fsync.
//!
//! Started by `sqlite.rs`; the only one that writes `smsc.db`. Guarantees that an answer means a
//! commit, that one bad row does not fail the other rows of its batch (whole commit, then batch by
//! batch, then row by row), that results outlive a full disk, and that nothing goes on after a
//! failed fsync.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use rusqlite::Connection;
use tokio::sync::oneshot;

use super::SqliteShared;
use super::balance;
use super::checkpoint;
use super::failure::{SqliteFailure, panic_text};
use super::outbox;
use super::pass::Pass;
use super::rows::{Marks, Statements, remains_of_message};
use super::schema::failed;
use super::sinks;
use super::write_queue::{Take, WaitingBatch};
use crate::idempotency::IdempotencyRow;
use crate::{Reply, RowFailurePolicy, StoreError, StoreResult, WriteBatch, Written};

/// Pause before results are tried again on a full disk or behind a foreign lock.
const TRY_AGAIN: Duration = Duration::from_secs(1);

/// Something that runs on the writer's thread, between commits.
pub type WriterJob = Box<dyn for<'w, 'c> FnOnce(&'w mut SqliteWriter<'c>) + Send>;

/// The writer and its statements.
pub struct SqliteWriter<'c> {
    connection: &'c Connection,
    rows: Statements<'c>,
    shared: Arc<SqliteShared>,
    batch_rows: usize,
    linger: Duration,
    /// Batches that found the disk full (no new messages among them), oldest first: about one commit.
    held: Vec<WaitingBatch>,
    /// Resolved when nothing is held.
    barriers: Vec<oneshot::Sender<StoreResult>>,
    /// Set after a fatal error, should the hook return: nothing is written any more.
    dead: bool,
}

/// Runs until the write queue is closed and empty; gives the connection back.
pub fn run(
    connection: Connection,
    marks: Marks,
    shared: Arc<SqliteShared>,
    batch_rows: usize,
    linger: Duration,
) -> Connection {
    match Statements::new(&connection, marks) {
        Ok(rows) => SqliteWriter {
            connection: &connection,
            rows,
            shared,
            batch_rows: batch_rows.max(1),
            linger,
            held: Vec::new(),
            barriers: Vec::new(),
            dead: false,
        }
        .work(),
        Err(error) => (shared.hooks.fatal)(&format!("cannot prepare statements: {error}")),
    }
    connection
}

/// Hands a job to the writer; its transaction's result is the answer.
pub fn transact<T: Send + 'static>(
    shared: &SqliteShared,
    job: impl FnOnce(&Connection, &mut Marks) -> rusqlite::Result<T> + Send + 'static,
) -> Reply<T> {
    let (answer, reply) = Reply::pair();
    let boxed: WriterJob = Box::new(move |writer| {
        let _ = answer.send(writer.transaction(job));
    });
    // A returned job is dropped with its answer, which reads as `Closed`.
    shared.write_queue.push_job(boxed);
    reply
}

// === impl SqliteWriter ===

impl SqliteWriter<'_> {
    fn work(mut self) {
        let mut group = Vec::new();
        let mut job = None;
        let shared = Arc::clone(&self.shared);
        loop {
            let is_full = !self.held.is_empty();
            let held: usize = self.held.iter().map(|pending| pending.batch.len()).sum();
            let take = Take {
                // At most one commit is held: the rest waits in a bounded queue.
                rows: self.batch_rows.saturating_sub(held),
                linger: self.linger,
                pause: is_full.then_some(TRY_AGAIN),
            };
            if !shared.write_queue.take(&mut group, &mut job, take) {
                break;
            }
            if let Some(job) = job.take() {
                job(&mut self);
            }
            if self.dead || shared.log.is_broken() {
                refuse(group.drain(..), &StoreError::Closed);
            } else if self.held.is_empty() {
                self.write(&mut group);
            } else {
                self.write_held(&mut group);
                self.lift_barriers();
            }
        }
        if !self.held.is_empty() {
            self.write_held(&mut group);
            refuse(self.held.drain(..), &StoreError::Closed);
        }
    }

    /// Answers when nothing that was pushed before is held any more.
    pub fn wait_for_held(&mut self, answer: oneshot::Sender<StoreResult>) {
        self.barriers.push(answer);
        self.lift_barriers();
    }

    fn lift_barriers(&mut self) {
        if self.held.is_empty() {
            for barrier in self.barriers.drain(..) {
                let _ = barrier.send(Ok(()));
            }
        }
    }

    /// Writes a group and answers everyone in it.
    fn write(&mut self, group: &mut Vec<WaitingBatch>) {
        if group.iter().any(|pending| !pending.batch.accept.is_empty())
            && self.shared.disk.below_floor()
        {
            self.refuse_accepts(group);
        }
        if group.is_empty() {
            return;
        }
        loop {
            match self.commit(group, RowFailurePolicy::Strict) {
                Ok(written) => return answer(group.drain(..), written),
                Err(SqliteFailure::Row(reason)) => {
                    tracing::warn!(reason, "a commit failed, trying its batches one by one");
                    return self.write_one_by_one(group);
                }
                Err(SqliteFailure::Other(reason)) if group.len() > 1 => {
                    tracing::error!(reason, "a commit failed, trying its batches one by one");
                    return self.write_one_by_one(group);
                }
                Err(failure) => {
                    if !self.survive(failure, group) {
                        return;
                    }
                }
            }
        }
    }

    fn write_one_by_one(&mut self, group: &mut Vec<WaitingBatch>) {
        for pending in std::mem::take(group) {
            let mut one = vec![pending];
            let mut mode = RowFailurePolicy::Strict;
            while !one.is_empty() {
                match self.commit(&one, mode) {
                    Ok(written) => answer(one.drain(..), written),
                    Err(SqliteFailure::Row(_)) if mode == RowFailurePolicy::Strict => {
                        mode = RowFailurePolicy::Isolating
                    }
                    Err(SqliteFailure::Row(reason)) => {
                        refuse(one.drain(..), &failed(reason));
                    }
                    Err(failure) => {
                        self.survive(failure, &mut one);
                    }
                }
            }
        }
    }

    /// Deals with a failure that is no row's fault. True when the group is worth trying again now.
    fn survive(&mut self, failure: SqliteFailure, group: &mut Vec<WaitingBatch>) -> bool {
        match failure {
            SqliteFailure::Full(reason) => {
                tracing::error!(
                    reason,
                    "the disk is full: new messages are refused, results wait until there is space"
                );
                self.refuse_accepts(group);
                self.held.append(group);
                self.set_stalled(!self.held.is_empty());
                false
            }
            SqliteFailure::Busy(reason) => {
                tracing::error!(
                    reason,
                    "another process holds the write lock of smsc.db, waiting"
                );
                self.shared.gauges.stalled.store(1, Ordering::Relaxed);
                !self.dead
            }
            SqliteFailure::Fatal(reason) => {
                (self.shared.hooks.fatal)(&format!("cannot write smsc.db: {reason}"));
                self.dead = true;
                self.shared.write_queue.close();
                refuse(group.drain(..), &StoreError::Closed);
                refuse(self.held.drain(..), &StoreError::Closed);
                false
            }
            SqliteFailure::Row(reason) | SqliteFailure::Other(reason) => {
                tracing::error!(reason, "a batch could not be written");
                refuse(group.drain(..), &failed(reason));
                false
            }
        }
    }

    /// While the disk is full: refuses new messages, adds results to those that wait, tries them.
    fn write_held(&mut self, group: &mut Vec<WaitingBatch>) {
        self.refuse_accepts(group);
        let mut all = std::mem::take(&mut self.held);
        all.append(group);
        self.write(&mut all);
        if self.held.is_empty() && !self.dead {
            tracing::info!("results that waited for disk space are written");
        }
    }

    fn refuse_accepts(&self, group: &mut Vec<WaitingBatch>) {
        let accepts = group.extract_if(.., |pending| !pending.batch.accept.is_empty());
        refuse(accepts, &self.full());
    }

    fn full(&self) -> StoreError {
        StoreError::Full {
            floor_mib: self.shared.disk.floor_mib(),
        }
    }

    /// Signals that results wait for space, so that no more are produced, and refuses new messages
    /// meanwhile.
    fn set_stalled(&self, stalled: bool) {
        let stalls = u64::from(stalled);
        let before = self.shared.gauges.stalled.swap(stalls, Ordering::Relaxed);
        if before == 0 && !stalled {
            return;
        }
        let full = stalled.then(|| self.full());
        let waiting = self.shared.write_queue.refuse_accepts(full);
        refuse(waiting.into_iter(), &self.full());
    }

    /// One transaction over a group; rolled back on any error.
    fn commit(
        &mut self,
        group: &[WaitingBatch],
        mode: RowFailurePolicy,
    ) -> Result<Vec<Written>, SqliteFailure> {
        let started = Instant::now();
        let attempt = catch_unwind(AssertUnwindSafe(|| self.try_commit(group, mode)));
        match attempt {
            Ok(Ok(written)) => {
                let rows = group.iter().map(|pending| pending.batch.len()).sum();
                self.shared.gauges.committed(rows, started.elapsed());
                self.note_accepted(group);
                self.note_answered();
                self.set_stalled(!self.held.is_empty());
                self.count_buried(&written);
                if self.shared.log.is_too_long() {
                    self.finish_log();
                }
                Ok(written)
            }
            Ok(Err(failure)) => {
                self.rows.rollback();
                Err(failure)
            }
            Err(panic) => {
                self.rows.rollback();
                Err(SqliteFailure::Row(panic_text(panic.as_ref())))
            }
        }
    }

    /// Copies the rest of the log into the database.
    pub fn finish_log(&mut self) {
        match checkpoint::bring_in(self.connection, &self.shared) {
            Err(failure @ SqliteFailure::Fatal(_)) => {
                self.survive(failure, &mut Vec::new());
            }
            // What is committed is in the log.
            Err(failure) => tracing::warn!(?failure, "the log is not brought into smsc.db"),
            Ok(_) => {}
        }
    }

    fn try_commit(
        &mut self,
        group: &[WaitingBatch],
        mode: RowFailurePolicy,
    ) -> Result<Vec<Written>, SqliteFailure> {
        self.rows.begin()?;
        let listeners = self.shared.listeners.get();
        let readers = listeners.of_ends();
        self.rows.marks.has_readers = !readers.is_empty();
        let mut all = Vec::with_capacity(group.len());
        for pending in group {
            let mut written = Written::default();
            self.apply(&pending.batch, mode, &mut written)?;
            all.push(written);
        }
        balance::charge(self.connection, group, &all)?;
        if !listeners.sinks.is_empty() {
            let batches: Vec<_> = group.iter().map(|pending| &pending.batch).collect();
            let early = crate::sinks::early(&batches, &listeners.sinks);
            sinks::note(self.connection, &early)?;
        }
        outbox::note(self.connection, &readers, &self.rows.marks)?;
        if let Some(fault) = self
            .shared
            .hooks
            .before_commit
            .as_ref()
            .and_then(|hook| hook())
        {
            let error = rusqlite::ffi::Error::new(fault);
            return Err(rusqlite::Error::SqliteFailure(error, None).into());
        }
        self.rows.commit()?;
        Ok(all)
    }

    fn apply(
        &mut self,
        batch: &WriteBatch,
        mode: RowFailurePolicy,
        written: &mut Written,
    ) -> Result<(), SqliteFailure> {
        let mut pass = Pass {
            rows: &mut self.rows,
            hooks: &self.shared.hooks,
            connection: self.connection,
            mode,
            rejected: &mut written.rejected,
        };
        let lost = &mut written.fin_lost;
        let debug = |row: &dyn std::fmt::Debug| format!("{row:?}").into_bytes();
        macro_rules! rows {
            ($table:literal, $rows:ident, $write:expr) => {
                rows!($table, $rows, |row| row.id, $write)
            };
            ($table:literal, $rows:ident, $id:expr, $write:expr) => {
                pass.each($table, &batch.$rows, $id, |row| debug(row), $write)?
            };
        }
        pass.each(
            "msg",
            &batch.accept,
            |row| row.id,
            remains_of_message,
            Statements::accept,
        )?;
        rows!("tries", tries, Statements::tries);
        rows!("sent", sent, Statements::sent);
        rows!("retry", retry, Statements::retry);
        rows!("fin", fin, |rows, fin| {
            if !rows.fin(fin)? {
                lost.push(fin.id);
            }
            Ok(())
        });
        rows!("told", told, |id| *id, |rows, id| rows.told(*id));
        rows!("change", change, Statements::change);
        rows!("parked", park, Statements::park);
        rows!("unpark", unpark, |id| *id, |rows, id| rows.unpark(*id));
        rows!("heard", heard, Statements::heard);
        let at = |row: &IdempotencyRow| row.at.unsigned_abs();
        rows!("idempotency", idempotency, at, Statements::idempotency);
        Ok(())
    }

    /// A job's own transaction.
    pub fn transaction<T>(
        &mut self,
        job: impl FnOnce(&Connection, &mut Marks) -> rusqlite::Result<T>,
    ) -> StoreResult<T> {
        if self.dead {
            return Err(StoreError::Closed);
        }
        let connection = self.connection;
        let attempt = catch_unwind(AssertUnwindSafe(|| -> rusqlite::Result<T> {
            self.rows.begin()?;
            let result = job(connection, &mut self.rows.marks)?;
            self.rows.commit()?;
            Ok(result)
        }));
        let failure = match attempt {
            Ok(Ok(result)) => return Ok(result),
            Ok(Err(error)) => SqliteFailure::from(error),
            Err(panic) => SqliteFailure::Other(panic_text(panic.as_ref())),
        };
        self.rows.rollback();
        let text = match &failure {
            SqliteFailure::Row(text) | SqliteFailure::Full(text) | SqliteFailure::Busy(text) => {
                text.clone()
            }
            SqliteFailure::Fatal(text) | SqliteFailure::Other(text) => text.clone(),
        };
        if matches!(failure, SqliteFailure::Fatal(_)) {
            self.survive(failure, &mut Vec::new());
        }
        Err(failed(text))
    }

    /// Notifies the search index when a message arrived below its position.
    fn note_accepted(&mut self, group: &[WaitingBatch]) {
        if let Some(lowest) = self.rows.marks.lowest_accepted {
            let shared = &self.shared;
            shared
                .highest
                .fetch_max(self.rows.marks.highest, Ordering::Relaxed);
            let count: usize = group.iter().map(|pending| pending.batch.accept.len()).sum();
            shared.accepted.fetch_add(count as u64, Ordering::Relaxed);
            if lowest <= shared.indexed_upto.load(Ordering::Relaxed) {
                shared.index_again.fetch_min(lowest, Ordering::Relaxed);
            }
        }
    }

    /// From now on the answers of this commit are found. Before its callers are told: nobody may claim their keys.
    fn note_answered(&mut self) {
        let answered = &mut self.rows.marks.answered;
        if !answered.is_empty() {
            self.shared.keys.answered(answered.drain(..));
        }
    }

    fn count_buried(&self, written: &[Written]) {
        let buried: usize = written.iter().map(|written| written.rejected.len()).sum();
        if buried > 0 {
            self.shared
                .gauges
                .quarantined
                .fetch_add(buried as u64, Ordering::Relaxed);
        }
    }
}

fn answer(group: impl Iterator<Item = WaitingBatch>, written: Vec<Written>) {
    for (pending, written) in group.zip(written) {
        let _ = pending.answer.send(Ok(written));
    }
}

fn refuse(group: impl Iterator<Item = WaitingBatch>, error: &StoreError) {
    for pending in group {
        let _ = pending.answer.send(Err(error.clone()));
    }
}
