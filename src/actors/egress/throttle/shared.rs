//! Limits that all nodes share in Redis, without waiting for a Redis that is down.
//!
//! One request per account or operator is pending at a time; requests that come meanwhile share the
//! next one. Requests of different names are pipelined on one connection. When Redis does not answer,
//! this node decides alone, as without Redis.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use actix::{ActorFutureExt, AsyncContext, Context, Response, WrapFuture};
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::Throttle;
use super::bucket::refused;
use super::rate::rate_in_redis;
use crate::config::LimitMode;
use crate::domain::limit::{GcraParameters, with_reserve};
use crate::domain::queue_name::QueueName;
use crate::pb::{TakeTokens, TakenTokens};
use crate::store::redis::{Redis, RedisError, RedisGrant};

/// This many consecutive answers that came after their tokens had expired count as no answer: Redis is
/// too slow for the limit that was requested.
const LATE: u32 = 10;
/// Before the first question after this node has decided alone: longer than its last tokens are used, and
/// than Redis needs for what it grants at once.
const REST: Duration = Duration::from_millis(60);

/// The requests for one account or operator.
#[derive(Default)]
pub(super) struct Lane {
    /// Tokens granted to an account by Redis and not used yet.
    reserve: u32,
    /// What Redis had left at its last answer, and when that was.
    seen: Option<(u32, Instant)>,
    asking: bool,
    waiting: VecDeque<WaitingRequest>,
    /// Consecutive answers that were too late to use.
    late: u32,
    /// The last decision was made here, because Redis did not answer.
    is_alone: bool,
    /// Nothing is granted before this time.
    rests_until: Option<Instant>,
}

struct WaitingRequest {
    wanted: u32,
    least: u32,
    reply: oneshot::Sender<TakenTokens>,
}

/// A question to Redis.
struct TokenRequest {
    /// Of an operator, a network or an account.
    name: String,
    wanted: u32,
    kind: TokenRequestKind,
}

/// An operator's tokens expire, an account's do not, so they are requested differently.
enum TokenRequestKind {
    OfSecond(f64),
    /// At least so many.
    Strictly(GcraParameters, u32),
    OfAccount(GcraParameters),
}

// === impl Lane ===

impl Lane {
    /// About how many tokens an account has left on all nodes.
    fn left(&self, rate: f64, burst: u32) -> u32 {
        let in_redis = self.seen.map_or(burst, |(left, at)| {
            let came = (at.elapsed().as_secs_f64() * rate) as u32;
            left.saturating_add(came)
        });
        in_redis.saturating_add(self.reserve).min(burst)
    }

    /// What is left of the rest between the last decision made here and the first of Redis.
    fn rest(&mut self) -> Option<Duration> {
        let now = Instant::now();
        if std::mem::take(&mut self.is_alone) {
            self.rests_until = Some(now + REST);
        }
        let left = self.rests_until?.saturating_duration_since(now);
        if left.is_zero() {
            self.rests_until = None;
            return None;
        }
        Some(left)
    }
}

// === impl Throttle ===

impl Throttle {
    /// Answers from the reserve, from Redis, or with this node's buckets.
    pub(super) fn take_shared(
        &mut self,
        ask: TakeTokens,
        redis: Arc<Redis>,
        ctx: &mut Context<Self>,
    ) -> Response<TakenTokens> {
        let Some((rate, burst)) = self.node.rate_of(ask.key) else {
            return Response::reply(self.take(ask));
        };
        let lane = self.lanes.entry(ask.key).or_default();
        if lane.reserve >= ask.wanted {
            lane.reserve -= ask.wanted;
            self.granted += u64::from(ask.wanted);
            return Response::reply(TakenTokens {
                granted: ask.wanted,
                left: lane.left(rate, burst),
                ..TakenTokens::default()
            });
        }
        if !lane.asking && !redis.is_up() {
            lane.is_alone = true;
            self.fallbacks += 1;
            return Response::reply(self.take(ask));
        }
        if let Some(rest) = lane.rest() {
            self.refused += u64::from(ask.wanted);
            return Response::reply(refused(rest));
        }
        let (reply, answer) = oneshot::channel();
        lane.waiting.push_back(WaitingRequest {
            wanted: ask.wanted,
            least: ask.least,
            reply,
        });
        if !lane.asking {
            self.ask_redis(ask.key, redis, ctx);
        }
        // The actor was restarted: grant nothing; repeating the request is cheap.
        Response::fut(async move {
            answer.await.unwrap_or(TakenTokens {
                retry_in_ms: 100,
                ..TakenTokens::default()
            })
        })
    }

    fn ask_redis(&mut self, key: u32, redis: Arc<Redis>, ctx: &mut Context<Self>) {
        let Some(lane) = self.lanes.get_mut(&key) else {
            return;
        };
        lane.asking = true;
        let asked: Vec<WaitingRequest> = lane.waiting.drain(..).collect();
        // Without the reserve, which others may use while the request is pending.
        let wanted = asked
            .iter()
            .fold(0u32, |sum, one| sum.saturating_add(one.wanted));
        let least = asked.iter().map(|one| one.least).max().unwrap_or_default();
        let question = self.question(key, wanted, least);
        let asking = Arc::clone(&redis);
        let answer = async move {
            match question {
                Some(question) => question.put(&asking).await,
                // A reload has removed the limit; the buckets here know that.
                None => Err(RedisError::Down),
            }
        };
        ctx.spawn(
            answer.into_actor(self).map(move |answer, throttle, ctx| {
                throttle.answered(key, asked, answer, redis, ctx)
            }),
        );
    }

