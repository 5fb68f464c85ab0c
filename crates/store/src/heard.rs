//! The port for what operators have said of messages without ending them: a word of no standard, or a state that may not be
//! the last one.
//!
//! Written in a [`WriteBatch`](super::WriteBatch) by Correlation, which also settles what is due. Of a message and a kind
//! there is one row, the last one, so an operator that repeats itself fills nothing.

use std::collections::BTreeSet;

use bytes::Bytes;

use super::cold::{ColdRow, ColdStatement, ColdTables, ColdValue, values};
use super::{Reply, StoreResult};
use smsc_proto::MessageState;

/// Longest word that is kept.
pub const WORD_MAX: usize = 16;

/// What a receipt has said of a message without ending it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeardRow {
    /// The message.
    pub id: u64,
    /// When it was heard last, Unix milliseconds.
    pub at: i64,
    /// Interned name of the operator.
    pub operator: u32,
    /// The state that may be its last one, or ENROUTE for a word of no standard.
    pub state: MessageState,
    /// The word of the receipt, at most [`WORD_MAX`] octets of printable ASCII.
    pub word: Bytes,
    /// The operator's error code, verbatim.
    pub error: Bytes,
    /// The operator's done date, Unix milliseconds; 0 without one.
    pub done_at: i64,
    /// When the state becomes the final one, Unix milliseconds; 0 for never, or when that is done with.
    pub due: i64,
}

/// What was heard of messages.
pub trait HeardStore {
    /// Up to `limit` rows that are due at this time (Unix ms), the earliest first.
    fn heard_due(&self, at: i64, limit: usize) -> Reply<Vec<HeardRow>>;

    /// The states that these messages may end with, of those that have one, in the order of their ids.
    fn last_heard(&self, ids: Vec<u64>) -> Reply<Vec<HeardRow>>;

    /// The states of these messages are due no more.
    fn heard_settled(&self, ids: Vec<u64>) -> Reply<()>;
}

/// The kind of a row that is no state.
pub const WORD: u8 = 0;
/// The kind of a row with a state that may be the last.
pub const STATE: u8 = 1;

// === impl HeardRow ===

impl HeardRow {
    /// Which of the two rows of a message it is.
    pub fn kind(&self) -> u8 {
        match self.state {
            MessageState::Enroute | MessageState::Unspecified => WORD,
            _ => STATE,
        }
    }

    /// The statement that reads those that `rest` says.
    pub(crate) fn select(rest: &str, values: Vec<ColdValue>) -> ColdStatement {
        let columns = "id, at, operator, state, word, error, done_at, due";
        ColdStatement::new(format!("SELECT {columns} FROM heard {rest}"), values)
    }

    /// A row of [`Self::select`] in a store of this kind.
    pub(crate) fn read<S: ColdTables>(mut row: ColdRow) -> StoreResult<Self> {
        Ok(Self {
            id: row.take("heard.id")?,
            at: row.take("heard.at")?,
            operator: row.take("heard.operator")?,
            state: MessageState::try_from(row.take::<i32>("heard.state")?).unwrap_or_default(),
            word: S::octets(row.0.next()),
            error: S::octets(row.0.next()),
            done_at: row.take("heard.done_at")?,
            due: row.take("heard.due")?,
        })
    }

    pub(crate) fn all<S: ColdTables>(rows: Vec<ColdRow>) -> StoreResult<Vec<Self>> {
        rows.into_iter().map(Self::read::<S>).collect()
    }
}

impl<S: ColdTables> HeardStore for S {
    fn heard_due(&self, at: i64, limit: usize) -> Reply<Vec<HeardRow>> {
        let due = "WHERE due > 0 AND due <= $1 ORDER BY due, id LIMIT $2";
        self.look_up(
            HeardRow::select(due, values![at, limit]),
            HeardRow::all::<S>,
        )
    }

    fn last_heard(&self, ids: Vec<u64>) -> Reply<Vec<HeardRow>> {
        if ids.is_empty() {
            return Reply::ready(Ok(Vec::new()));
        }
        let ids: Vec<String> = ids.iter().map(u64::to_string).collect();
        let these = format!("WHERE id IN ({}) AND kind = 1 ORDER BY id", ids.join(", "));
        self.look_up(HeardRow::select(&these, Vec::new()), HeardRow::all::<S>)
    }

    fn heard_settled(&self, ids: Vec<u64>) -> Reply<()> {
        let sql = "UPDATE heard SET due = 0 WHERE id = $1";
        // In one order, as lanes write these rows.
        let ids: BTreeSet<u64> = ids.into_iter().collect();
        let ids = ids.into_iter();
        let settle = ids.map(|id| ColdStatement::new(sql, values![id]));
        self.change(settle.collect(), |_| Ok(()))
    }
}
