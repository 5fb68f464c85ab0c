//! The rights of this node: its lease, its queue partitions, its bind slots.
//!
//! The cluster actor writes it, all actors read it. With the embedded store the only node owns
//! everything for ever, and each call costs a branch at most. Invariant: work for a partition is either
//! dispatched in memory, while this node holds the partition, or goes through the shared hand-off table
//! in the same transaction. A caller that decides between the two keeps [`LocalLease::hold`] until the
//! store has its batch, and a partition is given up under the same lock before anybody waits for the
//! store. An item dispatched in memory carries the *term* of that decision, so that a queue which has
//! read the partition from the store knows whether it has read the item, however late the item arrives.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use arc_swap::ArcSwap;
use tokio::time::Instant;

use crate::domain::partition::WHOLE;
use crate::store::cluster::{LeasedResource, NodeView, Partition, View};

/// The rights of this node.
pub struct LocalLease {
    shared: bool,
    began: Instant,
    /// Until when this node may act, in milliseconds since `began`.
    until_ms: AtomicU64,
    ownership: RwLock<Ownership>,
    cluster_view: ArcSwap<ClusterView>,
    /// The last term that has begun.
    terms: AtomicU64,
    /// How often this node has lost everything: work begun in an earlier generation must not be
    /// finished.
    generation: AtomicU64,
}

/// The resources that this node holds.
#[derive(Debug, Default)]
pub struct Ownership {
    everything: bool,
    /// Each with its term.
    partitions: HashMap<Partition, u64, ahash::RandomState>,
    /// Terms of queues that were read again, for stores in which everything is this node's.
    terms: HashMap<u32, u64, ahash::RandomState>,
    binds: HashSet<(u32, u32)>,
    janitor: bool,
    /// Given up here, but perhaps still this node's in the database.
    leaving: HashSet<LeasedResource>,
}

/// The state of the whole cluster at the last heartbeat.
#[derive(Debug, Default)]
pub struct ClusterView {
    pub view: View,
    owners: HashMap<Partition, u8, ahash::RandomState>,
    served: HashSet<u32, ahash::RandomState>,
    /// Queues of which parts are held.
    divided: HashSet<u32, ahash::RandomState>,
    /// Bind slots of nodes that enforce limits by themselves: operator and node.
    alone: Vec<(u32, u8)>,
}

// === impl LocalLease ===

impl LocalLease {
    /// For the only node of an embedded store: it owns everything.
    pub fn alone() -> Self {
        Self::new(false, u64::MAX)
    }

    /// For a member of a cluster, which holds nothing before its first heartbeat.
    pub fn member() -> Self {
        Self::new(true, 0)
    }

    fn new(shared: bool, until_ms: u64) -> Self {
        Self {
            shared,
            began: Instant::now(),
            until_ms: AtomicU64::new(until_ms),
            ownership: RwLock::new(Ownership {
                everything: !shared,
                janitor: !shared,
                ..Ownership::default()
            }),
            cluster_view: ArcSwap::default(),
            terms: AtomicU64::new(0),
            generation: AtomicU64::new(0),
        }
    }

    /// Whether other nodes use the same store.
    pub fn is_shared(&self) -> bool {
        self.shared
    }

    /// Whether the lease is still valid by this machine's monotonic clock.
    pub fn is_valid(&self) -> bool {
        let until = self.until_ms.load(Ordering::Relaxed);
        until == u64::MAX || (self.began.elapsed().as_millis() as u64) < until
    }

    /// The lease was renewed and is valid until `until`.
    pub fn renew(&self, until: Instant) {
        let until = until.saturating_duration_since(self.began).as_millis() as u64;
        self.until_ms.store(until, Ordering::Relaxed);
    }

    /// All that this node holds of what nodes share.
    pub fn held(&self) -> Vec<LeasedResource> {
        let ownership = self.hold();
        let partitions = ownership
            .partitions
            .keys()
            .copied()
            .map(LeasedResource::Queue);
        let binds = ownership.binds.iter();
        let binds = binds.map(|&(operator, slot)| LeasedResource::Bind { operator, slot });
        let janitor = ownership.janitor.then_some(LeasedResource::Janitor);
        partitions.chain(binds).chain(janitor).collect()
    }

