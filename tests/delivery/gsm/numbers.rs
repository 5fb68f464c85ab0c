//! A network rewrites the numbers that its handsets write and see.

use super::*;
use crate::harness::saying;
use bytes::Bytes;
use smsc::sms::tpdu::{SmsCommand, SmsSubmit, Tpdu, TpduAddress, TpduKind, decode};

/// What follows the country code, behind a zero.
const RULES: &str = r#"
rewrite_in = [{ field = "destination", prefix = "0", strip = 1, add = "4916", set_ton = 1, set_npi = 1 }]
rewrite_out = [
  { field = "source", ton = 1, prefix = "4916", strip = 4, add = "0", set_ton = 2 },
  { field = "source", alphanumeric = true, min_length = 12, replace = "12345", set_ton = 3, set_npi = 1 },
]
"#;

fn national(number: &str) -> TpduAddress {
    TpduAddress {
        ton: 2,
        npi: 1,
        text: number.to_owned(),
    }
}

fn to(number: &str, reference: u8) -> Bytes {
    let submit = SmsSubmit {
        message_reference: reference,
        status_report_request: true,
        destination_address: national(number),
        ..SmsSubmit::default()
    };
    saying("hello", submit)
}

#[test]
fn handsets_write_and_see_national_numbers() {
    let core = FakeCore::start();
    let keys = format!("{RULES}{NEVER}");
    let smsc = serving(core.address(), &keys).start();
    core.wait_for_connections(1);
    let (sender, other) = (subscriber(1), subscriber(2));
    assert_eq!(core.sends(&sender, to("0000002", 7)), 0);
    let got = core.wait_for(&other.1, 1);
    assert_eq!((&*got[0].text, &*got[0].from), ("hello", "0000001"));
    // The report has the number as the handset wrote it.
    let report = core.wait_for(&sender.1, 1).remove(0);
    match decode(TpduKind::StatusReport, &report.tpdu) {
        Ok(Tpdu::StatusReport(report)) => {
            assert_eq!(report.recipient_address, national("0000002"));
        }
        other => panic!("{other:?}"),
    }
    let found = smsc.admin().get(&format!("/v1/messages?to={}", other.0));
    assert_eq!(found["messages"].as_array().map(Vec::len), Some(1));
}

#[test]
fn a_handset_orders_about_a_message_by_the_number_that_it_wrote() {
    let core = FakeCore::start();
    let keys = format!("{RULES}{NEVER}");
    let smsc = serving(core.address(), &keys).start();
    core.wait_for_connections(1);
    let (sender, other) = (subscriber(1), subscriber(2));
    core.set(&other.1, Phone::Away(0x0A));
    assert_eq!(core.sends(&sender, to("0000002", 8)), 0);
    core.wait_for_attempts(&other.1, 1);
    let delete = SmsCommand {
        message_reference: 99,
        command_type: 2,
        message_number: 8,
        destination_address: national("0000002"),
        ..SmsCommand::default()
    };
    let delete: Bytes = Tpdu::Command(delete).encode().unwrap().into();
    // The store finds a message a moment after it was accepted.
    until("the message to be deleted", || {
        (core.sends(&sender, delete.clone()) == 0).then_some(())
    });
    until("a deleted message", || {
        let found = smsc.admin().get("/v1/messages?state=DELETED");
        (found["messages"].as_array().map(Vec::len) == Some(1)).then_some(())
    });
}

#[test]
fn a_name_that_no_handset_can_show_becomes_a_number() {
    let core = FakeCore::start();
    let smsc = serving(core.address(), RULES).start();
    core.wait_for_connections(1);
    let (number, imsi) = subscriber(1);
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    for (source, seen) in [("A NAME", "A NAME"), ("A VERY LONG NAME", "12345")] {
        let before = core.texts(&imsi).len();
        let named = smsc::smpp::SubmitSm {
            source_addr_ton: 5,
            source_addr: Bytes::from_static(source.as_bytes()),
            ..submit(&number, "hello")
        };
        esme.submit(named);
        assert_eq!(core.wait_for(&imsi, before + 1)[before].from, seen);
    }
}
