//! Partitions that come to this node and leave it.
//!
//! A partition comes with everything that waits in it, read from the shared store, and leaves when
//! nothing of it is with a session or on its way to the store: so what its next owner reads is
//! complete, and no message is sent by both.

use actix::{ActorFutureExt, Context, Handler, ResponseActFuture, WrapFuture};
use tokio::sync::oneshot;

use super::messages::AdoptPartitions;
use super::partition_set::Parts;
use super::{Item, Queue};
use crate::actors::context::ports::QueueKind;
use crate::pb::{DisownPartitions, ReleasePartitions};

// === impl Queue ===

impl Queue {
    /// Whether this item's partition is on its way to another node.
    pub(super) fn is_leaving(&self, item: &Item) -> bool {
        self.leaving.has(item.part)
    }

    /// Forgets what waits in these partitions; it is all in the store.
    fn forget(&mut self, parts: Parts) {
        self.lists.take_if(|item| parts.has(item.part));
        self.scheduled.take_if(|item| parts.has(item.part));
        self.unsure.retain(|_, (_, item)| !parts.has(item.part));
    }

    /// Tells those who wait when nothing of their partitions is under way any more.
    pub(super) fn check_released(&mut self, ctx: &mut Context<Self>) {
        self.read_when_written(ctx);
        let busy = self.writing > 0 || self.reading || !self.phase.running();
        if self.leaving.waiters.is_empty() || busy {
            return;
        }
        let parts = self.leaving.parts;
        let held: Parts = Parts::of(self.held.values().map(|held| held.item.part));
        let (done, waiting): (Vec<_>, Vec<_>) = std::mem::take(&mut self.leaving.waiters)
            .into_iter()
            .partition(|(parts, _)| parts.0 & held.0 == 0);
        self.leaving.waiters = waiting;
        if done.is_empty() {
            return;
        }
        // What was given back meanwhile.
        self.forget(parts);
        for (_, waiter) in done {
            let _ = waiter.send(());
        }
        if self.lists.spilled() > 0 {
            // Blocks out of memory hold items of all partitions: the rest is read again.
            self.recover_again(ctx);
        }
    }
}

impl Handler<AdoptPartitions> for Queue {
    type Result = ();

    fn handle(&mut self, adopted: AdoptPartitions, ctx: &mut Self::Context) {
        let parts = Parts::of(adopted.parts);
        self.leaving.parts.0 &= !parts.0;
        if !self.phase.running() {
            // What is being read now may lack them.
            self.read_again = true;
            return;
        }
        if let Some(overlap) = &mut self.overlap {
            overlap.close(parts);
        }
        // Should something of an earlier ownership be left, what the store says is right.
        self.forget(parts);
        for seed in adopted.seeds {
            if !self.held.contains_key(&seed.item.id) {
                self.plant(seed);
            }
        }
        self.pump(ctx);
        self.publish();
    }
}

impl Handler<ReleasePartitions> for Queue {
    type Result = ResponseActFuture<Self, ()>;

    fn handle(&mut self, release: ReleasePartitions, ctx: &mut Self::Context) -> Self::Result {
        let parts = Parts::of(release.parts.iter().map(|part| *part as u8));
        self.leaving.parts.add(parts);
        self.forget(parts);
        let (waiter, released) = oneshot::channel();
        self.leaving.waiters.push((parts, waiter));
        if self.port.kind == QueueKind::Internal {
            // It may hold them for long, in memory alone.
            self.ask_sessions(release.parts);
        }
        self.check_released(ctx);
        self.publish();
        Box::pin(released.into_actor(self).map(|_, _, _| ()))
    }
}

impl Handler<DisownPartitions> for Queue {
    type Result = ();

    fn handle(&mut self, _: DisownPartitions, _: &mut Self::Context) {
        let mut before = self.renew();
        // Binds of ESMEs outlive the lease: what they hold they may still acknowledge.
        if !self.is_operator() {
            self.held = std::mem::take(&mut before.held);
        }
        self.sessions = std::mem::take(&mut before.sessions);
    }
}
