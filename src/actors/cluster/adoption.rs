//! Reads the partitions that this node has claimed, and passes what is active to their queues.
//!
//! A reading may take long, so it runs beside claims, heartbeats and the hand-off table. Invariant: from
//! before a reading begins until the queues have its result, nothing is collected for its partitions.
//!
//! Partitions that come together are read in groups, one after another: the first one is continued when it
//! has been read, not when all are, and what is read at a time is bounded.

use std::collections::HashMap;

use super::*;
use crate::actors::context::messages::AdoptPartitions;
use crate::actors::context::ports::QueuePort;
use crate::actors::queue::seeds::Seeds;
use crate::store::cluster::Partition;

/// Active messages that a group should have, but for a single partition that has more.
const MANY: u64 = 100_000;

/// Partitions of a queue that are read before it is known how much they have.
const FEW: usize = 2;

/// Readings under way.
#[derive(Default)]
pub(super) struct Adoptions {
    partitions: HashSet<Partition>,
    count: usize,
}

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
        self.adopt_next(partitions, 1, None, ctx);
    }

    /// Reads the next so many of these partitions, and then the rest. It is known how much this queue has.
    fn adopt_next(
        &mut self,
        mut partitions: Vec<Partition>,
        count: usize,
        known: Option<u32>,
        ctx: &mut Context<Self>,
    ) {
        let rest = partitions.split_off(group(&partitions, count, known));
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
                    cluster.adoptions.forget(&partitions);
                    let next = match seeds {
                        Ok(_) if cluster.leaving => None,
                        Ok(seeds) => {
                            let next = next_group(partitions.len(), seeds.active);
                            cluster.adopted(&partitions, seeds, began);
                            (!rest.is_empty()).then_some(next)
                        }
                        // The next heartbeat shows them as this node's again.
                        Err(error) => {
                            tracing::warn!(%error, "a takeover failed and is tried again");
                            None
                        }
                    };
                    match next {
                        Some(count) => {
                            let known = partitions.last().map(|at| at.queue);
                            cluster.adopt_next(rest, count, known, ctx);
                        }
                        None => {
                            cluster.adoptions.forget(&rest);
                            cluster.adoptions.count -= 1;
                        }
                    }
                    if !cluster.leaving {
                        cluster.wanted.collect = true;
                        cluster.work(ctx);
                    }
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

// === impl Adoptions ===

impl Adoptions {
    /// These partitions are not being read any more, and do not wait for it.
    fn forget(&mut self, partitions: &[Partition]) {
        for partition in partitions {
            self.partitions.remove(partition);
        }
    }
}

/// How many of the first partitions to read together: up to `count`, but few of any other queue than the
/// known one, because each may have as many messages.
fn group(partitions: &[Partition], count: usize, known: Option<u32>) -> usize {
    let mut of_queue = 0;
    for (at, partition) in partitions.iter().enumerate() {
        let before = at.checked_sub(1).map(|before| partitions[before].queue);
        let is_same = before == Some(partition.queue);
        of_queue = if is_same { of_queue + 1 } else { 1 };
        if at == count || (of_queue > FEW && known != Some(partition.queue)) {
            return at;
        }
    }
    partitions.len()
}

/// How many partitions to read after so many with so many active messages: twice as many, because each
/// reading has a price of its own, but no more than have few enough.
fn next_group(read: usize, active: u64) -> usize {
    let few = MANY * read as u64 / active.max(1);
    (2 * read).min(few as usize).max(1)
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

#[cfg(test)]
mod tests {
    use super::{Partition, group, next_group};

    #[test]
    fn few_partitions_of_a_queue_tell_how_much_it_has() {
        let of = |queue, parts: u8| (0..parts).map(move |part| Partition { queue, part });
        let accounts = (10..18).flat_map(|queue| of(queue, 1));
        let all: Vec<Partition> = accounts.chain(of(20, 32)).chain(of(21, 32)).collect();
        assert_eq!(group(&all, 1, None), 1);
        assert_eq!(group(&all, 4, None), 4);
        assert_eq!(
            group(&all, 64, None),
            10,
            "two of the first queue that is split"
        );
        assert_eq!(group(&all[10..], 20, Some(20)), 20);
        assert_eq!(
            group(&all[10..], 64, Some(20)),
            32,
            "its rest, and two of the next"
        );
        assert_eq!(group(&all[70..], 64, Some(20)), 2);
    }

    #[test]
    fn groups_grow_until_they_have_much() {
        assert_eq!(next_group(1, 0), 2);
        assert_eq!(next_group(8, 20_000), 16);
        assert_eq!(next_group(2, 60_000), 3);
        assert_eq!(next_group(4, 800_000), 1, "never none");
    }
}
