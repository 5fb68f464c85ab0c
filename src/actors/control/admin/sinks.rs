//! Event sinks in the admin API: what waits for each, and what has become of publishing.

use std::sync::Arc;

use crate::actors::context::NodeContext;
use crate::actors::control::export::{SinkStates, sink_backlog};
use crate::clock;
use crate::pb::{ListSinks, Refusal, SinkList, SinkView};

/// Every configured sink. What waits is that of all nodes; the rest is known where events are published.
pub(super) async fn list(
    node: Arc<NodeContext>,
    states: Arc<SinkStates>,
    _: ListSinks,
) -> Result<SinkList, Refusal> {
    let waiting = sink_backlog(&node).await?;
    let plan = node.full_plan();
    let now = clock::now_ms();
    let view = |config: &crate::config::EventSink| {
        let enabled = plan
            .sinks()
            .iter()
            .find(|one| one.config.name == config.name);
        let waits = enabled.and_then(|sink| {
            let reader = sink.wants.reader;
            waiting.iter().find(|one| one.reader == reader)
        });
        let state = states.of(&config.name).unwrap_or_default();
        SinkView {
            name: config.name.clone(),
            kind: config.kind.as_str().to_owned(),
            enabled: config.enabled,
            events: config
                .events
                .iter()
                .map(|one| one.as_str().to_owned())
                .collect(),
            subject: config.destination().to_owned(),
            waiting: waits.map_or(0, |one| one.events),
            oldest_ms: waits.map_or(0, |one| (now - one.oldest_at).max(0)),
            publishes_here: node.local_lease.is_janitor(),
            server: state.server,
            published: state.published,
            published_at: state.published_at,
            last_error: state.last_error,
            failed_at: state.failed_at,
        }
    };
    Ok(SinkList {
        sinks: plan.config.event_sink.iter().map(view).collect(),
    })
}
