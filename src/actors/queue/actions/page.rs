//! Reads bodies for the front of the lists, and moves blocks of the lists out of memory and back.
//!
//! Called by everything that takes from the lists, and by the timer. Invariant: a message that was
//! finished, moved or handed over while it was being read enters no list.

use std::time::Duration;

use actix::Context;

use crate::actors::context::item::Item;
use crate::actors::context::traced;
use crate::actors::queue::Queue;
use crate::actors::queue::backlog::{BacklogPage, BlockAddress, BlockWaiter, items_of};
use crate::actors::receipts::receipt;
use crate::pb::Message;
use crate::pb::delivery::What;
use crate::store::{StoreError, Stored};

/// Most bodies read at a time.
const PAGE: usize = 1024;
/// Octets that the bodies of a queue may take in any case: two of the largest.
const LEAST: u64 = 128 * 1024;
/// Pause after a failed read of the store.
const READ_AGAIN: Duration = Duration::from_secs(1);

impl Queue {
    /// Reads bodies of waiting messages, while the page at the front of a priority runs low or an
    /// account has none.
    pub(in crate::actors::queue) fn read_ahead(&mut self, ctx: &mut Context<Self>) {
        // Without a session the bodies would only occupy memory.
        let is_enough = self.sessions.is_empty() && self.backlog.ready() > 0;
        if self.backlog.is_reading() || is_enough {
            return;
        }
        if self.backlog.has_bare() {
            self.make_room(PAGE);
        }
        let most = self.node.config().queue.page;
        let Some(page) = self.backlog.next_page(most, PAGE) else {
            return;
        };
        for number in &page.blocks {
            self.fetch_block((page.level, *number), BlockWaiter::Anyone, ctx);
        }
        if page.items.is_empty() {
            return;
        }
        let ids = page.items.iter().map(|item| item.id).collect();
        let reply = self.node.store.load(ids);
        self.run_on_lists(ctx, reply, move |queue, loaded, ctx| {
            queue.page_read(page, loaded, ctx);
            queue.pump(ctx);
        });
    }

    /// Sees that there is memory for so many more bodies, as far as this queue may have it.
    pub(in crate::actors::queue) fn make_room(&mut self, bodies: usize) {
        let wanted = self.backlog.octets() + self.backlog.would_take(bodies);
        if wanted > self.bodies.taken() {
            let most = self.node.config().queue.page_mib << 20;
            self.bodies.reach(wanted, most);
        }
        self.backlog.set_room(self.bodies.taken().max(LEAST));
    }

    /// Leaves to others what its bodies do not take.
    pub(in crate::actors::queue) fn tidy_room(&mut self) {
        self.bodies.keep(self.backlog.octets());
        self.backlog.set_room(self.bodies.taken().max(LEAST));
        let (node, shown) = (&self.node, |octets| {
            i64::try_from(octets).unwrap_or(i64::MAX)
        });
        node.metrics.queued_octets.set(shown(node.bodies.taken()));
        node.metrics
            .arriving_octets
            .set(shown(node.arriving.taken()));
    }

    fn page_read(
        &mut self,
        page: BacklogPage,
        loaded: Result<Vec<Option<Stored>>, StoreError>,
        ctx: &mut Context<Self>,
    ) {
        let ids = page.items.iter().map(|item| item.id);
        let late = self.late_holds.among(ids);
        match loaded {
            Ok(loaded) => {
                for (item, stored) in page.items.iter().zip(loaded) {
                    let Some(stored) = stored else { continue };
                    if self.leaves(item) {
                        continue;
                    }
                    let Some(body) = self.body_of(item.what, stored) else {
                        continue;
                    };
                    self.trace_wait(item.attempts, item.what, &body, ctx);
                    self.backlog.read(*item, Box::new(body));
                }
            }
            Err(error) => {
                tracing::error!(queue = %self.port.name, %error, "a page could not be read");
                let stay = page.items.into_iter();
                let stay: Vec<Item> = stay.filter(|item| !self.leaves(item)).collect();
                self.backlog.push_all_front(stay.into_iter());
                self.tokens.hold_for(READ_AGAIN);
            }
        }
        self.backlog.end_page(page.level);
        self.hold_what_came(late, ctx);
    }

    /// Whether it goes to another node with its partition, and is with no session.
    fn leaves(&self, item: &Item) -> bool {
        self.leaving.has(item.part) && !self.late_holds.has(item.id)
    }

    /// The body to hand out of a stored message; `None` if it was cancelled, finished or moved meanwhile.
    pub(super) fn body_of(&self, what: What, stored: Stored) -> Option<Message> {
        match (what, &stored.fin) {
            (What::Message, None) if stored.queue == self.port.id => Some(stored.message),
            (What::Message, _) => None,
            (What::Receipt, Some(fin)) => {
                Some(receipt::receipt_for(&self.node, &stored.message, fin))
            }
            (What::Receipt, None) => None,
        }
    }

