//! Work that takes time: it runs beside the actor, and its result continues inside the actor.
//!
//! Called by the other actions. Invariants: a result for lists that were discarded meanwhile is
//! dropped, and both leaving partitions and a reading of the store wait for pending writes.

use actix::{ActorFutureExt, AsyncContext, Context, WrapFuture};

use crate::actors::context::ports::UnwrittenAttempts;
use crate::actors::queue::Queue;
use crate::actors::receipts::confirms::Confirms;
use crate::actors::receipts::final_state;
use crate::actors::receipts::states::MessageReached;
use crate::pb::Final;
use crate::store::WriteBatch;

/// What continues inside the actor with the result of some work.
pub(super) trait Then<T>: FnOnce(&mut Queue, T, &mut Context<Queue>) + 'static {}

impl<T, F: FnOnce(&mut Queue, T, &mut Context<Queue>) + 'static> Then<T> for F {}

impl Queue {
    /// Writes results; leaving partitions wait for it.
    pub(super) fn finish(
        &mut self,
        batch: WriteBatch,
        finals: Vec<Final>,
        reached: Vec<MessageReached>,
        ctx: &mut Context<Self>,
    ) {
        self.finish_and_confirm(batch, finals, reached, None, ctx);
    }

    /// Finishes messages; a session is told when that is durable.
    pub(super) fn finish_and_confirm(
        &mut self,
        batch: WriteBatch,
        finals: Vec<Final>,
        reached: Vec<MessageReached>,
        confirms: Option<Confirms>,
        ctx: &mut Context<Self>,
    ) {
        self.have_left(finals.iter().map(|ended| ended.id));
        let (node, lease) = (self.node(), self.under_way.lease());
        let counted = UnwrittenAttempts::new(&self.port, batch.sent.len());
        let work = async move {
            final_state::write_in(&node, lease, batch, finals, reached).await;
            drop((counted, confirms));
        };
        self.write(ctx, work, |_, (), _| {});
    }

    /// Like [`Queue::run`], for work that ends in a write: leaving partitions and a reading of the store
    /// wait for it.
    pub(super) fn write<T: 'static>(
        &mut self,
        ctx: &mut Context<Self>,
        work: impl Future<Output = T> + 'static,
        then: impl Then<T>,
    ) {
        self.under_way.begin_write();
        self.run(ctx, work, move |queue, result, ctx| {
            queue.under_way.end_write();
            then(queue, result, ctx);
            queue.check_released(ctx);
        });
    }

    /// Like [`Queue::write`], for work about the lists: if they are discarded meanwhile, its result is
    /// dropped.
    pub(super) fn write_on_lists<T: 'static>(
        &mut self,
        ctx: &mut Context<Self>,
        work: impl Future<Output = T> + 'static,
        then: impl Then<T>,
    ) {
        let then = self.on_lists(then);
        self.write(ctx, work, then);
    }

    /// Like [`Queue::run`], for attempts that are written before they are made: the lists are read again only when they
    /// are made. Partitions that leave need not wait: their messages are held already.
    pub(super) fn note<T: 'static>(
        &mut self,
        ctx: &mut Context<Self>,
        work: impl Future<Output = T> + 'static,
        then: impl Then<T>,
    ) {
        self.under_way.begin_note();
        self.run(ctx, work, move |queue, result, ctx| {
            queue.under_way.end_note();
            then(queue, result, ctx);
            queue.read_again_when_noted(ctx);
        });
    }

    /// Like [`Queue::run`], for work about the lists: if they are discarded meanwhile, its result is
    /// dropped.
    pub(super) fn run_on_lists<T: 'static>(
        &self,
        ctx: &mut Context<Self>,
        work: impl Future<Output = T> + 'static,
        then: impl Then<T>,
    ) {
        self.run(ctx, work, self.on_lists(then));
    }

    /// Does nothing if the lists were discarded since the work began.
    fn on_lists<T>(&self, then: impl Then<T>) -> impl Then<T> {
        let lists = self.under_way.lists();
        move |queue: &mut Self, result, ctx: &mut Context<Self>| {
            if lists.are_there() {
                then(queue, result, ctx);
            }
        }
    }

    /// Runs `work` on this arbiter and `then` with its result inside the actor.
    pub(super) fn run<T: 'static>(
        &self,
        ctx: &mut Context<Self>,
        work: impl Future<Output = T> + 'static,
        then: impl Then<T>,
    ) {
        ctx.spawn(work.into_actor(self).map(move |result, queue, ctx| {
            queue.stir(ctx);
            then(queue, result, ctx);
        }));
    }
}