    fn question(&self, key: u32, wanted: u32, least: u32) -> Option<TokenRequest> {
        let plan = self.node.plan();
        let (rate, burst) = self.node.rate_of(key)?;
        let full = plan.name_of(key);
        let named = QueueName::parse(full);
        let name = match named {
            // No account may have this name: the buckets of a network and of an account are never one.
            QueueName::Gsm(_) => full,
            other => other.id(),
        };
        let request = |wanted, kind| TokenRequest {
            name: name.to_owned(),
            wanted,
            kind,
        };
        let is_operator = |_: &_| named.account().is_none();
        let Some(operator) = plan.operator(key).filter(is_operator) else {
            let kind = TokenRequestKind::OfAccount(GcraParameters::bucket(rate, burst));
            return Some(request(with_reserve(rate, wanted), kind));
        };
        let rate = rate_in_redis(&self.node, operator, rate);
        let kind = match plan.rate_window(operator) {
            LimitMode::Fixed => TokenRequestKind::OfSecond(rate),
            LimitMode::Strict => {
                TokenRequestKind::Strictly(GcraParameters::strict(rate, burst), least)
            }
        };
        Some(request(wanted, kind))
    }

    fn answered(
        &mut self,
        key: u32,
        asked: Vec<WaitingRequest>,
        answer: Result<RedisGrant, RedisError>,
        redis: Arc<Redis>,
        ctx: &mut Context<Self>,
    ) {
        match answer {
            Ok(shared) => self.hand_out(key, asked, shared),
            Err(_) => {
                if let Some(lane) = self.lanes.get_mut(&key) {
                    lane.is_alone = true;
                }
                self.decide_alone(key, asked);
                // Others must know soon whose share Redis does not grant.
                self.publish();
            }
        }
        let Some(lane) = self.lanes.get_mut(&key) else {
            return;
        };
        lane.asking = false;
        if !lane.waiting.is_empty() {
            self.ask_redis(key, redis, ctx);
        }
    }

    fn decide_alone(&mut self, key: u32, asked: Vec<WaitingRequest>) {
        for one in asked {
            self.fallbacks += 1;
            let ask = TakeTokens {
                key,
                wanted: one.wanted,
                least: one.least,
            };
            // The caller may be gone.
            let _ = one.reply.send(self.take(ask));
        }
    }

    /// First come, first served.
    fn hand_out(&mut self, key: u32, asked: Vec<WaitingRequest>, shared: RedisGrant) {
        let Some(lane) = self.lanes.get_mut(&key) else {
            return;
        };
        let valid_ms = shared.until.map(|until| {
            let left = until.saturating_duration_since(Instant::now());
            left.as_millis() as u32
        });
        let dead = valid_ms == Some(0) && shared.granted > 0;
        lane.late = if dead { lane.late + 1 } else { 0 };
        if lane.late >= LATE {
            return self.decide_alone(key, asked);
        }
        if !dead && self.node.plan().operator(key).is_some() {
            // Should Redis be away again, its tokens of the last second count.
            self.buckets.remove(&key);
        }
        let mut left = lane.reserve + if dead { 0 } else { shared.granted };
        lane.seen = Some((shared.left, Instant::now()));
        let retry_in_ms = if dead {
            1
        } else if shared.retry_in.is_zero() {
            self.node.plan().config.redis.retry_in.as_millis() as u32
        } else {
            shared.retry_in.as_micros().div_ceil(1_000).min(60_000) as u32
        };
        for one in asked {
            let granted = one.wanted.min(left);
            left -= granted;
            self.granted += u64::from(granted);
            self.shared_granted += u64::from(granted);
            self.refused += u64::from(one.wanted - granted);
            let _ = one.reply.send(TakenTokens {
                granted,
                retry_in_ms: if granted < one.wanted { retry_in_ms } else { 0 },
                valid_ms: valid_ms.unwrap_or(0),
                left: shared.left.saturating_add(left),
            });
        }
        // Expiring tokens are only requested for waiting callers, so none are kept.
        lane.reserve = if valid_ms.is_none() { left } else { 0 };
    }
}

// === impl TokenRequest ===

impl TokenRequest {
    async fn put(self, redis: &Redis) -> Result<RedisGrant, RedisError> {
        let Self { name, wanted, kind } = self;
        match kind {
            TokenRequestKind::OfSecond(rate) => redis.take_of_second(&name, rate, wanted).await,
            TokenRequestKind::Strictly(pace, least) => {
                redis.take_strictly(&name, &pace, wanted, least).await
            }
            TokenRequestKind::OfAccount(pace) => redis.take_of_account(&name, &pace, wanted).await,
        }
    }
}
