//! The damage keeper: sees that damaged rows are listed and their messages end, and counts what people should look at.
//!
//! A task of each node beside the janitor, for what readers of this node have come upon.

use std::time::Duration;

use crate::actors::context::NodeContext;
use crate::actors::receipts::damaged;
use crate::store::held::HeldCounts;

/// Rounds between two counts: what other nodes list counts as well.
const COUNT_EVERY: u32 = 30;
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// Rounds in a row after which rows are left that cannot be listed, or whose messages cannot be ended.
const MOST_IN_VAIN: u32 = 30;

/// Looks, and again after a pause, without an end.
pub async fn keep(node: &NodeContext) {
    // Rounds in a row that have left something.
    let mut in_vain = 0;
    for round in 0_u32.. {
        let (settled, left) = damaged::settle(node).await;
        if left == 0 {
            in_vain = 0;
        } else if in_vain < MOST_IN_VAIN {
            in_vain += 1;
        } else {
            // The store has a reason that does not pass; they are found again after the next start.
            drop(node.store.take_damage());
            in_vain = 0;
        }
        if settled > 0 || round.is_multiple_of(COUNT_EVERY) {
            count(node).await;
        }
        tokio::time::sleep(LOOK_EVERY).await;
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