    /// Locks ownership while the caller decides and gives its batch to the store.
    pub fn hold(&self) -> RwLockReadGuard<'_, Ownership> {
        self.ownership
            .read()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self) -> RwLockWriteGuard<'_, Ownership> {
        self.ownership
            .write()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes whenever this node loses everything.
    pub fn generation(&self) -> u64 {
        self.generation.load(Ordering::SeqCst)
    }

    /// Takes over resources that were requested in `generation`; `then` runs before any actor can use
    /// them. Returns false if this node has lost everything since: another node may have them by now.
    pub fn gain(&self, generation: u64, resources: &[LeasedResource], then: impl FnOnce()) -> bool {
        let mut ownership = self.change();
        if self.generation() != generation {
            return false;
        }
        let term = self.next_term();
        for resource in resources {
            match *resource {
                LeasedResource::Queue(partition) => {
                    ownership.partitions.insert(partition, term);
                }
                LeasedResource::Bind { operator, slot } => {
                    ownership.binds.insert((operator, slot));
                }
                LeasedResource::Janitor => ownership.janitor = true,
            }
        }
        then();
        true
    }

    /// Begins a new term for the held partitions of a queue that is about to be read from the store, or
    /// was read. It separates earlier decisions from later ones.
    pub fn begin_term(&self, queue: u32) -> u64 {
        let mut ownership = self.change();
        let term = self.next_term();
        if ownership.everything {
            ownership.terms.insert(queue, term);
        }
        let own = ownership.partitions.iter_mut();
        own.filter(|(partition, _)| partition.queue == queue)
            .for_each(|(_, own)| *own = term);
        term
    }

    fn next_term(&self) -> u64 {
        self.terms.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Gives resources up: from now on no actor of this node acts for them, and reports that this node
    /// owns them are obsolete until [`LocalLease::left`].
    pub fn lose(&self, resources: &[LeasedResource]) {
        let mut ownership = self.change();
        ownership.leaving.extend(resources);
        for resource in resources {
            match *resource {
                LeasedResource::Queue(partition) => {
                    ownership.partitions.remove(&partition);
                }
                LeasedResource::Bind { operator, slot } => {
                    ownership.binds.remove(&(operator, slot));
                }
                LeasedResource::Janitor => ownership.janitor = false,
            }
        }
    }

    /// These resources may be gained again.
    pub fn left(&self, resources: &[LeasedResource]) {
        let mut ownership = self.change();
        for resource in resources {
            ownership.leaving.remove(resource);
        }
    }

    /// The lease has ended: this node holds nothing any more.
    pub fn lose_everything(&self) {
        self.until_ms.store(0, Ordering::Relaxed);
        let mut ownership = self.change();
        self.generation.fetch_add(1, Ordering::SeqCst);
        *ownership = Ownership::default();
    }

    pub fn holds_bind(&self, operator: u32, slot: u32) -> bool {
        let ownership = self.hold();
        ownership.everything || (self.is_valid() && ownership.binds.contains(&(operator, slot)))
    }

    /// The share of an operator's binds whose slots this node holds.
    pub fn share_of_binds(&self, operator: u32, binds: u32) -> f64 {
        let ownership = self.hold();
        if ownership.everything {
            return 1.0;
        }
        let held = ownership.binds.iter();
        let own = held.filter(|(of, slot)| *of == operator && *slot < binds);
        own.count() as f64 / f64::from(binds.max(1))
    }

    /// Whether this node does the work that one node does for all.
    pub fn is_janitor(&self) -> bool {
        self.hold().janitor && self.is_valid()
    }

    pub fn cluster_view(&self) -> arc_swap::Guard<std::sync::Arc<ClusterView>> {
        self.cluster_view.load()
    }

    pub fn set_view(&self, view: View) {
        self.cluster_view
            .store(std::sync::Arc::new(ClusterView::new(view)));
    }
}

// === impl Ownership ===

impl Ownership {
    pub fn owns(&self, queue: u32, part: u8) -> bool {
        self.term(queue, part).is_some()
    }

