//! The end of memberships: this node's own, after which it joins again, and those of dead nodes.

use std::sync::Arc;
use std::time::Duration;

use actix::{ActorFutureExt, AsyncContext, Context, WrapFuture};
use tokio::time::Instant;

use super::{Cluster, EXIT_NUMBER, adoption};
use crate::pb::DisownPartitions;
use crate::store::cluster::View;

// === impl Cluster ===

impl Cluster {
    /// Holds and sends nothing: another node may own what waits here by now.
    pub(super) fn stand_back(&mut self, why: &str) {
        if self.stood_back {
            return;
        }
        tracing::error!(node = self.me.node, why, "standing back");
        self.node.metrics.leases_lost.inc();
        self.stood_back = true;
        self.node.local_lease.lose_everything();
        self.given_back.clear();
        self.adoptions = adoption::Adoptions::default();
        self.forget_failures(|_| true);
        for port in self.node.queues() {
            port.post_in_order(DisownPartitions {});
        }
        self.slots_changed();
    }

    /// Joins again under the same node number, which is part of the ids made here.
    pub(super) fn rejoin(&mut self, ctx: &mut Context<Self>) {
        let store = Arc::clone(&self.store);
        let (card, node) = (self.card.clone(), self.me.node);
        let lease = self.lease;
        self.beating = true;
        // Decisions of the old epoch must not be written in the new one.
        let barrier = store.barrier();
        let join = tokio::task::spawn_blocking(move || {
            let _ = barrier.wait();
            store.join(card, lease, Some(node))
        });
        ctx.spawn(join.into_actor(self).map(|joined, cluster, _| {
            cluster.beating = false;
            match joined {
                Ok(Ok(me)) if me.node == cluster.me.node => {
                    tracing::info!(node = me.node, epoch = me.epoch, "joined again");
                    cluster.balance.join(me.epoch);
                    cluster.me = me;
                    cluster.next_beat = Instant::now();
                }
                Ok(Ok(me)) => {
                    // Ids of this process contain the old number, so only a new process can continue.
                    tracing::error!(
                        was = cluster.me.node,
                        got = me.node,
                        "another node has this node's number: ending the process"
                    );
                    std::process::exit(EXIT_NUMBER);
                }
                Ok(Err(error)) => tracing::warn!(%error, "the cluster could not be joined again"),
                Err(error) => tracing::warn!(%error, "the cluster could not be joined again"),
            }
        }));
    }

    pub(super) fn bury_the_dead(&mut self, view: &View, ctx: &mut Context<Self>) {
        let margin = self.node.config().cluster.margin;
        for node in &view.nodes {
            let key = (node.node, node.epoch);
            let wait = margin + Duration::from_millis(rand::random_range(0..200));
            let is_too_early = node.dead_for < wait || Instant::now() < self.bury_from;
            if node.lives_for.is_some() || is_too_early || !self.burying.insert(key) {
                continue;
            }
            let reply = self.store.bury(node.node, node.epoch, margin);
            let name = node.card.name.clone();
            ctx.spawn(reply.into_actor(self).map(move |buried, cluster, _| {
                cluster.burying.remove(&key);
                match buried {
                    Ok(true) => {
                        tracing::warn!(dead = key.0, epoch = key.1, %name, "a dead node is taken over");
                        cluster.node.metrics.nodes_buried.inc();
                        cluster.next_beat = Instant::now();
                        cluster.tell_others();
                    }
                    Ok(false) => {}
                    Err(error) => tracing::warn!(dead = key.0, %error, "a dead node is still writing"),
                }
            }));
        }
    }
}
