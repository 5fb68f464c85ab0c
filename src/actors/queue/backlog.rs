//! What waits for a destination, in which order.
//!
//! Used by the queue's actor and its actions; it knows neither store nor sessions, so whoever takes a page
//! or a block number from it reads that and brings back what came. Keeps true that
//!
//! - an item is in one place: a list ([`lists`]), the schedule ([`scheduled`]), or a page that is being read;
//! - one page at a time is being read, and what may be in it is looked for nowhere else meanwhile;
//! - what was taken out, or given other times, while it was out of reach is so when it comes back.

mod blocks;
mod level;
mod lists;
mod paging;
mod scheduled;
mod waiting;

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::time::Duration;

use tokio::time::Instant;

pub(super) use self::blocks::Waiter;
pub(super) use self::level::{Level, Ready, Withdrawn};
pub(super) use self::paging::Page;
pub(super) use self::waiting::Taken;
pub use self::waiting::items_of;

use self::blocks::Blocks;
use self::lists::Lists;
use self::scheduled::Scheduled;
use super::partition_set::Parts;
use crate::actors::context::item::{Item, PRIORITIES};
use crate::actors::context::plan::Plan;
use crate::clock;
use crate::pb::Message;
use crate::pb::delivery::What;

/// Messages waiting for one destination.
pub(super) struct Backlog {
    lists: Lists,
    /// Not before their time.
    scheduled: Scheduled,
    blocks: Blocks,
    /// Items of the page that is being read: they are in no list meanwhile.
    reading: Option<usize>,
    /// Taken out while they were out of reach; skipped when their turn comes.
    gone: HashSet<u64, ahash::RandomState>,
    /// Replaced while they were out of memory: when they are due and expire.
    replaced_afar: HashMap<u64, Times, ahash::RandomState>,
    /// The second for which expiry has been looked after.
    expired_upto: u32,
}

/// When a message is due (Unix ms) and expires (Unix s).
pub(super) type Times = (i64, u32);

/// A block that is out of memory: its level and number.
pub(super) type Block = (usize, u64);

/// Messages taken out for other queues, some with their bodies.
#[derive(Default)]
pub(super) struct Batch {
    pub(super) ready: Vec<Ready>,
    pub(super) bare: Vec<Item>,
    /// They are in the way of more.
    pub(super) blocks: Vec<Block>,
}

// === impl Backlog ===

impl Backlog {
    /// `takes_turns`: accounts share the queue.
    pub(super) fn new(takes_turns: bool, plan: &Plan) -> Self {
        Self {
            lists: Lists::new(takes_turns, plan),
            scheduled: Scheduled::new(),
            blocks: Blocks::default(),
            reading: None,
            gone: HashSet::default(),
            replaced_afar: HashMap::default(),
            expired_upto: 0,
        }
    }

    /// Takes the place of an earlier backlog; gives back the blocks that mean nothing any more.
    pub(super) fn begin_after(&mut self, earlier: &Self) -> Range<u64> {
        self.blocks.number_after(&earlier.blocks)
    }

    pub(super) fn len(&self) -> usize {
        self.lists.len() + self.reading.unwrap_or(0) + self.scheduled.len()
    }

    /// Messages that wait for their time.
    pub(super) fn scheduled_len(&self) -> usize {
        self.scheduled.len()
    }

    /// Whether nothing is in a list; something may be scheduled.
    pub(super) fn has_empty_lists(&self) -> bool {
        self.lists.is_empty()
    }

    /// Messages with bodies.
    pub(super) fn ready(&self) -> usize {
        self.lists.ready()
    }

    pub(super) fn spilled(&self) -> usize {
        self.lists.spilled()
    }

    pub(super) fn levels(&self) -> &[Level; PRIORITIES] {
        self.lists.levels()
    }

    /// The oldest id in front of a list, or the next that is scheduled.
    pub(super) fn oldest(&self) -> Option<u64> {
        let fronts = self.levels().iter().filter_map(Level::oldest);
        fronts.chain(self.scheduled.first()).min()
    }

    /// How many of each sender, in several parts.
    pub(super) fn counts(&self) -> impl Iterator<Item = (u32, usize)> {
        let lists = self.levels().iter().flat_map(Level::counts);
        lists.chain(self.scheduled.counts())
    }

    /// The items in memory, in no order, without those of a page that is being read.
    pub(super) fn in_memory(&self) -> impl Iterator<Item = Item> {
        let lists = self.levels().iter().flat_map(Level::in_memory);
        lists.chain(self.scheduled.items().copied())
    }

    /// Takes what is configured now. `granted`: messages that were handed out altogether.
    pub(super) fn look_after(&mut self, plan: &Plan, granted: u64) {
        self.lists.look_after(plan, granted);
    }

    // --- in

    pub(super) fn push_back(&mut self, item: Item) {
        self.lists.push_back(item);
    }

    pub(super) fn push_front(&mut self, item: Item) {
        self.lists.push_front(item);
    }

    /// Back to the front, so that their order stays.
    pub(super) fn push_all_front(&mut self, items: impl DoubleEndedIterator<Item = Item>) {
        items.rev().for_each(|item| self.lists.push_front(item));
    }

    /// Takes in what has just come; its body is kept while the page of its priority has room.
    pub(super) fn accept(&mut self, item: Item, message: Box<Message>, page: usize) {
        self.lists.accept(item, message, page);
    }

    /// Not before `due_at` (Unix ms): a time of day before the first attempt, a pause after that.
    pub(super) fn postpone(&mut self, item: Item, due_at: i64, longest: Duration) {
        match item.attempts {
            0 => self.scheduled.schedule(item, due_at),
            _ => self.scheduled.pause(item, due_at, longest),
        }
    }

