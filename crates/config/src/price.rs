//! Prices of messages as they are written: `policy.prices` for all accounts, `account.prices` for one.

use std::collections::BTreeMap;

use figment::value::Value;
use serde_json::Value as Json;

use super::setting::Leaf;
use super::value::{quoted, table_of};

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

impl Leaf for PriceList {
    const EXAMPLE: &'static str = "{ default = 1, 44 = 2, 4477 = 3 }";

    fn kind() -> String {
        "a table of whole numbers by prefix".to_owned()
    }

    fn schema() -> Json {
        table_of(<u32 as Leaf>::schema())
    }

    fn parse(value: &Value) -> Option<Self> {
        value
            .as_dict()?
            .iter()
            .map(|(prefix, price)| Some((prefix.clone(), <u32 as Leaf>::parse(price)?)))
            .collect::<Option<_>>()
            .map(Self)
    }

    fn show(&self) -> String {
        let price = |(prefix, price): (&String, &u32)| format!("{} = {price}", quoted(prefix));
        if self.0.is_empty() {
            "{}".to_owned()
        } else {
            let prices: Vec<String> = self.0.iter().map(price).collect();
            format!("{{ {} }}", prices.join(", "))
        }
    }

    fn json(&self) -> Json {
        self.0
            .iter()
            .map(|(prefix, price)| (prefix.clone(), Json::from(*price)))
            .collect()
    }
}
