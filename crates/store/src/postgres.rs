//! The store that many nodes share: PostgreSQL, written by a few lanes, read through pools.
//!
//! Opened by the composition root and used through [`Store`] and
//! [`ClusterStore`](super::cluster::ClusterStore). One thread of its own runs everything here.
//!
//! ```text
//! write ─→ write queue ─┬→ lane 0 (results in order) ─┬→ PostgreSQL ←─┬─ pool ←── load, history, recover, cluster
//!                       └→ lane 1… (new messages)   ──┘               └─ admin, cold, outbox, upkeep
//! ```
//!
//! What is read and written beside the lanes has connections by its purpose, so that nothing that is slow takes those of
//! another: messages on their way never wait for a search.
//!
//! Invariants: an answer to a write follows its synchronous commit; nothing is written for a node that
//! others have declared dead; a batch whose commit was interrupted is neither lost nor written twice;
//! results are kept while the database is away.

mod archive;
mod around;
mod asides;
mod balance;
mod carry;
mod checksums_from;
mod cluster;
mod cold;
mod columns;
mod comparison;
mod connect;
mod correlations;
mod damage;
mod doubts;
mod failed;
mod failure;
mod hosts;
mod idempotency;
mod import;
mod inbox;
mod kept;
mod lane;
mod opt_out;
mod options;
mod outbox;
mod persist;
mod prepare;
mod reader;
mod record;
mod recover;
mod retention;
mod schema;
mod search;
mod settings;
mod sinks;
mod statements;
mod take_back;
mod transaction;
mod upkeep;
mod usage;
mod went_back;
mod write_queue;

use std::future::Future;
use std::ops::Range;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock, mpsc};
use std::thread::JoinHandle;
use std::time::Duration;

use deadpool::managed::{PoolError, TimeoutType};
use tokio::runtime::Handle;

use self::connect::{Object, Pool, PostgresConnector};
use self::failure::failed;
use self::write_queue::PostgresWriteQueue;
use super::cluster::Membership;
use super::damage::DamageLog;
use super::gauges::Gauges;
use super::sinks::CurrentListeners;
use super::{
    Active, ActivePage, FoundMessages, MessageHistory, ParkedRow, Reply, Search, Store, StoreError,
    StoreResult, StoreStats, Stored, Ticket, WriteBatch,
};

/// How often new messages that wait for the database are checked.
const OVERDUE_TICK: Duration = Duration::from_millis(100);

/// Connections for maintenance: the low-water mark must not wait for a day that is dropped, nor for an erasure.
const UPKEEP: usize = 3;
/// Connections for small tables.
const COLD: usize = 3;
/// Connections for readers of events.
const OUTBOX: usize = 2;
/// Longest wait of an administrator's question for a connection: it is refused while whoever asks is still there.
const ADMIN_WAIT: Duration = Duration::from_secs(3);

