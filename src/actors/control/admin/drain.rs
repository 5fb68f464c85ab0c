//! The drain of this node: intake stops, windows are finished, and in a cluster other nodes take over
//! what it held. When the drain ends, the node takes everything up again.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use crate::actors::context::NodeContext;
use crate::actors::context::addresses::SupervisorAddress;
use crate::pb::command_drain::Verb;
use crate::pb::{DrainView, SlotsChanged};

/// When to start binds again that were still ending when the drain ended.
const BINDS_END: [Duration; 3] = [
    Duration::ZERO,
    Duration::from_secs(1),
    Duration::from_secs(5),
];

/// Executes a command and returns how far the drain is.
pub(super) fn command(
    node: &Arc<NodeContext>,
    supervisor: &SupervisorAddress,
    verb: Verb,
) -> DrainView {
    match verb {
        Verb::Begin if !node.draining.swap(true, Ordering::Relaxed) => {
            tracing::info!("draining: intake is stopped, windows are being finished");
            // Binds that wait for their next attempt have nothing to finish.
            node.binds.all().iter().for_each(|port| port.wake());
        }
        Verb::End if node.draining.swap(false, Ordering::Relaxed) => {
            tracing::info!("the drain has ended: taking messages again");
            actix::spawn(start_binds(Arc::clone(node), supervisor.clone()));
        }
        _ => {}
    }
    look(node)
}

fn look(node: &NodeContext) -> DrainView {
    let held =
        |queue: &Arc<crate::actors::context::ports::QueuePort>| queue.held.load(Ordering::Relaxed);
    DrainView {
        draining: node.draining.load(Ordering::Relaxed),
        in_flight: node.queues().iter().map(held).sum(),
        sessions: node.binds.all().len() as u64,
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
