//! Receipts as operators write them (Appendix B and far from it).

use proptest::prelude::*;

use super::*;
use crate::smpp::{SubmitSm, Tlvs};

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
    assert_eq!(format(&receipt()), TEXT.as_bytes());
    assert_eq!(parse(TEXT.as_bytes()), Some(receipt()));
}

#[test]
fn the_text_is_cut_at_twenty_octets() {
    let long = ReceiptText {
        text: Bytes::from_static(b"123456789012345678901234"),
        ..receipt()
    };
    assert!(format(&long).ends_with(b"text:12345678901234567890"));
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
        state: DELIVERED,
        error: Bytes::from_static(b"034"),
        done_at_ms: AT,
        intermediate: false,
    };
    assert_eq!(extract(&message, 5), Some(expected.clone()));
    message.short_message = Bytes::new();
    let without_text = Extracted {
        done_at_ms: 5,
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
        intermediate: false,
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
    assert_eq!((unknown.state, unknown.intermediate), (UNKNOWN, false));
    let enroute = extract(&deliver_sm(b"id:1 stat:ENROUTE"), 5).unwrap();
    assert!(enroute.intermediate);
    let mut notified = deliver_sm(b"id:1 stat:DELIVRD");
    notified.esm_class = 0x20;
    assert!(extract(&notified, 5).unwrap().intermediate);
}

/// What receipts of operators look like beyond Appendix B: text, TLVs, what is read.
#[test]
fn odd_forms_are_read() {
    let at = Some(AT + 60_000);
    let cases: &[(&[u8], &[(u16, &[u8])], &str, u8, &str, Option<i64>)] = &[
        // Case, order, spaces, other names of the keys.
        (
            b"Id: 9 Stat: delivrd Err: 0",
            &[],
            "9",
            DELIVERED,
            "0",
            None,
        ),
        (
            b"MessageId=9;Status=Expired;ErrorCode=1A",
            &[],
            "9",
            EXPIRED,
            "1A",
            None,
        ),
        (
            b"stat : UNDELIV  id :9  err : 0A1F",
            &[],
            "9",
            UNDELIVERABLE,
            "0A1F",
            None,
        ),
        (
            b"id:9\r\nstat:REJECTD\r\nerr:E-77\r\n",
            &[],
            "9",
            REJECTED,
            "E-77",
            None,
        ),
        // Parts that are missing or empty.
        (b"id:9 stat:DELIVRD", &[], "9", DELIVERED, "", None),
        (
            b"id:9 sub:001 dlvrd:001 submit date: done date: stat:DELIVRD err: text:",
            &[],
            "9",
            DELIVERED,
            "",
            None,
        ),
        (
            b"id:9 sub:001 dlvrd:001 err:000",
            &[],
            "9",
            DELIVERED,
            "000",
            None,
        ),
        (
            b"id: stat:EXPIRED err:027",
            &[(tag::RECEIPTED_MESSAGE_ID, b"9\0")],
            "9",
            EXPIRED,
            "027",
            None,
        ),
        (
            b"id:9 err:001",
            &[(tag::MESSAGE_STATE, &[UNDELIVERABLE])],
            "9",
            UNDELIVERABLE,
            "001",
            None,
        ),
        (
            b"",
            &[
                (tag::RECEIPTED_MESSAGE_ID, b"9"),
                (tag::MESSAGE_STATE, &[DELIVERED]),
            ],
            "9",
            DELIVERED,
            "",
            None,
        ),
        (
            b"",
            &[(tag::MESSAGE_PAYLOAD, b"id:9 stat:DELETED err:abcd")],
            "9",
            DELETED,
            "abcd",
            None,
        ),
        // Dates: seconds, century, punctuation, the form of section 7.1.1, and none that could be one.
        (
            b"id:9 submit_date:2611210830 done_date:261121083100 stat:DELIVRD",
            &[],
            "9",
            DELIVERED,
            "",
            at,
        ),
        (
            b"id:9 done date:20261121083100 stat:DELIVRD",
            &[],
            "9",
            DELIVERED,
            "",
            at,
        ),
        (
            b"id:9 done-date:202611210831 stat:DELIVRD",
            &[],
            "9",
            DELIVERED,
            "",
            at,
        ),
        (
            b"id:9 DoneDate:2026-11-21 08:31:00 stat:DELIVRD",
            &[],
            "9",
            DELIVERED,
            "",
            at,
        ),
        (
            b"id:9 done date:261121093100004+ stat:DELIVRD",
            &[],
            "9",
            DELIVERED,
            "",
            at,
        ),
        (
            b"id:9 done date:1795249860 stat:DELIVRD",
            &[],
            "9",
            DELIVERED,
            "",
            None,
        ),
        (
            b"id:9 done date:now stat:DELIVRD",
            &[],
            "9",
            DELIVERED,
            "",
            None,
        ),
        // NULs at the end, and at the end of a part.
        (
            b"id:9 stat:DELIVRD err:0000\0",
            &[],
            "9",
            DELIVERED,
            "0000",
            None,
        ),
        (
            b"id:9\0 stat:DELIVRD done date:2611210831\0\0",
            &[],
            "9",
            DELIVERED,
            "",
            at,
        ),
        // TLVs that say less than the text.
        (
            b"id:9 stat:UNDELIV err:10F2",
            &[(tag::NETWORK_ERROR_CODE, &[3, 0, 0])],
            "9",
            UNDELIVERABLE,
            "10F2",
            None,
        ),
        (
            b"id:9 stat:UNDELIV err:10F2",
            &[(tag::NETWORK_ERROR_CODE, b"0341")],
            "9",
            UNDELIVERABLE,
            "10F2",
            None,
        ),
        (
            b"id:9 stat:EXPIRED",
            &[(tag::MESSAGE_STATE, &[77])],
            "9",
            EXPIRED,
            "",
            None,
        ),
        (
            b"id:9",
            &[(tag::MESSAGE_STATE, &[77])],
            "9",
            UNKNOWN,
            "",
            None,
        ),
    ];
    for (text, tlvs, id, state, error, done_at) in cases {
        let mut message = deliver_sm(b"");
        message.short_message = Bytes::from_static(text);
        for (tag, value) in *tlvs {
            message.tlvs.push(*tag, value);
        }
        let shown = String::from_utf8_lossy(text);
        let read = extract(&message, 5).unwrap_or_else(|| panic!("{shown} {tlvs:?}"));
        let done_at = done_at.unwrap_or(5);
        assert_eq!(
            (
                &read.message_id[..],
                read.state,
                &read.error[..],
                read.done_at_ms
            ),
            (id.as_bytes(), *state, error.as_bytes(), done_at),
            "{shown} {tlvs:?}"
        );
    }
}

