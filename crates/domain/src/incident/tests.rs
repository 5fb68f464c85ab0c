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
        let counts = log.at(one.operator, one.account, minute * MINUTE);
        for _ in 0..one.taken {
            counts.note_taken(true, one.answer_ms);
        }
        for _ in 0..one.refused {
            counts.note_refused(WRONG_SOURCE, one.answer_ms);
        }
        for number in 0..one.receipts {
            counts.note_receipt((number < one.failed).then_some(state::UNDELIVERABLE));
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
                let counts = log.at(1, 10, now);
                if is_refused {
                    counts.note_refused(WRONG_SOURCE, 40);
                } else {
                    counts.note_taken(true, 40);
                    counts.note_receipt(is_failed.then_some(state::UNDELIVERABLE));
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
