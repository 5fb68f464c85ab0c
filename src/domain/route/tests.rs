//! Order of preference, sharing, failover, and the cost of a look-up.

use std::collections::HashMap;

use proptest::prelude::*;

use super::*;

fn route(prefix: &str, source: &str, account: Option<&str>, target: &str) -> Route<String> {
    Route {
        prefix: prefix.to_owned(),
        source_prefix: source.to_owned(),
        account: account.map(str::to_owned),
        network: None,
        steps: vec![Step::single(target.to_owned())],
    }
}

fn ask<'m>(
    destination: &'m str,
    source: &'m str,
    account: &'m str,
    network: &'m str,
) -> Question<'m> {
    Question {
        destination: destination.as_bytes(),
        source: source.as_bytes(),
        account,
        network,
    }
}

fn steps(list: &[&[(&'static str, u32)]]) -> Route<&'static str> {
    let step = |shares: &&[(&'static str, u32)]| Step {
        shares: shares
            .iter()
            .map(|&(target, weight)| Share { target, weight })
            .collect(),
    };
    Route {
        prefix: String::new(),
        source_prefix: String::new(),
        account: None,
        network: None,
        steps: list.iter().map(step).collect(),
    }
}

#[test]
fn destination_then_source_then_account_then_default() {
    let table = RouteTable::build([
        route("", "", None, "default"),
        route("44", "", None, "uk"),
        route("447", "", Some("vip"), "uk-mobile-vip"),
        route("447", "555", None, "uk-mobile-from-555"),
        route("447", "5", Some("vip"), "uk-mobile-vip-from-5"),
        route("49", "ACME", None, "acme"),
    ]);
    let target = |destination: &str, source: &str, account: &str| {
        table
            .lookup(&ask(destination, source, account, ""))
            .and_then(|route| route.targets().next().cloned())
            .unwrap_or_default()
    };
    assert_eq!(target("33", "1", "x"), "default");
    assert_eq!(target("", "1", "x"), "default");
    assert_eq!(target("4420", "1", "x"), "uk");
    assert_eq!(target("+4420", "1", "x"), "uk");
    assert_eq!(
        target("4477", "1", "x"),
        "uk",
        "the longer prefix is not for x"
    );
    assert_eq!(target("4477", "1", "vip"), "uk-mobile-vip");
    assert_eq!(target("4477", "5551", "x"), "uk-mobile-from-555");
    assert_eq!(
        target("4477", "5551", "vip"),
        "uk-mobile-from-555",
        "source before account"
    );
    assert_eq!(target("4477", "51", "vip"), "uk-mobile-vip-from-5");
    assert_eq!(target("4930", "ACME Ltd", "x"), "acme");
    assert_eq!(target("4930", "Other", "x"), "default");

    let explained: Vec<_> = table
        .explain(&ask("4477", "5551", "vip", ""))
        .iter()
        .flat_map(|route| route.targets())
        .collect();
    assert_eq!(
        explained,
        [
            "uk-mobile-from-555",
            "uk-mobile-vip-from-5",
            "uk-mobile-vip",
            "uk",
            "default"
        ]
    );
}

#[test]
fn without_a_default_there_may_be_no_route() {
    let table = RouteTable::build([route("44", "", None, "uk")]);
    assert!(table.lookup(&ask("49", "", "x", "")).is_none());
    assert!(table.lookup(&ask("4", "", "x", "")).is_none());
    let empty = RouteTable::<String>::build([]);
    assert!(empty.lookup(&ask("49", "", "x", "")).is_none());
}

#[test]
fn the_first_of_two_equal_routes_stands() {
    let table = RouteTable::build([route("44", "", None, "a"), route("44", "", None, "b")]);
    let found = table.lookup(&ask("44", "", "x", "")).unwrap();
    assert_eq!(found.to_string(), "to \"44*\": a");
    assert_eq!(table.routes().len(), 2);
}

#[test]
fn shares_follow_the_weights() {
    let route = steps(&[&[("a", 70), ("b", 30), ("drained", 0)]]);
    let mut seen = HashMap::new();
    for id in 0..10_000 {
        *seen
            .entry(*route.choose(id, |_| true).unwrap())
            .or_insert(0) += 1;
    }
    assert!((6_700..7_300).contains(&seen["a"]), "{seen:?}");
    assert!(!seen.contains_key("drained"));
    assert_eq!(route.choose(1, |t| *t == "drained"), Some(&"drained"));
    assert!((0..100).all(|id| route.choose(id, |t| *t != "a") == Some(&"b")));
}

#[test]
fn the_first_available_step_is_chosen_and_the_first_when_none_is() {
    let route = steps(&[&[("a", 1)], &[("b", 1)], &[("c", 1)]]);
    assert_eq!(route.choose(1, |_| true), Some(&"a"));
    assert_eq!(route.choose(1, |t| *t != "a"), Some(&"b"));
    assert_eq!(route.choose(1, |_| false), Some(&"a"), "waits there");
    assert_eq!(steps(&[]).choose(1, |_| true), None);
}

#[test]
fn failover_goes_to_the_rest_of_the_step_then_on_then_round() {
    let route = steps(&[&[("a", 1), ("b", 5), ("c", 9)], &[("d", 1)]]);
    assert_eq!(route.next_after(&"a", |_| true), Some(&"c"));
    assert_eq!(route.next_after(&"a", |t| *t == "d"), Some(&"d"));
    assert_eq!(route.next_after(&"d", |_| true), Some(&"c"));
    assert_eq!(route.next_after(&"d", |t| *t == "d"), None);
    assert_eq!(route.next_after(&"gone", |_| true), Some(&"c"));
    assert_eq!(route.to_string(), "to \"*\": a (1) + b (5) + c (9), then d");
}

#[test]
fn names_become_numbers() {
    let route = steps(&[&[("a", 1), ("gone", 2)], &[("gone", 1)]]);
    let mapped = route.map(|name| (*name == "a").then_some(7u32));
    assert_eq!(mapped.steps, [Step::single(7)]);
}

#[test]
fn ten_thousand_routes_cost_no_more_than_the_digits() {
    let routes = (0..10_000).map(|n| route(&format!("{}", 100_000 + n * 37), "", None, "t"));
    let table = RouteTable::build(routes);
    let keys: Vec<String> = (0..10_000)
        .map(|n| format!("{}123456", 100_000 + n * 37))
        .collect();
    let started = std::time::Instant::now();
    let rounds = 20;
    for _ in 0..rounds {
        for key in &keys {
            assert!(table.lookup(&ask(key, "12345", "test", "")).is_some());
        }
    }
    let each = started.elapsed() / (rounds * keys.len() as u32);
    // The target is 200 ns; ten times that still tells a trie from a scan on a busy machine.
    assert!(each.as_nanos() < 2_000, "{each:?}");
    eprintln!("look-up among 10,000 routes: {each:?}");
}

#[test]
fn a_route_for_the_network_wins_over_every_prefix() {
    let of = |network: &str, prefix: &str, target: &str| Route {
        network: Some(network.to_owned()),
        ..route(prefix, "", None, target)
    };
    let table = RouteTable::build([
        route("447700", "", None, "range"),
        of("23415", "", "all-of-15"),
        of("23415", "4477", "mobiles-of-15"),
        of("23410", "44", "of-10"),
        route("", "", None, "default"),
    ]);
    let target = |destination: &str, network: &str| {
        let found = table.lookup(&ask(destination, "1", "x", network));
        found
            .and_then(|route| route.targets().next().cloned())
            .unwrap_or_default()
    };
    for (destination, network, wanted) in [
        ("447700900123", "", "range"),
        ("447700900123", "23415", "mobiles-of-15"),
        ("447700900123", "23410", "of-10"),
        ("447700900123", "23499", "range"),
        ("33612345678", "23415", "all-of-15"),
        ("33612345678", "23410", "default"),
    ] {
        assert_eq!(
            target(destination, network),
            wanted,
            "{destination} {network}"
        );
    }
    assert!(table.asks_network(&ask("33612345678", "1", "x", "")));
    let narrow = RouteTable::build([of("23410", "44", "of-10"), route("", "", None, "default")]);
    assert!(narrow.asks_network(&ask("447700900123", "1", "x", "")));
    assert!(!narrow.asks_network(&ask("33612345678", "1", "x", "")));
    let plain = RouteTable::build([route("", "", None, "default")]);
    assert!(!plain.has_networks() && !plain.asks_network(&ask("44", "", "x", "")));
}

proptest! {
    #[test]
    fn agrees_with_a_plain_search(
        list in proptest::collection::vec(("[0-2]{0,4}", "[0-2]{0,2}", proptest::option::of("[xy]"), proptest::option::of("[pq]")), 0..40),
        destination in "[0-2]{0,6}",
        source in "[0-2]{0,3}",
        account in "[xyz]",
        network in "[pqr]{0,1}",
    ) {
        let routes: Vec<_> = list
            .iter()
            .enumerate()
            .map(|(n, (p, s, a, w))| Route { network: w.clone(), ..route(p, s, a.as_deref(), &n.to_string()) })
            .collect();
        let wanted = routes
            .iter()
            .enumerate()
            .filter(|(_, r)| {
                destination.starts_with(&r.prefix)
                    && source.starts_with(&r.source_prefix)
                    && r.account.as_ref().is_none_or(|a| *a == account)
                    && r.network.as_ref().is_none_or(|w| *w == network)
            })
            .max_by_key(|(n, r)| {
                let order = std::cmp::Reverse(*n);
                (r.network.is_some(), r.prefix.len(), r.source_prefix.len(), r.account.is_some(), order)
            })
            .map(|(_, r)| r.clone());
        let table = RouteTable::build(routes);
        let found = table.lookup(&ask(&destination, &source, &account, &network));
        prop_assert_eq!(found.cloned(), wanted.clone());
        let explained = table.explain(&ask(&destination, &source, &account, &network));
        prop_assert_eq!(explained.first().map(|r| (*r).clone()), wanted);
    }
}
