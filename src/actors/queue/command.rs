//! Operators' and ESMEs' commands to a queue: suspend, resume, purge, move, and for one message
//! cancel, retry, move and replace.

use std::sync::atomic::Ordering;

use actix::Context;

use super::{Item, PRIORITIES, Queue};
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
                Some(item) if item.what == What::Message => {
                    self.cancel(vec![item], &command.by, ctx);
                    reply(Outcome::Done, 1)
                }
                Some(item) => {
                    self.waiting[usize::from(item.priority)].push_front(item);
                    reply(Outcome::NotHere, 0)
                }
                // Out of memory, so it waits far back: it is passed over when its block comes.
                None if self.waiting.iter().any(|level| level.spilled() > 0) => {
                    self.gone.insert(command.id);
                    self.cancel_spilled(command.id, &command.by, ctx);
                    reply(Outcome::Done, 1)
                }
                None => reply(Outcome::NotHere, 0),
            },
            Verb::Move => match self.remove(command.id) {
                Some(item) if item.what == What::Message => {
                    self.transfer_one(item, command, ctx);
                    reply(Outcome::Done, 1)
                }
                Some(item) => {
                    self.waiting[usize::from(item.priority)].push_front(item);
                    reply(Outcome::NotHere, 0)
                }
                None => reply(Outcome::NotHere, 0),
            },
            Verb::Replace => reply(self.replace(command, ctx), 1),
            Verb::Retry => match self.remove(command.id) {
                Some(item) => {
                    self.waiting[usize::from(item.priority)].push_front(item);
                    self.pump(ctx);
                    reply(Outcome::Done, 1)
                }
                None => reply(Outcome::NotHere, 0),
            },
        }
    }

    /// Takes one waiting or scheduled item out of the lists, wherever it is in memory.
    pub(super) fn remove(&mut self, id: u64) -> Option<Item> {
        for level in 0..PRIORITIES {
            if let Some(at) = self.ready[level].iter().position(|(item, _)| item.id == id) {
                return self.ready[level].remove(at).map(|(item, _)| item);
            }
            if let Some(item) = self.waiting[level].take_if(|item| item.id == id).pop() {
                return Some(item);
            }
        }
        let due = self
            .scheduled
            .iter()
            .find(|(_, items)| items.iter().any(|item| item.id == id))
            .map(|(due, _)| *due)?;
        let items = self.scheduled.get_mut(&due)?;
        let at = items.iter().position(|item| item.id == id)?;
        let item = items.swap_remove(at);
        if items.is_empty() {
            self.scheduled.remove(&due);
        }
        self.scheduled_len -= 1;
        Some(item)
    }
}
