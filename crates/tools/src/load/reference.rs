//! The unique reference at the start of every text, and compact keys for message ids.
//!
//! A reference is `k3f9z-0000012345`: a tag of the run, a dash, the number of the message. Sixteen
//! octets, so that it is within the twenty that a receipt repeats (SMPP 3.4 appendix B): a receipt
//! with an unknown id still identifies its message.

use std::collections::HashMap;
use std::fmt::Write as _;

use bytes::BytesMut;

/// Octets of a reference.
pub const REFERENCE: usize = TAG + 1 + DIGITS;
const TAG: usize = 5;
const DIGITS: usize = 10;

/// Distinguishes this run's messages from those of others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunTag([u8; TAG]);

/// Message ids as numbers: a decimal id is its value, any other text its hash.
#[derive(Debug, Clone)]
pub struct IdKeys {
    hasher: ahash::RandomState,
}

/// A set of ids that come in runs: some two octets each for consecutive numbers.
#[derive(Debug, Default)]
pub struct IdSet {
    /// High 58 bits to one bit for each value of the low six.
    blocks: HashMap<u64, u64, ahash::RandomState>,
}

// === impl RunTag ===

impl RunTag {
    /// A tag that no other run has, most likely.
    pub fn random() -> Self {
        const LETTERS: &[u8; 36] = b"abcdefghijklmnopqrstuvwxyz0123456789";
        Self(std::array::from_fn(|_| {
            LETTERS[rand::random_range(0..LETTERS.len())]
        }))
    }

    /// The tag as text.
    pub fn as_str(&self) -> &str {
        str::from_utf8(&self.0).unwrap_or_default()
    }

    /// Appends the reference of message `index`.
    pub fn write(&self, out: &mut BytesMut, index: u64) {
        // Memory takes everything.
        let _ = write!(out, "{}-{index:0DIGITS$}", self.as_str());
    }

    /// The number of the message whose text starts so; `None` for texts of others.
    pub fn read(&self, text: &[u8]) -> Option<u64> {
        let digits = text.strip_prefix(&self.0)?.strip_prefix(b"-")?;
        let digits = str::from_utf8(digits.get(..DIGITS)?).ok()?;
        digits.parse().ok()
    }
}

// === impl IdKeys ===

impl Default for IdKeys {
    fn default() -> Self {
        Self {
            hasher: ahash::RandomState::new(),
        }
    }
}

impl IdKeys {
    /// The key of a message id. Two spellings of one number (leading zeros, hex) are two ids: an
    /// SMSC must report what it answered.
    pub fn key(&self, id: &[u8]) -> u64 {
        decimal(id).unwrap_or_else(|| self.hasher.hash_one(id))
    }
}

fn decimal(id: &[u8]) -> Option<u64> {
    if id.first().is_none_or(|first| *first == b'0') {
        return None;
    }
    id.iter().try_fold(0u64, |value, octet| {
        let digit = octet.wrapping_sub(b'0');
        (digit < 10).then_some(())?;
        value.checked_mul(10)?.checked_add(u64::from(digit))
    })
}

// === impl IdSet ===

impl IdSet {
    /// Adds; `false` when it was there already.
    pub fn insert(&mut self, key: u64) -> bool {
        let bit = 1u64 << (key & 63);
        let block = self.blocks.entry(key >> 6).or_default();
        let new = *block & bit == 0;
        *block |= bit;
        new
    }

    /// Whether it was added.
    pub fn contains(&self, key: u64) -> bool {
        self.blocks
            .get(&(key >> 6))
            .is_some_and(|block| block & (1 << (key & 63)) != 0)
    }
}

#[cfg(test)]
mod tests {
    use bytes::BufMut as _;

    use super::*;

    #[test]
    fn a_reference_is_found_again_in_a_receipts_text() {
        let tag = RunTag::random();
        let mut out = BytesMut::new();
        tag.write(&mut out, 9_876_543_210);
        assert_eq!(out.len(), REFERENCE);
        out.put_slice(b" and");
        assert_eq!(tag.read(&out), Some(9_876_543_210));
        assert_eq!(tag.read(&out[..10]), None);
        assert_eq!(RunTag(*b"other").read(&out), None);
    }

    #[test]
    fn ids_keep_their_spelling() {
        let keys = IdKeys::default();
        assert_eq!(keys.key(b"18446744073709551615"), u64::MAX);
        assert_eq!(keys.key(b"42"), 42);
        assert_ne!(keys.key(b"042"), 42);
        assert_ne!(keys.key(b"18446744073709551616"), 0);
        assert_eq!(keys.key(b"beef"), keys.key(b"beef"));
        assert_ne!(keys.key(b"beef"), keys.key(b"BEEF"));
    }

    #[test]
    fn the_set_remembers_each_id() {
        let mut set = IdSet::default();
        for id in [0, 63, 64, 1 << 40, u64::MAX] {
            assert!(!set.contains(id));
            assert!(set.insert(id));
            assert!(!set.insert(id));
            assert!(set.contains(id));
        }
        assert!(!set.contains(1));
    }
}
