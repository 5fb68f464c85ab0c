//! The rows of the store: the content of a [`WriteBatch`], and its result.
//!
//! Built by the actors, written by the adapters. A batch becomes durable in one transaction.

use bytes::Bytes;

use super::balance;
use super::damage::DAMAGED;
use super::heard::HeardRow;
use super::idempotency::IdempotencyRow;
use smsc_proto::{Message, MessageState};
use uuid::Uuid;

/// `error` of messages that were taken back.
const TAKEN_BACK: &[u8] = b"taken back";

/// Rows to be made durable together, in one transaction with whatever else waits.
#[derive(Debug, Default, Clone)]
pub struct WriteBatch {
    /// Newly accepted messages; ids ascend.
    pub accept: Vec<Message>,
    /// Attempts whose answer or timeout was seen.
    pub sent: Vec<SentRow>,
    /// When a failed message is due again; the last one wins.
    pub retry: Vec<RetryRow>,
    /// Final states; insert-if-absent.
    pub fin: Vec<FinRow>,
    /// Messages whose receipt the account has acknowledged.
    pub told: Vec<u64>,
    /// Receipts that matched nothing yet.
    pub park: Vec<ParkedRow>,
    /// Parked receipts (by their own id) that are settled.
    pub unpark: Vec<u64>,
    /// What receipts have said without ending their messages; of each message and kind the last one stays.
    pub heard: Vec<HeardRow>,
    /// Cancel, replace, move: appended, the last of a kind wins.
    pub change: Vec<ChangeRow>,
    /// Attempts about to be made, for operators whose outcome policy is not `resend`.
    pub tries: Vec<TryRow>,
    /// Work for queue partitions that another node owns. Always empty with a store of one node.
    pub remote_items: Vec<RemoteItem>,
    /// The charges for the messages of `accept`.
    pub charge: Vec<balance::ChargeRow>,
    /// The answer to the request that the messages of `accept` came with.
    pub idempotency: Vec<IdempotencyRow>,
}

/// One item for the shared hand-off table: the owner of the partition takes it out ([`cluster`]).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemoteItem {
    /// Interned name of the queue.
    pub queue: u32,
    /// See [`smsc_domain::partition`].
    pub part: u8,
    /// The message that it is about.
    pub id: u64,
    /// See [`hand_off_octets`](crate::hand_off_octets).
    pub octets: Bytes,
}

/// One attempt, never overwritten: `(id, attempt)`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SentRow {
    pub id: u64,
    /// 1 for the first attempt.
    pub attempt: u32,
    /// Unix milliseconds of the answer or the timeout.
    pub at: i64,
    /// Interned name of the queue (operator or account) that it was sent to.
    pub operator: u32,
    /// command_status of the answer; [`SentRow::NO_ANSWER`] when none came.
    pub status: u32,
    /// The peer's message_id, as received; empty on failure.
    pub operator_message_id: Bytes,
    /// Milliseconds between request and answer.
    pub latency_ms: u32,
    /// Key of [`Store::find_correlations`] under which other nodes find this attempt; 0 for none.
    pub correlation: u64,
    /// The bind that it was sent on, as [`smsc_domain::bind`] writes it; 0 for none.
    pub bind: u64,
    /// What `smpp.message_correlations` names the message ([`known_as`](crate::postgres::known_as)); `None` in rows that are
    /// read.
    pub known_as: Option<Uuid>,
}

/// When a message is due again, and how many attempts were counted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RetryRow {
    pub id: u64,
    /// Unix milliseconds.
    pub due_at: i64,
    pub attempts: u32,
}

/// The final state of a message.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FinRow {
    pub id: u64,
    /// When we knew, Unix milliseconds.
    pub at: i64,
    pub state: MessageState,
    /// Vendor error code, verbatim.
    pub error: Bytes,
    /// Interned name of the operator that reported it, 0 for ourselves.
    pub operator: u32,
    /// Interned name of the account queue that gets a receipt, 0 for none.
    pub tell: u32,
    /// When the message ended according to the operator's receipt; Unix milliseconds, 0 if unknown.
    pub done_at: i64,
    /// The receipt ([`hand_off_octets`](crate::hand_off_octets)) when that queue is another node's: the row that wins puts it
    /// into the hand-off table as well. Otherwise empty, and empty in rows that are read.
    pub remote_item: Bytes,
    /// The partition of that queue that the receipt goes to, here or there; 0 in rows that are read.
    pub remote_part: u8,
}

/// A receipt that matched no message when it came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParkedRow {
    /// Its own id, from the same sequence as message ids.
    pub id: u64,
    pub operator: u32,
    /// The operator's message id, as received.
    pub operator_message_id: Bytes,
    /// Unix milliseconds.
    pub at: i64,
    /// The encoded `OperatorReceipt`.
    pub receipt: Bytes,
}

/// An order about a message that is already stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangeRow {
    pub id: u64,
    /// Unix milliseconds.
    pub at: i64,
    pub kind: ChangeKind,
    /// Interned name of the new queue, for [`ChangeKind::Move`].
    pub queue: u32,
    /// Who ordered it: an account, an API token's name, or the queue itself.
    pub by: String,
    /// Unix milliseconds from which the message is late, for [`ChangeKind::Replace`]; otherwise 0.
    pub expires_at: i64,
    /// The encoded [`Replacement`](smsc_proto::Replacement), for [`ChangeKind::Replace`]; empty when
    /// the text was erased since. For [`ChangeKind::Replay`] the id of the new message. For
    /// [`ChangeKind::Move`] the encoded [`Moved`](smsc_proto::Moved), empty when the number was erased since.
    pub body: Bytes,
}

