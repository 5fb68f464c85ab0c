//! The number plan: what kind of number a destination is, which range of the plan has it, and whether it exists.
//!
//! Compiled by the configuration from `[[number_range]]`, used by ingest and by explanations of routes. Pure.
//! Ranges are chosen as routes are ([`crate::route`]): one that says how many digits its numbers have wins over one
//! that does not, then the longest prefix wins, then the first one. So the range of a number and the route that
//! its `to` makes are of the same entry. A look-up walks one trie and allocates nothing.

use std::ops::RangeInclusive;
use std::sync::Arc;

use super::address::{is_digits, normalise};
use super::policy::AddressSet;
use super::route::Trie;

named! {
    /// What a number is.
    /// Its words are those of the configuration.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub enum DestinationClass, as_str {
        /// One of our own: of a handset of our core network, or of an account.
        Local: "local",
        /// One of a peer behind us.
        Downstream: "downstream",
        /// A short code.
        ShortCode: "short_code",
        /// Any other: of the rest of the world.
        Outside: "outside",
    }
}

/// One entry of the plan.
#[derive(Debug, Clone)]
pub struct NumberPlanRange {
    /// Its name.
    pub name: String,
    /// What its numbers are.
    pub class: DestinationClass,
    /// How many digits they have; `None` for any.
    pub digits: Option<RangeInclusive<usize>>,
    /// Those that exist; all if empty.
    pub numbers: Vec<Arc<AddressSet>>,
}

/// All ranges, ready for look-ups.
#[derive(Debug, Default)]
pub struct NumberPlan {
    ranges: Vec<NumberPlanRange>,
    /// Indexes of ranges by prefix, in their order.
    by_prefix: Trie<Vec<usize>>,
}

/// What the plan says of a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NumberPlanResult<'p> {
    /// What it is; [`DestinationClass::Outside`] in no range.
    pub class: DestinationClass,
    /// The name of its range.
    pub range: Option<&'p str>,
    /// Whether the range has it. A number in no range may exist.
    pub exists: bool,
}

// === impl NumberPlanRange ===

impl NumberPlanRange {
    fn takes(&self, number: &[u8]) -> bool {
        let has_length =
            |digits: &RangeInclusive<usize>| digits.contains(&number.len()) && is_digits(number);
        self.digits.as_ref().is_none_or(has_length)
    }

    fn has(&self, number: &[u8]) -> bool {
        self.numbers.is_empty() || self.numbers.iter().any(|set| set.contains(number))
    }
}

// === impl NumberPlan ===

impl NumberPlan {
    /// A plan of these ranges, each with its prefixes; the empty prefix begins every number.
    pub fn build(entries: impl IntoIterator<Item = (Vec<String>, NumberPlanRange)>) -> Self {
        let mut plan = Self::default();
        for (prefixes, range) in entries {
            let index = plan.ranges.len();
            plan.ranges.push(range);
            for prefix in prefixes {
                let at = plan.by_prefix.entry(normalise(prefix.as_bytes()));
                at.get_or_insert_default().push(index);
            }
        }
        plan
    }

    /// Whether there is no range: then nothing is known of any number.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// What a destination is. A leading `+` is ignored.
    #[must_use]
    pub fn find(&self, destination: &[u8]) -> NumberPlanResult<'_> {
        let number = normalise(destination);
        let mut best: Option<(bool, &NumberPlanRange)> = None;
        // Longer prefixes come later and win over equals.
        self.by_prefix.walk(number, |_, indexes| {
            let mut found: Option<(bool, &NumberPlanRange)> = None;
            for range in indexes.iter().map(|index| &self.ranges[*index]) {
                let rank = range.digits.is_some();
                if range.takes(number) && found.is_none_or(|(other, _)| rank & !other) {
                    found = Some((rank, range));
                }
            }
            if let Some((rank, range)) = found
                && best.is_none_or(|(other, _)| rank >= other)
            {
                best = Some((rank, range));
            }
        });
        match best {
            Some((_, range)) => NumberPlanResult {
                class: range.class,
                range: Some(&range.name),
                exists: range.has(number),
            },
            None => NumberPlanResult {
                class: DestinationClass::Outside,
                range: None,
                exists: true,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::AddressEntry;

    fn range(name: &str, class: DestinationClass) -> NumberPlanRange {
        NumberPlanRange {
            name: name.to_owned(),
            class,
            digits: None,
            numbers: Vec::new(),
        }
    }

    fn prefixes(prefixes: &[&str]) -> Vec<String> {
        prefixes.iter().map(|one| (*one).to_owned()).collect()
    }

    fn plan() -> NumberPlan {
        let known = ["447700900123", "4477009002*"];
        let known = known.map(|entry| AddressEntry::parse(entry).unwrap());
        let local = NumberPlanRange {
            numbers: vec![Arc::new(AddressSet::build(known).unwrap())],
            ..range("home", DestinationClass::Local)
        };
        let codes = NumberPlanRange {
            digits: Some(5..=6),
            ..range("codes", DestinationClass::ShortCode)
        };
        NumberPlan::build([
            (prefixes(&["4477009"]), local),
            (
                prefixes(&["+4477", "4479"]),
                range("partner", DestinationClass::Downstream),
            ),
            (prefixes(&["2", "4"]), codes),
        ])
    }

    #[test]
    fn numbers_are_told_apart() {
        let plan = plan();
        for (number, class, name, exists) in [
            ("447700900123", DestinationClass::Local, Some("home"), true),
            ("+447700900200", DestinationClass::Local, Some("home"), true),
            ("447700900999", DestinationClass::Local, Some("home"), false),
            (
                "447712345678",
                DestinationClass::Downstream,
                Some("partner"),
                true,
            ),
            (
                "+447912345678",
                DestinationClass::Downstream,
                Some("partner"),
                true,
            ),
            ("441234567890", DestinationClass::Outside, None, true),
            ("23456", DestinationClass::ShortCode, Some("codes"), true),
            ("2345678", DestinationClass::Outside, None, true),
            ("2345A", DestinationClass::Outside, None, true),
            // As with routes, a range with a number of digits wins over a longer prefix.
            ("447700", DestinationClass::ShortCode, Some("codes"), true),
            ("ACME", DestinationClass::Outside, None, true),
            ("", DestinationClass::Outside, None, true),
        ] {
            let range = name;
            let found = NumberPlanResult {
                class,
                range,
                exists,
            };
            assert_eq!(plan.find(number.as_bytes()), found, "{number}");
        }
    }

    #[test]
    fn the_first_of_equals_wins_and_an_empty_prefix_has_every_number() {
        let plan = NumberPlan::build([
            (prefixes(&[""]), range("world", DestinationClass::Outside)),
            (prefixes(&[""]), range("never", DestinationClass::Local)),
            (prefixes(&["44"]), range("uk", DestinationClass::Downstream)),
        ]);
        assert_eq!(plan.find(b"1").range, Some("world"));
        assert_eq!(plan.find(b"44").range, Some("uk"));
        assert!(!plan.is_empty());
        assert!(NumberPlan::default().is_empty());
    }
}
