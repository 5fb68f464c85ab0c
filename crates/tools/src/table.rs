//! Delayed actions of one connection, earliest first.
//!
//! Used by every simulator for delayed answers, receipts and reports: one table and one timer per connection, however
//! many wait. Invariant: entries with the same time leave in the order they came.

use std::collections::BTreeMap;
use std::time::Instant;

/// Items with a time.
#[derive(Debug)]
pub(crate) struct TimedTable<T> {
    /// By their time, and by their number among all entries.
    entries: BTreeMap<(Instant, u64), T>,
    entered: u64,
}

/// Waits for a moment, for ever when there is none.
pub(crate) async fn at(moment: Option<Instant>) {
    match moment {
        Some(moment) => tokio::time::sleep_until(moment.into()).await,
        None => std::future::pending().await,
    }
}

// === impl TimedTable ===

impl<T> Default for TimedTable<T> {
    fn default() -> Self {
        Self {
            entries: BTreeMap::new(),
            entered: 0,
        }
    }
}

impl<T> TimedTable<T> {
    /// Keeps `item` until `due`.
    pub(crate) fn enter(&mut self, due: Instant, item: T) {
        self.entered += 1;
        self.entries.insert((due, self.entered), item);
    }

    /// When the earliest item is due.
    pub(crate) fn next_due(&self) -> Option<Instant> {
        self.entries.keys().next().map(|(due, _)| *due)
    }

    /// The earliest item, if it is due.
    pub(crate) fn pop_due(&mut self, now: Instant) -> Option<T> {
        let first = self.entries.first_entry()?;
        (first.key().0 <= now).then(|| first.remove())
    }

    /// All items, the earliest first.
    pub(crate) fn items(&self) -> impl Iterator<Item = &T> {
        self.entries.values()
    }

    /// Takes out the items that `chosen` picks, the earliest first.
    pub(crate) fn extract(&mut self, chosen: impl Fn(&T) -> bool) -> Vec<T> {
        let out = self.entries.extract_if(.., |_, item| chosen(item));
        out.map(|(_, item)| item).collect()
    }
}

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
