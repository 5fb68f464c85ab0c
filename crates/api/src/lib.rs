//! What the admin API shows, as JSON. The command line reads the same structs.
//!
//! Ids are strings, because JavaScript rounds numbers of their size. Times are RFC 3339 in UTC;
//! times of events that have not happened are `null`.

mod access;
mod archive;
mod balance;
mod binds;
mod callback;
mod copies;
mod damaged;
mod failed;
mod failures;
mod found;
mod gsm;
mod held;
mod history;
mod incidents;
mod live;
mod lookups;
mod message;
mod mo_rules;
mod nats_sources;
mod nodes;
mod operators;
mod opt_outs;
mod request_words;
mod schema;
mod settings;
mod sheet;
mod sinks;
mod text;
mod usage;
mod wait;
mod watch;
mod words;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

pub use access::{
    ApiKey, ApiKeys, Audit, AuditEntry, Drain, Myself, NewApiKey, NewToken, SignInOffer, Token,
    Tokens,
};
pub use archive::Archive;
pub use balance::{Balance, TopUp, TopUps, ToppedUp};
pub use binds::{
    Bind, Binds, CallbackUrls, LastLogin, SignallingGateway, bind_state, gateway_state,
};
pub use callback::CallbackAttempt;
pub use damaged::{DamagedRowEntry, DamagedRows};
pub use failed::{
    CancelReport, RefusedReplay, ReplayReport, Replayed, Unmatched, UnmatchedReceipt,
};
pub use failures::{ErrorInWords, FailureBucket, FailureGroup, FailureReport};
pub use found::{FoundName, FoundNames};
pub use gsm::{FirewallHit, GsmNetwork};
pub use held::{HeldEntry, HeldMessages};
pub use history::{TrafficGroup, TrafficHistory, TrafficPoint, TrafficSums};
pub use incidents::{Incident, Incidents};
pub use live::{
    Attention, BindCounts, End, Hello, History, LiveBind, LiveBinds, LiveQueue, LiveQueues,
    OperatorHistory, Overview, Queued, Rates, StoreState, Totals,
};
pub use lookups::{Forgotten, Lookup, Lookups};
pub use message::{Address, Attempt, Change, Final, Message, Messages, Original, Text, Trace};
pub use mo_rules::{AskedRule, MoExplanation, MoOrder};
pub use nats_sources::{EndedCommand, NatsSourceState, NatsSourceStates};
pub use nodes::{Node, Nodes, QueueShare};
pub use operators::{OperatorHealth, OperatorOnNode, OperatorTest, OperatorTestStep};
pub use opt_outs::{ChangedOptOut, OptOut, OptOuts};
pub use request_words::request_in_words;
pub use schema::{ConfigSchema, FieldGroup, KindSchema};
pub use settings::findings;
pub use settings::{
    Accounts, AddressLists, Changed, Configuration, Considered, Difference, EventSinks,
    Explanation, FieldChange, Finding, GsmNetworks, ImsiState, Limits, MoRules, NatsSources,
    NumberRanges, Planned, Policies, Rate, Resource, ResourceChange, Routes, Target, Version,
    Versions,
};
pub use sheet::{AccountSheet, SheetEntrance};
pub use sinks::{Sink, Sinks};
pub use usage::{UsageReport, UsageSum};
pub use wait::Wait;
pub use watch::{Begun, Pdu, Step, Steps};
pub use words::{
    FailureGrouping, HistoryGrouping, HistoryStep, KeyRoleName, LookupKind, MessageListOrder,
    MessageVerb, OperatorVerb, QueueVerb, RoleName, Scope, StateName, Word,
};

use copies::copies;
use smsc_proto as pb;

/// `GET /v1/queues`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Queues {
    pub queues: Vec<Queue>,
    /// `after` of the next page; absent on the last one, and where no page was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_after: Option<String>,
    /// How many there are on all pages, where one was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total: Option<u64>,
}

/// `GET /v1/notes`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ResourceNotes {
    /// The newest first.
    pub notes: Vec<ResourceNote>,
    /// `before` of the next page; null on the last one.
    pub next_before: Option<String>,
}

/// A note on a resource.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ResourceNote {
    pub id: String,
    #[schema(format = DateTime)]
    pub at: Option<String>,
    /// The resource: `accounts/SYSTEM_ID`, `operators/ID`.
    pub about: String,
    pub text: String,
    /// Token and address of who wrote it.
    pub by: String,
}

