//! Receipts as operators write them (Appendix B and far from it).

use proptest::prelude::*;

use super::*;
use crate::{SubmitSm, Tlvs};

mod odd;

/// 2026-11-21 08:30:00 UTC.
const AT: i64 = 1_795_249_800_000;

fn receipt() -> ReceiptText {
    ReceiptText {
        id: Bytes::from_static(b"0a1b2c3d"),
        sub: 1,
        dlvrd: 1,
        submit_date_ms: Some(AT),
        done_date_ms: Some(AT + 60_000),
        stat: Bytes::from_static(b"DELIVRD"),
        err: Bytes::from_static(b"000"),
        text: Bytes::from_static(b"Hello"),
    }
}

const TEXT: &str = "id:0a1b2c3d sub:001 dlvrd:001 submit date:2611210830 \
    done date:2611210831 stat:DELIVRD err:000 text:Hello";

fn deliver_sm(text: &'static [u8]) -> DeliverSm {
    SubmitSm {
        esm_class: 0x04,
        short_message: Bytes::from_static(text),
        ..SubmitSm::default()
    }
}

#[test]
fn appendix_b_both_ways() {
    assert_eq!(format(&receipt(), false), TEXT.as_bytes());
    assert_eq!(parse(TEXT.as_bytes()), Some(receipt()));
}

#[test]
fn the_text_is_cut_at_twenty_octets() {
    let long = ReceiptText {
        text: Bytes::from_static(b"123456789012345678901234"),
        ..receipt()
    };
    assert!(format(&long, false).ends_with(b"text:12345678901234567890"));
}

#[test]
fn spellings_of_the_field() {
    for text in [
        "ID:0a1b2c3d SUB:001 DLVRD:001 SUBMIT DATE:261121083000 DONE DATE:261121083100 STAT:DELIVRD ERR:000 TEXT:Hello",
        "id:0a1b2c3d sub:001 dlvrd:001 submitdate:2611210830 donedate:2611210831 stat:DELIVRD err:000 text:Hello",
        "id: 0a1b2c3d sub: 001 dlvrd: 001 submit_date: 2611210830 done_date: 2611210831 stat: DELIVRD err: 000 text:Hello",
        "stat:DELIVRD err:000 done date:2611210831 submit date:2611210830 dlvrd:001 sub:001 id:0a1b2c3d text:Hello",
        "\x05\0\x03\x01\x01 garbage, id:0a1b2c3d sub:1 dlvrd:1 submit date:2611210830 done date:2611210831 stat:DELIVRD err:000 Text:Hello",
        "id=0a1b2c3d, sub=001, dlvrd=001, submit date=20261121083000, done date=20261121083100, stat=DELIVRD; err=000; text=Hello",
        "message id:0a1b2c3d sub:001 dlvrd:001 submit date:2611210830 done date:2611210831 status:DELIVRD error:000 text:Hello",
    ] {
        assert_eq!(parse(text.as_bytes()), Some(receipt()), "{text}");
    }
}

#[test]
fn missing_parts_and_odd_codes() {
    let parsed = parse(b"id:77 stat:REJECTD err:0x0A1F_99").unwrap();
    assert_eq!(parsed.id, "77");
    assert_eq!(parsed.err, "0x0A1F_99");
    assert_eq!(parsed.done_date_ms, None);
    assert_eq!(parsed.sub, 0);
    assert_eq!(parse(b"id:77").unwrap().stat, "");
    assert_eq!(parse(b"stat:EXPIRED").unwrap().id, "");
    for text in ["", "hello", "valid:5 instat:9", "text:hello", "id:", "id"] {
        assert_eq!(parse(text.as_bytes()), None, "{text}");
    }
}

#[test]
fn the_message_cannot_overrule_its_receipt() {
    let parsed = parse(b"id:1 stat:EXPIRED err:1 text:id:2 stat:DELIVRD err:0").unwrap();
    assert_eq!(parsed.id, "1");
    assert_eq!(parsed.stat, "EXPIRED");
    assert_eq!(parsed.text, "id:2 stat:DELIVRD err:0");
    let quoted = parse(b"id:1 err:001 text:stat:DELIVRD dlvrd:001").unwrap();
    assert_eq!((&quoted.stat[..], quoted.dlvrd), (&b""[..], 0));
    let early = parse(b"text:hi there id:1 stat:EXPIRED").unwrap();
    assert_eq!(early.text, "hi there ");
    assert_eq!(early.id, "1");
}

#[test]
fn state_words() {
    for state in 0..=9 {
        assert_eq!(state_from_word(state_word(state).as_bytes()), Some(state));
    }
    for (word, state) in [
        ("ACCEPTD", ACCEPTED),
        ("ACCEPTED", ACCEPTED),
        ("ACKED", ACCEPTED),
        ("ENROUTE", ENROUTE),
        ("Delivered", DELIVERED),
        ("delivrd", DELIVERED),
        ("FAILED", UNDELIVERABLE),
        ("UNDELIVERABLE", UNDELIVERABLE),
        ("REJECTD", REJECTED),
        ("REJECTED", REJECTED),
        ("EXPIRED", EXPIRED),
        ("UNKNOWN", UNKNOWN),
        ("2", DELIVERED),
    ] {
        assert_eq!(state_from_word(word.as_bytes()), Some(state), "{word}");
    }
    assert_eq!(state_from_word(b"MAYBE"), None);
    assert_eq!(state_word(200), "UNKNOWN");
}

