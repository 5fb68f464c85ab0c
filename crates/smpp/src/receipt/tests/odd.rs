//! Non-standard forms of receipts that operators send.

use super::*;

type Tlv = (u16, &'static [u8]);
/// Text and TLVs; then the id, state, error and done date (Unix ms) that are read.
type Case = (
    &'static [u8],
    &'static [Tlv],
    &'static str,
    u8,
    &'static str,
    Option<i64>,
);

/// What receipts of operators look like beyond Appendix B: text, TLVs, what is read.
#[test]
#[expect(clippy::too_many_lines, reason = "a table of receipts")]
fn odd_forms_are_read() {
    let at = Some(AT + 60_000);
    let cases: &[Case] = &[
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
        // TLVs with less information than the text.
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
    let states = ReceiptStates::new(
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
