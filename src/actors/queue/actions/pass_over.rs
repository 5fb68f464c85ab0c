//! Gives messages to other queues.
//!
//! Called by failover, for an administrator's order, and for the resolver's answers. Invariant: a message is
//! in one queue only: its `change` row is durable before the other queue gets it.

use actix::Context;

use crate::actors::context::item::Item;
use crate::actors::context::plan::Plan;
use crate::actors::context::ports::{QueueKind, UnwrittenAttempts};
use crate::actors::queue::Queue;
use crate::actors::queue::dispatch::{self, Dispatch};
use crate::pb::{Message, Moved};
use crate::store::WriteBatch;

/// The queue that a message goes to on its way to this one, and what its history says about that: a GSM interface
/// needs its IMSI, so it may have to wait for that first.
pub(super) fn via_look_up(plan: &Plan, queue: u32, message: &mut Message) -> (u32, Moved) {
    let stop = plan.first_stop(queue, message);
    if stop == queue {
        message.towards = 0;
        return (queue, Moved::default());
    }
    message.towards = queue;
    let moved = Moved {
        towards: queue,
        ..Moved::default()
    };
    (stop, moved)
}

impl Queue {
    /// Writes that messages belong to other queues, then gives them to those queues.
    pub(super) fn pass_over(
        &mut self,
        mut moved: Vec<(Item, Dispatch)>,
        batch: WriteBatch,
        ctx: &mut Context<Self>,
    ) {
        let node = self.node();
        moved
            .iter()
            .for_each(|(item, _)| self.suspects.acquit(item.id));
        // An internal actor repeats its work after a crash, so these count as unwritten attempts, too.
        let attempts = match self.port.kind {
            QueueKind::Internal => moved.len(),
            _ => 0,
        };
        let counted = UnwrittenAttempts::new(&self.port, attempts);
        let dispatches = moved.iter_mut().map(|(_, dispatch)| dispatch);
        let ticket = dispatch::write(&node, batch, dispatches);
        let lists = self.under_way.lists();
        let turn = self.passing.begin();
        self.write(ctx, ticket, move |queue, written, _| {
            drop(counted);
            match written {
                Ok(_) => {
                    let dispatches = moved.into_iter().map(|(_, dispatch)| dispatch);
                    queue.have_turns(turn, Some(dispatches.collect()));
                }
                Err(error) => {
                    queue.have_turns(turn, None);
                    tracing::error!(queue = %queue.port.name, %error, "messages could not be moved");
                    if lists.are_there() {
                        (moved.into_iter()).for_each(|(item, _)| queue.backlog.push_back(item));
                    }
                }
            }
        });
    }

    /// A write has ended: what was written goes to its queues, behind all that was to be written before it.
    fn have_turns(&mut self, turn: u64, written: Option<Vec<Dispatch>>) {
        for dispatches in self.passing.end(turn, written) {
            self.pass_on(dispatches);
        }
    }

    /// The actor has failed, and its pending writes with it: what is written already goes.
    pub(in crate::actors::queue) fn pass_on_rest(&mut self) {
        for dispatches in std::mem::take(&mut self.passing).rest() {
            self.pass_on(dispatches);
        }
    }

    fn pass_on(&self, dispatches: Vec<Dispatch>) {
        let ids: Vec<u64> = dispatches.iter().map(Dispatch::id).collect();
        dispatch::pass_on(&self.node, ids.len(), dispatches.into_iter());
        self.have_left(ids.into_iter());
    }
}
