//! The accounts' unfinished messages, exchanged with the other nodes at every beat.
//!
//! What a dead node has not said, and what a database that was away has taken twice or not at all, is
//! corrected by counting: one node does so when the membership has changed, when an account gets its
//! first cap, and now and then.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use actix::{ActorFutureExt, AsyncContext, Context, WrapFuture};
use tokio::time::Instant;

use super::Cluster;
use crate::store::StoreError;
use crate::store::cluster::View;

/// What is counted while messages come and go is off by what nodes had not said then: counted again.
const RECOUNT_EVERY: Duration = Duration::from_secs(10);
/// Counting reads everything active: it may take this part of the time.
const SHARE: u32 = 100;
/// After a change of members, for what is taken over to have been said.
const SETTLED_AFTER: Duration = Duration::from_secs(2);

/// What is under way.
#[derive(Default)]
pub(super) struct Counts {
    exchanging: bool,
    recounting: bool,
    /// Accounts that were counted.
    counted: HashSet<u32>,
    /// When they are counted again; at once without it.
    next: Option<Instant>,
    /// Nodes and epochs of the last view.
    members: Vec<(u8, u64)>,
}

impl Cluster {
    /// Tells the others what has changed here, and hears the sums.
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
                    tracing::warn!(%error, "unfinished messages are not exchanged now");
                    cluster.node.unfinished.put_back(&changes);
                }
            }
        }));
        self.recount(capped, ctx);
    }

    fn recount(&mut self, capped: Vec<u32>, ctx: &mut Context<Self>) {
        if !self.node.local_lease.is_janitor() {
            // Whoever becomes the janitor begins by counting.
            self.counts.counted.clear();
            return;
        }
        let is_new = |account: &u32| !self.counts.counted.contains(account);
        let is_due = self.counts.next.is_none_or(|next| next <= Instant::now());
        if self.counts.recounting || !(is_due || capped.iter().any(is_new)) {
            return;
        }
        self.counts.recounting = true;
        let began = Instant::now();
        let store = Arc::clone(&self.store);
        let count = async move {
            let counted = store.recount_unfinished(capped.clone()).await;
            (capped, counted)
        };
        let done = move |(capped, counted): (Vec<u32>, Result<(), StoreError>),
                         cluster: &mut Self,
                         _: &mut Context<Self>| {
            let pause = RECOUNT_EVERY.max(began.elapsed() * SHARE);
            cluster.counts.recounting = false;
            cluster.counts.next = Some(Instant::now() + pause);
            cluster.counts.counted = capped.into_iter().collect();
            if let Err(error) = counted {
                tracing::warn!(%error, "unfinished messages were not counted");
            }
        };
        ctx.spawn(count.into_actor(self).map(done));
    }
}
