//! The index `(operator, operator's message id) → our message`, bounded in memory.
//!
//! Kept in generations: the newest takes inserts, the oldest is spilled to the store's derived hourly
//! tables (sorted, without final messages) and leaves memory only after the store has confirmed it.
//!
//! An operator may reuse an id while an earlier message waits for its receipt: all messages are kept,
//! and a receipt is for the newest one that is not final.

use std::collections::{HashMap, VecDeque};

use crate::config::MessageIdForm;
pub use crate::domain::correlation::CorrelationKey;
use crate::domain::correlation::key;
use crate::domain::period::HOUR_MS;

/// Unfinished messages kept under one id within a generation besides the newest: an operator that
/// answers every message with the same id must not fill the memory.
const EARLIER: usize = 8;

/// How an id in a receipt relates to the id in the submit_sm_resp.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum IdForm {
    /// The receipt has what the answer had, apart from case and leading zeros.
    Same,
    /// The receipt has in decimal what the answer had in hexadecimal.
    DecimalOfHex,
    /// The receipt has in hexadecimal what the answer had in decimal.
    HexOfDecimal,
}

impl IdForm {
    /// Its number in the store. Stored data depends on it: never change these numbers.
    pub fn number(self) -> u8 {
        match self {
            Self::Same => 1,
            Self::DecimalOfHex => 2,
            Self::HexOfDecimal => 3,
        }
    }

    /// The reverse; `None` for an unknown number.
    pub fn of_number(number: u8) -> Option<Self> {
        forms(MessageIdForm::Auto)
            .iter()
            .copied()
            .find(|form| form.number() == number)
    }

    pub fn in_words(self) -> &'static str {
        match self {
            Self::Same => "as in the answer",
            Self::DecimalOfHex => "decimal in the receipt, hexadecimal in the answer",
            Self::HexOfDecimal => "hexadecimal in the receipt, decimal in the answer",
        }
    }
}

/// The message found for an id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IndexEntry {
    pub id: u64,
    /// The message is final; a further receipt is a repetition.
    pub done: bool,
}

pub struct CorrelationIndex {
    /// Newest first.
    generations: VecDeque<Generation>,
    /// Most entries in memory.
    limit: usize,
    spilling: bool,
    pub spilled: u64,
}

struct Generation {
    /// Hour of the newest entry, since the epoch.
    hour: i64,
    entries: HashMap<CorrelationKey, IndexEntry, ahash::RandomState>,
    /// Earlier messages under the id of an entry that are not final, oldest first.
    earlier: HashMap<CorrelationKey, VecDeque<u64>, ahash::RandomState>,
}

// === impl CorrelationIndex ===

impl CorrelationIndex {
    pub fn new(limit: usize) -> Self {
        Self {
            generations: VecDeque::new(),
            limit: limit.max(1024),
            spilling: false,
            spilled: 0,
        }
    }

    /// The key under which an id from a submit_sm_resp is kept.
    pub fn key(&self, operator: u32, id: &[u8], form: MessageIdForm) -> CorrelationKey {
        key(operator, id, form == MessageIdForm::AsIs)
    }

    pub fn len(&self) -> usize {
        self.generations
            .iter()
            .map(|generation| generation.entries.len())
            .sum()
    }

    /// Stores the message of an id; returns true if an unfinished message has the same id.
    pub fn insert(&mut self, key: CorrelationKey, id: u64, now_ms: i64) -> bool {
        let full = self
            .generations
            .front()
            .is_none_or(|newest| newest.entries.len() >= self.limit / 4);
        if full {
            self.generations.push_front(Generation {
                hour: now_ms / HOUR_MS,
                entries: HashMap::default(),
                earlier: HashMap::default(),
            });
        }
        let Some(newest) = self.generations.front_mut() else {
            return false;
        };
        // Entries read at a start are not in order of time.
        newest.hour = newest.hour.max(now_ms / HOUR_MS);
        let before = newest.entries.insert(key, IndexEntry { id, done: false });
        match before {
            Some(before) if !before.done && before.id != id => {
                let earlier = newest.earlier.entry(key).or_default();
                earlier.push_back(before.id);
                if earlier.len() > EARLIER {
                    earlier.pop_front();
                }
                true
            }
            _ => false,
        }
    }

