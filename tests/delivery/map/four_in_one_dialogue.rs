//! Up to four messages of a subscriber go in one dialogue, which is counted on the wire.

use std::collections::BTreeMap;

use serde_json::json;

use super::{MapTown, NEVER, numbered, until_scheduled};
use crate::harness::map::{HLR, MSC, MapReading, ROUTING};
use crate::harness::{submit, until};

/// How many mt-forwardSM each transaction of ours carries, by its number, and those that announce more.
fn forwards(reading: &MapReading) -> BTreeMap<String, (usize, usize)> {
    let fields = ["tcap.otid", "gsm_map.sm.moreMessagesToSend_element"];
    let filter = "gsm_old.invoke_element && gsm_old.localValue == 44";
    let mut found = BTreeMap::new();
    for line in reading.fields(filter, &fields) {
        let (all, more) = found.entry(line[0].clone()).or_insert((0, 0));
        *all += 1;
        *more += usize::from(!line[1].is_empty());
    }
    found
}

/// Messages that wait until the subscriber is there, and then go together.
fn all_at_once(town: &MapTown, count: usize) -> String {
    let (number, imsi) = town
        .network
        .subscriber(1, json!({ "forward": ["absent:1"] }));
    let mut esme = town.esme();
    for text in numbered(count) {
        esme.submit(submit(&number, &text));
    }
    until_scheduled(&town.smsc, count as u64);
    town.network.wait_for_report(&number, "absentSubscriber");
    town.network.order("clear", json!({}));
    town.network.release(&number);
    town.network.wait_for(&imsi, count);
    assert_eq!(town.network.texts(&imsi), numbered(count));
    imsi
}

#[test]
fn four_messages_go_in_one_dialogue_and_the_fifth_in_the_next() {
    let town = MapTown::start(NEVER, "");
    let imsi = all_at_once(&town, 5);
    let taken = town.network.taken(&imsi);
    let more: Vec<bool> = taken.iter().map(|one| one.more).collect();
    assert_eq!(more, [true, true, true, false, false]);
    let first = taken[0].dialogue;
    assert!(taken[..4].iter().all(|one| one.dialogue == first));
    assert_ne!(taken[4].dialogue, first);
    // The HLR is asked for each run.
    assert_eq!(town.network.asked(HLR, ROUTING), 2);

    // And on the wire: an attempt in vain, four in one transaction of which three announce more, one by itself.
    let mut counted: Vec<(usize, usize)> = forwards(&town.reading()).into_values().collect();
    counted.sort_unstable();
    let sizes: Vec<usize> = counted.iter().map(|(all, _)| *all).collect();
    assert_eq!(sizes, [1, 1, 4]);
    assert_eq!(counted[2].1, 3, "messages that announce more");
    let continues = "tcap.continue_element && gsm_old.invoke_element && gsm_old.localValue == 44";
    assert_eq!(town.reading().packets(continues), 3);
    town.assert_content(&["number 0", "number 4"]);
}

#[test]
fn a_run_is_as_long_as_it_is_configured() {
    let town = MapTown::start(&format!("run = 2\n{NEVER}"), "");
    let imsi = all_at_once(&town, 4);
    let dialogues: Vec<usize> = (town.network.taken(&imsi).iter())
        .map(|one| one.dialogue)
        .collect();
    assert!(dialogues[0] == dialogues[1] && dialogues[2] == dialogues[3]);
    assert_ne!(dialogues[0], dialogues[2]);
    town.assert_content(&["number 0", "number 3"]);
}

#[test]
fn no_dialogue_stays_open_when_nothing_follows_what_was_announced() {
    let town = MapTown::start(NEVER, "");
    let (number, imsi) = town
        .network
        .subscriber(1, json!({ "forward": ["absent:1"] }));
    let mut esme = town.esme();
    let ids: Vec<String> = (numbered(2).iter())
        .map(|text| esme.submit(submit(&number, text)))
        .collect();
    until_scheduled(&town.smsc, 2);
    let slowly = json!({ "msisdn": number, "forward": ["slow:2", "ok"] });
    town.network.order("subscriber", slowly);
    town.network.order("alert", json!({ "msisdn": number }));
    until("the first one under way", || {
        let came = town.network.messages(Some(&imsi));
        came.iter().any(|one| one.outcome == "slow:2").then_some(())
    });
    // What was announced may be withdrawn before it goes.
    let cancel = format!("/v1/messages/{}/cancel", ids[1]);
    town.smsc.admin().post(&cancel);
    for id in &ids {
        town.smsc.wait_for_final(id);
    }
    until("the end of all dialogues", || {
        (town.network.count("open") == 0).then_some(())
    });
    let with_msc = town.network.dialogues_with(MSC);
    assert!(with_msc.iter().all(|one| one.ended.is_some()));
    town.assert_content(&["number 0"]);
}
