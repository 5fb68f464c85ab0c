//! The keys of the Redis SMS platform, as a mirror of messages that have ended (docs/redis-platform.md).
//!
//! Written by `actors/control/export/platform.rs`. One script per batch, so a batch is mirrored whole or not at all;
//! a message that was mirrored already is passed over, so that no list has an id twice. Other programs take ids from
//! these lists, and put ids into `list:Pending-<n>`, which `actors/control/platform_intake.rs` takes in.

use std::time::Duration;

use deadpool_redis::redis::Script;
use serde_json::{Map, Value, json};

use super::{Redis, RedisError};

/// ARGV: the messages as JSON, the milliseconds that keys live (0: for ever), the present in Unix milliseconds, the
/// most entries of a list to look at, the least value of MT-gid.
///
/// `smsc:mirrored` has every mirrored id by its end, so that members of sets go with their keys; entries of lists go
/// from the old end once their message's key is gone.
const MIRROR: &str = "
local life, now, most = tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local function keep(key)
  if life > 0 then redis.call('PEXPIRE', key, ARGV[2]) end
end
local function put(key, fields)
  for name, value in pairs(fields) do redis.call('HSET', key, name, value) end
  keep(key)
end
local function above(key, least)
  local known = redis.call('GET', key) or '0'
  if #known < #least or (#known == #least and known < least) then redis.call('SET', key, least) end
end
local function shorten(list, head)
  for _ = 1, most do
    local id = redis.call('LINDEX', list, -1)
    if not id or redis.call('EXISTS', head .. id) == 1 then return end
    redis.call('RPOP', list)
  end
end
above('MT-gid', ARGV[5])
for _, row in ipairs(cjson.decode(ARGV[1])) do
  local id = row.id
  local own = (row.mo and 'Mo:' or 'MT:') .. id
  if redis.call('HEXISTS', own, 'finished') == 0 then
    put(own, row.fields)
    redis.call('ZADD', 'smsc:mirrored', row.at, id)
    if row.mo then
      above('mo-gid', id)
      redis.call('LPUSH', 'list:MO-ID', id)
    else
      redis.call('SREM', 'set:submited', id)
      if row.seqno then
        redis.call('SET', 'MT-seqno:' .. id, row.seqno)
        redis.call('SET', 'MT-ts:' .. id, row.ts)
        local submit = 'Submit:' .. row.seqno .. ':' .. row.ts
        redis.call('SET', submit, id)
        keep('MT-seqno:' .. id)
        keep('MT-ts:' .. id)
        keep(submit)
      end
      if row.failed then
        redis.call('SET', 'Submit-Failed:' .. id, row.failed)
        keep('Submit-Failed:' .. id)
        redis.call('SADD', 'set:Response-fail', id)
      elseif row.seqno and not row.report then
        redis.call('SADD', 'set:Response-succ', id)
      end
      if row.report then
        put('Report:' .. id, row.report)
        redis.call('LPUSH', 'list:report', id)
      end
    end
    redis.call('LPUSH', 'list:Finish', id)
  end
end
if life > 0 then
  local old = redis.call('ZRANGEBYSCORE', 'smsc:mirrored', '-inf', now - life, 'LIMIT', 0, most)
  for _, id in ipairs(old) do
    redis.call('SREM', 'set:Response-succ', id)
    redis.call('SREM', 'set:Response-fail', id)
    redis.call('ZREM', 'smsc:mirrored', id)
  end
  shorten('list:report', 'Report:')
  shorten('list:MO-ID', 'Mo:')
  for _ = 1, most do
    local id = redis.call('LINDEX', 'list:Finish', -1)
    if not id or redis.call('EXISTS', 'MT:' .. id, 'Mo:' .. id) > 0 then break end
    redis.call('RPOP', 'list:Finish')
  end
