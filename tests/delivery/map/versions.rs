//! Peers that speak only version 2 or 1 of MAP: found by themselves, and remembered.

use serde_json::json;

use super::{DELIVERED, MapTown, NEVER, numbered, until_scheduled};
use crate::harness::map::{HLR, MSC, MapNetwork};
use crate::harness::{stat_of, submit};

fn set(network: &MapNetwork, version: u8, old: &str) {
    for node in [HLR, MSC] {
        network.node(node, json!({ "version": version, "old": old }));
    }
}

#[test]
fn peers_of_every_version_get_their_messages_in_it() {
    let cases = [
        (3, "context"),
        (2, "context"),
        (1, "context"),
        (1, "p_abort"),
    ];
    for (version, old) in cases {
        let town = MapTown::start(NEVER, "route_cache = \"0s\"");
        set(&town.network, version, old);
        let (number, imsi) = town.network.subscriber(1, json!({}));
        let mut esme = town.esme();
        for at in 1..=3 {
            let text = format!("hello {at}");
            let id = esme.submit(submit(&number, &text));
            assert_eq!(stat_of(&esme.deliver()), (id, DELIVERED));
            assert_eq!(town.network.texts(&imsi).len(), at);
        }
        let taken = town.network.taken(&imsi);
        assert!(taken.iter().all(|one| one.version == version), "{taken:?}");

        // Each node was asked once in each version that it does not have; then its version was remembered.
        for node in [HLR, MSC] {
            let asked: Vec<u8> = (town.network.dialogues_with(node).iter())
                .map(|one| one.version)
                .collect();
            for higher in version + 1..=3 {
                let in_vain = asked.iter().filter(|one| **one == higher).count();
                assert!(in_vain <= 1, "{node} of version {version}: {asked:?}");
            }
            let served = asked.iter().filter(|one| **one == version).count();
            assert_eq!(served, 3, "{node} of version {version}: {asked:?}");
        }
        town.assert_content(&["hello 1", "hello 3"]);
    }
}

#[test]
fn a_run_goes_in_one_dialogue_in_version_2_and_in_several_in_version_1() {
    for version in [2, 1] {
        let town = MapTown::start(NEVER, "");
        set(&town.network, version, "p_abort");
        let (number, imsi) = town.network.subscriber(1, json!({ "forward": ["absent"] }));
        let mut esme = town.esme();
        for text in numbered(4) {
            esme.submit(submit(&number, &text));
        }
        until_scheduled(&town.smsc, 4);
        let told = if version == 1 {
            "unsaid"
        } else {
            "absentSubscriber"
        };
        town.network.wait_for_report(&number, told);
        town.network.release(&number);
        town.network.wait_for(&imsi, 4);
        let taken = town.network.taken(&imsi);
        let texts: Vec<&str> = taken.iter().map(|one| one.text.as_str()).collect();
        assert_eq!(texts, numbered(4));
        let mut dialogues: Vec<usize> = taken.iter().map(|one| one.dialogue).collect();
        dialogues.dedup();
        assert_eq!(dialogues.len(), if version == 2 { 1 } else { 4 });
        let more: Vec<bool> = taken.iter().map(|one| one.more).collect();
        let expected = if version == 2 {
            [true, true, true, false]
        } else {
            [false; 4]
        };
        assert_eq!(more, expected);
        town.assert_content(&["number 0", "number 3"]);
    }
}

#[test]
fn no_version_is_tried_that_is_higher_than_configured() {
    let town = MapTown::start(NEVER, "version = 2");
    let (number, imsi) = town.network.subscriber(1, json!({}));
    let mut esme = town.esme();
    let id = esme.submit(submit(&number, "hello"));
    assert_eq!(stat_of(&esme.deliver()), (id, DELIVERED));
    assert_eq!(town.network.taken(&imsi)[0].version, 2);
    let dialogues = town.network.dialogues();
    assert!(dialogues.iter().all(|one| one.version == 2));
    town.assert_content(&["hello"]);
}

#[test]
fn a_peer_that_was_upgraded_is_spoken_to_in_its_new_version_after_a_while() {
    let town = MapTown::start(NEVER, "version_memory = \"300ms\"");
    set(&town.network, 1, "p_abort");
    let (number, imsi) = town.network.subscriber(1, json!({}));
    let mut esme = town.esme();
    let mut send = || {
        esme.submit(submit(&number, "hello"));
        assert_eq!(stat_of(&esme.deliver()).1, DELIVERED);
        town.network.taken(&imsi).last().unwrap().version
    };
    assert_eq!(send(), 1);
    set(&town.network, 3, "p_abort");
    crate::harness::until("version 3 again", || (send() == 3).then_some(()));
    town.assert_content(&["hello"]);
}
