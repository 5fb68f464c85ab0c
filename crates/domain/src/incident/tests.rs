//! Counts in, incidents out.

use proptest::prelude::*;

use super::*;
use crate::outcomes::OutcomeLog;

const MINUTE: i64 = 60_000;
const LOOK: i64 = 10_000;
/// ESME_RINVSRCADR.
const WRONG_SOURCE: u32 = 0x0A;

fn rules() -> IncidentRules {
    IncidentRules {
        minimum: 50,
        nodes: 1,
        refused_share: 0.1,
        failed_share: 0.25,
        slow_ms: 1_000.0,
    }
}

/// Answers of an operator to an account, in a minute.
#[derive(Clone, Copy)]
struct MinuteTraffic {
    operator: u32,
    account: u32,
    taken: u32,
    refused: u32,
    receipts: u32,
    failed: u32,
    answer_ms: u32,
}

const CLEAN: MinuteTraffic = MinuteTraffic {
    operator: 1,
    account: 10,
    taken: 600,
    refused: 6,
    receipts: 600,
    failed: 30,
    answer_ms: 50,
};

/// Adds the traffic of one minute, at its beginning.
fn add(log: &mut OutcomeLog, minute: i64, traffic: &[MinuteTraffic]) {
    for one in traffic {
        let mut counts = log.at(one.operator, one.account, minute * MINUTE);
        for _ in 0..one.taken {
            counts.note_taken(true, one.answer_ms);
        }
        for _ in 0..one.refused {
            counts.note_refused(WRONG_SOURCE, one.answer_ms);
        }
        for number in 0..one.receipts {
            counts.note_receipt((number < one.failed).then_some(state::UNDELIVERABLE), true);
        }
    }
}

/// What is named in the minutes of a story: the minute, whom, what for, and whether it began or ended.
fn named(
    minutes: impl Iterator<Item = (i64, Vec<MinuteTraffic>)>,
) -> Vec<(i64, IncidentKey, bool)> {
    let (mut log, mut book) = (OutcomeLog::new(MINUTE), IncidentBook::default());
    let mut told = Vec::new();
    for (minute, traffic) in minutes {
        add(&mut log, minute, &traffic);
        for look in 0..6 {
            let now = minute * MINUTE + look * LOOK;
            for (key, stage, _) in book.look(&log.look(now), &rules(), now, MINUTE) {
                if stage != IncidentStage::GoesOn {
                    told.push((minute, key, stage == IncidentStage::Began));
                }
            }
        }
    }
    told
}

#[test]
fn who_refuses_half_is_named_at_once_and_until_that_is_over() {
    let failing = MinuteTraffic {
        refused: 600,
        receipts: 0,
        failed: 0,
        ..CLEAN
    };
    let other = MinuteTraffic {
        operator: 2,
        ..CLEAN
    };
    let story = (0..60).map(|minute| {
        let first = if (20..29).contains(&minute) {
            failing
        } else {
            CLEAN
        };
        (minute, vec![first, other])
    });
    let refused = (IncidentSubject::Operator(1), IncidentKind::Refused);
    let told = named(story);
    let of_refusals: Vec<_> = told.iter().filter(|(_, key, _)| *key == refused).collect();
    let is_at = |told: &(i64, IncidentKey, bool), minutes: std::ops::Range<i64>, began| {
        minutes.contains(&told.0) && told.2 == began
    };
    assert_eq!(of_refusals.len(), 2, "{told:?}");
    assert!(is_at(of_refusals[0], 20..22, true), "{told:?}");
    assert!(is_at(of_refusals[1], 30..34, false), "{told:?}");
    assert!(
        told.iter()
            .all(|(_, (subject, _), _)| *subject == IncidentSubject::Operator(1)),
        "{told:?}"
    );
}

