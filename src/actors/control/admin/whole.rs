//! The figures of the whole cluster: current ones of this node, and those of other nodes at their last
//! heartbeat.
//!
//! With the embedded store this node is the whole cluster, and there are no shares.

use std::collections::HashMap;
use std::sync::atomic::Ordering;

use super::findings;
use super::snapshots::{self, NodeSnapshot};
use crate::actors::billing::balance::NodePurses;
use crate::actors::context::NodeContext;
use crate::actors::context::plan::gsm_name;
use crate::pb::{BindState, OperatorShare, OperatorView, QueueOnNode, QueueSnapshot};
use crate::store::cluster::{Figures, NodeView, QueueFigures};

/// The published figures of another node.
struct Other<'v> {
    node: u32,
    figures: &'v Figures,
    queues: HashMap<u32, &'v QueueFigures>,
}

/// Every queue of this node, with the figures of all nodes.
pub(super) fn queues(node: &NodeContext) -> Vec<QueueSnapshot> {
    let mut list = snapshots::queues(node);
    with_others(node, |others| {
        let ports = node.queues();
        let ids: HashMap<&str, u32> = ports
            .iter()
            .map(|port| (port.name.as_str(), port.id))
            .collect();
        for queue in &mut list {
            let id = ids.get(queue.name.as_str()).copied();
            add_queue(node, queue, id.unwrap_or_default(), others);
        }
    });
    list
}

/// Every configured operator, with its binds counted on all nodes.
pub(in crate::actors::control) fn operators(node: &NodeContext) -> Vec<OperatorView> {
    let mut list = snapshots::operators(node);
    with_others(node, |others| {
        let plan = node.plan();
        for operator in &mut list {
            if let Some(id) = plan.queue_of(&operator.id) {
                add_operator(node, operator, id, others);
            }
        }
    });
    list
}

/// Every enabled GSM network, with the connections of all nodes.
pub(super) fn gsms(node: &NodeContext) -> Vec<OperatorView> {
    let mut list = snapshots::gsms(node);
    with_others(node, |others| {
        let plan = node.plan();
        for gsm in &mut list {
            if let Some(id) = plan.queue_of(&gsm_name(&gsm.id)) {
                add_operator(node, gsm, id, others);
                gsm.configured = gsm.nodes.iter().map(|share| share.binds).sum();
            }
        }
    });
    list
}

/// [`snapshots::node`], with the queues and the traffic of all nodes.
pub(super) fn node(node: &NodeContext, balance: &NodePurses) -> NodeSnapshot {
    let mut snapshot = snapshots::node(node, balance);
    with_others(node, |others| {
        snapshot.queues = queues(node);
        let traffic = &mut snapshot.traffic;
        for Other { figures, .. } in others {
            snapshot.esmes_elsewhere += figures.esmes;
            traffic.accepted_total += figures.accepted;
            traffic.refused_total += figures.refused;
            traffic.delivered_total += figures.delivered;
            traffic.failed_total += figures.failed;
            traffic.told_total += figures.told;
        }
        snapshot.is_whole = true;
    });
    snapshot
}

/// Does something with the other live nodes, unless this node is the whole cluster.
fn with_others(node: &NodeContext, add: impl FnOnce(&[Other<'_>])) {
    if !node.local_lease.is_shared() {
        return;
    }
    let cluster_view = node.local_lease.cluster_view();
    let me = node.ids.node();
    let live = |node: &&NodeView| node.node != me && node.lives_for.is_some();
    let others = cluster_view.view.nodes.iter().filter(live).map(|node| {
        let figures = &node.card.figures;
        Other {
            node: node.node.into(),
            figures,
            queues: figures.queues.iter().map(|one| (one.queue, one)).collect(),
        }
    });
    add(&others.collect::<Vec<_>>());
}

fn add_queue(node: &NodeContext, queue: &mut QueueSnapshot, id: u32, others: &[Other<'_>]) {
    queue.nodes = vec![QueueOnNode {
        node: node.ids.node().into(),
        waiting: queue.waiting,
        scheduled: queue.scheduled,
        in_flight: queue.in_flight,
        sessions: queue.sessions,
        suspended: queue.suspended,
    }];
    for other in others {
        // A queue that the other node does not report is empty there.
        let nothing = QueueFigures::nothing(id);
        let figures = other.queues.get(&id).copied().unwrap_or(&nothing);
        queue.waiting += figures.waiting;
        queue.scheduled += figures.scheduled;
        queue.in_flight += figures.in_flight;
        queue.sessions += figures.sessions;
        queue.room += figures.room;
        queue.delivered_total += figures.delivered;
        queue.failed_total += figures.failed;
        queue.retried_total += figures.retried;
        queue.expired_total += figures.expired;
        queue.suspended |= figures.suspended;
        queue.on_hold |= figures.on_hold;
        queue.attempts_total += figures.attempts;
        queue.throttled_total += figures.throttled;
        queue.refused_total += figures.refused;
        queue.unanswered_total += figures.unanswered;
        if figures.oldest_at > 0 && (queue.oldest_at == 0 || figures.oldest_at < queue.oldest_at) {
            queue.oldest_at = figures.oldest_at;
        }
        queue.nodes.push(QueueOnNode {
            node: other.node,
            waiting: figures.waiting,
            scheduled: figures.scheduled,
            in_flight: figures.in_flight,
            sessions: figures.sessions,
            suspended: figures.suspended,
        });
    }
    queue.nodes.sort_unstable_by_key(|share| share.node);
}

fn add_operator(node: &NodeContext, operator: &mut OperatorView, id: u32, others: &[Other<'_>]) {
    let own = operator.binds.iter();
    let own = own.filter(|bind| bind.state() != BindState::Standby);
    let own = own.count() as u32;
    operator.nodes = vec![OperatorShare {
        node: node.ids.node().into(),
        bound: operator.bound,
        binds: own,
    }];
    // Without a bind nothing is paused.
    let mut is_any = own > 0;
    let mut all_paused = operator.paused || !is_any;
    for other in others {
        let mut operators = other.figures.operators.iter();
        let Some(figures) = operators.find(|found| found.operator == id) else {
            continue;
        };
        operator.bound += figures.bound;
        operator.name_taken |= figures.name_taken;
        is_any |= figures.binds > 0;
        all_paused &= figures.paused == figures.binds;
        if operator.last_error.is_empty() {
            operator.last_error.clone_from(&figures.last_error);
        }
        // A node without a bind knows only what the others do.
        if operator.answer_us == 0 {
            operator.answer_us = figures.answer_us;
        }
        let findings = figures.findings.iter();
        let findings = findings.map(|finding| finding.of_node(other.node));
        operator.findings.extend(findings);
        operator.nodes.push(OperatorShare {
            node: other.node,
            bound: figures.bound,
            binds: figures.binds,
        });
    }
    operator.paused = is_any && all_paused;
    operator.findings = findings::merged(std::mem::take(&mut operator.findings));
    operator.nodes.sort_unstable_by_key(|share| share.node);
    if let Some(queue) = &mut operator.queue {
        // As in the list of queues, which shows a command before the snapshot does.
        let port = node.queue(id);
        queue.suspended |= port.is_some_and(|port| port.suspended.load(Ordering::Relaxed));
        add_queue(node, queue, id, others);
    }
}
