//! The embedded store: SQLite in the data folder, one writer thread, readers beside it.
//!
//! Opened by the composition root and used through [`Store`]. `smsc.db` is authoritative and is written by
//! one thread in group commits; `index.db` is derived and may be deleted while stopped.
//!
//! ```text
//! write ─→ write queue ─→ writer ─→ log ─→ smsc.db ←── loader (data path), admin, cold, upkeep, outbox, recover() and friends
//!                           ↑ upkeep                ↓ new rows, once a second
//!                                           index ──→ index.db ←── lookup (old correlations)
//! ```
//!
//! Invariants: an answer to a write follows its fsync; readers see everything that was answered; only calls that say so block.

mod archive;
mod asides;
mod backup;
mod balance;
mod beside;
mod checkpoint;
mod cold;
mod correlate;
mod damage;
mod disk;
mod entries;
mod export;
mod failed;
mod failure;
mod folder_lock;
mod fsck;
mod heard;
mod idempotency;
mod in_order;
mod index;
mod log;
mod moving;
mod opt_out;
mod options;
mod outbox;
mod pass;
mod reader;
mod record;
mod recover;
mod rows;
mod runs;
mod salvage;
mod schema;
mod schema_check;
mod search;
mod settings;
mod sinks;
mod upkeep;
mod usage;
mod wal;
mod worker;
mod write_queue;
mod writer;

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use rusqlite::Connection;
use rusqlite::hooks::Wal;

use self::checkpoint::WalState;
use self::correlate::LookUpThread;
use self::disk::Disk;
use self::folder_lock::FolderLockKeeper;
use self::idempotency::IdempotencyKeys;
use self::index::IndexThread;
use self::rows::Marks;
use self::schema::{failed, open_reader, sql_failed};
use self::upkeep::Upkeep;
use self::worker::StoreWorker;
use self::write_queue::{SqliteWriteQueue, WaitingBatch};
use super::damage::DamageLog;
use super::gauges::Gauges;
use super::sinks::CurrentListeners;
use super::{
    Active, ActivePage, FoundMessages, MessageHistory, ParkedRow, Reply, Search, Store, StoreError,
    StoreResult, StoreStats, Stored, Ticket, WriteBatch,
};
use smsc_domain::id::Aside;
use smsc_host::clock;

pub use self::asides::repair_ids;
pub use self::backup::backup;
pub use self::export::ReadOnly;
pub use self::fsck::{FsckReport, fsck};
pub use self::moving::StoreAtRest;
pub use self::options::{CommitHook, FatalHook, Hooks, RowHook, SqliteOptions};
pub use self::salvage::{MissingRows, SalvageReport, SalvagedTable, salvage};
pub use self::schema::{INDEX_FILE, MAIN_FILE, SCHEMA_VERSION};

/// Jobs that may wait for a reader; each is a page, not a message.
const READER_MAILBOX: usize = 1024;

/// The embedded store.
pub struct SqliteStore {
    shared: Arc<SqliteShared>,
    loader: StoreWorker<Connection>,
    admin: StoreWorker<Connection>,
    cold: StoreWorker<Connection>,
    upkeep: StoreWorker<Upkeep>,
    outbox: StoreWorker<Connection>,
    index: Arc<StoreWorker<IndexThread>>,
    lookup: StoreWorker<LookUpThread>,
    search_index: bool,
    running: Mutex<Option<StoreThreads>>,
}

/// What `close` ends last.
struct StoreThreads {
    writer: JoinHandle<Connection>,
    log: JoinHandle<()>,
    keeper: StoreWorker<FolderLockKeeper>,
}

/// What the threads of one store share.
struct SqliteShared {
    folder: PathBuf,
    write_queue: SqliteWriteQueue,
    log: Arc<WalState>,
    disk: Disk,
    gauges: Gauges,
    /// Damaged rows that were found.
    damage: Arc<DamageLog>,
    hooks: Hooks,
    /// Requests over HTTP that were answered.
    keys: IdempotencyKeys,
    /// Who events are written for.
    listeners: CurrentListeners,
    /// Highest message id written.
    highest: AtomicU64,
    /// Messages accepted since open.
    accepted: AtomicU64,
    /// The search index knows all messages up to this id, except those from `index_again` on.
    indexed_upto: AtomicU64,
    /// Lowest id that was accepted below `indexed_upto`; `u64::MAX` for none.
    index_again: AtomicU64,
    index_lag: AtomicU64,
    /// Grows when `index.db` is built again: older connections read a deleted file.
    index_generation: AtomicU64,
    /// Hours that have a correlation table, ascending.
    hours: Mutex<Vec<i64>>,
    /// Removes retired messages from the index; `None` until the index runs and after it stopped.
    index: Mutex<Option<Arc<StoreWorker<IndexThread>>>>,
}

