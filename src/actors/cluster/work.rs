//! Claims, takeovers and the hand-off table, one after another, so that an item in that table comes
//! only once when its partition is taken over: with the takeover.

use std::collections::HashMap;

use super::*;
use crate::actors::context::messages::AdoptPartitions;
use crate::actors::context::ports::QueuePort;
use crate::actors::queue::seeds::Seeds;
use crate::pb::QueueItem;
use crate::store::cluster::Partition;

/// Most rows taken from the hand-off table at a time, and how often before other work has its turn.
const INBOX: usize = 256;
const ROUNDS: usize = 16;
/// Pause after a wake-up before the next one of its kind; meanwhile more rows gather for one step.
const REST: Duration = Duration::from_millis(10);
/// The longer pause under load: fewer and larger steps cost all nodes, and the database, less.
const LONG_REST: Duration = Duration::from_millis(50);
/// Items in a step that count as load.
const MUCH: usize = 100;

/// The work to do next.
#[derive(Default)]
pub(super) struct Wanted {
    pub claim: Vec<Resource>,
    /// Held in the database already, but not here.
    pub adopt: Vec<Resource>,
    pub collect: bool,
    pub orders: bool,
}

// === impl Wanted ===

impl Wanted {
    fn is_nothing(&self) -> bool {
        !self.collect && !self.orders && self.claim.is_empty() && self.adopt.is_empty()
    }
}

// === impl Cluster ===

impl Cluster {
    /// Listens for wake-ups of other nodes without end.
    pub(super) fn listen(&mut self, hint: Hint, ctx: &mut Context<Self>) {
        let woken = self.store.woken(hint);
        let rest = match hint {
            Hint::HandOff if self.is_busy => LONG_REST,
            _ => REST,
        };
        let wait = async move {
            tokio::time::sleep(rest).await;
            woken.notified().await;
        };
        ctx.spawn(wait.into_actor(self).map(move |(), cluster, ctx| {
            match hint {
                Hint::HandOff => {
                    cluster.wanted.collect = true;
                    cluster.work(ctx);
                }
                Hint::Orders => {
                    cluster.wanted.orders = true;
                    cluster.work(ctx);
                }
                // Not at once: many nodes may send this hint at the same time.
                Hint::Shares => cluster.look_soon(),
            }
            cluster.listen(hint, ctx);
        }));
    }

    pub(super) fn work(&mut self, ctx: &mut Context<Self>) {
        if self.wanted.is_nothing()
            || self.working
            || self.leaving
            || self.stood_back
            || !self.node.local_lease.is_valid()
        {
            return;
        }
        self.working = true;
        let wanted = std::mem::take(&mut self.wanted);
        let work = step(
            Arc::clone(&self.node),
            Arc::clone(&self.store),
            self.admin.clone(),
            wanted,
        );
        ctx.spawn(work.into_actor(self).map(|(done, result), cluster, ctx| {
            cluster.working = false;
            cluster.forget_given_back();
            // Work that was done before the failure is done: the next heartbeat does not show it again.
            if done.binds_came {
                cluster.slots_changed();
            }
            if done.is_richer {
                cluster.look_soon();
                cluster.tell_others();
            }
            match result {
                Ok(()) => {
                    cluster.is_busy = done.collected.items >= MUCH;
                    cluster.wanted.collect |= done.collected.more;
                    cluster.work(ctx);
                }
                // The next heartbeat shows the remaining work again.
                Err(error) => {
                    tracing::warn!(%error, "claims and takeovers failed and are tried again")
                }
            }
        }));
    }
}

/// The results of a step, complete or up to its failure.
#[derive(Default)]
pub(super) struct Done {
    /// Whether resources were gained.
    is_richer: bool,
    /// Whether bind slots were gained.
    pub binds_came: bool,
    collected: Collected,
}

/// What was taken from the hand-off table.
#[derive(Default)]
struct Collected {
    items: usize,
    /// Whether there may be more.
    more: bool,
}

pub(super) async fn step(
    node: Arc<NodeContext>,
    store: Arc<dyn ClusterStore>,
    admin: Recipient<Order>,
    wanted: Wanted,
) -> (Done, Result<(), StoreError>) {
    let mut done = Done::default();
    let result = take_steps(&node, store.as_ref(), &admin, wanted, &mut done).await;
    (done, result)
}

