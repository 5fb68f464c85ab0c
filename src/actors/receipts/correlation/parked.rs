//! Receipts that matched nothing, indexed by every form that their id may have.

use std::collections::{BTreeMap, HashMap};

use super::index::Key;
use crate::pb::OperatorReceipt;

/// Bounded by count; the oldest is dropped first.
pub struct Parked {
    limit: usize,
    rows: BTreeMap<u64, Row>,
    by_key: HashMap<Key, u64>,
}

/// A parked receipt to be looked up again.
pub struct Late {
    pub row: u64,
    /// When it came, Unix milliseconds.
    pub at: i64,
    pub operator: u32,
    pub keys: Vec<Key>,
    pub receipt: OperatorReceipt,
}

struct Row {
    /// Unix milliseconds.
    at: i64,
    operator: u32,
    keys: Vec<Key>,
    receipt: OperatorReceipt,
}

// === impl Parked ===

impl Parked {
    pub fn new(limit: usize) -> Self {
        Self {
            limit: limit.max(1),
            rows: BTreeMap::new(),
            by_key: HashMap::new(),
        }
    }

    pub fn len(&self) -> usize {
        self.rows.len()
    }

    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Adds a receipt; returns the row that was dropped to stay within the limit.
    pub fn add(
        &mut self,
        id: u64,
        at: i64,
        operator: u32,
        keys: Vec<Key>,
        receipt: OperatorReceipt,
    ) -> Option<u64> {
        for key in &keys {
            self.by_key.insert(*key, id);
        }
        self.rows.insert(
            id,
            Row {
                at,
                operator,
                keys,
                receipt,
            },
        );
        if self.rows.len() <= self.limit {
            return None;
        }
        let oldest = *self.rows.first_key_value()?.0;
        self.remove(oldest);
        Some(oldest)
    }

    /// Takes the receipt with this key that came at `since` (Unix ms) or later, if it is `right`; one with a single key is.
    pub fn take(
        &mut self,
        key: Key,
        since: i64,
        right: impl FnOnce(&OperatorReceipt) -> bool,
    ) -> Option<(u64, OperatorReceipt)> {
        let id = *self.by_key.get(&key)?;
        let row = self.rows.get(&id).filter(|row| row.at >= since)?;
        if row.keys.len() > 1 && !right(&row.receipt) {
            return None;
        }
        self.remove(id).map(|row| (id, row.receipt))
    }

    /// Up to `limit` receipts that came at `since` (Unix ms) or later, newest first.
    pub fn since(&self, since: i64, limit: usize) -> Vec<Late> {
        self.rows
            .iter()
            .rev()
            .take_while(|(_, row)| row.at >= since)
            .take(limit)
            .map(|(id, row)| Late {
                row: *id,
                at: row.at,
                operator: row.operator,
                keys: row.keys.clone(),
                receipt: row.receipt.clone(),
            })
            .collect()
    }

    /// Indexes a receipt by these keys instead of its earlier ones.
    pub fn set_keys(&mut self, id: u64, keys: Vec<Key>) {
        let Some(row) = self.rows.get_mut(&id) else {
            return;
        };
        for key in std::mem::replace(&mut row.keys, keys.clone()) {
            if self.by_key.get(&key) == Some(&id) {
                self.by_key.remove(&key);
            }
        }
        for key in keys {
            self.by_key.insert(key, id);
        }
    }

    /// Whether a receipt is here.
    pub fn has(&self, id: u64) -> bool {
        self.rows.contains_key(&id)
    }

    /// Takes a receipt out; false if it is not here any more.
    pub fn forget(&mut self, id: u64) -> bool {
        self.remove(id).is_some()
    }

    /// Drops receipts older than this; returns their row ids.
    pub fn drop_before(&mut self, at: i64) -> Vec<u64> {
        let old: Vec<u64> = self
            .rows
            .iter()
            .filter(|(_, row)| row.at < at)
            .map(|(id, _)| *id)
            .collect();
        for id in &old {
            self.remove(*id);
        }
        old
    }

    fn remove(&mut self, id: u64) -> Option<Row> {
        let row = self.rows.remove(&id)?;
        for key in &row.keys {
            if self.by_key.get(key) == Some(&id) {
                self.by_key.remove(key);
            }
        }
        Some(row)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn found_by_any_key_and_bounded() {
        let mut parked = Parked::new(2);
        let receipt = |sequence| OperatorReceipt {
            sequence,
            ..OperatorReceipt::default()
        };
        assert_eq!(parked.add(1, 10, 7, vec![100, 101], receipt(1)), None);
        assert_eq!(parked.add(2, 20, 7, vec![200], receipt(2)), None);
        assert_eq!(parked.add(3, 30, 7, vec![300], receipt(3)), Some(1));
        assert!(parked.take(101, 0, |_| true).is_none());
        assert!(
            parked.take(200, 21, |_| true).is_none(),
            "of an earlier message"
        );
        assert_eq!(
            parked
                .take(200, 20, |_| true)
                .map(|(id, found)| (id, found.sequence)),
            Some((2, 2))
        );
        assert_eq!(parked.drop_before(31), vec![3]);
        assert!(parked.is_empty());
    }
}
