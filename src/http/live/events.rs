//! The events of one second, as octets of `text/event-stream` (HTML Standard §9.2).

use actix_web::web::Bytes;
use serde::Serialize;

use super::attention;
use super::rates::Measured;
use crate::actors::control::admin::{NodeSnapshot, Readiness};
use crate::api::{
    self, Bind, BindCounts, LiveBind, LiveBinds, LiveQueue, LiveQueues, Nodes, Operator, Operators,
    Overview, Queue, Queued, StoreState,
};
use crate::pb::{BindDirection, BindSnapshot, BindState, OperatorView, QueueSnapshot};

/// Most queues, and most binds, in one event.
pub(super) const MOST: usize = 256;

/// What an event is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::http) enum Kind {
    Hello,
    Overview,
    Queues,
    Binds,
    Operators,
    Nodes,
    End,
}

/// One event, ready to be sent.
#[derive(Debug, Clone)]
pub(super) struct LiveEvent {
    pub kind: Kind,
    pub octets: Bytes,
    /// The JSON, to see whether it has changed.
    data: String,
}

/// The last event of each kind.
#[derive(Default)]
pub(super) struct Latest(Vec<LiveEvent>);

/// What the node's snapshot does not hold.
pub(super) struct Rest {
    pub readiness: Readiness,
    pub operators: Vec<OperatorView>,
    pub nodes: Nodes,
}

/// What there is to show in one second.
pub(super) struct LiveSecond {
    /// Unix milliseconds.
    pub at_ms: i64,
    pub overview: Overview,
    /// All of them, by name.
    pub queues: Vec<LiveQueue>,
    /// All of them: those to operators first, then those of ESMEs and local programs; by name, oldest first.
    pub binds: Vec<LiveBind>,
    /// By id.
    pub operators: Operators,
    pub nodes: Nodes,
}

// === impl Kind ===

impl Kind {
    /// Those that can be requested.
    pub(in crate::http) const ALL: [Self; 5] = [
        Self::Overview,
        Self::Queues,
        Self::Binds,
        Self::Operators,
        Self::Nodes,
    ];

    /// As the field `event` has it.
    pub(in crate::http) fn name(self) -> &'static str {
        match self {
            Self::Hello => "hello",
            Self::Overview => "overview",
            Self::Queues => "queues",
            Self::Binds => "binds",
            Self::Operators => "operators",
            Self::Nodes => "nodes",
            Self::End => "end",
        }
    }
}

// === impl LiveEvent ===

impl LiveEvent {
    /// An event with this id, Unix milliseconds.
    pub(super) fn new(kind: Kind, at_ms: i64, what: &impl Serialize) -> Self {
        // These structs have no map with keys that JSON lacks, the only way to fail.
        let data = serde_json::to_string(what).unwrap_or_default();
        let octets = format!("event: {}\nid: {at_ms}\ndata: {data}\n\n", kind.name());
        Self {
            kind,
            octets: octets.into(),
            data,
        }
    }
}

// === impl Latest ===

impl Latest {
    /// The last event of each kind.
    pub(super) fn all(&self) -> impl Iterator<Item = &LiveEvent> {
        self.0.iter()
    }

    /// Takes the events of a second; returns those that have changed.
    pub(super) fn replace(&mut self, events: Vec<LiveEvent>) -> Vec<LiveEvent> {
        let is_new = |event: &&LiveEvent| {
            let last = self.0.iter().find(|last| last.kind == event.kind);
            last.is_none_or(|last| last.data != event.data)
        };
        let news = events.iter().filter(is_new).cloned().collect();
        self.0 = events;
        news
    }
}

/// Messages that wait in any queue, for now or for their time.
pub(super) fn backlog(node: &NodeSnapshot) -> u64 {
    let queues = node.queues.iter();
    queues.map(|queue| queue.waiting + queue.scheduled).sum()
}

// === impl LiveSecond ===

impl LiveSecond {
    pub(super) fn new(node: &NodeSnapshot, rest: Rest, measured: &Measured, at_ms: i64) -> Self {
        let operators = Operators {
            operators: rest.operators.into_iter().map(quiet).collect(),
            ..Operators::default()
        };
        Self {
            at_ms,
            overview: overview(node, rest.readiness, &operators, measured, at_ms),
            queues: queues(node, measured),
            binds: binds(node, measured),
            operators,
            nodes: rest.nodes,
        }
    }

    /// The event of a kind with everything that there is, up to [`MOST`] entries; nothing for what
    /// begins and ends a stream.
    pub(super) fn whole(&self, kind: Kind) -> Option<LiveEvent> {
        let at_ms = self.at_ms;
        Some(match kind {
            Kind::Overview => LiveEvent::new(kind, at_ms, &self.overview),
            Kind::Queues => LiveEvent::new(kind, at_ms, &self.most_queues()),
            Kind::Binds => LiveEvent::new(kind, at_ms, &self.most_binds()),
            Kind::Operators => LiveEvent::new(kind, at_ms, &self.operators),
            Kind::Nodes => LiveEvent::new(kind, at_ms, &self.nodes),
            Kind::Hello | Kind::End => return None,
        })
    }

