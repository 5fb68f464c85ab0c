//! Sources of commands on NATS as the admin API shows them.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// `GET /v1/nats-sources/state`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct NatsSourceStates {
    /// Those that the node which answers takes commands from.
    pub sources: Vec<NatsSourceState>,
}

/// One source, as this node stands. Counts are those since the node was started.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct NatsSourceState {
    pub name: String,
    /// The node has its consumer.
    pub connected: bool,
    /// Commands that the node has under way.
    pub in_flight: u64,
    /// Commands of the stream that no node has been given yet, as last counted while connected.
    pub waiting: u64,
    /// Sequence up to which the store knows that commands of the stream are done with: a consumer that has to be made anew begins
    /// behind it.
    #[serde(default)]
    pub done_up_to: u64,
    /// Commands that became messages.
    pub accepted: u64,
    /// Deliveries of commands that had become messages before.
    pub repeated: u64,
    /// Deliveries that were put off.
    pub delayed: u64,
    /// Commands that went to the dead letters.
    pub dead: u64,
    /// Commands that ended without a dead letter, because it could not be published.
    #[serde(default)]
    pub terminated: u64,
    /// The last of them, newest first.
    #[serde(default)]
    pub ended: Vec<EndedCommand>,
    /// Why it last failed; `null` if it has not since it was connected.
    pub trouble: Option<String>,
}

/// A command that ended without a dead letter.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct EndedCommand {
    #[schema(format = DateTime)]
    pub at: Option<String>,
    /// Its place in the stream.
    pub stream_sequence: u64,
    /// Why it was not taken.
    pub reason: String,
}