async fn take_steps(
    node: &Arc<NodeContext>,
    store: &dyn ClusterStore,
    admin: &Recipient<Order>,
    wanted: Wanted,
    done: &mut Done,
) -> Result<(), StoreError> {
    let generation = node.local_lease.generation();
    let mut gained = wanted.adopt;
    if !wanted.claim.is_empty() {
        gained.extend(store.claim(wanted.claim).await?);
    }
    {
        // Since the view was read, an earlier step may have brought them, or they are being given back.
        let ownership = node.local_lease.hold();
        gained.retain(|resource| !ownership.has(resource) && !ownership.is_leaving(resource));
    }
    done.is_richer = !gained.is_empty();
    let (partitions, others): (Vec<Resource>, Vec<Resource>) = gained
        .into_iter()
        .partition(|resource| matches!(resource, Resource::Queue(_)));
    if !node.local_lease.gain(generation, &others, || {}) {
        return Err(StoreError::Fenced);
    }
    let is_bind = |resource: &Resource| matches!(resource, Resource::Bind { .. });
    done.binds_came = others.iter().any(is_bind);
    if !partitions.is_empty() {
        adopt(node, store, generation, partitions).await?;
    }
    done.collected = collect(node, store).await?;
    if wanted.orders {
        take_orders(store, admin).await?;
    }
    Ok(())
}

async fn adopt(
    node: &NodeContext,
    store: &dyn ClusterStore,
    generation: u64,
    resources: Vec<Resource>,
) -> Result<(), StoreError> {
    let partitions: Vec<Partition> = resources
        .iter()
        .filter_map(|resource| match resource {
            Resource::Queue(partition) => Some(*partition),
            _ => None,
        })
        .collect();
    let began = Instant::now();
    // The barrier ensures that decisions of an earlier ownership are in the snapshot.
    store.barrier().await?;
    let mut seeds = Seeds::new(&node.config());
    for active in store.take_over(partitions.clone()).await? {
        seeds.add(active);
    }
    let mut by_queue: HashMap<u32, Vec<u8>> = HashMap::new();
    for partition in &partitions {
        by_queue
            .entry(partition.queue)
            .or_default()
            .push(partition.part);
    }
    let adoptions: Vec<(Arc<QueuePort>, AdoptPartitions)> = by_queue
        .into_iter()
        .filter_map(|(queue, parts)| {
            let seeds = seeds.queues.remove(&queue).unwrap_or_default();
            Some((node.queue(queue)?, AdoptPartitions { parts, seeds }))
        })
        .collect();
    // The queue gets what was there before, and only then new work in memory.
    let gained = node.local_lease.gain(generation, &resources, || {
        for (port, adoption) in adoptions {
            port.post_in_order(adoption);
        }
    });
    if !gained {
        return Err(StoreError::Fenced);
    }
    tracing::info!(
        partitions = partitions.len(),
        active = seeds.active,
        ms = began.elapsed().as_millis() as u64,
        "partitions taken over"
    );
    Ok(())
}

/// Passes orders of other nodes to Admin.
async fn take_orders(store: &dyn ClusterStore, admin: &Recipient<Order>) -> Result<(), StoreError> {
    for octets in store.orders().await? {
        match <Order as prost::Message>::decode(octets.as_slice()) {
            Ok(order) => post_to(admin, order),
            Err(error) => tracing::warn!(%error, "an order that cannot be read is dropped"),
        }
    }
    Ok(())
}

async fn collect(node: &NodeContext, store: &dyn ClusterStore) -> Result<Collected, StoreError> {
    let mut collected = Collected::default();
    for _ in 0..ROUNDS {
        let rows = store.collect(INBOX).await?;
        collected.more = rows.len() == INBOX;
        let mut by_queue: HashMap<u32, Vec<QueueItem>> = HashMap::new();
        for row in rows {
            let items = by_queue.entry(row.queue).or_default();
            items.append(&mut row.into_items());
        }
        for (queue, mut items) in by_queue {
            items.sort_unstable_by_key(|item| item.id);
            collected.items += items.len();
            // The item was taken in this step, after its partition was read, so no reading contains it.
            let ownership = node.local_lease.hold();
            items.retain_mut(|item| {
                let term = ownership.term(queue, item.part as u8);
                item.term = term.unwrap_or_default();
                // The partition was lost meanwhile: its owner finds the item in the store.
                term.is_some()
            });
            drop(ownership);
            node.metrics.items_collected.inc_by(items.len() as u64);
            node.enqueue(queue, items);
        }
        if !collected.more {
            break;
        }
    }
    Ok(collected)
}
