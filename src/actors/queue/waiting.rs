//! The ordered ids that wait in a queue, 16 octets each, with blocks that may live in the index
//! file instead of memory.
//!
//! Called by the queue actor only. Order is kept: what was pushed first is popped first, spilled
//! or not; what is pushed to the front comes before all.

use std::collections::VecDeque;

use crate::pb::QueueItem;
use crate::pb::delivery::What;

/// Items of one block: the unit of spilling.
pub const BLOCK: usize = 4096;
const ITEM_OCTETS: usize = 16;

/// One thing that waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Item {
    pub id: u64,
    /// Unix seconds after which it is not sent any more.
    pub expires: u32,
    /// Attempts counted so far.
    pub attempts: u16,
    pub priority: u8,
    pub what: What,
    /// The partition of the queue, see [`crate::domain::partition`].
    pub part: u8,
}

/// A first-in first-out list of items.
#[derive(Debug, Default)]
pub struct Waiting {
    head: VecDeque<Item>,
    middle: VecDeque<Block>,
    tail: Vec<Item>,
    len: usize,
}

#[derive(Debug)]
enum Block {
    Memory(Vec<Item>),
    /// On its way to the index file; still here until that is confirmed.
    Leaving {
        number: u64,
        items: Vec<Item>,
    },
    Spilled {
        number: u64,
        len: usize,
        /// Earliest expiry inside, Unix seconds.
        soonest: u32,
        /// The lowest id inside and the highest.
        ids: (u64, u64),
    },
}

/// What [`Waiting::pop`] found.
#[derive(Debug, PartialEq, Eq)]
pub enum Popped {
    Item(Item),
    /// The next block is spilled: read it and call [`Waiting::filled`].
    Spilled(u64),
    Empty,
}

// === impl Item ===

impl Item {
    /// What another queue is given of it; its message and partition come with the parcel.
    pub fn for_another_queue(&self) -> QueueItem {
        QueueItem {
            id: self.id,
            what: self.what.into(),
            priority: u32::from(self.priority),
            expires_at: i64::from(self.expires) * 1000,
            attempts: u32::from(self.attempts),
            ..QueueItem::default()
        }
    }

    fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.id.to_le_bytes());
        out.extend_from_slice(&self.expires.to_le_bytes());
        out.extend_from_slice(&self.attempts.to_le_bytes());
        // Two bits are enough for the priority, one for what it is.
        out.push(self.priority | (self.what as u8) << 2);
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
            priority: kind & 0x03,
            what: What::try_from(i32::from(kind >> 2)).unwrap_or(What::Message),
            part,
        }
    }
}

// === impl Waiting ===

impl Waiting {
    /// All items, spilled ones included.
    pub fn len(&self) -> usize {
        self.len
    }

    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Items that are not in memory.
    pub fn spilled(&self) -> usize {
        self.middle
            .iter()
            .map(|block| match block {
                Block::Spilled { len, .. } => *len,
                _ => 0,
            })
            .sum()
    }

    pub fn push_back(&mut self, item: Item) {
        self.len += 1;
        self.tail.push(item);
        if self.tail.len() == BLOCK {
            let full = std::mem::replace(&mut self.tail, Vec::with_capacity(BLOCK));
            self.middle.push_back(Block::Memory(full));
        }
    }

    pub fn push_front(&mut self, item: Item) {
        self.len += 1;
        self.head.push_front(item);
    }

    pub fn pop(&mut self) -> Popped {
        loop {
            if let Some(item) = self.head.pop_front() {
                self.len -= 1;
                return Popped::Item(item);
            }
            match self.middle.pop_front() {
                Some(Block::Memory(items) | Block::Leaving { items, .. }) => {
                    self.head = items.into()
                }
                Some(spilled @ Block::Spilled { number, .. }) => {
                    self.middle.push_front(spilled);
                    return Popped::Spilled(number);
                }
                None if self.tail.is_empty() => return Popped::Empty,
                None => self.head = std::mem::take(&mut self.tail).into(),
            }
        }
    }

    /// The newest block in memory, to be written out; confirm with [`Waiting::spilled_as`].
    pub fn leave(&mut self, number: u64) -> Option<Vec<u8>> {
        let block = self
            .middle
            .iter_mut()
            .rev()
            .find(|block| matches!(block, Block::Memory(_)))?;
        let Block::Memory(items) = block else {
            return None;
        };
        let items = std::mem::take(items);
        let mut octets = Vec::with_capacity(items.len() * ITEM_OCTETS);
        items.iter().for_each(|item| item.write(&mut octets));
        *block = Block::Leaving { number, items };
        Some(octets)
    }

    /// The block is in the index file (or, with `kept`, could not be written and stays).
    /// False when its items have been taken out meanwhile: then nobody will read it.
    pub fn spilled_as(&mut self, number: u64, kept: bool) -> bool {
        for block in &mut self.middle {
            if let Block::Leaving { number: own, items } = block
                && *own == number
            {
                *block = if kept {
                    Block::Memory(std::mem::take(items))
                } else {
                    Block::Spilled {
                        number,
                        len: items.len(),
                        soonest: items.iter().map(|item| item.expires).min().unwrap_or(0),
                        ids: items.iter().fold((u64::MAX, 0), |(lowest, highest), item| {
                            (lowest.min(item.id), highest.max(item.id))
                        }),
                    }
                };
                return true;
            }
        }
        false
    }

