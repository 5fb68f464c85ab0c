//! Gives a waiting message another text or other times, as its sender ordered (replace_sm, SMPP 3.4
//! §4.10, and replace_if_present_flag, §5.2.18).
//!
//! Invariant: the last order wins and survives a restart: the `change` row is durable before the
//! message is in a list again, and bodies are read from the store after that.

use actix::Context;
use prost::Message as _;

use crate::actors::context::item::{Item, expiry_second};
use crate::actors::queue::Queue;
use crate::actors::queue::backlog::TakenItem;
use crate::clock;
use crate::pb::delivery::What;
use crate::pb::queue_command_reply::Outcome;
use crate::pb::{QueueCommand, Replacement};
use crate::store::{ChangeKind, ChangeRow, RetryRow, StoreError, WriteBatch, Written};

impl Queue {
    /// Begins to replace a message. The replacement is complete when the message's history has the
    /// order.
    pub(super) fn replace(&mut self, command: &QueueCommand, ctx: &mut Context<Self>) -> Outcome {
        let id = command.id;
        let Some(new) = &command.replacement else {
            return Outcome::Unspecified;
        };
        if self.in_flight.is_unsure(id) {
            return Outcome::InFlight;
        }
        // A page that is being read may bring the old body.
        if self.backlog.is_reading() || !self.recovery.is_running() {
            return Outcome::NotHere;
        }
        let item = match self.remove_ordered(command) {
            TakenItem::Item(item) if item.what == What::Message => Some(item),
            TakenItem::Item(item) => {
                self.backlog.push_front(item);
                return Outcome::NotHere;
            }
            // It is in a block out of memory, so it is far from the front.
            TakenItem::Away => None,
            TakenItem::NotHere => return Outcome::NotHere,
        };
        if item.is_some_and(|item| self.leaving.has(item.part)) {
            return Outcome::NotHere;
        }
        let ticket = self.node.store.write(WriteBatch {
            change: vec![ChangeRow {
                id,
                at: clock::now_ms(),
                kind: ChangeKind::Replace,
                queue: self.port.id,
                by: command.by.clone(),
                expires_at: new.expires_at,
                body: new.encode_to_vec().into(),
            }],
            retry: vec![RetryRow {
                id,
                due_at: new.due_at,
                attempts: item.map_or(0, |item| u32::from(item.attempts)),
            }],
            ..WriteBatch::default()
        });
        if item.is_none() {
            // A body read meanwhile could be the old one of a message far from the front.
            self.backlog.begin_reading(0);
        }
        self.in_order.begin_replacing();
        let new = new.clone();
        self.write_on_lists(ctx, ticket, move |queue, written, ctx| {
            queue.in_order.end_replacing();
            queue.replaced(id, item, &new, written);
            queue.pump(ctx);
        });
        Outcome::Done
    }

    fn replaced(
        &mut self,
        id: u64,
        item: Option<Item>,
        new: &Replacement,
        written: Result<Written, StoreError>,
    ) {
        let failure = match written {
            Ok(written) => written.rejected.into_iter().next().map(|row| row.reason),
            Err(error) => Some(error.to_string()),
        };
        let times = match failure {
            None => Some((new.due_at, expiry_second(new.expires_at))),
            Some(reason) => {
                tracing::error!(queue = %self.port.name, id, %reason, "a message could not be replaced");
                None
            }
        };
        match (item, times) {
            (Some(item), Some(times)) => self.backlog.set_times(item, times),
            (Some(item), None) => self.backlog.put_back(item),
            (None, times) => {
                self.backlog.end_reading();
                if let Some(times) = times {
                    self.backlog.set_times_afar(id, times);
                }
            }
        }
    }
}
