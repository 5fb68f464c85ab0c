//! Compares the store with what the queues of this node know, and puts back messages that no queue
//! knows.
//!
//! Every node checks its own queues, whichever node is the janitor. While everything works this finds
//! nothing: each message that is put back was lost on its way, and is logged as an error. After the database went back
//! in time further than this node remembers, it may have been sent instead: then it is held. Reads a page
//! at a time and takes a twentieth of the time at most, however many messages are active. A queue that fails or does
//! not answer is left out for the rest of the round, and holds up no other.

use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use crate::actors::context::NodeContext;
use crate::actors::context::item::Seed;
use crate::actors::context::messages::Missed;
use crate::actors::context::ports::QueuePort;
use crate::actors::control::settings::ConfigState;
use crate::actors::queue::seeds::Seeds;
use crate::actors::queue::unknown::unknown_to;
use crate::clock;
use crate::domain::id;
use crate::domain::partition::WHOLE;
use crate::pb::FlushCorrelation;
use crate::pb::delivery::What;
use crate::store::cluster::Partition;
use crate::store::held::Doubt;
use crate::store::{Active, MessageStage, StoreError};

/// Messages per page.
const PAGE: usize = 10_000;
/// Younger messages are mostly on their way, and gone at the next look.
const SETTLE_MS: i64 = 30_000;
/// The pause after a page, as a multiple of its duration.
const SHARE: u32 = 20;
/// A queue is not waited for any longer.
const ANSWER_WITHIN: Duration = Duration::from_secs(30);

/// Checks all active messages once; returns how many were put back.
///
/// # Errors
/// Active messages cannot be read; messages put back before stay.
pub async fn compare(
    node: &NodeContext,
    state: &ConfigState,
    round: u64,
) -> Result<u64, StoreError> {
    let mut ids = 0..id::lowest_at(clock::now_ms() - SETTLE_MS);
    let mut put_back = 0;
    let doubts = node.store.doubts().await?;
    let generation = node.local_lease.generation();
    let (until, mut is_complete) = (ids.end, true);
    let mut left_out = HashSet::new();
    while !ids.is_empty() {
        let mut began = Instant::now();
        let (active, next) = page(node, ids.clone()).await?;
        let mut seeds = Seeds::new(&node.config());
        active.into_iter().for_each(|one| seeds.add(one));
        for (queue, expected) in seeds.queues {
            if left_out.contains(&queue) {
                continue;
            }
            let compared = compare_queue(node, state, queue, expected, &doubts, round);
            let error = match tokio::time::timeout(ANSWER_WITHIN, compared).await {
                Ok(Ok(count)) => {
                    is_complete &= count.is_some();
                    put_back += count.unwrap_or_default();
                    continue;
                }
                Ok(Err(error)) => error,
                Err(_) => {
                    // Waiting is no work, of which the pause is a multiple.
                    began += ANSWER_WITHIN;
                    StoreError::Failed("no answer in time".to_owned())
                }
            };
            let name = node.name_of(queue);
            tracing::warn!(queue = %name, %error, "a queue could not be compared with the store");
            left_out.insert(queue);
        }
        ids.start = next.unwrap_or(ids.end);
        tokio::time::sleep(began.elapsed() * SHARE).await;
    }
    is_complete &= left_out.is_empty();
    if is_complete && node.local_lease.generation() == generation {
        end_doubts(node, &doubts, until).await?;
    }
    Ok(put_back)
}

/// What this node owns and has compared is doubtful no more: it holds what it did not know.
async fn end_doubts(node: &NodeContext, doubts: &[Doubt], until: u64) -> Result<(), StoreError> {
    let settled: Vec<Partition> = {
        let ownership = node.local_lease.hold();
        let of = doubts.iter().filter(|doubt| doubt.below <= until);
        of.map(|doubt| doubt.partition)
            .filter(|at| ownership.home(at.queue, at.part).is_some())
            .collect()
    };
    if settled.is_empty() {
        Ok(())
    } else {
        node.store.end_doubts(Some(settled)).await
    }
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
            MessageStage::Untold { tell, .. } => tell,
            // It waits for its receipt.
            MessageStage::Sent { .. } => return false,
            _ => active.queue,
        };
        let home = ownership.home(queue, active.part);
        active.part = home.map_or(active.part, |(part, _)| part);
        home.is_some()
    });
    Ok((page.active, page.next))
}

