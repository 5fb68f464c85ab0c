//! Rates from counters: the difference of two snapshots, divided by the time between them.

use std::collections::{HashMap, VecDeque};

use tokio::time::Instant;

use crate::actors::control::admin::NodeSnapshot;
use crate::api::{Rates, Totals};
use crate::domain::queue_name::QueueName;
use crate::pb::{BindSnapshot, QueueSnapshot};

/// Seconds over which rates of a whole cluster are measured: counters of other nodes come with their
/// heartbeats, not evenly every second.
const WINDOW: usize = 3;
/// Looks within a minute.
const MINUTE: usize = 60;

/// The last looks.
#[derive(Default)]
pub(super) struct RateWindow {
    last: VecDeque<Counters>,
    /// Attempts and throttled ones of the last minute, by queue of an operator.
    minute: HashMap<String, VecDeque<(u64, u64)>>,
}

struct Counters {
    at: Instant,
    totals: Totals,
    queues: HashMap<String, QueueCounts>,
    /// Received and sent, by session.
    binds: HashMap<u64, (u64, u64)>,
    commits: (u64, f64),
}

/// What is counted of one queue.
#[derive(Debug, Clone, Copy, Default)]
struct QueueCounts {
    delivered: u64,
    failed: u64,
    retried: u64,
    attempts: u64,
    throttled: u64,
    refused: u64,
}

/// How fast one queue empties, per second.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct QueueRates {
    pub delivered: f64,
    pub failed: f64,
    pub retried: f64,
    pub throttled: f64,
    pub refused: f64,
    /// Which part of the attempts of the last minute was throttled, 0 to 1.
    pub throttled_share: f64,
}

/// What happened between two looks; nothing at the first.
#[derive(Debug, Default)]
pub(super) struct Measured {
    pub rates: Rates,
    pub totals: Totals,
    pub queues: HashMap<String, QueueRates>,
    /// Received and sent per second, by session.
    pub binds: HashMap<u64, (f64, f64)>,
    /// Mean duration of a commit, milliseconds.
    pub commit_ms: Option<f64>,
}

// === impl RateWindow ===

impl RateWindow {
    /// Compares with the last look, and becomes it.
    pub(super) fn measure(&mut self, node: &NodeSnapshot, now: Instant) -> Measured {
        let counters = Counters::read(node, now);
        let window = if node.is_whole { WINDOW } else { 1 };
        let surplus = self.last.len().saturating_sub(window);
        self.last.drain(..surplus);
        let mut measured = match self.last.front() {
            Some(last) => counters.since(last),
            None => Measured {
                totals: counters.totals,
                ..Measured::default()
            },
        };
        self.add_shares(&counters, &mut measured);
        self.last.push_back(counters);
        measured
    }

    /// Adds how much operators have throttled within the last minute.
    fn add_shares(&mut self, counters: &Counters, measured: &mut Measured) {
        self.minute
            .retain(|name, _| counters.queues.contains_key(name));
        for (name, counts) in &counters.queues {
            if !QueueName::parse(name).is_connected() {
                continue;
            }
            let minute = self.minute.entry(name.clone()).or_default();
            if minute.len() > MINUTE {
                minute.pop_front();
            }
            minute.push_back((counts.attempts, counts.throttled));
            let (attempts, throttled) = minute.front().copied().unwrap_or_default();
            let attempts = counts.attempts.saturating_sub(attempts);
            let throttled = counts.throttled.saturating_sub(throttled);
            if let Some(rates) = measured.queues.get_mut(name)
                && attempts > 0
            {
                rates.throttled_share = throttled as f64 / attempts as f64;
            }
        }
    }
}

// === impl Counters ===

impl Counters {
    fn read(node: &NodeSnapshot, at: Instant) -> Self {
        let traffic = &node.traffic;
        let store = &node.store;
        let of_operators = |queue: &&QueueSnapshot| QueueName::parse(&queue.name).is_connected();
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
                    let counts = QueueCounts {
                        delivered: queue.delivered_total,
                        failed: queue.failed_total,
                        retried: queue.retried_total,
                        attempts: queue.attempts_total,
                        throttled: queue.throttled_total,
                        refused: queue.refused_total,
                    };
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
        let rate = |now: u64, before: u64| {
            if seconds > 0.0 {
                now.saturating_sub(before) as f64 / seconds
            } else {
                0.0
            }
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
                .map(|(name, now)| {
                    let before = last.queues.get(name).unwrap_or(now);
                    let rates = QueueRates {
                        delivered: rate(now.delivered, before.delivered),
                        failed: rate(now.failed, before.failed),
                        retried: rate(now.retried, before.retried),
                        throttled: rate(now.throttled, before.throttled),
                        refused: rate(now.refused, before.refused),
                        throttled_share: 0.0,
                    };
                    (name.clone(), rates)
                })
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
            traffic: TrafficSnapshot {
                accepted_total: accepted,
                ..TrafficSnapshot::default()
            },
            store: StoreSnapshot {
                commits_total: commits,
                commit_seconds_total: commits as f64 * 0.002,
                ..StoreSnapshot::default()
            },
            ..NodeSnapshot::default()
        }
    }

    #[test]
    fn a_rate_is_a_difference_per_second() {
        let (mut rate, start) = (RateWindow::default(), Instant::now());
        let first = rate.measure(&node(100, 50, 10, 4), start);
        assert_eq!(first.rates, Rates::default());
        assert_eq!((first.totals.accepted, first.commit_ms), (100, None));
        let next = rate.measure(&node(300, 150, 30, 8), start + Duration::from_secs(2));
        assert_eq!(next.rates.accepted, 100.0);
        // The queue of an account hands out receipts and MO: nothing that an operator took.
        assert_eq!(next.rates.sent, 50.0);
        let account = next.queues["account:test"];
        assert_eq!((account.delivered, account.failed), (50.0, 0.0));
        assert_eq!(next.binds[&7], (10.0, 0.0));
        assert!((next.commit_ms.unwrap() - 2.0).abs() < 1e-9);
    }

    #[test]
    fn what_an_operator_throttles_is_a_share_of_the_last_minute() {
        let (mut rate, start) = (RateWindow::default(), Instant::now());
        let mut look = |second: u64, attempts, throttled| {
            let queue = QueueSnapshot {
                name: "operator:up".to_owned(),
                attempts_total: attempts,
                throttled_total: throttled,
                ..QueueSnapshot::default()
            };
            let node = NodeSnapshot {
                queues: vec![queue],
                ..NodeSnapshot::default()
            };
            let now = start + Duration::from_secs(second);
            rate.measure(&node, now).queues.remove("operator:up")
        };
        assert_eq!(
            look(0, 1_000, 900),
            None,
            "what was before counts for nothing"
        );
        assert_eq!(look(1, 1_100, 920).unwrap().throttled_share, 0.2);
        assert_eq!(look(2, 1_100, 920).unwrap().throttled, 0.0);
        for second in 3..70 {
            look(second, 1_100, 920);
        }
        assert_eq!(look(70, 1_200, 920).unwrap().throttled_share, 0.0);
    }

    #[test]
    fn what_comes_with_beats_is_spread_over_some_seconds() {
        let (mut rate, start) = (RateWindow::default(), Instant::now());
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
        let (mut rate, start) = (RateWindow::default(), Instant::now());
        rate.measure(&node(100, 50, 10, 4), start);
        let next = rate.measure(&node(3, 2, 1, 0), start + Duration::from_secs(1));
        assert_eq!(next.rates, Rates::default());
        assert_eq!(next.commit_ms, None);
    }
}