copies! {
    /// One queue.
    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
    pub struct Queue from pb::QueueSnapshot as queue {
        /// `operator:ID`, `gsm:NAME`, `account:SYSTEM_ID` or `test:…`.
        pub name: String,
        /// Nothing is handed out until it is resumed.
        pub suspended: bool,
        /// By whose order; empty if it is not suspended, or was already when this node started.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        pub suspended_by: String,
        /// Ready to go as soon as a session has room.
        pub waiting: u64,
        /// Not before their time.
        pub scheduled: u64,
        /// At a session, without an answer.
        pub in_flight: u64,
        /// Sessions that take from it.
        pub sessions: u64,
        /// How many more messages those sessions would take now.
        pub room: u64,
        /// When the oldest waiting message was accepted.
        #[schema(format = DateTime)]
        pub oldest_at: Option<String> = time(queue.oldest_at),
        pub delivered_total: u64,
        pub failed_total: u64,
        pub retried_total: u64,
        pub expired_total: u64,
        /// Attempts that were answered, or not in time; this and the following since the start, on all nodes.
        #[serde(default)]
        pub attempts_total: u64,
        /// Those that the other side throttled.
        #[serde(default)]
        pub throttled_total: u64,
        /// Those that it refused for another reason, for a while or for good.
        #[serde(default)]
        pub refused_total: u64,
        /// Those without an answer.
        #[serde(default)]
        pub unanswered_total: u64,
        /// Messages that are suspected of ending the other side's sessions, on this node; they are tried alone.
        #[serde(default)]
        pub suspects: u64,
        /// Those that were given up because of it.
        #[serde(default)]
        pub ended_sessions_total: u64,
        /// By priority, 0 to 3.
        pub waiting_by_priority: Vec<u64>,
        /// Bodies in memory.
        pub ready_in_memory: u64,
        /// Blocks of the waiting list that were written out of memory.
        pub spilled: u64,
        /// Attempts on this node that were answered and are not durable yet: a crash repeats them.
        #[serde(default)]
        pub unwritten: u64,
        /// Accounts whose waiting messages take turns on this node.
        #[serde(default)]
        pub senders: u64,
        /// Restarts of its actor after a failure.
        pub restarts: u64,
        /// What each node has of it; empty with the embedded store, and with `scope=node`.
        #[serde(default)]
        pub nodes: Vec<QueueOnNode> = queue.nodes.into_iter().map(Into::into).collect(),
    }

    /// A queue on one node; those of other nodes as of their last heartbeat.
    #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
    pub struct QueueOnNode from pb::QueueOnNode as share {
        pub node: u32,
        pub waiting: u64,
        pub scheduled: u64,
        pub in_flight: u64,
        pub sessions: u64,
        pub suspended: bool,
    }
}

/// `GET /v1/operators`
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Operators {
    pub operators: Vec<Operator>,
    /// `after` of the next page; absent on the last one, and where no page was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_after: Option<String>,
    /// How many there are on all pages, where one was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total: Option<u64>,
}

/// One operator with its binds and its queue.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Operator {
    pub id: String,
    pub address: String,
    /// `up`, `partly up`, `down`, `paused` until it is resumed, or `disabled`.
    pub state: String,
    /// Binds that are up, of those that are configured.
    pub bound: u32,
    pub configured: u32,
    /// Of the bind that failed last; empty while all are up.
    pub last_error: String,
    /// Whether new messages take it, where there is another target.
    #[serde(default)]
    pub available: bool,
    pub health: OperatorHealth,
    /// `closed`, `open` or `half open`, on the node that answers; null without a circuit breaker.
    #[serde(default)]
    pub breaker: Option<String>,
    /// Messages per second that it is sent at most now, by the node that answers; null without a limit.
    #[serde(default)]
    pub rate: Option<f64>,
    /// That is less than configured, because it throttles.
    #[serde(default)]
    pub slowed: bool,
    /// Mean of how long it takes to answer; null before its first answer.
    #[serde(default)]
    pub answer_ms: Option<f64>,
    pub queue: Option<Queue>,
    /// Those of the node that answers.
    pub binds: Vec<Bind>,
    /// How many each node has; empty with the embedded store, and with `scope=node`.
    #[serde(default)]
    pub nodes: Vec<OperatorOnNode>,
    /// The version of the configuration that last changed it; its ETag.
    #[serde(default)]
    pub version: u64,
    /// Every key of `[[operator]]`, without secrets. `PUT` takes it alone, or all of this.
    #[serde(default)]
    pub settings: serde_json::Value,
}

/// The answer to a command.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Done {
    /// Messages or binds that it applied to.
    pub count: u64,
    /// Ordered, but the effect was not seen yet (HTTP status 202).
    pub pending: bool,
}

/// Why a request was not carried out (RFC 9457).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = Problem)]
pub struct ProblemDetails {
    /// `urn:smsc:problem:` and a word that stays the same.
    pub r#type: String,
    pub title: String,
    /// The HTTP status.
    pub status: u16,
    /// What is wrong and what to do, for people.
    pub detail: String,
    /// The name of the value that is wrong.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub field: Option<String>,
    /// Of a refused message: the command_status that SMPP would have answered.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub command_status: Option<String>,
    /// The limit that was reached, as the manual lists them: `rate`, `quota`, `balance` and others; more may come.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub limit: Option<String>,
    /// When the limit lets it pass, if nothing else takes what there is then; absent if that is not known.
    #[schema(format = DateTime)]
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub retry_at: Option<String>,
    /// Of a request with too many messages: so many short messages fit into one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub most: Option<u32>,
    /// Of a body that is too long: the most octets that its path takes.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub most_octets: Option<u64>,
    /// The id of the request, as X-Request-Id and the log have it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub request_id: Option<String>,
    /// The role that is needed.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub role: Option<String>,
    /// Of `/health/ready`: why the node cannot do its work now.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub not_ready: Option<Vec<String>>,
    /// Of `/health/ready`: problems that do not make the node unready.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub degraded: Option<Vec<String>>,
}

