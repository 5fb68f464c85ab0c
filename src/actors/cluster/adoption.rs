//! Readings of the partitions that this node has claimed, which pass what is active to their queues.
//!
//! A reading may take long, so it runs beside claims, heartbeats and the hand-off table (`work`). Invariant: from
//! before a reading begins until the queues have its result, nothing is collected for its partitions.
//!
//! Partitions that come together are read in groups, one after another: the first one is continued when it
//! has been read, not when all are, and what is read at a time is bounded. One that cannot be read keeps no other waiting:
//! those behind it are read all the same, and it is found out which one it is.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use tokio::time::Instant;

use crate::actors::context::NodeContext;
use crate::actors::context::messages::AdoptPartitions;
use crate::actors::context::ports::QueuePort;
use crate::actors::queue::seeds::Seeds;
use crate::store::StoreError;
use crate::store::cluster::{ClusterStore, LeasedResource, Partition};

/// Active messages that a group should have, but for a single partition that has more.
const MANY: u64 = 100_000;

/// Partitions of a queue that are read before it is known how much they have.
const FEW: usize = 2;
/// Groups that could not be read until those behind them are left for later: the database is away.
pub const GIVE_UP: usize = 3;

/// How many times more partitions are read next, if they seem to have little.
const GROWTH: usize = 8;

/// Readings under way.
#[derive(Default)]
pub struct Adoptions {
    partitions: HashSet<Partition>,
    count: usize,
    /// How often the last readings of these have failed in a row.
    failed: HashMap<Partition, u32>,
}

// === impl Adoptions ===

impl Adoptions {
    /// Whether a resource may be claimed: no partition that is being read, and none at all while `most`
    /// readings are under way.
    pub fn allow(&self, resource: &LeasedResource, most: usize) -> bool {
        match resource {
            LeasedResource::Queue(at) => self.count < most && !self.partitions.contains(at),
            LeasedResource::Bind { .. } | LeasedResource::Janitor => true,
        }
    }

    /// The partitions that are being read, or wait for it.
    pub fn partitions(&self) -> Vec<Partition> {
        self.partitions.iter().copied().collect()
    }

    /// These will be read, one group after another.
    pub fn begin(&mut self, partitions: &[Partition]) {
        self.partitions.extend(partitions);
        self.count += 1;
    }

    /// A group has been read.
    pub fn has_read(&mut self, group: &[Partition]) {
        for partition in group {
            self.partitions.remove(partition);
        }
    }

    /// A group could not be read.
    pub fn has_failed(&mut self, group: &[Partition]) {
        for partition in group {
            *self.failed.entry(*partition).or_default() += 1;
        }
    }

    /// A group is continued here, or by others.
    pub fn forget_failures(&mut self, is_over: impl Fn(&Partition) -> bool) {
        self.failed.retain(|partition, _| !is_over(partition));
    }

    /// How many partitions are read first: one alone where some have failed again and again, because only one of a group
    /// may be the reason.
    pub fn first_group(&self) -> usize {
        if self.failing() > 0 { 1 } else { FEW }
    }

    /// Partitions whose readings have failed again and again.
    pub fn failing(&self) -> usize {
        self.failed.values().filter(|times| **times > 1).count()
    }

    /// All groups were read, or these that are left will not be.
    pub fn end(&mut self, left: &[Partition]) {
        self.has_read(left);
        self.count -= 1;
    }
}

/// The queue gets what was there before, and only then new work in memory.
pub fn pass_on(node: &NodeContext, partitions: &[Partition], mut seeds: Seeds, began: Instant) {
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
            Some((node.queue(queue)?, AdoptPartitions { parts, seeds }))
        })
        .collect();
    let resources: Vec<LeasedResource> = partitions
        .iter()
        .copied()
        .map(LeasedResource::Queue)
        .collect();
    let lease = &node.local_lease;
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

/// How many of the first partitions to read together: up to `count`, but few of any other queue than the
/// known one, because each may have as many messages.
pub fn group(partitions: &[Partition], count: usize, known: Option<u32>) -> usize {
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

/// How many partitions to read after so many with so many active messages: many more, because each reading looks
/// at all that the low-water mark has not passed, but no more than have few enough.
pub fn next_group(read: usize, active: u64) -> usize {
    let few = MANY * read as u64 / active.max(1);
    (GROWTH * read).min(few as usize).max(1)
}

/// What is active in these partitions, which were claimed in this generation of the local lease.
///
/// # Errors
/// The store does not answer, or this node has lost everything since.
pub async fn read(
    node: &NodeContext,
    store: &dyn ClusterStore,
    partitions: Vec<Partition>,
    generation: u64,
) -> Result<Seeds, StoreError> {
    // The barrier ensures that decisions of an earlier ownership are in the snapshot.
    store.barrier().await?;
    let mut seeds = Seeds::new(&node.config());
    let lease = Arc::clone(&node.local_lease);
    let is_wanted = Arc::new(move || lease.generation() == generation);
    for active in store.take_over(partitions, is_wanted).await? {
        seeds.add(active);
    }
    Ok(seeds)
}

#[cfg(test)]
mod tests {
    use super::{Adoptions, Partition, group, next_group};

    #[test]
    fn what_fails_again_is_failing() {
        let [one, other] = [1, 2].map(|part| Partition { queue: 7, part });
        let mut adoptions = Adoptions::default();
        adoptions.has_failed(&[one, other]);
        assert_eq!(adoptions.failing(), 0, "a database that failed over");
        adoptions.has_failed(&[one]);
        assert_eq!(adoptions.failing(), 1);
        adoptions.has_failed(&[other]);
        adoptions.forget_failures(|at| *at == one);
        assert_eq!(adoptions.failing(), 1);
        adoptions.forget_failures(|_| true);
        assert_eq!(adoptions.failing(), 0);
    }

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
        assert_eq!(next_group(2, 0), 16);
        assert_eq!(next_group(4, 20_000), 20);
        assert_eq!(next_group(2, 60_000), 3);
        assert_eq!(next_group(4, 800_000), 1, "never none");
    }
}