    /// A queue by its name.
    pub(super) fn queue(&self, name: &str) -> Option<&LiveQueue> {
        let place = self
            .queues
            .binary_search_by(|one| one.queue.name.as_str().cmp(name));
        self.queues.get(place.ok()?)
    }

    /// All queues; when there are too many, the active ones.
    fn most_queues(&self) -> LiveQueues {
        let mut queues: Vec<&LiveQueue> = self.queues.iter().collect();
        let omitted = queues.len().saturating_sub(MOST);
        if omitted > 0 {
            queues.sort_by_key(|one| {
                let queue = &one.queue;
                let busy = queue.waiting + queue.scheduled + queue.in_flight;
                std::cmp::Reverse((queue.suspended, busy, queue.sessions))
            });
            queues.truncate(MOST);
            queues.sort_by(|one, other| one.queue.name.cmp(&other.queue.name));
        }
        LiveQueues {
            queues: queues.into_iter().cloned().collect(),
            omitted: omitted as u64,
        }
    }

    fn most_binds(&self) -> LiveBinds {
        LiveBinds {
            binds: self.binds.iter().take(MOST).cloned().collect(),
            omitted: self.binds.len().saturating_sub(MOST) as u64,
        }
    }
}

/// An operator without its queue and its binds: those have events of their own.
fn quiet(operator: OperatorView) -> Operator {
    Operator {
        queue: None,
        binds: Vec::new(),
        ..Operator::from(operator)
    }
}

fn overview(
    node: &NodeSnapshot,
    readiness: Readiness,
    operators: &Operators,
    measured: &Measured,
    at_ms: i64,
) -> Overview {
    let bound = |direction| {
        let binds = node.binds.iter();
        binds
            .filter(|bind| bind.direction() == direction && bind.state() == BindState::Bound)
            .count() as u64
    };
    let sum = |field: fn(&QueueSnapshot) -> u64| node.queues.iter().map(field).sum::<u64>();
    let oldest = node.queues.iter().map(|queue| queue.oldest_at);
    let store = &node.store;
    Overview {
        at_ms,
        attention: attention::of(node, &readiness, operators, measured, at_ms),
        attention_omitted: 0,
        not_ready: readiness.not_ready,
        degraded: readiness.degraded,
        draining: node.draining,
        rates: measured.rates,
        totals: measured.totals,
        queued: Queued {
            waiting: sum(|queue| queue.waiting),
            scheduled: sum(|queue| queue.scheduled),
            in_flight: sum(|queue| queue.in_flight),
            oldest_at: api::time(oldest.filter(|at| *at > 0).min().unwrap_or_default()),
            suspended: sum(|queue| u64::from(queue.suspended)),
        },
        binds: BindCounts {
            esmes: bound(BindDirection::In) + node.esmes_elsewhere,
            operators: operators
                .operators
                .iter()
                .map(|operator| u64::from(operator.bound))
                .sum(),
            operators_wanted: operators
                .operators
                .iter()
                .map(|operator| u64::from(operator.configured))
                .sum(),
        },
        store: StoreState {
            commit_ms: measured.commit_ms,
            waiting: store.waiting,
            free_mib: store.free_mib,
            below_floor: store.below_floor,
        },
    }
}

/// All queues, by name.
fn queues(node: &NodeSnapshot, measured: &Measured) -> Vec<LiveQueue> {
    let shown = |queue: &QueueSnapshot| {
        let rates = measured.queues.get(&queue.name);
        let rates = rates.copied().unwrap_or_default();
        LiveQueue {
            queue: Queue::from(queue.clone()),
            delivered_per_second: rates.delivered,
            failed_per_second: rates.failed,
            retried_per_second: rates.retried,
            throttled_per_second: rates.throttled,
            refused_per_second: rates.refused,
            throttled_share: rates.throttled_share,
        }
    };
    let mut queues: Vec<LiveQueue> = node.queues.iter().map(shown).collect();
    queues.sort_by(|one, other| one.queue.name.cmp(&other.queue.name));
    queues
}

/// Binds to operators first, then those of ESMEs and local programs; by name, oldest first.
fn binds(node: &NodeSnapshot, measured: &Measured) -> Vec<LiveBind> {
    let mut binds: Vec<&BindSnapshot> = node.binds.iter().collect();
    binds.sort_by(|one, other| {
        let key = |bind: &&BindSnapshot| {
            [BindDirection::In, BindDirection::Local].contains(&bind.direction())
        };
        (key(one), &one.name, one.session).cmp(&(key(other), &other.name, other.session))
    });
    let shown = |bind: &BindSnapshot| {
        let rates = measured.binds.get(&bind.session);
        let (received, sent) = rates.copied().unwrap_or_default();
        LiveBind {
            bind: Bind::from(bind.clone()),
            received_per_second: received,
            sent_per_second: sent,
        }
    };
    binds.into_iter().map(shown).collect()
}
