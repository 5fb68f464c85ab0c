//! IMSIs of numbers: what an IMSI is (3GPP TS 23.003 §2.2), the table of IMSIs, and the note that stands
//! in the history of a message whose IMSI became known.
//!
//! An IMSI is a subscriber's identity and personal data: log lines show it masked only. Used by the
//! resolver, the queue of its messages and the configuration.

use std::collections::HashMap;

use super::address;
use super::number_table::{TableError, rows};
use super::route::Trie;

/// Digits of the longest IMSI (3GPP TS 23.003 §2.2).
const MAX_DIGITS: usize = 15;
/// Mobile country code, mobile network code, and one digit of the subscriber.
const MIN_DIGITS: usize = 6;
/// Longest number: E.164 with some air.
const MAX_NUMBER: usize = 20;
/// Stands for the rest of a number, and for the same digits of the IMSI.
const REST: char = '*';
/// What the note of a message begins with whose IMSI became known; the IMSI itself is not in it.
const NOTE: &str = "resolver: IMSI";

/// The error code of a message to a number that nobody has: *unknown subscriber* of MAP (3GPP TS 29.002
/// §17.6.6) and *unassigned number* of the relay layer (TS 24.011 §8.2.5.4).
pub const UNKNOWN_SUBSCRIBER: &str = "1";

/// The IMSIs of numbers, and of ranges of numbers.
#[derive(Debug, Default)]
pub struct ImsiTable {
    by_number: HashMap<Box<[u8]>, Box<str>>,
    /// What the IMSIs of a range begin with; the rest of the number follows.
    by_prefix: Trie<Box<str>>,
    prefixes: usize,
}

/// Whether this may be an IMSI.
pub fn is_imsi(text: &str) -> bool {
    (MIN_DIGITS..=MAX_DIGITS).contains(&text.len()) && address::is_digits(text.as_bytes())
}

/// The note of a move that was made because the IMSI became known. `origin` is the source of the answer,
/// for people.
pub fn note(origin: &str) -> String {
    format!("{NOTE} ({origin})")
}

// === impl ImsiTable ===

impl ImsiTable {
    /// Reads lines of `number,IMSI`, or `prefix*,IMSI*`: there the digits that follow the prefix in a number
    /// follow the digits of the IMSI.
    ///
    /// # Errors
    /// The first line that cannot be used.
    pub fn parse(text: &str) -> Result<Self, TableError> {
        let mut table = Self::default();
        for row in rows(text) {
            let whole = row.number.strip_suffix(REST).is_none();
            let digits = row.number.strip_suffix(REST).unwrap_or(row.number);
            let digits = address::normalise(digits.as_bytes());
            if !address::is_digits(digits) || digits.len() > MAX_NUMBER {
                if table.is_empty() && row.is_title() {
                    continue;
                }
                return Err(row.wrong(format!(
                    "{:?} is no number; write up to {MAX_NUMBER} digits, such as 49160001,001010000000001",
                    row.number
                )));
            }
            let imsi = if whole {
                Some(row.value).filter(|imsi| is_imsi(imsi))
            } else {
                row.value.strip_suffix(REST).filter(|start| {
                    start.len() < MAX_DIGITS && address::is_digits(start.as_bytes())
                })
            };
            // Not shown: it may be a subscriber's with a slip of the pen.
            let Some(imsi) = imsi else {
                return Err(row.wrong(format!(
                    "what stands for {} is no IMSI; write {MIN_DIGITS} to {MAX_DIGITS} digits, such as \
                     49160001,001010000000001, or for a range 4916*,0010100000*",
                    row.number
                )));
            };
            let is_other = if whole {
                let before = table.by_number.insert(digits.into(), imsi.into());
                before.is_some_and(|before| &*before != imsi)
            } else {
                table.prefixes += 1;
                let before = table.by_prefix.entry(digits).replace(imsi.into());
                before.is_some_and(|before| &*before != imsi)
            };
            if is_other {
                return Err(row.wrong(format!(
                    "{} has another IMSI by an earlier line; remove one of them",
                    row.number
                )));
            }
        }
        Ok(table)
    }

    /// The IMSI of a number: its own, or that of the longest range that it is in.
    pub fn imsi_of(&self, destination: &[u8]) -> Option<String> {
        let number = address::normalise(destination);
        if let Some(imsi) = self.by_number.get(number) {
            return Some(imsi.to_string());
        }
        let (length, start) = self.by_prefix.longest(number)?;
        let rest = std::str::from_utf8(number.get(length..)?).ok()?;
        Some(format!("{start}{rest}")).filter(|imsi| is_imsi(imsi))
    }

    /// How many lines it was made of.
    pub fn len(&self) -> usize {
        self.by_number.len() + self.prefixes
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_imsi_is_up_to_fifteen_digits() {
        for (text, expected) in [
            ("001010000000001", true),
            ("262011", true),
            ("26201", false),
            ("0010100000000012", false),
            ("00101000000000x", false),
            ("", false),
        ] {
            assert_eq!(is_imsi(text), expected, "{text}");
        }
    }

    #[test]
    fn numbers_come_before_the_longest_range() {
        let table = ImsiTable::parse(
            "number,imsi\n# the lab\n+49160001;001010000000001\n4916*,00101000*\n49161*,00102000*\n",
        )
        .unwrap();
        for (number, imsi) in [
            ("49160001", Some("001010000000001")),
            ("+49160001", Some("001010000000001")),
            // One digit more is another subscriber.
            ("491600012", Some("0010100000012")),
            ("49160002", Some("001010000002")),
            ("49161234", Some("00102000234")),
            ("4916", Some("00101000")),
            ("4917", None),
            // The IMSI would have 16 digits.
            ("491612345678", Some("001020002345678")),
            ("4916123456789", None),
            ("4916ACME", None),
            ("", None),
        ] {
            assert_eq!(
                table.imsi_of(number.as_bytes()).as_deref(),
                imsi,
                "{number}"
            );
        }
        assert_eq!(table.len(), 3);
        assert!(ImsiTable::parse("").unwrap().is_empty());
    }

    #[test]
    fn a_wrong_line_is_named_with_its_cure() {
        for (text, said) in [
            ("491,00101001\nabc,1", "line 2: \"abc\" is no number"),
            ("491", "line 1: what stands for 491 is no IMSI"),
            ("491*,001010001", "what stands for 491* is no IMSI"),
            ("491,00101000*", "what stands for 491 is no IMSI"),
            ("491,00101001\n491,00101002", "line 2: 491 has another IMSI"),
            ("491*,00101*\n491*,00102*", "line 2: 491* has another IMSI"),
        ] {
            let error = ImsiTable::parse(text).unwrap_err().to_string();
            assert!(error.contains(said), "{error}");
        }
        let error = ImsiTable::parse("491,0010100000000012")
            .unwrap_err()
            .to_string();
        assert!(!error.contains("0010100000000012"), "{error}");
        ImsiTable::parse("491,00101001\n491,00101001").unwrap();
    }

    #[test]
    fn the_note_is_no_note_of_a_network() {
        assert_eq!(note("looked up"), "resolver: IMSI (looked up)");
        assert_eq!(crate::network::noted(&note("looked up")), None);
    }
}
