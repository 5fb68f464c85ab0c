//! Gives messages to the next target of their route: a message that failed here, or all waiting messages
//! when nobody serves this queue for long.
//!
//! Called when an attempt fails temporarily, and by the timer. Invariant: two targets that both refuse
//! do not pass a message to and fro. A message goes back to an earlier target only when its retry is
//! due.

use actix::Context;

use super::pass_over::via_look_up;
use crate::actors::context::item::Item;
use crate::actors::queue::Queue;
use crate::actors::queue::backlog::{Batch, Ready};
use crate::actors::queue::dispatch::Dispatch;
use crate::clock;
use crate::pb::{Message, QueueItem};
use crate::store::{ChangeKind, ChangeRow, StoreError, Stored, WriteBatch};

/// Most messages moved in one step.
const STEP: usize = 1000;

impl Queue {
    pub(super) fn has_alternative(&self) -> bool {
        self.node.plan().has_alternative(self.port.id)
    }

    /// Another target of this message's route that can take it now.
    fn alternative(&self, message: &Message) -> Option<u32> {
        self.node
            .plan()
            .next_target(message, self.port.id, self.node.as_ref())
    }

    /// Gives a message that failed here to the next target of its route, if there is one.
    pub(super) fn fail_over(&mut self, item: Item, due_at: i64, ctx: &mut Context<Self>) {
        let reply = self.node.store.load(vec![item.id]);
        self.write_on_lists(ctx, reply, move |queue, loaded, ctx| {
            let message = loaded
                .ok()
                .and_then(|mut loaded| loaded.pop().flatten())
                .map(|stored| stored.message);
            match message {
                Some(message) if queue.alternative(&message).is_some() => {
                    queue.move_away(vec![(item, Box::new(message))], due_at, ctx);
                }
                _ => {
                    let longest = queue.node.plan().longest_pause;
                    queue.backlog.pause(item, due_at, longest);
                }
            }
        });
    }

    /// When nobody has served this queue for long, gives its waiting messages to the next target of
    /// their routes.
    pub(in crate::actors::queue) fn watch_failover(&mut self, ctx: &mut Context<Self>) {
        if !self.is_unserved_for_long() {
            return;
        }
        let Batch {
            ready,
            bare,
            blocks,
        } = self.backlog.take_batch(STEP);
        self.fetch_blocks(blocks, ctx);
        if ready.is_empty() && bare.is_empty() {
            if !self.backlog.awaits_blocks() {
                // No waiting message may go elsewhere.
                self.guard.count_unserved_anew();
            }
            return;
        }
        self.backlog.begin_reading(ready.len() + bare.len());
        let ids = bare.iter().map(|item| item.id).collect();
        let reply = self.node.store.load(ids);
        self.run_on_lists(ctx, reply, move |queue, loaded, ctx| {
            queue.backlog.end_reading();
            let items = queue.with_bodies(ready, bare, loaded);
            if queue.move_away(items, 0, ctx) == 0 {
                // No other target can take one now.
                queue.guard.count_unserved_anew();
            }
        });
    }

    /// Whether nobody has served this queue for `queue.failover_after`, and its messages have another
    /// target.
    fn is_unserved_for_long(&mut self) -> bool {
        if self.guard.sends(&self.node, &self.port) || !self.has_alternative() {
            self.guard.is_served_again();
            return false;
        }
        let unserved_for = self.guard.unserved_for();
        if self.node.available(self.port.id) && !self.guard.is_breaker_open() {
            // Routing still sends new messages here: the operator is away only for a moment.
            return false;
        }
        unserved_for >= self.node.config().queue.failover_after
            && !self.backlog.is_reading()
            && self.recovery.is_running()
    }

    /// Adds the bodies that were read. After a failed read, messages without a body wait here again.
    fn with_bodies(
        &mut self,
        mut ready: Vec<Ready>,
        bare: Vec<Item>,
        loaded: Result<Vec<Option<Stored>>, StoreError>,
    ) -> Vec<Ready> {
        match loaded {
            Ok(loaded) => ready.extend(bare.iter().zip(loaded).filter_map(|(item, stored)| {
                let stored = stored?;
                let is_over = stored.fin.is_some();
                (!is_over).then(|| (*item, Box::new(stored.message)))
            })),
            Err(_) => self.backlog.push_all_front(bare.into_iter()),
        }
        ready
    }

    /// Gives messages to other queues; those without another target return to the front. A message goes
    /// back to an earlier target at `due_at` only: two targets that refuse must not pass it to and fro.
    fn move_away(&mut self, items: Vec<Ready>, due_at: i64, ctx: &mut Context<Self>) -> usize {
        let plan = self.node.plan();
        let at = clock::now_ms();
        let mut batch = WriteBatch::default();
        let mut moved: Vec<(Item, Dispatch)> = Vec::new();
        for (item, mut message) in items.into_iter().rev() {
            let Some(queue) = self.alternative(&message) else {
                self.backlog.push_front(item);
                continue;
            };
            let is_later = plan.is_later(&message, self.port.id, queue);
            let (queue, body) = via_look_up(&plan, queue, &mut message);
            batch.change.push(ChangeRow {
                id: item.id,
                at,
                kind: ChangeKind::Move,
                queue,
                by: self.port.name.clone(),
                expires_at: 0,
                body,
            });
            let queued = QueueItem {
                due_at: if is_later { 0 } else { due_at },
                ..item.for_another_queue()
            };
            moved.push((item, Dispatch::new(&self.node, queue, message, queued)));
        }
        let count = moved.len();
        if count == 0 {
            return 0;
        }
        moved.reverse();
        self.node.metrics.failovers.inc_by(count as u64);
        self.pass_over(moved, batch, ctx);
        count
    }
}
