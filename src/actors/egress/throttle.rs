//! Token buckets of accounts, operators and GSM networks (GCRA), used in batches and only for those with a limit.
//!
//! With Redis the limits are shared by the cluster ([`shared`]); without it, or while it does not
//! answer, each node applies them alone ([`alone`]).

mod alone;
mod bucket;
pub mod rate;
mod shared;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use actix::{Actor, AsyncContext, Context, Handler, Response, Supervised, WrapFuture};
use tokio::time::Instant;

use crate::actors::context::NodeContext;
use crate::actors::runtime::supervise::Health;
use crate::actors::runtime::timed_mailbox::measured;
use crate::pb::{TakeTokens, TakenTokens, ThrottleSnapshot};
use crate::store::redis::Redis;

/// One request per batch of a limited account or operator.
pub const MAILBOX: usize = 4096;

pub struct Throttle {
    node: Arc<NodeContext>,
    health: Arc<Health>,
    started: Instant,
    buckets: HashMap<u32, bucket::Bucket>,
    granted: u64,
    refused: u64,
    redis: Option<Arc<Redis>>,
    lanes: HashMap<u32, shared::Lane>,
    shared_granted: u64,
    fallbacks: u64,
}

// === impl Throttle ===

impl Throttle {
    /// `redis`: where limits are shared; `None` if this node applies them alone.
    pub fn new(node: Arc<NodeContext>, health: Arc<Health>, redis: Option<Arc<Redis>>) -> Self {
        Self {
            node,
            health,
            started: Instant::now(),
            buckets: HashMap::new(),
            granted: 0,
            refused: 0,
            redis,
            lanes: HashMap::new(),
            shared_granted: 0,
            fallbacks: 0,
        }
    }

    /// The file with the URL may have another content now.
    fn follow_url(&self) {
        let config = self.node.config();
        let (Some(redis), Some(url)) = (&self.redis, &config.redis.url) else {
            return;
        };
        if let Err(error) = redis.follow(url) {
            tracing::warn!(%error, "the URL before stays in use");
        }
    }

    fn publish(&self) {
        self.node.throttle_snapshot.set(ThrottleSnapshot {
            buckets: (self.buckets.len() + self.lanes.len()) as u64,
            granted_total: self.granted,
            refused_total: self.refused,
            restarts: self.health.restarts(),
            shared: self.redis.is_some(),
            redis_up: self.redis.as_ref().is_some_and(|redis| redis.is_up()),
            shared_granted_total: self.shared_granted,
            fallbacks_total: self.fallbacks,
        });
    }
}

measured!(Throttle: TakeTokens);

impl Actor for Throttle {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        ctx.set_mailbox_capacity(MAILBOX);
        ctx.run_interval(Duration::from_secs(1), |throttle, _| {
            throttle.follow_url();
            throttle.publish();
        });
        if let Some(redis) = self.redis.clone() {
            let connected = async move { redis.keep_connected().await };
            ctx.spawn(connected.into_actor(self));
        }
    }
}

impl Supervised for Throttle {
    /// Buckets start full again: the limit is exceeded by one burst at most.
    fn restarting(&mut self, _: &mut Self::Context) {
        let redis = self.redis.take();
        *self = Self::new(Arc::clone(&self.node), Arc::clone(&self.health), redis);
    }
}

impl Handler<TakeTokens> for Throttle {
    type Result = Response<TakenTokens>;

    fn handle(&mut self, ask: TakeTokens, ctx: &mut Self::Context) -> Self::Result {
        match self.redis.clone() {
            Some(redis) => self.take_shared(ask, redis, ctx),
            None => Response::reply(self.take(ask)),
        }
    }
}
