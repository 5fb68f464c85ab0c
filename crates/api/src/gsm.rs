//! GSM networks, as the admin API shows them: what is configured, and how this SMSC is connected.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::copies::copies;
use super::settings::Resource;
use super::{Bind, OperatorOnNode, Queue, time};
use smsc_domain::command_status;
use smsc_proto as pb;

/// One GSM network, with the connections to it and its queue.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct GsmNetwork {
    pub name: String,
    /// Host and port of the HLR; over MAP those of the signalling gateways.
    pub address: String,
    /// `up`, `partly up`, `down`, `name taken` when no connection is used because another program seems to have our name
    /// at the HLR, `paused` until it is resumed, or `disabled`.
    pub state: String,
    /// Another program seems to have our name, on some node: `last_error` says why that is assumed.
    pub name_taken: bool,
    /// Connections that are up, of those that nodes make.
    pub connected: u32,
    pub configured: u32,
    /// Of the connection that failed last; empty while all are up.
    pub last_error: String,
    /// MT-forwardSMs of the node that answers that wait for their answer.
    pub outstanding: u32,
    /// How many MT-forwardSMs of the node that answers had which result, since it was started; as in the history of
    /// messages, ESME_ROK for those that have arrived.
    #[serde(default)]
    pub results: Vec<GsmResult>,
    /// How many submissions of handsets to the node that answers had which answer.
    #[serde(default)]
    pub submissions: Vec<GsmAnswer>,
    /// What the firewalls of all nodes have found lately, newest first: 32 of the node that answers, 16 of each other node at its last
    /// heartbeat. Over MAP only.
    #[serde(default)]
    pub firewall: Vec<FirewallHit>,
    /// Whether new messages take it, where there is another target.
    #[serde(default)]
    pub available: bool,
    /// `closed`, `open` or `half open`, on the node that answers; null without a circuit breaker.
    #[serde(default)]
    pub breaker: Option<String>,
    pub queue: Option<Queue>,
    /// That of the node that answers.
    pub connections: Vec<Bind>,
    /// How many each node has; empty with the embedded store, and with `scope=node`.
    pub nodes: Vec<OperatorOnNode>,
    /// The version of the configuration that last changed it; its ETag.
    pub version: u64,
    /// Every key of `[[gsm]]`. `PUT` takes it alone, or all of this.
    #[schema(value_type = Object)]
    pub settings: serde_json::Value,
}

/// How often an MT-forwardSM had a result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct GsmResult {
    pub result: String,
    pub count: u64,
}

/// How often a handset that submitted was answered so.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct GsmAnswer {
    /// RP-cause (3GPP TS 24.011 §8.2.5.4); 0 is RP-ACK.
    pub cause: u32,
    pub count: u64,
}

copies! {
    /// Requests of one sender that a rule of the firewall has found.
    #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
    pub struct FirewallHit from pb::FirewallFinding as found {
        /// When the last one came.
        #[schema(format = DateTime)]
        pub at: Option<String> = time(found.at),
        /// The rule, as in `map.firewall.rules`.
        pub rule: String,
        /// `block`, `drop`, `report`, or `dry` for what would be blocked.
        pub action: String,
        /// The error of MAP that it was answered with; null for none.
        pub error: Option<u32> = (found.error > 0).then_some(found.error),
        /// The operation of MAP.
        pub operation: String,
        /// The global title of the sender; empty without one.
        pub calling: String,
        /// Of the last one, the number of the service centre; empty without one.
        pub service_centre: String,
        /// Of the last one, the subscriber, masked.
        pub subscriber: String,
        /// Of the last one, the sender of the message, masked.
        pub originator: String,
        /// How many there were.
        pub count: u64,
        /// The nodes that have found it, by number.
        #[serde(default)]
        pub nodes: Vec<u32>,
    }
}

// === impl GsmNetwork ===

impl GsmNetwork {
    /// A network as it is configured, and how it is; without that, it is not enabled.
    pub fn new(resource: Resource, live: Option<pb::OperatorView>) -> Self {
        let is_enabled = live.is_some();
        let live = live.unwrap_or_default();
        let state = match live.bound {
            _ if !is_enabled => "disabled",
            0 if live.paused => "paused",
            0 if live.name_taken => "name taken",
            0 => "down",
            bound if bound < live.configured => "partly up",
            _ => "up",
        };
        let queue = live.queue.clone().unwrap_or_default();
        let results = live.binds.iter().flat_map(|bind| &bind.results);
        let results = results.map(|one| GsmResult {
            result: command_status::display(one.result),
            count: one.count,
        });
        let submissions = live.binds.iter().flat_map(|bind| &bind.submissions);
        let submissions = submissions.map(|one| GsmAnswer {
            cause: one.result,
            count: one.count,
        });
        let firewall = live.findings.into_iter().map(FirewallHit::from).collect();
        let (results, submissions) = (results.collect(), submissions.collect());
        let in_flight = live.binds.iter().map(|bind| bind.in_flight);
        Self {
            name: resource.name,
            address: live.address,
            state: state.to_owned(),
            name_taken: live.name_taken,
            connected: live.bound,
            configured: live.configured,
            last_error: live.last_error,
            outstanding: in_flight.sum(),
            results,
            submissions,
            firewall,
            available: queue.available,
            breaker: (!queue.breaker.is_empty()).then_some(queue.breaker),
            queue: live.queue.map(Queue::from),
            connections: live.binds.into_iter().map(Bind::from).collect(),
            nodes: live.nodes.into_iter().map(OperatorOnNode::from).collect(),
            version: resource.version,
            settings: resource.settings,
        }
    }
}