// === impl SqliteShared ===

impl SqliteShared {
    fn hours(&self) -> MutexGuard<'_, Vec<i64>> {
        self.hours.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn index_slot(&self) -> MutexGuard<'_, Option<Arc<StoreWorker<IndexThread>>>> {
        self.index.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Retired messages leave the search index when it has time; a missed one only costs space.
    fn forget(&self, gone: Vec<entries::SqliteEntry>) {
        let index = self.index_slot().clone();
        if let Some(index) = index {
            drop(index.ask(move |index| index.forget(gone)));
        }
    }

    fn main_path(&self) -> PathBuf {
        self.folder.join(MAIN_FILE)
    }
}

// === impl SqliteStore ===

impl SqliteStore {
    /// Opens the store, creating its files when the folder is empty. Blocks.
    pub fn open(options: SqliteOptions) -> StoreResult<Self> {
        Self::open_with(options, Hooks::default())
    }

    /// Opens the store with hooks, for tests of failures.
    pub fn open_with(options: SqliteOptions, hooks: Hooks) -> StoreResult<Self> {
        schema::check_library()?;
        let folder = options.data_dir;
        let lock = folder_lock::own_folder(&folder)?;
        let main = folder.join(MAIN_FILE);
        // Before the first connection, which forgets what it cannot read.
        wal::settle(&main, options.accept_loss)?;
        let mut connection = schema::open_main(&main, 0)?;
        schema_check::check(&connection, &main)?;
        let log = Arc::new(WalState::new(options.wal_autocheckpoint));
        let theirs = Arc::clone(&log);
        let committed = move |_: &mut Wal, pages| {
            theirs.committed(u32::try_from(pages).unwrap_or(0));
            Ok(())
        };
        connection.wal_hook(Some(committed))?;
        let marks = Marks::read(&connection)?;
        let low_water = marks.carry_below;
        let shared = Arc::new(SqliteShared {
            write_queue: SqliteWriteQueue::new(options.results_linger),
            log,
            disk: Disk::new(&folder, options.min_free_mib),
            gauges: Gauges::default(),
            damage: Arc::default(),
            hooks,
            keys: IdempotencyKeys::read(&connection, options.idempotency_keys)?,
            listeners: CurrentListeners::default(),
            highest: AtomicU64::new(marks.highest),
            accepted: AtomicU64::new(0),
            indexed_upto: AtomicU64::new(0),
            index_again: AtomicU64::new(u64::MAX),
            index_lag: AtomicU64::new(0),
            index_generation: AtomicU64::new(0),
            hours: Mutex::default(),
            index: Mutex::default(),
            folder,
        });
        beside::look(&connection, &shared.damage, low_water)?;
        let dead = schema::count(&connection, "SELECT count(*) FROM dead", [])?;
        shared.gauges.quarantined.store(dead, Ordering::Relaxed);

        let index = IndexThread::open(
            &shared.folder,
            open_reader(&main)?,
            Arc::clone(&shared),
            options.search_index,
        )?;
        let index = Arc::new(StoreWorker::start(
            "store-index",
            READER_MAILBOX,
            index,
            Some(IndexThread::tick),
        )?);
        let reader = |name| StoreWorker::start(name, READER_MAILBOX, open_reader(&main)?, None);
        let asides = asides::read(&connection)?;
        let upkeep = Upkeep::new(open_reader(&main)?, &shared, asides);
        let lookup = LookUpThread {
            path: shared.folder.join(INDEX_FILE),
            shared: Arc::clone(&shared),
            connection: None,
        };
        let (batch_rows, linger) = (options.batch_rows, options.linger);
        let for_log = checkpoint::open(&main)?;
        let (theirs, its) = (Arc::clone(&shared), Arc::clone(&shared));
        let store = Self {
            loader: reader("store-loader")?,
            admin: reader("store-admin")?,
            cold: reader("store-cold")?,
            upkeep: StoreWorker::start("store-upkeep", READER_MAILBOX, upkeep, None)?,
            outbox: reader("store-outbox")?,
            lookup: StoreWorker::start("store-lookup", READER_MAILBOX, lookup, None)?,
            index,
            search_index: options.search_index,
            running: Mutex::new(Some(StoreThreads {
                writer: std::thread::Builder::new()
                    .name("store-writer".to_owned())
                    .spawn(move || writer::run(connection, marks, theirs, batch_rows, linger))
                    .map_err(|error| failed(format!("cannot start the writer: {error}")))?,
                log: std::thread::Builder::new()
                    .name("store-log".to_owned())
                    .spawn(move || checkpoint::run(&for_log, &its))
                    .map_err(|error| failed(format!("cannot start the log's thread: {error}")))?,
                // Until here the lock ends with this function.
                keeper: StoreWorker::start(
                    "store-lock",
                    1,
                    FolderLockKeeper::new(lock, Arc::clone(&shared)),
                    Some(FolderLockKeeper::tick),
                )?,
            })),
            shared,
        };
        // Last: before this an error ends every thread by dropping its worker.
        *store.shared.index_slot() = Some(Arc::clone(&store.index));
        Ok(store)
    }

