//! Operators' and ESMEs' commands to a queue: suspend, resume, purge, move, and for one message
//! cancel, retry, move and replace.

use std::sync::atomic::Ordering;

use actix::Context;

use super::waiting::Taken;
use super::{PRIORITIES, Queue};
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
                self.hold_until = 0;
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
            Verb::Cancel => match self.remove(command.id) {
                Taken::Item(item) if item.what == What::Message => {
                    self.cancel(vec![item], &command.by, ctx);
                    reply(Outcome::Done, 1)
                }
                Taken::Item(item) => {
                    self.waiting[usize::from(item.priority)].push_front(item);
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
            Verb::Move => match self.remove(command.id) {
                Taken::Item(item) if item.what == What::Message => {
                    self.transfer_one(item, command, ctx);
                    reply(Outcome::Done, 1)
                }
                Taken::Item(item) => {
                    self.waiting[usize::from(item.priority)].push_front(item);
                    reply(Outcome::NotHere, 0)
                }
                Taken::Away | Taken::NotHere => reply(Outcome::NotHere, 0),
            },
            Verb::Replace => reply(self.replace(command, ctx), 1),
            Verb::Retry => match self.remove(command.id) {
                Taken::Item(item) => {
                    self.waiting[usize::from(item.priority)].push_front(item);
                    self.pump(ctx);
                    reply(Outcome::Done, 1)
                }
                Taken::Away | Taken::NotHere => reply(Outcome::NotHere, 0),
            },
        }
    }

    /// Takes one waiting or scheduled item out of the lists, wherever it is in memory. What that costs
    /// does not depend on how many wait.
    pub(super) fn remove(&mut self, id: u64) -> Taken {
        let mut away = false;
        for level in 0..PRIORITIES {
            let at = self.ready[level].iter().position(|(item, _)| item.id == id);
            if let Some((item, _)) = at.and_then(|at| self.ready[level].remove(at)) {
                return Taken::Item(item);
            }
            match self.waiting[level].take(id) {
                Taken::NotHere => {}
                Taken::Away => away = true,
                found => return found,
            }
        }
        match self.scheduled.take(id) {
            Some(item) => Taken::Item(item),
            None if away => Taken::Away,
            None => Taken::NotHere,
        }
    }
}
