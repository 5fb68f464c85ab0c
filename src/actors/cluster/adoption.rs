//! Reads the partitions that this node has claimed, and passes what is active to their queues.
//!
//! A reading may take long, so it runs beside claims, heartbeats and the hand-off table. Invariant: from
//! before a reading begins until the queues have its result, nothing is collected for its partitions.

use std::collections::HashMap;

use super::*;
use crate::actors::context::messages::AdoptPartitions;
use crate::actors::context::ports::QueuePort;
use crate::actors::queue::seeds::Seeds;

// === impl Cluster ===

impl Cluster {
    /// Whether a resource may be claimed: no partition that is being read, and none at all while as many
    /// readings are under way as may be. Half of the connections are left for everything else.
    pub(super) fn may_adopt(&self, resource: &Resource) -> bool {
        let most = (self.node.config().postgres.readers / 2).max(1);
        match resource {
            Resource::Queue(at) => {
                self.adoptions.count < most && !self.adoptions.partitions.contains(at)
            }
            Resource::Bind { .. } | Resource::Janitor => true,
        }
    }

    /// The partitions that are being read.
    pub(super) fn adopting(&self) -> Vec<Partition> {
        self.adoptions.partitions.iter().copied().collect()
    }

    pub(super) fn adopt(&mut self, resources: Vec<Resource>, ctx: &mut Context<Self>) {
        if resources.is_empty() {
            return;
        }
        let partitions: Vec<Partition> = resources
            .iter()
            .filter_map(|resource| match resource {
                Resource::Queue(partition) => Some(*partition),
                _ => None,
            })
            .collect();
        self.adoptions.partitions.extend(&partitions);
        self.adoptions.count += 1;
        let generation = self.node.local_lease.generation();
        let (node, store) = (Arc::clone(&self.node), Arc::clone(&self.store));
        let reading = async move {
            let began = Instant::now();
            let seeds = read(&node, store.as_ref(), partitions.clone()).await;
            (partitions, seeds, began)
        };
        ctx.spawn(
            reading
                .into_actor(self)
                .map(move |(partitions, seeds, began), cluster, ctx| {
                    if cluster.node.local_lease.generation() != generation {
                        return;
                    }
                    cluster.adoptions.count -= 1;
                    for partition in &partitions {
                        cluster.adoptions.partitions.remove(partition);
                    }
                    match seeds {
                        Ok(_) if cluster.leaving => return,
                        Ok(seeds) => cluster.adopted(&partitions, seeds, began),
                        // The next heartbeat shows them as this node's again.
                        Err(error) => {
                            tracing::warn!(%error, "a takeover failed and is tried again");
                        }
                    }
                    cluster.wanted.collect = true;
                    cluster.work(ctx);
                }),
        );
    }

    /// The queue gets what was there before, and only then new work in memory.
    fn adopted(&mut self, partitions: &[Partition], mut seeds: Seeds, began: Instant) {
        let mut by_queue: HashMap<u32, Vec<u8>> = HashMap::new();
        for partition in partitions {
            by_queue
                .entry(partition.queue)
                .or_default()
                .push(partition.part);
        }
        let adoptions: Vec<(Arc<QueuePort>, AdoptPartitions)> = by_queue
            .into_iter()
            .filter_map(|(queue, parts)| {
                let seeds = seeds.queues.remove(&queue).unwrap_or_default();
                Some((self.node.queue(queue)?, AdoptPartitions { parts, seeds }))
            })
            .collect();
        let resources: Vec<Resource> = partitions.iter().copied().map(Resource::Queue).collect();
        let lease = &self.node.local_lease;
        lease.gain(lease.generation(), &resources, || {
            for (port, adoption) in adoptions {
                port.post_in_order(adoption);
            }
        });
        tracing::info!(
            partitions = partitions.len(),
            active = seeds.active,
            ms = began.elapsed().as_millis() as u64,
            "partitions taken over"
        );
    }
}

async fn read(
    node: &NodeContext,
    store: &dyn ClusterStore,
    partitions: Vec<Partition>,
) -> Result<Seeds, StoreError> {
    // The barrier ensures that decisions of an earlier ownership are in the snapshot.
    store.barrier().await?;
    let mut seeds = Seeds::new(&node.config());
    for active in store.take_over(partitions).await? {
        seeds.add(active);
    }
    Ok(seeds)
}
