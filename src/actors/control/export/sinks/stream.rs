//! The broker of a sink: a stream of NATS JetStream.
//!
//! A connection is kept until something fails; what the client may have kept to send goes with it.

use async_nats::HeaderMap;
use async_nats::jetstream::Context;
use async_nats::jetstream::context::ContextBuilder;
use tokio::time::timeout;

use super::event::Publication;
use crate::actors::runtime::nats;
use crate::config::{EventSink, SinkFormat};

/// Events that are published before their acknowledgements are awaited, at most.
pub(super) const BATCH: usize = 1024;

/// Where the events of a sink go.
pub(super) struct Stream {
    config: EventSink,
    connected: Option<Context>,
}

// === impl Stream ===

impl Stream {
    pub(super) fn new(config: &EventSink) -> Self {
        Self {
            config: config.clone(),
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

    /// Publishes all, [`BATCH`] at most, and returns when the broker has acknowledged all.
    ///
    /// # Errors
    /// Why it has not; some may have arrived.
    pub(super) async fn publish(&mut self, all: &[Publication]) -> Result<(), String> {
        // Until all is well: a failure closes the connection.
        let stream = match self.connected.take() {
            Some(stream) => stream,
            None => self.connect().await?,
        };
        let limit = 2 * self.config.timeout;
        let published = timeout(limit, publish(&stream, self.config.format, all)).await;
        published.map_err(|late| late.to_string())??;
        self.connected = Some(stream);
        Ok(())
    }

    async fn connect(&self) -> Result<Context, String> {
        let client = nats::connect(&self.config.connection()).await;
        let client = client.map_err(|error| error.to_string())?;
        Ok(ContextBuilder::new()
            .timeout(self.config.timeout)
            .ack_timeout(self.config.timeout)
            .max_ack_inflight(BATCH)
            .build(client))
    }
}

async fn publish(stream: &Context, format: SinkFormat, all: &[Publication]) -> Result<(), String> {
    let failed = |error: async_nats::jetstream::context::PublishError| error.to_string();
    let mut acknowledgements = Vec::with_capacity(all.len());
    for event in all {
        let mut headers = HeaderMap::new();
        headers.insert("Nats-Msg-Id", event.id.as_str());
        headers.insert(
            "Content-Type",
            match format {
                SinkFormat::Json => "application/json",
                SinkFormat::Protobuf => "application/x-protobuf",
            },
        );
        if !event.trace.is_empty() {
            headers.insert("traceparent", event.trace.as_str());
        }
        let body = event.body.clone().into();
        let sent = stream.publish_with_headers(event.subject.clone(), headers, body);
        acknowledgements.push(sent.await.map_err(failed)?);
    }
    for acknowledgement in acknowledgements {
        acknowledgement.await.map_err(failed)?;
    }
    Ok(())
}
