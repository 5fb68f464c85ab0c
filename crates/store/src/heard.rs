//! The port for what operators have said of messages without ending them: a word of no standard, or a state that may not be
//! the last one.
//!
//! Written in a [`WriteBatch`](super::WriteBatch) by Correlation, which also settles what is due. Of a message and a kind
//! there is one row, the last one, so an operator that repeats itself fills nothing.

use bytes::Bytes;

use super::Reply;
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
}
