//! Order of preference, sharing, failover, and the cost of a look-up.

use std::collections::HashMap;

use proptest::prelude::*;

use super::*;

fn route(prefix: &str, source: &str, account: Option<&str>, target: &str) -> Route<String> {
    Route {
        prefix: prefix.to_owned(),
        source_prefix: source.to_owned(),
        matches: None,
        source_matches: None,
        account: account.map(str::to_owned),
        network: None,
        sharing: Sharing::Weight,
        steps: vec![RoutingStep::single(target.to_owned())],
    }
}

fn ask<'m>(
    destination: &'m str,
    source: &'m str,
    account: &'m str,
    network: &'m str,
) -> RouteQuestion<'m> {
    RouteQuestion {
        destination: destination.as_bytes(),
        source: source.as_bytes(),
        account,
        network,
    }
}

fn steps(list: &[&[(&'static str, u32)]]) -> Route<&'static str> {
    let step = |shares: &&[(&'static str, u32)]| RoutingStep {
        shares: shares
            .iter()
            .map(|&(target, weight)| TargetShare { target, weight })
            .collect(),
    };
    Route {
        prefix: String::new(),
        source_prefix: String::new(),
        matches: None,
        source_matches: None,
        account: None,
        network: None,
        sharing: Sharing::Weight,
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
            .entry(*route.choose(id, |_| true, |_| 0.0).unwrap())
            .or_insert(0) += 1;
    }
    assert!((6_700..7_300).contains(&seen["a"]), "{seen:?}");
    assert!(!seen.contains_key("drained"));
    assert_eq!(
        route.choose(1, |t| *t == "drained", |_| 0.0),
        Some(&"drained")
    );
    assert!((0..100).all(|id| route.choose(id, |t| *t != "a", |_| 0.0) == Some(&"b")));
}

#[test]
fn the_first_available_step_is_chosen_and_the_first_when_none_is() {
    let route = steps(&[&[("a", 1)], &[("b", 1)], &[("c", 1)]]);
    assert_eq!(route.choose(1, |_| true, |_| 0.0), Some(&"a"));
    assert_eq!(route.choose(1, |t| *t != "a", |_| 0.0), Some(&"b"));
    assert_eq!(
        route.choose(1, |_| false, |_| 0.0),
        Some(&"a"),
        "waits there"
    );
    assert_eq!(steps(&[]).choose(1, |_| true, |_| 0.0), None);
}

#[test]
fn failover_goes_to_the_rest_of_the_step_then_on_then_round() {
    let route = steps(&[&[("a", 1), ("b", 5), ("c", 9)], &[("d", 1)]]);
    assert_eq!(route.next_after(&"a", |_| true, |_| 0.0), Some(&"c"));
    assert_eq!(route.next_after(&"a", |t| *t == "d", |_| 0.0), Some(&"d"));
    assert_eq!(route.next_after(&"d", |_| true, |_| 0.0), Some(&"c"));
    assert_eq!(route.next_after(&"d", |t| *t == "d", |_| 0.0), None);
    assert_eq!(route.next_after(&"gone", |_| true, |_| 0.0), Some(&"c"));
    assert_eq!(route.to_string(), "to \"*\": a (1) + b (5) + c (9), then d");
}

#[test]
fn names_become_numbers() {
    let route = steps(&[&[("a", 1), ("gone", 2)], &[("gone", 1)]]);
    let mapped = route.map(|name| (*name == "a").then_some(7u32));
    assert_eq!(mapped.steps, [RoutingStep::single(7)]);
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

/// A route with expressions; empty ones are none.
fn by_expression(matches: &str, source_matches: &str, target: &str) -> Route<String> {
    let given = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    Route {
        matches: given(matches),
        source_matches: given(source_matches),
        ..route("", "", None, target)
    }
}

#[test]
fn an_expression_wins_over_prefixes_and_loses_to_a_network() {
    let table = RouteTable::build([
        route("", "", None, "default"),
        route("447700900", "555", None, "long-prefix"),
        by_expression("^4477[0-9]{8}$", "", "uk-mobile"),
        Route {
            prefix: "44770".to_owned(),
            ..by_expression("[02468]$", "", "even")
        },
        by_expression("", "(?i)^acme", "acme"),
        by_expression("^4477[0-9]{8}$", "", "uk-mobile-again"),
        Route {
            network: Some("23415".to_owned()),
            ..route("", "", None, "network")
        },
        Route {
            network: Some("23415".to_owned()),
            account: Some("vip".to_owned()),
            ..by_expression("^44", "", "network-of-vip")
        },
    ]);
    for (destination, source, account, network, wanted) in [
        ("33123", "1", "x", "", "default"),
        ("447700900123", "5551", "x", "", "uk-mobile"),
        ("+447700900123", "5551", "x", "", "uk-mobile"),
        ("447700900122", "5551", "x", "", "even"),
        ("44770090011", "5551", "x", "", "long-prefix"),
        ("447700900123", "Acme Ltd", "x", "", "uk-mobile"),
        ("33123", "ACME", "x", "", "acme"),
        ("33123", "NoAcme", "x", "", "default"),
        ("447700900122", "1", "x", "23415", "network"),
        ("447700900122", "1", "vip", "23415", "network-of-vip"),
        ("337700900122", "1", "vip", "23415", "network"),
    ] {
        let asked = ask(destination, source, account, network);
        let found = table.lookup(&asked).unwrap();
        assert_eq!(found.targets().next().unwrap(), wanted, "{asked:?}");
        let explained = table.explain(&asked);
        assert!(std::ptr::eq(explained[0], found), "{asked:?}");
    }
    let explained: Vec<_> = table
        .explain(&ask("447700900122", "ACME", "vip", "23415"))
        .iter()
        .map(|route| route.targets().next().unwrap().as_str())
        .collect();
    let order = [
        "network-of-vip",
        "network",
        "even",
        "uk-mobile",
        "acme",
        "uk-mobile-again",
        "default",
    ];
    assert_eq!(explained, order);
}

#[test]
fn networks_are_asked_for_where_an_expression_needs_them() {
    let table = RouteTable::build([
        Route {
            network: Some("23415".to_owned()),
            ..by_expression("^447", "", "own")
        },
        route("", "", None, "default"),
    ]);
    assert!(table.has_networks());
    assert!(table.asks_network(&ask("447700900123", "1", "x", "")));
    assert!(!table.asks_network(&ask("33123", "1", "x", "")));
}

#[test]
fn expressions_that_cannot_be_used_are_told_and_fit_nothing() {
    for (expression, wanted) in [
        ("", "is empty"),
        ("^44[", "is no regular expression"),
        ("[0-9]{1000}{1000}", "repeats too much"),
        (&"4".repeat(501), "is longer"),
    ] {
        let refused = check_expression(expression).unwrap_err();
        assert!(refused.starts_with(wanted), "{expression}: {refused}");
    }
    assert_eq!(check_expression(r"^\+?4477\d{8}$"), Ok(()));
    let table = RouteTable::build([by_expression("^44[", "", "a"), by_expression("^4", "", "b")]);
    let found = table.lookup(&ask("44", "", "x", "")).unwrap();
    assert_eq!(found.to_string(), "to \"*\" matching /^4/: b");
}

#[test]
fn the_least_takes_it_and_equals_share_by_weight() {
    let by = |sharing, list: &[&[(&'static str, u32)]]| Route {
        sharing,
        ..steps(list)
    };
    let route = by(
        Sharing::LeastBusy,
        &[&[("a", 70), ("b", 30), ("spare", 0)], &[("d", 1)]],
    );
    let none = |_: &&'static str| 0.0;
    let only = |wanted: &'static str| move |target: &&'static str| f64::from(*target != wanted);
    assert_eq!(route.choose(1, |_| true, only("b")), Some(&"b"));
    assert_eq!(route.choose(1, |t| *t != "b", only("b")), Some(&"a"));
    let spare = route.choose(1, |_| true, only("spare"));
    assert_ne!(spare, Some(&"spare"), "0 takes nothing");
    let spare = |t: &&str| *t == "spare" || *t == "d";
    assert_eq!(route.choose(1, spare, none), Some(&"spare"));
    assert_eq!(route.choose(1, |t| *t == "d", none), Some(&"d"));
    let waits = route.choose(1, |_| false, only("b"));
    assert_eq!(waits, Some(&"b"), "waits there");
    let share = (0..10_000).filter(|id| route.choose(*id, |_| true, none) == Some(&"a"));
    assert!((6_700..7_300).contains(&share.count()));

    assert_eq!(
        route.next_after(&"a", |_| true, only("spare")),
        Some(&"spare")
    );
    assert_eq!(route.next_after(&"a", |_| true, none), Some(&"b"));
    assert_eq!(route.next_after(&"a", |t| *t == "d", none), Some(&"d"));

    let dear = |t: &&str| if *t == "a" { 3.0 } else { f64::INFINITY };
    let cost = by(Sharing::LeastCost, &[&[("a", 1), ("b", 1)]]);
    assert_eq!(cost.choose(1, |_| true, dear), Some(&"a"));
    assert_eq!(
        cost.choose(1, |t| *t == "b", dear),
        Some(&"b"),
        "without a price"
    );
    assert_eq!(
        cost.to_string(),
        "to \"*\": a (1) + b (1), the cheapest first"
    );
}

proptest! {
    #[test]
    fn agrees_with_a_plain_search(
        list in proptest::collection::vec((
            "[0-2]{0,4}",
            "[0-2]{0,2}",
            proptest::option::of("[xy]"),
            proptest::option::of("[pq]"),
            proptest::option::weighted(0.3, r"\^?[0-2.]{1,3}\+?\$?"),
            proptest::option::weighted(0.2, r"\^?[0-2]{1,2}\$?"),
        ), 0..40),
        destination in "[0-2]{0,6}",
        source in "[0-2]{0,3}",
        account in "[xyz]",
        network in "[pqr]{0,1}",
    ) {
        let routes: Vec<_> = list
            .iter()
            .enumerate()
            .map(|(n, (p, s, a, w, m, f))| Route {
                network: w.clone(),
                matches: m.clone(),
                source_matches: f.clone(),
                ..route(p, s, a.as_deref(), &n.to_string())
            })
            .collect();
        let fits = |expression: &Option<String>, text: &str| {
            expression.as_ref().is_none_or(|one| regex::Regex::new(one).unwrap().is_match(text))
        };
        let wanted = routes
            .iter()
            .enumerate()
            .filter(|(_, r)| {
                destination.starts_with(&r.prefix)
                    && source.starts_with(&r.source_prefix)
                    && fits(&r.matches, &destination)
                    && fits(&r.source_matches, &source)
                    && r.account.as_ref().is_none_or(|a| *a == account)
                    && r.network.as_ref().is_none_or(|w| *w == network)
            })
            .max_by_key(|(n, r)| {
                let order = std::cmp::Reverse(*n);
                (r.network.is_some(), r.has_expression(), r.prefix.len(), r.source_prefix.len(), r.account.is_some(), order)
            })
            .map(|(_, r)| r.clone());
        let table = RouteTable::build(routes);
        let found = table.lookup(&ask(&destination, &source, &account, &network));
        prop_assert_eq!(found.cloned(), wanted.clone());
        let explained = table.explain(&ask(&destination, &source, &account, &network));
        prop_assert_eq!(explained.first().map(|r| (*r).clone()), wanted);
        let asks = table.routes().iter().any(|r| {
            r.network.is_some()
                && destination.starts_with(&r.prefix)
                && source.starts_with(&r.source_prefix)
                && fits(&r.matches, &destination)
                && fits(&r.source_matches, &source)
                && r.account.as_ref().is_none_or(|a| *a == account)
        });
        prop_assert_eq!(table.asks_network(&ask(&destination, &source, &account, "")), asks);
    }
}
