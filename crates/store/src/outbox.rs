//! The outbox port: what has happened to messages, for whoever must hear of all of it.
//!
//! Used by `actors/control/export.rs`. While an [`EventReader`] is configured, the transaction that ends messages also
//! writes a row with their ids for it: both are durable, or neither. A reader takes rows, and finishes them
//! together with what it has made of them.
//!
//! - Rows are not read by a position, but until they are finished: a row of a transaction that ends late is
//!   never passed over.
//! - Rows that are taken belong to their holder until it finishes them, or until they are older than
//!   [`TakeEvents::abandoned`] and somebody else takes them. Only the holder can finish them.
//! - Rows hold ids and numbers, nothing of a subscriber. The messages are read after rows are taken; the janitor
//!   keeps them until then, as [`OutboxStore::backlog`] tells.

use super::usage::UsageRow;
use super::{Reply, Stored};
use smsc_proto::MessageState;

/// Rows that are looked at to count what waits; a longer backlog is counted as at least as many.
pub(crate) const MOST_COUNTED: i64 = 100_000;

smsc_domain::named! {
    /// Who reads events. The numbers are those of the store.
    /// Their words are those of metrics and logs.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub enum EventReader, name {
        /// Call detail records.
        Cdr = 1: "cdr",
        /// Sums of usage.
        Usage = 2: "usage",
        /// The section `[nats]` of builds before: nothing is written for it any more.
        Nats = 3: "nats",
        /// The archive of whole messages.
        Archive = 8: "archive",
        /// The mirror in Redis.
        Platform = 9: "redis_platform",
    }
}

/// What happened. The numbers are those of the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventKind {
    /// Messages have reached their final state.
    Ended = 1,
}

/// A request for events.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TakeEvents {
    pub reader: EventReader,
    /// Names who takes them, the same after a restart.
    pub holder: String,
    /// Unix milliseconds.
    pub now: i64,
    /// What others have taken before this is taken from them, Unix milliseconds.
    pub abandoned: i64,
    /// Messages after which no further row is added.
    pub limit: usize,
    /// Only what this holder has taken before and not finished.
    pub only_own: bool,
}

/// Events that now belong to their holder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TakenEvents {
    pub claim: EventClaim,
    /// The messages that ended, ascending.
    pub ids: Vec<u64>,
    /// There may be more.
    pub is_full: bool,
}

/// Rows and who has taken them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventClaim {
    pub reader: EventReader,
    pub holder: String,
    /// Their numbers.
    pub rows: Vec<i64>,
}

/// What a reader has made of events, to be written in the transaction that finishes them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReaderOutcome {
    /// It is durable elsewhere.
    Elsewhere,
    /// For the table `cdr`.
    Records(Vec<CdrRow>),
    /// To be added to the sums of usage; no two rows are about the same.
    Usage(Vec<UsageRow>),
}

/// A row of events as it is, to be moved to another store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventRow {
    /// The numbers of [`EventReader`] or a sink, and [`EventKind`].
    pub reader: i16,
    pub kind: i16,
    /// The earliest of the events, Unix milliseconds.
    pub at: i64,
    pub ids: Vec<u64>,
    /// Early events ([`sinks`](super::sinks)); empty for others.
    pub data: Vec<u8>,
}

/// What waits for a reader; the reader of a sink is a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReaderBacklog<R = EventReader> {
    pub reader: R,
    /// Messages in its rows; at least as many, where there are very many rows.
    pub events: u64,
    /// The earliest end of one of them, Unix milliseconds; 0 when nothing waits.
    pub oldest_at: i64,
}

/// A call detail record. Times are Unix milliseconds, 0 for unknown; texts are empty where there is nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CdrRow {
    /// The message, which has one record.
    pub id: u64,
    /// The account that sent it, or that a mobile-originated one was for.
    pub account: String,
    /// Mobile originated.
    pub is_mo: bool,
    /// Who submitted it: `account:…` or `operator:…`.
    pub sender: String,
    /// The queue that it was first routed to.
    pub queue: String,
    pub from: String,
    pub to: String,
    pub accepted_at: i64,
    /// When the final state became known: when the operator's receipt came, if one did.
    pub final_at: i64,
    /// When it ended according to the operator.
    pub done_at: i64,
    pub state: MessageState,
    /// Who reported the final state, as `sender`.
    pub operator: String,
    pub attempts: u32,
    pub data_coding: u32,
    pub octets: u32,
    /// Short messages that it was sent as.
    pub parts: u32,
    pub error: String,
    pub network: String,
    /// The message that it replays; 0 for none.
    pub replay_of: u64,
    /// Credits for all of it.
    pub price: i64,
    /// What a credit is.
    pub currency: String,
    pub client_reference: String,
}

/// The outbox of a store. Calls never block.
pub trait OutboxStore {
    /// From the next commit on, events are written for these readers and no others.
    fn write_events_for(&self, readers: &[EventReader]);

    /// Takes events, the oldest first, also those that this holder has taken already and not finished; `None`
    /// when there are none.
    fn take_events(&self, take: TakeEvents) -> Reply<Option<TakenEvents>>;

    /// The messages of events, in the order of the ids; `None` for one that the store has no more. Beside the reads
    /// of the data path.
    fn read_ended(&self, ids: Vec<u64>) -> Reply<Vec<Option<Stored>>>;

    /// Ends events together with their outcome; false, and nothing is written, if they are not all the
    /// holder's any more.
    fn finish_events(&self, claim: EventClaim, outcome: ReaderOutcome) -> Reply<bool>;

    /// What waits, of the readers for whom something does.
    fn backlog(&self) -> Reply<Vec<ReaderBacklog>>;

    /// Deletes those of the `limit` oldest rows that are of events before `before` (Unix milliseconds), whether they
    /// were taken or not; returns how many messages were in them.
    fn drop_events(&self, before: i64, limit: usize) -> Reply<u64>;

    /// Replaces an address (digits, without a plus) in the table `cdr` by
    /// [`ERASED`](super::archive::ERASED), and removes the client references of those records; returns how many.
    fn erase_records(&self, digits: String) -> Reply<u64>;

    /// Deletes up to `limit` rows of the table `cdr` of messages that ended before `before` (Unix
    /// milliseconds); returns how many.
    fn forget_records(&self, before: i64, limit: usize) -> Reply<u64>;
}

// === impl EventReader ===

impl EventReader {
    /// A set of readers in one number.
    pub fn bits(readers: impl IntoIterator<Item = Self>) -> u32 {
        let readers = readers.into_iter();
        readers.fold(0, |bits, reader| bits | 1 << (reader as u32))
    }
}

// === impl CdrRow ===

impl CdrRow {
    /// Mobile terminated or originated.
    pub fn kind(&self) -> &'static str {
        if self.is_mo { "MO" } else { "MT" }
    }
}
