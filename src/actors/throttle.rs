//! Token buckets of accounts and operators (GCRA), asked in batches and only for what has a limit.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use actix::{Actor, AsyncContext, Context, Handler, MessageResult, Supervised};
use tokio::time::Instant;

use crate::actors::hub::Hub;
use crate::actors::supervise::Health;
use crate::domain::limit::Gcra;
use crate::pb::{TakeTokens, TakenTokens, ThrottleSnapshot};

/// One question per batch of a limited account or operator.
pub const MAILBOX: usize = 4096;

pub struct Throttle {
    hub: Arc<Hub>,
    health: Arc<Health>,
    started: Instant,
    buckets: HashMap<u32, Bucket>,
    granted: u64,
    refused: u64,
}

struct Bucket {
    rate: (f64, u32),
    gcra: Gcra,
}

// === impl Throttle ===

impl Throttle {
    pub fn new(hub: Arc<Hub>, health: Arc<Health>) -> Self {
        Self {
            hub,
            health,
            started: Instant::now(),
            buckets: HashMap::new(),
            granted: 0,
            refused: 0,
        }
    }

    fn take(&mut self, ask: TakeTokens) -> TakenTokens {
        let Some(rate) = self.hub.plan().rate_of(ask.key) else {
            self.buckets.remove(&ask.key);
            return TakenTokens {
                granted: ask.wanted,
                ..TakenTokens::default()
            };
        };
        let now = self.started.elapsed().as_nanos() as u64;
        let bucket = self.buckets.entry(ask.key).or_insert_with(|| Bucket {
            rate,
            gcra: Gcra::new(rate.0, rate.1),
        });
        if bucket.rate != rate {
            bucket.gcra.reconfigure(now, rate.0, rate.1);
            bucket.rate = rate;
        }
        let taken = bucket.gcra.take(now, ask.wanted);
        self.granted += u64::from(taken.granted);
        self.refused += u64::from(ask.wanted - taken.granted);
        TakenTokens {
            granted: taken.granted,
            retry_in_ms: taken.retry_in.as_millis().min(60_000) as u32,
            valid_ms: 0,
        }
    }
}

impl Actor for Throttle {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        ctx.set_mailbox_capacity(MAILBOX);
        ctx.run_interval(Duration::from_secs(1), |throttle, _| {
            throttle.hub.throttle_snapshot.set(ThrottleSnapshot {
                buckets: throttle.buckets.len() as u64,
                granted_total: throttle.granted,
                refused_total: throttle.refused,
                restarts: throttle.health.restarts(),
            });
        });
    }
}

impl Supervised for Throttle {
    /// Buckets start full again: for a moment the limit is exceeded by one burst at most.
    fn restarting(&mut self, _: &mut Self::Context) {
        *self = Self::new(Arc::clone(&self.hub), Arc::clone(&self.health));
    }
}

impl Handler<TakeTokens> for Throttle {
    type Result = MessageResult<TakeTokens>;

    fn handle(&mut self, ask: TakeTokens, _: &mut Self::Context) -> Self::Result {
        MessageResult(self.take(ask))
    }
}
