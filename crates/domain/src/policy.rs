//! Who may send what to whom: entries of allow and block lists, sets of them, and the verdict on one
//! message.
//!
//! Compiled by the plan from the configuration, used by ingest. Pure. Guarantees that a set answers
//! as if every entry were compared one after another, at a cost that does not grow with their number.

mod keyword;
mod limit;

use std::collections::HashSet;
use std::sync::Arc;

use regex::bytes::{RegexSet, RegexSetBuilder};

use super::address::normalise;

pub use keyword::Keywords;
pub use limit::{AddressLimit, Per};

/// What compiled patterns of one set may take in memory.
const PATTERN_OCTETS: usize = 32 << 20;
/// What stands before the name of a list.
const LIST: &str = "list:";

/// One line of a list. Addresses are compared octet by octet, without a leading plus.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AddressEntry {
    /// `ACME`: this address.
    Exact(Box<[u8]>),
    /// `4477*`: every address that begins so.
    Prefix(Box<[u8]>),
    /// `/^[A-Z]{3,11}$/`: every address in which the regular expression is found.
    Pattern(String),
    /// `list:NAME`: what the named list has.
    List(String),
}

/// An entry that means nothing, and what to write instead.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct EntryError(String);

/// Addresses.
#[derive(Debug, Default)]
pub struct AddressSet {
    exact: HashSet<Box<[u8]>, ahash::RandomState>,
    /// Ascending, and none begins with another one.
    prefixes: Vec<Box<[u8]>>,
    patterns: Option<RegexSet>,
}

/// What an account may do. White lists that are empty allow everything.
#[derive(Debug, Default)]
pub struct Policy {
    pub senders: Vec<Arc<AddressSet>>,
    pub destinations: Vec<Arc<AddressSet>>,
    pub blocked_senders: Vec<Arc<AddressSet>>,
    pub blocked_destinations: Vec<Arc<AddressSet>>,
}

named! {
    /// Why a submission is refused.
    /// Its words are those of metrics and log lines.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub enum PolicyRefusal, as_str {
        SenderBlocked: "sender_blocked",
        SenderNotAllowed: "sender_not_allowed",
        DestinationBlocked: "destination_blocked",
        DestinationNotAllowed: "destination_not_allowed",
        /// The destination wants no messages.
        OptedOut: "opted_out",
        /// A limit of a sender or a destination is used up.
        OverLimit: "over_limit",
        /// It would be a message of a subscriber for another account, for which the sender needs `mobile_originated`.
        NeedsMobileOriginated: "needs_mobile_originated",
    }
}

// === impl AddressEntry ===

impl AddressEntry {
    /// Reads one entry.
    ///
    /// # Errors
    /// [`EntryError`]; a regular expression is only compiled by [`AddressSet::build`].
    pub fn parse(text: &str) -> Result<Self, EntryError> {
        let text = text.trim();
        if let Some(name) = text.strip_prefix(LIST) {
            return if name.is_empty() {
                Err(EntryError("names no list; write `list:NAME`".to_owned()))
            } else {
                Ok(Self::List(name.to_owned()))
            };
        }
        if let Some(rest) = text.strip_prefix('/') {
            return match rest.strip_suffix('/') {
                Some(pattern) if !pattern.is_empty() => Ok(Self::Pattern(pattern.to_owned())),
                _ => Err(EntryError(format!(
                    "{text:?} is no regular expression; write it between slashes, such as \
                     \"/^[A-Z]{{3,11}}$/\""
                ))),
            };
        }
        let address = normalise(text.as_bytes());
        let prefix = address.strip_suffix(b"*");
        if prefix.unwrap_or(address).contains(&b'*') {
            return Err(EntryError(format!(
                "{text:?} has a `*` that is not at its end; write a regular expression between \
                 slashes"
            )));
        }
        match prefix {
            _ if address.is_empty() => Err(EntryError(
                "is empty; write an address, a prefix such as `4477*`, or `/^$/` for no address"
                    .to_owned(),
            )),
            Some(prefix) => Ok(Self::Prefix(prefix.into())),
            None => Ok(Self::Exact(address.into())),
        }
    }
}