    /// A connection for a call that blocks on the caller's thread.
    fn reader(&self) -> StoreResult<Connection> {
        if self.lock_running().is_none() {
            return Err(StoreError::Closed);
        }
        open_reader(&self.shared.main_path())
    }

    fn damage(&self) -> Arc<DamageLog> {
        Arc::clone(&self.shared.damage)
    }

    fn lock_running(&self) -> MutexGuard<'_, Option<StoreThreads>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Store for SqliteStore {
    fn write(&self, batch: WriteBatch) -> Ticket {
        let (answer, ticket) = Reply::pair();
        self.shared.write_queue.push(WaitingBatch { batch, answer });
        ticket
    }

    fn barrier(&self) -> Reply<()> {
        self.shared.write_queue.barrier()
    }

    fn now_ms(&self) -> Reply<i64> {
        Reply::ready(Ok(clock::now_ms()))
    }

    fn load(&self, ids: Vec<u64>) -> Reply<Vec<Option<Stored>>> {
        let damage = self.damage();
        self.loader
            .ask(move |connection| reader::load(connection, &damage, &ids).map_err(sql_failed))
    }

    fn recover(&self, queue: Option<u32>, each: &mut dyn FnMut(Active)) -> StoreResult {
        let connection = self.reader()?;
        let reading = recover::ActiveReading::new(&connection, &self.shared.damage);
        recover::recover(reading, queue, each).map_err(sql_failed)
    }

    fn active_page(&self, ids: Range<u64>, limit: usize) -> Reply<ActivePage> {
        self.upkeep
            .ask(move |upkeep| upkeep.active_page(ids, limit))
    }

    fn parked(&self, limit: usize) -> StoreResult<Vec<ParkedRow>> {
        let damage = &self.shared.damage;
        reader::parked(&self.reader()?, damage, crate::signed(limit)).map_err(sql_failed)
    }

    fn highest_id(&self) -> StoreResult<u64> {
        asides::highest_id(&self.reader()?).map_err(sql_failed)
    }

    fn asides(&self) -> StoreResult<Vec<Aside>> {
        asides::read(&self.reader()?).map_err(sql_failed)
    }

    fn intern(&self, name: &str) -> StoreResult<u32> {
        let name = name.to_owned();
        writer::transact(&self.shared, move |connection, _| {
            let mut known =
                connection.prepare_cached("SELECT number FROM names WHERE name = ?1")?;
            if let Some(row) = known.query([&name])?.next()? {
                return row.get(0);
            }
            connection.query_row(
                "INSERT INTO names(number, name) SELECT coalesce(max(number), 0) + 1, ?1 FROM names
                 RETURNING number",
                [&name],
                |row| row.get(0),
            )
        })
        .wait()
    }

    fn names(&self) -> StoreResult<Vec<(u32, String)>> {
        let connection = self.reader()?;
        schema::names(&connection).map_err(sql_failed)
    }

    fn history(&self, id: u64) -> Reply<Option<MessageHistory>> {
        let damage = self.damage();
        // Not behind questions of administrators, which may read 100,000 rows: callbacks and query_sm need it.
        self.loader
            .ask(move |connection| reader::history(connection, &damage, id).map_err(sql_failed))
    }

    fn search(&self, search: Search) -> Reply<FoundMessages> {
        let index = self
            .search_index
            .then(|| self.shared.folder.join(INDEX_FILE));
        let damage = self.damage();
        self.admin
            .ask(move |connection| search::search(connection, &damage, index.as_deref(), &search))
    }

