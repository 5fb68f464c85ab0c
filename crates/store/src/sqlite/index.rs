//! The derived file `index.db`: addresses and senders for the search, old correlations, spilled
//! queue blocks.
//!
//! Its thread owns the only writing connection; it reads new `msg` rows above `indexed_upto` once a
//! second and inserts them sorted. Guarantees that the file is dispensable: a damaged file is
//! dropped and rebuilt, correlations and blocks are dropped at open (RAM is rebuilt from
//! `recover()`), and the writer of `smsc.db` never waits for it.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use rusqlite::{Connection, ErrorCode, OptionalExtension as _};

use super::entries::{self, SqliteEntry};
use super::schema::{self, failed, meta, set_meta, sql_failed};
use super::{SqliteShared, log};
use crate::StoreResult;

/// Pause between two checks for new messages.
const POLL: Duration = Duration::from_secs(1);
/// Messages indexed per transaction.
const FEED: usize = 65_536;
/// Messages younger than this are left for the next round: lower ids of other threads may still
/// arrive. The search reads them directly.
const SETTLE_MS: i64 = 2000;
/// Layout of the file; another one is dropped and built again.
const INDEX_VERSION: i64 = 3;

const DDL: &str = "
CREATE TABLE meta(key TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE block(queue INT, block INT, octets BLOB, PRIMARY KEY(queue, block));
";

/// The thread's context.
pub struct IndexThread {
    path: PathBuf,
    /// `None` while the file cannot be opened.
    connection: Option<Connection>,
    /// Reads `smsc.db`.
    main: Connection,
    shared: Arc<SqliteShared>,
    /// Whether messages are indexed for the search.
    search: bool,
    /// Messages above `indexed_upto` when counted last, and what had been accepted by then.
    backlog: Option<(u64, u64)>,
}

// === impl IndexThread ===

impl IndexThread {
    /// Opens the file, or builds an empty one when it cannot be used.
    pub fn open(
        folder: &Path,
        main: Connection,
        shared: Arc<SqliteShared>,
        search: bool,
    ) -> StoreResult<Self> {
        let path = folder.join(schema::INDEX_FILE);
        let mut index = Self {
            path,
            connection: None,
            main,
            shared,
            search,
            backlog: None,
        };
        match prepare(&index.path) {
            Ok(connection) => index.adopt(connection)?,
            Err(error) => index.rebuild(&error.to_string())?,
        }
        Ok(index)
    }

    fn adopt(&mut self, connection: Connection) -> rusqlite::Result<()> {
        let upto = meta(&connection, "indexed_upto")?;
        self.shared.indexed_upto.store(upto, Ordering::Relaxed);
        self.connection = Some(connection);
        Ok(())
    }

    /// Drops the file and starts an empty one; the messages are indexed again from the start.
    fn rebuild(&mut self, reason: &str) -> StoreResult {
        tracing::warn!(
            reason,
            "index.db cannot be used and is built again; searches are incomplete meanwhile"
        );
        self.connection = None;
        self.backlog = None;
        for suffix in ["", "-wal", "-shm"] {
            let mut name = self.path.clone().into_os_string();
            name.push(suffix);
            match std::fs::remove_file(&name) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                    return Err(failed(format!("cannot remove a damaged index.db: {error}")));
                }
                _ => {}
            }
        }
        self.shared.hours().clear();
        self.shared.index_generation.fetch_add(1, Ordering::Relaxed);
        let fresh = prepare(&self.path)?;
        self.adopt(fresh).map_err(sql_failed)
    }

    /// What the store's threads share.
    pub fn shared(&self) -> &Arc<SqliteShared> {
        &self.shared
    }

    /// Between jobs: indexes new messages; returns when to run again.
    pub fn tick(&mut self) -> Duration {
        if !self.search {
            return Duration::from_secs(3600);
        }
        let started = Instant::now();
        let result = self.run(Self::feed);
        self.count_lag();
        match result {
            // Behind: continue, but leave half of the time and the disk to the writer.
            Ok(true) => started.elapsed(),
            Ok(false) => POLL,
            Err(error) => {
                tracing::warn!(%error, "cannot index messages for the search");
                POLL
            }
        }
    }

    /// Runs something on the connection; a damaged file is built again and the work fails once.
    pub fn run<T>(
        &mut self,
        work: impl FnOnce(&mut Self, &Connection) -> rusqlite::Result<T>,
    ) -> StoreResult<T> {
        let connection = match self.connection.take() {
            Some(connection) => connection,
            None => {
                self.rebuild("it was not open")?;
                self.connection
                    .take()
                    .ok_or_else(|| failed("index.db is not open"))?
            }
        };
        let result = work(self, &connection);
        self.connection = Some(connection);
        match result {
            Ok(value) => Ok(value),
            Err(error) => {
                if is_damage(&error) {
                    self.rebuild(&error.to_string())?;
                }
                Err(sql_failed(error))
            }
        }
    }

    /// Indexes the next messages; true when there are more.
    fn feed(&mut self, connection: &Connection) -> rusqlite::Result<bool> {
        let shared = Arc::clone(&self.shared);
        let mut upto = shared.indexed_upto.load(Ordering::Relaxed);
        let again = shared.index_again.swap(u64::MAX, Ordering::Relaxed);
        if again <= upto {
            // Kept lowered until it is done, should this attempt fail.
            upto = again.saturating_sub(1);
            shared.indexed_upto.store(upto, Ordering::Relaxed);
            self.backlog = None;
        }
        let horizon = (smsc_host::clock::now_ms() - SETTLE_MS).clamp(0, i64::MAX >> 20) << 20;
        let mut found = entries::read_range(&self.main, upto as i64, horizon, FEED)?;
        let Some(last) = found.last().map(|entry| entry.id) else {
            // Rows may be read here before the writer has counted them as accepted: few are above
            // the mark now, so they are counted afresh.
            self.backlog = None;
            return Ok(false);
        };
        let transaction = connection.unchecked_transaction()?;
        entries::insert(&transaction, &mut found)?;
        set_meta(&transaction, "indexed_upto", last as u64)?;
        transaction.commit()?;
        if let Some((backlog, _)) = &mut self.backlog {
            *backlog = backlog.saturating_sub(found.len() as u64);
        }
        shared.indexed_upto.store(last as u64, Ordering::Relaxed);
        Ok(found.len() == FEED)
    }

    /// Keeps `index_lag` without counting rows each second.
    fn count_lag(&mut self) {
        let accepted = self.shared.accepted.load(Ordering::Relaxed);
        let (backlog, counted) = match self.backlog {
            Some(known) => known,
            None => {
                let upto = self.shared.indexed_upto.load(Ordering::Relaxed);
                let count = self.main.query_row(
                    "SELECT count(*) FROM msg WHERE id > ?1",
                    [upto as i64],
                    |row| row.get::<_, i64>(0),
                );
                (count.unwrap_or(0) as u64, accepted)
            }
        };
        let lag = backlog + accepted.saturating_sub(counted);
        self.backlog = Some((lag, accepted));
        self.shared.index_lag.store(lag, Ordering::Relaxed);
    }

    /// Indexes everything that is old enough; afterwards only messages above the mark are missing,
    /// which is the answer. `None` when messages are not indexed.
    pub fn catch_up(&mut self) -> StoreResult<Option<u64>> {
        if !self.search {
            return Ok(None);
        }
        while self.run(Self::feed)? {}
        Ok(Some(self.shared.indexed_upto.load(Ordering::Relaxed)))
    }

    /// Up to `limit` messages with an address on either side, after one id, ascending.
    pub fn of_address(
        &mut self,
        address: &[u8],
        after: u64,
        limit: usize,
    ) -> StoreResult<Vec<u64>> {
        self.run(|_, connection| entries::of_address(connection, address, after, limit))
    }

    /// Removes retired messages.
    pub fn forget(&mut self, mut gone: Vec<SqliteEntry>) -> StoreResult {
        self.run(move |_, connection| {
            let transaction = connection.unchecked_transaction()?;
            entries::delete(&transaction, &mut gone)?;
            transaction.commit()
        })
    }

    /// Removes an erased address from messages.
    pub fn forget_address(&mut self, address: &[u8], ids: &[u64]) -> StoreResult {
        self.run(|_, connection| {
            connection.pragma_update(None, "secure_delete", true)?;
            let transaction = connection.unchecked_transaction()?;
            entries::delete_address(&transaction, address, ids)?;
            transaction.commit()?;
            connection.pragma_update(None, "secure_delete", false)
        })
    }

    /// No erased data may remain in the log of the index.
    pub fn clean_log(&mut self) -> StoreResult {
        let path = self.path.clone();
        self.run(|_, _| log::empty(&path).map(drop))
    }

    /// Writes a block of a queue.
    pub fn spill_block(&mut self, queue: u32, block: u64, octets: &[u8]) -> StoreResult {
        self.run(|_, connection| {
            connection
                .prepare_cached("INSERT OR REPLACE INTO block VALUES(?1, ?2, ?3)")?
                .execute((queue, block as i64, octets))
                .map(drop)
        })
    }

    /// Reads a block back.
    pub fn read_block(&mut self, queue: u32, block: u64) -> StoreResult<Option<Vec<u8>>> {
        self.run(|_, connection| {
            connection
                .prepare_cached("SELECT octets FROM block WHERE queue = ?1 AND block = ?2")?
                .query_row((queue, block as i64), |row| row.get(0))
                .optional()
        })
    }

    /// Forgets blocks of a queue.
    pub fn forget_blocks(&mut self, queue: u32, blocks: &Range<u64>) -> StoreResult {
        self.run(|_, connection| {
            let sql = "DELETE FROM block WHERE queue = ?1 AND block >= ?2 AND block < ?3";
            let mut delete = connection.prepare_cached(sql)?;
            let gone = delete.execute((queue, blocks.start as i64, blocks.end as i64));
            gone.map(drop)
        })
    }
}

