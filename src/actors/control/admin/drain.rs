//! The drain of this node: intake stops, windows are finished, and in a cluster other nodes take over
//! what it held. When the drain ends, the node takes everything up again.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::context::AdminContext;
use crate::actors::context::NodeContext;
use crate::actors::context::addresses::SupervisorAddress;
use crate::api::Drain;
use crate::pb::SlotsChanged;

/// When to start binds again that were still ending when the drain ended.
const BINDS_END: [Duration; 3] = [
    Duration::ZERO,
    Duration::from_secs(1),
    Duration::from_secs(5),
];

/// How far the drain is.
pub async fn show(admin: Arc<AdminContext>) -> Drain {
    look(&admin.node)
}

/// Begins the drain, and says how far it is.
pub async fn begin(admin: Arc<AdminContext>) -> Drain {
    let node = &admin.node;
    if !node.draining.swap(true, Ordering::Relaxed) {
        tracing::info!("draining: intake is stopped, windows are being finished");
        // Binds that wait for their next attempt have nothing to finish.
        node.binds.all().iter().for_each(|port| port.wake());
    }
    look(node)
}

/// Ends the drain.
pub async fn end(admin: Arc<AdminContext>) -> Drain {
    let node = &admin.node;
    if node.draining.swap(false, Ordering::Relaxed) {
        tracing::info!("the drain has ended: taking messages again");
        actix::spawn(start_binds(Arc::clone(node), admin.supervisor.clone()));
    }
    look(node)
}

fn look(node: &NodeContext) -> Drain {
    let held =
        |queue: &Arc<crate::actors::context::ports::QueuePort>| queue.held.load(Ordering::Relaxed);
    let draining = node.draining.load(Ordering::Relaxed);
    let in_flight = node.queues().iter().map(held).sum();
    let sessions = node.binds.all().len() as u64;
    Drain {
        draining,
        in_flight,
        sessions,
        finished: draining && in_flight == 0 && sessions == 0,
    }
}

/// Starts the binds that have ended.
async fn start_binds(node: Arc<NodeContext>, supervisor: SupervisorAddress) {
    for pause in BINDS_END {
        tokio::time::sleep(pause).await;
        if node.draining.load(Ordering::Relaxed) {
            return;
        }
        let _ = supervisor.recipient().send(SlotsChanged {}).await;
    }
}
