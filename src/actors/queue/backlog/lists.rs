//! The lists of a queue: a [`Level`] for each priority, and the choice between them.
//!
//! In strict order there is one list. Otherwise the highest priority that has messages goes first. A share of what it is granted (`queue.low_share`)
//! goes to the lower priorities in turns, so that none of them starves.

use std::sync::Arc;

use super::level::{Level, LevelPage, ReadyItem, Withdrawn};
use super::waiting::TakenItem;
use crate::actors::context::item::{Item, PRIORITIES};
use crate::actors::context::plan::{Plan, Weights};
use crate::pb::Message;
use crate::pb::delivery::What;

/// A turn is as long as 1/400 of the messages handed out between two looks, which is 0.25 ms of sending.
/// Shorter turns would be expensive: accounts whose messages go one by one also get their answers, receipts
/// and commits one by one, and at full speed that costs more than everything else.
const TURNS: u64 = 400;
const LONGEST_TURN: u64 = 16;
/// `queue.low_share` counts per this many messages.
const WHOLE: u32 = 100;

#[derive(Debug, Default)]
pub struct BacklogLists {
    levels: [Level; PRIORITIES],
    takes_turns: bool,
    /// One list for all, in the order of acceptance.
    is_in_order: bool,
    weights: Arc<Weights>,
    /// Messages of each hundred that go to lower priorities.
    low_share: u32,
    /// What the lower priorities are owed, in hundredths of a message.
    owed: u32,
    /// The lower priority that was served last.
    low: usize,
    /// Total of messages handed out at the last look.
    granted: u64,
    octets: BodyRoom,
}

/// What bodies may take in memory.
#[derive(Debug)]
struct BodyRoom {
    room: u64,
    /// What the body of a message takes that waits without it, about.
    typical: u64,
}

/// The largest body, about: so much is expected of the first ones that are read.
const LARGEST: u64 = 64 * 1024;

impl BacklogLists {
    /// `takes_turns`: whether accounts share the queue in turns; otherwise each priority is one list.
    /// `is_in_order`: whether there is one list for all.
    pub fn new(takes_turns: bool, is_in_order: bool, plan: &Plan) -> Self {
        Self {
            takes_turns: takes_turns && !is_in_order,
            is_in_order,
            weights: Arc::clone(&plan.weights),
            low_share: low_share(plan),
            ..Self::default()
        }
    }

    /// Forgets idle accounts and applies the current configuration. `granted`: total of messages handed
    /// out.
    pub fn look_after(&mut self, plan: &Plan, granted: u64) {
        let since = granted - std::mem::replace(&mut self.granted, granted);
        let turn = (since / TURNS).clamp(1, LONGEST_TURN) as u32;
        self.low_share = low_share(plan);
        self.weights = Arc::clone(&plan.weights);
        for level in &mut self.levels {
            level.look_after(&self.weights, turn);
        }
    }

    /// Sets the list that an item belongs to.
    fn placed(&self, item: Item) -> Item {
        let sender = if self.takes_turns { item.sender } else { 0 };
        Item { sender, ..item }
    }

    /// The level that an item belongs to.
    fn level_of(&self, item: &Item) -> usize {
        if self.is_in_order {
            0
        } else {
            usize::from(item.priority)
        }
    }

    pub fn is_in_order(&self) -> bool {
        self.is_in_order
    }

    pub fn levels(&self) -> &[Level; PRIORITIES] {
        &self.levels
    }

    pub fn level(&mut self, level: usize) -> &mut Level {
        &mut self.levels[level]
    }

