//! Rates of MT routes as prices. Jasmin's are fractions of a balance; ours are whole credits, so that a credit becomes the
//! tenth, hundredth or thousandth that makes all of them whole.

use std::collections::BTreeMap;

use super::read::Captured;
use crate::draft::ConfigDraft;
use crate::routes::{ConvertedRule, settle};
use crate::{ConversionNotes, SourcePlace};

/// Most digits behind the point.
const MOST_DIGITS: u32 = 6;
/// Two rates this close are one: they were written in decimal digits.
const CLOSE: f64 = 1e-9;

/// What a credit is of Jasmin's balances.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PriceUnit {
    /// So many credits are one of Jasmin's.
    per_one: u32,
}

/// What a route costs.
#[derive(Debug)]
pub(super) struct RoutePrice {
    pub prefix: String,
    pub account: Option<String>,
    pub rate: f64,
    pub place: SourcePlace,
}

// === impl PriceUnit ===

impl PriceUnit {
    /// The largest credit of which each rate is a whole number; `None` where nothing costs anything.
    pub fn of(captured: &Captured) -> Option<Self> {
        let of_rows = captured.mt_rows.iter().map(|row| rate_of_row(&row.text));
        let of_records = captured
            .mt_routes
            .iter()
            .map(|route| rate(route.get("rate").unwrap_or_default()));
        let rates: Vec<f64> = of_rows
            .chain(of_records)
            .filter(|rate| *rate > 0.0)
            .collect();
        if rates.is_empty() {
            return None;
        }
        let is_whole = |per_one: &u32| {
            let whole = |rate: &f64| {
                let credits = rate * f64::from(*per_one);
                (credits - credits.round()).abs() < CLOSE * f64::from(*per_one)
            };
            rates.iter().all(whole)
        };
        let all = (0..=MOST_DIGITS).map(|digits| 10_u32.pow(digits));
        let per_one = all.clone().find(is_whole).or(all.max())?;
        Some(Self { per_one })
    }

    /// The credits of a rate or balance, to the nearest.
    pub fn credits(self, amount: f64) -> u64 {
        (amount * f64::from(self.per_one)).round().max(0.0) as u64
    }

    /// As `policy.currency` may name it: `1of1000`.
    fn name(self) -> Option<String> {
        (self.per_one > 1).then(|| format!("1of{}", self.per_one))
    }
}

/// The rate of a row: `20 StaticMTRoute 0.02 smppc(up) <…>`; 0 where there is none.
pub(super) fn rate_of_row(row: &str) -> f64 {
    rate(row.split_whitespace().nth(2).unwrap_or_default())
}

/// A rate as it is written; 0 where there is none.
pub(super) fn rate(text: &str) -> f64 {
    let rate = text.parse::<f64>().unwrap_or_default();
    if rate.is_finite() { rate.max(0.0) } else { 0.0 }
}

/// Sets the prices, so that each message costs what the first matching route says.
pub(super) fn set(
    unit: PriceUnit,
    prices: &[RoutePrice],
    draft: &mut ConfigDraft,
    notes: &mut ConversionNotes,
) {
    let rules: Vec<ConvertedRule> = prices
        .iter()
        .map(|price| ConvertedRule {
            prefix: price.prefix.clone(),
            account: price.account.clone(),
            to: vec![vec![unit.credits(price.rate).to_string()]],
            place: price.place.clone(),
        })
        .collect();
    // The longest prefix decides here, too, and the account's own price over that for all.
    let (kept, _) = settle(&rules);
    let mut tables: BTreeMap<Option<&str>, Vec<String>> = BTreeMap::new();
    for rule in &kept {
        let prefix = match rule.prefix.as_str() {
            "" => "default",
            prefix => prefix,
        };
        let price = rule.to.concat().concat();
        let table = tables.entry(rule.account.as_deref()).or_default();
        table.push(format!("{prefix} = {price}"));
    }
    for (account, prices) in tables {
        let prices = format!("{{ {} }}", prices.join(", "));
        match account {
            None => draft.policy.set("prices", prices),
            Some(account) => {
                if let Some(table) = draft.account_mut(account) {
                    table.set("prices", prices);
                }
            }
        }
    }
    if let Some(name) = unit.name() {
        draft.policy.text("currency", &name);
    }
    if let Some(first) = prices.first() {
        let what = format!(
            "the rates of MT routes are prices, of which {} are one of Jasmin's",
            unit.per_one
        );
        let instead =
            "compare `smsc usage` with an invoice; set `currency` as you want it to be called";
        notes.should(&first.place, what, instead);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::jasmin::read::JasminRow;

    fn unit(rates: &[&str]) -> Option<PriceUnit> {
        let row = |rate: &&str| JasminRow {
            text: format!("20 StaticMTRoute {rate} smppc(up) <T>"),
            place: SourcePlace {
                file: "f".to_owned(),
                line: 1,
            },
        };
        let mut captured = Captured::default();
        captured.mt_rows = rates.iter().map(row).collect();
        PriceUnit::of(&captured)
    }

    #[test]
    fn a_credit_is_what_makes_all_rates_whole() {
        for (rates, per_one) in [
            (&["0.00", "0 (!)"][..], None),
            (&["1.0", "3"], Some(1)),
            (&["0.02", "0.015"], Some(1_000)),
            (&["0.1", "0"], Some(10)),
            (&["0.3333333333"], Some(1_000_000)),
        ] {
            assert_eq!(unit(rates).map(|unit| unit.per_one), per_one, "{rates:?}");
        }
        assert_eq!(unit(&["0.015"]).unwrap().credits(44.2), 44_200);
        assert_eq!(unit(&["2"]).unwrap().name(), None);
        assert_eq!(unit(&["0.5"]).unwrap().name().as_deref(), Some("1of10"));
    }
}
