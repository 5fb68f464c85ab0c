//! Administrators' commands for other nodes: left in the shared store, executed by the other node's
//! Admin.
//!
//! Queues and operators exist on every node; a message is on only one.

use std::sync::Arc;

use prost::Message as _;

use crate::actors::context::NodeContext;
use crate::pb::order::What;
use crate::pb::{Message, Order, Refusal, SubscriberReady};
use crate::store::cluster::{Hint, Partition};

/// Leaves a command for every other live node; returns whether there is one.
pub async fn to_others(node: &NodeContext, what: What) -> Result<bool, Refusal> {
    send(node, node.other_nodes(), what).await
}

/// Leaves a command for one node.
pub async fn to_node(node: &NodeContext, to: u8, what: What) -> Result<bool, Refusal> {
    send(node, vec![to], what).await
}

async fn send(node: &NodeContext, nodes: Vec<u8>, what: What) -> Result<bool, Refusal> {
    let Some(cluster) = node.cluster.as_ref().filter(|_| !nodes.is_empty()) else {
        return Ok(false);
    };
    let order = Order { what: Some(what) }.encode_to_vec();
    cluster.order(nodes.clone(), order).await?;
    cluster.wake(&nodes, Hint::Orders);
    Ok(true)
}

/// Tells the other nodes that a subscriber is there again, in a task of its own.
pub fn tell_ready(node: &Arc<NodeContext>, ready: SubscriberReady) {
    if node.cluster.is_some() && node.ready_relay.add(ready) {
        actix::spawn(tell_all_ready(Arc::clone(node)));
    }
}

async fn tell_all_ready(node: Arc<NodeContext>) {
    loop {
        let untold = node.ready_relay.take();
        if untold.is_empty() {
            return;
        }
        let (mut unheard, mut why) = (0, None);
        for ready in untold {
            if let Err(error) = to_others(&node, What::Subscriber(ready)).await {
                unheard += 1;
                why = Some(error);
            }
        }
        if let Some(error) = why {
            tracing::warn!(
                ?error,
                subscribers = unheard,
                "other nodes do not hear that subscribers are there again"
            );
        }
    }
}

/// The other node that has this message in its queue; `None` for this one.
pub fn owner_of(node: &NodeContext, queue: u32, message: &Message) -> Option<u8> {
    if !node.local_lease.is_shared() {
        return None;
    }
    let part = node.held_as(queue, node.part_of(queue, &message.destination));
    node.local_lease
        .cluster_view()
        .owner_of(Partition { queue, part })
        .filter(|owner| *owner != node.ids.node())
}
