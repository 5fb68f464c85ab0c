//! The tasks that publish for event sinks: those of the plan, whatever it is. Run by the task Export.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::task::{AbortHandle, JoinSet};

use super::sinks::{Publisher, SinkStates, sink_backlog};
use crate::actors::context::NodeContext;
use crate::actors::context::plan::SinkPlan;
use crate::actors::runtime::supervise::watch_for;
use crate::clock;

/// How often tasks are compared with the plan.
const ADAPT_EVERY: Duration = Duration::from_secs(1);

/// Starts and ends tasks so that they are those of the plan, without an end.
pub(super) async fn publish_all(node: &Arc<NodeContext>, states: &Arc<SinkStates>) {
    let mut running: HashMap<String, (Arc<SinkPlan>, AbortHandle)> = HashMap::new();
    let mut tasks = JoinSet::new();
    loop {
        let plan = node.full_plan();
        running.retain(|name, (sink, task)| {
            let is_same =
                |one: &Arc<SinkPlan>| (one.wants, &one.config) == (sink.wants, &sink.config);
            let stays = plan.sinks().iter().any(is_same);
            if !stays {
                task.abort();
                states.forget(name);
                node.metrics.forget_sink(name);
            }
            stays
        });
        for sink in plan.sinks() {
            let name = &sink.config.name;
            if running.contains_key(name) {
                continue;
            }
            let publisher = Publisher::new(Arc::clone(sink), Arc::clone(states));
            let task = tasks.spawn_local(publisher.publish(Arc::clone(node)));
            node.metrics.know_sink(name);
            running.insert(name.clone(), (Arc::clone(sink), task));
        }
        watch_for(ADAPT_EVERY, &mut tasks).await;
    }
}

/// Shows what waits for each sink.
pub(super) async fn count_sinks(node: &NodeContext) {
    let waiting = if node.local_lease.is_janitor() {
        sink_backlog(node).await
    } else {
        Ok(Vec::new())
    };
    match waiting {
        Ok(waiting) => {
            for sink in node.plan().sinks() {
                let one = waiting.iter().find(|one| one.reader == sink.wants.reader);
                let age = one.map_or(0, |one| clock::now_ms() - one.oldest_at);
                let events = one.map_or(0, |one| one.events);
                node.metrics.sink_waiting(&sink.config.name, events, age);
            }
        }
        Err(error) => tracing::warn!(%error, "events of sinks could not be counted"),
    }
}