#[test]
fn an_operator_that_refuses_from_its_first_message_on_is_named_and_stays_so() {
    let failing = MinuteTraffic {
        taken: 50,
        refused: 50,
        ..CLEAN
    };
    let told = named((0..90).map(|minute| (minute, vec![failing])));
    let key = (IncidentSubject::Operator(1), IncidentKind::Refused);
    assert_eq!(told, [(0, key, true)]);
}

#[test]
fn receipts_that_fail_or_do_not_come_and_slow_answers_are_told_apart() {
    for (from_now_on, kind) in [
        (
            MinuteTraffic {
                failed: 240,
                ..CLEAN
            },
            IncidentKind::FailedReceipts,
        ),
        (
            MinuteTraffic {
                receipts: 0,
                failed: 0,
                ..CLEAN
            },
            IncidentKind::MissingReceipts,
        ),
        (
            MinuteTraffic {
                answer_ms: 2_500,
                ..CLEAN
            },
            IncidentKind::SlowAnswers,
        ),
    ] {
        let story = (0..45).map(|minute| {
            let traffic = if minute < 30 { CLEAN } else { from_now_on };
            (minute, vec![traffic])
        });
        let told: Vec<_> = named(story).into_iter().map(|(_, key, _)| key).collect();
        assert_eq!(told, [(IncidentSubject::Operator(1), kind)]);
    }
}

#[test]
fn an_account_is_named_where_its_operator_is_not() {
    let refused = MinuteTraffic {
        account: 11,
        taken: 0,
        refused: 60,
        receipts: 0,
        failed: 0,
        ..CLEAN
    };
    let other = MinuteTraffic {
        taken: 6_000,
        receipts: 0,
        failed: 0,
        ..CLEAN
    };
    let told = named((0..20).map(|minute| (minute, vec![other, refused])));
    let key = (IncidentSubject::Account(11), IncidentKind::Refused);
    assert_eq!(told, [(0, key, true)]);
}

#[test]
fn few_messages_and_usual_shares_name_nobody() {
    let few = MinuteTraffic {
        taken: 12,
        refused: 12,
        receipts: 12,
        failed: 12,
        ..CLEAN
    };
    for traffic in [few, CLEAN] {
        let told = named((0..90).map(|minute| (minute, vec![traffic])));
        assert!(told.is_empty(), "{told:?}");
    }
}

