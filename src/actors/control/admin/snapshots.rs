//! Collects the snapshots of actors. Reading never asks an actor, so it works while one is down.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::incidents;
use crate::actors::billing::balance::NodePurses;
use crate::actors::context::NodeContext;
use crate::actors::context::binds::BindPort;
use crate::actors::context::plan::{GsmPlan, OperatorPlan};
use crate::actors::context::ports::QueuePort;
use crate::actors::runtime::locks::lock;
use crate::api::{Incident, NatsSourceState};
use crate::clock;
use crate::config::BindKind;
use crate::domain::id;
use crate::files;
use crate::pb::{
    ActorSnapshot, BalanceSnapshot, BindDirection, BindSnapshot, BindState, Buckets,
    CertificateSnapshot, CorrelationSnapshot, CorrelationTable, FirewallFinding, OperatorView,
    QueueSnapshot, StoreSnapshot, ThrottleSnapshot, TrafficSnapshot,
};
use crate::store::Histogram;

/// Everything that the actors publish, at one moment.
#[derive(Debug, Clone, Default)]
pub struct NodeSnapshot {
    pub queues: Vec<QueueSnapshot>,
    pub binds: Vec<BindSnapshot>,
    pub actors: Vec<ActorSnapshot>,
    pub correlation: CorrelationSnapshot,
    pub throttle: ThrottleSnapshot,
    pub store: StoreSnapshot,
    pub draining: bool,
    pub traffic: TrafficSnapshot,
    /// Number of this node.
    pub node: u32,
    /// Queues and traffic are those of the whole cluster.
    pub is_whole: bool,
    /// In that case, ESMEs bound to other nodes.
    pub esmes_elsewhere: u64,
    pub certificates: Vec<CertificateSnapshot>,
    pub balances: Vec<BalanceSnapshot>,
    /// Sources of commands of this node.
    pub nats_sources: Vec<NatsSourceState>,
    /// How far the ids of this node are ahead of its clock, milliseconds.
    pub ids_ahead_ms: i64,
    /// What people watch now.
    pub live_traces: u32,
    /// Open incidents that this node has found.
    pub incidents: Vec<Incident>,
}

/// Every queue, by name.
pub(super) fn queues(node: &NodeContext) -> Vec<QueueSnapshot> {
    let all = node.queues();
    all.iter().map(|port| queue(node, port)).collect()
}

/// One queue. What others change without asking its actor is as of now: its snapshot is out of date at start, after a command,
/// and while the queue rests.
fn queue(node: &NodeContext, port: &QueuePort) -> QueueSnapshot {
    QueueSnapshot {
        name: port.name.clone(),
        suspended: port.suspended.load(Ordering::Relaxed),
        suspended_by: port.suspended_by.get().as_ref().clone(),
        paused_by: port.paused_by.get().as_ref().clone(),
        available: node.available(port.id),
        ..port.snapshot.get().as_ref().clone()
    }
}

/// Every bind, oldest first.
pub(super) fn binds(node: &NodeContext) -> Vec<BindSnapshot> {
    node.binds
        .all()
        .iter()
        .map(|port| bind(node, port))
        .collect()
}

/// One bind, with its node.
fn bind(node: &NodeContext, port: &BindPort) -> BindSnapshot {
    BindSnapshot {
        node: node.ids.node().into(),
        ..port.snapshot.get().as_ref().clone()
    }
}

/// Every configured operator, by id, with its binds and its queue.
pub(super) fn operators(node: &NodeContext) -> Vec<OperatorView> {
    let plan = node.plan();
    let ports = node.binds.all();
    let mut operators: Vec<OperatorView> = plan
        .operators()
        .map(|operator| {
            let binds = ports
                .iter()
                .filter(|port| port.owner.load(Ordering::Relaxed) == operator.id)
                .map(|port| bind(node, port))
                .collect();
            let port = node.queue(operator.id);
            view(operator, binds, port.map(|port| queue(node, &port)))
        })
        .collect();
    operators.sort_by(|one, other| one.id.cmp(&other.id));
    operators
}

