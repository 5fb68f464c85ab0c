//! An HLR that says nothing: its time ends, the run is tried again, and others are not held up for longer than that.

use serde_json::json;

use super::{DELIVERED, MapTown, NEVER, SHORT_TIMERS, SOON};
use crate::harness::map::HLR;
use crate::harness::{stat_of, submit};

#[test]
fn messages_wait_while_the_hlr_is_silent_and_go_out_in_order_when_it_speaks() {
    let town = MapTown::start(SOON, SHORT_TIMERS);
    let (number, imsi) = town.network.subscriber(1, json!({}));
    town.network.node(HLR, json!({ "mood": "silent" }));
    let mut esme = town.esme();
    let texts = super::numbered(5);
    let ids: Vec<String> = (texts.iter())
        .map(|text| esme.submit(submit(&number, text)))
        .collect();
    town.until_tried(&ids[0], "MAP_NO_ANSWER_OF_HLR");
    assert_eq!(town.network.count("messages"), 0);
    town.network.node(HLR, json!({ "mood": null }));
    town.network.wait_for(&imsi, 5);
    assert_eq!(town.network.texts(&imsi), texts);
    let told: Vec<u32> = (0..5).map(|_| stat_of(&esme.deliver()).1).collect();
    assert_eq!(told, [DELIVERED; 5]);
    town.assert_content(&["number 0", "number 4"]);
}

#[test]
fn an_hlr_that_is_silent_about_one_subscriber_holds_nobody_else_up() {
    let town = MapTown::start(&format!("window = 1\n{NEVER}"), SHORT_TIMERS);
    let (number, imsi) = town.network.subscriber(1, json!({ "sri": ["silent"] }));
    let (other, other_imsi) = town.network.subscriber(2, json!({}));
    let mut esme = town.esme();
    let id = esme.submit(submit(&number, "hello"));
    esme.submit(submit(&other, "hello"));
    town.network.wait_for(&other_imsi, 1);
    town.until_tried(&id, "MAP_NO_ANSWER_OF_HLR");
    assert_eq!(town.network.messages(Some(&imsi)).len(), 0);
    town.assert_content(&["hello"]);
}

#[test]
fn a_late_answer_of_the_hlr_is_no_answer_to_the_next_question() {
    let town = MapTown::start(SOON, SHORT_TIMERS);
    let (number, imsi) = town.network.subscriber(1, json!({}));
    town.network.node(HLR, json!({ "delay": 4.0 }));
    let mut esme = town.esme();
    let id = esme.submit(submit(&number, "hello"));
    town.until_tried(&id, "MAP_NO_ANSWER_OF_HLR");
    town.network.node(HLR, json!({ "delay": 0.0 }));
    town.network.wait_for(&imsi, 1);
    assert_eq!(stat_of(&esme.deliver()), (id, DELIVERED));
    assert_eq!(town.network.texts(&imsi), ["hello"]);
    town.assert_content(&["hello"]);
}
