//! Labels of metrics about actors and queues, and about those who ask the SMSC or read from it: programs, readers of events, brokers.
//!
//! Values are few: routes and words of this program, and names of the configuration.

use prometheus_client::encoding::EncodeLabelSet;

/// A request to the HTTP API for accounts, and how it was answered.
#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
pub struct ApiLabel {
    pub method: &'static str,
    /// The pattern of the path, without ids.
    pub route: String,
    pub status: u16,
}

/// A request over the local socket, and how it was answered.
#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
pub struct LocalLabel {
    pub request: &'static str,
    pub result: &'static str,
}

/// An event sink.
#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
pub struct SinkLabel {
    pub sink: String,
}

/// Who reads events of the outbox.
#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
pub struct ReaderLabel {
    pub reader: &'static str,
}

/// Actors of one kind.
#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
pub struct ActorLabel {
    pub actor: &'static str,
}

/// A queue by name: as many as there are accounts and operators.
#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
pub struct QueueLabel {
    pub queue: String,
}

/// A queue, and the result of its attempts.
#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
pub struct AttemptLabel {
    pub queue: String,
    pub result: &'static str,
}

/// How a peer answered an attempt of a queue.
#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
pub struct AnswerLabel {
    pub queue: String,
    pub status: String,
}