/// Every enabled GSM network, by name, with the connection of this node and its queue.
pub(super) fn gsms(node: &NodeContext) -> Vec<OperatorView> {
    let plan = node.plan();
    let ports = node.binds.all();
    let view = |gsm: &Arc<GsmPlan>| {
        let own = ports.iter();
        let own = own.filter(|port| port.owner.load(Ordering::Relaxed) == gsm.id);
        let binds: Vec<BindSnapshot> = own.map(|port| bind(node, port)).collect();
        let count = |state: BindState| binds.iter().filter(|bind| bind.state() == state).count();
        OperatorView {
            id: gsm.config.name.clone(),
            address: gsm.config.reached_at(),
            configured: (binds.len() - count(BindState::Standby)) as u32,
            bound: count(BindState::Bound) as u32,
            paused: !binds.is_empty() && count(BindState::Paused) == binds.len(),
            last_error: binds
                .first()
                .map_or_else(String::new, |bind| bind.last_error.clone()),
            queue: node.queue(gsm.id).map(|port| queue(node, &port)),
            name_taken: binds.iter().any(|bind| bind.name_taken),
            answer_us: answer_us(&binds),
            findings: findings_of(&binds),
            binds,
            nodes: Vec::new(),
        }
    };
    let mut operators: Vec<OperatorView> = plan.gsms().map(view).collect();
    operators.sort_by(|one, other| one.id.cmp(&other.id));
    operators
}

fn view(
    operator: &OperatorPlan,
    binds: Vec<BindSnapshot>,
    queue: Option<QueueSnapshot>,
) -> OperatorView {
    // Those that the operator's gateway has made to us are none of ours.
    let ours = || {
        binds
            .iter()
            .filter(|bind| bind.direction() != BindDirection::Gateway)
    };
    let count = |state: BindState| ours().filter(|bind| bind.state() == state).count();
    let per_slot = match operator.config.bind_kind() {
        BindKind::TransmitterReceiver => 2,
        BindKind::Transceiver | BindKind::Transmitter | BindKind::Receiver => 1,
    };
    OperatorView {
        id: operator.config.id.clone(),
        address: operator.config.address.clone(),
        configured: operator.config.binds * per_slot,
        bound: count(BindState::Bound) as u32,
        paused: ours().next().is_some() && count(BindState::Paused) == ours().count(),
        last_error: ours()
            .filter(|bind| !bind.last_error.is_empty())
            .max_by_key(|bind| bind.next_reconnect_at)
            .map(|bind| bind.last_error.clone())
            .unwrap_or_default(),
        answer_us: answer_us(&binds),
        binds,
        queue,
        nodes: Vec::new(),
        name_taken: false,
        findings: Vec::new(),
    }
}

/// What the firewall in front of these has found.
fn findings_of(binds: &[BindSnapshot]) -> Vec<FirewallFinding> {
    let found = binds.iter().flat_map(|bind| {
        let findings = bind.findings.iter().cloned();
        findings.map(move |finding| FirewallFinding {
            nodes: vec![bind.node],
            ..finding
        })
    });
    found.collect()
}

/// The mean of how long bound binds take to answer, microseconds; 0 before an answer.
fn answer_us(binds: &[BindSnapshot]) -> u64 {
    let known = binds.iter().map(|bind| bind.answer_us);
    let known: Vec<u64> = known.filter(|answer| *answer > 0).collect();
    known
        .iter()
        .sum::<u64>()
        .checked_div(known.len() as u64)
        .unwrap_or_default()
}

/// Health of every actor. Actors of one name (a slot that was replaced) are added up.
pub(super) fn actors(node: &NodeContext) -> Vec<ActorSnapshot> {
    let mut actors: Vec<ActorSnapshot> = Vec::new();
    let mut places: HashMap<String, usize> = HashMap::new();
    for health in lock(&node.health).iter() {
        let next = health.snapshot();
        let place = *places.entry(next.name.clone()).or_insert(actors.len());
        match actors.get_mut(place) {
            Some(actor) => {
                actor.restarts += next.restarts;
                actor.panics += next.panics;
                if !next.last_panic.is_empty() {
                    actor.last_panic = next.last_panic;
                }
            }
            None => actors.push(next),
        }
    }
    actors
}

/// How many actors there are, and how often they were restarted in all.
pub(super) fn restarts(node: &NodeContext) -> (usize, u64) {
    let all = lock(&node.health);
    let restarts = all.iter().map(|health| health.restarts());
    (all.len(), restarts.sum())
}

