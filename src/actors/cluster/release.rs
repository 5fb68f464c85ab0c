//! Gives resources back: drains them first, so that the next holder begins where this one has ended. Each queue is
//! drained by itself: a session that does not answer holds up no other queue.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use actix::fut::{ActorStreamExt, wrap_stream};
use actix::{AsyncContext, Context};
use futures_util::stream::{FuturesUnordered, Stream, StreamExt};
use tokio::time::Instant;

use super::Cluster;
use crate::actors::context::NodeContext;
use crate::pb::{FlushCorrelation, ReleasePartitions};
use crate::store::StoreError;
use crate::store::cluster::{ClusterStore, LeasedResource};

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

    pub(super) fn give_back(&mut self, resources: Vec<LeasedResource>, ctx: &mut Context<Self>) {
        let resources: Vec<LeasedResource> = {
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
        let generation = self.node.local_lease.generation();
        let caution = self.store.caution();
        let released = wrap_stream(release(&self.node, &self.store, &resources));
        let noted = released.map(move |(resources, released), cluster: &mut Self, _| {
            if cluster.node.local_lease.generation() != generation {
                return;
            }
            if released.is_ok() {
                let partitions = resources.iter().filter_map(LeasedResource::partition);
                cluster.handed_in.extend(partitions.map(|at| (at, caution)));
            }
            cluster.given_back.extend(resources);
            cluster.forget_given_back();
            match released {
                Ok(()) => cluster.tell_others(),
                // The database still shows it as ours: the next heartbeat takes it up again.
                Err(error) => {
                    tracing::warn!(%error, "partitions and bind slots could not be given back")
                }
            }
            cluster.next_beat = Instant::now();
        });
        ctx.spawn(noted.finish());
    }
}

/// Resources that were drained together, and whether the cluster has them back.
type DrainedTogether = (Vec<LeasedResource>, Result<(), StoreError>);

/// Drains resources that were given up here, and gives them back to the cluster: all that are drained together in one
/// step.
fn release(
    node: &Arc<NodeContext>,
    store: &Arc<dyn ClusterStore>,
    resources: &[LeasedResource],
) -> impl Stream<Item = DrainedTogether> + use<> {
    let generation = node.local_lease.generation();
    let mut by_queue: BTreeMap<Option<u32>, Vec<LeasedResource>> = BTreeMap::new();
    for resource in resources {
        let queue = match resource {
            LeasedResource::Queue(partition) => Some(partition.queue),
            LeasedResource::Bind { operator, .. } => Some(*operator),
            LeasedResource::Janitor => None,
        };
        by_queue.entry(queue).or_default().push(*resource);
    }
    let count = by_queue.len().max(1);
    let drains = by_queue.into_iter().map(|(queue, resources)| {
        let node = Arc::clone(node);
        async move {
            if let Some(queue) = queue {
                drain(&node, queue, generation, &resources).await;
            }
            resources
        }
    });
    let (node, store) = (Arc::clone(node), Arc::clone(store));
    let drained = drains.collect::<FuturesUnordered<_>>().ready_chunks(count);
    drained.then(move |drained| {
        let (node, store) = (Arc::clone(&node), Arc::clone(&store));
        async move {
            let resources = drained.concat();
            let released = hand_in(&node, store.as_ref(), generation, &resources).await;
            (resources, released)
        }
    })
}

/// Waits until no session here uses these slots of an operator, or holds a message of these partitions of its queue.
async fn drain(node: &NodeContext, queue: u32, generation: u64, resources: &[LeasedResource]) {
    let (mut parts, mut slots) = (Vec::new(), Vec::new());
    for resource in resources {
        match *resource {
            LeasedResource::Queue(partition) => parts.push(u32::from(partition.part)),
            LeasedResource::Bind { slot, .. } => slots.push(slot),
            LeasedResource::Janitor => {}
        }
    }
    // Binds first: their responses settle messages that the queue holds.
    let free = tokio::time::timeout(DRAIN, slots_are_free(node, queue, &slots)).await;
    let mut is_late = free.is_err();
    // After the loss of the lease the queue may have these partitions anew.
    if node.local_lease.generation() == generation
        && !parts.is_empty()
        && let Some(port) = node.queue(queue)
    {
        let released = port.send(ReleasePartitions { parts });
        is_late |= tokio::time::timeout(DRAIN, released).await.is_err();
    }
    if is_late {
        tracing::warn!(queue = %node.name_of(queue), "given back with unanswered messages");
    }
}

/// Gives drained resources back to the cluster.
async fn hand_in(
    node: &NodeContext,
    store: &dyn ClusterStore,
    generation: u64,
    resources: &[LeasedResource],
) -> Result<(), StoreError> {
    settled(node, store).await?;
    // They were lost and regained meanwhile, so this release is obsolete.
    if node.local_lease.generation() != generation {
        return Err(StoreError::Fenced);
    }
    store.release(resources.to_vec()).await
}

/// Waits until no session uses these slots of an operator any more.
async fn slots_are_free(node: &NodeContext, operator: u32, slots: &[u32]) {
    while !slots.is_empty() {
        let mut ports = node.binds.of_owner(operator);
        ports.retain(|port| slots.contains(&port.slot.load(Ordering::Relaxed)));
        if ports.is_empty() {
            return;
        }
        // A bind between two attempts checks at once whether it is still configured.
        ports
            .iter()
            .filter(|port| !port.is_bound())
            .for_each(|port| port.wake());
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
    let mine: Vec<LeasedResource> = {
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
    let mut released = Box::pin(release(&node, &store, &mine));
    let mut done = Ok(());
    while let Some((_, result)) = released.next().await {
        done = done.and(result);
    }
    // Of what was given back before, sessions may have reported since.
    if let Err(error) = done.and(settled(&node, store.as_ref()).await) {
        tracing::warn!(%error, "other nodes take over when the lease is over");
    }
    match tokio::task::spawn_blocking(move || store.leave()).await {
        Ok(Ok(())) => tracing::info!("left the cluster"),
        Ok(Err(error)) => tracing::warn!(%error, "left the cluster without saying so"),
        Err(error) => tracing::warn!(%error, "left the cluster without saying so"),
    }
}
