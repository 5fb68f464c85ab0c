//! Commands of administrators and ESMEs to a queue: suspend, resume, purge, move; and for one message
//! cancel, retry, move and replace.
//!
//! Called by the actor. Invariants: commands leave messages that a session holds alone, and an item that
//! is not a message stays where it was.

use std::sync::atomic::Ordering;

use actix::Context;

use crate::actors::context::ports::QueueKind;
use crate::actors::queue::Queue;
use crate::actors::queue::backlog::TakenItem;
use crate::pb::delivery::What;
use crate::pb::queue_command::Verb;
use crate::pb::queue_command_reply::Outcome;
use crate::pb::{QueueCommand, QueueCommandReply};

impl Queue {
    /// A receiver of callbacks may have paused it for good.
    fn forget_pause(&mut self, ctx: &mut Context<Self>) {
        if self.port.kind != QueueKind::Account {
            return;
        }
        let forgotten = self.node.store.set_paused(self.port.id, false);
        self.run(ctx, forgotten, |queue, forgotten, _| {
            if let Err(error) = forgotten {
                tracing::error!(queue = %queue.port.name, %error, "after a restart it may be paused again");
            }
        });
    }

    pub(in crate::actors::queue) fn command(
        &mut self,
        command: &QueueCommand,
        ctx: &mut Context<Self>,
    ) -> QueueCommandReply {
        let reply = |outcome: Outcome, count: u64| QueueCommandReply {
            outcome: outcome.into(),
            count,
        };
        self.order_about(command);
        match command.verb() {
            Verb::Unspecified => reply(Outcome::Unspecified, 0),
            Verb::Look => {
                if self.in_flight.is_held(command.id) {
                    reply(Outcome::InFlight, 0)
                } else {
                    reply(Outcome::NotHere, 0)
                }
            }
            Verb::Suspend => {
                self.port.suspended_by.set(command.by.clone());
                self.port.suspended.store(true, Ordering::Relaxed);
                reply(Outcome::Done, 1)
            }
            Verb::Resume => {
                self.port.suspended_by.set(String::new());
                self.port.suspended.store(false, Ordering::Relaxed);
                self.forget_pause(ctx);
                self.tokens.end_hold();
                self.pump(ctx);
                reply(Outcome::Done, 1)
            }
            Verb::Purge => {
                let count = (self.len() - self.in_flight.held_len()) as u64;
                self.purge(command.by.clone(), ctx);
                reply(Outcome::Done, count)
            }
            Verb::Move if command.id == 0 => {
                let count = self.transfer(command, ctx);
                reply(Outcome::Done, count)
            }
            Verb::Cancel | Verb::Retry | Verb::Move | Verb::Replace
                if self.in_flight.is_held(command.id) =>
            {
                reply(Outcome::InFlight, 0)
            }
            Verb::Cancel => match self.remove_ordered(command) {
                TakenItem::Item(item) if item.what == What::Message => {
                    self.cancel(vec![item], &command.by, ctx);
                    reply(Outcome::Done, 1)
                }
                TakenItem::Item(item) => {
                    self.backlog.push_front(item);
                    reply(Outcome::NotHere, 0)
                }
                // It is in a block out of memory: the queue skips it when the block comes back.
                TakenItem::Away => {
                    self.backlog.skip(command.id);
                    self.cancel_spilled(command.id, &command.by, ctx);
                    reply(Outcome::Done, 1)
                }
                TakenItem::NotHere => reply(Outcome::NotHere, 0),
            },
            Verb::Move => match self.remove_ordered(command) {
                TakenItem::Item(item) if item.what == What::Message => {
                    self.transfer_one(item, command, ctx);
                    reply(Outcome::Done, 1)
                }
                TakenItem::Item(item) => {
                    self.backlog.push_front(item);
                    reply(Outcome::NotHere, 0)
                }
                TakenItem::Away | TakenItem::NotHere => reply(Outcome::NotHere, 0),
            },
            Verb::Replace => reply(self.replace(command, ctx), 1),
            Verb::Retry if self.in_order.hurry(command.id) => {
                self.pump(ctx);
                reply(Outcome::Done, 1)
            }
            Verb::Retry => match self.remove_ordered(command) {
                TakenItem::Item(item) => {
                    self.backlog.push_front(item);
                    self.pump(ctx);
                    reply(Outcome::Done, 1)
                }
                TakenItem::Away | TakenItem::NotHere => reply(Outcome::NotHere, 0),
            },
        }
    }

    /// Takes the message that a command names out of the lists.
    pub(super) fn remove_ordered(&mut self, command: &QueueCommand) -> TakenItem {
        let sender = (command.sender != 0).then_some(command.sender);
        self.backlog.remove(command.id, sender)
    }
}
