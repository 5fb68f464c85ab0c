//! The damage keeper: sees that damaged rows are listed and their messages end, and counts what people should look at.
//!
//! Runs on each node beside the janitor, for what readers of this node have come upon.

use std::sync::Arc;
use std::time::Duration;

use actix::{Actor, ActorFutureExt, AsyncContext, Context, Supervised, WrapFuture};

use crate::actors::context::NodeContext;
use crate::actors::receipts::damaged;
use crate::store::held::HeldCounts;

/// Rounds between two counts: what other nodes list counts as well.
const COUNT_EVERY: u32 = 30;
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// Rounds in a row after which rows are left that cannot be listed, or whose messages cannot be ended.
const MOST_IN_VAIN: u32 = 30;

pub struct DamageKeeper {
    node: Arc<NodeContext>,
    rounds: u32,
    /// Rounds in a row that have left something.
    in_vain: u32,
}

// === impl DamageKeeper ===

impl DamageKeeper {
    pub fn new(node: Arc<NodeContext>) -> Self {
        Self {
            node,
            rounds: 0,
            in_vain: 0,
        }
    }

    /// Looks, and again after a pause.
    fn look_later(&mut self, ctx: &mut Context<Self>) {
        let node = Arc::clone(&self.node);
        let gives_up = self.in_vain >= MOST_IN_VAIN;
        let counts = self.rounds.is_multiple_of(COUNT_EVERY);
        self.rounds = self.rounds.wrapping_add(1);
        let work = async move {
            let (settled, mut left) = damaged::settle(&node).await;
            if left > 0 && gives_up {
                // The store has a reason that does not pass; they are found again after the next start.
                drop(node.store.take_damage());
                left = 0;
            }
            if settled > 0 || counts {
                count(&node).await;
            }
            tokio::time::sleep(LOOK_EVERY).await;
            left
        };
        let then = |left, keeper: &mut Self, ctx: &mut _| {
            keeper.in_vain = if left == 0 { 0 } else { keeper.in_vain + 1 };
            keeper.look_later(ctx);
        };
        ctx.spawn(work.into_actor(self).map(then));
    }
}

/// Shows how many rows are listed, and how many messages wait for an order.
async fn count(node: &NodeContext) {
    match node.store.count_damage().await {
        Ok(count) => {
            let count = i64::try_from(count).unwrap_or(i64::MAX);
            node.metrics.store_damaged_rows.set(count);
        }
        Err(error) => tracing::warn!(%error, "damaged rows cannot be counted"),
    }
    match node.store.count_held().await {
        Ok(counts) => show_held(node, counts),
        Err(error) => tracing::warn!(%error, "held messages cannot be counted"),
    }
}

/// Publishes how many messages wait for an order.
pub(super) fn show_held(node: &NodeContext, counts: HeldCounts) {
    let of = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
    node.metrics.messages_held.set(of(counts.messages));
    node.metrics.partitions_doubtful.set(of(counts.partitions));
}

impl Actor for DamageKeeper {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        self.look_later(ctx);
    }
}

impl Supervised for DamageKeeper {}
