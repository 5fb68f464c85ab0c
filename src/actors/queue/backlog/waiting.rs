//! The ordered ids that wait in a queue, 16 octets each. Blocks of them may be in the index file
//! instead of memory.
//!
//! Called by [`super::level`] only. Order is kept, spilled or not: first in, first out; items pushed to
//! the front come before all others. An item is found by its id without a search through all items: ids
//! pushed to the back usually ascend, so the id tells the block. Others (retries that are due) are in a table.

use std::collections::{HashMap, VecDeque};

use crate::actors::context::item::Item;
use crate::pb::delivery::What;

/// Items of one block: the unit of spilling.
pub const BLOCK: usize = 4096;
const ITEM_OCTETS: usize = 16;
/// Most items by which the last block grows at once.
const GROWTH: usize = 512;

/// An [`Item`] as it is stored in memory and in the index file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Packed {
    id: u64,
    expires: u32,
    attempts: u16,
    /// Two bits hold the priority, one bit what the item is.
    kind: u8,
    part: u8,
}

/// A first-in first-out list of items.
#[derive(Debug, Default)]
pub struct WaitingList {
    /// Items that came back: before all others.
    front: VecDeque<Packed>,
    /// Oldest first; new items go into the last one until it is full.
    blocks: VecDeque<ItemBlock>,
    /// Number of blocks that have left at the front since the start, and `until` of the last one.
    gone_by: u64,
    popped_until: u64,
    len: usize,
    /// The highest id that was pushed to the back.
    highest: u64,
    /// Ids in memory that came after a higher one, with their block, counted since the start.
    strays: HashMap<u64, u64, ahash::RandomState>,
}

#[derive(Debug)]
struct ItemBlock {
    /// No ascending id in this block or an earlier one is higher.
    until: u64,
    place: ItemPlace,
}

#[derive(Debug)]
enum ItemPlace {
    Memory(VecDeque<Packed>),
    /// Being written to the index file; the items stay here until that is confirmed.
    Leaving {
        number: u64,
        items: VecDeque<Packed>,
    },
    Spilled {
        number: u64,
        len: usize,
        /// Earliest expiry inside, Unix seconds.
        soonest: u32,
        /// The lowest and the highest id in it.
        ids: (u64, u64),
    },
}

/// What [`WaitingList::pop`] found.
#[derive(Debug, PartialEq, Eq)]
pub enum Popped {
    Item(Item),
    /// The next block is spilled: read it and call [`WaitingList::filled`].
    Spilled(u64),
    Empty,
}

/// What [`WaitingList::take`] found.
#[derive(Debug, PartialEq, Eq)]
pub enum TakenItem {
    Item(Item),
    /// It may be in a block that is out of memory.
    Away,
    NotHere,
}

// === impl Packed ===

impl Packed {
    fn item(&self) -> Item {
        Item {
            id: self.id,
            expires: self.expires,
            attempts: self.attempts,
            priority: self.kind & 0x03,
            what: What::try_from(i32::from(self.kind >> 2)).unwrap_or(What::Message),
            part: self.part,
            sender: 0,
        }
    }

    fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.id.to_le_bytes());
        out.extend_from_slice(&self.expires.to_le_bytes());
        out.extend_from_slice(&self.attempts.to_le_bytes());
        out.push(self.kind);
        out.push(self.part);
    }

    fn read(octets: &[u8; ITEM_OCTETS]) -> Self {
        let [
            i0,
            i1,
            i2,
            i3,
            i4,
            i5,
            i6,
            i7,
            e0,
            e1,
            e2,
            e3,
            a0,
            a1,
            kind,
            part,
        ] = *octets;
        Self {
            id: u64::from_le_bytes([i0, i1, i2, i3, i4, i5, i6, i7]),
            expires: u32::from_le_bytes([e0, e1, e2, e3]),
            attempts: u16::from_le_bytes([a0, a1]),
            kind,
            part,
        }
    }
}