/// The shared store.
pub struct PgStore {
    shared: Arc<PostgresShared>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

/// What the parts of the store share.
pub(super) struct PostgresShared {
    /// What messages need on their way, and the work of the cluster.
    pub pool: Pool,
    /// Searches, lists, counts and `smsc export`, which may take long.
    admin: Pool,
    /// Small tables, also those that nodes look at every few seconds: the configuration, tokens.
    cold: Pool,
    /// Events, and what their readers make of them.
    outbox: Pool,
    /// Maintenance, which may take long.
    upkeep: Pool,
    /// One erasure at a time, which may have to read everything.
    erasing: tokio::sync::Mutex<()>,
    /// Of the store's own thread.
    pub runtime: Handle,
    /// In whose name is written; `None` before joining and after having been fenced.
    pub membership: RwLock<Option<Membership>>,
    /// Makes dedicated connections.
    pub connect: PostgresConnector,
    cluster: cluster::MembershipState,
    options: PgOptions,
    write_queue: PostgresWriteQueue,
    carry: tokio::sync::Mutex<carry::CarryProgress>,
    waiting_days: retention::DeferredDays,
    counts: LaneCounts,
    /// Damaged rows that were found.
    damage: DamageLog,
    comparison: comparison::DatabaseComparison,
    closed: AtomicBool,
    /// Who events are written for.
    listeners: CurrentListeners,
}

/// What the lanes count.
#[derive(Debug, Default)]
struct LaneCounts {
    writes: Gauges,
    correlations: correlations::KeptCorrelationCounts,
    /// Messages that were refused although they were written.
    taken_back: AtomicU64,
}
use smsc_domain::id::Aside;

pub use self::asides::repair_ids;
pub use self::correlations::known_as;
pub use self::hosts::Hosts;
pub use self::import::{Import, MoveStart};
pub use self::options::PgOptions;

/// Applies the missing migrations; returns their names. Blocks.
///
/// # Errors
/// The database cannot be reached or changed, or is of a newer release.
pub fn migrate(options: &PgOptions) -> StoreResult<Vec<String>> {
    let connector = PostgresConnector::new(options)?;
    runtime()?.block_on(schema::migrate(&connector))
}

/// The migrations that the database lacks. Blocks.
///
/// # Errors
/// The database cannot be reached, or is of a newer release.
pub fn pending_migrations(options: &PgOptions) -> StoreResult<Vec<String>> {
    let connector = PostgresConnector::new(options)?;
    runtime()?.block_on(schema::pending(&connector))
}

/// A warning for people, if there is something to say about the server's own care for its data. Blocks.
///
/// # Errors
/// The database cannot be reached.
pub fn server_warning(options: &PgOptions) -> StoreResult<Option<&'static str>> {
    let connector = PostgresConnector::new(options)?;
    runtime()?.block_on(async {
        let client = connector.driven().await?;
        let is_checked = schema::has_page_checksums(&client).await?;
        Ok((!is_checked).then_some(schema::NO_PAGE_CHECKSUMS))
    })
}

fn runtime() -> StoreResult<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| failed(format!("cannot start a runtime: {error}")))
}

// === impl PostgresShared ===

impl PostgresShared {
    /// Runs something on the store's thread; its result is the answer.
    pub(super) fn ask<T: Send + 'static>(
        &self,
        work: impl Future<Output = StoreResult<T>> + Send + 'static,
    ) -> Reply<T> {
        let (answer, reply) = Reply::pair();
        if self.closed.load(Ordering::Acquire) {
            return reply;
        }
        self.runtime.spawn(async move {
            let _ = answer.send(work.await);
        });
        reply
    }

    /// In whose name is written now.
    pub(super) fn membership(&self) -> Option<Membership> {
        *self
            .membership
            .read()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// A connection for what messages need.
    async fn reader(&self) -> StoreResult<Object> {
        Ok(self.pool.get().await?)
    }

    /// A connection for what administrators ask.
    ///
    /// # Errors
    /// Other questions have them all, or the database does not answer.
    async fn admin_reader(&self) -> StoreResult<Object> {
        match self.admin.get().await {
            Err(PoolError::Timeout(TimeoutType::Wait)) => Err(failed(format!(
                "searches, lists and counts under way have all {} connections that they may take \
                 (postgres.admin_readers): try again later",
                self.admin.status().max_size
            ))),
            got => Ok(got?),
        }
    }
}

// === impl PgStore ===

