//! Messages to handsets and back: tables with octets, and identities for any text.

mod properties;
mod to_phones;

use bytes::Bytes;

use super::*;
use crate::text_of;
use smsc_config::{LongMessages, UnrepresentableRule};
use smsc_proto::{Address, Message, MessageState, Original, PayloadKind};
use smsc_smpp::{Tlvs, tag};
use smsc_sms::tpdu::{TimeStamp, Tpdu, TpduKind, decode};

/// The time of the first vector: 2002-08-26 19:37:41 UTC.
const AT: TimeStamp = TimeStamp {
    year: 2,
    month: 8,
    day: 26,
    hour: 19,
    minute: 37,
    second: 41,
    zone: 0,
};
/// 2026-11-21 05:30:15 UTC.
const LATER: TimeStamp = TimeStamp {
    year: 26,
    month: 11,
    day: 21,
    hour: 5,
    minute: 30,
    second: 15,
    zone: 0,
};
const PHONE: &str = "447700900123";

fn at(stamp: TimeStamp) -> i64 {
    times::moment(&stamp).unwrap()
}

fn octets(hex: &str) -> Bytes {
    let digits = hex.as_bytes().as_chunks::<2>().0.iter();
    digits
        .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap())
        .collect()
}

fn hex(octets: &[u8]) -> String {
    octets.iter().map(|octet| format!("{octet:02X}")).collect()
}

/// A message of an account to a phone.
fn message(data_coding: u32, text: &[u8]) -> Message {
    Message {
        id: 1 << 60,
        source_ton: 1,
        source_npi: 1,
        source: Bytes::from_static(b"31641600986"),
        dest_ton: 1,
        dest_npi: 1,
        destination: Bytes::from_static(PHONE.as_bytes()),
        accepted_at: at(AT),
        data_coding,
        short_message: Bytes::copy_from_slice(text),
        ..Message::default()
    }
}

fn with_tlv(mut message: Message, tag: u16, value: &[u8]) -> Message {
    let mut tlvs = Tlvs::from_raw(message.tlvs.clone());
    tlvs.push(tag, value);
    message.tlvs = tlvs.raw().clone();
    message
}

fn handsets(policy: UnrepresentableRule, long: LongMessages) -> Handsets {
    let mut handsets = Handsets::default();
    handsets.encoding.policy = policy;
    handsets.encoding.long = long;
    handsets
}

fn read(octets: &Bytes) -> smsc_sms::tpdu::Deliver {
    match decode(TpduKind::Deliver, octets) {
        Ok(Tpdu::Deliver(deliver)) => deliver,
        other => panic!("{other:?}"),
    }
}

#[test]
fn an_sms_submit_has_the_fields_of_smpp_and_stays_as_it_came() {
    let now = at(LATER);
    // To +46708251358, validity 0xAA (4 days), "hellohello" (widely published).
    let given = octets("11000B916407281553F80000AA0AE8329BFD4697D9EC37");
    let (message, submit) = submitted(&given, PHONE, now).unwrap();
    assert_eq!((message.source_ton, message.source_npi), (1, 1));
    assert_eq!(&message.source[..], PHONE.as_bytes());
    assert_eq!((message.dest_ton, message.dest_npi), (1, 1));
    assert_eq!(&message.destination[..], b"46708251358");
    assert_eq!(text_of(&message).as_deref(), Some("hellohello"));
    assert_eq!((message.data_coding, message.esm_class), (0, 0));
    assert_eq!(message.registered_delivery, 0);
    assert_eq!(&message.validity_period[..], b"261125053015000+");
    assert_eq!(message.payload_kind(), PayloadKind::SmsSubmit);
    assert_eq!(message.tpdu, given);
    assert!(!submit.reject_duplicates);
    // Status report wanted, reference 7, short code 12345 of unknown type.
    let given = octets("210705812143F500000D737A985E9F83E0EC72785E06");
    let (message, _) = submitted(&given, PHONE, now).unwrap();
    assert_eq!(message.registered_delivery, 1);
    assert_eq!(&message.destination[..], b"12345");
    assert_eq!(message.dest_ton, 0);
    assert!(message.validity_period.is_empty());
    let reference = Tlvs::from_raw(message.tlvs.clone()).get_uint(tag::USER_MESSAGE_REFERENCE);
    assert_eq!(reference, Some(7));
    // The second of two parts in UCS-2, with a reply path and TP-RD.
    let given = octets(
        "C5000891946100100008200500030002020437043804390430043104320433043404350436043704380439",
    );
    let (message, submit) = submitted(&given, PHONE, now).unwrap();
    assert_eq!((message.data_coding, message.esm_class), (8, 0xC0));
    assert_eq!(
        crate::part_of(&message).map(|part| (part.sequence, part.total)),
        Some((2, 2))
    );
    assert_eq!(text_of(&message).as_deref(), Some("зийабвгдежзий"));
    assert!(submit.reject_duplicates);
}

