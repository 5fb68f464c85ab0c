//! Compares what the store holds with what the queues of this node know, and has put back what none
//! of them does.
//!
//! Every node looks after its own queues, whoever the janitor is. Nothing of it is needed while the
//! rest works: each message that is put back is one that was lost on its way, and is logged as an
//! error. Reads a page at a time and takes a twentieth of the time at most, however much is active.

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
use crate::domain::{id, partition};
use crate::pb::FlushCorrelation;
use crate::pb::delivery::What;
use crate::store::{Active, Stage, StoreError};

/// Messages per page.
const PAGE: usize = 10_000;
/// Younger ones are mostly on their way, and gone before the next look.
const SETTLE_MS: i64 = 30_000;
/// After a page a pause of so many times its duration.
const SHARE: u32 = 20;
/// A queue that is reading is asked again.
const TRIES: usize = 10;
const TRY_AGAIN: Duration = Duration::from_millis(100);

/// Looks at everything active once; says how many messages were put back.
///
/// # Errors
/// The store cannot be read; what was done until then stands.
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

/// What is active and should be in a queue of this node.
async fn page(
    node: &NodeContext,
    ids: Range<u64>,
) -> Result<(Vec<Active>, Option<u64>), StoreError> {
    // What has been answered or decided is in the page then.
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
        if !node.is_split(queue) {
            active.part = partition::WHOLE;
        }
        ownership.owns(queue, active.part)
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

/// The queue's actor; made when there is none, because nobody names it any more.
async fn queue_of(node: &NodeContext, state: &ConfigState, queue: u32) -> Option<Arc<QueuePort>> {
    if node.queue(queue).is_none() {
        let plan = node.full_plan();
        tracing::error!(
            queue = plan.name_of(queue),
            "messages wait in a queue that is not there"
        );
        state.make_queues(&plan, Some(queue)).await.ok()?;
    }
    node.queue(queue)
}

/// `None` when the queue was reading all the time.
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
            // In memory again: nobody knows which.
            return Ok(Vec::new());
        };
        let there: HashSet<(u64, What)> =
            items_of(&octets).map(|item| (item.id, item.what)).collect();
        missing.retain(|seed| !there.contains(&(seed.item.id, seed.item.what)));
    }
    Ok(missing)
}
