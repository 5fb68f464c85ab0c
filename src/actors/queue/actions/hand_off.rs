//! Partitions that come to this node and leave it.
//!
//! Called by the actor when the cluster says so. A partition comes with everything that waits in it, read
//! from the shared store, and leaves when nothing of it is with a session or on its way to the store: so
//! what its next owner reads is complete, and no message is sent by both.

use actix::Context;
use tokio::sync::oneshot;

use crate::actors::context::messages::AdoptPartitions;
use crate::actors::context::ports::QueueKind;
use crate::actors::queue::Queue;
use crate::actors::queue::partition_set::Parts;
use crate::pb::ReleasePartitions;

impl Queue {
    /// Forgets what waits in these partitions; it is all in the store.
    fn forget(&mut self, parts: Parts) {
        self.backlog.forget(parts);
        self.in_flight.forget_unsure(parts);
    }

    /// Tells those who wait when nothing of their partitions is under way any more.
    pub(in crate::actors::queue) fn check_released(&mut self, ctx: &mut Context<Self>) {
        self.read_when_written(ctx);
        let is_busy =
            self.under_way.is_writing() || self.backlog.is_reading() || !self.recovery.is_running();
        if self.leaving.is_settled() || is_busy {
            return;
        }
        let free = self.leaving.take_free(self.in_flight.held_parts());
        if free.is_empty() {
            return;
        }
        // What was given back meanwhile.
        self.forget(self.leaving.parts());
        for waiter in free {
            let _ = waiter.send(());
        }
        if self.backlog.spilled() > 0 {
            // Blocks out of memory hold items of all partitions: the rest is read again.
            self.recover_again(ctx);
        }
    }

    /// This node owns partitions from now on.
    pub(in crate::actors::queue) fn adopt(
        &mut self,
        adopted: AdoptPartitions,
        ctx: &mut Context<Self>,
    ) {
        let parts = Parts::of(adopted.parts);
        self.leaving.stay(parts);
        if !self.recovery.adopts(parts) {
            return;
        }
        // Should something of an earlier ownership be left, what the store says is right.
        self.forget(parts);
        for seed in adopted.seeds {
            if !self.in_flight.is_held(seed.item.id) {
                self.plant(seed);
            }
        }
        self.pump(ctx);
        self.publish();
    }

    /// Begins to let partitions go; the answer comes when nothing of them is under way.
    pub(in crate::actors::queue) fn release(
        &mut self,
        release: ReleasePartitions,
        ctx: &mut Context<Self>,
    ) -> oneshot::Receiver<()> {
        let parts = Parts::of(release.parts.iter().map(|part| *part as u8));
        let released = self.leaving.leave(parts);
        self.forget(parts);
        if self.port.kind == QueueKind::Internal {
            // It may hold them for long, in memory alone.
            self.ask_sessions(&release.parts);
        }
        self.check_released(ctx);
        self.publish();
        released
    }

    /// The local lease is over: everything is in the store, for whoever owns it.
    pub(in crate::actors::queue) fn disown(&mut self) {
        let mut before = self.renew();
        // Binds of ESMEs outlive the lease: what they hold they may still acknowledge.
        if !self.is_operator() {
            self.in_flight.keep_held(&mut before.in_flight);
        }
        self.sessions = std::mem::take(&mut before.sessions);
    }
}
