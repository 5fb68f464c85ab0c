//! The pending lists of the Redis SMS platform, into which other programs put ids of messages to be submitted
//! (docs/coming-from.md).
//!
//! Called by `actors/control/platform_intake.rs`. An id is always in a list: in a pending one, or in `list:Processing` from
//! when it was given until it is settled or buried. What these programs wrote may be anything: ids and fields are
//! octets here, and a key of another type stops nothing.

use deadpool_redis::redis::Script;
use serde_json::{Value, json};

use super::{PlatformOptions, Redis, RedisError};

/// Gives ids that wait for submission, with what their messages say.
const TAKE: &str = include_str!("pending/take.lua");
/// Longest entry that is given, in octets: several times as long as an id may be.
const LONGEST_ID: usize = 200;
/// Longest field that is given, in octets: more than the longest text has.
const LONGEST_FIELD: usize = 64 * 1024;
/// What one answer has at most, but for its last message, in octets: it comes well within `redis.timeout`.
const ANSWER: usize = 512 * 1024;
/// Ends the submission of ids, and notes what became of them.
const SETTLE: &str = include_str!("pending/settle.lua");
/// Moves entries that are no ids, or whose message cannot be read, to where people see them.
///
/// ARGV: the most entries there, about; then each entry, and why it is there.
const BURY: &str = "
for at = 2, #ARGV, 2 do
  redis.call('XADD', 'smsc:dead-letters', 'MAXLEN', '~', ARGV[1], '*', 'entry', ARGV[at], 'reason', ARGV[at + 1])
  redis.call('LREM', 'list:Processing', 0, ARGV[at])
end
return (#ARGV - 1) / 2
";
/// Entries of `smsc:dead-letters`, about; the oldest go.
const DEAD_LETTERS: usize = 10_000;

/// What waits in pending lists.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PendingIds {
    pub ids: Vec<PendingEntry>,
    /// Pending lists that are of another type, and are passed over.
    pub no_lists: Vec<String>,
    /// Entries that are too long to be given, and are dead letters now.
    pub buried: u64,
}

/// An entry of a pending list, as it was put there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PendingEntry {
    pub id: Vec<u8>,
    pub what: PendingMessage,
}

/// The message of an id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PendingMessage {
    Fields(PendingFields),
    /// `MT:<id>` is this string.
    Text(Vec<u8>),
    /// `MT:<id>` is of another type.
    OtherType,
    /// This field is too long to be read.
    TooLong(String),
}

/// What `MT:<id>` says; empty for what it does not.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PendingFields {
    pub from: Vec<u8>,
    pub to: Vec<u8>,
    pub text: Vec<u8>,
}

/// What became of an id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettledId {
    pub id: String,
    /// The id of its message here, or why it has none.
    pub became: Result<u64, String>,
}

// === impl Redis ===

impl Redis {
    /// Up to so many ids that wait for submission in lists 0 to `lists`, also those that were taken before and not
    /// settled.
    ///
    /// # Errors
    /// See [`RedisError`].
    pub async fn take_pending(&self, lists: u32, most: usize) -> Result<PendingIds, RedisError> {
        let script = Script::new(TAKE);
        let mut call = script.prepare_invoke();
        call.arg(lists).arg(most);
        call.arg(LONGEST_ID).arg(LONGEST_FIELD);
        call.arg(ANSWER).arg(DEAD_LETTERS);
        let (found, no_lists, buried): (Vec<Vec<Vec<u8>>>, Vec<String>, u64) =
            self.invoke(call).await?;
        Ok(PendingIds {
            ids: found.into_iter().filter_map(PendingEntry::read).collect(),
            no_lists,
            buried,
        })
    }

    /// Ends the submission of ids. Returns how many writes a key of another type has made impossible.
    ///
    /// # Errors
    /// See [`RedisError`]; the ids are then given again.
    pub async fn settle_pending(
        &self,
        settled: &[SettledId],
        options: PlatformOptions,
        now: i64,
    ) -> Result<u64, RedisError> {
        let rows = settled.iter().map(SettledId::json);
        self.run(SETTLE, rows, options, now).await
    }

    /// Moves entries of which no message can be made to `smsc:dead-letters`, each with the reason.
    ///
    /// # Errors
    /// See [`RedisError`]; they are then given again.
    pub async fn bury_pending(&self, entries: &[(&[u8], String)]) -> Result<(), RedisError> {
        let script = Script::new(BURY);
        let mut call = script.prepare_invoke();
        call.arg(DEAD_LETTERS);
        for (entry, why) in entries {
            call.arg(*entry).arg(why);
        }
        self.invoke::<u64>(call).await.map(drop)
    }
}

// === impl PendingEntry ===

impl PendingEntry {
    fn read(found: Vec<Vec<u8>>) -> Option<Self> {
        let mut found = found.into_iter();
        let id = found.next()?;
        let what = match (found.next(), found.next(), found.next()) {
            (Some(from), Some(to), Some(text)) => {
                PendingMessage::Fields(PendingFields { from, to, text })
            }
            (Some(text), Some(_), None) => PendingMessage::Text(text),
            (Some(field), ..) => {
                PendingMessage::TooLong(String::from_utf8_lossy(&field).into_owned())
            }
            (None, ..) => PendingMessage::OtherType,
        };
        Some(Self { id, what })
    }
}

// === impl SettledId ===

impl SettledId {
    fn json(&self) -> Value {
        match &self.became {
            // As text: Lua has no integers of this size.
            Ok(message) => json!({ "id": self.id, "message": message.to_string() }),
            Err(why) => json!({ "id": self.id, "why": why }),
        }
    }
}
