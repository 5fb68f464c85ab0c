//! What SCCP returns (UDTS): the message is tried again, under the name of the cause.

use serde_json::json;

use super::{DELIVERED, MapTown, SOON};
use crate::harness::map::{HLR, MSC};
use crate::harness::{stat_of, submit};

#[test]
fn a_message_to_a_node_that_nobody_knows_the_way_to_is_tried_again() {
    let town = MapTown::start(SOON, "");
    let (number, imsi) = town.network.subscriber(1, json!({ "msc": "491799999" }));
    let mut esme = town.esme();
    let id = esme.submit(submit(&number, "hello"));
    town.until_tried(&id, "SCCP_NO_TRANSLATION");
    assert!(town.network.count("returned") > 0);
    town.network.subscriber(1, json!({ "msc": MSC }));
    town.network.wait_for(&imsi, 1);
    assert_eq!(stat_of(&esme.deliver()), (id, DELIVERED));
    town.assert_content(&["hello"]);
}

#[test]
fn every_cause_of_a_return_has_its_name() {
    let town = MapTown::start(SOON, "");
    let mut esme = town.esme();
    let cases = [
        (HLR, 3, "SCCP_SUBSYSTEM_FAILURE"),
        (HLR, 4, "SCCP_UNEQUIPPED_USER"),
        (MSC, 5, "SCCP_MTP_FAILURE"),
        (MSC, 6, "SCCP_NETWORK_CONGESTION"),
    ];
    for (at, (node, cause, status)) in cases.into_iter().enumerate() {
        town.network
            .node(node, json!({ "mood": format!("udts:{cause}") }));
        let (number, imsi) = town.network.subscriber(at, json!({}));
        let id = esme.submit(submit(&number, "hello"));
        town.until_tried(&id, status);
        town.network.node(node, json!({ "mood": null }));
        town.network.wait_for(&imsi, 1);
        assert_eq!(stat_of(&esme.deliver()), (id, DELIVERED));
    }
    // sccp.message_type 10 is UDTS; tshark reads what it returns as ours.
    assert!(town.reading().packets("sccp.message_type == 0x0a") >= cases.len());
    town.assert_content(&["hello"]);
}
