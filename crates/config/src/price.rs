//! Prices of messages as they are written: `policy.prices` for all accounts, `account.prices` for one.

use std::collections::BTreeMap;

use super::setting::Leaf;
use super::value::table_by_name;

/// What is wrong with another one than [`is_currency`].
pub(super) const NO_CURRENCY: &str = "must be 1 to 16 letters and digits, such as \"EUR\"";

/// Whether it may name a currency.
pub(super) fn is_currency(text: &str) -> bool {
    (1..=16).contains(&text.len()) && text.bytes().all(|octet| octet.is_ascii_alphanumeric())
}

/// Prices by prefix of the destination, as written.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PriceList(BTreeMap<String, u32>);

// === impl PriceList ===

impl PriceList {
    /// Every prefix with its price.
    pub fn iter(&self) -> impl Iterator<Item = (&str, u32)> {
        self.0
            .iter()
            .map(|(prefix, price)| (prefix.as_str(), *price))
    }
}

table_by_name!(
    PriceList of u32,
    "a table of whole numbers by prefix",
    "{ default = 1, 44 = 2, 4477 = 3 }",
    <u32 as Leaf>::parse
);
