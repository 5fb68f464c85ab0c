//! Items on their way into a queue, whichever node owns it.
//!
//! Ingest and failover bring them in the same two steps: [`write`] with the batch that makes them
//! durable, [`pass_on`] after the commit. Keeps true that each takes one way only: in memory where
//! this node owns the partition, through the shared inbox in the same transaction where it does not.

use std::collections::HashMap;

use crate::actors::context::NodeContext;
use crate::pb::{Message, QueueItem};
use crate::store::cluster::Partition;
use crate::store::{HandOver, Ticket, WriteBatch, inbox_octets};

/// One item and its queue.
pub struct Parcel {
    queue: u32,
    item: QueueItem,
    /// Another node owns the partition; the inbox has it.
    elsewhere: bool,
}

// === impl Parcel ===

impl Parcel {
    /// An item for a queue, without its message and its partition.
    pub fn new(node: &NodeContext, queue: u32, message: Box<Message>, item: QueueItem) -> Self {
        Self {
            queue,
            item: QueueItem {
                part: node.part_of(queue, &message.destination).into(),
                message: Some(message),
                ..item
            },
            elsewhere: false,
        }
    }

    pub fn id(&self) -> u64 {
        self.item.id
    }

    /// What it carries.
    pub fn message(&self) -> Option<&Message> {
        self.item.message.as_deref()
    }

    fn partition(&self) -> Partition {
        Partition {
            queue: self.queue,
            part: self.item.part as u8,
        }
    }
}

/// Gives a batch to the store, and with it what belongs to other nodes.
pub fn write<'p>(
    node: &NodeContext,
    mut batch: WriteBatch,
    parcels: impl Iterator<Item = &'p mut Parcel>,
) -> Ticket {
    // Held until the store has the batch: see `local_lease`.
    let ownership = node.local_lease.hold();
    for parcel in parcels {
        let Partition { queue, part } = parcel.partition();
        let term = ownership.term(queue, part);
        parcel.elsewhere = term.is_none();
        parcel.item.term = term.unwrap_or_default();
        if parcel.elsewhere {
            batch.hand_over.push(HandOver {
                queue,
                part,
                id: parcel.id(),
                octets: inbox_octets(&parcel.item),
            });
        }
    }
    node.store.write(batch)
}

/// What was written, `count` parcels of it, goes to its queues: here in memory, elsewhere by a wake-up.
pub fn pass_on(node: &NodeContext, count: usize, parcels: impl Iterator<Item = Parcel>) {
    let mut by_queue: HashMap<u32, Vec<QueueItem>, ahash::RandomState> = HashMap::default();
    let mut elsewhere = Vec::new();
    for parcel in parcels {
        if parcel.elsewhere {
            elsewhere.push(parcel.partition());
        } else {
            by_queue
                .entry(parcel.queue)
                .or_insert_with(|| Vec::with_capacity(count))
                .push(parcel.item);
        }
    }
    for (queue, items) in by_queue {
        node.enqueue(queue, items);
    }
    node.wake_owners(elsewhere);
}
