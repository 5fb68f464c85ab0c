//! Messages of handsets, in all versions of MAP: to an ESME, to another handset, and refused with the errors of MAP.

use bytes::Bytes;
use serde_json::{Value, json};
use smsc::sms::tpdu::{SmsCommand, Tpdu, TpduAddress};

use super::{MapTown, NEVER};
use crate::harness::map::hex;
use crate::harness::{from_handset, until};

/// sm-DeliveryFailure, dataMissing (TS 29.002 §17.6.6).
const DELIVERY_FAILURE: u8 = 32;
const DATA_MISSING: u8 = 35;

/// It was taken, with a report or without.
fn assert_taken(answer: &Value) {
    let is_result = answer.get("result").is_some() && answer.get("error").is_none();
    assert!(is_result && answer["dialogue"] == "end", "{answer}");
}

#[test]
fn a_handset_sends_to_an_esme_and_to_another_handset_in_every_version() {
    let town = MapTown::start(NEVER, "");
    let (sender, _) = town.network.subscriber(1, json!({}));
    let (other, imsi) = town.network.subscriber(2, json!({}));
    let mut esme = town.esme();
    for version in [3, 2, 1] {
        let text = format!("to an ESME by {version}");
        let tpdu = from_handset("12345", &text);
        assert_taken(&town.network.submit(&sender, &tpdu, version));
        let got = esme.deliver();
        assert_eq!(
            (&got.short_message[..], &got.source_addr[..]),
            (text.as_bytes(), sender.as_bytes())
        );
    }
    for (at, version) in [3, 2, 1].into_iter().enumerate() {
        let tpdu = from_handset(&other, &format!("to a friend by {version}"));
        assert_taken(&town.network.submit(&sender, &tpdu, version));
        let got = town.network.wait_for(&imsi, at + 1);
        assert_eq!(got[at].text, format!("to a friend by {version}"));
        assert_eq!(got[at].from, sender);
    }
    town.assert_content(&["to an ESME by 3", "to an ESME by 1", "to a friend by 2"]);
}

#[test]
fn a_message_of_a_handset_may_follow_an_empty_begin_and_come_in_segments() {
    let town = MapTown::start(NEVER, "");
    let (sender, _) = town.network.subscriber(1, json!({}));
    let mut esme = town.esme();
    // As long as a TPDU may be, so that it needs segments by itself.
    let text = "0123456789".repeat(16);
    let tpdu = from_handset("12345", &text);
    for (empty_begin, segment) in [(true, 0), (false, 0), (false, 40), (true, 60)] {
        let msc = json!({ "segment": segment });
        town.network.node(crate::harness::map::MSC, msc);
        let order = json!({ "msisdn": sender, "tpdu": hex(&tpdu), "version": 3, "empty_begin": empty_begin });
        assert_taken(&town.network.order("submit", order));
        assert_eq!(&esme.deliver().short_message[..], text.as_bytes());
    }
    town.assert_content(&[&text]);
}

#[test]
fn a_handset_is_told_why_its_message_is_refused() {
    let town = MapTown::start(NEVER, "");
    let (sender, _) = town.network.subscriber(1, json!({}));
    let nowhere = from_handset("999", "nowhere");
    for version in [3, 2, 1] {
        let answer = town.network.submit(&sender, &nowhere, version);
        assert_eq!(answer["error"], DELIVERY_FAILURE, "{answer}");
        assert_eq!(answer["cause"], "invalidSME-Address", "{answer}");
    }
    // Half a TPDU.
    let answer = town.network.submit(&sender, &[0x01, 0x02], 3);
    assert_eq!(answer["error"], DATA_MISSING, "{answer}");
    // The metric is per network and RP-cause.
    let counted = |cause: u8| {
        town.smsc.admin().metric(&format!(
            "smsc_gsm_submissions_total{{gsm=\"home\",cause=\"{cause}\"}}"
        ))
    };
    assert_eq!(
        (counted(1), counted(96), counted(0)),
        (Some(3.0), Some(1.0), None)
    );
    let taken = from_handset("12345", "taken");
    assert_taken(&town.network.submit(&sender, &taken, 3));
    assert_eq!(counted(0), Some(1.0));
    town.network.assert_content();
}

#[test]
fn a_handset_deletes_a_message_that_waits() {
    let town = MapTown::start(NEVER, "");
    let (sender, _) = town.network.subscriber(1, json!({}));
    let (other, _) = town
        .network
        .subscriber(2, json!({ "forward": ["absent:1"] }));
    assert_taken(
        &town
            .network
            .submit(&sender, &from_handset(&other, "hello"), 3),
    );
    town.network.wait_for_report(&other, "absentSubscriber");
    let delete = SmsCommand {
        message_reference: 99,
        command_type: 2,
        message_number: 7,
        destination_address: TpduAddress::international(&*other),
        ..SmsCommand::default()
    };
    let delete: Bytes = Tpdu::Command(delete).encode().unwrap().into();
    // The store finds a message a moment after it was accepted.
    until("the message to be deleted", || {
        let answer = town.network.submit(&sender, &delete, 3);
        answer.get("error").is_none().then_some(())
    });
    until("a deleted message", || {
        let found = town.smsc.admin().get("/v1/messages?state=DELETED");
        (found["messages"].as_array().map(Vec::len) == Some(1)).then_some(())
    });
    town.assert_content(&["hello"]);
}