    /// Not before a pause is over; none is longer than `longest`, those that are configured.
    pub(super) fn pause(&mut self, item: Item, until: i64, longest: Duration) {
        self.scheduled.pause(item, until, longest);
    }

    /// Puts what is due now (Unix ms, and as an instant) behind what waits.
    pub(super) fn wake_due(&mut self, now: i64, at: Instant) {
        while let Some(item) = self.scheduled.pop_due(now, at) {
            self.lists.push_back(item);
        }
    }

    // --- out, in turn

    /// The next message to go.
    pub(super) fn front(&mut self) -> Option<&Ready> {
        self.lists.front()
    }

    /// Takes the next message, which costs so much of its account's round.
    pub(super) fn pop(&mut self, cost: u32) -> Option<Ready> {
        self.lists.pop(cost)
    }

    /// One that is out of reach has been taken out: it is skipped when it comes.
    pub(super) fn skip(&mut self, id: u64) {
        self.gone.insert(id);
    }

    /// Whether this one was taken out before it came; asked once.
    pub(super) fn is_skipped(&mut self, id: u64) -> bool {
        self.gone.remove(&id)
    }

    // --- out of turn

    /// Takes one waiting or scheduled item out, wherever it is in memory. What that costs does not depend
    /// on how many wait. Without its sender all accounts are asked.
    pub(super) fn remove(&mut self, id: u64, sender: Option<u32>) -> Taken {
        match self.scheduled.take(id) {
            Some(item) => Taken::Item(item),
            None => self.lists.take(id, sender),
        }
    }

    /// Takes what `wanted` picks out of memory, in order of priority and acceptance.
    pub(super) fn take_if(&mut self, mut wanted: impl FnMut(&Item) -> bool) -> Vec<Item> {
        let taken = self.lists.take_if(&mut wanted).into_iter();
        let mut taken: Vec<Item> = taken.map(|(item, _)| item).collect();
        taken.extend(self.scheduled.take_if(wanted));
        taken
    }

    /// Forgets what is in these partitions; it is all in the store.
    pub(super) fn forget(&mut self, parts: Parts) {
        self.lists.take_if(|item| parts.has(item.part));
        self.scheduled.take_if(|item| parts.has(item.part));
    }

    /// Takes up to so many items, whichever; says which blocks are in the way of more.
    pub(super) fn take_some(&mut self, most: usize) -> (Vec<Item>, Vec<Block>) {
        let mut items = Vec::with_capacity(most);
        let mut in_the_way = Vec::new();
        for level in 0..PRIORITIES {
            let (some, blocks) = self.lists.level(level).take_some(most - items.len());
            items.extend(some.into_iter().map(|(item, _)| item));
            in_the_way.extend(blocks.into_iter().map(|number| (level, number)));
        }
        while items.len() < most
            && let Some(item) = self.scheduled.pop()
        {
            items.push(item);
        }
        (items, in_the_way)
    }

    /// Takes up to so many messages that may go elsewhere. Receipts have one destination only: they stay,
    /// in front and in order.
    pub(super) fn take_batch(&mut self, most: usize) -> Batch {
        let mut batch = Batch::default();
        let mut receipts = Vec::new();
        for level in (0..PRIORITIES).rev() {
            loop {
                let room = most - (batch.ready.len() + batch.bare.len());
                if room == 0 {
                    break;
                }
                let (some, blocks) = self.lists.level(level).take_some(room);
                if some.is_empty() {
                    let blocks = blocks.into_iter().map(|number| (level, number));
                    batch.blocks.extend(blocks);
                    break;
                }
                for (item, message) in some {
                    match (item.what, message) {
                        (What::Receipt, _) => receipts.push(item),
                        (What::Message, Some(message)) => batch.ready.push((item, message)),
                        (What::Message, None) => batch.bare.push(item),
                    }
                }
            }
        }
        self.push_all_front(receipts.into_iter());
        batch
    }

    /// Whether what is late in this second (Unix) has been taken out.
    pub(super) fn has_looked_for_late(&self, second: u32) -> bool {
        self.expired_upto == second
    }

    /// Takes out of memory what is late in this second; says which blocks hold more. They are looked
    /// through when they are here ([`Waiter::Expiry`]), and the next ones with them.
    pub(super) fn take_late(&mut self, second: u32) -> (Vec<Withdrawn>, Vec<Block>) {
        let is_late = |item: &Item| item.expires <= second;
        let mut late = self.lists.take_if(is_late);
        let scheduled = self.scheduled.take_if(is_late);
        late.extend(scheduled.into_iter().map(|item| (item, None)));
        self.expired_upto = second;
        let levels = self.levels().iter().enumerate();
        let block = |(at, level): (usize, &Level)| Some((at, level.spilled_expired(second)?));
        let blocks = levels.filter_map(block).collect();
        (late, blocks)
    }

    /// Has expiry look through the lists again in this second.
    pub(super) fn look_for_late_again(&mut self) {
        self.expired_upto = 0;
    }

    // --- other times

    /// An item that was taken out waits again, with other times.
    pub(super) fn set_times(&mut self, item: Item, (due_at, expires): Times) {
        let item = Item { expires, ..item };
        match due_at > clock::now_ms() {
            true => self.scheduled.schedule(item, due_at),
            false => self.lists.push_front(item),
        }
    }

    /// The same for one that is out of memory: it has them when it comes back.
    pub(super) fn set_times_afar(&mut self, id: u64, times: Times) {
        self.replaced_afar.insert(id, times);
    }
}