#[test]
fn ucs2_is_seen_in_either_order_and_without_its_data_coding() {
    let big: Vec<u8> = TEXT.bytes().flat_map(|octet| [0, octet]).collect();
    let little: Vec<u8> = TEXT.bytes().flat_map(|octet| [octet, 0]).collect();
    for text in [
        big.clone(),
        little.clone(),
        [b"\xFE\xFF", &big[..]].concat(),
        [b"\xFF\xFE", &little[..]].concat(),
    ] {
        for data_coding in [0, 8] {
            let mut message = deliver_sm(b"");
            message.data_coding = data_coding;
            message.short_message = text.clone().into();
            let read = extract(&message, 5).expect("a receipt");
            assert_eq!(
                (&read.message_id[..], read.state),
                (&b"0a1b2c3d"[..], DELIVERED)
            );
        }
    }
}

#[test]
fn an_operator_s_own_states() {
    let states = States::new(
        [
            ("ACCEPTD", ENROUTE),
            ("SENT", DELIVERED),
            ("err:0a1f", EXPIRED),
            ("REJECTD", UNDELIVERABLE),
        ]
        .into_iter(),
    );
    for (text, state, intermediate) in [
        (&b"id:1 stat:ACCEPTD err:000"[..], ENROUTE, true),
        (b"id:1 stat:sent err:000", DELIVERED, false),
        (b"id:1 stat:UNDELIV err:0A1F", EXPIRED, false),
        (b"id:1 stat:REJECTD err:001", UNDELIVERABLE, false),
        (b"id:1 stat:DELIVRD err:000", DELIVERED, false),
    ] {
        let mut message = deliver_sm(b"");
        message.short_message = Bytes::from_static(text);
        let read = extract_with(&message, 5, &states).unwrap();
        let shown = String::from_utf8_lossy(text);
        assert_eq!(
            (read.state, read.intermediate),
            (state, intermediate),
            "{shown}"
        );
    }
    let mut only_tlvs = deliver_sm(b"");
    only_tlvs.tlvs.push(tag::RECEIPTED_MESSAGE_ID, b"1\0");
    only_tlvs.tlvs.push(tag::MESSAGE_STATE, &[REJECTED]);
    let read = extract_with(&only_tlvs, 5, &states).unwrap();
    assert_eq!(read.state, UNDELIVERABLE);
}

#[test]
fn an_unmarked_receipt_is_known_by_its_text() {
    let unmarked = |text: &'static [u8], esm_class| {
        let mut message = deliver_sm(text);
        message.esm_class = esm_class;
        reads_like_one(&message)
    };
    assert!(unmarked(TEXT.as_bytes(), 0));
    assert!(unmarked(b"id:1 stat:DELIVRD", 3));
    for text in ["id:1", "stat:DELIVRD", "id:1 stat:hungry", "my id: 7", ""] {
        assert!(!unmarked(text.as_bytes(), 0), "{text}");
    }
    assert!(!unmarked(TEXT.as_bytes(), 0x08), "says what it is");
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
        prop_assert_eq!(parse(&format(&receipt)), Some(receipt));
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
