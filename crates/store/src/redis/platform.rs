//! The keys of the Redis SMS platform, as a mirror of messages (docs/redis-platform.md).
//!
//! Written by `actors/control/export/platform.rs`. One script per batch, so a batch is mirrored whole or not at all;
//! a message whose end was mirrored already is passed over, so that no list has an id twice. Other programs take ids from
//! these lists, and put ids into pending lists (`pending.rs`).

use std::time::Duration;

use deadpool_redis::redis::Script;
use serde_json::{Map, Value, json};

use super::{Redis, RedisError};

/// What the scripts have in common. A key that another program made of another type costs its own entry only: `try` passes
/// over the command and counts it in `refused`; `set` does for SET, which would replace what is there. ARGV[2]: the
/// milliseconds that keys live, 0 for ever.
pub(super) const COMMON: &str = "
local life, refused = tonumber(ARGV[2]), 0
local function try(...)
  local answer = redis.pcall(...)
  if type(answer) == 'table' and answer.err then
    if not string.find(answer.err, 'WRONGTYPE', 1, true) then error(answer.err, 0) end
    refused = refused + 1
    return nil
  end
  return answer
end
local function set(key, value)
  local kind = redis.call('TYPE', key).ok
  if kind == 'none' or kind == 'string' then redis.call('SET', key, value) else refused = refused + 1 end
end
local function keep(key)
  if life > 0 then try('PEXPIRE', key, ARGV[2]) end
end
local function put(key, fields)
  for name, value in pairs(fields) do try('HSET', key, name, value) end
  keep(key)
end
local function above(key, least)
  local known = try('GET', key)
  if known == nil then return end
  known = known or '0'
  if #known < #least or (#known == #least and known < least) then redis.call('SET', key, least) end
end
local function sent(id, row)
  set('MT-seqno:' .. id, row.seqno)
  set('MT-ts:' .. id, row.ts)
  keep('MT-seqno:' .. id)
  keep('MT-ts:' .. id)
  for _, seqno in ipairs(row.parts or { row.seqno }) do
    local submit = 'Submit:' .. seqno .. ':' .. row.ts
    set(submit, id)
    keep(submit)
  end
end
";
/// Notes that messages have ended.
///
/// ARGV: the messages as JSON, the milliseconds that keys live (0: for ever), the present in Unix milliseconds, the
/// most entries of a list to look at, the least value of MT-gid.
///
/// `smsc:mirrored` has every mirrored id by its end, so that members of sets go with their keys; entries of lists go
/// from the old end once their message's key is gone.
const MIRROR: &str = "
local now, most = tonumber(ARGV[3]), tonumber(ARGV[4])
local function shorten(list, head)
  for _ = 1, most do
    local id = try('LINDEX', list, -1)
    if not id or try('EXISTS', head .. id) ~= 0 then return end
    try('RPOP', list)
  end
end
above('MT-gid', ARGV[5])
for _, row in ipairs(cjson.decode(ARGV[1])) do
  local id = row.id
  local own = (row.mo and 'Mo:' or 'MT:') .. id
  if try('HEXISTS', own, 'finished') == 0 then
    local was_there = try('HEXISTS', own, 'accepted') == 1
    put(own, row.fields)
    try('ZADD', 'smsc:mirrored', row.at, id)
    if row.mo then
      if not was_there then
        above('mo-gid', id)
        try('LPUSH', 'list:MO-ID', id)
      end
    else
      try('SREM', 'set:submited', id)
      if row.seqno then sent(id, row) end
      if row.failed then
        set('Submit-Failed:' .. id, row.failed)
        keep('Submit-Failed:' .. id)
        try('SADD', 'set:Response-fail', id)
      elseif row.seqno and not row.report then
        try('SADD', 'set:Response-succ', id)
      end
      if row.report then
        try('SREM', 'set:Response-succ', id)
        put('Report:' .. id, row.report)
        try('LPUSH', 'list:report', id)
      end
    end
    try('LPUSH', 'list:Finish', id)
  end
end
if life > 0 then
  local old = try('ZRANGEBYSCORE', 'smsc:mirrored', '-inf', now - life, 'LIMIT', 0, most)
  for _, id in ipairs(old or {}) do
    try('SREM', 'set:submited', id)
    try('SREM', 'set:Response-succ', id)
    try('SREM', 'set:Response-fail', id)
    try('ZREM', 'smsc:mirrored', id)
  end
  shorten('list:report', 'Report:')
  shorten('list:MO-ID', 'Mo:')
  for _ = 1, most do
    local id = try('LINDEX', 'list:Finish', -1)
    if not id or try('EXISTS', 'MT:' .. id, 'Mo:' .. id) ~= 0 then break end
    try('RPOP', 'list:Finish')
  end
