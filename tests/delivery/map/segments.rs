//! Answers in segments (XUDT), and long messages of our own in segments.

use serde_json::json;

use super::{DELIVERED, MapTown, NEVER};
use crate::harness::map::{HLR, MSC};
use crate::harness::{stat_of, submit, until};

#[test]
fn answers_in_segments_are_put_together() {
    let town = MapTown::start(NEVER, "");
    let mut esme = town.esme();
    // As small as 16 segments allow, and some larger ones.
    for (at, segment) in [12, 30, 60].into_iter().enumerate() {
        for node in [HLR, MSC] {
            town.network.node(node, json!({ "segment": segment }));
        }
        let (number, imsi) = town.network.subscriber(at, json!({}));
        let id = esme.submit(submit(&number, "in pieces"));
        assert_eq!(stat_of(&esme.deliver()), (id, DELIVERED));
        assert_eq!(town.network.texts(&imsi), ["in pieces"]);
    }
    // tshark puts them together, too.
    assert!(town.reading().packets("sccp.message_type == 0x11") > 6);
    assert!(town.reading().packets("sccp.msg.fragments && tcap") >= 6);
    town.assert_content(&["in pieces"]);
}

#[test]
fn what_is_longer_than_one_unitdata_goes_in_segments() {
    let town = MapTown::start(NEVER, "unitdata_octets = 100");
    let (number, imsi) = town.network.subscriber(1, json!({}));
    let mut esme = town.esme();
    let text = "0123456789".repeat(15);
    let id = esme.submit(submit(&number, &text));
    assert_eq!(stat_of(&esme.deliver()), (id, DELIVERED));
    assert_eq!(town.network.texts(&imsi), [&*text]);
    assert!(town.network.count("reassembled") > 0);
    town.assert_content(&[&text]);
}

#[test]
fn segments_that_never_end_disturb_nobody() {
    let town = MapTown::start(NEVER, "");
    // First segments, of many references, of an XUDT with 15 to follow (Q.713 §4.18): called and calling address by SSN 8,
    // one octet of data, and the option.
    let first = |reference: u32| {
        let [_, a, b, c] = reference.to_be_bytes();
        format!("11810f04060809024208024208016210048f{a:02x}{b:02x}{c:02x}00")
    };
    let segments: Vec<String> = (0..5_000).map(first).collect();
    town.network.order("raw", json!({ "sccp": segments }));
    let (number, imsi) = town.network.subscriber(1, json!({}));
    let mut esme = town.esme();
    esme.submit(submit(&number, "hello"));
    town.network.wait_for(&imsi, 1);
    town.smsc.assert_no_panic();
}

#[test]
fn what_nobody_can_read_disturbs_nobody() {
    let town = MapTown::start(NEVER, "");
    // A UDT with each of these as its data: nothing, an end without a number, an unknown type, a begin that is cut off,
    // a continue and an abort of transactions that nobody has, a length that lies, indefinite lengths without an end.
    let data = [
        "",
        "6400",
        "7f05aabbccddee",
        "62434804000000016b1e281c0607001186",
        "650c480400000001490477777777",
        "670649047777777700",
        "62844804000000",
        "628048040000000180808080",
    ];
    for hexadecimal in data {
        let length = hexadecimal.len() / 2;
        let sccp = format!("0981030508024208024208{length:02x}{hexadecimal}");
        town.network.order("raw", json!({ "sccp": sccp }));
    }
    // And what is no SCCP.
    for sccp in ["", "09", "ff00112233", "0981ffffff", "11810f04060808024208"] {
        town.network.order("raw", json!({ "sccp": sccp }));
    }
    let (number, imsi) = town.network.subscriber(1, json!({}));
    let mut esme = town.esme();
    esme.submit(submit(&number, "hello"));
    town.network.wait_for(&imsi, 1);
    until("no dialogue of anybody", || {
        (town.network.count("open") == 0).then_some(())
    });
    town.smsc.assert_no_panic();
}
