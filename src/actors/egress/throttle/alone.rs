//! Limits that this node enforces by itself: those of a single node, and all of them without Redis.
//!
//! Where nodes share the rate of an operator, each takes the share of the binds that it holds: a slot is
//! held by one node at a time, so together they never exceed the rate. Such a bucket begins empty, because
//! Redis, or this node before a restart, may just have granted the tokens of a whole second.

use std::time::Duration;

use super::Throttle;
use super::bucket::{Bucket, Limit, refused};
use crate::domain::limit::GcraParameters;
use crate::pb::{TakeTokens, TakenTokens};

/// A node without a bind of the operator asks again after this time.
const WITHOUT_A_BIND: Duration = Duration::from_millis(100);

// === impl Throttle ===

impl Throttle {
    /// Decides at once with this node's own buckets.
    pub(super) fn take(&mut self, ask: TakeTokens) -> TakenTokens {
        let plan = self.node.plan();
        let Some((rate, burst)) = self.node.rate_of(ask.key) else {
            self.buckets.remove(&ask.key);
            return TakenTokens {
                granted: ask.wanted,
                ..TakenTokens::default()
            };
        };
        let limit = match plan.operator(ask.key).filter(|_| self.is_sharing()) {
            None => Limit::Whole(rate, burst),
            Some(operator) => {
                let binds = operator.config.binds;
                let share = self.node.local_lease.share_of_binds(ask.key, binds);
                if share == 0.0 {
                    return refused(WITHOUT_A_BIND);
                }
                Limit::Share(GcraParameters::strict(rate * share, burst))
            }
        };
        drop(plan);
        self.take_of(limit, ask)
    }

    fn take_of(&mut self, limit: Limit, ask: TakeTokens) -> TakenTokens {
        let now = self.started.elapsed().as_nanos() as u64;
        let bucket = self.buckets.entry(ask.key).or_insert_with(|| {
            let mut gcra = limit.bucket();
            if let Limit::Share(pace) = limit {
                gcra.empty(now, pace.slice.unwrap_or_default());
            }
            Bucket { limit, gcra }
        });
        if bucket.limit != limit {
            bucket.gcra.reconfigure(now, limit.bucket());
            bucket.limit = limit;
        }
        let (taken, valid) = match limit {
            Limit::Whole(..) => (bucket.gcra.take(now, ask.wanted), None),
            Limit::Share(pace) => {
                let taken = bucket.gcra.take_at_least(now, ask.wanted, ask.least);
                (taken, pace.slice)
            }
        };
        self.granted += u64::from(taken.granted);
        self.refused += u64::from(ask.wanted.saturating_sub(taken.granted));
        TakenTokens {
            granted: taken.granted,
            retry_in_ms: taken.retry_in.as_millis().min(60_000) as u32,
            valid_ms: valid.map_or(0, |valid| valid.as_millis() as u32),
            left: bucket.gcra.available(now),
        }
    }

    /// Whether other nodes may send to the same operators, so that a burst of this one is not its own.
    fn is_sharing(&self) -> bool {
        self.node.local_lease.is_shared() || self.redis.is_some()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tokio::time::Instant;

    use super::super::rate::rate_in_redis;
    use super::*;
    use crate::actors::cluster::tests::Shelf;
    use crate::actors::runtime::supervise::Health;
    use crate::actors::test_support::{self, TestNode};
    use crate::store::cluster::{LeasedResource, NodeCard, NodeView, ResourceHolder, View};

    const RATE: usize = 100;
    const BINDS: u32 = 4;

    /// A node of a cluster without Redis that holds these bind slots.
    async fn member(slots: &[u32]) -> (TestNode, Throttle) {
        let shelf: Arc<Shelf> = Arc::default();
        let node = test_support::node_with(BINDS, Some(shelf), |config| {
            config.operator[0].rate = Some(RATE as f64);
        });
        let node = node.await;
        hold(&node, slots);
        let context = Arc::clone(&node.context);
        (node, Throttle::new(context, Health::new("throttle"), None))
    }

    fn hold(node: &TestNode, slots: &[u32]) {
        let operator = node.operator;
        let slot = |slot: &u32| LeasedResource::Bind {
            operator,
            slot: *slot,
        };
        let slots: Vec<LeasedResource> = slots.iter().map(slot).collect();
        let lease = &node.context.local_lease;
        assert!(lease.gain(lease.generation(), &slots, || {}));
    }

    fn ask(key: u32, wanted: u32, least: u32) -> TakeTokens {
        TakeTokens { key, wanted, least }
    }

    #[actix::test]
    async fn nodes_that_are_alone_share_the_rate_by_their_binds() {
        let mut members = [
            member(&[0, 1]).await,
            member(&[2]).await,
            member(&[3]).await,
            member(&[]).await,
        ];
        tokio::time::pause();
        let began = Instant::now();
        let mut sent: Vec<Instant> = Vec::new();
        let mut by_node = [0; 4];
        while began.elapsed() < Duration::from_secs(10) {
            for (number, (node, throttle)) in members.iter_mut().enumerate() {
                let taken = throttle.take(ask(node.operator, 50, 1));
                by_node[number] += taken.granted;
                sent.extend(std::iter::repeat_n(Instant::now(), taken.granted as usize));
            }
            tokio::time::advance(Duration::from_millis(3)).await;
        }
        for window in sent.windows(RATE + 1) {
            let took = window[RATE] - window[0];
            assert!(took >= Duration::from_secs(1), "{} in {took:?}", RATE + 1);
        }
        assert!(sent.len() > RATE * 10 * 8 / 10, "{}", sent.len());
        assert!(by_node[0] > by_node[1] * 3 / 2, "{by_node:?}");
        assert_eq!(by_node[3], 0, "it has no bind");
    }

    #[actix::test]
    async fn a_long_message_costs_all_its_parts_and_is_not_starved() {
        let (node, mut throttle) = member(&[0]).await;
        tokio::time::pause();
        let began = Instant::now();
        let mut messages = 0;
        while began.elapsed() < Duration::from_secs(10) {
            messages += throttle.take(ask(node.operator, 10, 10)).granted / 10;
            tokio::time::advance(Duration::from_millis(5)).await;
        }
        // Of 25 in a second: a quarter of the binds.
        assert!((20..=25).contains(&messages), "{messages}");
    }

    #[actix::test]
    async fn redis_grants_what_nodes_that_are_alone_do_not_use() {
        let (node, _) = member(&[0]).await;
        let operator = node.operator;
        let other = |number, limits_alone| NodeView {
            node: number,
            epoch: 1,
            card: NodeCard {
                limits_alone,
                ..NodeCard::default()
            },
            lives_for: Some(Duration::from_secs(5)),
            dead_for: Duration::ZERO,
            since: 0,
        };
        let held = |number, slot| ResourceHolder {
            resource: LeasedResource::Bind { operator, slot },
            node: number,
            epoch: 1,
        };
        let plan = node.context.plan();
        let plan = plan.operator(operator).expect("it is configured");
        for (alone, rate) in [
            ([false, false], 100.0),
            ([true, false], 50.0),
            ([true, true], 25.0),
        ] {
            node.context.local_lease.set_view(View {
                nodes: vec![other(1, alone[0]), other(2, alone[1])],
                held: vec![held(1, 1), held(1, 2), held(2, 3)],
                now: 0,
            });
            assert_eq!(rate_in_redis(&node.context, plan, 100.0), rate, "{alone:?}");
        }
    }
}
