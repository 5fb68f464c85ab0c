//! Publishes events for sinks: one task for each sink of the plan, on the node that does the work for all nodes.
//!
//! Rows of the outbox are read in their order, published, and deleted when the broker has acknowledged every event of
//! them. What was not acknowledged, or was but the node was killed before it deleted the rows, is published again with
//! the same id. Two events with the same key are never under way together: the later one waits for the
//! acknowledgement of the earlier one ([`waves`]), so that no failure changes their order. While no server answers,
//! events wait in the outbox and nothing is kept here.

mod batch;
mod broker;
mod event;
mod health;
mod jetstream;
mod kafka;

use std::collections::HashMap;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use self::batch::BATCH;
use self::broker::Broker;
use self::event::Publication;
pub(super) use self::health::Watch;
use super::left_by_nats::{LEFT, replaces_nats};
use super::told::EventMessages;
use crate::actors::context::NodeContext;
use crate::actors::context::plan::SinkPlan;
use crate::actors::runtime::locks::lock;
use crate::clock;
use crate::config::SinkEventKind;
use crate::store::StoreError;
use crate::store::sinks::SinkBacklog;

/// Between two looks at an outbox that had nothing.
const PAUSE: Duration = Duration::from_millis(500);
/// Pause after a failure.
const LONG_PAUSE: Duration = Duration::from_secs(5);

/// Why events were not published; they will be tried again.
#[derive(Debug, thiserror::Error)]
enum SinkError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("{0}")]
    Broker(String),
}

/// What has become of publishing, on the node that does it.
#[derive(Default)]
pub struct SinkStates(Mutex<HashMap<String, SinkState>>);

/// What has become of publishing to one sink, on the node that does it.
#[derive(Debug, Clone, Default)]
pub struct SinkState {
    /// Since the process was started.
    pub published: u64,
    /// Unix milliseconds, 0 for never.
    pub published_at: i64,
    /// Why publishing failed the last time; empty if it never did.
    pub last_error: String,
    /// Unix milliseconds.
    pub failed_at: i64,
    /// The servers that events go to; empty while there is none.
    pub server: String,
}

/// Publishes the events of one sink.
pub(super) struct Publisher {
    plan: Arc<SinkPlan>,
    broker: Broker,
    states: Arc<SinkStates>,
    /// What is read next may have been published before: by a node before this one, or before a failure.
    may_repeat: bool,
}

/// What waits for the sinks of the plan, and for the mirror in Redis.
pub async fn sink_backlog(node: &NodeContext) -> Result<Vec<SinkBacklog>, StoreError> {
    let wanted = node.plan().wanted_by_sinks();
    let readers: Vec<i16> = wanted.iter().map(|one| one.reader).collect();
    if readers.is_empty() {
        Ok(Vec::new())
    } else {
        node.store.sink_backlog(readers).await
    }
}

// === impl Publisher ===

impl Publisher {
    pub(super) fn new(plan: Arc<SinkPlan>, states: Arc<SinkStates>) -> Self {
        Self {
            broker: Broker::new(&plan.config),
            plan,
            states,
            may_repeat: true,
        }
    }

    pub(super) async fn publish(mut self, node: Arc<NodeContext>) {
        let name = self.plan.config.name.clone();
        let mut failed_before = false;
        loop {
            // Another one publishes; so does the next one when this node stops.
            let is_leaving = node.local_lease.is_shared() && node.draining.load(Ordering::Relaxed);
            if is_leaving || !node.local_lease.is_janitor() {
                self.broker.close();
                self.may_repeat = true;
                tokio::time::sleep(PAUSE).await;
                continue;
            }
            let step = self.step(&node).await;
            let pause = match &step {
                Ok(true) => Duration::ZERO,
                Ok(false) => PAUSE,
                Err(error) => {
                    self.may_repeat = true;
                    self.states.failed(&name, &error.to_string());
                    node.metrics.sink_failed(&name);
                    if !failed_before {
                        tracing::error!(%error, sink = name, "events cannot be published");
                    }
                    LONG_PAUSE
                }
            };
            if step.is_ok() && failed_before {
                tracing::info!(sink = name, "events are published again");
            }
            failed_before = step.is_err();
            tokio::time::sleep(pause).await;
        }
    }