    pub fn len(&self) -> usize {
        self.levels.iter().map(Level::len).sum()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// What the bodies take in memory.
    pub fn octets(&self) -> u64 {
        self.levels.iter().map(Level::octets).sum()
    }

    /// Bodies are kept while they take no more than this.
    pub fn set_room(&mut self, octets: u64) {
        self.octets.room = octets;
    }

    /// What so many more bodies would take.
    pub fn would_take(&self, bodies: usize) -> u64 {
        self.octets.typical.saturating_mul(bodies as u64)
    }

    /// Messages whose bodies are in memory.
    pub fn ready(&self) -> usize {
        self.levels.iter().map(Level::ready).sum()
    }

    pub fn spilled(&self) -> usize {
        self.levels.iter().map(Level::spilled).sum()
    }

    pub fn push_back(&mut self, item: Item) {
        let item = self.placed(item);
        let level = self.level_of(&item);
        self.levels[level].push_back(item, &self.weights);
    }

    pub fn push_front(&mut self, item: Item) {
        let item = self.placed(item);
        let level = self.level_of(&item);
        self.levels[level].push_front(item, &self.weights);
    }

    /// Puts an item before all others of its list, also before those with bodies.
    pub fn push_first(&mut self, item: Item) {
        let item = self.placed(item);
        let level = self.level_of(&item);
        self.levels[level].push_first(item, &self.weights);
    }

    /// Puts an item that was taken out for a moment to where its id belongs in its list.
    pub fn put_in_place(&mut self, item: Item) {
        let item = self.placed(item);
        let level = self.level_of(&item);
        self.levels[level].put_in_place(item, &self.weights);
    }

    /// Puts an item with its body before all others of its list.
    pub fn push_ready_front(&mut self, item: Item, message: Box<Message>) {
        let item = self.placed(item);
        let level = self.level_of(&item);
        self.levels[level].push_ready_front(item, message, &self.weights);
    }

    /// Takes in a new message; keeps its body while the page of its priority has room.
    pub fn accept(&mut self, item: Item, message: Box<Message>, page: usize) {
        let item = self.placed(item);
        let level = self.level_of(&item);
        // Only where the order is that of acceptance: an account hears in the order of what happened.
        let by_id = (self.takes_turns || self.is_in_order)
            && item.attempts == 0
            && item.what == What::Message;
        let octets = message.weight();
        self.octets.saw(octets);
        let page = if self.octets() + octets > self.octets.room {
            0
        } else {
            page
        };
        self.levels[level].accept(item, message, page, &self.weights, by_id);
    }

    /// An item of a page has been read.
    pub fn read(&mut self, item: Item, message: Box<Message>) {
        let item = self.placed(item);
        let level = self.level_of(&item);
        self.octets.saw(message.weight());
        self.levels[level].read(item, message, &self.weights);
    }

    /// The next message to go.
    pub fn front(&mut self) -> Option<&ReadyItem> {
        let level = self.next_level()?;
        self.levels[level].front()
    }

    /// Takes the next message and charges its cost to the current turn of its account.
    pub fn pop(&mut self, cost: u32) -> Option<ReadyItem> {
        let level = self.next_level()?;
        let next = self.levels[level].pop(cost)?;
        let is_ready = |level: &Level| level.ready() > 0;
        if self.levels[level + 1..].iter().any(is_ready) {
            self.owed -= WHOLE;
            self.low = level;
        } else if self.low_share > 0 && self.levels[..level].iter().any(is_ready) {
            self.owed = (self.owed + self.low_share).min(2 * WHOLE);
        }
        Some(next)
    }

    fn next_level(&self) -> Option<usize> {
        let is_ready = |level: &usize| self.levels[*level].ready() > 0;
        let top = (0..PRIORITIES).rev().find(is_ready)?;
        if self.owed < WHOLE || top == 0 {
            return Some(top);
        }
        // The next lower priority after the last one served, then from the top again.
        let below = (0..self.low.min(top)).rev();
        let mut lower = below.chain((0..top).rev());
        Some(lower.find(is_ready).unwrap_or(top))
    }

    /// The items to read next, and their priority. Without room for their bodies, one at a time, for a priority or an
    /// account that has none.
    pub fn next_page(&mut self, page: usize, most: usize) -> Option<(usize, LevelPage)> {
        let used = self.octets();
        let (page, most) = match self.octets.fit(used) {
            // As of the page: what is there is used up by half before more is read for all.
            RoomFor::Some(bodies) if used <= self.octets.room / 2 => (page, most.min(bodies)),
            RoomFor::Some(bodies) => (0, most.min(bodies)),
            RoomFor::None if self.ready() > 0 => return None,
            RoomFor::One | RoomFor::None => (0, 1),
        };
        let is_bare = |level: &Level| level.ready() == 0 && level.waiting() > 0;
        let runs_low = |level: &Level| level.runs_low(page) && level.waiting() > 0;
        let needs: [&dyn Fn(&Level) -> bool; 3] = [&is_bare, &Level::is_hungry, &runs_low];
        for need in needs {
            for number in (0..PRIORITIES).rev() {
                if !need(&self.levels[number]) {
                    continue;
                }
                let next = self.levels[number].next_page(page, most);
                if !next.items.is_empty() || !next.blocks.is_empty() {
                    return Some((number, next));
                }
            }
        }
        None
    }

    /// Takes out one item by its id; faster with its sender.
    pub fn take(&mut self, id: u64, sender: Option<u32>) -> TakenItem {
        let sender = if self.takes_turns { sender } else { Some(0) };
        let mut taken = TakenItem::NotHere;
        for level in &mut self.levels {
            match level.take(id, sender) {
                TakenItem::NotHere => {}
                TakenItem::Away => taken = TakenItem::Away,
                found => return found,
            }
        }
        taken
    }

    /// Takes the items in memory that match `wanted`, in order of priority and acceptance.
    pub fn take_if(&mut self, mut wanted: impl FnMut(&Item) -> bool) -> Vec<Withdrawn> {
        let levels = self.levels.iter_mut().rev();
        levels
            .flat_map(|level| level.take_if(&mut wanted))
            .collect()
    }
}

// === impl BodyRoom ===

/// How many bodies there is room for.
enum RoomFor {
    Some(usize),
    /// None but for those who have none.
    One,
    None,
}

impl Default for BodyRoom {
    fn default() -> Self {
        Self {
            room: u64::MAX,
            typical: LARGEST,
        }
    }
}

impl BodyRoom {
    /// A body takes so much: more than usual counts at once, less little by little.
    fn saw(&mut self, octets: u64) {
        self.typical = if octets > self.typical {
            octets
        } else {
            self.typical - (self.typical - octets).div_ceil(8)
        };
    }

    fn fit(&self, used: u64) -> RoomFor {
        let free = self.room.saturating_sub(used);
        let bodies = usize::try_from(free / self.typical.max(1)).unwrap_or(usize::MAX);
        match bodies {
            0 if used >= self.room.saturating_add(self.room / 4) => RoomFor::None,
            0 => RoomFor::One,
            some => RoomFor::Some(some),
        }
    }
}

fn low_share(plan: &Plan) -> u32 {
    plan.config.queue.low_share.min(WHOLE)
}

#[cfg(test)]
mod tests;
