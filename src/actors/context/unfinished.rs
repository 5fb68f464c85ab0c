//! How many messages of each account are unfinished, compared with `account.max_waiting`.
//!
//! Ingest counts up, and actors that end messages count down. In a cluster a message may end on another
//! node than it was accepted, so each node counts only changes; with every heartbeat the cluster actor
//! exchanges them for the sums of all nodes. Invariant: the number here differs from the real one only
//! by the changes of other nodes since the last heartbeat.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use crate::domain::ByQueue;

use arc_swap::ArcSwap;

/// The counters of all accounts.
#[derive(Default)]
pub struct Unfinished {
    counters: ArcSwap<ByQueue<Arc<Counter>>>,
}

/// The messages of one account: the sum of both fields.
#[derive(Debug, Default)]
struct Counter {
    /// The sum of all nodes at the last heartbeat, including changes that this node has sent since.
    all: AtomicI64,
    /// Accepted less ended messages on this node that were not sent yet.
    own: AtomicI64,
}

// === impl Unfinished ===

impl Unfinished {
    /// Initialises the counts.
    pub fn set(&self, counts: HashMap<u32, u64>) {
        let counter = |count: u64| {
            Arc::new(Counter {
                all: AtomicI64::new(count as i64),
                own: AtomicI64::new(0),
            })
        };
        let counters = counts
            .into_iter()
            .map(|(sender, count)| (sender, counter(count)))
            .collect();
        self.counters.store(Arc::new(counters));
    }

    /// Counts one more message; returns false, and counts nothing, if the limit is reached.
    pub fn reserve(&self, sender: u32, most: Option<u64>) -> bool {
        let counter = self.of(sender);
        let before = counter.own.fetch_add(1, Ordering::Relaxed);
        let before = before + counter.all.load(Ordering::Relaxed);
        if most.is_some_and(|most| before >= i64::try_from(most).unwrap_or(i64::MAX)) {
            counter.own.fetch_sub(1, Ordering::Relaxed);
            return false;
        }
        true
    }

    /// How many unfinished messages a sender has, as far as this node knows.
    pub fn count(&self, sender: u32) -> u64 {
        let counter = self.of(sender);
        let count = counter.all.load(Ordering::Relaxed) + counter.own.load(Ordering::Relaxed);
        u64::try_from(count).unwrap_or(0)
    }

    /// Adds to the count, whatever the limit.
    pub fn add(&self, sender: u32, count: i64) {
        self.of(sender).own.fetch_add(count, Ordering::Relaxed);
    }

    /// Takes the changes for these accounts since the last call; drops those of other accounts.
    pub fn take_changes(&self, accounts: &[u32]) -> Vec<(u32, i64)> {
        let mut changes = Vec::new();
        for (sender, counter) in self.counters.load().iter() {
            let change = counter.own.swap(0, Ordering::Relaxed);
            if accounts.contains(sender) && change != 0 {
                counter.all.fetch_add(change, Ordering::Relaxed);
                changes.push((*sender, change));
            }
        }
        changes
    }

    /// Restores changes that could not be sent.
    pub fn put_back(&self, changes: &[(u32, i64)]) {
        for (sender, change) in changes {
            let counter = self.of(*sender);
            counter.all.fetch_sub(*change, Ordering::Relaxed);
            counter.own.fetch_add(*change, Ordering::Relaxed);
        }
    }

    /// Takes the sums of all nodes, which include the changes that were taken here before.
    pub fn heard(&self, sums: &[(u32, i64)]) {
        for (sender, sum) in sums {
            self.of(*sender).all.store(*sum, Ordering::Relaxed);
        }
    }

    fn of(&self, sender: u32) -> Arc<Counter> {
        if let Some(counter) = self.counters.load().get(&sender) {
            return Arc::clone(counter);
        }
        self.counters.rcu(|counters| {
            let mut counters = ByQueue::clone(counters);
            counters.entry(sender).or_default();
            counters
        });
        let counters = self.counters.load();
        counters.get(&sender).map(Arc::clone).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cap_holds_and_opens_again() {
        let counts = Unfinished::default();
        counts.set(HashMap::from([(1, 8)]));
        assert!(counts.reserve(1, Some(10)) && counts.reserve(1, Some(10)));
        assert!(!counts.reserve(1, Some(10)));
        assert!(counts.reserve(2, Some(1)) && !counts.reserve(2, Some(1)));
        counts.add(1, -1);
        assert!(counts.reserve(1, Some(10)) && !counts.reserve(1, Some(10)));
        assert!(counts.reserve(1, None));
    }

    #[test]
    fn nodes_exchange_changes_for_sums() {
        let counts = Unfinished::default();
        for _ in 0..3 {
            assert!(counts.reserve(1, Some(5)));
        }
        counts.add(2, 7);
        assert_eq!(counts.take_changes(&[1]), [(1, 3)]);
        assert_eq!(counts.take_changes(&[1]), [], "told once");
        assert_eq!(counts.take_changes(&[1, 2]), [], "nobody wanted those of 2");
        // While the answer is on its way, the changes that were sent still count, and so do later ones.
        assert!(counts.reserve(1, Some(5)));
        counts.heard(&[(1, 4)]);
        assert!(!counts.reserve(1, Some(5)), "another node has one");
        // Messages that were accepted on another node end here.
        counts.add(1, -4);
        let changes = counts.take_changes(&[1]);
        assert_eq!(changes, [(1, -3)]);
        counts.put_back(&changes);
        assert_eq!(counts.take_changes(&[1]), [(1, -3)]);
        counts.heard(&[(1, 1)]);
        assert!((0..4).all(|_| counts.reserve(1, Some(5))));
        assert!(!counts.reserve(1, Some(5)));
    }
}