#[test]
fn sentences_say_who_what_and_since_when() {
    let incident = |value, usual, cause: &str, others| OpenIncident {
        began_at: 0,
        seen_at: 0,
        finding: RuleFinding {
            value,
            usual,
            is_usual_known: true,
            earlier: false,
        },
        cause: cause.to_owned(),
        others,
    };
    for (name, kind, incident, said) in [
        (
            "operator:charlie",
            IncidentKind::Refused,
            incident(0.5, 0.01, "ESME_RINVSRCADR", 2),
            "operator charlie refuses 50 % since 15:21 UTC with ESME_RINVSRCADR, 2 accounts (usually 1 %)",
        ),
        (
            "account:shop",
            IncidentKind::Refused,
            incident(1.0, 0.0, "ESME_RINVSRCADR", 1),
            "account shop: 100 % of its messages are refused since 15:21 UTC with ESME_RINVSRCADR, 1 operator (usually 0 %)",
        ),
        (
            "operator:up",
            IncidentKind::FailedReceipts,
            incident(0.4, 0.05, "UNDELIVERABLE", 1),
            "operator up: 40 % of the receipts since 15:21 UTC report a failure, mostly UNDELIVERABLE, 1 account (usually 5 %)",
        ),
        (
            "operator:up",
            IncidentKind::MissingReceipts,
            incident(0.97, 0.02, "", 3),
            "operator up: 97 % of the receipts are missing since 15:21 UTC, 3 accounts (usually 2 %)",
        ),
        (
            "gsm:home",
            IncidentKind::SlowAnswers,
            incident(2_400.0, 120.0, "", 3),
            "gsm home answers in 2400 ms since 15:21 UTC (usually 120 ms)",
        ),
    ] {
        assert_eq!(sentence(name, kind, &incident, "15:21 UTC"), said);
    }
    let mut new = incident(0.5, 0.0, "ESME_RINVSRCADR", 2);
    new.finding.is_usual_known = false;
    assert_eq!(
        sentence("operator:charlie", IncidentKind::Refused, &new, "15:21 UTC"),
        "operator charlie refuses 50 % since 15:21 UTC with ESME_RINVSRCADR, 2 accounts"
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Each message fails by chance, at a share that is the usual one.
    #[test]
    fn noise_at_the_usual_share_names_nobody(
        refused in 0.0f64..0.05,
        failed in 0.0f64..0.12,
        messages in 40u32..300,
        seed in any::<u64>(),
    ) {
        let mut random = seed | 1;
        let mut chance = |share: f64| {
            // xorshift64*
            random ^= random >> 12;
            random ^= random << 25;
            random ^= random >> 27;
            let drawn = random.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 11;
            (drawn as f64 / (1u64 << 53) as f64) < share
        };
        let (mut log, mut book) = (OutcomeLog::new(MINUTE), IncidentBook::default());
        for minute in 0..80 {
            let now = minute * MINUTE + MINUTE / 2;
            for _ in 0..messages {
                let (is_refused, is_failed) = (chance(refused), chance(failed));
                let mut counts = log.at(1, 10, now);
                if is_refused {
                    counts.note_refused(WRONG_SOURCE, 40);
                } else {
                    counts.note_taken(true, 40);
                    counts.note_receipt(is_failed.then_some(state::UNDELIVERABLE), true);
                }
            }
            let changed = book.look(&log.look(now), &rules(), now, MINUTE);
            prop_assert!(changed.is_empty(), "{changed:?}");
        }
    }
}

#[test]
fn an_incident_ends_when_the_clock_is_set_back() {
    let (mut log, mut book) = (OutcomeLog::new(MINUTE), IncidentBook::default());
    let failing = MinuteTraffic {
        refused: 600,
        ..CLEAN
    };
    let day = 24 * 60;
    add(&mut log, 3 * day, &[failing]);
    let now = 3 * day * MINUTE;
    let began = book.look(&log.look(now), &rules(), now, MINUTE);
    assert_eq!(began[0].1, IncidentStage::Began);
    add(&mut log, 2 * day, &[CLEAN]);
    let now = 2 * day * MINUTE;
    let changed = book.look(&log.look(now), &rules(), now, MINUTE);
    assert!(!changed.is_empty());
    for (key, stage, _) in changed {
        assert_eq!(stage, IncidentStage::Ended, "{key:?}");
    }
    assert!(book.open.is_empty());
}

#[test]
fn an_incident_goes_on_when_the_clock_is_set_and_that_is_known() {
    let failing = MinuteTraffic {
        refused: 600,
        ..CLEAN
    };
    for by in [60, -60] {
        let (mut log, mut book) = (OutcomeLog::new(MINUTE), IncidentBook::default());
        for minute in 1_000..1_020 {
            add(&mut log, minute, &[CLEAN]);
        }
        add(&mut log, 1_020, &[failing]);
        let stage = |changed: Vec<(IncidentKey, IncidentStage, OpenIncident)>| {
            let refused = operator(IncidentKind::Refused);
            let mut of_refused = changed.into_iter().filter(|(key, ..)| *key == refused);
            of_refused
                .next()
                .map(|(_, stage, one)| (stage, one.began_at))
        };
        let now = 1_020 * MINUTE;
        let changed = book.look(&log.look(now), &rules(), now, MINUTE);
        assert_eq!(stage(changed), Some((IncidentStage::Began, now)));
        book.clock_was_set(by * MINUTE);
        let now = (1_021 + by) * MINUTE;
        let changed = book.look(&log.look(now), &rules(), now, MINUTE);
        assert_eq!(stage(changed), None, "nothing was sent yet");
        add(&mut log, 1_021 + by, &[failing]);
        let changed = book.look(&log.look(now), &rules(), now, MINUTE);
        let began_at = now - MINUTE;
        assert_eq!(stage(changed), Some((IncidentStage::GoesOn, began_at)));
    }
}

#[test]
fn no_crowd_of_accounts_is_named_and_operators_always_are() {
    let (mut log, mut book) = (OutcomeLog::new(MINUTE), IncidentBook::default());
    let of = |operator, account, taken, refused| MinuteTraffic {
        operator,
        account,
        taken,
        refused,
        receipts: 0,
        ..CLEAN
    };
    // A tenth of what this operator gets, so that it is not named itself.
    let mut traffic = vec![of(1, 10_000, 1_000_000, 0)];
    traffic.extend((1..=200).map(|account| of(1, account, 0, 60)));
    add(&mut log, 0, &traffic);
    book.look(&log.look(0), &rules(), 0, MINUTE);
    assert_eq!(book.open.len(), MOST_OPEN);
    add(&mut log, 0, &[of(2, 10_000, 0, 600)]);
    book.look(&log.look(0), &rules(), 0, MINUTE);
    let operator = (IncidentSubject::Operator(2), IncidentKind::Refused);
    assert!(book.open.contains_key(&operator));
}

fn operator(kind: IncidentKind) -> IncidentKey {
    (IncidentSubject::Operator(1), kind)
}

#[test]
fn who_sends_wrong_numbers_is_named_and_not_the_operator_that_refuses_them() {
    let wrong = MinuteTraffic {
        account: 11,
        taken: 0,
        refused: 300,
        receipts: 0,
        failed: 0,
        ..CLEAN
    };
    for kind in IncidentKind::OF_ACCOUNTS {
        let wrong = match kind {
            IncidentKind::Refused => wrong,
            _ => MinuteTraffic {
                taken: 400,
                refused: 0,
                receipts: 400,
                failed: 400,
                ..wrong
            },
        };
        let told = named((0..20).map(|minute| (minute, vec![CLEAN, wrong])));
        assert_eq!(told, [(0, (IncidentSubject::Account(11), kind), true)]);
    }
    // Nobody else says that the operator is well.
    let told = named((0..20).map(|minute| (minute, vec![wrong])));
    assert_eq!(told, [(0, operator(IncidentKind::Refused), true)]);
}

#[test]
fn an_operator_that_fails_as_before_after_a_pause_is_named_again() {
    let failing = MinuteTraffic {
        taken: 300,
        refused: 300,
        receipts: 300,
        failed: 15,
        ..CLEAN
    };
    let story = (0..90).map(|minute| {
        let traffic = match minute {
            0..20 => vec![CLEAN],
            50..60 => Vec::new(),
            _ => vec![failing],
        };
        (minute, traffic)
    });
    let told = named(story);
    let began: Vec<bool> = told.iter().map(|(_, _, began)| *began).collect();
    assert_eq!(began, [true, false, true], "{told:?}");
    assert!((60..62).contains(&told[2].0), "{told:?}");
}

#[test]
fn receipts_that_come_to_another_node_are_not_missing_and_none_at_all_are() {
    let of_three = IncidentRules {
        nodes: 3,
        ..rules()
    };
    // All come here, then a third of them, then none.
    let part = |minute: i64| match minute {
        0..30 => 600,
        30..60 => 200,
        _ => 0,
    };
    let (mut log, mut book) = (OutcomeLog::new(MINUTE), IncidentBook::default());
    let mut began = Vec::new();
    for minute in 0..80 {
        let traffic = MinuteTraffic {
            receipts: part(minute),
            failed: 0,
            ..CLEAN
        };
        add(&mut log, minute, &[traffic]);
        let now = minute * MINUTE;
        for (key, stage, _) in book.look(&log.look(now), &of_three, now, MINUTE) {
            if stage == IncidentStage::Began {
                began.push((minute, key));
            }
        }
    }
    assert_eq!(began.len(), 1, "{began:?}");
    assert_eq!(began[0].1, operator(IncidentKind::MissingReceipts));
    assert!((60..71).contains(&began[0].0), "{began:?}");
}

#[test]
fn a_few_answers_that_hang_are_not_slow_answers() {
    let hanging = MinuteTraffic {
        taken: 3,
        refused: 0,
        receipts: 0,
        failed: 0,
        answer_ms: 29_000,
        ..CLEAN
    };
    let few = MinuteTraffic {
        taken: 30,
        refused: 0,
        receipts: 0,
        failed: 0,
        ..CLEAN
    };
    let story = (0..60).map(|minute| {
        let traffic = if minute % 15 == 14 {
            vec![few, hanging]
        } else {
            vec![few]
        };
        (minute, traffic)
    });
    let told = named(story);
    assert!(told.is_empty(), "{told:?}");
}

/// Numbers by chance: xorshift64*.
struct Chance(u64);

impl Chance {
    fn number(&mut self) -> f64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        let drawn = self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 11;
        drawn as f64 / (1u64 << 53) as f64
    }

    fn is(&mut self, share: f64) -> bool {
        self.number() < share
    }

    /// A time with this mean, milliseconds; most are shorter and few much longer.
    fn time(&mut self, mean: f64) -> i64 {
        (-(1.0 - self.number()).ln() * mean) as i64
    }
}

