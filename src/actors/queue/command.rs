//! Operators' and ESMEs' commands to a queue: suspend, resume, purge, move, and for one message
//! cancel, retry, move and replace.

use std::sync::atomic::Ordering;

use actix::Context;

use super::Queue;
use super::waiting::Taken;
use crate::pb::delivery::What;
use crate::pb::queue_command::Verb;
use crate::pb::queue_command_reply::Outcome;
use crate::pb::{QueueCommand, QueueCommandReply};

impl Queue {
    pub(super) fn command(
        &mut self,
        command: &QueueCommand,
        ctx: &mut Context<Self>,
    ) -> QueueCommandReply {
        let reply = |outcome: Outcome, count: u64| QueueCommandReply {
            outcome: outcome.into(),
            count,
        };
        match command.verb() {
            Verb::Unspecified => reply(Outcome::Unspecified, 0),
            Verb::Suspend => {
                self.port.suspended.store(true, Ordering::Relaxed);
                reply(Outcome::Done, 1)
            }
            Verb::Resume => {
                self.port.suspended.store(false, Ordering::Relaxed);
                self.hold_until = None;
                self.pump(ctx);
                reply(Outcome::Done, 1)
            }
            Verb::Purge => {
                let count = (self.len() - self.held.len()) as u64;
                self.purge(command.by.clone(), ctx);
                reply(Outcome::Done, count)
            }
            Verb::Move if command.id == 0 => {
                let count = self.transfer(command, ctx);
                reply(Outcome::Done, count)
            }
            Verb::Cancel | Verb::Retry | Verb::Move | Verb::Replace
                if self.held.contains_key(&command.id) =>
            {
                reply(Outcome::InFlight, 0)
            }
            Verb::Cancel => match self.remove_ordered(command) {
                Taken::Item(item) if item.what == What::Message => {
                    self.cancel(vec![item], &command.by, ctx);
                    reply(Outcome::Done, 1)
                }
                Taken::Item(item) => {
                    self.lists.push_front(item);
                    reply(Outcome::NotHere, 0)
                }
                // Out of memory, so it waits far back: it is passed over when its block comes.
                Taken::Away => {
                    self.gone.insert(command.id);
                    self.cancel_spilled(command.id, &command.by, ctx);
                    reply(Outcome::Done, 1)
                }
                Taken::NotHere => reply(Outcome::NotHere, 0),
            },
            Verb::Move => match self.remove_ordered(command) {
                Taken::Item(item) if item.what == What::Message => {
                    self.transfer_one(item, command, ctx);
                    reply(Outcome::Done, 1)
                }
                Taken::Item(item) => {
                    self.lists.push_front(item);
                    reply(Outcome::NotHere, 0)
                }
                Taken::Away | Taken::NotHere => reply(Outcome::NotHere, 0),
            },
            Verb::Replace => reply(self.replace(command, ctx), 1),
            Verb::Retry => match self.remove_ordered(command) {
                Taken::Item(item) => {
                    self.lists.push_front(item);
                    self.pump(ctx);
                    reply(Outcome::Done, 1)
                }
                Taken::Away | Taken::NotHere => reply(Outcome::NotHere, 0),
            },
        }
    }

    /// Takes one waiting or scheduled item out of the lists, wherever it is in memory. What that costs
    /// does not depend on how many wait. Without its sender all accounts are asked.
    pub(super) fn remove(&mut self, id: u64, sender: Option<u32>) -> Taken {
        match self.scheduled.take(id) {
            Some(item) => Taken::Item(item),
            None => self.lists.take(id, sender),
        }
    }

    /// The one that a command is about.
    fn remove_ordered(&mut self, command: &QueueCommand) -> Taken {
        let sender = (command.sender != 0).then_some(command.sender);
        self.remove(command.id, sender)
    }
}
