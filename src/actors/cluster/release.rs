//! Gives resources back: drains them first, so that the next holder begins where this one has ended.

use std::collections::BTreeMap;

use super::*;
use crate::actors::context::ports::BindPort;
use crate::pb::{FlushCorrelation, ReleasePartitions};

/// Longer than an operator may take to answer.
const DRAIN: Duration = Duration::from_secs(60);
const LOOK: Duration = Duration::from_millis(50);

// === impl Cluster ===

impl Cluster {
    /// A resource that was given back may come again in a step that begins now.
    pub(super) fn forget_given_back(&mut self) {
        if self.working || self.given_back.is_empty() {
            return;
        }
        self.node
            .local_lease
            .left(&std::mem::take(&mut self.given_back));
        self.releases += 1;
        self.wanted.adopt.clear();
    }

    pub(super) fn give_back(&mut self, resources: Vec<Resource>, ctx: &mut Context<Self>) {
        let resources: Vec<Resource> = {
            let ownership = self.node.local_lease.hold();
            resources
                .into_iter()
                .filter(|resource| ownership.has(resource))
                .collect()
        };
        if resources.is_empty() {
            return;
        }
        self.node.local_lease.lose(&resources);
        let (node, store) = (Arc::clone(&self.node), Arc::clone(&self.store));
        let generation = node.local_lease.generation();
        let work = async move {
            let released = release(&node, store.as_ref(), generation, &resources).await;
            (resources, released)
        };
        ctx.spawn(
            work.into_actor(self)
                .map(move |(resources, released), cluster, _| {
                    if cluster.node.local_lease.generation() != generation {
                        return;
                    }
                    cluster.given_back.extend(resources);
                    cluster.forget_given_back();
                    match released {
                        Ok(()) => cluster.tell_others(),
                        // The database still shows it as ours: the next heartbeat takes it up again.
                        Err(error) => tracing::warn!(%error, "partitions and bind slots could not be given back"),
                    }
                    cluster.next_beat = Instant::now();
                }),
        );
    }
}

/// Drains resources that were given up here, and gives them back to the cluster.
async fn release(
    node: &NodeContext,
    store: &dyn ClusterStore,
    generation: u64,
    resources: &[Resource],
) -> Result<(), StoreError> {
    if node.local_lease.generation() != generation {
        return Err(StoreError::Fenced);
    }
    let mut by_queue: BTreeMap<u32, Vec<u8>> = BTreeMap::new();
    let mut slots = Vec::new();
    for resource in resources {
        match *resource {
            Resource::Queue(Partition { queue, part }) => {
                by_queue.entry(queue).or_default().push(part);
            }
            Resource::Bind { operator, slot } => slots.push((operator, slot)),
            Resource::Janitor => {}
        }
    }
    // Binds first: their responses settle messages that the queues hold.
    let free = tokio::time::timeout(DRAIN, slots_are_free(node, &slots)).await;
    if node.local_lease.generation() != generation {
        return Err(StoreError::Fenced);
    }
    let queues: Vec<_> = by_queue
        .into_iter()
        .filter_map(|(queue, parts)| {
            let parts = parts.into_iter().map(u32::from).collect();
            Some(node.queue(queue)?.send(ReleasePartitions { parts }))
        })
        .collect();
    let told = tokio::time::timeout(DRAIN, futures_util::future::join_all(queues)).await;
    if free.is_err() || told.is_err() {
        tracing::warn!("given back with unanswered messages");
    }
    settled(node, store).await?;
    // They were lost and regained meanwhile, so this release is obsolete.
    if node.local_lease.generation() != generation {
        return Err(StoreError::Fenced);
    }
    store.release(resources.to_vec()).await
}

/// Waits until no session uses these slots any more.
async fn slots_are_free(node: &NodeContext, slots: &[(u32, u32)]) {
    let uses = |port: &Arc<BindPort>| {
        slots.iter().any(|(operator, slot)| {
            port.owner.load(Ordering::Relaxed) == *operator
                && port.slot.load(Ordering::Relaxed) == *slot
        })
    };
    while !slots.is_empty() && node.binds.all().iter().any(uses) {
        // A bind between two attempts checks at once whether it is still configured.
        node.binds
            .all()
            .iter()
            .filter(|port| uses(port))
            .for_each(|port| {
                if !port.is_bound() {
                    port.wake();
                }
            });
        tokio::time::sleep(LOOK).await;
    }
}

/// Waits until everything that sessions have reported is in the store.
async fn settled(node: &NodeContext, store: &dyn ClusterStore) -> Result<(), StoreError> {
    let _ = node.correlation.recipient().send(FlushCorrelation {}).await;
    store.barrier().await
}

/// Gives everything back and ends the membership; sessions have been drained before.
pub(super) async fn leave(node: Arc<NodeContext>, store: Arc<dyn ClusterStore>) {
    let mine: Vec<Resource> = {
        let ownership = node.local_lease.hold();
        let cluster_view = node.local_lease.cluster_view();
        cluster_view
            .view
            .held
            .iter()
            .map(|held| held.resource)
            .filter(|resource| ownership.has(resource))
            .collect()
    };
    node.local_lease.lose(&mine);
    if let Err(error) = release(&node, store.as_ref(), node.local_lease.generation(), &mine).await {
        tracing::warn!(%error, "other nodes take over when the lease is over");
    }
    match tokio::task::spawn_blocking(move || store.leave()).await {
        Ok(Ok(())) => tracing::info!("left the cluster"),
        Ok(Err(error)) => tracing::warn!(%error, "left the cluster without saying so"),
        Err(error) => tracing::warn!(%error, "left the cluster without saying so"),
    }
}
