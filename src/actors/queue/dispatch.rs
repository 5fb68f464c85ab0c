//! Brings items into a queue, whichever node owns it.
//!
//! Ingest and failover use it in two steps: [`write`] with the batch that makes the items durable, then
//! [`pass_on`] after the commit. Invariant: each item takes one way only: in memory where this node owns the
//! partition, otherwise through the shared hand-off table, in the same transaction.

use std::collections::HashMap;

use crate::actors::context::NodeContext;
use crate::actors::context::look_up_line::LookUpLine;
use crate::clock;
use crate::pb::{Message, QueueItem};
use crate::store::cluster::Partition;
use crate::store::{RemoteItem, Ticket, WriteBatch, hand_off_octets};

/// One item and its queue.
pub struct Dispatch {
    queue: u32,
    /// By its destination; the item has that under which the queue is held when it is written.
    part: u8,
    item: QueueItem,
    /// Another node owns the partition; the hand-off table has the item.
    elsewhere: bool,
}

// === impl Dispatch ===

impl Dispatch {
    /// An item for a queue, without its message and its partition.
    pub fn new(node: &NodeContext, queue: u32, message: Box<Message>, item: QueueItem) -> Self {
        Self {
            queue,
            part: node.part_of(queue, &message.destination),
            item: QueueItem {
                message: Some(message),
                ..item
            },
            elsewhere: false,
        }
    }

    pub fn id(&self) -> u64 {
        self.item.id
    }

    /// Where it goes.
    pub fn queue(&self) -> u32 {
        self.queue
    }

    /// The message it carries.
    pub fn message(&self) -> Option<&Message> {
        self.item.message.as_deref()
    }

    /// The message it carries, to be completed before it is written.
    pub fn message_mut(&mut self) -> Option<&mut Message> {
        self.item.message.as_deref_mut()
    }

    fn partition(&self) -> Partition {
        Partition {
            queue: self.queue,
            part: self.item.part as u8,
        }
    }
}

/// Writes a batch to the store, with hand-off rows for items of other nodes.
pub fn write<'p>(
    node: &NodeContext,
    mut batch: WriteBatch,
    dispatches: impl Iterator<Item = &'p mut Dispatch>,
) -> Ticket {
    // Held until the store has the batch; see `local_lease`.
    let ownership = node.local_lease.hold();
    for dispatch in dispatches {
        let queue = dispatch.queue;
        let home = ownership.home(queue, dispatch.part);
        dispatch.elsewhere = home.is_none();
        let (part, term) = home.unwrap_or_else(|| (node.held_as(queue, dispatch.part), 0));
        dispatch.item.part = part.into();
        dispatch.item.term = term;
        if dispatch.elsewhere {
            batch.remote_items.push(RemoteItem {
                queue,
                part,
                id: dispatch.id(),
                octets: hand_off_octets(&dispatch.item),
            });
        }
    }
    node.store.write(batch)
}

/// Passes the written items, `count` of them, to their queues: in memory here, by a wake-up on other
/// nodes.
pub fn pass_on(node: &NodeContext, count: usize, dispatches: impl Iterator<Item = Dispatch>) {
    let mut by_queue: HashMap<u32, Vec<QueueItem>, ahash::RandomState> = HashMap::default();
    let mut elsewhere = Vec::new();
    let plan = node.plan();
    for dispatch in dispatches {
        if let Some(line) = node.look_up_line(&plan, dispatch.queue) {
            keep_in_line(line, &dispatch);
        }
        if dispatch.elsewhere {
            elsewhere.push(dispatch.partition());
        } else {
            by_queue
                .entry(dispatch.queue)
                .or_insert_with(|| Vec::with_capacity(count))
                .push(dispatch.item);
        }
    }
    for (queue, items) in by_queue {
        node.enqueue(queue, items);
    }
    node.wake_owners(elsewhere);
}

/// What goes to a look-up waits there before everything that comes later.
fn keep_in_line(line: &LookUpLine, dispatch: &Dispatch) {
    match (dispatch.elsewhere, dispatch.message()) {
        (false, Some(message)) => {
            // What waits for its time of day joins when that has come.
            if dispatch.item.due_at <= clock::now_ms() {
                line.join(&message.destination, dispatch.item.part as u8, message.id);
            }
        }
        // It is in the line of the other node.
        _ => line.leave(dispatch.id()),
    }
}
