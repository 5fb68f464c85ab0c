//! The accounts' unfinished messages, exchanged with the other nodes at every beat.
//!
//! Changes are lost when a node dies before it has sent them, and lost or doubled when the database becomes
//! unreachable. Therefore one node counts the messages in the store, twice, and corrects the sums: when the
//! membership changes, when an account gets its first limit, and from time to time.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use actix::{ActorFutureExt, AsyncContext, Context, WrapFuture};
use tokio::time::Instant;

use super::Cluster;
use crate::store::StoreError;
use crate::store::cluster::{ClusterStore, View};

/// A count while messages come and go is off by what nodes had not sent yet, so it is repeated.
const RECOUNT_EVERY: Duration = Duration::from_secs(10);
/// Counting reads all active messages; it takes this fraction of the time at most.
const SHARE: u32 = 100;
/// Pause after a change of members, so that takeovers are finished and sent.
const SETTLED_AFTER: Duration = Duration::from_secs(2);

/// Heartbeats between the two counts that must agree: by then each node has sent what it knew at the
/// first.
const BEATS: u32 = 3;

/// The state of counting.
#[derive(Default)]
pub(super) struct CountExchange {
    exchanging: bool,
    recounting: bool,
    /// Accounts that were counted.
    counted: HashSet<u32>,
    /// When they are counted again; `None` means at once.
    next: Option<Instant>,
    /// Nodes and epochs of the last view.
    members: Vec<(u8, u64)>,
}

impl Cluster {
    /// Sends this node's changes to the others and takes the sums.
    pub(super) fn share_counts(&mut self, view: &View, ctx: &mut Context<Self>) {
        let members: Vec<(u8, u64)> = view
            .nodes
            .iter()
            .map(|node| (node.node, node.epoch))
            .collect();
        if members != self.counts.members {
            self.counts.members = members;
            self.counts.next = Some(Instant::now() + SETTLED_AFTER);
        }
        let plan = self.node.full_plan();
        let capped: Vec<u32> = plan
            .accounts()
            .filter(|account| account.config.max_waiting.is_some())
            .map(|account| account.id)
            .collect();
        if self.counts.exchanging {
            return;
        }
        let changes = self.node.unfinished.take_changes(&capped);
        if capped.is_empty() {
            return;
        }
        self.counts.exchanging = true;
        let reply = self.store.count_unfinished(changes.clone());
        ctx.spawn(reply.into_actor(self).map(move |heard, cluster, _| {
            cluster.counts.exchanging = false;
            match heard {
                Ok(sums) => cluster.node.unfinished.heard(&sums),
                Err(error) => {
                    tracing::warn!(%error, "unfinished messages could not be exchanged with other nodes");
                    cluster.node.unfinished.put_back(&changes);
                }
            }
        }));
        self.recount(capped, ctx);
    }

    fn recount(&mut self, capped: Vec<u32>, ctx: &mut Context<Self>) {
        if !self.node.local_lease.is_janitor() {
            // A new janitor begins with a count.
            self.counts.counted.clear();
            return;
        }
        let is_new = |account: &u32| !self.counts.counted.contains(account);
        let is_due = self.counts.next.is_none_or(|next| next <= Instant::now());
        if self.counts.recounting || !(is_due || capped.iter().any(is_new)) {
            return;
        }
        self.counts.recounting = true;
        let store = Arc::clone(&self.store);
        let pause = self.node.config().cluster.heartbeat * BEATS;
        let count = async move {
            let counted = correct(store.as_ref(), &capped, pause).await;
            (capped, counted)
        };
        let done = move |(capped, counted): (Vec<u32>, Result<Duration, StoreError>),
                         cluster: &mut Self,
                         _: &mut Context<Self>| {
            let took = counted.unwrap_or_else(|error| {
                tracing::warn!(%error, "unfinished messages were not counted");
                Duration::ZERO
            });
            cluster.counts.recounting = false;
            cluster.counts.next = Some(Instant::now() + RECOUNT_EVERY.max(took * SHARE));
            cluster.counts.counted = capped.into_iter().collect();
        };
        ctx.spawn(count.into_actor(self).map(done));
    }
}

/// Corrects the sums by the difference that both counts show. A difference that existed only because
/// nodes had not sent their changes, as while many messages end at once, is not in the second count.
/// Returns the longest duration of a count.
pub(super) async fn correct(
    store: &dyn ClusterStore,
    accounts: &[u32],
    pause: Duration,
) -> Result<Duration, StoreError> {
    let began = Instant::now();
    let first = store.recount_unfinished(accounts.to_vec()).await?;
    let took = began.elapsed();
    if first.iter().all(|(_, more)| *more == 0) {
        return Ok(took);
    }
    tokio::time::sleep(pause).await;
    let began = Instant::now();
    let second = store.recount_unfinished(accounts.to_vec()).await?;
    let took = took.max(began.elapsed());
    let first: HashMap<u32, i64> = first.into_iter().collect();
    let alike = second.into_iter().filter_map(|(account, second)| {
        let more = in_both(*first.get(&account)?, second);
        (more != 0).then_some((account, more))
    });
    let alike: Vec<(u32, i64)> = alike.collect();
    if !alike.is_empty() {
        store.correct_unfinished(alike).await?;
    }
    Ok(took)
}

/// The smaller of two differences with the same sign; otherwise 0.
fn in_both(first: i64, second: i64) -> i64 {
    if first.signum() == second.signum() {
        first.signum() * first.abs().min(second.abs())
    } else {
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_both_counts_find_is_corrected() {
        for (first, second, corrected) in [
            (0, 0, 0),
            (-300, 0, 0),
            (-300, -20, -20),
            (-300, 40, 0),
            (7, 7, 7),
            (7, 300, 7),
        ] {
            assert_eq!(in_both(first, second), corrected, "{first} and {second}");
        }
    }
}
