//! Publishes on NATS JetStream.
//!
//! A connection is kept until something fails; what the client may have kept to send goes with it.

use async_nats::HeaderMap;
use async_nats::jetstream::Context;
use async_nats::jetstream::context::{ContextBuilder, PublishError};

use super::batch::{BATCH, within};
use super::event::Publication;
use crate::actors::runtime::nats;
use crate::config::NatsConnection;

/// Streams of one cluster.
pub(super) struct JetStream {
    connection: NatsConnection,
    connected: Option<Context>,
}

// === impl JetStream ===

impl JetStream {
    /// Connects later.
    pub(super) fn new(connection: NatsConnection) -> Self {
        Self {
            connection,
            connected: None,
        }
    }

    pub(super) fn close(&mut self) {
        self.connected = None;
    }

    /// The name of the server, as it says itself; empty without one.
    pub(super) fn server(&self) -> String {
        let connected = self.connected.as_ref();
        connected.map_or_else(String::new, |stream| {
            let info = stream.client().server_info();
            format!("{} {}", info.server_name, info.version)
        })
    }

    /// Publishes all, [`BATCH`] at most, and returns when the streams have acknowledged all: how many of them they had
    /// already, and have dropped.
    ///
    /// # Errors
    /// Why they have not; some may have arrived.
    pub(super) async fn publish(&mut self, all: &[Publication]) -> Result<usize, String> {
        // Until all is well: a failure closes the connection.
        let stream = match self.connected.take() {
            Some(stream) => stream,
            None => self.connect().await?,
        };
        let limit = 2 * self.connection.timeout;
        let had = within(limit, publish(&stream, all)).await?;
        self.connected = Some(stream);
        Ok(had)
    }

    async fn connect(&self) -> Result<Context, String> {
        let client = nats::connect(&self.connection).await;
        let client = client.map_err(|error| error.to_string())?;
        Ok(ContextBuilder::new()
            .timeout(self.connection.timeout)
            .ack_timeout(self.connection.timeout)
            .max_ack_inflight(BATCH)
            .build(client))
    }
}

async fn publish(stream: &Context, all: &[Publication]) -> Result<usize, String> {
    let failed = |error: PublishError| error.to_string();
    let mut acknowledgements = Vec::with_capacity(all.len());
    for event in all {
        let mut headers = HeaderMap::new();
        headers.insert("Nats-Msg-Id", event.id.as_str());
        headers.insert("Content-Type", event.content_type);
        if !event.trace.is_empty() {
            headers.insert("traceparent", event.trace.as_str());
        }
        let body = event.body.clone().into();
        let sent = stream.publish_with_headers(event.destination.clone(), headers, body);
        acknowledgements.push(sent.await.map_err(failed)?);
    }
    let mut had = 0;
    for acknowledgement in acknowledgements {
        let acknowledged = acknowledgement.await.map_err(failed)?;
        had += usize::from(acknowledged.duplicate);
    }
    Ok(had)
}
