//! Recently completed texts: fingerprints only, to detect repetitions.
//!
//! Used by the assembler. One text is remembered per key, the last one. Invariant: at most `limit`
//! fingerprints are kept; the oldest texts are forgotten first.

use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;

use super::Age;

/// Texts that became whole.
#[derive(Debug)]
pub(super) struct Finished<K> {
    limit: usize,
    texts: HashMap<K, FinishedText, ahash::RandomState>,
    by_age: BTreeMap<Age, K>,
    len: usize,
}

#[derive(Debug)]
struct FinishedText {
    age: Age,
    /// Of all parts in order; as many as the text had.
    fingerprints: Box<[u64]>,
}

// === impl Finished ===

impl<K: Eq + Hash + Clone> Finished<K> {
    pub fn new(limit: usize) -> Self {
        Self {
            limit,
            texts: HashMap::default(),
            by_age: BTreeMap::new(),
            len: 0,
        }
    }

    /// Keeps a text, instead of what was finished under this key before.
    pub fn remember(&mut self, key: K, age: Age, fingerprints: Box<[u64]>) {
        self.forget(&key);
        self.len += fingerprints.len();
        self.by_age.insert(age, key.clone());
        self.texts.insert(key, FinishedText { age, fingerprints });
        while self.len > self.limit && self.forget_oldest() {}
    }

    /// Whether the text finished under this key had this content at this place.
    pub fn has(&self, key: &K, total: u8, sequence: u8, fingerprint: u64) -> bool {
        let Some(text) = self.texts.get(key) else {
            return false;
        };
        let place = usize::from(sequence.max(1)) - 1;
        text.fingerprints.len() == usize::from(total.max(1))
            && text.fingerprints.get(place) == Some(&fingerprint)
    }

    /// Forgets what became whole at this moment or before.
    pub fn forget_until(&mut self, until_ms: i64) {
        while let Some((age, _)) = self.by_age.first_key_value() {
            if age.0 > until_ms {
                break;
            }
            self.forget_oldest();
        }
    }

    #[cfg(test)]
    pub fn len(&self) -> usize {
        self.len
    }

    fn forget_oldest(&mut self) -> bool {
        let Some((_, key)) = self.by_age.pop_first() else {
            return false;
        };
        self.forget(&key);
        true
    }

    fn forget(&mut self, key: &K) {
        if let Some(text) = self.texts.remove(key) {
            self.by_age.remove(&text.age);
            self.len -= text.fingerprints.len();
        }
    }
}
