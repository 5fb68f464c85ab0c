//! Moves waiting messages to another queue because an administrator ordered it: one message, or all
//! that match a filter, in steps so that commits stay small.
//!
//! Messages that a session holds, messages of unknown outcome, and receipts stay where they are.
//! Invariant: a message is in one queue only: its `change` row is written before the other queue gets
//! it.

use std::collections::HashSet;
use std::rc::Rc;

use actix::Context;

use super::pass_over::via_look_up;
use crate::actors::context::item::Item;
use crate::actors::queue::Queue;
use crate::actors::queue::backlog::BlockWaiter;
use crate::actors::queue::dispatch::Dispatch;
use crate::actors::queue::transfer_order::TransferOrder;
use crate::clock;
use crate::pb::{Message, QueueCommand};
use crate::store::{ChangeRow, WriteBatch};

/// Messages moved in one transaction.
const STEP: usize = 1000;

impl Queue {
    /// Begins to move the waiting messages that match; returns how many of those in memory may match.
    pub(super) fn transfer(&mut self, command: &QueueCommand, ctx: &mut Context<Self>) -> u64 {
        let order = TransferOrder::of_all(command, self.backlog.next_block());
        self.transfer_fitting(Rc::new(order), ctx)
    }

    /// Moves one message that was taken out of the lists.
    pub(super) fn transfer_one(
        &mut self,
        item: Item,
        command: &QueueCommand,
        ctx: &mut Context<Self>,
    ) {
        let order = TransferOrder::of_one(command);
        self.transfer_items(vec![item], Rc::new(order), ctx);
    }

    /// Moves matching messages in memory, then those out of it, a block at a time; returns how many may
    /// match.
    pub(super) fn transfer_fitting(
        &mut self,
        order: Rc<TransferOrder>,
        ctx: &mut Context<Self>,
    ) -> u64 {
        if order.sender == 0 {
            let items = self.backlog.take_if(|item| order.fits(item));
            let count = items.len() as u64;
            self.transfer_items(items, order, ctx);
            return count;
        }
        // The store knows the sender of a message: candidates stay until it has answered.
        let mut candidates = Vec::new();
        self.backlog.take_if(|item| {
            if order.fits(item) {
                candidates.push(item.id);
            }
            false
        });
        let count = candidates.len() as u64;
        self.find_senders(candidates, HashSet::new(), order, ctx);
        count
    }

    /// Looks the senders of a step of candidates up; after the last step, moves those of the requested
    /// sender.
    fn find_senders(
        &mut self,
        mut candidates: Vec<u64>,
        mut found: HashSet<u64>,
        order: Rc<TransferOrder>,
        ctx: &mut Context<Self>,
    ) {
        if candidates.is_empty() {
            let items = self.backlog.take_if(|item| found.contains(&item.id));
            return self.transfer_items(items, order, ctx);
        }
        let rest = candidates.split_off(candidates.len().min(STEP));
        let reply = self.node.store.load(candidates);
        self.run_on_lists(ctx, reply, move |queue, loaded, ctx| match loaded {
            Ok(loaded) => {
                let theirs = loaded.into_iter().flatten();
                let theirs = theirs.filter(|stored| stored.message.sender == order.sender);
                found.extend(theirs.map(|stored| stored.message.id));
                queue.find_senders(rest, found, order, ctx);
            }
            Err(error) => {
                tracing::error!(queue = %queue.port.name, %error, "messages could not be moved");
            }
        });
    }

    /// Moves a step of messages, then the next; after the last step, reads blocks that are out of
    /// memory.
    fn transfer_items(
        &mut self,
        mut items: Vec<Item>,
        order: Rc<TransferOrder>,
        ctx: &mut Context<Self>,
    ) {
        if items.is_empty() {
            return self.transfer_block(order, ctx);
        }
        let rest = items.split_off(items.len().min(STEP));
        let reply = self
            .node
            .store
            .load(items.iter().map(|item| item.id).collect());
        self.write_on_lists(ctx, reply, move |queue, loaded, ctx| match loaded {
            Ok(loaded) => {
                let loaded = items.into_iter().zip(loaded).filter_map(|(item, stored)| {
                    let stored = stored?;
                    stored.fin.is_none().then_some((item, stored.message))
                });
                queue.transfer_loaded(loaded.collect(), &order, ctx);
                queue.transfer_items(rest, order, ctx);
            }
            Err(error) => {
                tracing::error!(queue = %queue.port.name, %error, "messages could not be moved");
                for item in items.into_iter().chain(rest) {
                    queue.backlog.push_back(item);
                }
            }
        });
    }

    fn transfer_loaded(
        &mut self,
        loaded: Vec<(Item, Message)>,
        order: &TransferOrder,
        ctx: &mut Context<Self>,
    ) {
        let at = clock::now_ms();
        let mut batch = WriteBatch::default();
        let mut moved = Vec::with_capacity(loaded.len());
        let plan = self.node.full_plan();
        for (item, mut message) in loaded {
            let (queue, detail) = via_look_up(&plan, order.to, &mut message);
            let row = ChangeRow::moved(item.id, at, queue, &order.by, detail);
            batch.change.push(row);
            let queued = item.for_another_queue();
            let dispatch = Dispatch::new(&self.node, queue, Box::new(message), queued);
            moved.push((item, dispatch));
        }
        if !moved.is_empty() {
            self.pass_over(moved, batch, ctx);
        }
    }

    /// Reads one block back into memory; [`Queue::transfer_fitting`] continues with its items.
    fn transfer_block(&mut self, order: Rc<TransferOrder>, ctx: &mut Context<Self>) {
        if let Some(block) = self.backlog.block_below(order.blocks_below) {
            self.fetch_block(block, BlockWaiter::Transfer(order), ctx);
        }
    }
}
