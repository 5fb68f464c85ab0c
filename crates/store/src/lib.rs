//! The store ports: what the actors may ask of durable storage, and nothing about how it is kept.
//!
//! Adapters live below (`sqlite`); each passes the behaviour suite in `tests/store/store_behaviour.rs`.
//! The rules that every adapter keeps:
//!
//! - A [`Ticket`] resolves only after the rows are durable (fsync or synchronous commit).
//! - Rows are inserted, not changed: the state of a message follows from which rows exist
//!   (`msg`, `sent`, `retry`, `fin`, `told`, `change`).
//! - `fin` is written once per message; a second one is reported as lost and changes nothing.
//! - One bad row never fails the other rows of its batch.

pub mod access;
pub mod archive;
mod asides;
pub mod balance;
mod change_effects;
mod checksum;
pub mod cluster;
mod cold;
pub mod damage;
pub mod failed;
pub mod failures;
pub mod forms;
mod gauges;
mod hand_off;
pub mod heard;
pub mod held;
pub mod idempotency;
pub mod incidents;
pub mod keys;
pub mod logins;
mod low_water;
mod meta;
pub mod moving;
pub mod notes;
pub mod opt_out;
pub mod outbox;
pub mod pauses;
pub mod postgres;
mod record;
pub mod redis;
mod rows;
mod search;
pub mod settings;
pub mod sinks;
pub mod sqlite;
pub mod stream_marks;
pub mod traffic;
pub mod usage;

use std::future::Future;
use std::ops::Range;
use std::path::Path;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use tokio::sync::oneshot;

use self::balance::TopUpRow;
use self::incidents::IncidentRow;
use self::keys::ApiKeyRow;
use self::logins::LoginRow;
use self::moving::MovedTable;
use self::notes::NoteRow;
use self::search::MAX_SCAN;
use self::traffic::TrafficRow;
use smsc_domain::id::{Aside, node};
use smsc_proto::{Message, Refusal};

pub use self::gauges::{CommitHistograms, Histogram};
pub use self::hand_off::hand_off_octets;
pub(crate) use self::rows::RowFailurePolicy;
pub use self::rows::{
    ChangeKind, ChangeRow, FinRow, ParkedRow, Rejected, RemoteItem, RetryRow, SentRow, TryRow,
    WriteBatch, Written,
};
pub use self::search::{FoundMessages, Search};

/// Tables that `smsc migrate-store` moves whole.
const MOVED_WHOLE: [MovedTable; 6] = [
    MovedTable::of::<ApiKeyRow>(),
    MovedTable::of::<TopUpRow>(),
    MovedTable::of::<NoteRow>(),
    MovedTable::of::<IncidentRow>(),
    MovedTable::of::<TrafficRow>(),
    MovedTable::of::<LoginRow>(),
];

/// What a request to the store comes to.
pub type StoreResult<T = ()> = Result<T, StoreError>;

/// Why a request to the store failed as a whole. Nothing of it was written, unless the variant says otherwise.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// New messages are refused: free space is below the floor. Results are still written.
    #[error(
        "disk space is below the floor of {floor_mib} MiB: free space in the data folder or lower store.min_free_mib"
    )]
    Full { floor_mib: u64 },
    /// The store has stopped.
    #[error("the store is closed")]
    Closed,
    /// New messages are refused, because the database has not said in time whether it has committed them. If it has,
    /// the store takes them back when that is known; their charges are returned by the store in any case.
    #[error("the database has not answered for {waited_ms} ms: new messages are taken back")]
    Undecided { waited_ms: u64 },
    /// Another node has taken this one for dead: nothing is written in its name any more.
    #[error("this node's lease has been taken over")]
    Fenced,
    /// The embedded store's write-ahead log is not what was written: what was acknowledged would be missing. The text says
    /// where, and what can be done.
    #[error("{0}")]
    Damaged(String),
    /// The request could not be carried out.
    #[error("store: {0}")]
    Failed(String),
}

impl From<StoreError> for Refusal {
    fn from(error: StoreError) -> Self {
        Self::unavailable(error.to_string())
    }
}

/// Resolves when the request is durable (writes) or answered (reads).
#[derive(Debug)]
pub struct Reply<T>(oneshot::Receiver<StoreResult<T>>);

