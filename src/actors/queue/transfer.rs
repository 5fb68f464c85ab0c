//! Moves waiting messages to another queue because an operator ordered it: one, or all that fit a
//! filter, a step at a time so that commits stay small.
//!
//! What a session holds, what is of unknown outcome, and receipts stay where they are. Keeps true that
//! a message is in one queue only: its `change` row is written before the other queue has it.

use std::collections::HashSet;
use std::ops::Range;
use std::rc::Rc;

use actix::Context;
use bytes::Bytes;

use super::{Item, PRIORITIES, Queue};
use crate::actors::queue::dispatch::Dispatch;
use crate::clock;
use crate::domain::id;
use crate::pb::delivery::What;
use crate::pb::{Message, QueueCommand};
use crate::store::{ChangeKind, ChangeRow, WriteBatch};

/// Messages moved in one transaction.
const STEP: usize = 1000;

/// What is to be moved, and where.
pub(super) struct Transfer {
    to: u32,
    by: String,
    /// Of this sender; 0 for any.
    sender: u32,
    /// Accepted in this time.
    ids: Range<u64>,
    /// Blocks that were written out of memory before this number are looked at.
    blocks_below: u64,
}

impl Queue {
    /// Begins to move what waits and fits; says how many messages of those in memory may.
    pub(super) fn transfer(&mut self, command: &QueueCommand, ctx: &mut Context<Self>) -> u64 {
        let until = match command.until {
            0 => u64::MAX,
            until => id::lowest_at(until),
        };
        let transfer = Rc::new(Transfer {
            to: command.to,
            by: command.by.clone(),
            sender: command.sender,
            ids: id::lowest_at(command.since)..until,
            blocks_below: self.next_block,
        });
        self.transfer_fitting(transfer, ctx)
    }

    /// Moves one message that was taken out of the lists.
    pub(super) fn transfer_one(
        &mut self,
        item: Item,
        command: &QueueCommand,
        ctx: &mut Context<Self>,
    ) {
        let transfer = Rc::new(Transfer {
            to: command.to,
            by: command.by.clone(),
            sender: 0,
            ids: 0..0,
            blocks_below: 0,
        });
        self.transfer_items(vec![item], transfer, ctx);
    }

    fn transfer_fitting(&mut self, transfer: Rc<Transfer>, ctx: &mut Context<Self>) -> u64 {
        let ids = transfer.ids.clone();
        let fits = move |item: &Item| item.what == What::Message && ids.contains(&item.id);
        if transfer.sender == 0 {
            let items = self.take_waiting(fits);
            let count = items.len() as u64;
            self.transfer_items(items, transfer, ctx);
            return count;
        }
        // Who sent a message is in the store: they stay where they are until that is known.
        let mut candidates = Vec::new();
        self.take_waiting(|item| {
            if fits(item) {
                candidates.push(item.id);
            }
            false
        });
        let count = candidates.len() as u64;
        self.find_senders(candidates, HashSet::new(), transfer, ctx);
        count
    }

    /// Looks a step of candidates up; after the last one, those of the sender are moved.
    fn find_senders(
        &mut self,
        mut candidates: Vec<u64>,
        mut found: HashSet<u64>,
        transfer: Rc<Transfer>,
        ctx: &mut Context<Self>,
    ) {
        if candidates.is_empty() {
            let items = self.take_waiting(|item| found.contains(&item.id));
            return self.transfer_items(items, transfer, ctx);
        }
        let rest = candidates.split_off(candidates.len().min(STEP));
        let reply = self.node.store.load(candidates);
        self.run_on_lists(ctx, reply, move |queue, loaded, ctx| match loaded {
            Ok(loaded) => {
                let theirs = loaded.into_iter().flatten();
                let theirs = theirs.filter(|stored| stored.message.sender == transfer.sender);
                found.extend(theirs.map(|stored| stored.message.id));
                queue.find_senders(rest, found, transfer, ctx);
            }
            Err(error) => {
                tracing::error!(queue = %queue.port.name, %error, "messages could not be moved");
            }
        });
    }

    /// Takes what `wanted` picks out of the lists in memory, in order of priority and acceptance.
    fn take_waiting(&mut self, mut wanted: impl FnMut(&Item) -> bool) -> Vec<Item> {
        let taken = self.lists.take_if(&mut wanted).into_iter();
        let mut taken: Vec<Item> = taken.map(|(item, _)| item).collect();
        taken.extend(self.scheduled.take_if(wanted));
        taken
    }

    /// Moves a step of messages, then the next; after the last one, what is out of memory is read.
    fn transfer_items(
        &mut self,
        mut items: Vec<Item>,
        transfer: Rc<Transfer>,
        ctx: &mut Context<Self>,
    ) {
        if items.is_empty() {
            return self.transfer_block(transfer, ctx);
        }
        let rest = items.split_off(items.len().min(STEP));
        let reply = self
            .node
            .store
            .load(items.iter().map(|item| item.id).collect());
        let generation = self.generation;
        self.writing += 1;
        self.run(ctx, reply, move |queue, loaded, ctx| {
            queue.writing = queue.writing.saturating_sub(1);
            if queue.generation != generation {
                return;
            }
            match loaded {
                Ok(loaded) => {
                    let loaded = items.into_iter().zip(loaded).filter_map(|(item, stored)| {
                        let stored = stored?;
                        stored.fin.is_none().then_some((item, stored.message))
                    });
                    queue.transfer_loaded(loaded.collect(), &transfer, ctx);
                    queue.transfer_items(rest, transfer, ctx);
                }
                Err(error) => {
                    tracing::error!(queue = %queue.port.name, %error, "messages could not be moved");
                    for item in items.into_iter().chain(rest) {
                        queue.lists.push_back(item);
                    }
                }
            }
            queue.check_released(ctx);
        });
    }

    fn transfer_loaded(
        &mut self,
        loaded: Vec<(Item, Message)>,
        transfer: &Transfer,
        ctx: &mut Context<Self>,
    ) {
        let at = clock::now_ms();
        let mut batch = WriteBatch::default();
        let mut moved = Vec::with_capacity(loaded.len());
        for (item, message) in loaded {
            batch.change.push(ChangeRow {
                id: item.id,
                at,
                kind: ChangeKind::Move,
                queue: transfer.to,
                by: transfer.by.clone(),
                expires_at: 0,
                body: Bytes::new(),
            });
            let queued = item.for_another_queue();
            let dispatch = Dispatch::new(&self.node, transfer.to, Box::new(message), queued);
            moved.push((item, dispatch));
        }
        if !moved.is_empty() {
            self.pass_over(moved, batch, ctx);
        }
    }

    /// Reads one block of the waiting list back into memory and goes on with what is in it.
    fn transfer_block(&mut self, transfer: Rc<Transfer>, ctx: &mut Context<Self>) {
        let spilled = (0..PRIORITIES).find_map(|level| {
            // Every block holds something that expires before the end of time.
            let number = self.lists.levels()[level].spilled_expired(u32::MAX)?;
            (number < transfer.blocks_below).then_some((level, number))
        });
        let Some((level, number)) = spilled else {
            return;
        };
        let then = move |queue: &mut Self, is_here, ctx: &mut _| match is_here {
            true => drop(queue.transfer_fitting(transfer, ctx)),
            false => tracing::error!(queue = %queue.port.name, "not all messages could be moved"),
        };
        self.fetch_block(level, number, then, ctx);
    }
}