impl PgStore {
    /// Connects to a database whose schema is this binary's. Blocks.
    ///
    /// # Errors
    /// The database cannot be reached, or its schema is older or newer.
    pub fn open(options: PgOptions) -> StoreResult<Self> {
        let runtime = runtime()?;
        let connect = PostgresConnector::new(&options)?;
        let pool = |most| connect.pool(most, options.statement_timeout);
        let admin_wait = options.statement_timeout.min(ADMIN_WAIT);
        let shared = Arc::new(PostgresShared {
            pool: pool(options.readers.max(1))?,
            admin: connect.pool(options.admin_readers.max(1), admin_wait)?,
            cold: pool(COLD)?,
            outbox: pool(OUTBOX)?,
            upkeep: pool(UPKEEP)?,
            erasing: tokio::sync::Mutex::default(),
            runtime: runtime.handle().clone(),
            membership: RwLock::new(None),
            connect,
            cluster: cluster::MembershipState::default(),
            write_queue: PostgresWriteQueue::new(options.writers.max(1)),
            carry: tokio::sync::Mutex::default(),
            waiting_days: retention::DeferredDays::default(),
            counts: LaneCounts::default(),
            damage: DamageLog::default(),
            comparison: comparison::DatabaseComparison::new(options.writers.max(1)),
            closed: AtomicBool::new(false),
            listeners: CurrentListeners::default(),
            options,
        });
        let theirs = Arc::clone(&shared);
        let (opened, result) = mpsc::sync_channel(1);
        let thread = std::thread::Builder::new()
            .name("store-postgres".to_owned())
            .spawn(move || runtime.block_on(run(theirs, &opened)))
            .map_err(|error| failed(format!("cannot start the store's thread: {error}")))?;
        result.recv().unwrap_or(Err(StoreError::Closed))?;
        Ok(Self {
            shared,
            thread: Mutex::new(Some(thread)),
        })
    }

    /// Runs something on the store's thread; its result is the answer.
    fn ask<T: Send + 'static, W>(&self, work: impl FnOnce(Arc<PostgresShared>) -> W) -> Reply<T>
    where
        W: Future<Output = StoreResult<T>> + Send + 'static,
    {
        self.shared.ask(work(Arc::clone(&self.shared)))
    }

    /// Resolves when every write requested before this call has ended.
    pub fn barrier(&self) -> Reply<()> {
        let (answer, reply) = Reply::pair();
        self.shared.write_queue.barrier(answer);
        reply
    }
}

/// The store's thread.
async fn run(shared: Arc<PostgresShared>, opened: &mpsc::SyncSender<StoreResult>) {
    let ready = prepare::prepare(&shared).await;
    let failed = ready.is_err();
    let _ = opened.send(ready);
    if failed {
        return;
    }
    let theirs = Arc::clone(&shared);
    tokio::spawn(async move {
        let mut tick = tokio::time::interval(OVERDUE_TICK);
        loop {
            tick.tick().await;
            theirs
                .write_queue
                .refuse_overdue(theirs.options.write_timeout);
        }
    });
    let lanes = (0..shared.options.writers.max(1)).map(|lane| lane::run(Arc::clone(&shared), lane));
    futures_util::future::join_all(lanes).await;
    shared.pool.close();
}

impl Store for PgStore {
    fn write(&self, batch: WriteBatch) -> Ticket {
        let (answer, ticket) = Reply::pair();
        self.shared.write_queue.push(batch, answer);
        ticket
    }

    fn barrier(&self) -> Reply<()> {
        Self::barrier(self)
    }

    fn now_ms(&self) -> Reply<i64> {
        self.ask(|shared| async move { asides::now_ms(&**shared.reader().await?).await })
    }

    fn load(&self, ids: Vec<u64>) -> Reply<Vec<Option<Stored>>> {
        self.ask(|shared| async move {
            reader::load(&shared.reader().await?, &shared.damage, &ids).await
        })
    }

    fn recover(&self, queue: Option<u32>, each: &mut dyn FnMut(Active)) -> StoreResult {
        recover::recover(&self.shared, queue, each)
    }

    fn active_page(&self, ids: Range<u64>, limit: usize) -> Reply<ActivePage> {
        self.ask(|shared| async move { recover::page(&shared, ids, limit).await })
    }

    fn parked(&self, limit: usize) -> StoreResult<Vec<ParkedRow>> {
        self.ask(|shared| async move {
            reader::parked(&shared.reader().await?, &shared.damage, limit).await
        })
        .wait()
    }

    fn highest_id(&self) -> StoreResult<u64> {
        self.ask(|shared| async move { asides::highest_id(&**shared.reader().await?).await })
            .wait()
    }

    fn asides(&self) -> StoreResult<Vec<Aside>> {
        self.ask(|shared| async move { asides::read(&**shared.reader().await?).await })
            .wait()
    }

