//! Each rule with a request that it blocks and a near one that passes.

use std::time::{Duration, Instant};

use super::*;

const ERROR: BlockAnswer = BlockAnswer::Error(21);

fn digits(prefixes: &[&str]) -> Vec<String> {
    prefixes.iter().map(|one| (*one).to_owned()).collect()
}

/// A network in Germany: titles 49160…, numbers 49160…; roaming in Austria (43664…), all rules block.
fn settings() -> FirewallSettings {
    let actions = FirewallRule::ALL.map(|rule| (rule, RuleAction::Block(ERROR)));
    FirewallSettings {
        mode: FirewallMode::On,
        own_titles: digits(&["49160"]),
        own_numbers: digits(&["49160"]),
        visited_titles: digits(&["43664"]),
        denied_titles: digits(&["88213"]),
        networks: vec![digits(&["447700", "447911"])],
        network_digits: 5,
        actions: actions.to_vec(),
        ..FirewallSettings::default()
    }
}

fn request(operation: ScreenedOperation) -> ScreenedRequest<'static> {
    ScreenedRequest {
        operation,
        calling_gt: "447700900000",
        service_centre: "",
        subscriber: "",
        originator: "",
        routing_asked_by: RoutingAsked::NotApplicable,
    }
}

fn mo(calling_gt: &'static str, originator: &'static str) -> ScreenedRequest<'static> {
    ScreenedRequest {
        calling_gt,
        originator,
        subscriber: originator,
        ..request(ScreenedOperation::MoForward)
    }
}

