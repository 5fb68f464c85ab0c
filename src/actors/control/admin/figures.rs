//! What the actors publish, as HTTP asks for it: of this node, or of the whole cluster.

use std::sync::Arc;

use super::context::AdminContext;
use super::snapshots::{self, NodeSnapshot};
use super::whole;
use crate::pb::{BindSnapshot, OperatorView, QueueSnapshot};

/// Every bind of this node, oldest first.
pub async fn binds(admin: Arc<AdminContext>) -> Vec<BindSnapshot> {
    snapshots::binds(&admin.node)
}

/// Every queue, by name: with the figures of the whole cluster, or only what is on this node.
pub async fn queues(admin: Arc<AdminContext>, own: bool) -> Vec<QueueSnapshot> {
    let look = if own {
        snapshots::queues
    } else {
        whole::queues
    };
    look(&admin.node)
}

/// Every operator, by id, with its binds: of the whole cluster, or only what is on this node.
pub async fn operators(admin: Arc<AdminContext>, own: bool) -> Vec<OperatorView> {
    let look = if own {
        snapshots::operators
    } else {
        whole::operators
    };
    look(&admin.node)
}

/// Every GSM network, as operators are shown.
pub async fn gsms(admin: Arc<AdminContext>, own: bool) -> Vec<OperatorView> {
    let look = if own { snapshots::gsms } else { whole::gsms };
    look(&admin.node)
}

/// Everything that the actors of this node publish; or with the queues and the traffic of the whole cluster.
pub async fn collect(admin: Arc<AdminContext>, own: bool) -> NodeSnapshot {
    let look = if own { snapshots::node } else { whole::node };
    NodeSnapshot {
        nats_sources: admin.sources.list(),
        ..look(&admin.node, &admin.intake.balance)
    }
}
