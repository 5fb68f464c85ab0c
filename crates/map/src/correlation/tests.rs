//! Correlation ids: what they look like, for how long they are found, and that there are not too many.

use proptest::prelude::*;

use super::*;

const NETWORK: &str = "26201";
const NOW: i64 = 1_000_000;
const LIFE: i64 = 300_000;
const MOST: usize = 100;

fn wish<'a>(msisdn: &'a str, asked_by: &'a str) -> CorrelationWish<'a> {
    CorrelationWish {
        network: NETWORK,
        msisdn,
        asked_by,
        until: NOW + LIFE,
        most: MOST,
    }
}

/// Numbers one after another, far from one another.
fn counter() -> impl FnMut() -> u64 {
    let mut next = 0_u64;
    move || {
        next += 7_919;
        next
    }
}

#[test]
fn an_id_is_found_until_it_is_over_and_by_nobody_else() {
    let mut all = MtCorrelations::default();
    let given = all.give(&wish("4917012345", "33600"), NOW, counter());
    let given = given.expect("room");
    assert_eq!(given.id, "262010000007919");
    assert_eq!(all.find(&given.id, NOW + LIFE - 1), Some(&given));
    assert_eq!(all.find(&given.id, NOW + LIFE), None);
    assert_eq!(all.find("262010000007918", NOW), None);
}

#[test]
fn who_asks_again_gets_the_same_id_for_longer_and_another_asker_another_one() {
    let (mut all, mut random) = (MtCorrelations::default(), counter());
    let first = all.give(&wish("4917012345", "33600"), NOW, &mut random);
    let first = first.expect("room");
    let later = CorrelationWish {
        until: NOW + 2 * LIFE,
        ..wish("4917012345", "33600")
    };
    let again = all.give(&later, NOW + LIFE - 1, &mut random).expect("room");
    assert_eq!((&again.id, again.until), (&first.id, NOW + 2 * LIFE));
    assert_eq!(all.len(), 1);
    assert!(all.find(&first.id, NOW + LIFE).is_some());
    let other = all.give(&later, NOW + 2 * LIFE, &mut random).expect("room");
    assert_ne!(other.id, first.id, "the first one is over");
    let foreign = all.give(&wish("4917012345", "44770"), NOW, &mut random);
    let foreign = foreign.expect("room");
    assert_ne!(foreign.id, other.id);
    assert_eq!(foreign.asked_by, "44770");
}

#[test]
fn an_id_that_is_in_use_is_not_given_again() {
    let mut all = MtCorrelations::default();
    let first = all.give(&wish("4917012345", "33600"), NOW, || 5);
    assert!(first.is_some());
    assert_eq!(all.give(&wish("4917099999", "33600"), NOW, || 5), None);
    let mut two = [5, 6].into_iter();
    let second = all.give(&wish("4917099999", "33600"), NOW, || two.next().unwrap());
    assert_eq!(second.unwrap().id, "262010000000006");
}

#[test]
fn one_asker_leaves_room_for_others_and_all_together_are_bounded() {
    let (mut all, mut random) = (MtCorrelations::default(), counter());
    let mut given = 0;
    for asker in ["1", "2", "3", "4", "5"] {
        for number in 0..MOST {
            let number = number.to_string();
            let one = all.give(&wish(&number, asker), NOW, &mut random);
            given += usize::from(one.is_some());
        }
    }
    assert_eq!((given, all.len()), (MOST, MOST));
    let later = CorrelationWish {
        until: NOW + 2 * LIFE,
        ..wish("1", "6")
    };
    assert!(all.give(&later, NOW + LIFE, &mut random).is_some());
    assert_eq!(all.len(), 1, "those that are over are gone");
    assert_eq!((all.due.len(), all.by_question.len()), (1, 1));
    assert_eq!(all.of_asker.len(), 1);
}

#[test]
fn a_network_that_asks_by_many_titles_leaves_room_for_others() {
    let (mut all, mut random) = (MtCorrelations::default(), counter());
    let mut given = 0;
    for title in 0..1_000 {
        let asker = format!("33600{title:05}");
        let one = all.give(&wish("4917012345", &asker), NOW, &mut random);
        given += usize::from(one.is_some());
    }
    assert_eq!((given, all.of_asker.len()), (MOST / 4, 1));
    assert!(
        all.give(&wish("4917012345", "33610"), NOW, &mut random)
            .is_some()
    );
}