#[test]
fn an_sms_deliver_of_another_service_centre_is_a_message() {
    let given = octets("040B911346610089F60000208062917314080CC8F71D14969741F977FD07");
    let (message, _) = delivered(&given, PHONE).unwrap();
    assert_eq!(message.kind(), smsc_proto::Kind::Mo);
    assert_eq!(&message.source[..], b"31641600986");
    assert_eq!(&message.destination[..], PHONE.as_bytes());
    assert_eq!(text_of(&message).as_deref(), Some("How are you?"));
    assert_eq!(message.payload_kind(), PayloadKind::SmsDeliver);
    assert_eq!(message.tpdu, given);
    // A name, whose type is 5 in SMPP, too.
    let given = octets("040DD0C8F71D1496970100006211125003510005C8329BFD06");
    let (message, _) = delivered(&given, PHONE).unwrap();
    assert_eq!(
        (message.source_ton, &message.source[..]),
        (5, &b"How are"[..])
    );
    assert!(
        delivered(&octets("010008"), PHONE).is_err(),
        "an SMS-SUBMIT"
    );
}

/// 3GPP TS 23.038 §4 against SMPP 3.4 §5.2.19.
#[test]
fn a_data_coding_scheme_means_the_same_in_smpp() {
    for (dcs, data_coding) in [
        (0x00, 0),
        // Without its bit the class means nothing; in SMPP 1 and 3 are ASCII and Latin-1.
        (0x01, 0),
        (0x03, 0),
        (0x04, 4),
        (0x05, 4),
        (0x08, 8),
        (0x0B, 8),
        // A reserved character set.
        (0x0C, 0),
        (0x10, 0x10),
        (0x18, 0x18),
        (0x20, 0x20),
        (0x40, 0x40),
        // Reserved groups.
        (0x80, 0),
        (0xBF, 0),
        (0xC8, 0xC8),
        (0xE0, 0xE0),
        (0xF5, 0xF5),
    ] {
        let given = octets(&format!("010002812100{dcs:02X}00"));
        let (message, _) = submitted(&given, PHONE, 0).unwrap();
        assert_eq!(message.data_coding, data_coding, "{dcs:#04x}");
    }
}

fn receipt(state: u8) -> Message {
    let told = Message {
        source: Bytes::from_static(b"49160001"),
        accepted_at: at(LATER),
        due_at: at(LATER),
        short_message: Bytes::new(),
        ..message(0, b"")
    };
    let told = with_tlv(told, tag::MESSAGE_STATE, &[state]);
    with_tlv(told, tag::USER_MESSAGE_REFERENCE, &[0, 0x2A])
}