/// The snapshot of the store.
pub(super) fn store(node: &NodeContext) -> StoreSnapshot {
    let stats = node.store.stats();
    StoreSnapshot {
        commits_total: stats.commits,
        rows_total: stats.rows,
        commit_seconds_total: stats.commit_seconds,
        waiting: stats.waiting,
        free_mib: stats
            .free_mib
            .or_else(|| files::free_mib(&node.config().data_dir).ok())
            // Nobody knows, so nobody is alarmed.
            .unwrap_or(u64::MAX),
        below_floor: stats.below_floor,
        stalled: stats.stalled,
        index_lag: stats.index_lag,
        dead_letters: stats.quarantined,
        taken_back_total: stats.taken_back,
        steps_back_total: stats.steps_back,
        rewritten_total: stats.rewritten,
        forgotten_total: stats.forgotten,
        commit_latency: stats
            .histograms
            .as_ref()
            .map(|all| buckets(&all.latency_seconds)),
        commit_rows: stats.histograms.as_ref().map(|all| buckets(&all.rows)),
        correlations: stats.correlations.map(|counts| CorrelationTable {
            taken_over: counts.taken_over,
            in_use: counts.in_use,
            too_long: counts.too_long,
            expired: counts.expired,
            deleted: counts.deleted,
        }),
    }
}

fn buckets(histogram: &Histogram) -> Buckets {
    Buckets {
        bounds: histogram.bounds.to_vec(),
        counts: histogram.counts.clone(),
        sum: histogram.sum,
    }
}

/// All snapshots, for a scrape.
pub(super) fn node(node: &NodeContext, balance: &NodePurses) -> NodeSnapshot {
    NodeSnapshot {
        queues: queues(node),
        binds: binds(node),
        actors: actors(node),
        correlation: *node.correlation_snapshot.get(),
        throttle: *node.throttle_snapshot.get(),
        store: store(node),
        draining: node.draining.load(Ordering::Relaxed),
        live_traces: node.watches.count() as u32,
        traffic: node.metrics.traffic(),
        node: node.ids.node().into(),
        certificates: node.certificates.all(),
        balances: balance.snapshot(&node.plan(), clock::now_ms()),
        incidents: incidents::of_this_node(node),
        ids_ahead_ms: (id::millis(node.ids.last()) - clock::now_ms()).max(0),
        ..NodeSnapshot::default()
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;
    use crate::actors::context::ports::QueueKind;
    use crate::actors::queue::{MAILBOX, Queue};
    use crate::actors::runtime::supervise::{self, Health};
    use crate::actors::test_support;

    #[actix::test]
    async fn who_has_paused_an_operator_is_shown_before_its_queue_says_so() {
        let test = test_support::node(1, None).await;
        let node = &test.context;
        let (addr, _slot) = supervise::slot::<Queue>(MAILBOX);
        let port = Arc::new(QueuePort::new(
            test.operator,
            "operator:up".to_owned(),
            QueueKind::Operator,
            addr.into(),
            Arc::clone(&node.local_lease),
            &node.metrics,
        ));
        node.add_queue(Arc::clone(&port));
        port.paused_by.set("an administrator".to_owned());
        let shown = operators(node);
        let shown = shown[0].queue.as_ref().expect("it has one");
        assert_eq!(shown.paused_by, "an administrator");
        assert!(!shown.available, "nobody serves it");
        port.bound.store(1, Ordering::Relaxed);
        assert!(queues(node).iter().all(|queue| queue.available));
    }

    /// The time that the snapshots of this many actors more take, the fastest of some.
    fn time_with(node: &NodeContext, more: usize) -> Duration {
        let before = actors(node).len();
        for number in before..before + more {
            node.watch(Health::new(format!("account:customer{number}")));
        }
        let time = |_| {
            let began = Instant::now();
            assert_eq!(actors(node).len(), before + more);
            began.elapsed()
        };
        (0..5).map(time).min().unwrap_or_default()
    }

    #[actix::test]
    async fn actors_of_one_name_are_one_and_many_names_cost_no_more_each() {
        let test = test_support::node(1, None).await;
        let node = &test.context;
        for name in ["up 0", "up 1", "up 0"] {
            node.watch(Health::new(name));
        }
        let names: Vec<String> = actors(node).into_iter().map(|one| one.name).collect();
        assert_eq!(names, ["up 0", "up 1"]);
        assert_eq!(restarts(node), (3, 0));
        let few = time_with(node, 500);
        let many = time_with(node, 9_500);
        assert!(many < few * 80, "{few:?} of 500, {many:?} of 10,000");
    }
}
