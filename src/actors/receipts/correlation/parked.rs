//! Receipts that matched nothing, indexed by every form that their id may have.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::index::CorrelationKey;
use crate::config;
use crate::domain::ByQueue;
use crate::domain::share::FairShares;
use crate::pb::OperatorReceipt;

/// Octets that a parked receipt takes beside what it says.
const BARE: u64 = 256;

/// Bounded by count and octets. When it is full, the oldest receipt of the operator with the most octets is dropped: so
/// an operator whose receipts match nothing loses its own.
pub struct Parked {
    limit: usize,
    /// Most octets.
    most: u64,
    rows: BTreeMap<u64, ParkedReceipt>,
    by_key: HashMap<CorrelationKey, u64>,
    by_operator: ByQueue<BTreeSet<u64>>,
    shares: FairShares<u32>,
}

/// A parked receipt to be looked up again.
pub struct Late {
    pub row: u64,
    /// When it came, Unix milliseconds.
    pub at: i64,
    pub operator: u32,
    pub keys: Vec<CorrelationKey>,
    pub receipt: OperatorReceipt,
}

struct ParkedReceipt {
    /// Unix milliseconds.
    at: i64,
    operator: u32,
    keys: Vec<CorrelationKey>,
    receipt: OperatorReceipt,
}

// === impl Parked ===

impl Parked {
    pub fn new(config: &config::CorrelationConfig) -> Self {
        Self {
            limit: config.parked_max.max(1),
            most: config.parked_mib.max(1) << 20,
            rows: BTreeMap::new(),
            by_key: HashMap::new(),
            by_operator: ByQueue::default(),
            shares: FairShares::default(),
        }
    }

    pub fn len(&self) -> usize {
        self.rows.len()
    }

    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Adds a receipt; returns the rows that were dropped to stay within the limits.
    pub fn add(
        &mut self,
        id: u64,
        at: i64,
        operator: u32,
        keys: Vec<CorrelationKey>,
        receipt: OperatorReceipt,
    ) -> Vec<u64> {
        self.remove(id);
        for key in &keys {
            self.by_key.insert(*key, id);
        }
        self.shares.take(&operator, octets(&receipt));
        self.by_operator.entry(operator).or_default().insert(id);
        let row = ParkedReceipt {
            at,
            operator,
            keys,
            receipt,
        };
        self.rows.insert(id, row);
        let mut dropped = Vec::new();
        while self.rows.len() > self.limit || self.shares.all() > self.most {
            let largest = self.shares.largest().copied();
            let theirs = largest.and_then(|largest| self.by_operator.get(&largest));
            let Some(oldest) = theirs.and_then(|rows| rows.first().copied()) else {
                break;
            };
            self.remove(oldest);
            dropped.push(oldest);
        }
        dropped
    }

    /// Takes the receipt with this key that came at `since` (Unix ms) or later, if it is `right`; one with a single key is.
    pub fn take(
        &mut self,
        key: CorrelationKey,
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
    pub fn set_keys(&mut self, id: u64, keys: Vec<CorrelationKey>) {
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

    fn remove(&mut self, id: u64) -> Option<ParkedReceipt> {
        let row = self.rows.remove(&id)?;
        for key in &row.keys {
            if self.by_key.get(key) == Some(&id) {
                self.by_key.remove(key);
            }
        }
        self.shares.give(&row.operator, octets(&row.receipt));
        if let Some(rows) = self.by_operator.get_mut(&row.operator) {
            rows.remove(&id);
            if rows.is_empty() {
                self.by_operator.remove(&row.operator);
            }
        }
        Some(row)
    }
}

/// What a receipt takes in memory.
pub fn octets(receipt: &OperatorReceipt) -> u64 {
    BARE + (receipt.raw.len() + receipt.operator_message_id.len()) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parked(limit: usize) -> Parked {
        Parked::new(&config::CorrelationConfig {
            parked_max: limit,
            ..config::CorrelationConfig::default()
        })
    }

    fn receipt(sequence: u32, octets: usize) -> OperatorReceipt {
        OperatorReceipt {
            sequence,
            raw: vec![b'x'; octets].into(),
            ..OperatorReceipt::default()
        }
    }

    #[test]
    fn found_by_any_key_and_bounded() {
        let mut parked = parked(2);
        assert!(
            parked
                .add(1, 10, 7, vec![100, 101], receipt(1, 0))
                .is_empty()
        );
        assert!(parked.add(2, 20, 7, vec![200], receipt(2, 0)).is_empty());
        assert_eq!(parked.add(3, 30, 7, vec![300], receipt(3, 0)), [1]);
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
        assert!(parked.is_empty() && parked.by_operator.is_empty());
        assert_eq!(parked.shares.all(), 0);
    }

    #[test]
    fn an_operator_that_fills_it_loses_its_own() {
        let mut parked = parked(100);
        parked.add(1, 10, 7, vec![1], receipt(1, 0));
        for id in 2..1_000 {
            let dropped = parked.add(id, 10, 8, vec![u128::from(id)], receipt(0, 0));
            assert!(!dropped.contains(&1));
        }
        assert_eq!(parked.len(), 100);
        assert!(parked.take(1, 0, |_| true).is_some(), "the oldest of all");
        assert!(parked.take(999, 0, |_| true).is_some() && parked.take(2, 0, |_| true).is_none());
    }

    #[test]
    fn long_receipts_are_counted_by_their_octets() {
        let mut parked = parked(1_000_000);
        parked.most = 1 << 20;
        parked.add(1, 10, 7, vec![1], receipt(1, 0));
        for id in 2..1_000 {
            parked.add(id, 10, 8, vec![u128::from(id)], receipt(0, 60_000));
            assert!(parked.shares.all() <= 1 << 20);
        }
        assert_eq!(parked.len(), 1 + 17);
        assert!(parked.take(1, 0, |_| true).is_some());
    }
}
