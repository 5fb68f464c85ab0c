//! How the store is opened, and hooks for tests.

use std::path::PathBuf;
use std::time::Duration;

use super::{disk, folder_lock};
use crate::idempotency::KEYS;

/// How the store is opened.
#[derive(Debug, Clone)]
pub struct SqliteOptions {
    /// Folder of the files; created when it is missing.
    pub data_dir: PathBuf,
    /// Pages of the write-ahead log after which it is brought into the database.
    pub wal_autocheckpoint: u32,
    /// Rows per commit, after which no further batch joins it.
    pub batch_rows: usize,
    /// How long a commit waits for more rows; 0 is best for latency, 1-2 ms spare a slow disk.
    pub linger: Duration,
    /// How long few results wait to be written together.
    pub results_linger: Duration,
    /// New messages are refused below this much free space.
    pub min_free_mib: u64,
    /// Whether messages can be searched by address and sender.
    pub search_index: bool,
    /// How many idempotency keys are remembered.
    pub idempotency_keys: usize,
    /// Whether to start from a damaged log with what is left of it.
    pub accept_loss: bool,
}

/// Ends the process (or records that it should have ended), with the reason.
pub type FatalHook = dyn Fn(&str) + Send + Sync;
/// Called with table and id before each row is written; may panic.
pub type RowHook = dyn Fn(&'static str, u64) + Send + Sync;
/// May answer with a SQLite result code that the commit then fails with.
pub type CommitHook = dyn Fn() -> Option<i32> + Send + Sync;

/// Where tests step in. The default does nothing but end the process on an I/O error.
pub struct Hooks {
    pub fatal: Box<FatalHook>,
    /// Called when another process has taken the data folder.
    pub taken: Box<FatalHook>,
    pub before_row: Option<Box<RowHook>>,
    pub before_commit: Option<Box<CommitHook>>,
    /// May answer with a SQLite result code that bringing the log into the database fails with.
    pub before_checkpoint: Option<Box<CommitHook>>,
}

// === impl SqliteOptions ===

impl SqliteOptions {
    /// The defaults, for this folder.
    pub fn new(data_dir: impl Into<PathBuf>) -> Self {
        Self {
            data_dir: data_dir.into(),
            wal_autocheckpoint: 1000,
            batch_rows: 1024,
            linger: Duration::ZERO,
            results_linger: Duration::from_millis(5),
            min_free_mib: 256,
            search_index: true,
            idempotency_keys: KEYS,
            accept_loss: false,
        }
    }
}

// === impl Hooks ===

impl Hooks {
    pub fn row(&self, table: &'static str, id: u64) {
        if let Some(hook) = &self.before_row {
            hook(table, id);
        }
    }
}

impl Default for Hooks {
    fn default() -> Self {
        Self {
            fatal: Box::new(disk::end_process),
            taken: Box::new(folder_lock::end_process),
            before_row: None,
            before_commit: None,
            before_checkpoint: None,
        }
    }
}