/// The answer to a write.
pub type Ticket = Reply<Written>;

/// A message with its state and history.
#[derive(Debug, Clone, PartialEq)]
pub struct Stored {
    pub message: Message,
    /// The queue that owns it now, after moves.
    pub queue: u32,
    pub fin: Option<FinRow>,
    /// Attempts counted so far.
    pub attempts: u32,
    /// The message that it was sent again as, the last one if several; 0 for none.
    pub replayed_as: u64,
    /// When its last attempt was answered with ESME_ROK, Unix milliseconds; 0 for none, and where it is not read.
    pub sent_at: i64,
}

/// One active message, found when the store is read at start.
#[derive(Debug, Clone, PartialEq)]
pub struct Active {
    pub id: u64,
    pub sender: u32,
    /// The queue that owns it now, after moves.
    pub queue: u32,
    /// Its partition there; [`smsc_domain::partition::WHOLE`] with a store of one node.
    pub part: u8,
    pub priority: u32,
    /// Unix milliseconds, 0 for now.
    pub due_at: i64,
    pub expires_at: i64,
    pub attempts: u32,
    /// How often it has ended a session of the queue that owns it now, alone; see [`ChangeRow::ended_session`].
    pub ended: u32,
    pub stage: MessageStage,
}

/// Some of the active messages.
#[derive(Debug, Default, Clone, PartialEq)]
pub struct ActivePage {
    pub active: Vec<Active>,
    /// Where the next page begins; `None` after the last one.
    pub next: Option<u64>,
}

/// How far an active message has come.
#[derive(Debug, Clone, PartialEq)]
pub enum MessageStage {
    /// Waits in its queue.
    Waiting,
    /// A `try` row without a `sent` row: it may or may not have reached the operator.
    OutcomeUnknown,
    /// Handed over and waiting for its receipt.
    Sent {
        /// Unix milliseconds of the last attempt that was answered with ESME_ROK.
        at: i64,
        /// `(operator, operator's message id)` of every attempt answered with ESME_ROK.
        ids: Vec<(u32, Bytes)>,
    },
    /// Final, but its sender has not acknowledged the receipt.
    Untold {
        tell: u32,
        /// Since when, Unix milliseconds.
        at: i64,
    },
}

/// Everything known about one message.
#[derive(Debug, Clone, PartialEq)]
pub struct MessageHistory {
    pub stored: Stored,
    pub attempts: Vec<SentRow>,
    pub retry: Option<RetryRow>,
    pub told: bool,
    pub changes: Vec<ChangeRow>,
    /// What its operators have said without ending it.
    pub heard: Vec<heard::HeardRow>,
}

impl Stored {
    /// A message of which nothing else is known.
    fn new(message: Message) -> Self {
        Self {
            queue: message.queue,
            message,
            fin: None,
            attempts: 0,
            replayed_as: 0,
            sent_at: 0,
        }
    }
}

impl Active {
    /// Whether it waits in its queue, as far as is known.
    fn waits(&self) -> bool {
        matches!(
            self.stage,
            MessageStage::Waiting | MessageStage::OutcomeUnknown
        )
    }

    /// The queue that continues it. A receipt that its sender is owed belongs to the queue of that receipt.
    pub fn owner(&self) -> u32 {
        match self.stage {
            MessageStage::Untold { tell, .. } => tell,
            _ => self.queue,
        }
    }
}

impl MessageHistory {
    /// The attempt that the destination took.
    pub fn accepted_attempt(&self) -> Option<&SentRow> {
        let mut latest_first = self.attempts.iter().rev();
        latest_first.find(|attempt| attempt.status == 0)
    }

    /// When a message that waits is due, Unix milliseconds.
    pub fn due_at(&self) -> i64 {
        let retry = self.retry.as_ref();
        retry.map_or(self.stored.message.due_at, |retry| retry.due_at)
    }
}

/// Ids that a wrong clock has left in the future, set aside for good or to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SetAside {
    pub ids: Aside,
    /// Messages and parked receipts that have them.
    pub rows: u64,
}