fn mt(routing_asked_by: RoutingAsked<'static>) -> ScreenedRequest<'static> {
    ScreenedRequest {
        originator: "Bank",
        subscriber: "262420000000001",
        routing_asked_by,
        ..request(ScreenedOperation::MtForward)
    }
}

fn blocked(rule: FirewallRule) -> FirewallVerdict {
    FirewallVerdict::Block {
        rule,
        answer: ERROR,
    }
}

/// Each rule with a request that it blocks, and one beside it that passes.
#[test]
fn each_rule_blocks_what_it_is_for_and_passes_what_is_near() {
    use FirewallRule::{
        ForeignSender, Operation, OtherNetwork, ServiceCentre, Spoofed, Title, WithoutRouting,
    };
    use ScreenedOperation::{AlertServiceCentre, DeliveryStatus, Other, RoutingInfo};
    let from = |calling_gt, operation| ScreenedRequest {
        calling_gt,
        ..request(operation)
    };
    let centre = |service_centre, operation| ScreenedRequest {
        service_centre,
        ..request(operation)
    };
    let sender = |calling_gt, originator| ScreenedRequest {
        calling_gt,
        originator,
        ..mt(RoutingAsked::NotApplicable)
    };
    let table = [
        (
            Title,
            from("882139999", AlertServiceCentre),
            from("882129999", AlertServiceCentre),
        ),
        // sendIMSI is of category 1; readyForSM has to do with messages.
        (Operation, request(Other(58)), request(Other(66))),
        (
            WithoutRouting,
            mt(RoutingAsked::Nobody),
            mt(RoutingAsked::By("447700900000")),
        ),
        // Another network has asked; another prefix of the same network.
        (
            OtherNetwork,
            mt(RoutingAsked::By("33600000001")),
            mt(RoutingAsked::By("447911000001")),
        ),
        (
            ServiceCentre,
            centre("33600000001", RoutingInfo),
            centre("447911000001", RoutingInfo),
        ),
        (
            ServiceCentre,
            centre("33600000001", DeliveryStatus),
            centre("447700900001", DeliveryStatus),
        ),
        // Roaming where nobody of ours roams; and where they do.
        (
            Spoofed,
            mo("447700900000", "491601234567"),
            mo("436640000001", "491601234567"),
        ),
        (
            Spoofed,
            mo("", "491601234567"),
            mo("491600000001", "491601234567"),
        ),
        // A message from abroad has a sender of ours; it comes from our own network.
        (
            Spoofed,
            sender("436640000001", "491601234567"),
            sender("491600000001", "491601234567"),
        ),
        (
            ForeignSender,
            mo("436640000001", "491701234567"),
            mo("436640000001", "491601234567"),
        ),
        // One without a sender is refused by whoever reads it.
        (
            ForeignSender,
            mo("436640000001", "4"),
            mo("436640000001", ""),
        ),
    ];
    let mut firewall = Firewall::new(settings());
    let now = Instant::now();
    for (rule, bad, good) in table {
        assert_eq!(firewall.judge(&bad, now), blocked(rule), "{bad:?}");
        assert_eq!(
            firewall.judge(&good, now),
            FirewallVerdict::Pass,
            "{good:?}"
        );
    }
    // What is about forwards says nothing about questions.
    let question = ScreenedRequest {
        routing_asked_by: RoutingAsked::Nobody,
        originator: "491601234567",
        ..request(RoutingInfo)
    };
    assert_eq!(firewall.judge(&question, now), FirewallVerdict::Pass);
}

#[test]
fn a_sender_of_ours_is_found_however_it_is_written() {
    let mut firewall = Firewall::new(settings());
    for (originator, is_ours) in [
        ("+49 160-12", true),
        ("+49 161-12", false),
        ("0049160123", true),
        ("0049161123", false),
        ("Shop 49160", false),
        ("+", false),
        ("", false),
    ] {
        let forward = ScreenedRequest {
            originator,
            ..mt(RoutingAsked::NotApplicable)
        };
        let is_found = firewall.judge(&forward, Instant::now()) != FirewallVerdict::Pass;
        assert_eq!(is_found, is_ours, "{originator:?}");
    }
}

/// The digits of a national number may be those of our own network; what is denied is denied in any form.
#[test]
fn a_title_that_is_not_international_is_of_no_network_that_is_known() {
    let mut firewall = Firewall::new(settings());
    let now = Instant::now();
    for (calling_gt, rule) in [
        ("491600000001", None),
        ("~491600000001", Some(FirewallRule::Spoofed)),
        ("~882139999", Some(FirewallRule::Title)),
    ] {
        let forward = ScreenedRequest {
            calling_gt,
            originator: "491601234567",
            ..mt(RoutingAsked::NotApplicable)
        };
        let expected = rule.map_or(FirewallVerdict::Pass, blocked);
        assert_eq!(firewall.judge(&forward, now), expected, "{calling_gt}");
    }
}

#[test]
fn the_longer_prefix_decides_who_is_allowed() {
    let mut firewall = Firewall::new(FirewallSettings {
        allowed_titles: digits(&["44", "4914"]),
        denied_titles: digits(&["447", "4914"]),
        ..settings()
    });
    let mut judge = |calling_gt| {
        let alert = request(ScreenedOperation::AlertServiceCentre);
        let alert = ScreenedRequest {
            calling_gt,
            ..alert
        };
        firewall.judge(&alert, Instant::now())
    };
    let denied = blocked(FirewallRule::Title);
    assert_eq!(judge("441000"), FirewallVerdict::Pass);
    assert_eq!(judge("447000"), denied);
    assert_eq!(judge("4914"), denied, "both: denied");
    assert_eq!(judge("33"), denied, "not allowed");
    assert_eq!(judge(""), denied, "without a title nothing is allowed");
    assert_eq!(judge("~441000"), denied, "national digits are others");
}

/// Who has asked is known later than all else: then no rate is used up once more.
#[test]
fn who_has_asked_may_be_judged_by_itself() {
    let mut firewall = Firewall::new(FirewallSettings {
        title_rate: Some(RequestRate {
            per_second: 0.001,
            burst: 1,
        }),
        ..settings()
    });
    for (asked, verdict) in [
        (RoutingAsked::By("447911000001"), FirewallVerdict::Pass),
        (RoutingAsked::Nobody, blocked(FirewallRule::WithoutRouting)),
        (
            RoutingAsked::By("33600000001"),
            blocked(FirewallRule::OtherNetwork),
        ),
    ] {
        let judged = firewall.judge_routing(&mt(asked), Instant::now());
        assert_eq!(judged, verdict, "{asked:?}");
    }
    let whole = mt(RoutingAsked::NotApplicable);
    assert_eq!(
        firewall.judge(&whole, Instant::now()),
        FirewallVerdict::Pass
    );
}

/// Whom an id stands for is known later; a subscriber with many ids has one rate, of which faked messages take nothing.
#[test]
fn messages_for_many_ids_of_one_subscriber_have_its_rate() {
    let mut firewall = Firewall::new(FirewallSettings {
        subscriber_rate: Some(RequestRate {
            per_second: 0.001,
            burst: 2,
        }),
        ..settings()
    });
    let now = Instant::now();
    for _ in 0..10 {
        let early = mt(RoutingAsked::Later);
        assert_eq!(firewall.judge(&early, now), FirewallVerdict::Pass);
        let faked = blocked(FirewallRule::WithoutRouting);
        let judged = firewall.judge_routing(&mt(RoutingAsked::Nobody), now);
        assert_eq!(judged, faked);
    }
    let asked = mt(RoutingAsked::By("447911000001"));
    for verdict in [
        FirewallVerdict::Pass,
        FirewallVerdict::Pass,
        blocked(FirewallRule::SubscriberRate),
    ] {
        assert_eq!(firewall.judge_routing(&asked, now), verdict);
    }
}

#[test]
fn networks_that_are_not_listed_are_told_apart_by_their_first_digits() {
    let mut firewall = Firewall::new(settings());
    let mut judge = |asked, calling_gt| {
        let forward = ScreenedRequest {
            calling_gt,
            ..mt(RoutingAsked::By(asked))
        };
        firewall.judge(&forward, Instant::now())
    };
    assert_eq!(judge("3360011", "3360022"), FirewallVerdict::Pass);
    let other = blocked(FirewallRule::OtherNetwork);
    assert_eq!(judge("3360011", "3361011"), other);
    assert_eq!(judge("3360011", ""), other);
    // The beginning of a listed network is none of it.
    assert_eq!(judge("447700900000", "447711900000"), other);
}

#[test]
fn a_flood_of_one_title_is_limited_and_hurts_nobody_else() {
    let mut firewall = Firewall::new(FirewallSettings {
        title_rate: Some(RequestRate {
            per_second: 100.0,
            burst: 50,
        }),
        ..settings()
    });
    let begun = Instant::now();
    let (mut passed, mut others) = (0, 0);
    for at in 0..10_000_u64 {
        let now = begun + Duration::from_micros(at * 100);
        let flood = request(ScreenedOperation::RoutingInfo);
        passed += u32::from(firewall.judge(&flood, now) == FirewallVerdict::Pass);
        if at % 1_000 == 0 {
            let other = ScreenedRequest {
                calling_gt: "33600000001",
                ..flood
            };
            others += u32::from(firewall.judge(&other, now) == FirewallVerdict::Pass);
        }
    }
    assert!((140..=151).contains(&passed), "{passed} of one second");
    assert_eq!(others, 10);
}

#[test]
fn requests_about_one_subscriber_are_limited_wherever_they_come_from() {
    let mut firewall = Firewall::new(FirewallSettings {
        subscriber_rate: Some(RequestRate {
            per_second: 1.0,
            burst: 2,
        }),
        ..settings()
    });
    let begun = Instant::now();
    let mut judge = |subscriber, calling_gt, seconds| {
        let question = ScreenedRequest {
            subscriber,
            calling_gt,
            ..request(ScreenedOperation::RoutingInfo)
        };
        firewall.judge(&question, begun + Duration::from_secs(seconds))
    };
    let limited = blocked(FirewallRule::SubscriberRate);
    assert_eq!(judge("491601", "441", 0), FirewallVerdict::Pass);
    assert_eq!(judge("491601", "442", 0), FirewallVerdict::Pass);
    assert_eq!(judge("491601", "443", 0), limited);
    assert_eq!(judge("491602", "443", 0), FirewallVerdict::Pass);
    assert_eq!(judge("491601", "443", 1), FirewallVerdict::Pass);
    // What another rule has blocked takes nothing from the subscriber.
    for _ in 0..10 {
        let denied = blocked(FirewallRule::Title);
        assert_eq!(judge("491603", "88213", 1), denied);
    }
    assert_eq!(judge("491603", "443", 1), FirewallVerdict::Pass);
    // Nobody in particular has no rate.
    assert!((0..10).all(|_| judge("", "443", 1) == FirewallVerdict::Pass));
}

#[test]
fn whoever_floods_a_subscriber_does_not_keep_it_from_sending() {
    let mut firewall = Firewall::new(FirewallSettings {
        subscriber_rate: Some(RequestRate {
            per_second: 1.0,
            burst: 2,
        }),
        ..settings()
    });
    let now = Instant::now();
    let limited = blocked(FirewallRule::SubscriberRate);
    let asked = ScreenedRequest {
        subscriber: "491601",
        ..request(ScreenedOperation::RoutingInfo)
    };
    let sent = mo("436640000001", "491601");
    for request in [asked, sent] {
        let mut judge = || firewall.judge(&request, now);
        assert_eq!([judge(), judge()], [FirewallVerdict::Pass; 2]);
        assert_eq!(judge(), limited, "{request:?}");
    }
}

#[test]
fn a_table_that_is_full_forgets_and_limits_nobody_for_it() {
    let mut firewall = Firewall::new(FirewallSettings {
        title_rate: Some(RequestRate {
            per_second: 0.001,
            burst: 1,
        }),
        ..settings()
    });
    let now = Instant::now();
    for title in 0..=2 * REMEMBERED {
        let title = format!("7{title}");
        let alert = ScreenedRequest {
            calling_gt: &title,
            ..request(ScreenedOperation::AlertServiceCentre)
        };
        assert_eq!(firewall.judge(&alert, now), FirewallVerdict::Pass);
    }
    assert_eq!(firewall.title_rates.by_name.len(), REMEMBERED);
}

#[test]
fn off_passes_dry_reports_and_a_rule_has_its_own_action() {
    let now = Instant::now();
    let bad = mo("447700900000", "491601234567");
    let judge = |settings| Firewall::new(settings).judge(&bad, now);
    let rule = FirewallRule::Spoofed;
    let with = |mode, action| FirewallSettings {
        mode,
        actions: vec![(rule, action)],
        ..settings()
    };
    let block = RuleAction::Block(BlockAnswer::Drop);
    let drop = FirewallVerdict::Block {
        rule,
        answer: BlockAnswer::Drop,
    };
    let report = FirewallVerdict::Report { rule };
    for (settings, expected) in [
        (with(FirewallMode::Off, block), FirewallVerdict::Pass),
        (with(FirewallMode::Dry, block), report),
        (with(FirewallMode::On, block), drop),
        (with(FirewallMode::On, RuleAction::Report), report),
        (with(FirewallMode::On, RuleAction::Count), report),
        (
            with(FirewallMode::On, RuleAction::Off),
            FirewallVerdict::Pass,
        ),
        (
            with(FirewallMode::Dry, RuleAction::Off),
            FirewallVerdict::Pass,
        ),
    ] {
        assert_eq!(judge(settings.clone()), expected, "{settings:?}");
    }
}

/// What is only reported does not keep a rule behind it from blocking.
#[test]
fn a_rule_that_blocks_counts_before_one_that_reports() {
    let mut settings = settings();
    settings.own_numbers = digits(&["49160"]);
    settings.actions = vec![
        (FirewallRule::Operation, RuleAction::Report),
        (FirewallRule::SubscriberRate, RuleAction::Block(ERROR)),
    ];
    settings.subscriber_rate = Some(RequestRate {
        per_second: 1.0,
        burst: 1,
    });
    let mut firewall = Firewall::new(settings);
    let asked = ScreenedRequest {
        subscriber: "491601234567",
        ..request(ScreenedOperation::Other(58))
    };
    let now = Instant::now();
    let rule = FirewallRule::Operation;
    assert_eq!(
        firewall.judge(&asked, now),
        FirewallVerdict::Report { rule }
    );
    let limited = blocked(FirewallRule::SubscriberRate);
    assert_eq!(firewall.judge(&asked, now), limited);
}

#[test]
fn other_settings_count_at_once_and_keep_what_was_counted() {
    let rate = |per_second| {
        Some(RequestRate {
            per_second,
            burst: 1,
        })
    };
    let mut first = settings();
    first.title_rate = rate(0.001);
    let mut firewall = Firewall::new(first.clone());
    let now = Instant::now();
    let alert = request(ScreenedOperation::AlertServiceCentre);
    let limited = blocked(FirewallRule::TitleRate);
    assert_eq!(firewall.judge(&alert, now), FirewallVerdict::Pass);
    assert_eq!(firewall.judge(&alert, now), limited);
    first.denied_titles = digits(&["33"]);
    firewall.set(first.clone());
    assert_eq!(
        firewall.judge(&alert, now),
        limited,
        "the rate is the one before"
    );
    first.title_rate = rate(0.002);
    firewall.set(first.clone());
    assert_eq!(firewall.judge(&alert, now), FirewallVerdict::Pass);
    first.denied_titles = digits(&["4477"]);
    firewall.set(first);
    assert_eq!(firewall.judge(&alert, now), blocked(FirewallRule::Title));
}
