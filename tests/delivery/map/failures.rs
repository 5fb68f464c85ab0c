//! What else goes wrong with one message or one node: aborts, refusals, errors of one message of a run.

use serde_json::json;

use super::{DELIVERED, MapTown, NEVER, SHORT_TIMERS, SOON, numbered, until_scheduled};
use crate::harness::map::{HLR, MSC};
use crate::harness::{stat_of, submit, until};

#[test]
fn a_failure_of_one_message_holds_up_none_of_its_run() {
    let town = MapTown::start(NEVER, "");
    let (number, imsi) = town
        .network
        .subscriber(1, json!({ "forward": ["absent:1"] }));
    let mut esme = town.esme();
    let ids: Vec<String> = (numbered(4).iter())
        .map(|text| esme.submit(submit(&number, text)))
        .collect();
    until_scheduled(&town.smsc, 4);
    // The first one of the run is the culprit of its own failure, once.
    let order = json!({ "msisdn": number, "forward": ["protocol_error", "ok"] });
    town.network.order("subscriber", order);
    town.network.order("alert", json!({ "msisdn": number }));
    town.network.wait_for(&imsi, 3);
    assert_eq!(town.network.texts(&imsi), numbered(4)[1..]);
    town.until_tried(&ids[0], "MAP_EQUIPMENT_PROTOCOL_ERROR");
    assert_eq!(town.message(&ids[0])["state"], "ENROUTE");
    for _ in 1..4 {
        assert_eq!(stat_of(&esme.deliver()).1, DELIVERED);
    }
    town.assert_content(&["number 0", "number 3"]);
}

#[test]
fn an_msc_that_would_go_on_after_an_error_gets_the_rest() {
    let town = MapTown::start(NEVER, "");
    town.network.node(MSC, json!({ "keeps_on": true }));
    let (number, imsi) = town
        .network
        .subscriber(1, json!({ "forward": ["absent:1"] }));
    let mut esme = town.esme();
    for text in numbered(4) {
        esme.submit(submit(&number, &text));
    }
    until_scheduled(&town.smsc, 4);
    let order = json!({ "msisdn": number, "forward": ["protocol_error", "ok"] });
    town.network.order("subscriber", order);
    town.network.order("alert", json!({ "msisdn": number }));
    town.network.wait_for(&imsi, 3);
    assert_eq!(town.network.texts(&imsi), numbered(4)[1..]);
    town.network.assert_content();
}

#[test]
fn a_dialogue_that_is_aborted_or_refused_is_tried_again() {
    let town = MapTown::start(SOON, "route_cache = \"0s\"");
    let mut esme = town.esme();
    let cases = [
        ("abort", "MAP_USER_ABORT"),
        ("p_abort", "TCAP_RESOURCE_LIMITATION"),
        // An earlier version may be tried, the first of which has no words for why.
        ("refuse", "MAP_"),
    ];
    for node in [MSC, HLR] {
        for (at, (mood, status)) in cases.iter().enumerate() {
            town.network.node(node, json!({ "mood": mood }));
            let (number, imsi) = town.network.subscriber(at, json!({}));
            let before = town.network.texts(&imsi).len();
            let id = esme.submit(submit(&number, "hello"));
            until(&format!("{status} for {id}"), || {
                let shown = town.message(&id);
                let tried = super::attempts(&shown);
                tried
                    .iter()
                    .any(|one| one.starts_with(status))
                    .then_some(())
            });
            town.network.node(node, json!({ "mood": null }));
            town.network.wait_for(&imsi, before + 1);
            assert_eq!(stat_of(&esme.deliver()), (id, DELIVERED));
        }
    }
    town.assert_content(&["hello"]);
}

#[test]
fn an_operation_that_is_rejected_or_aborted_in_its_dialogue_is_tried_again() {
    let town = MapTown::start(SOON, "");
    let mut esme = town.esme();
    let cases = [
        ("forward", "reject", "MAP_REJECTED"),
        ("forward", "abort", "MAP_USER_ABORT"),
        ("forward", "p_abort", "TCAP_RESOURCE_LIMITATION"),
        ("forward", "system_failure", "MAP_SYSTEM_FAILURE"),
        ("sri", "reject", "MAP_REJECTED"),
        ("sri", "abort", "MAP_USER_ABORT"),
        ("sri", "system_failure", "MAP_SYSTEM_FAILURE"),
    ];
    for (at, (which, outcome, status)) in cases.into_iter().enumerate() {
        let (number, imsi) = town
            .network
            .subscriber(at, json!({ which: [outcome, "ok"] }));
        let id = esme.submit(submit(&number, "hello"));
        town.network.wait_for(&imsi, 1);
        town.until_tried(&id, status);
        assert_eq!(stat_of(&esme.deliver()), (id, DELIVERED));
    }
    town.assert_content(&["hello"]);
}

#[test]
fn an_msc_that_says_nothing_is_tried_again_and_holds_nobody_else_up() {
    let town = MapTown::start(&format!("window = 1\n{SOON}"), SHORT_TIMERS);
    let (number, imsi) = town
        .network
        .subscriber(1, json!({ "forward": ["silent", "ok"] }));
    let (other, other_imsi) = town.network.subscriber(2, json!({}));
    let mut esme = town.esme();
    let id = esme.submit(submit(&number, "hello"));
    town.network.wait_for_count("messages", 1);
    esme.submit(submit(&other, "hello"));
    town.network.wait_for(&other_imsi, 1);
    town.until_tried(&id, "MAP_NO_ANSWER");
    town.network.wait_for(&imsi, 1);
    town.assert_content(&["hello"]);
}

#[test]
fn an_answer_in_time_is_waited_for() {
    let town = MapTown::start(NEVER, "timer_long = \"20s\"");
    let (number, imsi) = town.network.subscriber(1, json!({ "forward": ["slow:3"] }));
    let mut esme = town.esme();
    let id = esme.submit(submit(&number, "hello"));
    assert_eq!(stat_of(&esme.deliver()), (id, DELIVERED));
    assert_eq!(town.network.messages(Some(&imsi)).len(), 1);
    town.assert_content(&["hello"]);
}

#[test]
fn the_report_of_a_handset_is_no_failure() {
    let town = MapTown::start(NEVER, "");
    // An SMS-DELIVER-REPORT without anything but its type and indicator.
    let (number, _) = town
        .network
        .subscriber(1, json!({ "forward": ["report:0000"] }));
    let mut esme = town.esme();
    let id = esme.submit(submit(&number, "hello"));
    assert_eq!(stat_of(&esme.deliver()), (id, DELIVERED));
    town.network.assert_content();
}