/// What is usual of operators that are well, and how their traffic goes.
#[derive(Clone, Copy)]
struct UsualNoise {
    /// Messages of an account to an operator per minute, by the minute.
    rate: fn(i64, &mut Chance) -> f64,
    refused: f64,
    /// Of receipts that come in seconds, and of those that come after minutes.
    failed: [f64; 2],
    /// Receipts that take minutes, and those that never come.
    late: f64,
    never: f64,
    /// Mean of the late ones, minutes.
    late_minutes: f64,
    /// Answers that hang for twenty seconds.
    hangs: f64,
}

const QUIET: UsualNoise = UsualNoise {
    rate: |_, _| 40.0,
    refused: 0.02,
    failed: [0.05, 0.4],
    late: 0.15,
    never: 0.03,
    late_minutes: 15.0,
    hangs: 0.0,
};

/// What is named in two hours of clean traffic of two operators and three accounts.
fn named_in_noise(noise: UsualNoise, seed: u64) -> Vec<(i64, IncidentKey)> {
    let mut chance = Chance(seed);
    let (mut log, mut book) = (OutcomeLog::new(MINUTE), IncidentBook::default());
    // Receipts by the look before which they come: of whom, whether they fail, and when their message was sent.
    let mut coming: BTreeMap<i64, Vec<(u32, u32, bool, i64)>> = BTreeMap::new();
    let mut told = Vec::new();
    let looks_of_a_minute = MINUTE / LOOK;
    let mut rates = HashMap::new();
    for look in 0..120 * looks_of_a_minute {
        let now = look * LOOK;
        for (operator, account) in (1..=2).flat_map(|operator| (10..13).map(move |a| (operator, a)))
        {
            if look % looks_of_a_minute == 0 {
                let rate = (noise.rate)(look / looks_of_a_minute, &mut chance);
                rates.insert((operator, account), rate / looks_of_a_minute as f64);
            }
            // About as many by chance.
            let rate = rates[&(operator, account)];
            let tries = (rate * 4.0).ceil();
            for _ in 0..tries as u64 {
                if !chance.is(rate / tries) {
                    continue;
                }
                let took = if chance.is(noise.hangs) {
                    20_000
                } else {
                    20 + chance.time(80.0)
                };
                let mut counts = log.at(operator, account, now);
                if chance.is(noise.refused) {
                    counts.note_refused(WRONG_SOURCE, took as u32);
                    continue;
                }
                counts.note_taken(true, took as u32);
                if chance.is(noise.never) {
                    continue;
                }
                let is_late = chance.is(noise.late);
                let after = if is_late {
                    chance.time(noise.late_minutes * MINUTE as f64)
                } else {
                    chance.time(8_000.0)
                };
                let is_failed = chance.is(noise.failed[usize::from(is_late)]);
                let due = coming.entry((now + after) / LOOK + 1).or_default();
                due.push((operator, account, is_failed, now));
            }
        }
        for (operator, account, is_failed, sent_at) in coming.remove(&look).unwrap_or_default() {
            if sent_at >= log.prompt_since(now) {
                let failed = is_failed.then_some(state::UNDELIVERABLE);
                log.at(operator, account, now).note_receipt(failed, true);
            }
        }
        for (key, stage, _) in book.look(&log.look(now), &rules(), now, MINUTE) {
            if stage == IncidentStage::Began {
                told.push((now / MINUTE, key));
            }
        }
    }
    told
}

