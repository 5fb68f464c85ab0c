//! Bodies that are read for the front of the lists, and blocks that are written out of memory and read
//! back.
//!
//! Called by the actions that use the store. A page, a block written out, and a block read back each
//! begin and end here.

use super::{Backlog, BlockAddress, BlockWaiter, Level};
use crate::actors::context::item::{Item, PRIORITIES};
use crate::pb::Message;

/// Items to read next, and blocks that must be read back first.
pub struct BacklogPage {
    pub level: usize,
    pub items: Vec<Item>,
    pub blocks: Vec<u64>,
}

// === impl Backlog ===

impl Backlog {
    /// Whether a page is being read.
    pub fn is_reading(&self) -> bool {
        self.reading.is_some()
    }

    /// `items` items that were taken out are being read. With 0, no items are missing from the lists,
    /// but no page may be read meanwhile. [`Backlog::end_reading`] follows.
    pub fn begin_reading(&mut self, items: usize) {
        self.reading = Some(items);
    }

    pub fn end_reading(&mut self) {
        self.reading = None;
    }

    /// Takes out the items to read next: bodies of waiting messages, while the page at the front of a
    /// priority runs low or an account has none. [`Backlog::end_page`] follows if there are items.
    pub fn next_page(&mut self, page: usize, most: usize) -> Option<BacklogPage> {
        let (level, mut next) = self.lists.next_page(page, most)?;
        next.blocks.retain(|number| !self.blocks.is_asked(*number));
        if !self.gone.is_empty() {
            next.items.retain(|item| !self.gone.remove(&item.id));
        }
        if next.items.is_empty() {
            self.lists.level(level).end_reading();
        } else {
            self.reading = Some(next.items.len());
        }
        Some(BacklogPage {
            level,
            items: next.items,
            blocks: next.blocks,
        })
    }

    /// An item of a page has been read; one that was taken out meanwhile is dropped.
    pub fn read(&mut self, item: Item, message: Box<Message>) {
        if self.gone.is_empty() || !self.gone.remove(&item.id) {
            self.lists.read(item, message);
        }
    }

    /// The whole page has been read or was given back by [`Backlog::push_front`].
    pub fn end_page(&mut self, level: usize) {
        self.reading = None;
        self.lists.level(level).end_reading();
    }

    /// Takes a block to be written out of memory if more than `memory_items` items are there: its level,
    /// number and octets. [`Backlog::end_spill`] follows.
    pub fn begin_spill(&mut self, memory_items: usize) -> Option<(BlockAddress, Vec<u8>)> {
        let in_memory = self.levels().iter().map(Level::in_memory_len);
        if self.blocks.is_leaving() || in_memory.sum::<usize>() <= memory_items {
            return None;
        }
        let number = self.blocks.next();
        let (level, octets) = (0..PRIORITIES)
            .find_map(|level| Some((level, self.lists.level(level).leave(number)?)))?;
        self.blocks.begin_leaving();
        Some(((level, number), octets))
    }

    /// The block is out of memory; if not `written`, it stays. Returns false if nobody will read it.
    pub fn end_spill(&mut self, (level, number): BlockAddress, written: bool) -> bool {
        self.blocks.end_leaving();
        self.lists.level(level).spilled_as(number, !written)
    }

    /// Registers `waiter`; returns whether the block has to be read, because nobody asked for it yet.
    pub fn ask_for_block(&mut self, number: u64, waiter: BlockWaiter) -> bool {
        self.blocks.ask(number, waiter)
    }

    /// The waiters of a block that has been read or cannot be.
    pub fn waiters_of(&mut self, number: u64) -> Vec<BlockWaiter> {
        self.blocks.came(number)
    }

    /// The blocks out of memory that may have this item.
    pub fn blocks_with(&self, id: u64) -> Vec<BlockAddress> {
        let levels = self.levels().iter().enumerate();
        let blocks = levels.flat_map(|(at, level)| {
            let spilled = level.spilled_blocks();
            let fits =
                spilled.filter(move |(_, (lowest, highest))| (*lowest..=*highest).contains(&id));
            fits.map(move |(number, _)| (at, number))
        });
        blocks.collect()
    }

    /// A block has been read. Items that were taken out meanwhile are dropped, and those that were replaced get their other
    /// times.
    pub fn fill_block(&mut self, (level, number): BlockAddress, octets: &[u8]) {
        self.lists.level(level).filled(number, octets);
        if !self.gone.is_empty() {
            let gone = &mut self.gone;
            self.lists
                .level(level)
                .take_if(|item| gone.remove(&item.id));
        }
        if self.replaced_afar.is_empty() {
            return;
        }
        let known = &self.replaced_afar;
        let level = self.lists.level(level);
        let items = level.take_if(|item| known.contains_key(&item.id));
        for (item, _) in items {
            if let Some(times) = self.replaced_afar.remove(&item.id) {
                self.set_times(item, times);
            }
        }
    }

    /// Whether neither a page nor a block is being read back into the lists.
    pub fn is_all_here(&self) -> bool {
        !self.is_reading() && self.blocks.is_idle()
    }

    /// Whether a block is being read back.
    pub fn awaits_blocks(&self) -> bool {
        !self.blocks.is_idle()
    }

    /// The number of the next block to be written out: all existing ones have lower numbers.
    pub fn next_block(&self) -> u64 {
        self.blocks.next()
    }

    /// A block out of memory with a number below this one.
    pub fn block_below(&self, number: u64) -> Option<BlockAddress> {
        let mut levels = self.levels().iter().enumerate();
        levels.find_map(|(at, level)| {
            // Every block holds something that expires before the end of time.
            let block = level.spilled_expired(u32::MAX)?;
            (block < number).then_some((at, block))
        })
    }
}
