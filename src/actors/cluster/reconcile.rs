//! What this node holds in memory, after the database moved to another server or went back in time.
//!
//! Leases that were claimed or given back in what is lost are as they were before. What nobody else has is claimed again as
//! it is, without being read: this node knows it best. What another node has by then is drained and left to it. Until that
//! is done the view of the database counts for nothing else.

use std::collections::HashSet;
use std::sync::Arc;

use actix::{ActorFutureExt, AsyncContext, Context, WrapFuture};
use tokio::time::Instant;

use super::{Cluster, TICK};
use crate::store::StoreError;
use crate::store::cluster::LeasedResource;

// === impl Cluster ===

impl Cluster {
    /// Whether the view cannot be acted on before this node has compared what it holds.
    pub(super) fn must_reconcile(&mut self) -> bool {
        let caution = self.store.caution();
        if self.stood_back {
            // It holds nothing. What was declared may be gone.
            if caution != self.caution {
                self.declared.clear();
            }
            self.caution = caution;
        }
        caution != self.caution
    }

    pub(super) fn reconcile(&mut self, ctx: &mut Context<Self>) {
        if self.reconciling || self.leaving {
            return;
        }
        self.reconciling = true;
        let caution = self.store.caution();
        let generation = self.node.local_lease.generation();
        let held = self.node.local_lease.held();
        let store = Arc::clone(&self.store);
        let work = async move {
            store.declare(held.clone()).await?;
            let kept = store.keep(held.clone()).await?;
            let kept: HashSet<LeasedResource> = kept.into_iter().collect();
            let lost = held.into_iter().filter(|one| !kept.contains(one));
            Ok::<Vec<LeasedResource>, StoreError>(lost.collect())
        };
        ctx.spawn(work.into_actor(self).map(move |lost, cluster, ctx| {
            cluster.reconciling = false;
            if cluster.node.local_lease.generation() != generation {
                return;
            }
            match lost {
                Ok(lost) => {
                    cluster.caution = caution;
                    cluster.declared.clear();
                    let settings = &cluster.node.config().cluster;
                    cluster.adopt_from = Instant::now() + settings.heartbeat * 2 + settings.margin;
                    if !lost.is_empty() {
                        tracing::warn!(
                            resources = lost.len(),
                            "other nodes have partitions or bind slots since the database moved: they are given up"
                        );
                        cluster.give_back(lost, ctx);
                    }
                }
                Err(error) => tracing::warn!(%error, "it is not known yet what this node still holds"),
            }
            cluster.next_beat = Instant::now() + TICK;
        }));
    }
}