/// `None` if the queue could not be compared.
async fn compare_queue(
    node: &NodeContext,
    state: &ConfigState,
    queue: u32,
    expected: Vec<Seed>,
    doubts: &[Doubt],
    round: u64,
) -> Result<Option<u64>, StoreError> {
    let Some(port) = queue_of(node, state, queue).await else {
        return Ok(None);
    };
    let Some(seeds) = unknown_to(node, &port, &expected).await? else {
        return Ok(None);
    };
    if seeds.is_empty() {
        return Ok(Some(0));
    }
    let (doubtful, seeds): (Vec<Seed>, Vec<Seed>) =
        (seeds.into_iter()).partition(|seed| is_doubtful(seed, port.id, doubts));
    if !doubtful.is_empty() {
        let ids: Vec<u64> = doubtful.iter().map(|seed| seed.item.id).collect();
        tracing::warn!(
            queue = %port.name,
            messages = ids.len(),
            first = ids[0],
            "messages that may have been sent before the database went back in time are held"
        );
        node.store.hold(ids).await?;
    }
    let missed = port.send(Missed { round, seeds }).await;
    Ok(Some(missed.unwrap_or_default()))
}

/// Whether a message that its queue does not know may have been sent before the database went back in time.
fn is_doubtful(seed: &Seed, queue: u32, doubts: &[Doubt]) -> bool {
    seed.item.what == What::Message
        && doubts.iter().any(|doubt| {
            let at = doubt.partition;
            let is_there = [seed.item.part, WHOLE].contains(&at.part) || seed.item.part == WHOLE;
            at.queue == queue && is_there && seed.item.id < doubt.below
        })
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::actors::context::ports::QueueKind;
    use crate::actors::queue::{MAILBOX, Queue};
    use crate::actors::runtime::supervise::{self, Escalate};
    use crate::actors::test_support;
    use crate::domain::period::DAY_MS;
    use crate::pb::Message;
    use crate::store::WriteBatch;

    #[actix::test]
    async fn a_queue_that_does_not_answer_holds_up_no_other() {
        let test = test_support::node(1, None).await;
        let node = &test.context;
        let of = [test.account, test.operator];
        let [_not_started, (port, slot)] = of.map(|queue| {
            let (address, slot) = supervise::slot::<Queue>(MAILBOX);
            let port = Arc::new(QueuePort::new(
                queue,
                node.name_of(queue),
                QueueKind::Operator,
                address.into(),
                Arc::clone(&node.local_lease),
                &node.metrics,
            ));
            node.add_queue(Arc::clone(&port));
            (port, slot)
        });
        let escalate: Escalate = Arc::new(|name: &str| panic!("{name} escalated"));
        let (for_queue, health) = (Arc::clone(node), Arc::clone(&port.health));
        slot.start(&actix::Arbiter::current(), health, escalate, move || {
            Queue::new(for_queue, port, Vec::new())
        });
        let then = clock::now_ms() - 2 * SETTLE_MS;
        let message = |queue| Message {
            id: node.ids.next(then).unwrap(),
            sender: test.account,
            queue,
            accepted_at: then,
            due_at: then,
            expires_at: then + 60 * DAY_MS,
            destination: bytes::Bytes::from_static(b"447700900123"),
            ..Message::default()
        };
        let rows = WriteBatch {
            accept: of.map(message).to_vec(),
            ..WriteBatch::default()
        };
        node.store.write(rows).await.expect("written");
        tokio::time::pause();
        // A queue puts back what two rounds have missed.
        for round in 1..=20 {
            let compared = compare(node, &test.configuration.state, round);
            // A paused clock runs ahead while the store works.
            let compared = tokio::time::timeout(Duration::from_secs(24 * 3600), compared).await;
            if compared.expect("it hangs").expect("the store answers") == 1 {
                return;
            }
            test_support::give_way();
        }
        panic!("the message was not put back");
    }
}