    fn spill_correlations(&self, hour: i64, sorted: Vec<(u128, u64)>) -> Reply<()> {
        self.index
            .ask(move |index| correlate::spill(index, hour, &sorted))
    }

    fn find_correlations(&self, keys: Vec<u128>, _since: i64) -> Reply<Vec<Option<u64>>> {
        self.lookup.ask(move |lookup| lookup.find(&keys))
    }

    fn drop_correlations_before(&self, hour: i64) -> Reply<()> {
        self.index
            .ask(move |index| correlate::drop_before(index, hour))
    }

    fn spill_block(&self, queue: u32, block: u64, octets: Vec<u8>) -> Reply<()> {
        self.index
            .ask(move |index| index.spill_block(queue, block, &octets))
    }

    fn read_block(&self, queue: u32, block: u64) -> Reply<Option<Vec<u8>>> {
        self.index.ask(move |index| index.read_block(queue, block))
    }

    fn forget_blocks(&self, queue: u32, blocks: Range<u64>) -> Reply<()> {
        self.index
            .ask(move |index| index.forget_blocks(queue, &blocks))
    }

    fn advance_low_water(&self) -> Reply<()> {
        self.upkeep.ask(Upkeep::advance)
    }

    /// Does nothing: days are not kept apart.
    fn tend_days(&self) -> Reply<()> {
        Reply::ready(Ok(()))
    }

    fn retire(&self, before: i64, limit: usize) -> Reply<u64> {
        self.upkeep.ask(move |upkeep| upkeep.retire(before, limit))
    }

    fn backup(&self, to: &Path) -> StoreResult {
        let damage = &self.shared.damage;
        backup::of_running(&self.shared.main_path(), to, &mut |row| damage.note(row))
    }

    fn is_stalled(&self) -> bool {
        self.shared.gauges.is_stalled()
    }

    fn stats(&self) -> StoreStats {
        let shared = &self.shared;
        StoreStats {
            waiting: shared.write_queue.rows() as u64,
            free_mib: Some(shared.disk.free_mib()),
            below_floor: shared.disk.below_floor(),
            index_lag: shared.index_lag.load(Ordering::Relaxed),
            idempotency_keys: shared.keys.len() as u64,
            ..shared.gauges.stats()
        }
    }

    fn close(&self) {
        let Some(running) = self.lock_running().take() else {
            return;
        };
        // The writer first: waiting batches are written, and jobs of the upkeep are answered.
        self.shared.write_queue.close();
        let connection = running.writer.join();
        self.shared.log.close();
        if running.log.join().is_err() {
            tracing::error!("the log's thread ended by a panic");
        }
        *self.shared.index_slot() = None;
        self.upkeep.stop();
        self.outbox.stop();
        self.loader.stop();
        self.admin.stop();
        self.cold.stop();
        self.index.stop();
        self.lookup.stop();
        match connection {
            // Last, so that no reader keeps the log from being emptied.
            Ok(connection) => {
                let checkpoint = "PRAGMA wal_checkpoint(TRUNCATE)";
                if let Err(error) = connection.query_row(checkpoint, [], |_| Ok(())) {
                    tracing::warn!(%error, "the log is left to the next start");
                }
            }
            Err(_) => tracing::error!("the writer ended by a panic"),
        }
        running.keeper.stop();
    }
}

impl Drop for SqliteStore {
    fn drop(&mut self) {
        self.close();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::sync_channel;
    use std::time::Duration;

    use super::*;
    use crate::access::AccessStore as _;
    use crate::failed::FailedStore as _;
    use crate::settings::SettingsStore as _;

    #[test]
    fn a_long_question_of_an_administrator_holds_up_no_message_no_token_and_no_configuration() {
        let folder = tempfile::tempdir().expect("a folder");
        let options = SqliteOptions {
            min_free_mib: 0,
            ..SqliteOptions::new(folder.path())
        };
        let store = SqliteStore::open(options).expect("opens");
        let (end, ends) = sync_channel(1);
        let long = store
            .admin
            .ask(move |_| Ok(ends.recv_timeout(Duration::from_secs(10)).is_ok()));
        let history = store.history(1).wait().expect("answers");
        assert!(history.is_none());
        assert_eq!(store.histories(vec![1]).wait(), Ok(vec![None]));
        assert_eq!(store.settings_version().wait(), Ok(0));
        assert_eq!(store.tokens().wait(), Ok(Vec::new()));
        let _ = end.send(());
        assert_eq!(long.wait(), Ok(true), "it was not over before");
    }
}
