//! The figures that a node publishes with every heartbeat, so that each node can show the whole
//! cluster.

use std::collections::HashMap;
use std::sync::atomic::Ordering;

use crate::actors::context::NodeContext;
use crate::actors::context::ports::QueueKind;
use crate::pb::{BindDirection, BindState, QueueSnapshot};
use crate::store::cluster::{Figures, FindingFigures, OperatorFigures, QueueFigures};

/// Most queues in a card; beyond that, those with the fewest messages are left out. Operators' queues
/// are all included.
const MOST: usize = 512;
/// Longest error text in a card.
const MAX_ERROR: usize = 200;
/// Most findings of a firewall in a card.
const FINDINGS: usize = 16;

/// The current figures of this node.
pub fn of(node: &NodeContext) -> Figures {
    let binds = node.binds.all();
    let mut operators: HashMap<u32, OperatorFigures> = HashMap::new();
    let mut esmes = 0;
    for port in &binds {
        let bind = port.snapshot.get();
        match bind.direction() {
            BindDirection::In => {
                esmes += u64::from(bind.state() == BindState::Bound);
                continue;
            }
            // A program on the same machine is no bind of anybody, and what a gateway has made to us is none of ours.
            BindDirection::Local | BindDirection::Gateway => continue,
            _ => {}
        }
        if bind.state() == BindState::Standby {
            continue;
        }
        let owner = port.owner.load(Ordering::Relaxed);
        let figures = operators.entry(owner).or_default();
        figures.operator = owner;
        figures.binds += 1;
        figures.bound += u32::from(bind.state() == BindState::Bound);
        figures.paused += u32::from(bind.state() == BindState::Paused);
        figures.name_taken |= bind.name_taken;
        if bind.answer_us > 0 {
            // The mean of what was added before, towards this one.
            figures.answer_us = match figures.answer_us {
                0 => bind.answer_us,
                mean => mean.midpoint(bind.answer_us),
            };
        }
        if figures.last_error.is_empty() {
            figures.last_error = bind.last_error.chars().take(MAX_ERROR).collect();
        }
        let findings = bind.findings.iter().take(FINDINGS);
        figures.findings.extend(findings.map(FindingFigures::from));
    }
    let mut operators: Vec<OperatorFigures> = operators.into_values().collect();
    operators.sort_unstable_by_key(|figures| figures.operator);
    let traffic = node.metrics.traffic();
    Figures {
        queues: queues(node),
        operators,
        esmes,
        accepted: traffic.accepted_total,
        refused: traffic.refused_total,
        delivered: traffic.delivered_total,
        failed: traffic.failed_total,
        told: traffic.told_total,
    }
}

fn queues(node: &NodeContext) -> Vec<QueueFigures> {
    let mut queues: Vec<(bool, QueueFigures)> = node
        .queues()
        .iter()
        .map(|port| {
            let snapshot = port.snapshot.get();
            let suspended = port.suspended.load(Ordering::Relaxed);
            let figures = figures_of(port.id, &snapshot, suspended);
            (port.kind == QueueKind::Operator, figures)
        })
        .filter(|(_, figures)| *figures != QueueFigures::nothing(figures.queue))
        .collect();
    if queues.len() > MOST {
        let to_do =
            |figures: &QueueFigures| figures.waiting + figures.scheduled + figures.in_flight;
        queues.sort_by_key(|(is_operator, figures)| {
            std::cmp::Reverse((*is_operator, figures.suspended, to_do(figures)))
        });
        let operators = queues.iter().filter(|(is_operator, _)| *is_operator);
        let most = operators.count().max(MOST);
        queues.truncate(most);
    }
    queues.into_iter().map(|(_, figures)| figures).collect()
}

fn figures_of(queue: u32, snapshot: &QueueSnapshot, suspended: bool) -> QueueFigures {
    QueueFigures {
        queue,
        waiting: snapshot.waiting,
        scheduled: snapshot.scheduled,
        in_flight: snapshot.in_flight,
        sessions: snapshot.sessions,
        room: snapshot.room,
        oldest_at: snapshot.oldest_at,
        delivered: snapshot.delivered_total,
        failed: snapshot.failed_total,
        retried: snapshot.retried_total,
        expired: snapshot.expired_total,
        suspended,
        attempts: snapshot.attempts_total,
        throttled: snapshot.throttled_total,
        refused: snapshot.refused_total,
        unanswered: snapshot.unanswered_total,
        on_hold: snapshot.on_hold,
    }
}
