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
/// ARGV: how many lists `list:Pending-<n>` there are, how many ids at most. Ids that were given before and not settled
/// come first. Answers with the ids, each with its fields if `MT:<id>` is a hash or is not there, and with the
/// names of those lists that are none.
const TAKE: &str = "
local lists, most = tonumber(ARGV[1]), tonumber(ARGV[2])
local ids = redis.call('LRANGE', 'list:Processing', 0, most - 1)
local all, none = {}, {}
for list = 1, lists do
  local name = 'list:Pending-' .. list
  local kind = redis.call('TYPE', name).ok
  if kind == 'list' then
    while #ids < most do
      local id = redis.call('RPOPLPUSH', name, 'list:Processing')
      if not id then break end
      ids[#ids + 1] = id
    end
  elseif kind ~= 'none' then
    none[#none + 1] = name
  end
end
for at, id in ipairs(ids) do
  local found = redis.pcall('HMGET', 'MT:' .. id, 'from', 'to', 'text')
  if found.err then
    all[at] = {id}
  else
    all[at] = {id, found[1] or '', found[2] or '', found[3] or ''}
  end
end
return {all, none}
";
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
      try('SET', 'Submit-Failed:' .. id, row.why)
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
}

/// An entry of a pending list, as it was put there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pending {
    pub id: Vec<u8>,
    /// `None`: `MT:<id>` is of another type.
    pub fields: Option<PendingFields>,
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
        let (found, no_lists): (Vec<Vec<Vec<u8>>>, Vec<String>) = self
            .call(|mut connection| async move { call.invoke_async(&mut connection).await })
            .await?;
        Ok(PendingIds {
            ids: found.into_iter().filter_map(Pending::read).collect(),
            no_lists,
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
        let fields = found.next().zip(found.next()).zip(found.next());
        let fields = fields.map(|((from, to), text)| PendingFields { from, to, text });
        Some(Self { id, fields })
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