    /// Continues the trace of a message that was tried before and is about to be tried again.
    pub(in crate::actors::queue) fn trace_wait(
        &self,
        attempts: u16,
        what: What,
        message: &Message,
        ctx: &mut Context<Self>,
    ) {
        if attempts == 0 || what != What::Message || traced::context_of(message).is_none() {
            return;
        }
        let (node, message, queue) = (self.node(), message.clone(), self.port.id);
        let wait = async move { traced::waited_again(&node, message, queue).await };
        self.run(ctx, wait, |_, (), _| {});
    }

    /// Reads a block back into memory, then continues with `waiter` before anything else can take the
    /// block's items. Does not continue if the whole queue is read again meanwhile.
    pub(super) fn fetch_block(
        &mut self,
        block: BlockAddress,
        waiter: BlockWaiter,
        ctx: &mut Context<Self>,
    ) {
        let (_, number) = block;
        if !self.backlog.ask_for_block(number, waiter) {
            return;
        }
        self.read_block(block, ctx);
    }

    fn read_block(&self, block: BlockAddress, ctx: &mut Context<Self>) {
        let (_, number) = block;
        let reply = self.node.store.read_block(self.port.id, number);
        self.run_on_lists(ctx, reply, move |queue, octets, ctx| {
            queue.block_read(block, octets, ctx);
            queue.pump(ctx);
        });
    }

    /// [`Self::fetch_block`] for blocks that hold items in front of a list.
    pub(super) fn fetch_blocks(&mut self, blocks: Vec<BlockAddress>, ctx: &mut Context<Self>) {
        for block in blocks {
            self.fetch_block(block, BlockWaiter::Anyone, ctx);
        }
    }

    fn block_read(
        &mut self,
        block: BlockAddress,
        octets: Result<Option<Vec<u8>>, StoreError>,
        ctx: &mut Context<Self>,
    ) {
        let (_, number) = block;
        if let Err(error) = &octets
            && !self.late_holds.is_empty()
        {
            tracing::warn!(queue = %self.port.name, %error, "a spilled block cannot be read now, and is read again");
            // Nobody else is granted what a session has of it, so who waits for it waits on.
            let pause = tokio::time::sleep(READ_AGAIN);
            self.run_on_lists(ctx, pause, move |queue, (), ctx| {
                queue.read_block(block, ctx);
            });
            return;
        }
        let waiters = self.backlog.waiters_of(number);
        let is_here = matches!(octets, Ok(Some(_)));
        let mut late = Vec::new();
        match octets {
            Ok(Some(octets)) => {
                late = self.late_holds.among(items_of(&octets).map(|item| item.id));
                self.backlog.fill_block(block, &octets);
                self.forget_blocks(number..number + 1);
            }
            Err(error) => {
                tracing::warn!(queue = %self.port.name, %error, "a spilled block cannot be read now");
                self.tokens.hold_for(READ_AGAIN);
            }
            // The index file is derived data: read the lost items from the store again.
            Ok(None) => {
                tracing::warn!(queue = %self.port.name, "a spilled block is gone, reading the queue again");
                self.recover_when_noted(ctx);
            }
        }
        self.hold_what_came(late, ctx);
        for waiter in waiters {
            match waiter {
                BlockWaiter::Anyone => {}
                BlockWaiter::Expiry => self.backlog.look_for_late_again(),
                BlockWaiter::Transfer(order) if is_here => drop(self.transfer_fitting(order, ctx)),
                BlockWaiter::Transfer(_) => {
                    tracing::error!(queue = %self.port.name, "not all messages could be moved");
                }
            }
        }
    }

    /// Frees blocks that are in memory again or belong to discarded lists.
    pub(in crate::actors::queue) fn forget_blocks(&self, numbers: std::ops::Range<u64>) {
        if !numbers.is_empty() {
            drop(self.node.store.forget_blocks(self.port.id, numbers));
        }
    }

    /// Writes a block out of memory when the lists are longer than the limit.
    pub(in crate::actors::queue) fn spill(&mut self, ctx: &mut Context<Self>) {
        let memory_items = self.node.config().queue.memory_items;
        let Some((block, octets)) = self.backlog.begin_spill(memory_items) else {
            return;
        };
        let (_, number) = block;
        let reply = self.node.store.spill_block(self.port.id, number, octets);
        self.run_on_lists(ctx, reply, move |queue, written, ctx| {
            if !queue.backlog.end_spill(block, written.is_ok()) {
                queue.forget_blocks(number..number + 1);
            }
            if written.is_ok() {
                queue.spill(ctx);
            }
        });
    }
}
