//! What the live events show, as JSON: `GET /v1/events`. The console and `smsc top` read them.
//!
//! Each event is complete, so that the next one makes up for a missed one. Rates are per second,
//! measured by the server over its own second.

use serde::{Deserialize, Serialize};

use super::{Bind, Queue};

/// The first event, `hello`: who answers, and the last minutes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Hello {
    pub version: String,
    /// Number of the node that answers.
    pub node: u32,
    /// Milliseconds between two `overview` events.
    pub every_ms: u64,
    pub history: History,
    #[serde(default)]
    pub operators: Vec<OperatorHistory>,
}

/// One value per second in each list, oldest first; all lists are equally long.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct History {
    /// Unix milliseconds.
    pub at_ms: Vec<i64>,
    /// As [`Rates::accepted`].
    pub accepted: Vec<f64>,
    /// As [`Rates::sent`].
    pub sent: Vec<f64>,
    /// As [`Rates::failed`].
    pub failed: Vec<f64>,
    /// As [`Queued::waiting`] and [`Queued::scheduled`] together.
    pub waiting: Vec<u64>,
}

/// The event `overview`, once a second.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Overview {
    /// Unix milliseconds of the server.
    pub at_ms: i64,
    /// What somebody should look at, the most urgent first; empty when all is well.
    #[serde(default)]
    pub attention: Vec<Attention>,
    /// More of these, where the listener wants only the first ones.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub attention_omitted: u64,
    /// Why the node cannot do its work; empty when it is ready.
    pub not_ready: Vec<String>,
    /// Problems that do not make the node unready.
    pub degraded: Vec<String>,
    /// The node finishes its windows to stop.
    pub draining: bool,
    pub rates: Rates,
    pub totals: Totals,
    pub queued: Queued,
    pub binds: BindCounts,
    pub store: StoreState,
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// Something that is not well.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attention {
    pub text: String,
    /// The page of the console that has it; empty for none.
    pub page: String,
    /// The chapter of docs/runbooks.md that says what to do; empty for none.
    pub runbook: String,
}

/// The last two minutes of the queue of one operator, one value per second, oldest first.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct OperatorHistory {
    /// The name of the queue.
    pub name: String,
    /// Messages that it took, per second.
    pub sent: Vec<f64>,
    /// Attempts that it throttled, per second.
    pub throttled: Vec<f64>,
    /// Attempts that it refused otherwise, per second.
    pub refused: Vec<f64>,
    /// How long it took to answer, milliseconds.
    pub answer_ms: Vec<f64>,
}

/// Per second, over the last second.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Rates {
    /// Messages acknowledged after their commit.
    pub accepted: f64,
    /// Submissions refused.
    pub refused: f64,
    /// Messages that operators took.
    pub sent: f64,
    /// Messages that ended DELIVERED or ACCEPTED.
    pub delivered: f64,
    /// Messages that ended in any other final state.
    pub failed: f64,
    /// Receipts that accounts acknowledged.
    pub told: f64,
    /// Attempts that failed for a while and will be repeated.
    pub retried: f64,
}

/// Since the start of the process, as [`Rates`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Totals {
    pub accepted: u64,
    pub refused: u64,
    pub sent: u64,
    pub delivered: u64,
    pub failed: u64,
    pub told: u64,
    pub retried: u64,
}

/// All queues together, of the whole cluster.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Queued {
    pub waiting: u64,
    pub scheduled: u64,
    pub in_flight: u64,
    /// When the oldest waiting message was accepted.
    pub oldest_at: Option<String>,
    /// Queues that hand nothing out.
    pub suspended: u64,
}

/// All binds together, of the whole cluster.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BindCounts {
    /// Bound ESMEs.
    pub esmes: u64,
    /// Binds to operators that are up.
    pub operators: u64,
    /// Binds to operators that there should be.
    pub operators_wanted: u64,
}

/// The store.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct StoreState {
    /// Mean duration of a commit in the last second, milliseconds; null without one.
    pub commit_ms: Option<f64>,
    /// Rows that wait for the writer.
    pub waiting: u64,
    pub free_mib: u64,
    /// New messages are refused because the disk is nearly full.
    pub below_floor: bool,
}

/// The event `queues`, when something changed.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct LiveQueues {
    pub queues: Vec<LiveQueue>,
    /// Idle queues beyond the most that an event holds, or what fits and is on other pages; `GET /v1/queues` has them all.
    pub omitted: u64,
}

/// A queue, and how fast it empties.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LiveQueue {
    #[serde(flatten)]
    pub queue: Queue,
    pub delivered_per_second: f64,
    pub failed_per_second: f64,
    #[serde(default)]
    pub retried_per_second: f64,
    #[serde(default)]
    pub throttled_per_second: f64,
    #[serde(default)]
    pub refused_per_second: f64,
    /// Which part of the attempts of the last minute was throttled, 0 to 1.
    #[serde(default)]
    pub throttled_share: f64,
}

/// The event `binds`, when something changed.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct LiveBinds {
    /// Those to operators first.
    pub binds: Vec<LiveBind>,
    /// Binds beyond the most that an event holds, or what fits and is on other pages; `GET /v1/binds` has them all.
    pub omitted: u64,
}

/// A bind, and how fast it works.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LiveBind {
    #[serde(flatten)]
    pub bind: Bind,
    pub received_per_second: f64,
    pub sent_per_second: f64,
}

/// The event `end`, the last one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct End {
    /// For people.
    pub reason: String,
}