end
return refused
";
/// Notes what has happened to messages before their end; those that have ended are passed over.
///
/// ARGV: the messages as JSON, the milliseconds that keys live, the least value of MT-gid.
const BEFORE: &str = "
above('MT-gid', ARGV[3])
for _, row in ipairs(cjson.decode(ARGV[1])) do
  local id = row.id
  local own = (row.mo and 'Mo:' or 'MT:') .. id
  if try('HEXISTS', own, 'finished') == 0 then
    if row.fields then
      local is_new = try('HEXISTS', own, 'accepted') == 0
      put(own, row.fields)
      try('ZADD', 'smsc:mirrored', row.at, id)
      if row.mo and is_new then
        above('mo-gid', id)
        try('LPUSH', 'list:MO-ID', id)
      elseif not row.mo and try('EXISTS', 'MT-seqno:' .. id) == 0 then
        try('SADD', 'set:submited', id)
      end
    end
    if row.seqno then
      sent(id, row)
      try('SADD', 'set:Response-succ', id)
      try('SREM', 'set:submited', id)
    end
  end
end
return refused
";
/// Entries of each list and members that one batch removes at most.
const SHORTEN: usize = 500;
/// Ids that programs make by INCR of MT-gid are above those made here until the year 2109.
const LEAST_GID: u64 = 1 << 62;

/// What is known of a message that has ended, or of what has happened to it before.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PlatformRow {
    /// Its id on the platform.
    pub id: String,
    pub is_mo: bool,
    /// When that was, Unix milliseconds.
    pub at: i64,
    /// Of `MT:<id>` or `Mo:<id>`; empty where they are as before.
    pub fields: Vec<(&'static str, String)>,
    /// The operator's id of the attempt that it took, and when, Unix milliseconds.
    pub submitted: Option<(String, i64)>,
    /// The operator's ids of all its parts, if it was divided.
    pub parts: Vec<String>,
    /// Why no operator took it.
    pub failed: Option<String>,
    /// Of `Report:<id>`.
    pub report: Option<Vec<(&'static str, String)>>,
}

// === impl Redis ===

impl Redis {
    /// Mirrors messages that have ended, for this time; 0 for ever. Returns how many writes a key of another type has
    /// made impossible.
    ///
    /// # Errors
    /// See [`RedisError`]; it is not known whether they were mirrored, and they can be again.
    pub async fn mirror(
        &self,
        rows: &[PlatformRow],
        life: Duration,
        now: i64,
    ) -> Result<u64, RedisError> {
        let script = Script::new(&format!("{COMMON}{MIRROR}"));
        let mut call = script.prepare_invoke();
        call.arg(as_json(rows))
            .arg(life.as_millis() as u64)
            .arg(now)
            .arg(SHORTEN)
            .arg(LEAST_GID);
        self.call(|mut connection| async move { call.invoke_async(&mut connection).await })
            .await
    }

    /// Mirrors what has happened to messages that have not ended; as [`Self::mirror`].
    ///
    /// # Errors
    /// See [`RedisError`]; it is not known whether it was mirrored, and it can be again.
    pub async fn mirror_before_end(
        &self,
        rows: &[PlatformRow],
        life: Duration,
    ) -> Result<u64, RedisError> {
        let script = Script::new(&format!("{COMMON}{BEFORE}"));
        let mut call = script.prepare_invoke();
        call.arg(as_json(rows))
            .arg(life.as_millis() as u64)
            .arg(LEAST_GID);
        self.call(|mut connection| async move { call.invoke_async(&mut connection).await })
            .await
    }
}

fn as_json(rows: &[PlatformRow]) -> String {
    let rows: Vec<Value> = rows.iter().map(PlatformRow::json).collect();
    Value::from(rows).to_string()
}

// === impl PlatformRow ===

impl PlatformRow {
    fn json(&self) -> Value {
        let mut row = json!({
            "id": self.id,
            "mo": self.is_mo,
            "at": self.at,
        });
        if !self.fields.is_empty() {
            row["fields"] = object(&self.fields);
        }
        if let Some((seqno, at)) = &self.submitted {
            row["seqno"] = seqno.as_str().into();
            row["ts"] = at.to_string().into();
        }
        if !self.parts.is_empty() {
            row["parts"] = self.parts.as_slice().into();
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
