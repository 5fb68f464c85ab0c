//! Work that takes time: it runs beside the actor, and its result continues inside the actor.
//!
//! Called by the other actions. Invariants: a result for lists that were discarded meanwhile is
//! dropped, and both leaving partitions and a reading of the store wait for pending writes.

use actix::{ActorFutureExt, AsyncContext, Context, WrapFuture};

use crate::actors::context::ports::Counted;
use crate::actors::queue::Queue;
use crate::actors::receipts::final_state;
use crate::pb::Final;
use crate::store::WriteBatch;

impl Queue {
    /// Writes results; leaving partitions wait for it.
    pub(super) fn finish(
        &mut self,
        batch: WriteBatch,
        finals: Vec<Final>,
        ctx: &mut Context<Self>,
    ) {
        let (node, lease) = (self.node(), self.under_way.lease());
        let counted = Counted::new(&self.port, batch.sent.len());
        let work = async move {
            final_state::write_in(&node, lease, batch, finals).await;
            drop(counted);
        };
        self.write(ctx, work, |_, (), _| {});
    }

    /// Like [`Queue::run`], for work that ends in a write: leaving partitions and a reading of the store
    /// wait for it.
    pub(super) fn write<F, T>(
        &mut self,
        ctx: &mut Context<Self>,
        work: F,
        then: impl FnOnce(&mut Self, T, &mut Context<Self>) + 'static,
    ) where
        F: Future<Output = T> + 'static,
        T: 'static,
    {
        self.under_way.begin_write();
        self.run(ctx, work, move |queue, result, ctx| {
            queue.under_way.end_write();
            then(queue, result, ctx);
            queue.check_released(ctx);
        });
    }

    /// Like [`Queue::write`], for work about the lists: if they are discarded meanwhile, its result is
    /// dropped.
    pub(super) fn write_on_lists<F, T>(
        &mut self,
        ctx: &mut Context<Self>,
        work: F,
        then: impl FnOnce(&mut Self, T, &mut Context<Self>) + 'static,
    ) where
        F: Future<Output = T> + 'static,
        T: 'static,
    {
        let then = self.on_lists(then);
        self.write(ctx, work, then);
    }

    /// Like [`Queue::run`], for work about the lists: if they are discarded meanwhile, its result is
    /// dropped.
    pub(super) fn run_on_lists<F, T>(
        &self,
        ctx: &mut Context<Self>,
        work: F,
        then: impl FnOnce(&mut Self, T, &mut Context<Self>) + 'static,
    ) where
        F: Future<Output = T> + 'static,
        T: 'static,
    {
        self.run(ctx, work, self.on_lists(then));
    }

    /// Does nothing if the lists were discarded since the work began.
    fn on_lists<T>(
        &self,
        then: impl FnOnce(&mut Self, T, &mut Context<Self>) + 'static,
    ) -> impl FnOnce(&mut Self, T, &mut Context<Self>) + 'static {
        let generation = self.under_way.generation();
        move |queue, result, ctx| {
            if queue.under_way.generation() == generation {
                then(queue, result, ctx);
            }
        }
    }

    /// Runs `work` on this arbiter and `then` with its result inside the actor.
    pub(super) fn run<F, T>(
        &self,
        ctx: &mut Context<Self>,
        work: F,
        then: impl FnOnce(&mut Self, T, &mut Context<Self>) + 'static,
    ) where
        F: Future<Output = T> + 'static,
        T: 'static,
    {
        ctx.spawn(
            work.into_actor(self)
                .map(move |result, queue, ctx| then(queue, result, ctx)),
        );
    }
}
