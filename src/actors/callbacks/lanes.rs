//! The order in which callbacks are sent: as they came, and of one subscriber one at a time.
//!
//! An ESME reads what we send on one connection, in order. Several requests at once would overtake each other,
//! so those of one subscriber wait for one another; those of others do not.

use std::collections::{HashMap, VecDeque};
use std::hash::Hash;

/// What waits to be sent, by subscriber.
pub struct CallbackLanes<K, T> {
    /// The first one of each subscriber that has none under way, in the order in which they came.
    ready: VecDeque<(u64, K, T)>,
    /// What waits behind the first one, for subscribers with one that is ready or under way.
    behind: HashMap<K, VecDeque<(u64, T)>, ahash::RandomState>,
}

// === impl CallbackLanes ===

impl<K: Clone + Eq + Hash, T> CallbackLanes<K, T> {
    /// Adds one behind all others of its subscriber. `came` is its place: the number of the last one and more.
    pub fn push(&mut self, came: u64, subscriber: K, item: T) {
        match self.behind.get_mut(&subscriber) {
            Some(behind) => behind.push_back((came, item)),
            None => {
                self.behind.insert(subscriber.clone(), VecDeque::new());
                self.ready.push_back((came, subscriber, item));
            }
        }
    }

    /// The place of the next one that may be sent.
    pub fn front(&self) -> Option<u64> {
        self.ready.front().map(|(came, ..)| *came)
    }

    /// The next one that may be sent, with its place; its subscriber gets nothing else until [`Self::finished`].
    pub fn take(&mut self) -> Option<(u64, K, T)> {
        self.ready.pop_front()
    }

    /// What was under way for a subscriber has ended.
    pub fn finished(&mut self, subscriber: &K) {
        let next = (self.behind.get_mut(subscriber)).and_then(VecDeque::pop_front);
        match next {
            Some((came, item)) => self.insert(came, subscriber.clone(), item),
            None => drop(self.behind.remove(subscriber)),
        }
    }

    /// What was under way was not sent after all: it waits in its place again.
    pub fn put_back(&mut self, came: u64, subscriber: K, item: T) {
        self.insert(came, subscriber, item);
    }

    fn insert(&mut self, came: u64, subscriber: K, item: T) {
        let at = self.ready.partition_point(|(other, ..)| *other < came);
        self.ready.insert(at, (came, subscriber, item));
    }

    /// Takes everything that is not under way, in the order in which it came, each with its place.
    pub fn drain(&mut self) -> Vec<(u64, K, T)> {
        let mut all = Vec::with_capacity(self.waiting());
        for (subscriber, behind) in &mut self.behind {
            let of_one = behind.drain(..);
            all.extend(of_one.map(|(came, item)| (came, subscriber.clone(), item)));
        }
        for (came, subscriber, item) in self.ready.drain(..) {
            // The others have one under way, and it holds them.
            self.behind.remove(&subscriber);
            all.push((came, subscriber, item));
        }
        all.sort_by_key(|(came, ..)| *came);
        all
    }

    /// How many wait.
    pub fn waiting(&self) -> usize {
        let behind: usize = self.behind.values().map(VecDeque::len).sum();
        self.ready.len() + behind
    }

    /// Everything that waits, in no order.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        let behind = self.behind.values().flatten().map(|(_, item)| item);
        self.ready.iter().map(|(_, _, item)| item).chain(behind)
    }
}

impl<K, T> Default for CallbackLanes<K, T> {
    fn default() -> Self {
        Self {
            ready: VecDeque::new(),
            behind: HashMap::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lanes(items: &[(char, u32)]) -> CallbackLanes<char, u32> {
        let mut lanes = CallbackLanes::default();
        for (came, (subscriber, item)) in (1..).zip(items) {
            lanes.push(came, *subscriber, *item);
        }
        lanes
    }

    #[test]
    fn one_subscriber_gets_one_at_a_time_and_others_go_on() {
        let mut lanes = lanes(&[('a', 1), ('a', 2), ('b', 3), ('a', 4)]);
        assert_eq!(lanes.take(), Some((1, 'a', 1)));
        assert_eq!(lanes.take(), Some((3, 'b', 3)));
        assert_eq!(lanes.front(), None);
        assert_eq!(lanes.take(), None);
        lanes.push(5, 'c', 5);
        lanes.finished(&'a');
        assert_eq!(lanes.take(), Some((2, 'a', 2)), "it has waited longest");
        assert_eq!(lanes.take(), Some((5, 'c', 5)));
        lanes.finished(&'a');
        assert_eq!(lanes.take(), Some((4, 'a', 4)));
        for subscriber in ['a', 'b', 'c'] {
            lanes.finished(&subscriber);
        }
        assert!(lanes.front().is_none() && lanes.behind.is_empty());
    }

    #[test]
    fn what_goes_back_is_in_order_and_what_is_under_way_still_holds_its_subscriber() {
        let mut lanes = lanes(&[('a', 1), ('b', 2), ('a', 3), ('b', 4), ('c', 5)]);
        assert_eq!(lanes.take(), Some((1, 'a', 1)));
        assert_eq!((lanes.waiting(), lanes.iter().count()), (4, 4));
        assert_eq!(
            lanes.drain(),
            [(2, 'b', 2), (3, 'a', 3), (4, 'b', 4), (5, 'c', 5)]
        );
        lanes.push(6, 'a', 6);
        lanes.push(7, 'b', 7);
        assert_eq!(lanes.take(), Some((7, 'b', 7)));
        assert_eq!(lanes.take(), None, "1 is still under way");
        lanes.finished(&'a');
        assert_eq!(lanes.take(), Some((6, 'a', 6)));
    }

    #[test]
    fn what_was_not_sent_is_the_next_again() {
        let mut lanes = lanes(&[('a', 1), ('b', 2), ('a', 3), ('c', 4)]);
        let (first, second) = (lanes.take().unwrap(), lanes.take().unwrap());
        lanes.put_back(second.0, second.1, second.2);
        lanes.put_back(first.0, first.1, first.2);
        assert_eq!(lanes.waiting(), 4);
        assert_eq!(
            lanes.drain(),
            [(1, 'a', 1), (2, 'b', 2), (3, 'a', 3), (4, 'c', 4)]
        );
        assert!(lanes.behind.is_empty());
    }
}
