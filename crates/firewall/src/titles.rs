//! Whose a global title or a number is, by its first digits.

use ahash::AHashMap;
use smsc_domain::address::is_digits;

use crate::FirewallSettings;

/// What stands in front of the digits of a global title that is not in international form, such as a national one: it is
/// of no network that is known by international digits. What is denied is denied in any form.
pub const NOT_INTERNATIONAL: char = '~';
/// The place of our own network among the networks.
const OWN: usize = 0;
/// What people write between the digits of a number, or before them.
const BETWEEN: [char; 7] = ['+', ' ', '-', '.', '/', '(', ')'];

/// The prefixes of a firewall.
#[derive(Debug)]
pub(crate) struct TitleTable {
    /// True for titles that are allowed, false for those that are denied.
    access: PrefixTable<bool>,
    /// Whether only allowed titles pass.
    needs_allowance: bool,
    /// Which network a title belongs to.
    networks: PrefixTable<usize>,
    network_digits: usize,
    visited: PrefixTable<()>,
    own_numbers: PrefixTable<()>,
}

/// Values by prefix; the longest one counts.
#[derive(Debug)]
struct PrefixTable<V> {
    by_prefix: AHashMap<String, V>,
    /// Octets of the longest prefix.
    longest: usize,
}

/// The network of a title, as far as it is known.
#[derive(Debug, PartialEq, Eq)]
enum TitleNetwork<'a> {
    Known(usize),
    /// Titles with the same first digits.
    Alike(&'a str),
}

// === impl TitleTable ===

impl TitleTable {
    pub(crate) fn new(settings: &FirewallSettings) -> Self {
        let mut access = PrefixTable::default();
        access.add(&settings.allowed_titles, true);
        // One that is both is denied.
        access.add(&settings.denied_titles, false);
        let mut networks = PrefixTable::default();
        for (place, prefixes) in settings.networks.iter().enumerate() {
            networks.add(prefixes, place + 1);
        }
        networks.add(&settings.own_titles, OWN);
        let (mut visited, mut own_numbers) = (PrefixTable::default(), PrefixTable::default());
        visited.add(&settings.visited_titles, ());
        own_numbers.add(&settings.own_numbers, ());
        Self {
            access,
            needs_allowance: !settings.allowed_titles.is_empty(),
            networks,
            network_digits: settings.network_digits,
            visited,
            own_numbers,
        }
    }

    /// Whether a title may send anything.
    pub(crate) fn is_allowed(&self, title: &str) -> bool {
        let other = title.strip_prefix(NOT_INTERNATIONAL);
        match self.access.longest_of(other.unwrap_or(title)) {
            Some(true) if other.is_some() => !self.needs_allowance,
            Some(is_allowed) => *is_allowed,
            None => !self.needs_allowance,
        }
    }

    /// Whether a title is of our own network. Without a title nobody knows: whoever wants no answer need not have one.
    pub(crate) fn is_own(&self, title: &str) -> bool {
        self.networks.longest_of(title) == Some(&OWN)
    }

    /// Whether subscribers of ours may be served by the node with this title.
    pub(crate) fn may_serve_own(&self, title: &str) -> bool {
        let is_visited = self.visited.longest_of(title).is_some();
        self.visited.is_empty() || is_visited || self.is_own(title)
    }

    /// Whether two titles belong to one network.
    pub(crate) fn are_of_one_network(&self, one: &str, other: &str) -> bool {
        self.network_of(one) == self.network_of(other)
    }

    /// Whether a number is that of a subscriber of ours.
    pub(crate) fn is_own_number(&self, number: &str) -> bool {
        self.own_numbers.longest_of(number).is_some()
    }

    /// Whether a sender looks like the number of a subscriber of ours: a handset shows it as one also when it is a word with a
    /// plus sign or with signs between its digits, or begins as an international call does.
    pub(crate) fn looks_own(&self, sender: &str) -> bool {
        let digits = sender.replace(BETWEEN, "");
        let digits = digits.strip_prefix("00").unwrap_or(&digits);
        self.is_own_number(sender) || is_digits(digits.as_bytes()) && self.is_own_number(digits)
    }

    /// Whether it is known which numbers are ours.
    pub(crate) fn has_own_numbers(&self) -> bool {
        !self.own_numbers.is_empty()
    }

    fn network_of<'a>(&self, title: &'a str) -> TitleNetwork<'a> {
        let known = self.networks.longest_of(title);
        known.map_or_else(
            || TitleNetwork::Alike(title.get(..self.network_digits).unwrap_or(title)),
            |place| TitleNetwork::Known(*place),
        )
    }
}

// === impl PrefixTable ===

impl<V> Default for PrefixTable<V> {
    fn default() -> Self {
        Self {
            by_prefix: AHashMap::new(),
            longest: 0,
        }
    }
}

impl<V: Copy> PrefixTable<V> {
    fn add(&mut self, prefixes: &[String], value: V) {
        for prefix in prefixes {
            self.longest = self.longest.max(prefix.len());
            self.by_prefix.insert(prefix.clone(), value);
        }
    }

    fn longest_of(&self, digits: &str) -> Option<&V> {
        let most = self.longest.min(digits.len());
        // A sender may be a word, so that not each place is one between characters.
        let prefixes = (1..=most).rev().filter_map(|length| digits.get(..length));
        let mut found = prefixes.filter_map(|prefix| self.by_prefix.get(prefix));
        found.next()
    }

    fn is_empty(&self) -> bool {
        self.by_prefix.is_empty()
    }
}