/// Statistics of the store.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct StoreStats {
    pub commits: u64,
    pub rows: u64,
    /// Seconds spent in commits in total.
    pub commit_seconds: f64,
    /// Rows waiting for the writer now.
    pub waiting: u64,
    /// Free space of the disk that the store is on, where that is this machine's.
    pub free_mib: Option<u64>,
    pub below_floor: bool,
    /// See [`Store::is_stalled`].
    pub stalled: bool,
    /// Messages that the search index does not know yet.
    pub index_lag: u64,
    pub quarantined: u64,
    /// Messages that were refused before it was known that they were written; see [`StoreError::Undecided`].
    pub taken_back: u64,
    /// How often a writer has found that the database had gone back in time.
    pub steps_back: u64,
    /// Commits that were written again after that.
    pub rewritten: u64,
    /// How often more was lost than was kept.
    pub forgotten: u64,
    /// Latency and size of commits, in buckets.
    pub histograms: Option<CommitHistograms>,
    /// Idempotency keys in memory; 0 where they are looked up in the database.
    pub idempotency_keys: u64,
    /// Outcomes of the rows of `smpp.message_correlations`, where the table is kept.
    pub correlations: Option<cluster::CorrelationCounts>,
}

/// The durable side of the SMSC.
///
/// Calls never block: work is done on the store's own threads. Exceptions are documented.
pub trait Store:
    access::AccessStore
    + archive::ArchiveStore
    + opt_out::OptOutStore
    + balance::BalanceStore
    + damage::DamageListStore
    + damage::DamageStore
    + failed::FailedStore
    + failures::FailureStore
    + forms::FormStore
    + heard::HeardStore
    + held::HeldStore
    + pauses::PauseStore
    + idempotency::IdempotencyStore
    + incidents::IncidentStore
    + keys::ApiKeyStore
    + logins::LoginStore
    + notes::NoteStore
    + outbox::OutboxStore
    + settings::RewordingStore
    + settings::SettingsStore
    + sinks::SinkStore
    + stream_marks::StreamMarkStore
    + traffic::TrafficStore
    + usage::UsageStore
    + Send
    + Sync
    + 'static
{
    /// Makes a batch durable. Batches of one caller are written in the order of the calls.
    fn write(&self, batch: WriteBatch) -> Ticket;

    /// Resolves when every write requested before this call has ended.
    fn barrier(&self) -> Reply<()>;

    /// The clock of the store, Unix milliseconds: of a database, which all of its nodes have in common whatever theirs
    /// show; of this process, where the store is its own.
    fn now_ms(&self) -> Reply<i64>;

    /// Messages by id, in the order requested; `None` for an unknown id.
    fn load(&self, ids: Vec<u64>) -> Reply<Vec<Option<Stored>>>;

    /// Calls `each` for every active message in id order, for one queue or all. Blocks.
    fn recover(&self, queue: Option<u32>, each: &mut dyn FnMut(Active)) -> StoreResult;

    /// Active messages in id order, a page of those with ids in the range. One request reads a bounded
    /// number of rows: a page may be short, or empty, although there are more.
    fn active_page(&self, ids: Range<u64>, limit: usize) -> Reply<ActivePage>;

    /// Parked receipts in id order. Blocks.
    fn parked(&self, limit: usize) -> StoreResult<Vec<ParkedRow>>;

    /// The highest id ever used by a message or a parked receipt, 0 when empty; those that were set
    /// aside do not count. Blocks.
    fn highest_id(&self) -> StoreResult<u64>;

    /// Ids that `smsc repair-ids` has set aside, the lowest first. Blocks.
    fn asides(&self) -> StoreResult<Vec<Aside>>;

    /// A small number for a name, the same for ever. Blocks; for start and reload.
    fn intern(&self, name: &str) -> StoreResult<u32>;

    /// All interned names. Blocks.
    fn names(&self) -> StoreResult<Vec<(u32, String)>>;

    /// One message with its history.
    fn history(&self, id: u64) -> Reply<Option<MessageHistory>>;

    /// Messages, newest first. One request reads a bounded number of rows: a page may be short, or
    /// empty, although there are more.
    fn search(&self, search: Search) -> Reply<FoundMessages>;

    /// Writes sorted `(key, id)` pairs to the derived correlation table of an hour.
    fn spill_correlations(&self, hour: i64, sorted: Vec<(u128, u64)>) -> Reply<()>;

    /// Looks keys up in all hours, newest first; answers in the order requested. A store that finds
    /// attempts by their own rows prefers those whose message is not final, and need not look at messages
    /// that were accepted before `since` (Unix ms).
    fn find_correlations(&self, keys: Vec<u128>, since: i64) -> Reply<Vec<Option<u64>>>;

    /// Drops the derived correlation tables older than an hour.
    fn drop_correlations_before(&self, hour: i64) -> Reply<()>;

    /// Writes one block of a queue's waiting list out of memory.
    fn spill_block(&self, queue: u32, block: u64, octets: Vec<u8>) -> Reply<()>;

    /// Reads a spilled block back. It stays until it is forgotten.
    fn read_block(&self, queue: u32, block: u64) -> Reply<Option<Vec<u8>>>;

    /// Forgets spilled blocks of a queue; the answer need not be waited for.
    fn forget_blocks(&self, queue: u32, blocks: Range<u64>) -> Reply<()>;

    /// Moves the low-water mark, so that active messages are read without the history around them.
    /// Cheap; call it every minute, or every few seconds when other nodes may take over.
    fn advance_low_water(&self) -> Reply<()>;

    /// Makes room for the days to come, and indexes that wait for the end of a day; may take as long as
    /// reading that day. Call it every minute or so.
    fn tend_days(&self) -> Reply<()>;

    /// Deletes up to `limit` messages that were final, with their receipts acknowledged, before
    /// `before` (Unix milliseconds); returns how many.
    fn retire(&self, before: i64, limit: usize) -> Reply<u64>;

    /// An online copy of the store in one file. Blocks.
    fn backup(&self, to: &Path) -> StoreResult;

    /// Whether nothing can be written now: writes wait until the disk has space, or the database
    /// answers.
    fn is_stalled(&self) -> bool;

    fn stats(&self) -> StoreStats;

    /// Writes what waits and stops. Blocks.
    fn close(&self);
}