impl From<Item> for Packed {
    fn from(item: Item) -> Self {
        Self {
            id: item.id,
            expires: item.expires,
            attempts: item.attempts,
            kind: item.priority | (item.what as u8) << 2,
            part: item.part,
        }
    }
}

// === impl WaitingList ===

impl WaitingList {
    /// All items, spilled ones included.
    pub fn len(&self) -> usize {
        self.len
    }

    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Items that are not in memory.
    pub fn spilled(&self) -> usize {
        self.blocks
            .iter()
            .map(|block| match &block.place {
                ItemPlace::Spilled { len, .. } => *len,
                _ => 0,
            })
            .sum()
    }

    pub fn push_back(&mut self, item: Item) {
        self.len += 1;
        let is_stray = item.id <= self.highest;
        self.highest = self.highest.max(item.id);
        let items = match self.blocks.back_mut() {
            Some(ItemBlock {
                until,
                place: ItemPlace::Memory(items),
            }) if items.len() < BLOCK => {
                *until = self.highest;
                if items.len() == items.capacity() {
                    items.reserve_exact(items.len().clamp(4, GROWTH));
                }
                items.push_back(item.into());
                None
            }
            _ => Some(VecDeque::from([item.into()])),
        };
        if let Some(items) = items {
            self.blocks.push_back(ItemBlock {
                until: self.highest,
                place: ItemPlace::Memory(items),
            });
        }
        if is_stray {
            let last = self.gone_by + self.blocks.len() as u64 - 1;
            self.strays.insert(item.id, last);
        }
    }

    pub fn push_front(&mut self, item: Item) {
        self.len += 1;
        self.front.push_front(item.into());
    }

    /// Puts an item to the front, behind those in front that came before it: sessions give back in portions.
    pub fn push_first(&mut self, item: Item) {
        self.len += 1;
        let before = self.front.iter().take_while(|other| other.id < item.id);
        self.front.insert(before.count(), item.into());
    }

    /// Puts an item to where its id belongs. If its block is out of memory, it goes behind that.
    pub fn insert(&mut self, item: Item) {
        if self.front.iter().any(|other| other.id > item.id) {
            return self.push_first(item);
        }
        if let Some(ItemBlock { place, .. }) = self.blocks.front()
            && matches!(place, ItemPlace::Spilled { ids, .. } if item.id < ids.0)
        {
            self.len += 1;
            return self.front.push_back(item.into());
        }
        let at = self.blocks.partition_point(|block| block.until < item.id);
        let mut to = at;
        while let Some(block) = self.blocks.get_mut(to) {
            if let ItemPlace::Leaving { items, .. } = &mut block.place {
                // The octets being written will be ignored.
                block.place = ItemPlace::Memory(std::mem::take(items));
            }
            if let ItemPlace::Memory(items) = &mut block.place {
                let before = items.iter().position(|other| other.id > item.id);
                items.insert(before.unwrap_or(items.len()), item.into());
                self.len += 1;
                if to > at {
                    self.strays.insert(item.id, self.gone_by + to as u64);
                }
                return;
            }
            to += 1;
        }
        self.push_back(item);
    }

    /// Whether a higher id waits, by less than `late`.
    pub fn has_later(&self, id: u64, late: u64) -> bool {
        self.highest > id && self.highest - id < late && !self.is_empty()
    }

    /// Whether the first item here came before the one with this id.
    pub fn begins_before(&self, id: u64) -> bool {
        let lowest = |block: &ItemBlock| match &block.place {
            ItemPlace::Memory(items) | ItemPlace::Leaving { items, .. } => {
                items.front().map(|item| item.id)
            }
            ItemPlace::Spilled { ids, .. } => Some(ids.0),
        };
        let in_front = self.front.iter().map(|item| item.id);
        let mut firsts = in_front.chain(self.blocks.iter().filter_map(lowest));
        firsts.next().is_some_and(|first| first < id)
    }

