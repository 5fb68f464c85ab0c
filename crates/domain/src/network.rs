//! Networks that numbers belong to: names of networks, the table of number ranges, and the note
//! that stores a message's network in its history.
//!
//! A network is a text without a meaning of its own: MCC and MNC (`23415`) or an operator's name,
//! whatever the routes use. Used by the resolver, the plan and the readers of the stores.

use std::sync::Arc;

use super::address;
use super::number_table::{TableError, rows};
use super::route::Trie;

/// Longest name of a network.
pub const MAX_NAME: usize = 32;
/// Longest prefix: an E.164 number with some air.
const MAX_PREFIX: usize = 20;
/// What stands in front of the network in a note.
const NOTE: &str = "resolver: network ";
/// The note of a message whose network did not become known.
const UNKNOWN: &str = "resolver: network not known";

/// Which network a range of numbers was given to.
#[derive(Debug, Default)]
pub struct NetworkTable {
    by_prefix: Trie<Arc<str>>,
    len: usize,
}

/// Whether this may be a network: letters, digits, `-`, `_` and `.`.
pub fn is_name(text: &str) -> bool {
    let allowed = |octet: u8| octet.is_ascii_alphanumeric() || b"-_.".contains(&octet);
    (1..=MAX_NAME).contains(&text.len()) && text.bytes().all(allowed)
}

/// Mobile country code and mobile network code, where the network is written so (ITU-T E.212: three digits, then
/// two or three).
pub fn mcc_mnc(network: &str) -> Option<(&str, &str)> {
    let is_code = (5..=6).contains(&network.len()) && address::is_digits(network.as_bytes());
    is_code.then(|| network.split_at(3))
}

/// The note of a move that was made because the network became known, or not: the store keeps it in
/// place of who ordered the move. `origin` is the source of the answer, for people.
pub fn note(network: &str, origin: &str) -> String {
    if network.is_empty() {
        format!("{UNKNOWN} ({origin})")
    } else {
        format!("{NOTE}{network} ({origin})")
    }
}

/// The network in a [`note`], empty when it is not known; `None` when this is no such note.
pub fn noted(by: &str) -> Option<&str> {
    if by.starts_with(UNKNOWN) {
        return Some("");
    }
    let (network, _) = by.strip_prefix(NOTE)?.split_once(' ')?;
    Some(network)
}

// === impl NetworkTable ===

impl NetworkTable {
    /// Reads lines of `prefix,network`.
    ///
    /// # Errors
    /// The first line that cannot be used.
    pub fn parse(text: &str) -> Result<Self, TableError> {
        let mut table = Self::default();
        for row in rows(text) {
            let (prefix, network) = (row.number, row.value);
            let digits = address::normalise(prefix.as_bytes());
            if !address::is_digits(digits) || digits.len() > MAX_PREFIX {
                if table.len == 0 && row.is_title() {
                    continue;
                }
                return Err(row.wrong(format!(
                    "{prefix:?} is no prefix; write up to {MAX_PREFIX} digits, such as 4477009,23415"
                )));
            }
            if !is_name(network) {
                return Err(row.wrong(format!(
                    "{network:?} is no network; write up to {MAX_NAME} letters, digits, `-`, `_` or \
                     `.`, such as 4477009,23415"
                )));
            }
            let place = table.by_prefix.entry(digits);
            if let Some(other) = place.as_deref().filter(|other| *other != network) {
                return Err(row.wrong(format!(
                    "{prefix} belongs to {other} by an earlier line; remove one of them"
                )));
            }
            *place = Some(Arc::from(network));
            table.len += 1;
        }
        Ok(table)
    }

    /// The network of the longest prefix of this number.
    pub fn network_of(&self, destination: &[u8]) -> Option<&str> {
        let (_, network) = self.by_prefix.longest(address::normalise(destination))?;
        Some(network)
    }

    /// How many lines it was made of.
    pub fn len(&self) -> usize {
        self.len
    }

    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_of_countries_and_networks() {
        assert_eq!(mcc_mnc("23415"), Some(("234", "15")));
        assert_eq!(mcc_mnc("310410"), Some(("310", "410")));
        for other in ["", "2341", "3104100", "vodafone", "2341a"] {
            assert_eq!(mcc_mnc(other), None, "{other}");
        }
    }

    #[test]
    fn the_longest_prefix_of_a_number_tells_its_network() {
        let table = NetworkTable::parse(
            "prefix,network\n# Ofcom\n4477,23410\n+447700;23415;Vodafone\n\n\"33\", orange-fr\r\n",
        )
        .unwrap();
        for (number, network) in [
            ("447700900123", Some("23415")),
            ("+447711000000", Some("23410")),
            ("33612345678", Some("orange-fr")),
            ("49170", None),
            ("", None),
        ] {
            assert_eq!(table.network_of(number.as_bytes()), network, "{number}");
        }
        assert_eq!(table.len(), 3);
        assert!(NetworkTable::parse("").unwrap().is_empty());
    }

    #[test]
    fn a_wrong_line_is_named_with_its_cure() {
        for (text, said) in [
            ("44,23410\nabc,1", "line 2: \"abc\" is no prefix"),
            ("44", "line 1: \"\" is no network"),
            ("44,not a name", "\"not a name\" is no network"),
            ("44,a\n44,b", "line 2: 44 belongs to a by an earlier line"),
        ] {
            let error = NetworkTable::parse(text).unwrap_err().to_string();
            assert!(error.contains(said), "{error}");
        }
        NetworkTable::parse("44,a\n44,a").unwrap();
    }

    #[test]
    fn a_note_is_read_back() {
        assert_eq!(noted(&note("23415", "lookup")), Some("23415"));
        assert_eq!(noted(&note("", "no answer")), Some(""));
        for other in ["operator:up", "alice", "", "resolver: something else"] {
            assert_eq!(noted(other), None, "{other}");
        }
    }
}