#[test]
fn what_another_node_gives_is_known_here() {
    let (mut here, mut there) = (MtCorrelations::default(), MtCorrelations::default());
    let given = there.give(&wish("4917012345", "33600"), NOW, counter());
    let given = given.expect("room");
    here.learn(given.clone(), NOW);
    assert_eq!(here.find(&given.id, NOW), Some(&given));
    // Asked here, it is the same one.
    let own = here.give(&wish("4917012345", "33600"), NOW, || 1);
    assert_eq!(own.map(|own| own.id), Some(given.id.clone()));
    let old = MtCorrelation {
        id: "262019999999999".to_owned(),
        until: NOW,
        ..given
    };
    here.learn(old.clone(), NOW);
    assert_eq!((here.find(&old.id, NOW - 1), here.len()), (None, 1));
}

/// The clock of another node is a year ahead, and our own one was until a moment ago.
#[test]
fn ids_of_a_clock_that_was_ahead_are_over_when_it_is_right_again() {
    const YEAR: i64 = 365 * CORRELATION_LIFE_MAX;
    let mut all = MtCorrelations::default();
    let ahead = CorrelationWish {
        until: NOW + YEAR + LIFE,
        ..wish("4917012345", "33600")
    };
    let given = all.give(&ahead, NOW + YEAR, counter()).expect("room");
    assert_eq!(all.find(&given.id, NOW + YEAR), Some(&given));
    assert_eq!(all.find(&given.id, NOW), None);
    let mut random = || 42;
    assert!(
        all.give(&wish("4917099999", "44770"), NOW, &mut random)
            .is_some()
    );
    assert_eq!((all.len(), all.due.len(), all.of_asker.len()), (1, 1, 1));
    all.learn(given.clone(), NOW);
    assert!(all.find(&given.id, NOW).is_some());
    assert_eq!(all.find(&given.id, NOW + CORRELATION_LIFE_MAX), None);
}

#[test]
fn what_another_node_says_late_shortens_no_life() {
    let mut all = MtCorrelations::default();
    let given = all.give(&wish("4917012345", "33600"), NOW, counter());
    let given = given.expect("room");
    let earlier = MtCorrelation {
        until: given.until - 1,
        ..given.clone()
    };
    all.learn(earlier, NOW);
    assert_eq!(all.find(&given.id, NOW), Some(&given));
}

proptest! {
    /// Whatever is asked, an id is an IMSI of the network, stands for the number that was asked for, and shows nothing of it.
    #[test]
    fn each_id_is_an_imsi_of_the_network_and_leads_back(
        network in "[0-9]{5,6}",
        questions in prop::collection::vec(("[1-9][0-9]{6,14}", "[0-9]{0,12}", 0_i64..400_000), 1..60),
        seed in any::<u64>(),
    ) {
        let (mut all, mut state) = (MtCorrelations::default(), seed);
        let mut random = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            state >> 11
        };
        let mut now = NOW;
        for (msisdn, asked_by, pause) in &questions {
            now += pause;
            let wish = CorrelationWish {
                network: &network,
                msisdn,
                asked_by,
                until: now + LIFE,
                most: 1_000,
            };
            let given = all.give(&wish, now, &mut random).expect("room");
            prop_assert_eq!(given.id.len(), 15);
            prop_assert!(given.id.starts_with(&network));
            prop_assert!(given.id.bytes().all(|octet| octet.is_ascii_digit()));
            prop_assert_eq!(all.find(&given.id, now), Some(&given));
            prop_assert_eq!(&given.msisdn, msisdn);
            prop_assert_eq!(all.find(&given.id, now + LIFE), None);
            prop_assert_eq!(all.by_id.len(), all.due.len());
            prop_assert_eq!(all.by_id.len(), all.of_asker.values().sum::<usize>());
        }
        // The digits are those of the generator and of nothing else: another number would have got the same.
        let mut other = MtCorrelations::default();
        let wish = |msisdn| CorrelationWish { network: &network, msisdn, asked_by: "1", until: now + LIFE, most: 4 };
        let first = other.give(&wish("49170"), now, || seed).unwrap().id;
        let second = MtCorrelations::default().give(&wish("33612345"), now, || seed).unwrap().id;
        prop_assert_eq!(first, second);
    }
}
