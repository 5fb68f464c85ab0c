//! The limiters, each one Lua script on Redis' own clock.
//!
//! A call reserves as many tokens as are requested and available, so a busy operator costs one
//! round trip per batch. A script answers relative to Redis' time; the answer is converted to a
//! local deadline counted from *before* the request, which is never later than the one in Redis.

use std::time::Duration;

use deadpool_redis::redis::aio::ConnectionLike;
use deadpool_redis::redis::{RedisResult, Script};
use tokio::time::Instant;

use super::{Redis, RedisError};
use smsc_domain::limit::GcraParameters;

/// One counter per operator and second, which other programs may use with plain INCR too.
///
/// KEYS: name without the second, of the counter and of what was admitted ([`ADMIT`]). ARGV: rate, wanted. Answers: granted,
/// microseconds left of the second. What was admitted in this second is counted already, and granted first. Only granted
/// tokens are counted, so refusals take nothing from others. A rate that is no
/// whole number gets its missing part over several seconds (0.5: every other second one).
const OF_SECOND: &str = "
local now = redis.call('TIME')
local second = tonumber(now[1])
local key = KEYS[1] .. ':' .. now[1]
local rate = tonumber(ARGV[1])
local limit = math.floor((second + 1) * rate) - math.floor(second * rate)
local used = tonumber(redis.call('GET', key) or 0) or limit
local wanted = tonumber(ARGV[2])
local of_admitted = KEYS[2] .. ':' .. now[1]
local admitted = math.min(wanted, tonumber(redis.call('GET', of_admitted) or 0) or 0)
if admitted > 0 then redis.call('DECRBY', of_admitted, admitted) end
local granted = math.max(0, math.min(wanted - admitted, limit - used))
if granted > 0 then
  redis.call('INCRBY', key, granted)
  redis.call('EXPIRE', key, 2)
end
return {admitted + granted, 1000000 - tonumber(now[2])}
";

/// Which of some texts are within the rate of the second, as smpp-connector decides it: INCR answers more than the limit for
/// those that are not. They are counted now, and not once more when they are sent in the same second.
///
/// KEYS: as of [`OF_SECOND`]. ARGV: rate, then the parts of each text; one of more parts than a second has takes all of it.
/// Answers: the second, then 1 for each text that is within the rate, and 0 for others, of which nothing is counted.
const ADMIT: &str = "
local second = redis.call('TIME')[1]
local key, of_admitted = KEYS[1] .. ':' .. second, KEYS[2] .. ':' .. second
local rate = tonumber(ARGV[1])
local limit = math.floor((second + 1) * rate) - math.floor(second * rate)
local used = tonumber(redis.call('GET', key) or 0) or limit
local before = used
local answer = {tonumber(second)}
for n = 2, #ARGV do
  local parts = math.min(tonumber(ARGV[n]), math.max(limit, 1))
  local fits = used + parts <= limit
  if fits then used = used + parts end
  answer[n] = fits and 1 or 0
end
if used > before then
  for _, name in ipairs({key, of_admitted}) do
    redis.call('INCRBY', name, used - before)
    redis.call('EXPIRE', name, 2)
  end
end
return answer
";

/// What was admitted in a second and is not sent after all. In the next second it is too late.
///
/// KEYS: as of [`OF_SECOND`]. ARGV: the second, parts.
const TAKE_BACK: &str = "
local key, of_admitted = KEYS[1] .. ':' .. ARGV[1], KEYS[2] .. ':' .. ARGV[1]
local back = math.min(tonumber(ARGV[2]), tonumber(redis.call('GET', of_admitted) or 0) or 0)
if back > 0 then
  redis.call('DECRBY', of_admitted, back)
  redis.call('DECRBY', key, back)
end
return 0
";

