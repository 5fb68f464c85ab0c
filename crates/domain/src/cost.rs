//! The cost of a message at a target, by its destination: for routes with least-cost sharing.
//!
//! Built with the plan, used by routes with `share = "least_cost"` only. The longest prefix wins, as
//! in routes; a destination without a price is the most expensive.

use super::address;
use super::route::Trie;

/// The prices of one target.
#[derive(Debug)]
pub struct TargetTariff {
    base: f64,
    by_prefix: Trie<f64>,
}

// === impl TargetTariff ===

impl TargetTariff {
    /// `base` is for destinations without a prefix of their own.
    pub fn new<'p>(base: Option<f64>, prefixes: impl IntoIterator<Item = (&'p str, f64)>) -> Self {
        let mut by_prefix = Trie::default();
        for (prefix, cost) in prefixes {
            *by_prefix.entry(address::normalise(prefix.as_bytes())) = Some(cost);
        }
        Self {
            base: base.unwrap_or(f64::INFINITY),
            by_prefix,
        }
    }

    /// The price of a message to this destination; infinite when there is none.
    pub fn of(&self, destination: &[u8]) -> f64 {
        let own = self.by_prefix.longest(address::normalise(destination));
        own.map_or(self.base, |(_, cost)| *cost)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_prefix_has_the_price() {
        let tariff = TargetTariff::new(Some(5.0), [("44", 3.0), ("4477", 4.0), ("+49", 2.5)]);
        for (destination, wanted) in [
            ("447700900123", 4.0),
            ("+442079460123", 3.0),
            ("49301234", 2.5),
            ("33123", 5.0),
            ("", 5.0),
        ] {
            assert_eq!(tariff.of(destination.as_bytes()), wanted, "{destination}");
        }
        let narrow = TargetTariff::new(None, [("44", 3.0)]);
        assert_eq!(narrow.of(b"33123"), f64::INFINITY);
    }
}