#[test]
fn which_deliver_sm_is_a_receipt() {
    assert!(is_receipt(&deliver_sm(b"")));
    let mut message = deliver_sm(b"id:1 stat:DELIVRD");
    message.esm_class = 0x40;
    assert!(!is_receipt(&message));
    message.esm_class = 0x20;
    assert!(is_receipt(&message));
    message.esm_class = 0;
    message.tlvs.push(tag::RECEIPTED_MESSAGE_ID, b"1\0");
    assert!(is_receipt(&message));
}

#[test]
fn tlvs_come_before_the_text() {
    let mut message = deliver_sm(b"id:1 stat:EXPIRED err:012 done date:2611210830");
    message.tlvs.push(tag::RECEIPTED_MESSAGE_ID, b"0x01\0");
    message.tlvs.push(tag::MESSAGE_STATE, &[DELIVERED]);
    message.tlvs.push(tag::NETWORK_ERROR_CODE, &[3, 0, 34]);
    let expected = Extracted {
        message_id: Bytes::from_static(b"0x01"),
        text_id: Bytes::from_static(b"1"),
        state: DELIVERED,
        error: Bytes::from_static(b"034"),
        done_at_ms: AT,
        done_in_minutes: true,
        intermediate: false,
        ..Extracted::default()
    };
    assert_eq!(extract(&message, 5), Some(expected.clone()));
    message.short_message = Bytes::new();
    let without_text = Extracted {
        done_at_ms: 5,
        done_in_minutes: false,
        text_id: Bytes::new(),
        ..expected
    };
    assert_eq!(extract(&message, 5), Some(without_text));
}

#[test]
fn text_alone_in_message_payload_in_ucs2_and_behind_a_header() {
    let expected = Extracted {
        message_id: Bytes::from_static(b"0a1b2c3d"),
        state: DELIVERED,
        error: Bytes::from_static(b"000"),
        done_at_ms: AT + 60_000,
        done_in_minutes: true,
        intermediate: false,
        ..Extracted::default()
    };
    let mut payload = deliver_sm(b"");
    payload.tlvs.push(tag::MESSAGE_PAYLOAD, TEXT.as_bytes());
    assert_eq!(extract(&payload, 5), Some(expected.clone()));

    let mut ucs2 = deliver_sm(b"");
    ucs2.data_coding = 8;
    ucs2.short_message = TEXT.bytes().flat_map(|octet| [0, octet]).collect();
    assert_eq!(extract(&ucs2, 5), Some(expected.clone()));

    let mut headed = deliver_sm(b"");
    headed.esm_class |= 0x40;
    headed.short_message = [b"\x05\0\x03\x09\x02\x01", TEXT.as_bytes()].concat().into();
    assert_eq!(extract(&headed, 5), Some(expected));
}

#[test]
fn incomplete_and_intermediate() {
    assert_eq!(extract(&deliver_sm(b"stat:DELIVRD"), 5), None);
    assert_eq!(extract(&deliver_sm(b"id:1"), 5), None);
    let unknown = extract(&deliver_sm(b"id:1 stat:MAYBE"), 5).unwrap();
    assert_eq!((unknown.state, unknown.intermediate), (ENROUTE, true));
    assert_eq!(unknown.word, "MAYBE");
    let counted = extract(&deliver_sm(b"id:1 stat:SENT dlvrd:001"), 5).unwrap();
    assert!(counted.intermediate, "its word is no end");
    let enroute = extract(&deliver_sm(b"id:1 stat:ENROUTE"), 5).unwrap();
    assert!(enroute.intermediate);
    let mut notified = deliver_sm(b"id:1 stat:DELIVRD");
    notified.esm_class = 0x20;
    assert!(extract(&notified, 5).unwrap().intermediate);
}

proptest! {
    #[test]
    fn what_is_written_is_read(
        id in "[A-Za-z0-9-]{1,64}", sub in 0_u32..1000, dlvrd in 0_u32..1000,
        minutes in 0_i64..50_000_000, state in 0_u8..10,
        err in "[A-Za-z0-9]{1,10}", text in "[ -~]{0,20}",
    ) {
        let receipt = ReceiptText {
            id: id.into(), sub, dlvrd,
            submit_date_ms: Some(minutes * 60_000),
            done_date_ms: Some((minutes + 5) * 60_000),
            stat: state_word(state).into(), err: err.into(), text: text.into(),
        };
        prop_assert_eq!(parse(&format(&receipt, false)), Some(receipt));
    }

    #[test]
    fn no_input_panics(
        text in proptest::collection::vec(any::<u8>(), 0..100),
        raw in proptest::collection::vec(any::<u8>(), 0..40),
        esm_class: u8, data_coding: u8,
    ) {
        let _ = parse(&text);
        let message = SubmitSm {
            esm_class, data_coding, short_message: text.into(),
            tlvs: Tlvs::from_raw(raw.into()),
            ..SubmitSm::default()
        };
        let _ = extract(&message, 0);
    }

    #[test]
    fn no_soup_of_keys_panics(text in "(id|sub|submit date|stat|err|text|[ :=_a-z0-9]){0,30}") {
        let _ = parse(text.as_bytes());
    }
}
