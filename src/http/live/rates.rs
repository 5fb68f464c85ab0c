//! Rates from counters: the difference of two snapshots, divided by the time between them.

use std::collections::{HashMap, VecDeque};

use tokio::time::Instant;

use crate::actors::context::plan::is_connected;
use crate::api::{Rates, Totals};
use crate::pb::{BindSnapshot, NodeSnapshot, QueueSnapshot};

/// Seconds over which rates of a whole cluster are measured: counters of other nodes come with their
/// heartbeats, not evenly every second.
const WINDOW: usize = 3;

/// The last looks.
#[derive(Default)]
pub(super) struct Rate {
    last: VecDeque<Counters>,
}

struct Counters {
    at: Instant,
    totals: Totals,
    /// Delivered and failed, by queue.
    queues: HashMap<String, (u64, u64)>,
    /// Received and sent, by session.
    binds: HashMap<u64, (u64, u64)>,
    commits: (u64, f64),
}

/// What happened between two looks; nothing at the first.
#[derive(Debug, Default)]
pub(super) struct Measured {
    pub rates: Rates,
    pub totals: Totals,
    /// Delivered and failed per second, by queue.
    pub queues: HashMap<String, (f64, f64)>,
    /// Received and sent per second, by session.
    pub binds: HashMap<u64, (f64, f64)>,
    /// Mean duration of a commit, milliseconds.
    pub commit_ms: Option<f64>,
}

// === impl Rate ===

impl Rate {
    /// Compares with the last look, and becomes it.
    pub(super) fn measure(&mut self, node: &NodeSnapshot, now: Instant) -> Measured {
        let counters = Counters::read(node, now);
        let window = if node.is_whole { WINDOW } else { 1 };
        let surplus = self.last.len().saturating_sub(window);
        self.last.drain(..surplus);
        let measured = match self.last.front() {
            Some(last) => counters.since(last),
            None => Measured {
                totals: counters.totals,
                ..Measured::default()
            },
        };
        self.last.push_back(counters);
        measured
    }
}

// === impl Counters ===

impl Counters {
    fn read(node: &NodeSnapshot, at: Instant) -> Self {
        let traffic = node.traffic.unwrap_or_default();
        let store = node.store.clone().unwrap_or_default();
        let of_operators = |queue: &&QueueSnapshot| is_connected(&queue.name);
        Self {
            at,
            totals: Totals {
                accepted: traffic.accepted_total,
                refused: traffic.refused_total,
                sent: node
                    .queues
                    .iter()
                    .filter(of_operators)
                    .map(|queue| queue.delivered_total)
                    .sum(),
                delivered: traffic.delivered_total,
                failed: traffic.failed_total,
                told: traffic.told_total,
                retried: node.queues.iter().map(|queue| queue.retried_total).sum(),
            },
            queues: node
                .queues
                .iter()
                .map(|queue| {
                    let counts = (queue.delivered_total, queue.failed_total);
                    (queue.name.clone(), counts)
                })
                .collect(),
            binds: node
                .binds
                .iter()
                .map(|bind: &BindSnapshot| (bind.session, (bind.received_total, bind.sent_total)))
                .collect(),
            commits: (store.commits_total, store.commit_seconds_total),
        }
    }

    fn since(&self, last: &Self) -> Measured {
        let seconds = self.at.duration_since(last.at).as_secs_f64();
        // A counter that went back belongs to something that restarted.
        let rate = |now: u64, before: u64| match seconds > 0.0 {
            true => now.saturating_sub(before) as f64 / seconds,
            false => 0.0,
        };
        let pair = |now: &(u64, u64), before: Option<&(u64, u64)>| {
            let before = before.unwrap_or(now);
            (rate(now.0, before.0), rate(now.1, before.1))
        };
        let (new, old) = (&self.totals, &last.totals);
        let commits = self.commits.0.saturating_sub(last.commits.0);
        Measured {
            rates: Rates {
                accepted: rate(new.accepted, old.accepted),
                refused: rate(new.refused, old.refused),
                sent: rate(new.sent, old.sent),
                delivered: rate(new.delivered, old.delivered),
                failed: rate(new.failed, old.failed),
                told: rate(new.told, old.told),
                retried: rate(new.retried, old.retried),
            },
            totals: self.totals,
            queues: self
                .queues
                .iter()
                .map(|(name, now)| (name.clone(), pair(now, last.queues.get(name))))
                .collect(),
            binds: self
                .binds
                .iter()
                .map(|(session, now)| (*session, pair(now, last.binds.get(session))))
                .collect(),
            commit_ms: (commits > 0)
                .then(|| (self.commits.1 - last.commits.1) * 1000.0 / commits as f64),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::pb::{StoreSnapshot, TrafficSnapshot};

    fn node(accepted: u64, sent: u64, received: u64, commits: u64) -> NodeSnapshot {
        let queue = |name: &str| QueueSnapshot {
            name: name.to_owned(),
            delivered_total: sent,
            ..QueueSnapshot::default()
        };
        NodeSnapshot {
            queues: vec![queue("operator:up"), queue("account:test")],
            binds: vec![BindSnapshot {
                session: 7,
                received_total: received,
                ..BindSnapshot::default()
            }],
            traffic: Some(TrafficSnapshot {
                accepted_total: accepted,
                ..TrafficSnapshot::default()
            }),
            store: Some(StoreSnapshot {
                commits_total: commits,
                commit_seconds_total: commits as f64 * 0.002,
                ..StoreSnapshot::default()
            }),
            ..NodeSnapshot::default()
        }
    }

    #[test]
    fn a_rate_is_a_difference_per_second() {
        let (mut rate, start) = (Rate::default(), Instant::now());
        let first = rate.measure(&node(100, 50, 10, 4), start);
        assert_eq!(first.rates, Rates::default());
        assert_eq!((first.totals.accepted, first.commit_ms), (100, None));
        let next = rate.measure(&node(300, 150, 30, 8), start + Duration::from_secs(2));
        assert_eq!(next.rates.accepted, 100.0);
        // The queue of an account hands out receipts and MO: nothing that an operator took.
        assert_eq!(next.rates.sent, 50.0);
        assert_eq!(next.queues["account:test"], (50.0, 0.0));
        assert_eq!(next.binds[&7], (10.0, 0.0));
        assert!((next.commit_ms.unwrap() - 2.0).abs() < 1e-9);
    }

    #[test]
    fn what_comes_with_beats_is_spread_over_some_seconds() {
        let (mut rate, start) = (Rate::default(), Instant::now());
        let measured: Vec<f64> = [0, 0, 0, 300, 300, 300, 300]
            .into_iter()
            .zip(0..)
            .map(|(accepted, second)| {
                let whole = NodeSnapshot {
                    is_whole: true,
                    ..node(accepted, 0, 0, 0)
                };
                let now = start + Duration::from_secs(second);
                rate.measure(&whole, now).rates.accepted
            })
            .collect();
        assert_eq!(measured, [0.0, 0.0, 0.0, 100.0, 100.0, 100.0, 0.0]);
    }

    #[test]
    fn what_begins_anew_has_no_rate_below_zero() {
        let (mut rate, start) = (Rate::default(), Instant::now());
        rate.measure(&node(100, 50, 10, 4), start);
        let next = rate.measure(&node(3, 2, 1, 0), start + Duration::from_secs(1));
        assert_eq!(next.rates, Rates::default());
        assert_eq!(next.commit_ms, None);
    }
}
