//! Messages that are not due yet, found by their time and by their id.
//!
//! A time that a sender has requested is a time of day: it comes when the wall clock says so. Retry
//! pauses are durations: they use the monotonic clock, so that a wall clock that steps back by an hour
//! does not lengthen them by an hour.

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap};
use std::time::Duration;

use tokio::time::Instant;

use super::subscribers::Subscribers;
use crate::actors::context::item::Item;
use crate::clock;

/// Items with the time at which they are due.
#[derive(Debug)]
pub(super) struct Scheduled {
    /// Pauses are measured from here.
    began: Instant,
    /// By due time, then in order of acceptance.
    order: BTreeSet<(DueTime, u64)>,
    items: HashMap<u64, (DueTime, Item), ahash::RandomState>,
    /// How many items of each sender.
    of: HashMap<u32, usize, ahash::RandomState>,
    /// Whom the items wait for.
    pub(super) subscribers: Subscribers,
}

/// When an item is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum DueTime {
    /// Unix milliseconds.
    TimeOfDay(i64),
    /// Milliseconds since `began`.
    Pause(i64),
}

// === impl Scheduled ===

impl Scheduled {
    pub(super) fn new() -> Self {
        Self {
            began: Instant::now(),
            order: BTreeSet::new(),
            items: HashMap::default(),
            of: HashMap::default(),
            subscribers: Subscribers::default(),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.items.len()
    }

    /// Schedules an item for the time that its sender has requested (Unix ms).
    pub(super) fn schedule(&mut self, item: Item, at: i64) {
        self.push(item, DueTime::TimeOfDay(at));
    }

    /// Schedules an item for the end of a pause, given as Unix ms of the current wall clock. The time
    /// may come from another clock, or from ours before it stepped, so the pause is limited to
    /// `longest`.
    pub(super) fn pause(&mut self, item: Item, at: i64, longest: Duration) {
        let longest = i64::try_from(longest.as_millis()).unwrap_or(i64::MAX);
        let left = (at - clock::now_ms()).min(longest);
        let due = DueTime::Pause(self.elapsed_ms(Instant::now()) + left);
        self.push(item, due);
    }

    fn push(&mut self, item: Item, due: DueTime) {
        self.take(item.id);
        self.items.insert(item.id, (due, item));
        *self.of.entry(item.sender).or_default() += 1;
        self.order.insert((due, item.id));
        self.subscribers.came(item.id);
    }

    /// The item that has been due for the longest time, by its time of day (`now`, Unix ms) or by its pause (`at`); of
    /// several the one accepted first.
    pub(super) fn pop_due(&mut self, now: i64, at: Instant) -> Option<Item> {
        let elapsed = self.elapsed_ms(at);
        let over = |first, last| self.order.range((first, 0)..=(last, u64::MAX)).next();
        let by_time = over(DueTime::TimeOfDay(i64::MIN), DueTime::TimeOfDay(now));
        let by_pause = over(DueTime::Pause(i64::MIN), DueTime::Pause(elapsed));
        let overdue = |due: &DueTime| match due {
            DueTime::TimeOfDay(due) => now.saturating_sub(*due),
            DueTime::Pause(due) => elapsed.saturating_sub(*due),
        };
        let longest_first = |(due, id): &&(DueTime, u64)| (Reverse(overdue(due)), *id);
        let (_, id) = by_time
            .into_iter()
            .chain(by_pause)
            .min_by_key(longest_first)?;
        self.take(*id)
    }

    /// The first item, whether due or not.
    pub(super) fn pop(&mut self) -> Option<Item> {
        self.take(self.first()?)
    }

    /// The id of the first item.
    pub(super) fn first(&self) -> Option<u64> {
        self.order.first().map(|(_, id)| *id)
    }

    pub(super) fn take(&mut self, id: u64) -> Option<Item> {
        let (due, item) = self.items.remove(&id)?;
        self.order.remove(&(due, id));
        self.subscribers.left(id);
        self.less(&item);
        Some(item)
    }

    /// Takes the items that match `wanted`, in order of their time.
    pub(super) fn take_if(&mut self, mut wanted: impl FnMut(&Item) -> bool) -> Vec<Item> {
        let mut taken: Vec<(DueTime, Item)> = self
            .items
            .extract_if(|_, (_, item)| wanted(item))
            .map(|(_, one)| one)
            .collect();
        taken.sort_unstable_by_key(|(due, item)| (*due, item.id));
        for (due, item) in &taken {
            self.order.remove(&(*due, item.id));
            self.subscribers.left(item.id);
            self.less(item);
        }
        taken.into_iter().map(|(_, item)| item).collect()
    }

    fn less(&mut self, item: &Item) {
        if let Some(count) = self.of.get_mut(&item.sender) {
            *count -= 1;
            if *count == 0 {
                self.of.remove(&item.sender);
            }
        }
    }

    /// How many items of each sender.
    pub(super) fn counts(&self) -> impl Iterator<Item = (u32, usize)> {
        self.of.iter().map(|(sender, count)| (*sender, *count))
    }

    /// How often an item was tried; `None` if it is not scheduled.
    pub(super) fn attempts_of(&self, id: u64) -> Option<u16> {
        self.items.get(&id).map(|(_, item)| item.attempts)
    }

    fn elapsed_ms(&self, at: Instant) -> i64 {
        i64::try_from(at.duration_since(self.began).as_millis()).unwrap_or(i64::MAX)
    }

    pub(super) fn items(&self) -> impl Iterator<Item = &Item> {
        self.items.values().map(|(_, item)| item)
    }
}
