//! Compares the store with what the queues of this node know, and puts back messages that no queue
//! knows.
//!
//! Every node checks its own queues, whichever node is the janitor. While everything works this finds
//! nothing: each message that is put back was lost on its way, and is logged as an error. Reads a page
//! at a time and takes a twentieth of the time at most, however many messages are active.

use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use crate::actors::context::NodeContext;
use crate::actors::context::item::Seed;
use crate::actors::context::messages::{Compare, Compared, Missed};
use crate::actors::context::ports::QueuePort;
use crate::actors::control::settings::ConfigState;
use crate::actors::queue::items_of;
use crate::actors::queue::seeds::Seeds;
use crate::clock;
use crate::domain::id;
use crate::pb::FlushCorrelation;
use crate::pb::delivery::What;
use crate::store::{Active, Stage, StoreError};

/// Messages per page.
const PAGE: usize = 10_000;
/// Younger messages are mostly on their way, and gone at the next look.
const SETTLE_MS: i64 = 30_000;
/// The pause after a page, as a multiple of its duration.
const SHARE: u32 = 20;
/// How often to ask a queue that is reading the store.
const TRIES: usize = 10;
const TRY_AGAIN: Duration = Duration::from_millis(100);

/// Checks all active messages once; returns how many were put back.
///
/// # Errors
/// The store cannot be read; messages put back before stay.
pub async fn compare(
    node: &NodeContext,
    state: &ConfigState,
    round: u64,
) -> Result<u64, StoreError> {
    let mut ids = 0..id::lowest_at(clock::now_ms() - SETTLE_MS);
    let mut put_back = 0;
    while !ids.is_empty() {
        let began = Instant::now();
        let (active, next) = page(node, ids.clone()).await?;
        let mut seeds = Seeds::new(&node.config());
        active.into_iter().for_each(|one| seeds.add(one));
        for (queue, expected) in seeds.queues {
            let Some(port) = queue_of(node, state, queue).await else {
                continue;
            };
            put_back += compare_queue(node, &port, expected, round).await?;
        }
        ids.start = next.unwrap_or(ids.end);
        tokio::time::sleep(began.elapsed() * SHARE).await;
    }
    Ok(put_back)
}

/// Active messages that should be in a queue of this node.
async fn page(
    node: &NodeContext,
    ids: Range<u64>,
) -> Result<(Vec<Active>, Option<u64>), StoreError> {
    // Waits for pending results, so that the page includes them.
    let _ = node.correlation.recipient().send(FlushCorrelation {}).await;
    node.store.barrier().await?;
    let mut page = node.store.active_page(ids, PAGE).await?;
    let ownership = node.local_lease.hold();
    page.active.retain_mut(|active| {
        let queue = match active.stage {
            Stage::Untold { tell, .. } => tell,
            // It waits for its receipt.
            Stage::Sent { .. } => return false,
            _ => active.queue,
        };
        let home = ownership.home(queue, active.part);
        active.part = home.map_or(active.part, |(part, _)| part);
        home.is_some()
    });
    Ok((page.active, page.next))
}

async fn compare_queue(
    node: &NodeContext,
    port: &QueuePort,
    expected: Vec<Seed>,
    round: u64,
) -> Result<u64, StoreError> {
    let Some(compared) = ask(port, &expected).await else {
        return Ok(0);
    };
    let seeds = not_spilled(node, port.id, compared).await?;
    if seeds.is_empty() {
        return Ok(0);
    }
    let missed = port.send(Missed { round, seeds }).await;
    Ok(missed.unwrap_or_default())
}

/// The queue's port; the queue is started if it does not exist because no configuration names it any
/// more.
async fn queue_of(node: &NodeContext, state: &ConfigState, queue: u32) -> Option<Arc<QueuePort>> {
    if node.queue(queue).is_none() {
        let plan = node.full_plan();
        tracing::error!(
            queue = plan.name_of(queue),
            "messages wait in a queue that does not exist"
        );
        state.make_queues(&plan, Some(queue)).await.ok()?;
    }
    node.queue(queue)
}

/// `None` if the queue was reading the store all the time.
async fn ask(port: &QueuePort, expected: &[Seed]) -> Option<Compared> {
    for _ in 0..TRIES {
        let expected = expected.to_vec();
        match port.send(Compare { expected }).await {
            Ok(None) => tokio::time::sleep(TRY_AGAIN).await,
            Ok(compared) => return compared,
            Err(_) => return None,
        }
    }
    None
}

/// Those that are in no block out of memory either.
async fn not_spilled(
    node: &NodeContext,
    queue: u32,
    compared: Compared,
) -> Result<Vec<Seed>, StoreError> {
    let mut missing = compared.missing;
    for block in compared.blocks {
        if missing.is_empty() {
            break;
        }
        let Some(octets) = node.store.read_block(queue, block).await? else {
            // The block is back in memory: its items are unknown here.
            return Ok(Vec::new());
        };
        let there: HashSet<(u64, What)> =
            items_of(&octets).map(|item| (item.id, item.what)).collect();
        missing.retain(|seed| !there.contains(&(seed.item.id, seed.item.what)));
    }
    Ok(missing)
}