/// GCRA (see `domain::limit`): the key holds when the bucket is full again.
///
/// KEYS: the bucket. ARGV: microseconds per token, burst, wanted, and how many are granted at least if there
/// is any (the rest is owed; 0: nothing is). Answers: granted, microseconds until a useful part of the rest
/// is there, tokens that are left. Times are counted from a late epoch, because Lua's
/// numbers lose fractions of a microsecond beyond 2^53.
const OF_BUCKET: &str = "
local time = redis.call('TIME')
local now = (tonumber(time[1]) - 1700000000) * 1000000 + tonumber(time[2])
local interval, burst, wanted = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local least = tonumber(ARGV[4])
local debt = 0
if least > 0 then debt = 255 * interval end
local capacity = interval * burst
local full = tonumber(redis.call('GET', KEYS[1]) or now) or now
full = math.min(math.max(full, now), now + capacity + debt)
local room = capacity - (full - now)
local granted = math.max(0, math.min(wanted, math.floor(room / interval + 0.000001)))
if granted > 0 then
  granted = math.max(granted, least)
  full = full + granted * interval
  local lasts = math.ceil((full - now) / 1000) + 1
  redis.call('SET', KEYS[1], string.format('%.3f', full), 'PX', string.format('%d', lasts))
end
local rest = math.min(math.max(0, wanted - granted), burst)
local wait = rest * interval - (room - granted * interval)
if rest <= 0 or wait < 0 then wait = 0 end
return {granted, math.ceil(wait), math.max(0, math.floor(room / interval + 0.000001) - granted)}
";

/// Tokens of a bucket that were taken and not used.
///
/// KEYS: the bucket. ARGV: microseconds per token, how many. A bucket that is full again has no key.
const GIVE_BACK: &str = "
local full = tonumber(redis.call('GET', KEYS[1]) or '')
local lasts = redis.call('PTTL', KEYS[1])
if full and lasts > 0 then
  local back = tonumber(ARGV[1]) * tonumber(ARGV[2])
  local left = math.max(1, lasts - math.floor(back / 1000))
  redis.call('SET', KEYS[1], string.format('%.3f', full - back), 'PX', string.format('%d', left))
end
return 0
";

/// Most tokens that a bucket owes (255 in the script, too): more parts than a text has.
const MOST_OWED: u32 = 255;

/// Which texts are within the rate of a second.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AdmittedOfSecond {
    /// Unix time by Redis' clock.
    pub second: u64,
    /// In the order in which they were asked for.
    pub admitted: Vec<bool>,
}

/// What Redis granted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RedisGrant {
    pub granted: u32,
    /// The tokens are for use before then; none: until they are used.
    pub until: Option<Instant>,
    /// When more may be there, if fewer than wanted were granted and the limiter knows.
    pub retry_in: Duration,
    /// Tokens that are left in a bucket.
    pub left: u32,
}

pub(super) struct Scripts {
    of_second: Script,
    admit: Script,
    take_back: Script,
    of_bucket: Script,
    give_back: Script,
}

// === impl Scripts ===

impl Scripts {
    pub(super) fn new() -> Self {
        Self {
            of_second: Script::new(OF_SECOND),
            admit: Script::new(ADMIT),
            take_back: Script::new(TAKE_BACK),
            of_bucket: Script::new(OF_BUCKET),
            give_back: Script::new(GIVE_BACK),
        }
    }

    /// Loads and runs both without taking anything.
    pub(super) async fn probe(&self, connection: &mut impl ConnectionLike) -> RedisResult<()> {
        let mut of_second = self.of_second.key("smsc:probe");
        let _: (i64, i64) = of_second
            .key("smsc:probe")
            .arg(1)
            .arg(0)
            .invoke_async(connection)
            .await?;
        let mut of_bucket = self.of_bucket.key("smsc:probe-bucket");
        let _: (i64, i64, i64) = of_bucket
            .arg(1)
            .arg(1)
            .arg(0)
            .arg(0)
            .invoke_async(connection)
            .await?;
        Ok(())
    }
}

// === impl Redis ===

impl Redis {
    /// Up to `wanted` of an operator's tokens of the current second; they expire with it.
    ///
    /// # Errors
    /// See [`RedisError`]: Redis decided nothing.
    pub async fn take_of_second(
        &self,
        operator: &str,
        rate: f64,
        wanted: u32,
    ) -> Result<RedisGrant, RedisError> {
        let asked = Instant::now();
        let mut script = self.scripts.of_second.prepare_invoke();
        script.key(self.of_second(operator)).arg(rate).arg(wanted);
        let answer = self.invoke::<(u32, u32)>(script);
        let (granted, left_us) = answer.await?;
        Ok(RedisGrant {
            granted,
            until: Some(asked + Duration::from_micros(left_us.into())),
            retry_in: Duration::ZERO,
            left: 0,
        })
    }