    /// The newest unfinished message with this id; without one, the newest final one.
    pub fn get(&mut self, key: CorrelationKey) -> Option<IndexEntry> {
        let mut done = None;
        for generation in &mut self.generations {
            let Some(entry) = generation.entries.get_mut(&key) else {
                continue;
            };
            if entry.done
                && let Some(earlier) = generation.earlier.get_mut(&key)
                && let Some(id) = earlier.pop_back()
            {
                *entry = IndexEntry { id, done: false };
            }
            if !entry.done {
                return Some(*entry);
            }
            done = done.or(Some(*entry));
        }
        done
    }

    pub fn mark_done(&mut self, key: CorrelationKey, id: u64) {
        self.set(key, id, true);
    }

    /// The message is not final after all: the receipt was an intermediate one.
    pub fn reopen(&mut self, key: CorrelationKey, id: u64) {
        self.set(key, id, false);
    }

    /// Like [`CorrelationIndex::reopen`], for an end that could not be written. Final messages are not spilled, so
    /// the entry may have left memory: then it is inserted again.
    pub fn open_again(&mut self, key: CorrelationKey, id: u64, now_ms: i64) {
        if !self.set(key, id, false) {
            self.insert(key, id, now_ms);
        }
    }

    /// Sets whether the entry is final; returns whether it was here.
    fn set(&mut self, key: CorrelationKey, id: u64, done: bool) -> bool {
        for generation in &mut self.generations {
            if let Some(entry) = generation.entries.get_mut(&key)
                && entry.id == id
            {
                entry.done = done;
                return true;
            }
        }
        false
    }

    /// The oldest generation, sorted, if memory is over its limit; confirm with
    /// [`CorrelationIndex::confirm_spill`].
    pub fn take_spill(&mut self) -> Option<(i64, Vec<(CorrelationKey, u64)>)> {
        if self.spilling || self.generations.len() < 2 || self.len() <= self.limit {
            return None;
        }
        let oldest = self.generations.back()?;
        let mut sorted: Vec<(CorrelationKey, u64)> = oldest
            .entries
            .iter()
            .filter(|(_, entry)| !entry.done)
            .map(|(key, entry)| (*key, entry.id))
            .collect();
        // A table has one message per key: if the newest is final, the newest one before it.
        sorted.extend(oldest.earlier.iter().filter_map(|(key, earlier)| {
            let is_open = oldest.entries.get(key).is_some_and(|entry| !entry.done);
            let newest = earlier.back().filter(|_| !is_open)?;
            Some((*key, *newest))
        }));
        sorted.sort_unstable();
        self.spilling = true;
        Some((oldest.hour, sorted))
    }

    /// The generation is in the store (or could not be written and stays).
    pub fn confirm_spill(&mut self, written: bool, count: usize) {
        self.spilling = false;
        if written {
            self.generations.pop_back();
            self.spilled += count as u64;
        }
    }
}

/// The form that an id in a receipt may have had in the answer.
pub fn as_answered(id: &[u8], form: IdForm) -> Option<Vec<u8>> {
    let id = id.trim_ascii();
    // Any octets, some operators' ids have such above 0x7F.
    if form == IdForm::Same {
        return Some(id.to_vec());
    }
    let text = std::str::from_utf8(id).ok()?;
    match form {
        IdForm::Same => None,
        IdForm::DecimalOfHex => {
            let value: u128 = text.parse().ok()?;
            Some(format!("{value:x}").into_bytes())
        }
        IdForm::HexOfDecimal => {
            let value = u128::from_str_radix(text, 16).ok()?;
            Some(value.to_string().into_bytes())
        }
    }
}

