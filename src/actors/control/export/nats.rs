//! Publishes ended messages as events on NATS JetStream (docs/events.md).
//!
//! Events are finished in the store when the stream has acknowledged every one of a batch. What was not acknowledged,
//! or was but the node was killed before it had finished it, is published again with the same Nats-Msg-Id: a stream
//! drops it within its duplicate window, and a consumer can. While no server answers, events wait in the outbox and
//! nothing is kept here.

use std::io;
use std::sync::Arc;

use async_nats::HeaderMap;
use async_nats::jetstream::context::ContextBuilder;
use async_nats::jetstream::{self, Context};
use tokio::time::timeout;

use super::record;
use super::step::{ABANDONED, Events, ExportError};
use crate::actors::context::NodeContext;
use crate::actors::receipts::just_ended::JustEnded;
use crate::actors::runtime::nats;
use crate::config::{self, Config};
use crate::store::outbox::{CdrRow, Outcome, Reader};

/// Messages whose events are published before their acknowledgements are awaited.
const BATCH: usize = 1024;

/// The reader that publishes.
pub(super) struct Nats {
    events: Events,
    /// `None` until a server has answered, and again after a failure: what the client may have kept to send goes
    /// with it.
    stream: Option<Context>,
}

/// Names the event in the whole installation, the same whenever it is published.
fn event_id(message: u64) -> String {
    format!("{message}.ended")
}

async fn connect(nats: &config::Nats) -> io::Result<Context> {
    let client = nats::connect(&nats.connection()).await?;
    Ok(ContextBuilder::new()
        .timeout(nats.timeout)
        .ack_timeout(nats.timeout)
        .max_ack_inflight(BATCH)
        .build(client))
}

/// Publishes all, and returns when the stream has all.
async fn publish(
    stream: &Context,
    subject: &str,
    records: &[CdrRow],
) -> Result<(), jetstream::context::PublishError> {
    let mut acknowledgements = Vec::with_capacity(records.len());
    for record in records {
        let mut headers = HeaderMap::new();
        headers.insert("Nats-Msg-Id", event_id(record.id));
        headers.insert("Content-Type", "application/json");
        let event = record::object(record).into();
        let sent = stream.publish_with_headers(subject.to_owned(), headers, event);
        acknowledgements.push(sent.await?);
    }
    for acknowledgement in acknowledgements {
        acknowledgement.await?;
    }
    Ok(())
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
            stream: None,
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
        self.send(&node.config().nats, &records.collect::<Vec<_>>())
            .await?;
        // Another node may have taken these over: it publishes them again.
        (self.events)
            .finish(node, taken.claim, Outcome::Elsewhere, &ended)
            .await?;
        Ok(taken.is_full)
    }

    async fn send(&mut self, nats: &config::Nats, records: &[CdrRow]) -> Result<(), ExportError> {
        let failed = |error: &dyn ToString| ExportError::Nats(error.to_string());
        // Until all is well: a failure, or the end of this work, closes the connection.
        let stream = match self.stream.take() {
            Some(stream) => stream,
            None => connect(nats).await.map_err(|error| failed(&error))?,
        };
        // A commit may have more messages than were asked for, so the time is for each batch.
        for batch in records.chunks(BATCH) {
            let published = timeout(2 * nats.timeout, publish(&stream, &nats.subject, batch));
            match published.await {
                Ok(published) => published.map_err(|error| failed(&error))?,
                Err(late) => return Err(failed(&late)),
            }
        }
        self.stream = Some(stream);
        Ok(())
    }
}