#[test]
fn a_receipt_is_a_status_report_to_a_phone() {
    let to = Handsets::default();
    let written = |receipt: &Message, more| {
        let report = report(receipt, &to, more).unwrap();
        report.map(|octets| hex(&octets))
    };
    // §9.2.3.15: received, expired, deleted by its sender, not obtainable, not confirmed, rejected.
    for (state, status) in [
        (2, "00"),
        (3, "46"),
        (4, "47"),
        (5, "43"),
        (6, "01"),
        (7, "01"),
        (8, "42"),
    ] {
        let expected = format!("062A0891946100106211125003510062111250035100{status}");
        assert_eq!(written(&receipt(state), false), Some(expected));
    }
    let more = written(&receipt(2), true).unwrap();
    assert!(more.starts_with("022A"), "{more}");
    // The done date of its text, which has minutes only.
    let dated = Message {
        short_message: Bytes::from_static(b"id:1 sub:001 dlvrd:001 submit date:2611210530 done date:2611210545 stat:DELIVRD err:000 text:"),
        ..receipt(2)
    };
    let dated = written(&dated, false).unwrap();
    assert!(dated.ends_with("621112500351006211125054000000"), "{dated}");
    assert_eq!(written(&message(0, b"no receipt"), false), None);
}

#[test]
fn a_command_is_about_the_message_that_the_phone_submitted() {
    // Delete (2) the message 7 to 12345, as command 9.
    let given = octets("0209000207058121 43F500".replace(' ', "").as_str());
    let (ordered, command) = order(&given).unwrap();
    assert_eq!(ordered, CommandType::Delete);
    assert_eq!((command.message_reference, command.message_number), (9, 7));
    let submission = octets("210705812143F500000D737A985E9F83E0EC72785E06");
    let (found, _) = submitted(&submission, PHONE, 0).unwrap();
    assert!(is_about(&command, PHONE, &found));
    assert!(!is_about(&command, "447700900124", &found), "another phone");
    // A rule has rewritten the address since.
    let rewritten = Message {
        destination: Bytes::from_static(b"99"),
        original: Some(Box::new(Original {
            source: None,
            destination: Some(Address {
                digits: Bytes::from_static(b"12345"),
                ..Address::default()
            }),
        })),
        ..found.clone()
    };
    assert!(is_about(&command, PHONE, &rewritten));
    let other = Message {
        destination: Bytes::from_static(b"12346"),
        ..found.clone()
    };
    assert!(!is_about(&command, PHONE, &other));
    let smpp = Message {
        payload_kind: 0,
        ..found.clone()
    };
    assert!(!is_about(&command, PHONE, &smpp), "no phone submitted it");
    for (command_type, expected) in [
        ("00", CommandType::Enquire),
        ("01", CommandType::CancelReport),
        ("03", CommandType::WantReport),
        ("04", CommandType::Unknown(4)),
    ] {
        let given = octets(&format!("020900{command_type}070581214 3F500").replace(' ', ""));
        assert_eq!(order(&given).unwrap().0, expected);
    }
    let to = Handsets::default();
    let told = Message {
        accepted_at: at(LATER),
        ..found
    };
    let state = MessageState::Delivered;
    let answered = answer(&command, Some((&told, state)), at(LATER), &to).unwrap();
    assert_eq!(
        hex(&answered),
        "260905812143F5621112500351006211125003510000"
    );
    let none = answer(&command, None, at(LATER), &to).unwrap();
    assert_eq!(hex(&none), "260905812143F5621112500351006211125003510049");
}

/// TS 23.040 §9.2.2.2a: TP-MTI 1, TP-FCS, TP-PI without anything, TP-SCTS.
#[test]
fn a_repetition_is_told_by_its_cause_and_time() {
    // 2026-11-21 05:30:15 UTC, and two hours ahead of it.
    let now = 1_795_239_015_000;
    for (zone, expected) in [(0, "01c50062111250035100"), (8, "01c50062111270035180")] {
        let to = Handsets {
            zone,
            ..Handsets::default()
        };
        let report = status::repeated(now, &to).unwrap();
        let hex: String = report.iter().map(|octet| format!("{octet:02x}")).collect();
        assert_eq!(hex, expected);
    }
}