end
";
/// Gives ids that wait for submission, with what their messages say.
///
/// ARGV: how many lists `list:Pending-<n>` there are, how many ids at most. Ids that were given before and not settled
/// come first. An id moves to `list:Processing` and stays there until it is settled, so it is never in no list.
const TAKE: &str = "
local lists, most = tonumber(ARGV[1]), tonumber(ARGV[2])
local ids = redis.call('LRANGE', 'list:Processing', 0, most - 1)
for list = 1, lists do
  while #ids < most do
    local id = redis.call('RPOPLPUSH', 'list:Pending-' .. list, 'list:Processing')
    if not id then break end
    ids[#ids + 1] = id
  end
end
local all = {}
for at, id in ipairs(ids) do
  local found = redis.call('HMGET', 'MT:' .. id, 'from', 'to', 'text')
  all[at] = {id, found[1] or '', found[2] or '', found[3] or ''}
end
return all
";
/// Ends the submission of an id, and notes what became of it.
///
/// ARGV: the id, the id of its message here or why it has none, whether it has one, the milliseconds that keys live,
/// the present.
const SETTLE: &str = "
local id, own = ARGV[1], 'MT:' .. ARGV[1]
if redis.call('LREM', 'list:Processing', 0, id) == 0 then return 0 end
if ARGV[3] == '1' then
  redis.call('HSET', own, 'message', ARGV[2])
  if redis.call('HEXISTS', own, 'finished') == 0 then redis.call('SADD', 'set:submited', id) end
else
  redis.call('SET', 'Submit-Failed:' .. id, ARGV[2])
  redis.call('SADD', 'set:Response-fail', id)
  redis.call('HSET', own, 'state', 'REJECTED', 'finished', ARGV[5])
  redis.call('ZADD', 'smsc:mirrored', ARGV[5], id)
  redis.call('LPUSH', 'list:Finish', id)
  if tonumber(ARGV[4]) > 0 then
    redis.call('PEXPIRE', own, ARGV[4])
    redis.call('PEXPIRE', 'Submit-Failed:' .. id, ARGV[4])
  end
end
return 1
";
/// Entries of each list and members that one batch removes at most.
const SHORTEN: usize = 500;
/// Ids that programs make by INCR of MT-gid are above those made here until the year 2109.
const LEAST_GID: u64 = 1 << 62;

/// An id that waits for submission, and what `MT:<id>` says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pending {
    pub id: String,
    pub from: String,
    pub to: String,
    pub text: String,
}

/// A message that has ended.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PlatformRow {
    /// Its id on the platform.
    pub id: String,
    pub is_mo: bool,
    /// When it ended, Unix milliseconds.
    pub at: i64,
    /// Of `MT:<id>` or `Mo:<id>`.
    pub fields: Vec<(&'static str, String)>,
    /// The operator's id of the attempt that it took, and when, Unix milliseconds.
    pub submitted: Option<(String, i64)>,
    /// Why no operator took it.
    pub failed: Option<String>,
    /// Of `Report:<id>`.
    pub report: Option<Vec<(&'static str, String)>>,
}

// === impl Redis ===

impl Redis {
    /// Mirrors messages, for this time; 0 for ever.
    ///
    /// # Errors
    /// See [`RedisError`]; it is not known whether they were mirrored, and they can be again.
    pub async fn mirror(
        &self,
        rows: &[PlatformRow],
        life: Duration,
        now: i64,
    ) -> Result<(), RedisError> {
        let rows: Vec<Value> = rows.iter().map(PlatformRow::json).collect();
        let script = Script::new(MIRROR);
        let mut call = script.prepare_invoke();
        call.arg(Value::from(rows).to_string())
            .arg(life.as_millis() as u64)
            .arg(now)
            .arg(SHORTEN)
            .arg(LEAST_GID);
        self.call(|mut connection| async move { call.invoke_async(&mut connection).await })
            .await
    }

    /// Up to so many ids that wait for submission in lists 1 to `lists`, also those that were taken before and not
    /// settled.
    ///
    /// # Errors
    /// See [`RedisError`].
    pub async fn take_pending(&self, lists: u32, most: usize) -> Result<Vec<Pending>, RedisError> {
        let script = Script::new(TAKE);
        let mut call = script.prepare_invoke();
        call.arg(lists).arg(most);
        let found: Vec<(String, String, String, String)> = self
            .call(|mut connection| async move { call.invoke_async(&mut connection).await })
            .await?;
        let pending = |(id, from, to, text)| Pending { id, from, to, text };
        Ok(found.into_iter().map(pending).collect())
    }

    /// Ends the submission of an id: it has become a message, or why not.
    ///
    /// # Errors
    /// See [`RedisError`]; the id is then given again.
    pub async fn settle_pending(
        &self,
        id: &str,
        became: Result<u64, &str>,
        life: Duration,
        now: i64,
    ) -> Result<(), RedisError> {
        let script = Script::new(SETTLE);
        let mut call = script.prepare_invoke();
        call.arg(id);
        match became {
            Ok(message) => call.arg(message.to_string()).arg(1),
            Err(why) => call.arg(why).arg(0),
        };
        call.arg(life.as_millis() as u64).arg(now);
        let settled: Result<u64, RedisError> = self
            .call(|mut connection| async move { call.invoke_async(&mut connection).await })
            .await;
        settled.map(drop)
    }
}

// === impl PlatformRow ===

impl PlatformRow {
    fn json(&self) -> Value {
        let mut row = json!({
            "id": self.id,
            "mo": self.is_mo,
            "at": self.at,
            "fields": object(&self.fields),
        });
        if let Some((seqno, at)) = &self.submitted {
            row["seqno"] = seqno.as_str().into();
            row["ts"] = at.to_string().into();
        }
        if let Some(why) = &self.failed {
            row["failed"] = why.as_str().into();
        }
        if let Some(report) = &self.report {
            row["report"] = object(report);
        }
        row
    }
}

fn object(fields: &[(&'static str, String)]) -> Value {
    let fields = fields.iter();
    let fields = fields.map(|(name, value)| ((*name).to_owned(), Value::from(value.as_str())));
    Value::Object(fields.collect::<Map<_, _>>())
}