    fn intern(&self, name: &str) -> StoreResult<u32> {
        let name = name.to_owned();
        self.ask(|shared| async move {
            let number = upkeep::intern(&mut shared.reader().await?, &name).await?;
            shared.comparison.remember_name(number, name);
            Ok(number)
        })
        .wait()
    }

    fn names(&self) -> StoreResult<Vec<(u32, String)>> {
        self.ask(|shared| async move { reader::names(&shared.reader().await?).await })
            .wait()
    }

    fn history(&self, id: u64) -> Reply<Option<MessageHistory>> {
        self.ask(|shared| async move {
            reader::history(&shared.reader().await?, &shared.damage, id).await
        })
    }

    fn search(&self, search: Search) -> Reply<FoundMessages> {
        self.ask(|shared| async move {
            search::search(&shared.admin_reader().await?, &shared.damage, &search).await
        })
    }

    /// Does nothing: the `sent` rows are the correlations.
    fn spill_correlations(&self, _hour: i64, _sorted: Vec<(u128, u64)>) -> Reply<()> {
        Reply::ready(Ok(()))
    }

    fn find_correlations(&self, keys: Vec<u128>, since: i64) -> Reply<Vec<Option<u64>>> {
        self.ask(|shared| async move {
            let ttl = shared.options.correlation_ttl;
            correlations::find(&shared.reader().await?, &keys, ttl, since).await
        })
    }

    /// Does nothing: the look-up leaves out what is older than the TTL.
    fn drop_correlations_before(&self, _hour: i64) -> Reply<()> {
        Reply::ready(Ok(()))
    }

    fn spill_block(&self, queue: u32, block: u64, octets: Vec<u8>) -> Reply<()> {
        self.ask(|shared| async move { upkeep::spill_block(&shared, queue, block, &octets).await })
    }

    fn read_block(&self, queue: u32, block: u64) -> Reply<Option<Vec<u8>>> {
        self.ask(|shared| async move { upkeep::read_block(&shared, queue, block).await })
    }

    fn forget_blocks(&self, queue: u32, blocks: Range<u64>) -> Reply<()> {
        self.ask(|shared| async move { upkeep::forget_blocks(&shared, queue, blocks).await })
    }

    fn advance_low_water(&self) -> Reply<()> {
        self.ask(|shared| async move {
            if let Err(error) = checksums_from::set(&shared).await {
                tracing::warn!(%error, "it is not marked from which id on all rows have checksums");
            }
            carry::advance(&shared).await
        })
    }

    fn tend_days(&self) -> Reply<()> {
        self.ask(|shared| async move { schema::tend_days(&shared).await })
    }

    fn retire(&self, before: i64, limit: usize) -> Reply<u64> {
        self.ask(|shared| async move { retention::retire(&shared, before, limit).await })
    }

    fn backup(&self, _to: &Path) -> StoreResult {
        Err(failed(
            "the store is a PostgreSQL database: back it up with pg_dump or pg_basebackup",
        ))
    }

    fn is_stalled(&self) -> bool {
        self.shared.counts.writes.is_stalled()
    }

    fn stats(&self) -> StoreStats {
        let step_back = &self.shared.comparison.counts;
        StoreStats {
            waiting: self.shared.write_queue.rows() as u64,
            taken_back: self.shared.counts.taken_back.load(Ordering::Relaxed),
            steps_back: step_back.steps.load(Ordering::Relaxed),
            rewritten: step_back.rewritten.load(Ordering::Relaxed),
            forgotten: step_back.forgotten.load(Ordering::Relaxed),
            correlations: (self.shared.options.message_correlations)
                .then(|| self.shared.counts.correlations.read()),
            ..self.shared.counts.writes.stats()
        }
    }

    fn close(&self) {
        let thread = self
            .thread
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        let Some(thread) = thread else { return };
        // The lanes end when they have written all waiting batches, and the thread after them.
        self.shared.write_queue.close();
        self.shared.closed.store(true, Ordering::Release);
        if thread.join().is_err() {
            tracing::error!("the store's thread panicked");
        }
    }
}

impl Drop for PgStore {
    fn drop(&mut self) {
        self.close();
    }
}
