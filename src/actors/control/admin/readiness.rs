//! Whether this node can work now, and otherwise what prevents it.
//!
//! An operator that is down does not make the node unready: messages are accepted and wait, and a load
//! balancer that removed the node would make it worse. The operator is listed as degraded.

use std::collections::HashMap;
use std::sync::atomic::Ordering;

use actix::Message;

use super::{incidents, snapshots, waits, whole};
use crate::actors::context::NodeContext;
use crate::api::Incident;
use crate::domain::id;
use crate::domain::queue_name::QueueName;

/// The longest pause before a restart (`supervise::Budget`): an actor that failed within this time
/// may still be down.
const RESTART_LASTS_MS: i64 = 2_000;

/// Requests whether this node can work.
pub struct CheckReadiness;

/// What keeps this node from working.
#[derive(Debug, Clone, Default)]
pub struct Readiness {
    /// Why the node is not ready; empty when it is.
    pub not_ready: Vec<String>,
    /// Problems that do not make the node unready.
    pub degraded: Vec<String>,
    /// Operators and accounts that are not well, of which nobody knows yet.
    pub incidents: Vec<Incident>,
    /// That the store was not made from this node's file, and what to do. It names the file, so that only those who have a
    /// token are told.
    pub unused_file: Option<String>,
}

impl Message for CheckReadiness {
    type Result = Readiness;
}

/// When each actor was last seen to restart.
#[derive(Debug, Default)]
pub(super) struct RestartWatch {
    seen: HashMap<String, SeenRestarts>,
    /// How many actors and restarts there were at the last look.
    counted: (usize, u64),
}

#[derive(Debug)]
struct SeenRestarts {
    restarts: u64,
    /// Unix milliseconds; `None` if it was never seen to restart.
    at: Option<i64>,
}

// === impl RestartWatch ===

impl RestartWatch {
    /// Compares every actor's restart counter with the last one seen.
    pub(super) fn look(&mut self, node: &NodeContext, now: i64) {
        // Neither becomes less: while both are the same, so is every counter.
        let counted = snapshots::restarts(node);
        if std::mem::replace(&mut self.counted, counted) == counted {
            return;
        }
        for actor in snapshots::actors(node) {
            self.note(actor.name, actor.restarts, now);
        }
    }

    fn note(&mut self, name: String, restarts: u64, now: i64) {
        let seen = self
            .seen
            .entry(name)
            .or_insert(SeenRestarts { restarts, at: None });
        if restarts > seen.restarts {
            seen.restarts = restarts;
            seen.at = Some(now);
        }
    }

    /// Names of actors that failed a moment ago, in order.
    fn recent(&self, now: i64) -> Vec<&str> {
        let mut names: Vec<&str> = self
            .seen
            .iter()
            .filter(|(_, seen)| seen.at.is_some_and(|at| now - at < RESTART_LASTS_MS))
            .map(|(name, _)| name.as_str())
            .collect();
        names.sort_unstable();
        names
    }
}

/// Checks everything that can prevent the node from working.
pub(super) fn check(node: &NodeContext, restarts: &RestartWatch, now: i64) -> Readiness {
    let mut answer = Readiness {
        incidents: incidents::needing_a_look(node),
        ..Readiness::default()
    };
    if node.draining.load(Ordering::Relaxed) {
        answer.not_ready.push(
            "draining: intake is stopped and windows in flight are being finished".to_owned(),
        );
    }
    let store = snapshots::store(node);
    if store.below_floor {
        answer.not_ready.push(format!(
            "store: {} MiB free are below the floor of {} MiB; free space or lower store.min_free_mib",
            store.free_mib,
            node.config().store.min_free_mib
        ));
    }
    if store.stalled {
        answer.not_ready.push(
            "store: nothing can be written, so nothing is sent: the disk is full, or the database does not answer"
                .to_owned(),
        );
    }
    if let Err(ahead) = id::check(node.ids.last(), now) {
        answer.not_ready.push(format!(
            "clock: {ahead}, so nothing is accepted; see `smsc repair-ids`"
        ));
    }
    if store.dead_letters > 0 {
        answer.degraded.push(format!(
            "store: {} rows could not be written and are in dead letter",
            store.dead_letters
        ));
    }
    let damaged = node.metrics.store_damaged_rows.get();
    if damaged > 0 {
        answer.degraded.push(format!(
            "store: {damaged} rows are damaged and not used; see `smsc damaged`"
        ));
    }
    let (held, doubtful) = (
        node.metrics.messages_held.get(),
        node.metrics.partitions_doubtful.get(),
    );
    if held > 0 {
        answer.degraded.push(format!(
            "store: the database went back in time: {held} messages wait for an order because they may have been sent, \
             and {doubtful} partitions of queues may have more; see `smsc held`"
        ));
    }
    let failing = node.metrics.takeovers_failing.get();
    if failing > 0 {
        answer.degraded.push(format!(
            "cluster: {failing} partitions of queues cannot be read from the database, so nothing of them is sent; the \
             log says why"
        ));
    }
    for name in restarts.recent(now) {
        let said = format!("actor {name}: failed and is being restarted");
        if is_bind_slot(name) {
            answer.degraded.push(said);
        } else {
            answer.not_ready.push(said);
        }
    }
    for operator in whole::operators(node) {
        if operator.bound > 0 {
            continue;
        }
        let state = if operator.paused {
            "every bind is paused until it is resumed"
        } else {
            "no bind is up"
        };
        answer
            .degraded
            .push(format!("operator {}: {state}", operator.id));
    }
    for queue in snapshots::queues(node) {
        if queue.suspended {
            let by = waits::by(&queue.suspended_by);
            answer
                .degraded
                .push(format!("queue {}: suspended{by}", queue.name));
        }
    }
    answer
}

/// Bind slots are named `operator:up transceiver 0`, connections to a GSM network `gsm:home connection`; a failing one
/// stops nothing else.
fn is_bind_slot(name: &str) -> bool {
    QueueName::parse(name).is_connected() && name.contains(' ')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_restart_is_recent_for_a_moment() {
        let mut watch = RestartWatch::default();
        watch.note("throttle".to_owned(), 3, 1_000);
        assert!(
            watch.recent(1_000).is_empty(),
            "restarts before the first look are history"
        );
        watch.note("throttle".to_owned(), 4, 5_000);
        watch.note("janitor".to_owned(), 0, 5_000);
        assert_eq!(watch.recent(5_500), ["throttle"]);
        watch.note("throttle".to_owned(), 4, 6_900);
        assert!(watch.recent(7_000).is_empty());
    }

    #[test]
    fn queues_are_not_bind_slots() {
        assert!(is_bind_slot("operator:up transceiver 0"));
        assert!(is_bind_slot("gsm:home connection"));
        assert!(!is_bind_slot("operator:up"));
        assert!(!is_bind_slot("listener 127.0.0.1:2775"));
    }
}