    /// A spilled block has been read.
    pub fn filled(&mut self, number: u64, octets: &[u8]) {
        for block in &mut self.middle {
            if let Block::Spilled {
                number: own, len, ..
            } = block
                && *own == number
            {
                let items: Vec<Item> = items_of(octets).collect();
                self.len = self.len - *len + items.len();
                *block = Block::Memory(items);
                return;
            }
        }
    }

    /// A spilled block that holds something expired.
    pub fn spilled_expired(&self, now: u32) -> Option<u64> {
        self.middle.iter().find_map(|block| match block {
            Block::Spilled {
                number, soonest, ..
            } if *soonest <= now => Some(*number),
            _ => None,
        })
    }

    /// Takes the items out of memory that `wanted` picks; order is kept for the others.
    pub fn take_if(&mut self, mut wanted: impl FnMut(&Item) -> bool) -> Vec<Item> {
        let mut taken = Vec::new();
        let mut keep = |item: &Item| {
            let take = wanted(item);
            if take {
                taken.push(*item);
            }
            !take
        };
        self.head.retain(&mut keep);
        for block in &mut self.middle {
            if let Block::Memory(items) = block {
                items.retain(&mut keep);
            }
        }
        self.tail.retain(&mut keep);
        self.len -= taken.len();
        taken
    }

    /// The items in memory, in no order.
    pub fn in_memory(&self) -> impl Iterator<Item = &Item> {
        let blocks = self.middle.iter().flat_map(|block| match block {
            Block::Memory(items) | Block::Leaving { items, .. } => items.as_slice(),
            Block::Spilled { .. } => &[],
        });
        self.head.iter().chain(blocks).chain(&self.tail)
    }

    /// Spilled blocks, each with the lowest id inside and the highest.
    pub fn spilled_blocks(&self) -> impl Iterator<Item = (u64, (u64, u64))> {
        self.middle.iter().filter_map(|block| match block {
            Block::Spilled { number, ids, .. } => Some((*number, *ids)),
            _ => None,
        })
    }

    /// The id in front, when it is in memory.
    pub fn first(&self) -> Option<u64> {
        self.head
            .front()
            .or_else(|| match self.middle.front() {
                Some(Block::Memory(items) | Block::Leaving { items, .. }) => items.first(),
                Some(Block::Spilled { .. }) => None,
                None => self.tail.first(),
            })
            .map(|item| item.id)
    }
}

/// What is in a block that was written out of memory.
pub fn items_of(octets: &[u8]) -> impl Iterator<Item = Item> {
    let (items, _) = octets.as_chunks::<ITEM_OCTETS>();
    items.iter().map(Item::read)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(id: u64) -> Item {
        Item {
            id,
            expires: 1000 + id as u32,
            attempts: 3,
            priority: 2,
            what: What::Receipt,
            part: 31,
        }
    }

    #[test]
    fn order_survives_spilling() {
        let mut waiting = Waiting::default();
        let total = 3 * BLOCK as u64 + 10;
        (0..total).for_each(|id| waiting.push_back(item(id)));
        let last = waiting.leave(7).expect("a full block");
        waiting.spilled_as(7, false);
        let next = waiting.leave(8).expect("another full block");
        waiting.spilled_as(8, false);
        assert_eq!(waiting.spilled(), 2 * BLOCK);
        let mut seen = Vec::new();
        loop {
            match waiting.pop() {
                Popped::Item(found) => seen.push(found),
                Popped::Spilled(7) => waiting.filled(7, &last),
                Popped::Spilled(8) => waiting.filled(8, &next),
                Popped::Spilled(other) => panic!("unknown block {other}"),
                Popped::Empty => break,
            }
        }
        assert_eq!(seen, (0..total).map(item).collect::<Vec<_>>());
        assert!(waiting.is_empty());
    }

    #[test]
    fn a_block_that_could_not_be_written_stays() {
        let mut waiting = Waiting::default();
        (0..BLOCK as u64 * 2).for_each(|id| waiting.push_back(item(id)));
        waiting.leave(1).expect("a full block");
        waiting.spilled_as(1, true);
        assert_eq!(waiting.spilled(), 0);
        assert_eq!(waiting.len(), BLOCK * 2);
    }

    #[test]
    fn take_if_keeps_the_rest_in_order() {
        let mut waiting = Waiting::default();
        (0..10).for_each(|id| waiting.push_back(item(id)));
        waiting.push_front(item(99));
        let odd = waiting.take_if(|item| item.id % 2 == 1);
        assert_eq!(odd.len(), 6);
        assert_eq!(waiting.len(), 5);
        assert_eq!(waiting.pop(), Popped::Item(item(0)));
    }
}
