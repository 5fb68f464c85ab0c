//! Ends of messages that wait for the section `[nats]` of builds before: the event sink that replaces it publishes them.
//!
//! [`EventReader::Nats`] and this file can go when no store of such a build is opened any more.

use crate::actors::context::NodeContext;
use crate::config::{EventSink, FORMER_NATS, SinkEventKind, SinkKind};
use crate::store::outbox::EventReader;

/// Their reader in the outbox, as the numbers of sinks are.
pub(super) const LEFT: i16 = EventReader::Nats as i16;

/// Whether a sink replaces the section.
pub(super) fn replaces_nats(sink: &EventSink) -> bool {
    sink.name == FORMER_NATS
        && sink.kind == SinkKind::Nats
        && sink.events.contains(&SinkEventKind::Ended)
}

/// Says how many there are, and what becomes of them.
pub(super) async fn announce(node: &NodeContext) {
    let waiting = match node.store.backlog().await {
        Ok(waiting) => waiting,
        Err(error) => return tracing::warn!(%error, "waiting events could not be counted"),
    };
    let Some(left) = waiting.iter().find(|one| one.reader == EventReader::Nats) else {
        return;
    };
    let (plan, messages) = (node.full_plan(), left.events);
    if plan.sinks().iter().any(|sink| replaces_nats(&sink.config)) {
        tracing::info!(
            messages,
            "the event sink {FORMER_NATS:?} publishes what waits for the section [{FORMER_NATS}]"
        );
    } else {
        tracing::warn!(
            messages,
            "ends of messages wait for the section [{FORMER_NATS}] of the build before; an event sink with the name \
             {FORMER_NATS:?} that wants \"ended\" publishes them, and without one they are dropped after outbox.hold"
        );
    }
}
