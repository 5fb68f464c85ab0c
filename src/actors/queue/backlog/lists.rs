//! The lists of a queue: a [`Level`] for each priority, and which of them is next.
//!
//! The highest priority that has something goes first. Of what it is given, a share (`queue.low_share`)
//! goes to the lower ones in turns, so that none of them waits for ever.

use std::sync::Arc;

use super::level::{Level, Page, Ready, Withdrawn};
use super::waiting::Taken;
use crate::actors::context::item::{Item, PRIORITIES};
use crate::actors::context::plan::{Plan, Weights};
use crate::pb::Message;

/// A turn is as long as 1/400 of what a queue hands out between two looks, 0.25 ms: accounts whose messages
/// go one by one also have their answers, receipts and commits one by one, and at full speed that costs
/// more than all else.
const TURNS: u64 = 400;
const LONGEST_TURN: u64 = 16;
/// Of so many messages, `queue.low_share` are of lower priorities.
const WHOLE: u32 = 100;

#[derive(Debug, Default)]
pub struct Lists {
    levels: [Level; PRIORITIES],
    takes_turns: bool,
    weights: Arc<Weights>,
    /// Of each hundred.
    low_share: u32,
    /// What lower priorities have waited for, in hundredths of a message.
    owed: u32,
    /// The lower priority that was served last.
    low: usize,
    /// Handed out as of the last look.
    granted: u64,
}

impl Lists {
    /// `takes_turns`: accounts share the queue; otherwise it is one list.
    pub fn new(takes_turns: bool, plan: &Plan) -> Self {
        Self {
            takes_turns,
            weights: Arc::clone(&plan.weights),
            low_share: low_share(plan),
            ..Self::default()
        }
    }

    /// Forgets accounts that are gone, and takes what is configured now. `granted`: messages that were
    /// handed out altogether.
    pub fn look_after(&mut self, plan: &Plan, granted: u64) {
        let since = granted - std::mem::replace(&mut self.granted, granted);
        let turn = (since / TURNS).clamp(1, LONGEST_TURN) as u32;
        self.low_share = low_share(plan);
        self.weights = Arc::clone(&plan.weights);
        for level in &mut self.levels {
            level.look_after(&self.weights, turn);
        }
    }

    /// Into which list an item belongs.
    fn placed(&self, item: Item) -> Item {
        let sender = if self.takes_turns { item.sender } else { 0 };
        Item { sender, ..item }
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

    /// Messages with bodies.
    pub fn ready(&self) -> usize {
        self.levels.iter().map(Level::ready).sum()
    }

    pub fn spilled(&self) -> usize {
        self.levels.iter().map(Level::spilled).sum()
    }

    pub fn push_back(&mut self, item: Item) {
        let item = self.placed(item);
        self.levels[usize::from(item.priority)].push_back(item, &self.weights);
    }

    pub fn push_front(&mut self, item: Item) {
        let item = self.placed(item);
        self.levels[usize::from(item.priority)].push_front(item, &self.weights);
    }

    /// Takes in what has just come; its body is kept while the page of its priority has room.
    pub fn accept(&mut self, item: Item, message: Box<Message>, page: usize) {
        let item = self.placed(item);
        self.levels[usize::from(item.priority)].accept(item, message, page, &self.weights);
    }

    /// One of a page has come.
    pub fn read(&mut self, item: Item, message: Box<Message>) {
        let item = self.placed(item);
        self.levels[usize::from(item.priority)].read(item, message, &self.weights);
    }

    /// The next message to go.
    pub fn front(&mut self) -> Option<&Ready> {
        let level = self.next_level()?;
        self.levels[level].front()
    }

    /// Takes the next message, which costs so much of its account's round.
    pub fn pop(&mut self, cost: u32) -> Option<Ready> {
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
        // The next lower one after that of last time, from above again after the lowest.
        let below = (0..self.low.min(top)).rev();
        let mut lower = below.chain((0..top).rev());
        Some(lower.find(is_ready).unwrap_or(top))
    }

    /// What is to be read next, of which priority.
    pub fn next_page(&mut self, page: usize, most: usize) -> Option<(usize, Page)> {
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

    /// Takes one out by its id, quicker with its sender.
    pub fn take(&mut self, id: u64, sender: Option<u32>) -> Taken {
        let sender = if self.takes_turns { sender } else { Some(0) };
        let mut taken = Taken::NotHere;
        for level in &mut self.levels {
            match level.take(id, sender) {
                Taken::NotHere => {}
                Taken::Away => taken = Taken::Away,
                found => return found,
            }
        }
        taken
    }

    /// Takes out of memory what `wanted` picks, in the order of priority and acceptance.
    pub fn take_if(&mut self, mut wanted: impl FnMut(&Item) -> bool) -> Vec<Withdrawn> {
        let levels = self.levels.iter_mut().rev();
        levels
            .flat_map(|level| level.take_if(&mut wanted))
            .collect()
    }
}

fn low_share(plan: &Plan) -> u32 {
    plan.config.queue.low_share.min(WHOLE)
}

#[cfg(test)]
mod tests;