    pub fn pop(&mut self) -> Popped {
        if let Some(item) = self.front.pop_front() {
            self.len -= 1;
            return Popped::Item(item.item());
        }
        loop {
            let Some(first) = self.blocks.front_mut() else {
                return Popped::Empty;
            };
            if let ItemPlace::Leaving { items, .. } = &mut first.place {
                // The octets being written will be ignored.
                first.place = ItemPlace::Memory(std::mem::take(items));
            }
            match &mut first.place {
                ItemPlace::Spilled { number, .. } => return Popped::Spilled(*number),
                ItemPlace::Leaving { .. } => {}
                ItemPlace::Memory(items) => {
                    if let Some(item) = items.pop_front() {
                        self.len -= 1;
                        self.forget_stray(item.id);
                        return Popped::Item(item.item());
                    }
                    self.popped_until = first.until;
                    self.blocks.pop_front();
                    self.gone_by += 1;
                }
            }
        }
    }

    fn forget_stray(&mut self, id: u64) {
        if !self.strays.is_empty() {
            self.strays.remove(&id);
        }
    }

    /// Takes out one item, wherever it is in memory.
    pub fn take(&mut self, id: u64) -> TakenItem {
        if let Some(at) = self.front.iter().position(|item| item.id == id)
            && let Some(item) = self.front.remove(at)
        {
            self.len -= 1;
            return TakenItem::Item(item.item());
        }
        let at = match self.strays.get(&id) {
            Some(block) => usize::try_from(block - self.gone_by).unwrap_or(usize::MAX),
            None => self.blocks.partition_point(|block| block.until < id),
        };
        if let Some(block) = self.blocks.get_mut(at)
            && let ItemPlace::Memory(items) | ItemPlace::Leaving { items, .. } = &mut block.place
            && let Some(at) = items.iter().position(|item| item.id == id)
            && let Some(item) = items.remove(at)
        {
            // The octets being written, if any, will be ignored.
            block.place = ItemPlace::Memory(std::mem::take(items));
            self.len -= 1;
            self.forget_stray(id);
            return TakenItem::Item(item.item());
        }
        let may_have = |block: &ItemBlock| matches!(block.place, ItemPlace::Spilled { ids, .. } if (ids.0..=ids.1).contains(&id));
        if self.blocks.iter().any(may_have) {
            TakenItem::Away
        } else {
            TakenItem::NotHere
        }
    }

    /// Whether a block can be written out of memory: the newest that is not at the front, and either
    /// does not grow any more or has at least `least` items.
    pub fn may_leave(&self, least: usize) -> bool {
        self.leaving(least).is_some()
    }

    /// Takes that block; confirm with [`WaitingList::spilled_as`].
    pub fn leave(&mut self, number: u64, least: usize) -> Option<Vec<u8>> {
        let at = self.leaving(least)?;
        let block = self.blocks.get_mut(at)?;
        let ItemPlace::Memory(items) = &mut block.place else {
            return None;
        };
        let items = std::mem::take(items);
        let mut octets = Vec::with_capacity(items.len() * ITEM_OCTETS);
        items.iter().for_each(|item| item.write(&mut octets));
        block.place = ItemPlace::Leaving { number, items };
        Some(octets)
    }

    fn leaving(&self, least: usize) -> Option<usize> {
        let last = self.blocks.len().checked_sub(1)?;
        let can = |at: &usize| match &self.blocks[*at].place {
            ItemPlace::Memory(items) => (1..last).contains(at) || items.len() >= least,
            _ => false,
        };
        (0..=last).rev().find(can)
    }

    /// The block is in the index file (or, with `kept`, could not be written and stays in memory).
    /// Returns false if its items have been taken out meanwhile: then nobody will read it.
    pub fn spilled_as(&mut self, number: u64, kept: bool) -> bool {
        for block in &mut self.blocks {
            if let ItemPlace::Leaving { number: own, items } = &mut block.place
                && *own == number
            {
                let items = std::mem::take(items);
                if kept {
                    block.place = ItemPlace::Memory(items);
                    return true;
                }
                if !self.strays.is_empty() {
                    items.iter().for_each(|item| {
                        self.strays.remove(&item.id);
                    });
                }
                block.place = ItemPlace::Spilled {
                    number,
                    len: items.len(),
                    soonest: items.iter().map(|item| item.expires).min().unwrap_or(0),
                    ids: items.iter().fold((u64::MAX, 0), |(lowest, highest), item| {
                        (lowest.min(item.id), highest.max(item.id))
                    }),
                };
                return true;
            }
        }
        false
    }