    /// Which of texts of so many parts an operator takes in the current second, in this order.
    ///
    /// # Errors
    /// See [`RedisError`]: Redis decided nothing.
    pub async fn admit_of_second(
        &self,
        operator: &str,
        rate: f64,
        parts: &[u32],
    ) -> Result<AdmittedOfSecond, RedisError> {
        let mut script = self.scripts.admit.prepare_invoke();
        script.key(self.of_second(operator)).arg(rate).arg(parts);
        let answer = self.invoke::<Vec<u64>>(script);
        let mut numbers = answer.await?.into_iter();
        Ok(AdmittedOfSecond {
            second: numbers.next().unwrap_or_default(),
            admitted: numbers.map(|number| number == 1).collect(),
        })
    }

    /// Returns what was admitted in a second and is not sent.
    ///
    /// # Errors
    /// See [`RedisError`]: it may be lost.
    pub async fn take_back_of_second(
        &self,
        operator: &str,
        second: u64,
        parts: u32,
    ) -> Result<(), RedisError> {
        let mut script = self.scripts.take_back.prepare_invoke();
        script.key(self.of_second(operator)).arg(second).arg(parts);
        self.invoke::<i64>(script).await.map(drop)
    }

    /// The counter of an operator that other programs know, and what of it was admitted and not sent yet.
    fn of_second(&self, operator: &str) -> Vec<String> {
        vec![self.key("tps", operator), self.key("admitted", operator)]
    }

    /// Up to `wanted` tokens of an operator that must be used at once: within `pace.slice`. If there is any,
    /// at least `least`, of which the bucket owes some then.
    ///
    /// # Errors
    /// See [`RedisError`]: Redis decided nothing.
    pub async fn take_strictly(
        &self,
        operator: &str,
        pace: &GcraParameters,
        wanted: u32,
        least: u32,
    ) -> Result<RedisGrant, RedisError> {
        let least = least.clamp(1, MOST_OWED);
        self.take_of_bucket("gcra", operator, pace, wanted, least)
            .await
    }

    /// Up to `wanted` tokens of an account's bucket.
    ///
    /// # Errors
    /// See [`RedisError`]: Redis decided nothing.
    pub async fn take_of_account(
        &self,
        account: &str,
        pace: &GcraParameters,
        wanted: u32,
    ) -> Result<RedisGrant, RedisError> {
        self.take_of_bucket("bucket", account, pace, wanted, 0)
            .await
    }

    /// Up to `wanted` tokens of a limit's bucket.
    ///
    /// # Errors
    /// See [`RedisError`]: Redis decided nothing.
    pub async fn take_of_limit(
        &self,
        bucket: &str,
        pace: &GcraParameters,
        wanted: u32,
    ) -> Result<RedisGrant, RedisError> {
        self.take_of_bucket("limit", bucket, pace, wanted, 0).await
    }

    /// Returns unused tokens to a limit's bucket.
    ///
    /// # Errors
    /// See [`RedisError`]: they may be lost.
    pub async fn give_back_to_limit(
        &self,
        bucket: &str,
        pace: &GcraParameters,
        unused: u32,
    ) -> Result<(), RedisError> {
        let mut script = self.scripts.give_back.key(self.key("limit", bucket));
        script.arg(pace.interval_us).arg(unused);
        self.invoke::<i64>(script).await.map(drop)
    }

    async fn take_of_bucket(
        &self,
        kind: &str,
        name: &str,
        pace: &GcraParameters,
        wanted: u32,
        least: u32,
    ) -> Result<RedisGrant, RedisError> {
        let asked = Instant::now();
        let mut script = self.scripts.of_bucket.key(self.key(kind, name));
        script.arg(pace.interval_us).arg(pace.burst);
        script.arg(wanted).arg(least);
        let answer = self.invoke::<(u32, u64, u32)>(script);
        let (granted, wait_us, left) = answer.await?;
        Ok(RedisGrant {
            granted,
            until: pace.slice.map(|slice| asked + slice),
            retry_in: Duration::from_micros(wait_us),
            left,
        })
    }
}