    /// The term in which this node owns a partition; `None` if it does not. A new term begins whenever
    /// the partition is read from the store: that reading includes earlier decisions.
    pub fn term(&self, queue: u32, part: u8) -> Option<u64> {
        if !self.everything {
            return self.partitions.get(&Partition { queue, part }).copied();
        }
        if self.terms.is_empty() {
            Some(0)
        } else {
            Some(self.terms.get(&queue).copied().unwrap_or_default())
        }
    }

    /// The partition in which this node owns messages of a part, with its term: that part, or the whole queue.
    pub fn home(&self, queue: u32, part: u8) -> Option<(u8, u64)> {
        let of = |part| Some((part, self.term(queue, part)?));
        of(part).or_else(|| of(WHOLE))
    }

    pub fn has(&self, resource: &LeasedResource) -> bool {
        self.everything
            || match *resource {
                LeasedResource::Queue(partition) => self.partitions.contains_key(&partition),
                LeasedResource::Bind { operator, slot } => self.binds.contains(&(operator, slot)),
                LeasedResource::Janitor => self.janitor,
            }
    }

    /// Whether this node is giving the resource back.
    pub fn is_leaving(&self, resource: &LeasedResource) -> bool {
        self.leaving.contains(resource)
    }

    /// The partitions held of one queue.
    pub fn parts_of(&self, queue: u32) -> Vec<u8> {
        self.partitions
            .keys()
            .filter(|partition| partition.queue == queue)
            .map(|partition| partition.part)
            .collect()
    }
}

// === impl ClusterView ===

impl ClusterView {
    fn new(view: View) -> Self {
        let owners = view
            .held
            .iter()
            .filter_map(|held| match held.resource {
                LeasedResource::Queue(partition) => Some((partition, held.node)),
                _ => None,
            })
            .collect();
        let served = view
            .nodes
            .iter()
            .filter(|node| node.lives_for.is_some() && !node.card.draining)
            .flat_map(|node| node.card.serving.iter().copied())
            .collect();
        let is_alone = |number: u8| {
            let mut nodes = view.nodes.iter();
            nodes.any(|node| node.node == number && node.card.limits_alone)
        };
        let alone = view.held.iter().filter_map(|held| match held.resource {
            LeasedResource::Bind { operator, .. } if is_alone(held.node) => {
                Some((operator, held.node))
            }
            _ => None,
        });
        Self {
            owners,
            served,
            divided: view.divided().collect(),
            alone: alone.collect(),
            view,
        }
    }

    /// The node that owns a partition, as far as this node knows.
    pub fn owner_of(&self, partition: Partition) -> Option<u8> {
        self.owners.get(&partition).copied()
    }

    /// Whether a queue is held in parts, as far as this node knows.
    pub fn is_divided(&self, queue: u32) -> bool {
        self.divided.contains(&queue)
    }

    /// How many bind slots of an operator are held by other nodes than `me` that enforce limits by themselves.
    pub fn binds_alone(&self, operator: u32, me: u8) -> usize {
        let alone = self.alone.iter();
        alone
            .filter(|(of, node)| *of == operator && *node != me)
            .count()
    }

    /// Whether a live node other than `me` can send the messages of a queue: it has a session, and no
    /// open breaker.
    pub fn lets(&self, queue: u32, me: u8) -> bool {
        self.others(me).any(|node| {
            let card = &node.card;
            !card.draining && card.serving.contains(&queue) && !card.tripped.contains(&queue)
        })
    }

    /// Waiting and unanswered messages of a queue on other nodes, as of their last heartbeats.
    pub fn to_do(&self, queue: u32, me: u8) -> u64 {
        let of = |node: &NodeView| {
            let place = node.card.to_do.iter().find(|(at, _)| *at == queue);
            place.map_or(0, |(_, count)| *count)
        };
        self.others(me).map(of).sum()
    }

    fn others(&self, me: u8) -> impl Iterator<Item = &NodeView> {
        let nodes = self.view.nodes.iter();
        nodes.filter(move |node| node.lives_for.is_some() && node.node != me)
    }

    /// Whether any node has a session for this queue.
    pub fn serves(&self, queue: u32) -> bool {
        self.served.contains(&queue)
    }
}

#[cfg(test)]
mod tests;
