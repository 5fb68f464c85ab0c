//! Claims, takeovers and the inbox: one after another, so that an item that is in the inbox when its
//! partition is taken over comes once, by the takeover.

use std::collections::HashMap;

use super::*;
use crate::actors::admin;
use crate::actors::ports::QueuePort;
use crate::actors::queue::{AdoptPartitions, Seeds};
use crate::pb::{Order, QueueItem};
use crate::store::cluster::Partition;

/// Most items taken out of the inbox at a time.
const INBOX: usize = 2000;

/// What has to be done next.
#[derive(Default)]
pub(super) struct Wanted {
    pub claim: Vec<Resource>,
    /// Held in the database already, but not here.
    pub adopt: Vec<Resource>,
    pub collect: bool,
}

// === impl Cluster ===

impl Cluster {
    /// Waits for wake-ups of other nodes, for ever.
    pub(super) fn listen(&mut self, ctx: &mut Context<Self>) {
        let woken = Arc::clone(&self.woken);
        let wait = async move { woken.notified().await };
        ctx.spawn(wait.into_actor(self).map(|(), cluster, ctx| {
            cluster.wanted.collect = true;
            cluster.work(ctx);
            cluster.listen(ctx);
        }));
    }

    pub(super) fn work(&mut self, ctx: &mut Context<Self>) {
        let idle =
            !self.wanted.collect && self.wanted.claim.is_empty() && self.wanted.adopt.is_empty();
        if idle || self.working || self.leaving || self.stood_back || !self.hub.tenure.is_valid() {
            return;
        }
        self.working = true;
        let wanted = std::mem::take(&mut self.wanted);
        self.next_poll = Instant::now() + self.hub.config().cluster.poll;
        let work = step(Arc::clone(&self.hub), Arc::clone(&self.store), wanted);
        ctx.spawn(work.into_actor(self).map(|done, cluster, ctx| {
            cluster.working = false;
            match done {
                Ok(binds_came) => {
                    if binds_came {
                        cluster.slots_changed();
                    }
                    cluster.work(ctx);
                }
                // The next beat shows what is to be done again.
                Err(error) => tracing::warn!(%error, "work of the cluster is put off"),
            }
        }));
    }
}

/// Whether bind slots were gained.
async fn step(
    hub: Arc<Hub>,
    store: Arc<dyn ClusterStore>,
    wanted: Wanted,
) -> Result<bool, StoreError> {
    let mut gained = wanted.adopt;
    if !wanted.claim.is_empty() {
        gained.extend(store.claim(wanted.claim).await?);
    }
    let (partitions, others): (Vec<Resource>, Vec<Resource>) = gained
        .into_iter()
        .partition(|resource| matches!(resource, Resource::Queue(_)));
    if !others.is_empty() {
        hub.tenure.gain(&others, || {});
    }
    if !partitions.is_empty() {
        adopt(&hub, store.as_ref(), partitions).await?;
    }
    collect(&hub, store.as_ref()).await?;
    for octets in store.orders().await? {
        match <Order as prost::Message>::decode(octets.as_slice()) {
            Ok(order) => drop(actix::spawn(admin::execute(Arc::clone(&hub), order))),
            Err(error) => tracing::warn!(%error, "an order that cannot be read is dropped"),
        }
    }
    Ok(others
        .iter()
        .any(|resource| matches!(resource, Resource::Bind { .. })))
}

async fn adopt(
    hub: &Hub,
    store: &dyn ClusterStore,
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
    let mut seeds = Seeds::default();
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
            Some((hub.queue(queue)?, AdoptPartitions { parts, seeds }))
        })
        .collect();
    // Only from here on does work for them come in memory: first what was there before.
    hub.tenure.gain(&resources, || {
        for (port, adoption) in adoptions {
            post(&port.addr, adoption);
        }
    });
    tracing::info!(
        partitions = partitions.len(),
        active = seeds.active,
        ms = began.elapsed().as_millis() as u64,
        "partitions taken over"
    );
    Ok(())
}

async fn collect(hub: &Hub, store: &dyn ClusterStore) -> Result<(), StoreError> {
    loop {
        let items = store.collect(INBOX).await?;
        let count = items.len();
        let mut by_queue: HashMap<u32, Vec<QueueItem>> = HashMap::new();
        for item in items {
            by_queue.entry(item.queue).or_default().push(QueueItem {
                id: item.id,
                what: item.what.into(),
                priority: item.priority,
                due_at: item.due_at,
                expires_at: item.expires_at,
                attempts: item.attempts,
                message: None,
                part: item.part.into(),
            });
        }
        hub.metrics.handed_over.inc_by(count as u64);
        for (queue, items) in by_queue {
            hub.enqueue(queue, items);
        }
        if count < INBOX {
            return Ok(());
        }
    }
}
