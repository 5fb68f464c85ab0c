//! Prices of segments by destination, and the balances and quotas (purses) that they are charged to.
//!
//! Built by the plan, used by Ingest for accounts that are charged. Pure: the content of purses is in the
//! stores and `actors/billing/balance.rs`. Guarantees that the longest prefix wins, and that of two of the same
//! length the account's own does.

use std::sync::Arc;

use super::address;
use super::period::DAY_MS;
use super::route::Trie;

/// Credits of a segment for which no price is given.
pub const DEFAULT_PRICE: u32 = 1;
/// What the price without a prefix is called.
pub const DEFAULT: &str = "default";
/// Prices by prefix of the destination.
#[derive(Debug, Default)]
pub struct Prices {
    by_prefix: Trie<u32>,
    len: usize,
}

/// What an account pays: its own prices over those for all.
#[derive(Debug, Clone, Default)]
pub struct Tariff {
    own: Arc<Prices>,
    for_all: Arc<Prices>,
}

/// One purse of an account.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Purse {
    /// Interned name of the account.
    pub account: u32,
    /// Days since 1970 by UTC for the quota of a day; 0 for the prepaid balance.
    pub day: u32,
}

// === impl Prices ===

impl Prices {
    /// A table of these prefixes and prices; [`DEFAULT`] is the empty prefix. If a prefix is given
    /// twice, the last one wins.
    pub fn build<'p>(prices: impl IntoIterator<Item = (&'p str, u32)>) -> Self {
        let mut table = Self::default();
        for (prefix, price) in prices {
            let digits = match prefix {
                DEFAULT => &[],
                prefix => address::normalise(prefix.as_bytes()),
            };
            *table.by_prefix.entry(digits) = Some(price);
            table.len += 1;
        }
        table
    }

    /// Length of the longest prefix of a destination, and its price.
    fn longest(&self, destination: &[u8]) -> Option<(usize, u32)> {
        match self.len {
            0 => None,
            _ => self
                .by_prefix
                .longest(destination)
                .map(|(length, price)| (length, *price)),
        }
    }
}

// === impl Tariff ===

impl Tariff {
    pub fn new(own: Arc<Prices>, for_all: Arc<Prices>) -> Self {
        Self { own, for_all }
    }

    /// Credits of one segment to a destination, whose leading `+` is ignored; [`DEFAULT_PRICE`]
    /// without a price.
    pub fn price(&self, destination: &[u8]) -> u32 {
        let destination = address::normalise(destination);
        let own = self.own.longest(destination);
        let for_all = self.for_all.longest(destination);
        match (own, for_all) {
            (Some((own_length, _)), Some((length, price))) if length > own_length => price,
            (Some((_, price)), _) | (None, Some((_, price))) => price,
            (None, None) => DEFAULT_PRICE,
        }
    }
}

// === impl Purse ===

impl Purse {
    /// The prepaid balance of an account.
    pub fn balance(account: u32) -> Self {
        Self { account, day: 0 }
    }

    /// The quota of an account for the day of a time in Unix milliseconds.
    pub fn quota(account: u32, now: i64) -> Self {
        Self {
            account,
            day: day_of(now),
        }
    }

    /// Whether this is the balance, and not a quota.
    pub fn is_balance(self) -> bool {
        self.day == 0
    }
}

/// The UTC day of a time in Unix milliseconds, counted from 1970; at least 1.
pub fn day_of(now: i64) -> u32 {
    u32::try_from(now.div_euclid(DAY_MS)).unwrap_or(0).max(1)
}

/// When the UTC day of a time ends, Unix milliseconds.
pub fn end_of_day(now: i64) -> i64 {
    (now.div_euclid(DAY_MS) + 1) * DAY_MS
}

#[cfg(test)]
mod tests;
