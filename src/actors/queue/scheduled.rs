//! What waits for its time: found by the time when that comes, and by the id when somebody asks.
//!
//! The time that a sender has asked for is a time of day: it comes when the wall clock says so. Our own
//! pauses are lengths: they are kept on the monotonic clock, so that a wall clock that steps back by an
//! hour does not make them an hour longer.

use std::collections::{BTreeSet, HashMap};
use std::time::Duration;

use tokio::time::Instant;

use super::{Item, Queue};
use crate::clock;

/// When an item is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Due {
    /// Unix milliseconds.
    TimeOfDay(i64),
    /// Milliseconds since the queue began.
    Pause(i64),
}

/// Items with the time before which they do not go.
#[derive(Debug, Default)]
pub(super) struct Scheduled {
    /// Of one time in order of acceptance.
    order: BTreeSet<(Due, u64)>,
    items: HashMap<u64, (Due, Item), ahash::RandomState>,
    /// How many of each sender.
    of: HashMap<u32, usize, ahash::RandomState>,
}

impl Scheduled {
    pub(super) fn len(&self) -> usize {
        self.items.len()
    }

    pub(super) fn push(&mut self, item: Item, due: Due) {
        self.take(item.id);
        self.items.insert(item.id, (due, item));
        *self.of.entry(item.sender).or_default() += 1;
        self.order.insert((due, item.id));
    }

    /// The next one whose time of day (Unix ms) or pause (milliseconds since the queue began) is over.
    pub(super) fn pop_due(&mut self, now: i64, elapsed: i64) -> Option<Item> {
        let over = |first, last| self.order.range((first, 0)..=(last, u64::MAX)).next();
        let (_, id) = over(Due::TimeOfDay(i64::MIN), Due::TimeOfDay(now))
            .or_else(|| over(Due::Pause(i64::MIN), Due::Pause(elapsed)))?;
        self.take(*id)
    }

    /// One of them, whenever its time comes.
    pub(super) fn pop(&mut self) -> Option<Item> {
        self.take(self.first()?)
    }

    /// The id of the first.
    pub(super) fn first(&self) -> Option<u64> {
        self.order.first().map(|(_, id)| *id)
    }

    pub(super) fn take(&mut self, id: u64) -> Option<Item> {
        let (due, item) = self.items.remove(&id)?;
        self.order.remove(&(due, id));
        self.less(&item);
        Some(item)
    }

    /// Takes those that `wanted` picks, in order of their time.
    pub(super) fn take_if(&mut self, mut wanted: impl FnMut(&Item) -> bool) -> Vec<Item> {
        let mut taken: Vec<(Due, Item)> = self
            .items
            .extract_if(|_, (_, item)| wanted(item))
            .map(|(_, one)| one)
            .collect();
        taken.sort_unstable_by_key(|(due, item)| (*due, item.id));
        for (due, item) in &taken {
            self.order.remove(&(*due, item.id));
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

    /// How many of each sender.
    pub(super) fn counts(&self) -> impl Iterator<Item = (u32, usize)> {
        self.of.iter().map(|(sender, count)| (*sender, *count))
    }

    pub(super) fn items(&self) -> impl Iterator<Item = &Item> {
        self.items.values().map(|(_, item)| item)
    }
}

// === impl Queue ===

impl Queue {
    /// Not before the time that its sender has asked for (Unix ms).
    pub(super) fn schedule(&mut self, item: Item, at: i64) {
        self.scheduled.push(item, Due::TimeOfDay(at));
    }

    /// Not before a pause is over, which is so at this time as the wall clock is now (Unix ms). The time
    /// may be that of another clock, or of ours before it stepped: no pause is longer than those that
    /// are configured.
    pub(super) fn pause(&mut self, item: Item, at: i64) {
        let longest = self.node.plan().longest_pause.as_millis();
        let left = (at - clock::now_ms()).min(i64::try_from(longest).unwrap_or(i64::MAX));
        let due = Due::Pause(self.elapsed_ms() + left);
        self.scheduled.push(item, due);
    }

    /// Grants nothing for a while.
    pub(super) fn hold_for(&mut self, pause: Duration) {
        self.hold_until = Some(Instant::now() + pause);
    }

    /// Puts what is due now (Unix ms) behind what waits.
    pub(super) fn wake_due(&mut self, now: i64) {
        let elapsed = self.elapsed_ms();
        while let Some(item) = self.scheduled.pop_due(now, elapsed) {
            self.lists.push_back(item);
        }
    }

    fn elapsed_ms(&self) -> i64 {
        i64::try_from(self.began.elapsed().as_millis()).unwrap_or(i64::MAX)
    }
}