/// The forms to try for an operator, in order.
pub fn forms(form: MessageIdForm) -> &'static [IdForm] {
    match form {
        MessageIdForm::Auto => &[IdForm::Same, IdForm::DecimalOfHex, IdForm::HexOfDecimal],
        MessageIdForm::AsIs => &[IdForm::Same],
        MessageIdForm::Decimal => &[IdForm::DecimalOfHex],
        MessageIdForm::Hex => &[IdForm::HexOfDecimal],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_match_across_forms() {
        let index = CorrelationIndex::new(1024);
        let key = |id: &str| index.key(7, id.as_bytes(), MessageIdForm::Auto);
        for (answered, receipt, form) in [
            ("1A2B", "1a2b", IdForm::Same),
            ("000123", "123", IdForm::Same),
            ("123", "0000123", IdForm::Same),
            ("000", "0", IdForm::Same),
            ("1a2b", "6699", IdForm::DecimalOfHex),
            ("6699", "1A2B", IdForm::HexOfDecimal),
            ("00ff", "255", IdForm::DecimalOfHex),
            ("3f2504e0-4f89", "3F2504E0-4F89", IdForm::Same),
        ] {
            let found = as_answered(receipt.as_bytes(), form).expect("a valid id");
            let found = index.key(7, &found, MessageIdForm::Auto);
            assert_eq!(key(answered), found, "{answered} {receipt}");
        }
        assert_ne!(key("12"), key("120"));
        assert_ne!(
            index.key(7, b"12", MessageIdForm::Auto),
            index.key(8, b"12", MessageIdForm::Auto)
        );
        assert_ne!(
            index.key(7, b"0012", MessageIdForm::AsIs),
            index.key(7, b"12", MessageIdForm::AsIs)
        );
    }

    #[test]
    fn memory_stays_within_the_limit_once_spills_are_confirmed() {
        let mut index = CorrelationIndex::new(4096);
        let mut on_disk = HashMap::new();
        for id in 0..20_000u64 {
            let key = index.key(1, id.to_string().as_bytes(), MessageIdForm::Auto);
            index.insert(key, id, 0);
            if id % 2 == 0 {
                index.mark_done(key, id);
            }
            while let Some((_, sorted)) = index.take_spill() {
                assert!(sorted.is_sorted());
                index.confirm_spill(true, sorted.len());
                on_disk.extend(sorted);
            }
            assert!(index.len() <= 4097);
        }
        for id in (1..20_000u64).step_by(2) {
            let key = index.key(1, id.to_string().as_bytes(), MessageIdForm::Auto);
            let found = index
                .get(key)
                .map(|entry| entry.id)
                .or(on_disk.get(&key).copied());
            assert_eq!(found, Some(id));
        }
    }

    #[test]
    fn an_id_that_is_given_again_belongs_to_the_newest_unfinished_message() {
        let mut index = CorrelationIndex::new(4096);
        let key = index.key(1, b"5", MessageIdForm::Auto);
        let open = |id| Some(IndexEntry { id, done: false });
        assert!(!index.insert(key, 10, 0));
        assert!(!index.insert(key, 10, 0), "another attempt of the same");
        assert!(index.insert(key, 11, 0));
        // Into another generation, where the earlier entries stay as they are.
        for id in 100..1_200u64 {
            let other = index.key(2, id.to_string().as_bytes(), MessageIdForm::Auto);
            index.insert(other, id, 0);
        }
        index.insert(key, 12, 0);
        for id in [12, 11, 10] {
            assert_eq!(index.get(key), open(id));
            index.mark_done(key, id);
            index.reopen(key, id);
            assert_eq!(index.get(key), open(id));
            index.mark_done(key, id);
        }
        assert!(index.get(key).is_some_and(|entry| entry.done), "repeated");
        index.insert(key, 13, 0);
        assert_eq!(index.get(key), open(13));
    }

    #[test]
    fn one_id_for_every_message_does_not_fill_the_memory() {
        let mut index = CorrelationIndex::new(1024);
        let key = index.key(1, b"OK", MessageIdForm::Auto);
        for id in 1..1_000 {
            index.insert(key, id, 0);
        }
        let mut found = Vec::new();
        while let Some(entry) = index.get(key).filter(|entry| !entry.done) {
            index.mark_done(key, entry.id);
            found.push(entry.id);
        }
        let expected: Vec<u64> = (991..1_000).rev().collect();
        assert_eq!(found, expected);
    }
}