/// Opens the file, refuses another layout, and drops what RAM holds again.
fn prepare(path: &Path) -> rusqlite::Result<Connection> {
    let connection = Connection::open(path)?;
    connection.busy_timeout(Duration::from_secs(5))?;
    connection.execute_batch(&format!(
        "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA wal_autocheckpoint=1000;
         PRAGMA journal_size_limit=67108864; PRAGMA cache_size=-{};
         PRAGMA temp_store=MEMORY; PRAGMA mmap_size=0;",
        schema::WRITER_CACHE_KIB
    ))?;
    let version: i64 = connection.query_row("PRAGMA user_version", [], |row| row.get(0))?;
    if version == 0 {
        connection.execute_batch(&format!(
            "BEGIN; {DDL} {} PRAGMA user_version={INDEX_VERSION}; COMMIT;",
            entries::ddl()
        ))?;
    } else if version != INDEX_VERSION {
        // The caller treats it as a foreign database and builds a new one.
        let error = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_NOTADB);
        let text = format!("layout {version} is not known");
        return Err(rusqlite::Error::SqliteFailure(error, Some(text)));
    }
    super::correlate::drop_all(&connection)?;
    connection.execute("DELETE FROM block", [])?;
    // Reads the tree, so that damage at its root shows now and not at the first search.
    connection.query_row(
        "SELECT count(*) FROM (SELECT 1 FROM dst_idx LIMIT 1)",
        [],
        |_| Ok(()),
    )?;
    Ok(connection)
}

/// Whether the file itself is broken.
fn is_damage(error: &rusqlite::Error) -> bool {
    matches!(
        error.sqlite_error_code(),
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase)
    )
}