// === impl AddressSet ===

impl AddressSet {
    /// A set of these; [`AddressEntry::List`]s are the caller's to resolve and count for nothing here.
    ///
    /// # Errors
    /// A regular expression that is none, or expressions that are too large together.
    pub fn build(entries: impl IntoIterator<Item = AddressEntry>) -> Result<Self, EntryError> {
        let mut set = Self::default();
        let mut patterns = Vec::new();
        for entry in entries {
            match entry {
                AddressEntry::Exact(address) => {
                    set.exact.insert(address);
                }
                AddressEntry::Prefix(prefix) => set.prefixes.push(prefix),
                AddressEntry::Pattern(pattern) => patterns.push(pattern),
                AddressEntry::List(_) => {}
            }
        }
        set.exact.shrink_to_fit();
        set.prefixes.sort_unstable();
        // Entries that begin with a kept one follow it directly.
        set.prefixes.dedup_by(|next, kept| next.starts_with(kept));
        set.prefixes.shrink_to_fit();
        if !patterns.is_empty() {
            let compiled = RegexSetBuilder::new(&patterns)
                .size_limit(PATTERN_OCTETS)
                .build()
                .map_err(|error| {
                    EntryError(format!("has a regular expression that is none: {error}"))
                })?;
            set.patterns = Some(compiled);
        }
        Ok(set)
    }

    /// Whether an address, without a leading plus, is in the set.
    pub fn contains(&self, address: &[u8]) -> bool {
        self.exact.contains(address)
            || self.has_prefix_of(address)
            || self
                .patterns
                .as_ref()
                .is_some_and(|patterns| patterns.is_match(address))
    }

    /// Only the last prefix that is not behind the address can begin it: one between the two would
    /// begin with that prefix, and such are not kept.
    fn has_prefix_of(&self, address: &[u8]) -> bool {
        let behind = self.prefixes.partition_point(|prefix| **prefix <= *address);
        behind > 0 && address.starts_with(&self.prefixes[behind - 1])
    }

    /// Entries, without prefixes that are covered by others.
    pub fn len(&self) -> usize {
        let patterns = self.patterns.as_ref().map_or(0, RegexSet::len);
        self.exact.len() + self.prefixes.len() + patterns
    }

    /// Whether it has no address at all.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

// === impl Policy ===

impl Policy {
    /// Whether everything is allowed.
    pub fn is_empty(&self) -> bool {
        let lists = [
            &self.senders,
            &self.destinations,
            &self.blocked_senders,
            &self.blocked_destinations,
        ];
        lists.iter().all(|sets| sets.is_empty())
    }

    /// Whether a message may go from `source` to `destination`. What is blocked is blocked, also
    /// where a white list has it.
    ///
    /// # Errors
    /// The first reason against it; the sender's come first.
    pub fn check(&self, source: &[u8], destination: &[u8]) -> Result<(), PolicyRefusal> {
        let (source, destination) = (normalise(source), normalise(destination));
        let has = |sets: &[Arc<AddressSet>], address| sets.iter().any(|set| set.contains(address));
        let allows = |sets: &[Arc<AddressSet>], address| sets.is_empty() || has(sets, address);
        if has(&self.blocked_senders, source) {
            Err(PolicyRefusal::SenderBlocked)
        } else if !allows(&self.senders, source) {
            Err(PolicyRefusal::SenderNotAllowed)
        } else if has(&self.blocked_destinations, destination) {
            Err(PolicyRefusal::DestinationBlocked)
        } else if !allows(&self.destinations, destination) {
            Err(PolicyRefusal::DestinationNotAllowed)
        } else {
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests;
