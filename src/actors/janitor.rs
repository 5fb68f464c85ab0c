//! What has to be done now and then: moving the low-water mark, retention.

use std::sync::Arc;
use std::time::Duration;

use actix::{Actor, AsyncContext, Context, Supervised, WrapFuture};

use crate::actors::hub::Hub;
use crate::clock;

const LOW_WATER_EVERY: Duration = Duration::from_secs(60);
const RETIRE_EVERY: Duration = Duration::from_secs(60);
/// Messages deleted per step; a step is a few commits of milliseconds each.
const RETIRE: usize = 20_000;

pub struct Janitor {
    hub: Arc<Hub>,
}

// === impl Janitor ===

impl Janitor {
    pub fn new(hub: Arc<Hub>) -> Self {
        Self { hub }
    }

    fn retire(&self, ctx: &mut Context<Self>) {
        let retention = self.hub.config().store.retention.as_millis() as i64;
        if retention == 0 || !self.hub.tenure.is_janitor() {
            return;
        }
        let store = Arc::clone(&self.hub.store);
        let before = clock::now_ms() - retention;
        let work = async move {
            loop {
                match store.retire(before, RETIRE).await {
                    Ok(count) if count as usize >= RETIRE => {}
                    Ok(_) => break,
                    Err(error) => {
                        tracing::error!(%error, "old messages could not be deleted");
                        break;
                    }
                }
            }
        };
        ctx.spawn(work.into_actor(self));
    }
}

impl Actor for Janitor {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        ctx.run_interval(LOW_WATER_EVERY, |janitor, ctx| {
            if !janitor.hub.tenure.is_janitor() {
                return;
            }
            let reply = janitor.hub.store.advance_low_water();
            let work = async move {
                if let Err(error) = reply.await {
                    tracing::error!(%error, "the low-water mark could not be moved");
                }
            };
            ctx.spawn(work.into_actor(janitor));
        });
        ctx.run_interval(RETIRE_EVERY, |janitor, ctx| janitor.retire(ctx));
    }
}

impl Supervised for Janitor {}