    /// A spilled block has been read.
    pub fn filled(&mut self, number: u64, octets: &[u8]) {
        let is_it = |block: &ItemBlock| matches!(block.place, ItemPlace::Spilled { number: own, .. } if own == number);
        let Some(at) = self.blocks.iter().position(is_it) else {
            return;
        };
        let mut highest = match at.checked_sub(1) {
            Some(before) => self.blocks[before].until,
            None => self.popped_until,
        };
        let items: VecDeque<Packed> = packed(octets).collect();
        for item in &items {
            if item.id <= highest {
                self.strays.insert(item.id, self.gone_by + at as u64);
            }
            highest = highest.max(item.id);
        }
        if let ItemPlace::Spilled { len, .. } = self.blocks[at].place {
            self.len = self.len - len + items.len();
        }
        self.blocks[at].place = ItemPlace::Memory(items);
    }

    /// A spilled block that holds an expired item.
    pub fn spilled_expired(&self, now: u32) -> Option<u64> {
        self.blocks.iter().find_map(|block| match block.place {
            ItemPlace::Spilled {
                number, soonest, ..
            } if soonest <= now => Some(number),
            _ => None,
        })
    }

    /// Takes out the items in memory that match `wanted`; the others keep their order.
    pub fn take_if(&mut self, mut wanted: impl FnMut(&Item) -> bool) -> Vec<Item> {
        let mut taken = Vec::new();
        let strays = &mut self.strays;
        let mut keep = |packed: &Packed| {
            let item = packed.item();
            let take = wanted(&item);
            if take {
                if !strays.is_empty() {
                    strays.remove(&item.id);
                }
                taken.push(item);
            }
            !take
        };
        self.front.retain(&mut keep);
        for block in &mut self.blocks {
            if let ItemPlace::Memory(items) = &mut block.place {
                items.retain(&mut keep);
            }
        }
        self.len -= taken.len();
        taken
    }

    /// The items in memory, unordered.
    pub fn in_memory(&self) -> impl Iterator<Item = Item> {
        let blocks = self.blocks.iter().filter_map(|block| match &block.place {
            ItemPlace::Memory(items) | ItemPlace::Leaving { items, .. } => Some(items),
            ItemPlace::Spilled { .. } => None,
        });
        let packed = self.front.iter().chain(blocks.flatten());
        packed.map(Packed::item)
    }

    /// Spilled blocks, each with the lowest and the highest id in it.
    pub fn spilled_blocks(&self) -> impl Iterator<Item = (u64, (u64, u64))> {
        self.blocks.iter().filter_map(|block| match block.place {
            ItemPlace::Spilled { number, ids, .. } => Some((number, ids)),
            _ => None,
        })
    }

    /// The id at the front, if it is in memory.
    pub fn first(&self) -> Option<u64> {
        let in_blocks = || match &self.blocks.front()?.place {
            ItemPlace::Memory(items) | ItemPlace::Leaving { items, .. } => items.front(),
            ItemPlace::Spilled { .. } => None,
        };
        let first = self.front.front().or_else(in_blocks);
        first.map(|item| item.id)
    }
}

/// The items of a block that was written out of memory.
pub fn items_of(octets: &[u8]) -> impl Iterator<Item = Item> {
    packed(octets).map(|packed| packed.item())
}

fn packed(octets: &[u8]) -> impl Iterator<Item = Packed> {
    let (items, _) = octets.as_chunks::<ITEM_OCTETS>();
    items.iter().map(Packed::read)
}

#[cfg(test)]
mod tests;
