//! The cluster as JSON: `GET /v1/nodes`.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// `GET /v1/nodes`: empty with the embedded store.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Nodes {
    pub nodes: Vec<Node>,
    /// The database's clock when this was read.
    #[schema(format = DateTime)]
    pub as_of: Option<String>,
}

/// One process that shares the store.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Node {
    /// 0-255, part of the message ids made there.
    pub node: u32,
    /// New at every join; writes of an older one are refused.
    pub epoch: u64,
    /// The node that answers.
    pub this_node: bool,
    /// `alive`, `draining`, or `lost` when its lease is over.
    pub state: String,
    /// Milliseconds until its lease ends.
    pub lease_ms: u64,
    /// Host name and process.
    pub name: String,
    pub version: String,
    /// Of `smpp`, `delivery`, `http`, `janitor`.
    pub roles: Vec<String>,
    pub http: String,
    pub smpp: Vec<String>,
    /// When it joined.
    #[schema(format = DateTime)]
    pub since: Option<String>,
    /// Queue partitions that it owns.
    pub queues: Vec<QueueShare>,
    /// Outbound bind slots that it holds, as `operator/slot`.
    pub binds: Vec<String>,
    /// How many queue partitions it owns.
    #[serde(default)]
    pub partitions: u32,
    /// How many outbound bind slots it holds.
    #[serde(default)]
    pub binds_held: u32,
    /// It does what one node does for all.
    pub janitor: bool,
    /// Binds to operators that are up; this and the following as of its last heartbeat.
    #[serde(default)]
    pub bound: u32,
    /// ESMEs bound to it.
    #[serde(default)]
    pub esmes: u64,
    /// Messages in its queues that are ready to go.
    #[serde(default)]
    pub waiting: u64,
    /// Not before their time.
    #[serde(default)]
    pub scheduled: u64,
    /// At a session, without an answer.
    #[serde(default)]
    pub in_flight: u64,
    /// Messages acknowledged since it started; this and the following as of its last heartbeat.
    #[serde(default)]
    pub accepted_total: u64,
    /// Messages that ended DELIVERED or ACCEPTED.
    #[serde(default)]
    pub delivered_total: u64,
    /// Messages that ended in any other final state.
    #[serde(default)]
    pub failed_total: u64,
}

/// How much of a queue a node owns.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct QueueShare {
    pub queue: String,
    pub partitions: u32,
}
