//! The broker of a sink, of either kind: events are published in batches, and a batch is over when all of it is acknowledged.

use super::event::Publication;
use super::jetstream::JetStream;
use super::kafka::Kafka;
use crate::config::{EventSink, SinkKind};

/// Where the events of a sink go.
pub(super) enum Broker {
    Nats(JetStream),
    Kafka(Kafka),
}

// === impl Broker ===

impl Broker {
    /// Connects later.
    pub(super) fn new(sink: &EventSink) -> Self {
        match sink.kind {
            SinkKind::Nats => Self::Nats(JetStream::new(sink.nats_connection())),
            SinkKind::Kafka => Self::Kafka(Kafka::new(sink.kafka_connection())),
        }
    }

    pub(super) fn close(&mut self) {
        match self {
            Self::Nats(stream) => stream.close(),
            Self::Kafka(topics) => topics.close(),
        }
    }

    /// What events go to, for people; empty while nothing is connected.
    pub(super) fn server(&self) -> String {
        match self {
            Self::Nats(stream) => stream.server(),
            Self::Kafka(topics) => topics.server(),
        }
    }

    /// Publishes all, [`BATCH`](super::batch::BATCH) at most, and returns when the broker has acknowledged all: how many of
    /// them it had already, as far as it says so.
    ///
    /// # Errors
    /// Why it has not; some may have arrived.
    pub(super) async fn publish(&mut self, all: &[Publication]) -> Result<usize, String> {
        match self {
            Self::Nats(stream) => stream.publish(all).await,
            Self::Kafka(topics) => topics.publish(all).await.map(|()| 0),
        }
    }
}