#[test]
fn two_hours_of_clean_traffic_with_its_usual_noise_name_nobody() {
    let campaigns: fn(i64, &mut Chance) -> f64 =
        |_, chance| if chance.is(0.1) { 600.0 } else { 1.0 };
    let nightfall: fn(i64, &mut Chance) -> f64 = |minute, _| 400.0 * (-0.04 * minute as f64).exp();
    let morning: fn(i64, &mut Chance) -> f64 = |minute, _| 4.0 * (0.04 * minute as f64).exp();
    let models = [
        ("steady", QUIET),
        (
            "few messages",
            UsualNoise {
                rate: |_, _| 4.0,
                ..QUIET
            },
        ),
        (
            "campaigns",
            UsualNoise {
                rate: campaigns,
                ..QUIET
            },
        ),
        (
            "campaigns whose receipts take a quarter of an hour",
            UsualNoise {
                rate: campaigns,
                late: 1.0,
                failed: [0.0, 0.05],
                ..QUIET
            },
        ),
        (
            "nightfall",
            UsualNoise {
                rate: nightfall,
                late_minutes: 60.0,
                ..QUIET
            },
        ),
        (
            "morning",
            UsualNoise {
                rate: morning,
                ..QUIET
            },
        ),
        (
            "campaigns to bad numbers",
            UsualNoise {
                rate: campaigns,
                refused: 0.05,
                failed: [0.1, 0.5],
                hangs: 0.005,
                ..QUIET
            },
        ),
        (
            "answers that hang",
            UsualNoise {
                hangs: 0.01,
                ..QUIET
            },
        ),
        (
            "no receipts",
            UsualNoise {
                never: 1.0,
                ..QUIET
            },
        ),
        (
            "bad numbers everywhere",
            UsualNoise {
                refused: 0.07,
                failed: [0.15, 0.5],
                ..QUIET
            },
        ),
    ];
    for (model, noise) in models {
        for seed in [1, 0x5EED, 0xBAD_CAFE, u64::MAX / 3] {
            let told = named_in_noise(noise, seed);
            assert!(told.is_empty(), "{model}, seed {seed}: {told:?}");
        }
    }
}

#[test]
fn a_process_that_has_just_begun_knows_what_was_usual() {
    let usual = MinuteTraffic {
        receipts: 600,
        failed: 200,
        ..CLEAN
    };
    let key = operator(IncidentKind::FailedReceipts);
    let began = |learned: Option<f64>, failed| {
        let (mut log, mut book) = (OutcomeLog::new(MINUTE), IncidentBook::default());
        book.learn(learned.map(|share| (key, share)));
        add(&mut log, 0, &[MinuteTraffic { failed, ..usual }]);
        let changed = book.look(&log.look(0), &rules(), 0, MINUTE);
        changed.iter().any(|(named, ..)| *named == key)
    };
    assert!(began(None, 200), "nothing is known");
    assert!(!began(Some(0.33), 200));
    assert!(began(Some(0.33), 450));
}
