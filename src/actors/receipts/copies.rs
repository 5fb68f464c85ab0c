//! Copies of receipts, for accounts that get everything on two ways, and of states before the final one.
//!
//! Made where final states, or the rows that other states follow from, are written, in the same commit: the receipt goes the account's first way, and a message of
//! its own brings it the second way. That message waits, is tried and ends by itself, as every message does. If another
//! final state was first after all, the copy repeats that one under the same id.

use crate::actors::context::NodeContext;
use crate::actors::context::local_lease::Ownership;
use crate::actors::receipts::receipt;
use crate::actors::receipts::states::{self, MessageReached};
use crate::domain::partition;
use crate::pb::delivery::What;
use crate::pb::{Copied, Message, QueueItem, StateReport};
use crate::store::cluster::Partition;
use crate::store::{FinRow, RemoteItem, WriteBatch, hand_off_octets};

/// Copies that are being written.
#[derive(Default)]
pub struct Copies {
    /// With their queues.
    here: Vec<(u32, QueueItem)>,
    elsewhere: Vec<Partition>,
    /// Whom they count for.
    senders: Vec<u32>,
}

// === impl Copies ===

impl Copies {
    /// Adds the copy of a receipt, if its account gets one.
    pub fn add(
        &mut self,
        node: &NodeContext,
        ownership: &Ownership,
        batch: &mut WriteBatch,
        message: &Message,
        fin: &FinRow,
    ) {
        let Some(queue) = node.plan().copies_of(fin.tell) else {
            return;
        };
        let copy = of_receipt(node, queue, message, fin);
        self.put(ownership, batch, copy);
    }

    /// Adds the copies that bring a state before the final one, if somebody hears of it.
    pub fn add_state(
        &mut self,
        node: &NodeContext,
        ownership: &Ownership,
        batch: &mut WriteBatch,
        MessageReached { message, report }: &MessageReached,
    ) {
        let Some(queue) = states::queue_for(node, message, report.state()) else {
            return;
        };
        for (of, carrier) in states::about(message) {
            let report = StateReport {
                carrier,
                ..report.clone()
            };
            let copy = states::copy(node, queue, message, of, report);
            self.put(ownership, batch, copy);
        }
    }

    fn put(&mut self, ownership: &Ownership, batch: &mut WriteBatch, copy: Message) {
        let queue = copy.queue;
        self.senders.push(copy.sender);
        let term = ownership.term(queue, partition::WHOLE);
        let item = item_of(
            states::in_order(copy.clone(), true),
            term.unwrap_or_default(),
        );
        match term {
            Some(_) => self.here.push((queue, item)),
            None => {
                let part = partition::WHOLE;
                batch.remote_items.push(RemoteItem {
                    queue,
                    part,
                    id: copy.id,
                    octets: hand_off_octets(&item),
                });
                self.elsewhere.push(Partition { queue, part });
            }
        }
        batch.accept.push(copy);
    }

    /// They are durable: passes them on.
    pub fn pass_on(self, node: &NodeContext) {
        for sender in self.senders {
            node.reserve_parts(sender, 1);
        }
        for (queue, item) in self.here {
            node.enqueue(queue, vec![item]);
        }
        node.wake_owners(self.elsewhere);
    }
}

/// A message that brings the receipt of another one.
pub fn of_receipt(node: &NodeContext, queue: u32, message: &Message, fin: &FinRow) -> Message {
    let copied = Copied {
        of: fin.id,
        receipt: true,
        report: None,
    };
    states::bringing(
        node,
        queue,
        copied,
        receipt::receipt_for(node, message, fin),
    )
}

fn item_of(copy: Message, term: u64) -> QueueItem {
    QueueItem {
        id: copy.id,
        what: What::Message.into(),
        expires_at: copy.expires_at,
        part: partition::WHOLE.into(),
        term,
        message: Some(Box::new(copy)),
        ..QueueItem::default()
    }
}
