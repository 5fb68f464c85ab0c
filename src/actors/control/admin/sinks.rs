//! Event sinks in the admin API: what waits for each, and what has become of publishing.

use std::sync::Arc;

use super::context::AdminContext;
use crate::actors::control::export::sink_backlog;
use crate::api::{Sink, Sinks, time};
use crate::clock;
use crate::pb::Refusal;

/// Every configured sink. What waits is that of all nodes; the rest is known where events are published.
pub async fn list(admin: Arc<AdminContext>) -> Result<Sinks, Refusal> {
    let node = &admin.node;
    let waiting = sink_backlog(node).await?;
    let plan = node.full_plan();
    let now = clock::now_ms();
    let some = |text: String| Some(text).filter(|text| !text.is_empty());
    let view = |config: &crate::config::EventSink| {
        let enabled = plan
            .sinks()
            .iter()
            .find(|one| one.config.name == config.name);
        let waits = enabled.and_then(|sink| {
            let reader = sink.wants.reader;
            waiting.iter().find(|one| one.reader == reader)
        });
        let state = admin.sinks.of(&config.name).unwrap_or_default();
        Sink {
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
            oldest_ms: waits.map_or(0, |one| (now - one.oldest_at).max(0).unsigned_abs()),
            publishes_here: node.local_lease.is_janitor(),
            server: some(state.server),
            published: state.published,
            published_at: time(state.published_at),
            last_error: some(state.last_error),
            failed_at: time(state.failed_at),
        }
    };
    Ok(Sinks {
        sinks: plan.config.event_sink.iter().map(view).collect(),
    })
}
