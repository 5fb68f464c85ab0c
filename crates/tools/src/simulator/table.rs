//! Delayed actions of one bind, earliest first.
//!
//! Used by the simulator's traffic for delayed answers and delayed receipts: one table and one timer
//! per bind, however many wait. Invariant: entries with the same time leave in the order they came.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::time::Instant;

/// Items with a time.
#[derive(Debug)]
pub(super) struct TimedTable<T> {
    heap: BinaryHeap<TimedEntry<T>>,
    entries: u64,
}

/// An entry; the earliest is the greatest, since the heap gives the greatest first.
#[derive(Debug)]
struct TimedEntry<T> {
    due: Instant,
    entry: u64,
    item: T,
}

// === impl TimedTable ===

impl<T> Default for TimedTable<T> {
    fn default() -> Self {
        Self {
            heap: BinaryHeap::new(),
            entries: 0,
        }
    }
}

impl<T> TimedTable<T> {
    /// Keeps `item` until `due`.
    pub(super) fn enter(&mut self, due: Instant, item: T) {
        self.entries += 1;
        self.heap.push(TimedEntry {
            due,
            entry: self.entries,
            item,
        });
    }

    /// When the earliest item is due.
    pub(super) fn next_due(&self) -> Option<Instant> {
        self.heap.peek().map(|next| next.due)
    }

    /// The earliest item, if it is due.
    pub(super) fn pop_due(&mut self, now: Instant) -> Option<T> {
        if self.next_due()? > now {
            return None;
        }
        self.heap.pop().map(|timed| timed.item)
    }

    /// All items, in no order.
    pub(super) fn items(&self) -> impl Iterator<Item = &T> {
        self.heap.iter().map(|timed| &timed.item)
    }

    /// Takes out the items that `chosen` picks, in no order.
    pub(super) fn extract(&mut self, chosen: impl Fn(&T) -> bool) -> Vec<T> {
        if self.heap.is_empty() {
            return Vec::new();
        }
        let (out, stay): (Vec<_>, Vec<_>) = std::mem::take(&mut self.heap)
            .into_iter()
            .partition(|timed| chosen(&timed.item));
        self.heap = stay.into();
        out.into_iter().map(|timed| timed.item).collect()
    }
}

// === impl TimedEntry ===

impl<T> Ord for TimedEntry<T> {
    fn cmp(&self, other: &Self) -> Ordering {
        (other.due, other.entry).cmp(&(self.due, self.entry))
    }
}

impl<T> PartialOrd for TimedEntry<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> PartialEq for TimedEntry<T> {
    fn eq(&self, other: &Self) -> bool {
        self.entry == other.entry
    }
}

impl<T> Eq for TimedEntry<T> {}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn items_leave_when_due_in_the_order_of_time_and_entry() {
        let start = Instant::now();
        let at = |millis| start + Duration::from_millis(millis);
        let mut table = TimedTable::default();
        for (due, item) in [(30, "d"), (10, "a"), (20, "b"), (20, "c")] {
            table.enter(at(due), item);
        }
        assert_eq!(table.next_due(), Some(at(10)));
        assert_eq!(table.pop_due(at(9)), None);
        let mut due = Vec::new();
        while let Some(item) = table.pop_due(at(20)) {
            due.push(item);
        }
        assert_eq!(due, ["a", "b", "c"]);
        table.enter(at(40), "e");
        assert_eq!(table.extract(|item| *item == "d"), ["d"]);
        assert_eq!(table.items().copied().collect::<Vec<_>>(), ["e"]);
        assert_eq!(table.next_due(), Some(at(40)));
    }
}
