//! What waits for its time: found by the time when that comes, and by the id when somebody asks.

use std::collections::{BTreeSet, HashMap};

use super::Item;

/// Items with the time (Unix milliseconds) before which they do not go.
#[derive(Debug, Default)]
pub(super) struct Scheduled {
    /// Of one time in order of acceptance.
    order: BTreeSet<(i64, u64)>,
    items: HashMap<u64, (i64, Item), ahash::RandomState>,
    /// How many of each sender.
    of: HashMap<u32, usize, ahash::RandomState>,
}

impl Scheduled {
    pub(super) fn len(&self) -> usize {
        self.items.len()
    }

    pub(super) fn push(&mut self, item: Item, due_at: i64) {
        self.take(item.id);
        self.items.insert(item.id, (due_at, item));
        *self.of.entry(item.sender).or_default() += 1;
        self.order.insert((due_at, item.id));
    }

    /// The next one, if its time has come.
    pub(super) fn pop_due(&mut self, now: i64) -> Option<Item> {
        let (due_at, id) = *self.order.first()?;
        if due_at > now {
            return None;
        }
        self.take(id)
    }

    /// The next one, whenever its time comes.
    pub(super) fn pop(&mut self) -> Option<Item> {
        self.pop_due(i64::MAX)
    }

    /// The id of the next one.
    pub(super) fn first(&self) -> Option<u64> {
        self.order.first().map(|(_, id)| *id)
    }

    pub(super) fn take(&mut self, id: u64) -> Option<Item> {
        let (due_at, item) = self.items.remove(&id)?;
        self.order.remove(&(due_at, id));
        self.less(&item);
        Some(item)
    }

    /// Takes those that `wanted` picks, in order of their time.
    pub(super) fn take_if(&mut self, mut wanted: impl FnMut(&Item) -> bool) -> Vec<Item> {
        let mut taken: Vec<(i64, Item)> = self
            .items
            .extract_if(|_, (_, item)| wanted(item))
            .map(|(_, one)| one)
            .collect();
        taken.sort_unstable_by_key(|(due_at, item)| (*due_at, item.id));
        for (due_at, item) in &taken {
            self.order.remove(&(*due_at, item.id));
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
