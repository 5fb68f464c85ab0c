//! A subscriber with an MSC and an SGSN: the order of the two is configured, and the other one is tried after an absence.

use serde_json::json;

use super::{DELIVERED, MapTown, NEVER, until_scheduled};
use crate::harness::map::{MSC, SGSN};
use crate::harness::{stat_of, submit};

const AT_BOTH: &str = "at both";

/// Nodes in the order in which they were asked for a message to a subscriber at both, with the outcomes there.
fn asked(order: &str, outcomes: &serde_json::Value) -> (Vec<String>, bool) {
    let town = MapTown::start(NEVER, &format!("serving_nodes = {order}"));
    let mut keys = json!({ "sgsn": SGSN });
    for (key, value) in outcomes.as_object().unwrap() {
        keys[key] = value.clone();
    }
    let (number, imsi) = town.network.subscriber(1, keys);
    let mut esme = town.esme();
    let id = esme.submit(submit(&number, AT_BOTH));
    let is_away = |key: &str| outcomes[key] == json!(["absent:1"]);
    let is_nowhere = is_away("forward_msc") && is_away("forward_sgsn");
    if is_nowhere {
        until_scheduled(&town.smsc, 1);
    } else {
        assert_eq!(stat_of(&esme.deliver()), (id, DELIVERED));
    }
    town.assert_content(&[AT_BOTH]);
    let came = town.network.messages(Some(&imsi));
    let reported = !town.network.reports().is_empty();
    (came.into_iter().map(|one| one.node).collect(), reported)
}

#[test]
fn the_first_node_is_asked_first_and_the_other_one_after_an_absence() {
    let here = json!({});
    let away = |key: &str| json!({ key: ["absent:1"] });
    let both = r#"["msc", "sgsn"]"#;
    assert_eq!(asked(both, &here).0, [MSC]);
    assert_eq!(asked(r#"["sgsn", "msc"]"#, &here).0, [SGSN]);
    assert_eq!(asked(both, &away("forward_msc")).0, [MSC, SGSN]);
    assert_eq!(
        asked(r#"["sgsn", "msc"]"#, &away("forward_sgsn")).0,
        [SGSN, MSC]
    );
    // Away at both: then the HLR is told.
    let nowhere = json!({ "forward_msc": ["absent:1"], "forward_sgsn": ["absent:1"] });
    let (nodes, reported) = asked(both, &nowhere);
    assert_eq!(
        (nodes, reported),
        (vec![MSC.to_owned(), SGSN.to_owned()], true)
    );
}

#[test]
fn a_subscriber_at_the_sgsn_alone_gets_messages_there() {
    let town = MapTown::start(NEVER, "");
    let (number, imsi) = town
        .network
        .subscriber(1, json!({ "msc": null, "sgsn": SGSN }));
    let mut esme = town.esme();
    let id = esme.submit(submit(&number, "by packets"));
    assert_eq!(stat_of(&esme.deliver()), (id, DELIVERED));
    assert_eq!(town.network.wait_for(&imsi, 1)[0].node, SGSN);
    town.assert_content(&["by packets"]);
}

#[test]
fn a_subscriber_whose_place_the_hlr_does_not_know_is_waited_for() {
    let town = MapTown::start(NEVER, "");
    let (number, imsi) = town.network.subscriber(1, json!({ "msc": null }));
    let mut esme = town.esme();
    let id = esme.submit(submit(&number, "to one who is nowhere"));
    until_scheduled(&town.smsc, 1);
    assert_eq!(town.message(&id)["state"], "ENROUTE");
    town.network.subscriber(1, json!({ "msc": MSC }));
    town.network.order("alert", json!({ "msisdn": number }));
    town.network.wait_for(&imsi, 1);
    town.assert_content(&["to one who is nowhere"]);
}
