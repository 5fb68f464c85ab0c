//! The messages that wait for a destination, and their order.
//!
//! Used by the queue's actor and its actions. It knows neither store nor sessions: a caller that takes a page
//! or a block number reads it from the store and brings back the result. Invariants:
//!
//! - an item is in one place: a list ([`lists`]), the schedule ([`scheduled`]), or a page that is being read;
//! - one page at a time is being read, and nothing looks elsewhere for its items meanwhile;
//! - an item that was taken out, or given other times, while it was out of memory is changed when it comes
//!   back.

mod blocks;
mod level;
mod lists;
mod paging;
mod scheduled;
mod subscribers;
mod waiting;

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::time::Duration;

use tokio::time::Instant;

pub(super) use self::blocks::BlockWaiter;
pub(super) use self::level::{Level, ReadyItem, Withdrawn};
pub(super) use self::paging::BacklogPage;
pub(super) use self::subscribers::SubscriberKey;
pub(super) use self::waiting::TakenItem;
pub use self::waiting::items_of;

use self::blocks::Blocks;
use self::lists::BacklogLists;
use self::scheduled::Scheduled;
use super::partition_set::PartitionSet;
use crate::actors::context::item::{Item, PRIORITIES};
use crate::actors::context::plan::Plan;
use crate::clock;
use crate::config::ClusterConfig;
use crate::pb::Message;
use crate::pb::delivery::What;
use crate::store::Stored;

/// Messages waiting for one destination.
pub(super) struct Backlog {
    lists: BacklogLists,
    /// Messages that are not due yet.
    scheduled: Scheduled,
    blocks: Blocks,
    /// How many items the page that is being read has: they are in no list meanwhile. `None` when no
    /// page is read.
    reading: Option<usize>,
    /// Whether it is being read whom scheduled messages wait for.
    reading_subscribers: bool,
    /// Items that were taken out while they were out of memory; skipped when their turn comes.
    gone: HashSet<u64, ahash::RandomState>,
    /// Items that were replaced while they were out of memory, with their new times.
    replaced_afar: HashMap<u64, ItemTimes, ahash::RandomState>,
    /// The second (Unix) up to which expiry has looked.
    expired_upto: u32,
    /// Whether what was taken out for a moment goes back to its place.
    keeps_places: bool,
}

/// When a message is due (Unix ms) and when it expires (Unix s).
pub(super) type ItemTimes = (i64, u32);

/// A block that is out of memory: its level and its number.
pub(super) type BlockAddress = (usize, u64);

/// Messages taken out for other queues.
#[derive(Default)]
pub(super) struct MovedBatch {
    /// In their order, with those bodies that are in memory.
    pub(super) items: Vec<Withdrawn>,
    /// Blocks that must be read back before more can be taken.
    pub(super) blocks: Vec<BlockAddress>,
}

// === impl Backlog ===

impl Backlog {
    /// `takes_turns`: whether accounts share the queue in turns. `is_in_order`: whether messages go strictly in
    /// the order of acceptance, whoever sent them and whatever their priority is.
    pub(super) fn new(takes_turns: bool, is_in_order: bool, plan: &Plan) -> Self {
        Self::over(
            BacklogLists::new(takes_turns, is_in_order, plan),
            is_in_order,
        )
    }

    /// Nothing waits yet but what is in `lists`.
    fn over(lists: BacklogLists, keeps_places: bool) -> Self {
        Self {
            lists,
            scheduled: Scheduled::new(),
            blocks: Blocks::default(),
            reading: None,
            reading_subscribers: false,
            gone: HashSet::default(),
            replaced_afar: HashMap::default(),
            expired_upto: 0,
            keeps_places,
        }
    }

    /// What is taken out for a moment goes back to its place, also before messages that have their bodies.
    pub(super) fn keep_places(&mut self) {
        self.keeps_places = true;
    }

    /// Takes the place of an earlier backlog; returns the numbers of the earlier one's blocks, which
    /// are obsolete.
    pub(super) fn begin_after(&mut self, earlier: &mut Self) -> Range<u64> {
        let subscribers = &mut self.scheduled.subscribers;
        subscribers.begin_after(&mut earlier.scheduled.subscribers);
        self.blocks.number_after(&earlier.blocks)
    }

    pub(super) fn len(&self) -> usize {
        self.listed_len() + self.scheduled.len()
    }

    /// Messages that are due.
    pub(super) fn listed_len(&self) -> usize {
        self.lists.len() + self.reading.unwrap_or(0)
    }

    /// Messages that are not due yet.
    pub(super) fn scheduled_len(&self) -> usize {
        self.scheduled.len()
    }

    /// Whether the lists are empty; messages may still be scheduled.
    pub(super) fn has_empty_lists(&self) -> bool {
        self.lists.is_empty()
    }

    /// Messages whose bodies are in memory.
    pub(super) fn ready(&self) -> usize {
        self.lists.ready()
    }

    /// What the bodies take in memory.
    pub(super) fn octets(&self) -> u64 {
        self.lists.octets()
    }

