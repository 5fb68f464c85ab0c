//! The cluster as JSON: `GET /v1/nodes`.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::time;
use smsc_proto as pb;

/// `GET /v1/nodes`: empty with the embedded store.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Nodes {
    pub nodes: Vec<Node>,
    /// The database's clock when this was read.
    #[schema(format = DateTime)]
    pub as_of: Option<String>,
}

/// One process that shares the store.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
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

// === conversions ===

impl From<pb::NodeList> for Nodes {
    fn from(list: pb::NodeList) -> Self {
        Self {
            nodes: list.nodes.into_iter().map(Node::from).collect(),
            as_of: time(list.now),
        }
    }
}

impl From<pb::ClusterNode> for Node {
    fn from(node: pb::ClusterNode) -> Self {
        let state = match (node.alive, node.draining) {
            (false, _) => "lost",
            (true, true) => "draining",
            (true, false) => "alive",
        };
        Self {
            node: node.node,
            epoch: node.epoch,
            this_node: node.this_node,
            state: state.to_owned(),
            lease_ms: node.lease_ms,
            name: node.name,
            version: node.version,
            roles: node.roles,
            http: node.http,
            smpp: node.smpp,
            since: time(node.since),
            queues: node
                .queues
                .into_iter()
                .map(|share| QueueShare {
                    queue: share.queue,
                    partitions: share.partitions,
                })
                .collect(),
            binds: node.binds,
            janitor: node.janitor,
            bound: node.bound,
            esmes: node.esmes,
            waiting: node.waiting,
            scheduled: node.scheduled,
            in_flight: node.in_flight,
            accepted_total: node.accepted,
            delivered_total: node.delivered,
            failed_total: node.failed,
        }
    }
}