    /// Reads and publishes events once; false when there are no more.
    async fn step(&mut self, node: &NodeContext) -> Result<bool, SinkError> {
        let has_more = self.publish_of(node, self.plan.wants.reader).await?;
        if has_more || !replaces_nats(&self.plan.config) {
            return Ok(has_more);
        }
        self.publish_of(node, LEFT).await
    }

    /// Reads events of one reader once and publishes them; false when it has no more.
    async fn publish_of(&mut self, node: &NodeContext, reader: i16) -> Result<bool, SinkError> {
        let is_own = reader != LEFT;
        let Some(read) = node.store.read_sink(reader, BATCH).await? else {
            self.may_repeat &= !is_own;
            return Ok(false);
        };
        let plan = node.full_plan();
        let reports = self.plan.config.events.contains(&SinkEventKind::Dlr);
        let store = node.store.as_ref();
        let (known, lost) = EventMessages::read(store, &plan, &read.events, reports).await?;
        let mut all = Vec::with_capacity(read.events.len());
        for one in &read.events {
            event::publications(&plan, &self.plan, &known, one, &mut all);
        }
        let (published, mut had) = (all.len(), 0);
        for wave in waves(all) {
            // A commit may have more events than were asked for, so the time is for each part.
            for part in wave.chunks(BATCH) {
                let published = self.broker.publish(part).await;
                had += published.map_err(SinkError::Broker)?;
            }
        }
        node.store.finish_sink(reader, read.rows).await?;
        let name = &self.plan.config.name;
        node.metrics.sink_published(name, published, lost);
        self.states.published(name, published, self.broker.server());
        if had > 0 && is_own && !self.may_repeat {
            let error = format!(
                "the stream had {had} of these events from somebody else, and has dropped them: give each sink a stream of \
                 its own"
            );
            tracing::error!(%error, sink = name, "events are lost");
            self.states.failed(name, &error);
            node.metrics.sink_failed(name);
        }
        // Rows with lower numbers may have come since a read that failed, so its last ones are read by a later step.
        // Nodes of a build before write for both readers at once: what was published of theirs is among our own rows, too.
        self.may_repeat = !is_own || self.may_repeat && read.is_full;
        if lost > 0 {
            tracing::error!(
                lost,
                sink = name,
                "messages were deleted before their events were read"
            );
        }
        Ok(read.is_full)
    }
}

/// The order in which events are published: each round has one event of a key at most, and is over before the next.
fn waves(all: Vec<Publication>) -> Vec<Vec<Publication>> {
    let mut waves: Vec<Vec<Publication>> = Vec::new();
    let mut next: HashMap<String, usize> = HashMap::new();
    for one in all {
        let wave = next.entry(one.key.clone()).or_default();
        match waves.get_mut(*wave) {
            Some(others) => others.push(one),
            None => waves.push(vec![one]),
        }
        *wave += 1;
    }
    waves
}

// === impl SinkStates ===

impl SinkStates {
    /// What is known of a sink that this node publishes, or has published.
    pub fn of(&self, name: &str) -> Option<SinkState> {
        lock(&self.0).get(name).cloned()
    }

    pub(super) fn forget(&self, name: &str) {
        lock(&self.0).remove(name);
    }

    fn failed(&self, name: &str, error: &str) {
        let mut all = lock(&self.0);
        let state = all.entry(name.to_owned()).or_default();
        state.last_error = error.to_owned();
        state.failed_at = clock::now_ms();
        state.server.clear();
    }

    fn published(&self, name: &str, events: usize, server: String) {
        let mut all = lock(&self.0);
        let state = all.entry(name.to_owned()).or_default();
        state.published += events as u64;
        state.published_at = clock::now_ms();
        state.server = server;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(key: &str, id: &str) -> Publication {
        Publication {
            id: id.to_owned(),
            key: key.to_owned(),
            ..Publication::default()
        }
    }

    #[test]
    fn events_of_a_message_are_never_under_way_together() {
        let all = [("a", "1"), ("b", "2"), ("a", "3"), ("a", "4"), ("b", "5")];
        let waves = waves(all.map(|(key, id)| event(key, id)).to_vec());
        let ids: Vec<Vec<&str>> = waves
            .iter()
            .map(|wave| wave.iter().map(|one| &one.id[..]).collect())
            .collect();
        assert_eq!(ids, [vec!["1", "2"], vec!["3", "5"], vec!["4"]]);
    }
}