    /// Bodies are kept while they take no more than this.
    pub(super) fn set_room(&mut self, octets: u64) {
        self.lists.set_room(octets);
    }

    /// What so many more bodies would take.
    pub(super) fn would_take(&self, bodies: usize) -> u64 {
        self.lists.would_take(bodies)
    }

    /// Whether messages wait without their bodies.
    pub(super) fn has_bare(&self) -> bool {
        self.levels().iter().any(|level| level.waiting() > 0)
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

    /// How many messages of each sender wait; a sender may occur several times.
    pub(super) fn counts(&self) -> impl Iterator<Item = (u32, usize)> {
        let lists = self.levels().iter().flat_map(Level::counts);
        lists.chain(self.scheduled.counts())
    }

    /// The items in memory, unordered, without those of a page that is being read.
    pub(super) fn in_memory(&self) -> impl Iterator<Item = Item> {
        let lists = self.levels().iter().flat_map(Level::in_memory);
        lists.chain(self.scheduled.items().copied())
    }

    /// Applies the current configuration. `granted`: total of messages handed out.
    pub(super) fn look_after(&mut self, plan: &Plan, granted: u64) {
        self.lists.look_after(plan, granted);
    }

    // --- in

    pub(super) fn push_back(&mut self, item: Item) {
        self.lists.push_back(item);
    }

    /// Puts an item to the front of those whose bodies are not in memory.
    pub(super) fn push_front(&mut self, item: Item) {
        self.lists.push_front(item);
    }

    /// Puts an item to the very front of its list; the others lose their bodies, and are read again.
    pub(super) fn push_first(&mut self, item: Item) {
        self.lists.push_first(item);
    }

    /// Puts an item with its body to the very front of its list.
    pub(super) fn push_ready_front(&mut self, item: Item, message: Box<Message>) {
        self.lists.push_ready_front(item, message);
    }

    /// Whether messages go strictly in the order of acceptance.
    pub(super) fn is_in_order(&self) -> bool {
        self.lists.is_in_order()
    }

    /// Puts items back that [`Backlog::take_batch`] has taken, before those that came meanwhile.
    pub(super) fn push_all_first(&mut self, items: impl DoubleEndedIterator<Item = Item>) {
        items.rev().for_each(|item| self.lists.push_first(item));
    }

    /// Puts items back to the front and keeps their order.
    pub(super) fn push_all_front(&mut self, items: impl DoubleEndedIterator<Item = Item>) {
        items.rev().for_each(|item| self.lists.push_front(item));
    }

    /// Takes in a new message; keeps its body while the page of its priority has room.
    pub(super) fn accept(&mut self, item: Item, message: Box<Message>, page: usize) {
        self.lists.accept(item, message, page);
    }

    /// Lets an item wait until `due_at` (Unix ms): a time of day before the first attempt, a pause
    /// after it.
    pub(super) fn postpone(&mut self, item: Item, due_at: i64, longest: Duration) {
        match item.attempts {
            0 => self.scheduled.schedule(item, due_at),
            _ => self.scheduled.pause(item, due_at, longest),
        }
    }

    /// Lets an item wait until a pause is over. `longest` is the longest configured pause.
    pub(super) fn pause(&mut self, item: Item, until: i64, longest: Duration) {
        self.scheduled.pause(item, until, longest);
    }

    /// Puts those of these messages that wait for their time in front, in the given order; the others stay where they
    /// are. Returns how many.
    pub(super) fn wake(&mut self, ids: Vec<u64>) -> usize {
        let ready = self.scheduled.subscribers.ready(ids).into_iter();
        let woken: Vec<Item> = ready.filter_map(|id| self.scheduled.take(id)).collect();
        let count = woken.len();
        self.push_all_front(woken.into_iter());
        count
    }

    /// From now on it is known whom scheduled messages wait for, as far as they are read.
    pub(super) fn want_subscribers(&mut self) {
        let scheduled = &mut self.scheduled;
        if !scheduled.subscribers.is_wanted() {
            let ids: Vec<u64> = scheduled.items().map(|item| item.id).collect();
            scheduled.subscribers.begin(ids.into_iter());
        }
    }

    /// The messages that wait for a subscriber who is there now, in no order.
    pub(super) fn of_subscriber(&mut self, key: SubscriberKey) -> Vec<u64> {
        self.scheduled.subscribers.of(key, Instant::now())
    }

    /// What was added last comes from the store: subscribers of it may have been there before.
    pub(super) fn came_from_store(&mut self, cluster: &ClusterConfig) {
        let (now, lately) = (Instant::now(), subscribers::remembered_for(cluster));
        let subscribers = &mut self.scheduled.subscribers;
        subscribers.came_from_store(now, lately);
    }

    /// Messages to read next, so that it is known whom they wait for; none while others are being read.
    pub(super) fn unread_subscribers(&mut self, most: usize) -> Vec<u64> {
        if self.reading_subscribers {
            return Vec::new();
        }
        let ids = self.scheduled.subscribers.unread(most);
        self.reading_subscribers = !ids.is_empty();
        ids
    }

    /// Takes what was read of scheduled messages; `by_number` as for [`SubscriberKey::of_message`].
    pub(super) fn subscribers_read(
        &mut self,
        ids: &[u64],
        read: &[Option<Stored>],
        by_number: bool,
    ) {
        self.reading_subscribers = false;
        for (id, stored) in ids.iter().zip(read) {
            let attempts = self.scheduled.attempts_of(*id).unwrap_or_default();
            let message = stored.as_ref().map(|stored| &stored.message);
            let key =
                message.and_then(|message| SubscriberKey::of_message(message, attempts, by_number));
            self.scheduled.subscribers.read(*id, key);
        }
    }

    /// Their reading has failed.
    pub(super) fn no_subscribers_read(&mut self) {
        self.reading_subscribers = false;
    }

    /// Puts items that are due (at `now`, Unix ms, or at the instant `at`) behind the waiting ones.
    pub(super) fn wake_due(&mut self, now: i64, at: Instant) {
        while let Some(item) = self.scheduled.pop_due(now, at) {
            self.lists.push_back(item);
        }
    }

    // --- out, in turn

    /// The next message to go.
    pub(super) fn front(&mut self) -> Option<&ReadyItem> {
        self.lists.front()
    }

    /// Takes the next message and charges its cost to the current turn of its account.
    pub(super) fn pop(&mut self, cost: u32) -> Option<ReadyItem> {
        self.lists.pop(cost)
    }

    /// Marks an item as taken out that is out of memory: it is skipped when it comes back.
    pub(super) fn skip(&mut self, id: u64) {
        self.gone.insert(id);
    }

    /// Whether this item is to be skipped; removes the mark.
    pub(super) fn is_skipped(&mut self, id: u64) -> bool {
        self.gone.remove(&id)
    }

    // --- out of turn

    /// Takes out one waiting or scheduled item, wherever it is in memory. The cost does not depend on how
    /// many wait. Without its sender, the lists of all accounts are searched.
    pub(super) fn remove(&mut self, id: u64, sender: Option<u32>) -> TakenItem {
        match self.scheduled.take(id) {
            Some(item) => TakenItem::Item(item),
            None => self.lists.take(id, sender),
        }
    }

    /// Takes the items in memory that match `wanted`, in order of priority and acceptance.
    pub(super) fn take_if(&mut self, mut wanted: impl FnMut(&Item) -> bool) -> Vec<Item> {
        let taken = self.lists.take_if(&mut wanted).into_iter();
        let mut taken: Vec<Item> = taken.map(|(item, _)| item).collect();
        taken.extend(self.scheduled.take_if(wanted));
        taken
    }

    /// Forgets the items of these partitions; the store has them all.
    pub(super) fn forget(&mut self, parts: PartitionSet) {
        self.lists.take_if(|item| parts.has(item.part));
        self.scheduled.take_if(|item| parts.has(item.part));
    }

    /// Takes up to `most` items in no particular order; also returns blocks that must be read back to
    /// take more.
    pub(super) fn take_some(&mut self, most: usize) -> (Vec<Item>, Vec<BlockAddress>) {
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

    /// Takes up to `most` messages that may go elsewhere. Receipts have only one destination: they stay
    /// in front, in order.
    pub(super) fn take_batch(&mut self, most: usize) -> MovedBatch {
        let mut batch = MovedBatch::default();
        let mut receipts = Vec::new();
        for level in (0..PRIORITIES).rev() {
            loop {
                let room = most - batch.items.len();
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
                    match item.what {
                        What::Receipt => receipts.push(item),
                        What::Message => batch.items.push((item, message)),
                    }
                }
            }
        }
        self.push_all_front(receipts.into_iter());
        batch
    }

    /// Whether late items of this second (Unix) have been taken out.
    pub(super) fn has_looked_for_late(&self, second: u32) -> bool {
        self.expired_upto == second
    }

    /// Takes late items in memory out; also returns blocks that hold more. Expiry looks again when
    /// these are in memory ([`BlockWaiter::Expiry`]).
    pub(super) fn take_late(&mut self, second: u32) -> (Vec<Withdrawn>, Vec<BlockAddress>) {
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

    /// Makes expiry look through the lists again in this second.
    pub(super) fn look_for_late_again(&mut self) {
        self.expired_upto = 0;
    }

    // --- other times

    /// Puts an item that was taken out back, with other times.
    pub(super) fn set_times(&mut self, item: Item, (due_at, expires): ItemTimes) {
        let item = Item { expires, ..item };
        if due_at > clock::now_ms() {
            self.scheduled.schedule(item, due_at);
        } else {
            self.put_back(item);
        }
    }

    /// Puts an item back that was taken out for a moment.
    pub(super) fn put_back(&mut self, item: Item) {
        if self.keeps_places {
            self.lists.put_in_place(item);
        } else {
            self.lists.push_front(item);
        }
    }

    /// Sets the times of an item that is out of memory; it gets them when it comes back.
    pub(super) fn set_times_afar(&mut self, id: u64, times: ItemTimes) {
        self.replaced_afar.insert(id, times);
    }
}

#[cfg(test)]
mod tests;