/// The command of a [`ChangeRow`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChangeKind {
    /// Another queue owns the message from now on.
    Move = 1,
    /// An administrator requested an immediate retry.
    Retry = 2,
    /// Cancelled; the `fin` row with DELETED is written in the same batch.
    Cancel = 3,
    /// Its sender replaced its text or times; its due time is in a `retry` row of the same batch.
    /// Readers get the message as the last replacement made it.
    Replace = 4,
    /// Sent again as a new message, whose id is in the body (eight octets, highest first).
    Replay = 5,
    /// The receipt for its sender was dropped: not acknowledged in time, refused or purged.
    GiveUp = 6,
}

/// An attempt about to be made. Of two with one number, the later one counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TryRow {
    pub id: u64,
    pub attempt: u32,
    /// Unix milliseconds, or [`TryRow::NOT_MADE`].
    pub at: i64,
    pub operator: u32,
}

/// The result of a committed [`WriteBatch`].
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Written {
    /// Ids of `fin` rows that were not written because the message was final already.
    pub fin_lost: Vec<u64>,
    /// Rows that could not be written; they are quarantined.
    pub rejected: Vec<Rejected>,
}

/// A row that the store refused on its own account.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rejected {
    /// Table name.
    pub table: &'static str,
    pub id: u64,
    pub reason: String,
}

/// Whether a row that fails ends its transaction, or is quarantined alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RowFailurePolicy {
    /// It ends its transaction.
    Strict,
    /// It is quarantined.
    Isolating,
}

// === impl ChangeKind ===

impl ChangeKind {
    /// The kind with this number in the tables. Who adds a kind sets `meta.oldest_schema`, so that no binary opens what it
    /// would misread.
    pub(crate) fn of(number: i64) -> Self {
        match number {
            1 => Self::Move,
            2 => Self::Retry,
            4 => Self::Replace,
            5 => Self::Replay,
            6 => Self::GiveUp,
            _ => Self::Cancel,
        }
    }
}

// === impl ChangeRow ===

impl ChangeRow {
    /// One that says no more than this.
    pub fn new(id: u64, at: i64, kind: ChangeKind, by: &str) -> Self {
        Self {
            id,
            at,
            kind,
            queue: 0,
            by: by.to_owned(),
            expires_at: 0,
            body: Bytes::new(),
        }
    }
}

// === impl FinRow ===

impl FinRow {
    /// The end of a message that was refused although it was written; see [`StoreError::Undecided`]. Nobody is told.
    ///
    /// [`StoreError::Undecided`]: super::StoreError::Undecided
    pub fn taken_back(id: u64, at: i64) -> Self {
        Self {
            id,
            at,
            state: MessageState::Deleted,
            error: Bytes::from_static(TAKEN_BACK),
            ..Self::default()
        }
    }

    /// Stands for one that cannot be read. Nobody is told, because it is not known who should be.
    pub fn damaged(id: u64) -> Self {
        Self {
            state: MessageState::Unknown,
            error: Bytes::from_static(DAMAGED),
            ..Self::taken_back(id, 0)
        }
    }

    /// The row as it is when it is read again.
    pub fn as_read(&self) -> Self {
        Self {
            remote_item: Bytes::new(),
            remote_part: 0,
            ..self.clone()
        }
    }

    /// Whether it is such a row: its sender knows nothing of the message.
    pub fn is_taken_back(&self) -> bool {
        self.state == MessageState::Deleted && self.error == TAKEN_BACK
    }
}

// === impl SentRow ===

impl SentRow {
    /// Stands in `status` when no answer came: not a value of SMPP (reserved range, 3.4 §5.1.3).
    pub const NO_ANSWER: u32 = u32::MAX;
}

// === impl TryRow ===

impl TryRow {
    /// Stands in `at` when the attempt was not made after all, or the peer did not take it: who reads the store takes the row
    /// for none. The build before takes it for an attempt that was made.
    pub const NOT_MADE: i64 = 0;
}

// === impl WriteBatch ===

impl WriteBatch {
    /// How many rows it holds.
    pub fn len(&self) -> usize {
        self.accept.len()
            + self.sent.len()
            + self.retry.len()
            + self.fin.len()
            + self.told.len()
            + self.park.len()
            + self.unpark.len()
            + self.heard.len()
            + self.change.len()
            + self.tries.len()
            + self.remote_items.len()
            + self.charge.len()
            + self.idempotency.len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether it has nothing but new messages and what came with them.
    pub(crate) fn accepts_alone(&self) -> bool {
        !self.accept.is_empty() && self.len() == self.rows_of_acceptance()
    }

    /// Rows that only batches with new messages have.
    pub(crate) fn rows_of_acceptance(&self) -> usize {
        self.accept.len() + self.remote_items.len() + self.charge.len() + self.idempotency.len()
    }

    /// About how many octets of memory it takes.
    pub(crate) fn weight(&self) -> usize {
        /// More than a row without its texts.
        const ROW: usize = 128;
        let accepted = self.accept.iter().map(|message| message.weight() as usize);
        let handed_off = self.remote_items.iter().map(|item| item.octets.len());
        let ended = self.fin.iter().map(|row| row.remote_item.len());
        let changed = self.change.iter().map(|row| row.body.len());
        let parked = self.park.iter().map(|row| row.receipt.len());
        let answered = self.idempotency.iter().map(|row| row.answer.len());
        let texts = accepted.chain(handed_off).chain(ended);
        let texts: usize = texts.chain(changed).chain(parked).chain(answered).sum();
        self.len() * ROW + texts
    }

    /// The receipt of a message counts as acknowledged although it was not: its history says why.
    pub fn give_up(&mut self, id: u64, at: i64, why: &str) {
        self.told.push(id);
        self.change
            .push(ChangeRow::new(id, at, ChangeKind::GiveUp, why));
    }
}