/// A number as the databases hold it: they have no unsigned integers of 64 bits. One that does not fit is
/// the largest that does, which is above every id.
fn signed(number: impl TryInto<i64>) -> i64 {
    number.try_into().unwrap_or(i64::MAX)
}

// === impl SetAside ===

impl SetAside {
    /// Adds ids to those of the same node.
    fn add(all: &mut Vec<Self>, more: Self) {
        match all.iter_mut().find(|one| one.ids.node == more.ids.node) {
            Some(one) => {
                one.ids.first = one.ids.first.min(more.ids.first);
                one.ids.last = one.ids.last.max(more.ids.last);
                one.rows += more.rows;
            }
            None => all.push(more),
        }
    }

    /// Adds the highest id of a store, which may be of a row that is gone, if it is at or above `limit` and
    /// not set aside yet.
    fn add_highest(all: &mut Vec<Self>, highest: u64, limit: u64, known: &[Aside]) {
        if highest >= limit && !known.iter().any(|aside| aside.contains(highest)) {
            let ids = Aside {
                node: node(highest),
                first: highest,
                last: highest,
            };
            Self::add(all, Self { ids, rows: 0 });
        }
    }

    /// The first of all ids that are set aside.
    fn first(all: &[Self]) -> Option<u64> {
        all.iter().map(|one| one.ids.first).min()
    }
}

// === impl Reply ===

impl<T> Reply<T> {
    /// A reply and the end that answers it.
    pub fn pair() -> (oneshot::Sender<StoreResult<T>>, Self) {
        let (sender, receiver) = oneshot::channel();
        (sender, Self(receiver))
    }

    /// An answer that is there already.
    pub fn ready(answer: StoreResult<T>) -> Self {
        let (sender, reply) = Self::pair();
        let _ = sender.send(answer);
        reply
    }

    /// Waits on a thread that may block.
    pub fn wait(self) -> StoreResult<T> {
        self.0.blocking_recv().unwrap_or(Err(StoreError::Closed))
    }
}

impl<T> Future for Reply<T> {
    type Output = StoreResult<T>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.0)
            .poll(cx)
            .map(|answer| answer.unwrap_or(Err(StoreError::Closed)))
    }
}
