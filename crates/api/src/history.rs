//! What was sent, refused and delivered over time.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// `GET /v1/history`
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct TrafficHistory {
    /// How long a point is: `minute` or `hour`.
    pub step: String,
    #[schema(format = DateTime)]
    pub since: Option<String>,
    /// The last minute or hour is whole, also where it ends later, unless it is not over.
    #[schema(format = DateTime)]
    pub until: Option<String>,
    /// True where two of `operator`, `account` and `error` have to be met: then only `failed` is known, and of that the largest
    /// sums by all three, 250 of a minute and 1,000 of an hour of each node.
    pub only_failed: bool,
    /// All points together.
    pub total: TrafficSums,
    /// From the first to the last, those without messages included.
    pub points: Vec<TrafficPoint>,
    /// What the total is divided by; null where that was not asked for.
    pub by: Option<String>,
    /// Whether only what failed is counted of groups: what has to be met is of another kind than they are.
    pub groups_only_failed: bool,
    /// The largest 250, the largest first.
    pub groups: Vec<TrafficGroup>,
    /// How many more groups there are.
    pub more_groups: u64,
    /// Nodes that have counted in this time. One of a release without history counts nothing.
    pub nodes: Vec<u32>,
    /// Parts that this node cannot read: they are damaged, or of a newer release.
    pub unread: u64,
}

/// Messages of some time. Of an error only `refused` and `failed` are counted.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct TrafficSums {
    /// Attempts that an operator has answered with ESME_ROK.
    pub accepted: u64,
    /// Attempts that an operator has refused, throttling left out.
    pub refused: u64,
    /// Messages that ended DELIVERED or ACCEPTED.
    pub delivered: u64,
    /// Messages that ended EXPIRED, UNDELIVERABLE, UNKNOWN or REJECTED.
    pub failed: u64,
    /// Mean time of the answers to these attempts, milliseconds; null without one.
    pub answer_ms: Option<f64>,
}

/// Messages of a minute or an hour.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct TrafficPoint {
    /// When it began.
    #[schema(format = DateTime)]
    pub at: Option<String>,
    pub messages: TrafficSums,
}

/// Messages that have one thing in common.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct TrafficGroup {
    /// `operator:ID`, `gsm:NAME`, `account:SYSTEM_ID`, or an error: a command_status by name, another code as the operator has
    /// written it, or the final state of messages without a code. Empty for messages without it.
    pub key: String,
    pub messages: TrafficSums,
}
