//! Copies the write-ahead log into `smsc.db`, on a separate thread.
//!
//! A commit appends to the log and syncs it, and waits for nothing else. When the log has grown to its
//! pages, this thread copies it into the database and syncs that, while the writer goes on appending
//! (`PASSIVE`: nobody waits for it). The log restarts only if all of it is in the database when a
//! write begins, and the writer does not stop for that; so when little is left the writer itself
//! copies the rest, between two commits. Guarantees that the log is bounded: if this thread does not
//! keep up, the writer does its work at [`TOO_LONG`] times the pages.
//!
//! Two connections that checkpoint and write at once need the WAL-reset fix of SQLite, see
//! [`check_library`](super::schema::check_library).

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rusqlite::Connection;

use super::SqliteShared;
use super::failure::SqliteFailure;
use super::schema;
use super::writer::WriterJob;
use crate::{Reply, StoreResult};

/// Times that the log is copied while the writer goes on, before a pause.
const ROUNDS: usize = 8;
/// This part of the pages is little: the writer brings it in itself.
const LITTLE: u32 = 8;
/// Above this many times the pages, the writer waits for a full checkpoint.
const TOO_LONG: u32 = 16;
/// Pause between two turns. A reader may prevent the log from restarting.
const PAUSE: Duration = Duration::from_millis(20);
/// After an error that may pass.
const TRY_AGAIN: Duration = Duration::from_secs(1);

/// How long the log is, and whether the thread is to work.
#[derive(Debug)]
pub struct WalState {
    /// Pages at which it is brought in; 0 for never.
    pages: u32,
    /// Pages in it after the last commit.
    length: AtomicU32,
    /// The thread was notified and is not done.
    due: AtomicBool,
    /// Nothing can be trusted any more.
    broken: AtomicBool,
    closed: Mutex<bool>,
    wake: Condvar,
}

// === impl WalState ===

impl WalState {
    pub fn new(pages: u32) -> Self {
        Self {
            pages,
            length: AtomicU32::new(0),
            due: AtomicBool::new(false),
            broken: AtomicBool::new(false),
            closed: Mutex::new(false),
            wake: Condvar::new(),
        }
    }

    /// Called by the writer's connection after each commit.
    pub fn committed(&self, length: u32) {
        self.length.store(length, Ordering::Relaxed);
        if self.pages > 0 && length >= self.pages && !self.due.swap(true, Ordering::AcqRel) {
            drop(self.lock());
            self.wake.notify_one();
        }
    }

    /// The writer is not to wait for the thread any longer.
    pub fn is_too_long(&self) -> bool {
        self.pages > 0 && self.length.load(Ordering::Relaxed) >= self.pages.saturating_mul(TOO_LONG)
    }

    /// Whether nothing may be written any more.
    pub fn is_broken(&self) -> bool {
        self.broken.load(Ordering::Relaxed)
    }

    /// Ends the thread.
    pub fn close(&self) {
        *self.lock() = true;
        self.wake.notify_one();
    }

    /// Waits until the log is long enough; false when it is closed.
    fn wait(&self) -> bool {
        let mut closed = self.lock();
        while !*closed && !self.due.load(Ordering::Acquire) {
            closed = self
                .wake
                .wait(closed)
                .unwrap_or_else(PoisonError::into_inner);
        }
        !*closed
    }

    /// Waits for a length of time, or until it is closed.
    fn rest(&self, time: Duration) {
        let closed = self.lock();
        drop(
            self.wake
                .wait_timeout_while(closed, time, |closed| !*closed),
        );
    }

    fn lock(&self) -> MutexGuard<'_, bool> {
        self.closed.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The thread's connection.
pub fn open(path: &Path) -> StoreResult<Connection> {
    // The writer must never find a lock of ours that we wait for.
    schema::open_main(path, 0)
}

/// Runs until the log is closed.
pub fn run(connection: &Connection, shared: &Arc<SqliteShared>) {
    let log = &shared.log;
    while log.wait() {
        let pause = match in_rounds(connection, shared) {
            Ok(()) => PAUSE,
            Err(SqliteFailure::Fatal(reason)) => {
                log.broken.store(true, Ordering::Relaxed);
                (shared.hooks.fatal)(&format!("cannot write smsc.db: {reason}"));
                return shared.write_queue.close();
            }
            // What is committed is in the log.
            Err(failure) => {
                tracing::warn!(
                    ?failure,
                    "the log stays long: it is not brought into smsc.db"
                );
                TRY_AGAIN
            }
        };
        log.rest(pause);
        // The next commit shows whether the log has restarted.
        log.due.store(false, Ordering::Release);
    }
}

fn in_rounds(connection: &Connection, shared: &Arc<SqliteShared>) -> Result<(), SqliteFailure> {
    let log = &shared.log;
    for _ in 0..ROUNDS {
        let brought = bring_in(connection, shared)?;
        let left = log.length.load(Ordering::Relaxed).saturating_sub(brought);
        if left <= log.pages / LITTLE {
            finish(shared);
            break;
        }
    }
    Ok(())
}

/// Has the writer copy the rest; waits until it is done.
fn finish(shared: &Arc<SqliteShared>) {
    let (done, reply) = Reply::pair();
    let job: WriterJob = Box::new(move |writer| {
        writer.finish_log();
        let _ = done.send(Ok(()));
    });
    if shared.write_queue.push_job(job) {
        let _ = reply.wait();
    }
}

/// Copies the pages that no reader blocks into the database and syncs it; returns how many pages of the
/// log are in the database.
pub fn bring_in(connection: &Connection, shared: &SqliteShared) -> Result<u32, SqliteFailure> {
    if let Some(fault) = shared
        .hooks
        .before_checkpoint
        .as_ref()
        .and_then(|hook| hook())
    {
        let error = rusqlite::ffi::Error::new(fault);
        return Err(rusqlite::Error::SqliteFailure(error, None).into());
    }
    let pages: i64 =
        connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |row| row.get(2))?;
    Ok(u32::try_from(pages).unwrap_or(0))
}
