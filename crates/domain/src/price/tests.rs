//! Prices against a plain search, and the change of the day.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

fn tariff(own: &[(&str, u32)], for_all: &[(&str, u32)]) -> Tariff {
    let build = |list: &[(&str, u32)]| Arc::new(Prices::build(list.iter().copied()));
    Tariff::new(build(own), build(for_all))
}

#[test]
fn the_longest_prefix_wins_and_then_the_accounts_own() {
    let tariff = tariff(
        &[("44", 5), ("4420", 0), ("default", 9)],
        &[("44", 7), ("4477", 8), ("1", 2), ("default", 3)],
    );
    for (destination, price) in [
        ("447700900123", 8),
        ("442079460000", 0),
        ("441632960000", 5),
        ("+441632960000", 5),
        ("15550100", 2),
        ("33123", 9),
        ("ACME", 9),
        ("", 9),
    ] {
        assert_eq!(tariff.price(destination.as_bytes()), price, "{destination}");
    }
}

#[test]
fn without_prices_a_segment_costs_one() {
    assert_eq!(Tariff::default().price(b"447700900123"), DEFAULT_PRICE);
    let only = tariff(&[("44", 5)], &[]);
    assert_eq!(only.price(b"33123"), DEFAULT_PRICE);
}

#[test]
fn a_quota_belongs_to_the_day_by_utc() {
    let midnight = 20_000 * 86_400_000_i64;
    assert_eq!(Purse::quota(7, midnight - 1).day, 19_999);
    assert_eq!(Purse::quota(7, midnight).day, 20_000);
    assert_eq!(end_of_day(midnight - 1), midnight);
    assert_eq!(end_of_day(midnight), midnight + 86_400_000);
    assert!(Purse::balance(7).is_balance() && !Purse::quota(7, midnight).is_balance());
    assert!(!Purse::quota(7, -5).is_balance(), "a clock before 1970");
}

/// The price as anybody would look it up in a list.
fn plain(own: &BTreeMap<String, u32>, for_all: &BTreeMap<String, u32>, destination: &str) -> u32 {
    (0..=destination.len())
        .rev()
        .find_map(|length| {
            let prefix = &destination[..length];
            own.get(prefix).or_else(|| for_all.get(prefix)).copied()
        })
        .unwrap_or(DEFAULT_PRICE)
}

proptest! {
    #[test]
    fn prices_are_those_of_a_plain_search(
        own in proptest::collection::btree_map("[0-3]{0,4}", 0u32..100, 0..8),
        for_all in proptest::collection::btree_map("[0-3]{0,4}", 0u32..100, 0..8),
        destination in "[0-3]{0,7}",
    ) {
        let build = |prices: &BTreeMap<String, u32>| {
            let named = |prefix: &String| {
                if prefix.is_empty() { DEFAULT.to_owned() } else { prefix.clone() }
            };
            let list: Vec<(String, u32)> =
                prices.iter().map(|(prefix, price)| (named(prefix), *price)).collect();
            Arc::new(Prices::build(list.iter().map(|(prefix, price)| (prefix.as_str(), *price))))
        };
        let tariff = Tariff::new(build(&own), build(&for_all));
        prop_assert_eq!(
            tariff.price(destination.as_bytes()),
            plain(&own, &for_all, &destination)
        );
    }
}
