//! Event sinks as the admin API shows them: what waits, and what has become of publishing.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// `GET /v1/sinks`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Sinks {
    pub sinks: Vec<Sink>,
}

/// One event sink of the configuration.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Sink {
    pub name: String,
    /// The broker: `nats` or `kafka`.
    pub kind: String,
    pub enabled: bool,
    /// What it wants to hear of.
    pub events: Vec<String>,
    /// The subject or topic of its events, as configured.
    pub subject: String,
    /// Events that are not acknowledged yet, of all nodes; at least as many, where very many wait.
    pub waiting: u64,
    /// Age of the oldest of them; 0 when none waits.
    pub oldest_ms: u64,
    /// Whether the answering node publishes. What follows is of that node, since its process was started.
    pub publishes_here: bool,
    /// As the server of NATS calls itself, or the configured brokers of Kafka; null while nothing is connected.
    pub server: Option<String>,
    pub published: u64,
    pub published_at: Option<String>,
    /// Why publishing failed the last time; null if it never did.
    pub last_error: Option<String>,
    pub failed_at: Option<String>,
}
