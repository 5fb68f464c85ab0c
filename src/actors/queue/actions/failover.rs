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
use crate::actors::queue::backlog::{MovedBatch, ReadyItem, Withdrawn};
use crate::actors::queue::dispatch::Dispatch;
use crate::clock;
use crate::pb::{Message, QueueItem};
use crate::store::{ChangeRow, Stored, WriteBatch};

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
        self.put_all_aside_back();
        let MovedBatch { items, blocks } = self.backlog.take_batch(STEP);
        self.fetch_blocks(blocks, ctx);
        if items.is_empty() {
            if !self.backlog.awaits_blocks() {
                // No waiting message may go elsewhere.
                self.guard.count_unserved_anew();
            }
            return;
        }
        self.backlog.begin_reading(items.len());
        let bare = items.iter().filter(|(_, message)| message.is_none());
        let ids = bare.map(|(item, _)| item.id).collect();
        let reply = self.node.store.load(ids);
        self.run_on_lists(ctx, reply, move |queue, loaded, ctx| {
            queue.backlog.end_reading();
            let items = match loaded {
                Ok(loaded) => with_bodies(items, loaded),
                Err(error) => {
                    // The timer tries again. Those with bodies wait, too: the others must not come after them.
                    tracing::warn!(queue = %queue.port.name, %error, "messages for other queues could not be read");
                    let items = items.into_iter().map(|(item, _)| item);
                    return queue.backlog.push_all_first(items);
                }
            };
            if queue.move_away(items, 0, ctx) == 0 {
                // No other target can take one now.
                queue.guard.count_unserved_anew();
            }
            queue.hold_what_came(Vec::new(), ctx);
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

    /// Gives messages to other queues; those without another target return to the front. A message goes
    /// back to an earlier target at `due_at` only: two targets that refuse must not pass it to and fro.
    fn move_away(&mut self, items: Vec<ReadyItem>, due_at: i64, ctx: &mut Context<Self>) -> usize {
        let plan = self.node.plan();
        let at = clock::now_ms();
        let mut batch = WriteBatch::default();
        let mut moved: Vec<(Item, Dispatch)> = Vec::new();
        for (item, mut message) in items.into_iter().rev() {
            let is_held = self.late_holds.has(item.id);
            let Some(queue) = self.alternative(&message).filter(|_| !is_held) else {
                self.backlog.push_front(item);
                continue;
            };
            let is_later = plan.is_later(&message, self.port.id, queue);
            let (queue, detail) = via_look_up(&plan, queue, &mut message);
            let row = ChangeRow::moved(item.id, at, queue, &self.port.name, detail);
            batch.change.push(row);
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

/// Adds the bodies that were read, in place: the other queue gets the messages in their order. Without those that have
/// ended meanwhile.
fn with_bodies(items: Vec<Withdrawn>, loaded: Vec<Option<Stored>>) -> Vec<ReadyItem> {
    let mut loaded = loaded.into_iter();
    let with_body = |(item, message): Withdrawn| {
        if let Some(message) = message {
            return Some((item, message));
        }
        let stored = loaded.next().flatten()?;
        let is_over = stored.fin.is_some();
        (!is_over).then(|| (item, Box::new(stored.message)))
    };
    items.into_iter().filter_map(with_body).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bodies_that_are_read_leave_messages_in_their_order() {
        let message = |id| Message {
            id,
            ..Message::default()
        };
        let in_memory = |id| (Item::message(id), Some(Box::new(message(id))));
        let items = vec![
            in_memory(1),
            (Item::message(2), None),
            (Item::message(3), None),
            in_memory(4),
            (Item::message(5), None),
        ];
        let stored = |id| {
            Some(Stored {
                message: message(id),
                queue: 0,
                fin: None,
                attempts: 0,
                replayed_as: 0,
                sent_at: 0,
            })
        };
        let filled = with_bodies(items, vec![stored(2), None, stored(5)]);
        let ids: Vec<(u64, u64)> = filled
            .iter()
            .map(|(item, message)| (item.id, message.id))
            .collect();
        assert_eq!(ids, [(1, 1), (2, 2), (4, 4), (5, 5)]);
    }
}
