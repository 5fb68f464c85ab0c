//! Partitions that come to this node and leave it.
//!
//! Called by the actor on orders of the cluster. A partition comes with all its waiting messages, read
//! from the shared store. It leaves when no session holds a message of it and no result of it is being
//! written. So its next owner reads complete data, and no message is sent by both nodes.

use actix::Context;
use tokio::sync::oneshot;

use crate::actors::context::messages::AdoptPartitions;
use crate::actors::queue::Queue;
use crate::actors::queue::partition_set::PartitionSet;
use crate::actors::queue::suspects::Suspects;
use crate::pb::ReleasePartitions;

impl Queue {
    /// Forgets the waiting messages of these partitions; the store has them all.
    pub(super) fn forget(&mut self, parts: PartitionSet) {
        self.backlog.forget(parts);
        self.in_flight.forget_unsure(parts);
        self.suspects.forget(parts);
        for item in self.suspects.take_all_aside(Some(parts)) {
            self.in_flight.settle(item.id);
        }
        if let Some(line) = self.line() {
            line.forget_parts(|part| parts.has(part));
        }
    }

    /// Answers pending release requests whose partitions have nothing under way any more.
    pub(in crate::actors::queue) fn check_released(&mut self, ctx: &mut Context<Self>) {
        self.read_when_written(ctx);
        let is_busy = self.under_way.is_writing()
            || self.backlog.is_reading()
            || !self.late_holds.is_empty()
            || !self.recovery.is_running();
        if self.leaving.is_settled() || is_busy {
            return;
        }
        let free = self.leaving.take_free(self.in_flight.held_parts());
        if free.is_empty() {
            return;
        }
        // Messages that sessions gave back meanwhile.
        self.forget(self.leaving.parts());
        for waiter in free {
            let _ = waiter.send(());
        }
        if self.backlog.spilled() > 0 {
            // Blocks out of memory hold items of all partitions, so the whole queue is read again.
            self.recover_when_noted(ctx);
        }
    }

    /// This node owns partitions from now on.
    pub(in crate::actors::queue) fn adopt(
        &mut self,
        adopted: AdoptPartitions,
        ctx: &mut Context<Self>,
    ) {
        let parts = PartitionSet::of(adopted.parts);
        self.leaving.stay(parts);
        if !self.recovery.adopts(parts) {
            return;
        }
        // Items left from an earlier ownership are replaced by those of the store.
        self.forget(parts);
        for seed in adopted.seeds {
            if !self.in_flight.is_held(seed.item.id) {
                self.plant(seed);
            }
        }
        self.wait_for_subscribers(ctx);
        self.pump(ctx);
        self.publish();
    }

    /// Begins to release partitions; the answer comes when nothing of them is under way.
    pub(in crate::actors::queue) fn release(
        &mut self,
        release: ReleasePartitions,
        ctx: &mut Context<Self>,
    ) -> oneshot::Receiver<()> {
        let parts = PartitionSet::of(release.parts.iter().map(|part| *part as u8));
        let released = self.leaving.leave(parts);
        self.forget(parts);
        // An internal actor, a connection to a GSM network and one that makes callbacks may hold messages for long before they
        // send them: ask for them back. But not for attempts that are noted: a next owner of the build before would take
        // them for made, whatever is noted about them later.
        if !self.notes_tries() {
            self.ask_sessions(0, &release.parts);
        }
        self.check_released(ctx);
        self.publish();
        released
    }

    /// The local lease has ended: the store has everything, for the next owner.
    pub(in crate::actors::queue) fn disown(&mut self) {
        let mut before = self.renew();
        // Their next owners read what is durable, and nobody here hears what becomes of them.
        self.suspects = Suspects::default();
        // Binds of ESMEs outlive the lease: they may still acknowledge what they hold.
        if !self.is_operator() {
            self.in_flight.keep_held(&mut before.in_flight);
        }
        self.sessions = std::mem::take(&mut before.sessions);
        // Their results are for the next owner to find out; the room stays.
        for batch in self.recovery.break_off(&mut before.recovery) {
            self.sessions
                .add_room(&self.port, batch.session, batch.joined, batch.room);
        }
        if let Some(line) = self.line() {
            line.forget_parts(|_| true);
        }
    }
}
