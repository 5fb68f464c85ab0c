//! The pending lists of the Redis SMS platform, into which other programs put ids of messages to be submitted
//! (docs/redis-platform.md).
//!
//! Called by `actors/control/platform_intake.rs`. An id is always in a list: in a pending one, or in `list:Processing` from
//! when it was given until it is settled or buried. What these programs wrote may be anything: ids and fields are
//! octets here, and a key of another type stops nothing.

use std::time::Duration;

use deadpool_redis::redis::Script;
use serde_json::{Value, json};

use super::platform::COMMON;
use super::{Redis, RedisError};

/// Gives ids that wait for submission, with what their messages say.
///
/// ARGV: how many lists `list:Pending-<n>` there are, how many ids at most, the longest id and the longest field, the
/// octets of an answer, the most dead letters, about. Ids that were given before and not settled come first. Answers
/// with the ids, each with its fields; alone if `MT:<id>` is no hash, with the name of a field that is too long; with
/// the names of those lists that are none, and with how many entries became dead letters. Entries that are too long for
/// an id become dead letters here, because they may be too long to be given, too.
const TAKE: &str = "
local lists, most, longest_id, longest, room = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
local ids, none, all, buried = {}, {}, {}, 0
local function add(id)
  if #id <= longest_id then
    ids[#ids + 1] = id
    return
  end
  redis.call('XADD', 'smsc:dead-letters', 'MAXLEN', '~', ARGV[6], '*', 'entry', string.sub(id, 1, longest_id), 'reason',
    'the entry has ' .. #id .. ' octets; an id has 40 at most')
  redis.call('LREM', 'list:Processing', 0, id)
  buried = buried + 1
end
for _, id in ipairs(redis.call('LRANGE', 'list:Processing', 0, most - 1)) do add(id) end
for list = 1, lists do
  local name = 'list:Pending-' .. list
  local kind = redis.call('TYPE', name).ok
  if kind == 'list' then
    while #ids < most do
      local id = redis.call('RPOPLPUSH', name, 'list:Processing')
      if not id then break end
      add(id)
    end
  elseif kind ~= 'none' then
    none[#none + 1] = name
  end
end
local function look(id)
  local own, row, size = 'MT:' .. id, {id}, #id
  for _, field in ipairs({'from', 'to', 'text'}) do
    local length = redis.pcall('HSTRLEN', own, field)
    if type(length) == 'table' then
      if not string.find(length.err, 'WRONGTYPE', 1, true) then error(length.err, 0) end
      return {id}, size
    end
    if length > longest then return {id, field}, size end
    size = size + length
  end
  for at, value in ipairs(redis.call('HMGET', own, 'from', 'to', 'text')) do row[at + 1] = value or '' end
  return row, size
end
for _, id in ipairs(ids) do
  local row, size = look(id)
  all[#all + 1] = row
  room = room - size
  -- The others are given the next time.
  if room <= 0 then break end
end
return {all, none, buried}
";
/// Longest entry that is given, in octets: several times as long as an id may be.
const LONGEST_ID: usize = 200;
/// Longest field that is given, in octets: more than the longest text has.
const LONGEST_FIELD: usize = 64 * 1024;
/// What one answer has at most, but for its last message, in octets: it comes well within `redis.timeout`.
const ANSWER: usize = 512 * 1024;
/// Ends the submission of ids, and notes what became of them.
///
/// ARGV: the ids as JSON, each with the id of its message here or why it has none; the milliseconds that keys live, the
/// present.
const SETTLE: &str = "
for _, row in ipairs(cjson.decode(ARGV[1])) do
  local id, own = row.id, 'MT:' .. row.id
  if redis.call('LREM', 'list:Processing', 0, id) > 0 then
    if row.message then
      try('HSET', own, 'message', row.message)
      if try('HEXISTS', own, 'finished') ~= 1 and try('EXISTS', 'MT-seqno:' .. id) ~= 1 then
        try('SADD', 'set:submited', id)
      end
    else
      set('Submit-Failed:' .. id, row.why)
      try('SADD', 'set:Response-fail', id)
      try('HSET', own, 'state', 'REJECTED', 'finished', ARGV[3])
      try('ZADD', 'smsc:mirrored', ARGV[3], id)
      try('LPUSH', 'list:Finish', id)
      keep(own)
      keep('Submit-Failed:' .. id)
    end
  end
end
return refused
";
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
    pub ids: Vec<Pending>,
    /// Pending lists that are of another type, and are passed over.
    pub no_lists: Vec<String>,
    /// Entries that are too long to be given, and are dead letters now.
    pub buried: u64,
}

/// An entry of a pending list, as it was put there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pending {
    pub id: Vec<u8>,
    pub what: PendingMessage,
}

/// The message of an id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PendingMessage {
    Fields(PendingFields),
    /// `MT:<id>` is of another type.
    NoHash,
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
    /// Up to so many ids that wait for submission in lists 1 to `lists`, also those that were taken before and not
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
        let (found, no_lists, buried): (Vec<Vec<Vec<u8>>>, Vec<String>, u64) = self
            .call(|mut connection| async move { call.invoke_async(&mut connection).await })
            .await?;
        Ok(PendingIds {
            ids: found.into_iter().filter_map(Pending::read).collect(),
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
        life: Duration,
        now: i64,
    ) -> Result<u64, RedisError> {
        let rows = settled.iter().map(SettledId::json);
        let script = Script::new(&format!("{COMMON}{SETTLE}"));
        let mut call = script.prepare_invoke();
        call.arg(Value::from_iter(rows).to_string())
            .arg(life.as_millis() as u64)
            .arg(now);
        self.call(|mut connection| async move { call.invoke_async(&mut connection).await })
            .await
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
        let buried: Result<u64, RedisError> = self
            .call(|mut connection| async move { call.invoke_async(&mut connection).await })
            .await;
        buried.map(drop)
    }
}

// === impl Pending ===

impl Pending {
    fn read(found: Vec<Vec<u8>>) -> Option<Self> {
        let mut found = found.into_iter();
        let id = found.next()?;
        let what = match (found.next(), found.next(), found.next()) {
            (Some(from), Some(to), Some(text)) => {
                PendingMessage::Fields(PendingFields { from, to, text })
            }
            (Some(field), ..) => {
                PendingMessage::TooLong(String::from_utf8_lossy(&field).into_owned())
            }
            (None, ..) => PendingMessage::NoHash,
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
