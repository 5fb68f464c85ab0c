//! Messages for a handset that is away wait until the HLR says that it is there.

use serde_json::{Value, json};

use super::{DELIVERED, MapTown, NEVER, SOON, numbered, until_scheduled};
use crate::harness::map::CENTRE;
use crate::harness::{stat_of, submit, until};

/// What the HLR knows of those who wait for a subscriber.
fn waiting(town: &MapTown, number: &str) -> Value {
    town.network.order("waiting", json!({ "msisdn": number }))
}

#[test]
fn what_waits_for_a_handset_goes_out_in_order_when_the_hlr_says_that_it_is_there() {
    let town = MapTown::start(NEVER, "");
    let (number, imsi) = town
        .network
        .subscriber(1, json!({ "forward": ["absent:1"] }));
    let (other, other_imsi) = town.network.subscriber(2, json!({}));
    let mut esme = town.esme();
    let ids: Vec<String> = (numbered(10).iter())
        .map(|text| esme.submit(submit(&number, text)))
        .collect();
    esme.submit(submit(&other, "meanwhile"));
    town.network.wait_for(&other_imsi, 1);
    until_scheduled(&town.smsc, 10);
    assert!(
        ids.iter()
            .any(|id| super::attempts(&town.message(id)) == ["MAP_ABSENT_IMSI_DETACHED"])
    );
    let tried = town.network.messages(Some(&imsi)).len();
    assert_eq!(tried, 1, "the others were not even tried");
    town.network.wait_for_report(&number, "absentSubscriber");
    let known = json!({ "waiting": [CENTRE], "flags": ["mnrf"] });
    until("the HLR to know who waits", || {
        (waiting(&town, &number) == known).then_some(())
    });

    let answers = town.network.release(&number);
    assert_eq!(answers, [json!({ "dialogue": "end", "result": null })]);
    town.network.wait_for(&imsi, 10);
    assert_eq!(town.network.texts(&imsi), numbered(10));
    let told: Vec<u32> = (0..11).map(|_| stat_of(&esme.deliver()).1).collect();
    assert_eq!(told, [DELIVERED; 11]);
    assert_eq!(town.network.count("overlaps"), 0);
    town.assert_content(&["number 0", "number 9", "meanwhile"]);
}

#[test]
fn an_alert_of_version_1_needs_no_answer_and_does_the_same() {
    let town = MapTown::start(NEVER, "");
    let (number, imsi) = town
        .network
        .subscriber(1, json!({ "forward": ["absent", "ok"] }));
    let mut esme = town.esme();
    esme.submit(submit(&number, "hello"));
    until_scheduled(&town.smsc, 1);
    let alert = json!({ "msisdn": number, "version": 1 });
    town.network.order("alert", alert);
    town.network.wait_for(&imsi, 1);
    // One about a subscriber for whom nothing waits is answered, too.
    let alert = json!({ "msisdn": "4916999999" });
    let answer = town.network.order("alert", alert);
    assert_eq!(answer, json!({ "dialogue": "end", "result": null }));
    town.assert_content(&["hello"]);
}

#[test]
fn a_handset_that_the_hlr_says_is_away_is_waited_for_and_nobody_is_asked_to_page_it() {
    let town = MapTown::start(NEVER, "");
    let (number, imsi) = town.network.subscriber(1, json!({ "sri": ["absent:5"] }));
    let mut esme = town.esme();
    let id = esme.submit(submit(&number, "hello"));
    until_scheduled(&town.smsc, 1);
    town.until_tried(&id, "MAP_ABSENT_NO_PAGING_RESPONSE_SGSN");
    assert_eq!(town.network.messages(Some(&imsi)).len(), 0);
    town.network.subscriber(1, json!({ "sri": ["ok"] }));
    town.network.order("alert", json!({ "msisdn": number }));
    town.network.wait_for(&imsi, 1);
    assert_eq!(stat_of(&esme.deliver()), (id, DELIVERED));
    town.assert_content(&["hello"]);
}

#[test]
fn a_handset_that_was_away_once_gets_its_message_at_the_next_attempt() {
    // The HLR never says anything.
    let town = MapTown::start(SOON, "report_delivery = false");
    let (number, imsi) = town
        .network
        .subscriber(1, json!({ "forward": ["absent:0", "ok"] }));
    let mut esme = town.esme();
    let id = esme.submit(submit(&number, "hello"));
    town.until_tried(&id, "MAP_ABSENT_NO_PAGING_RESPONSE_MSC");
    town.network.wait_for(&imsi, 1);
    assert_eq!(stat_of(&esme.deliver()), (id, DELIVERED));
    assert!(town.network.reports().is_empty());
    town.assert_content(&["hello"]);
}

#[test]
fn the_hlr_hears_when_a_delivery_that_it_knew_of_has_succeeded() {
    let town = MapTown::start(SOON, "");
    let (number, imsi) = town
        .network
        .subscriber(1, json!({ "forward": ["absent:1", "ok"] }));
    let mut esme = town.esme();
    esme.submit(submit(&number, "hello"));
    town.network.wait_for(&imsi, 1);
    town.network.wait_for_report(&number, "absentSubscriber");
    town.network.wait_for_report(&number, "successfulTransfer");
    until("the HLR to keep no flags", || {
        (waiting(&town, &number)["flags"] == json!([])).then_some(())
    });
    town.assert_content(&["hello"]);
}
