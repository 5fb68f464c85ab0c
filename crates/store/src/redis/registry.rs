//! The bind registry, for people and programs that read Redis: entries that expire by themselves.
//!
//! Written by the session registry only; the SMSC does not read them, so their loss does not affect it.

use std::time::Duration;

use deadpool_redis::redis;

use super::{Redis, RedisError};

/// Entries that are not written again end after this time.
const LIFE: Duration = Duration::from_secs(60);

/// An operator's health is the sum over nodes: each has its own field, and every write removes the
/// fields of nodes that have not written within the expiry time.
///
/// KEYS: the operator. ARGV: node, its binds, seconds of a life.
const HEALTH: &str = "
local now = tonumber(redis.call('TIME')[1])
redis.call('HSET', KEYS[1], 'node:' .. ARGV[1], ARGV[2] .. ' ' .. now)
local binds = 0
local fields = redis.call('HGETALL', KEYS[1])
for at = 1, #fields, 2 do
  if string.sub(fields[at], 1, 5) == 'node:' then
    local count, written = string.match(fields[at + 1], '^(%d+) (%d+)$')
    if count and tonumber(written) + tonumber(ARGV[3]) >= now then
      binds = binds + tonumber(count)
    else
      redis.call('HDEL', KEYS[1], fields[at])
    end
  end
end
redis.call('HSET', KEYS[1], 'status', binds > 0 and 'BOUND' or 'UNBOUND', 'binds', binds)
redis.call('EXPIRE', KEYS[1], ARGV[3])
";

/// One bind of this node.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct SessionEntry {
    #[serde(skip)]
    pub session: u64,
    /// Account or operator.
    pub name: String,
    /// "in" from an ESME, "out" to an operator.
    pub direction: &'static str,
    pub bind_type: String,
    pub peer: String,
    /// Unix milliseconds.
    pub since: i64,
}

/// The binds that this node has with an operator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OperatorBinds {
    pub operator: String,
    pub binds: u32,
}

// === impl Redis ===

impl Redis {
    /// Writes entries and removes those of ended sessions, in one round trip.
    ///
    /// # Errors
    /// See [`RedisError`].
    pub async fn register(
        &self,
        node: u32,
        sessions: &[SessionEntry],
        ended: &[u64],
        health: &[OperatorBinds],
    ) -> Result<(), RedisError> {
        let life = LIFE.as_secs();
        let mut pipe = redis::pipe();
        for entry in sessions {
            let text = serde_json::to_string(entry).unwrap_or_default();
            pipe.set_ex(format!("session:{node}:{}", entry.session), text, life)
                .ignore();
        }
        for session in ended {
            pipe.del(format!("session:{node}:{session}")).ignore();
        }
        for one in health {
            pipe.cmd("EVAL")
                .arg(HEALTH)
                .arg(1)
                .arg(self.key("ops:health", &one.operator))
                .arg(node)
                .arg(one.binds)
                .arg(life)
                .ignore();
        }
        self.send_all::<()>(pipe).await
    }
}