/// `GET /health/live`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Live {
    pub live: bool,
}

/// `GET /health/ready`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Ready {
    pub ready: bool,
    /// Problems that do not make the node unready.
    pub degraded: Vec<String>,
}

/// `DELETE /v1/subscribers/{msisdn}/messages`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ErasedMessages {
    /// Messages whose number and text were erased.
    pub erased: u64,
    /// Messages of the number that have not ended: they are not changed; repeat the request later.
    pub active: u64,
}

// === conversions ===

impl From<pb::OperatorView> for Operator {
    fn from(operator: pb::OperatorView) -> Self {
        let state = match operator.bound {
            0 if operator.paused => "paused",
            0 => "down",
            bound if bound < operator.configured => "partly up",
            _ => "up",
        };
        let queue = operator.queue.clone().unwrap_or_default();
        Self {
            health: OperatorHealth::from(&operator),
            id: operator.id,
            address: operator.address,
            state: state.to_owned(),
            bound: operator.bound,
            configured: operator.configured,
            last_error: operator.last_error,
            available: queue.available,
            breaker: (!queue.breaker.is_empty()).then_some(queue.breaker),
            rate: (queue.rate > 0.0).then_some(queue.rate),
            slowed: queue.slowed,
            answer_ms: (operator.answer_us > 0).then(|| operator.answer_us as f64 / 1000.0),
            queue: operator.queue.map(Queue::from),
            binds: operator.binds.into_iter().map(Bind::from).collect(),
            nodes: operator
                .nodes
                .into_iter()
                .map(OperatorOnNode::from)
                .collect(),
            version: 0,
            settings: serde_json::Value::Null,
        }
    }
}

impl Operator {
    /// An operator as it is configured, and how it is; without that, it is not enabled.
    pub fn new(resource: Resource, live: Option<pb::OperatorView>) -> Self {
        let shown = live.map_or_else(|| Self::disabled(&resource), Self::from);
        Self {
            version: resource.version,
            settings: resource.settings,
            ..shown
        }
    }

    fn disabled(resource: &Resource) -> Self {
        let address = resource.settings["address"].as_str();
        Self {
            state: "disabled".to_owned(),
            ..Self::from(pb::OperatorView {
                id: resource.name.clone(),
                address: address.unwrap_or_default().to_owned(),
                ..pb::OperatorView::default()
            })
        }
    }
}

/// Unix milliseconds as RFC 3339, `None` for 0 (never) and for times beyond the calendar.
pub fn time(ms: i64) -> Option<String> {
    if ms == 0 {
        return None;
    }
    let time = jiff::Timestamp::from_millisecond(ms).ok()?;
    Some(format!("{time:.3}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_times_as_people_do() {
        assert_eq!(
            time(1_700_000_000_000).as_deref(),
            Some("2023-11-14T22:13:20.000Z")
        );
        assert_eq!(time(0), None);
        assert_eq!(time(i64::MAX), None);
    }

    #[test]
    fn an_operator_is_as_up_as_its_binds() {
        let state = |bound, configured, paused| {
            Operator::from(pb::OperatorView {
                bound,
                configured,
                paused,
                ..pb::OperatorView::default()
            })
            .state
        };
        assert_eq!(state(2, 2, false), "up");
        assert_eq!(state(1, 2, false), "partly up");
        assert_eq!(state(0, 2, false), "down");
        assert_eq!(state(0, 2, true), "paused");
    }

    #[test]
    fn an_operator_that_is_not_enabled_has_its_settings() {
        let resource = Resource {
            name: "up".to_owned(),
            version: 7,
            settings: serde_json::json!({ "address": "smsc.example:2775" }),
        };
        let shown = serde_json::to_value(Operator::new(resource, None)).unwrap();
        assert_eq!(
            shown,
            serde_json::json!({
                "id": "up",
                "address": "smsc.example:2775",
                "state": "disabled",
                "bound": 0,
                "configured": 0,
                "last_error": "",
                "available": false,
                "health": { "status": "UNBOUND", "failback_at": null },
                "breaker": null,
                "rate": null,
                "slowed": false,
                "answer_ms": null,
                "queue": null,
                "binds": [],
                "nodes": [],
                "version": 7,
                "settings": { "address": "smsc.example:2775" },
            })
        );
    }
}
