//! Items of the hand-off table that may have been taken out of it before: after the database went back in time, rows that
//! were deleted are there again, and nodes write again what they had handed off.
//!
//! Invariant: such an item goes to its queue only if the queue does not have it and the store has it active, in this order;
//! what a session settles between the two questions is in the store before it is asked.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use crate::actors::context::NodeContext;
use crate::actors::context::item::{Item, Seed};
use crate::actors::context::ports::QueuePort;
use crate::actors::queue::unknown::unknown_to;
use crate::pb::delivery::What;
use crate::pb::{FlushCorrelation, QueueItem};
use crate::store::cluster::ClusterStore;
use crate::store::{MessageStage, StoreError};

const TRY_AGAIN: Duration = Duration::from_millis(500);

/// Takes out what this node has or has done, as far as that may be. The items were in the hand-off table, so no failure of
/// the store loses them while this node owns their partitions.
pub async fn sift(
    node: &NodeContext,
    store: &dyn ClusterStore,
    queue: u32,
    items: Vec<QueueItem>,
) -> Vec<QueueItem> {
    let is_careful = store.may_repeat_hand_offs();
    let (doubted, mut sure): (Vec<_>, Vec<_>) =
        (items.into_iter()).partition(|item| is_careful || item.again);
    let Some(port) = node.queue(queue).filter(|_| !doubted.is_empty()) else {
        sure.extend(doubted);
        return sure;
    };
    let new = loop {
        match new_of(node, store, &port, &doubted).await {
            Ok(Some(new)) => break new,
            Ok(None) => {}
            Err(error) => tracing::warn!(%error, "it is not known yet what was handed off before"),
        }
        // Whoever owns them then reads them from the store.
        if !node.local_lease.is_valid() {
            return Vec::new();
        }
        tokio::time::sleep(TRY_AGAIN).await;
    };
    let before = doubted.len();
    sure.extend((doubted.into_iter()).filter(|item| new.contains(&(item.id, item.what() as i32))));
    let left_out = before - new.len();
    if left_out > 0 {
        tracing::info!(queue = %port.name, items = left_out, "what was handed off before is left out");
    }
    sure.sort_unstable_by_key(|item| item.id);
    let ownership = node.local_lease.hold();
    // A partition that was read meanwhile has them from there.
    sure.retain(|item| ownership.term(queue, item.part as u8) == Some(item.term));
    sure
}

/// What is to be done and not known here; `None` while the queue reads the store.
async fn new_of(
    node: &NodeContext,
    store: &dyn ClusterStore,
    port: &Arc<QueuePort>,
    items: &[QueueItem],
) -> Result<Option<HashSet<(u64, i32)>>, StoreError> {
    let seeds: Vec<Seed> = items.iter().map(seed_of).collect();
    let Some(unknown) = unknown_to(node, port, &seeds).await? else {
        return Ok(None);
    };
    if unknown.is_empty() {
        return Ok(Some(HashSet::new()));
    }
    // What sessions have reported until now is in the store then.
    let _ = node.correlation.recipient().send(FlushCorrelation {}).await;
    node.store.barrier().await?;
    let ids = unknown.iter().map(|seed| seed.item.id).collect();
    let active = store.still_active(ids).await?;
    let is_active = |seed: &&Seed| {
        let mut active = active.iter().filter(|one| one.id == seed.item.id);
        active.any(|one| match one.stage {
            MessageStage::Waiting | MessageStage::OutcomeUnknown => {
                seed.item.what == What::Message && one.queue == port.id
            }
            MessageStage::Untold { tell, .. } => seed.item.what == What::Receipt && tell == port.id,
            MessageStage::Sent { .. } => false,
        })
    };
    let new = unknown.iter().filter(is_active);
    Ok(Some(
        new.map(|seed| (seed.item.id, seed.item.what as i32))
            .collect(),
    ))
}

fn seed_of(item: &QueueItem) -> Seed {
    Seed {
        item: Item::of(item),
        due_at: item.due_at,
        unsure: false,
        ended: 0,
    }
}
