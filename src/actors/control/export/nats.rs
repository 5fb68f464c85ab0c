//! Publishes ended messages as events on NATS JetStream, as `[nats]` says (docs/events.md).
//!
//! Events are finished in the store when the stream has acknowledged every one of a batch. What was not acknowledged,
//! or was but the node was killed before it had finished it, is published again with the same Nats-Msg-Id: a stream
//! drops it within its duplicate window, and a consumer can. While no server answers, events wait in the outbox and
//! nothing is kept here. What event sinks do beyond that is in `sinks.rs`; the stream is the same.

use std::sync::Arc;

use super::record;
use super::sinks::{BATCH, JSON, JetStream, Publication};
use super::step::{ABANDONED, Events, ExportError};
use crate::actors::context::NodeContext;
use crate::actors::receipts::just_ended::JustEnded;
use crate::config::Config;
use crate::store::outbox::{CdrRow, Outcome, Reader};

/// The reader that publishes.
pub(super) struct Nats {
    events: Events,
    stream: JetStream,
    subject: String,
}

// === impl Nats ===

impl Nats {
    /// `None` without servers.
    pub(super) fn start(config: &Config, just_ended: &Arc<JustEnded>) -> Option<Self> {
        (!config.nats.servers.is_empty()).then(|| Self {
            events: Events::new(
                Reader::Nats,
                format!("node:{}", config.node),
                Arc::clone(just_ended),
            ),
            stream: JetStream::new(config.nats.connection()),
            subject: config.nats.subject.clone(),
        })
    }

    /// Reads events once; false when there are no more.
    pub(super) async fn step(&mut self, node: &NodeContext) -> Result<bool, ExportError> {
        let Some(taken) = self.events.take(node, BATCH, ABANDONED).await? else {
            return Ok(false);
        };
        let ended = self.events.messages(node, &taken.ids).await?;
        let plan = node.plan();
        let records = ended.iter().flatten();
        let records = records.filter_map(|stored| record::record(&plan, stored));
        let all: Vec<Publication> = records.map(|record| self.publication(&record)).collect();
        // A commit may have more messages than were asked for, so the time is for each batch.
        for batch in all.chunks(BATCH) {
            let published = self.stream.publish(batch).await;
            published.map(drop).map_err(ExportError::Nats)?;
        }
        // Another node may have taken these over: it publishes them again.
        (self.events)
            .finish(node, taken.claim, Outcome::Elsewhere, &ended)
            .await?;
        Ok(taken.is_full)
    }

    fn publication(&self, record: &CdrRow) -> Publication {
        Publication {
            // The same whenever it is published.
            id: format!("{}.ended", record.id),
            destination: self.subject.clone(),
            content_type: JSON,
            body: record::object(record),
            ..Publication::default()
        }
    }
}
