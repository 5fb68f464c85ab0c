//! Messages of handsets: to an ESME, to another handset, and refused with their causes.

use super::{serving, subscriber};
use crate::harness::{FakeCore, Peer, from_handset, until};
use bytes::Bytes;

#[test]
fn a_handset_sends_to_an_esme_and_to_another_handset() {
    let core = FakeCore::start();
    let smsc = serving(core.address(), "").start();
    core.wait_for_connections(1);
    let (sender, other) = (subscriber(1), subscriber(2));
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    assert_eq!(core.sends(&sender, from_handset("12345", "to an ESME")), 0);
    let got = esme.deliver();
    assert_eq!(
        (&got.short_message[..], &got.source_addr[..]),
        (&b"to an ESME"[..], sender.0.as_bytes())
    );

    assert_eq!(
        core.sends(&sender, from_handset(&other.0, "to a friend")),
        0
    );
    let got = core.wait_for(&other.1, 1);
    assert_eq!(
        (got[0].text.as_str(), &got[0].from),
        ("to a friend", &sender.0)
    );
}

#[test]
fn a_handset_is_told_why_its_message_is_refused() {
    let core = FakeCore::start();
    let smsc = serving(core.address(), "").start();
    core.wait_for_connections(1);
    let sender = subscriber(1);
    assert_eq!(core.sends(&sender, from_handset("999", "nowhere")), 1);
    assert_eq!(core.sends(&sender, Bytes::from_static(&[0x01, 0x02])), 96);
    // Half an SMS-COMMAND.
    assert_eq!(
        core.sends(&sender, Bytes::from_static(&[0x02, 0x01, 0x00])),
        96
    );
    // Both half TPDUs; the metric is per network and cause.
    let counted = |cause: u8| {
        smsc.admin().metric(&format!(
            "smsc_gsm_submissions_total{{gsm=\"home\",cause=\"{cause}\"}}"
        ))
    };
    assert_eq!(
        (counted(1), counted(96), counted(0)),
        (Some(1.0), Some(2.0), None)
    );
    assert_eq!(core.sends(&sender, from_handset("12345", "taken")), 0);
    assert_eq!(counted(0), Some(1.0));
    smsc.admin().put(
        "/v1/gsm/home",
        &serde_json::json!({
            "address": core.address().to_string(), "smsc_address": "49160000",
        }),
    );
    until("the account to be gone", || {
        (core.sends(&sender, from_handset("12345", "x")) == 50).then_some(())
    });
}
