//! Whole and broken frames, and tolerated deviations (SMPP 3.4 §3.2, §5.1.3).

mod table;

use bytes::{BufMut, Bytes, BytesMut};

use super::*;
use crate::*;
use table::{bind, submit_sm};

fn b(octets: &'static [u8]) -> Bytes {
    Bytes::from_static(octets)
}

fn frame_of(command_id: CommandId, status: u32, sequence: u32, body: &[u8]) -> Bytes {
    let mut out = BytesMut::new();
    out.put_u32((HEADER_LEN + body.len()) as u32);
    out.put_u32(command_id.0);
    out.put_u32(status);
    out.put_u32(sequence);
    out.put_slice(body);
    out.freeze()
}

fn tlvs(raw: &'static [u8]) -> Tlvs {
    Tlvs::from_raw(b(raw))
}

fn read(frame: &Bytes) -> Pdu {
    match decode(frame, &Leniency::strict()) {
        Decoded::Pdu(pdu) => pdu,
        Decoded::Malformed(malformed) => panic!("{malformed:?}"),
    }
}

fn refused(frame: &Bytes, leniency: &Leniency) -> (CommandStatus, &'static str) {
    match decode(frame, leniency) {
        Decoded::Pdu(pdu) => panic!("accepted {pdu:?}"),
        Decoded::Malformed(malformed) => (malformed.status, malformed.field),
    }
}

#[test]
fn the_bind_transmitter_example_of_section_3_2() {
    let octets = b"\x00\x00\x00\x2F\x00\x00\x00\x02\x00\x00\x00\x00\x00\x00\x00\x01\
        \x53\x4D\x50\x50\x33\x54\x45\x53\x54\x00\x73\x65\x63\x72\x65\x74\x30\x38\x00\
        \x53\x55\x42\x4D\x49\x54\x31\x00\x00\x01\x01\x00";
    let mut buf = BytesMut::from(&octets[..]);
    let frame = next_frame(&mut buf, DEFAULT_MAX_PDU).unwrap().unwrap();
    let expected = BindRequest {
        interface_version: 0,
        ..bind()
    };
    assert_eq!(read(&frame).body, Body::BindTransmitter(expected));
    assert!(buf.is_empty());
}

#[test]
fn hot_path_functions_write_what_pdu_encode_writes() {
    let mut fast = BytesMut::new();
    let mut slow = BytesMut::new();
    encode_submit_sm(&mut fast, 1, &submit_sm());
    Pdu::request(1, Body::SubmitSm(submit_sm())).encode(&mut slow);
    encode_deliver_sm(&mut fast, 2, &submit_sm());
    Pdu::request(2, Body::DeliverSm(submit_sm())).encode(&mut slow);
    for (status, message_id) in [(0, "m1"), (0, ""), (0x58, ""), (0x58, "m1")] {
        let status = CommandStatus(status);
        encode_submit_sm_resp(&mut fast, 3, status, message_id.as_bytes());
        let resp = SubmitSmResp {
            message_id: message_id.into(),
            tlvs: Tlvs::new(),
        };
        Pdu::response(status, 3, Body::SubmitSmResp(resp)).encode(&mut slow);
        encode_deliver_sm_resp(&mut fast, 4, status);
        let resp = DeliverSmResp::default();
        Pdu::response(status, 4, Body::DeliverSmResp(resp)).encode(&mut slow);
    }
    encode_generic_nack(&mut fast, 5, CommandStatus::ESME_RINVCMDID);
    Pdu::response(CommandStatus::ESME_RINVCMDID, 5, Body::GenericNack).encode(&mut slow);
    assert_eq!(fast, slow);
}

#[test]
fn an_error_submit_sm_resp_has_no_body() {
    let mut out = BytesMut::new();
    encode_submit_sm_resp(&mut out, 1, CommandStatus::ESME_RTHROTTLED, b"");
    assert_eq!(out.len(), HEADER_LEN);
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table of PDUs")]
fn each_field_has_its_status() {
    use CommandStatus as S;
    let lenient = Leniency::default();
    let long = [b'1'; 300];
    let address = |prefix: &[u8]| [prefix, &long].concat();
    let rows: [(CommandId, Vec<u8>, S, &str); 16] = [
        (
            CommandId::SUBMIT_SM,
            long.to_vec(),
            S::ESME_RINVSERTYP,
            "service_type",
        ),
        (
            CommandId::SUBMIT_SM,
            address(b"\0\0\0"),
            S::ESME_RINVSRCADR,
            "source_addr",
        ),
        (
            CommandId::SUBMIT_SM,
            address(b"\0\0\0\0\0\0"),
            S::ESME_RINVDSTADR,
            "destination_addr",
        ),
        (
            CommandId::SUBMIT_SM,
            address(b"\0\0\0\0\0\0\0\0\0\0"),
            S::ESME_RINVSCHED,
            "schedule_delivery_time",
        ),
        (
            CommandId::SUBMIT_SM,
            address(b"\0\0\0\0\0\0\0\0\0\0\0"),
            S::ESME_RINVEXPIRY,
            "validity_period",
        ),
        (
            CommandId::SUBMIT_SM,
            b"\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x05hell".to_vec(),
            S::ESME_RINVMSGLEN,
            "short_message",
        ),
        (
            CommandId::SUBMIT_SM,
            b"\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0".to_vec(),
            S::ESME_RINVMSGLEN,
            "sm_length",
        ),
        (
            CommandId::SUBMIT_SM,
            b"".to_vec(),
            S::ESME_RINVSERTYP,
            "service_type",
        ),
        (
            CommandId::SUBMIT_SM,
            b"\0".to_vec(),
            S::ESME_RINVSRCTON,
            "source_addr_ton",
        ),
        (
            CommandId::BIND_RECEIVER,
            long.to_vec(),
            S::ESME_RINVSYSID,
            "system_id",
        ),
        (
            CommandId::BIND_RECEIVER,
            address(b"a\0"),
            S::ESME_RINVPASWD,
            "password",
        ),
        (
            CommandId::QUERY_SM,
            long.to_vec(),
            S::ESME_RINVMSGID,
            "message_id",
        ),
        (
            CommandId::SUBMIT_MULTI,
            b"\0\0\0\0\0".to_vec(),
            S::ESME_RINVNUMDESTS,
            "number_of_dests",
        ),
        (
            CommandId::SUBMIT_MULTI,
            b"\0\0\0\0\x01\x03".to_vec(),
            S::ESME_RINVDESTFLAG,
            "dest_address",
        ),
        (
            CommandId::SUBMIT_MULTI,
            address(b"\0\0\0\0\x01\x02"),
            S::ESME_RINVDLNAME,
            "dl_name",
        ),
        (
            CommandId(0x0001_0200),
            b"".to_vec(),
            S::ESME_RINVCMDID,
            "command_id",
        ),
    ];
    for (command_id, body, status, field) in rows {
        let frame = frame_of(command_id, 0, 9, &body);
        assert_eq!(refused(&frame, &lenient), (status, field), "{command_id}");
    }
}

#[test]
fn leniency_and_strictness() {
    let strict = Leniency::strict();
    let lenient = Leniency::default();
    let rows: [(CommandId, &[u8], CommandStatus); 9] = [
        // A message id without NUL at the end of the PDU.
        (
            CommandId::SUBMIT_SM_RESP,
            b"m1",
            CommandStatus::ESME_RINVMSGID,
        ),
        // Octets after the last field.
        (
            CommandId::ENQUIRE_LINK,
            b"\0",
            CommandStatus::ESME_RINVCMDLEN,
        ),
        (
            CommandId::QUERY_SM,
            b"m\0\0\x0099\0\0\0",
            CommandStatus::ESME_RINVCMDLEN,
        ),
        // A sender outside ASCII.
        (
            CommandId::QUERY_SM,
            b"m\0\0\0Caf\xE9\0",
            CommandStatus::ESME_RINVSRCADR,
        ),
        // A sender of 24 octets.
        (
            CommandId::QUERY_SM,
            b"m\0\0\x00123456789012345678901234\0",
            CommandStatus::ESME_RINVSRCADR,
        ),
        // A password of nine octets.
        (
            CommandId::OUTBIND,
            b"a\0password9\0",
            CommandStatus::ESME_RINVPASWD,
        ),
        // Half a TLV.
        (
            CommandId::DATA_SM,
            b"\0\0\0\0\0\0\0\0\0\0\x04\x27\x00",
            CommandStatus::ESME_RINVTLVSTREAM,
        ),
        // sar_total_segments in two octets.
        (
            CommandId::DATA_SM,
            b"\0\0\0\0\0\0\0\0\0\0\x02\x0E\x00\x02\x00\x03",
            CommandStatus::ESME_RINVPARLEN,
        ),
        // A response that stops early.
        (
            CommandId::QUERY_SM_RESP,
            b"m\0\0\x02",
            CommandStatus::ESME_RQUERYFAIL,
        ),
    ];
    for (command_id, body, status) in rows {
        let frame = frame_of(command_id, 0, 9, body);
        assert_eq!(refused(&frame, &strict).0, status, "{command_id} {body:?}");
        assert!(
            matches!(decode(&frame, &lenient), Decoded::Pdu(_)),
            "{command_id} {body:?}"
        );
    }
}

#[test]
fn a_cut_tlv_is_dropped_and_counted() {
    let frame = frame_of(
        CommandId::DATA_SM,
        0,
        1,
        b"\0\0\0\0\0\0\0\0\0\0\x04\x27\x00\x01\x02\x14\x01\x00\x09ab",
    );
    let Decoded::Pdu(Pdu {
        body: Body::DataSm(data_sm),
        ..
    }) = decode(&frame, &Leniency::default())
    else {
        panic!("not accepted");
    };
    assert!(data_sm.tlvs.is_incomplete());
    assert_eq!(data_sm.tlvs.get_uint(tag::MESSAGE_STATE), Some(2));
    assert_eq!(data_sm.tlvs.iter().count(), 1);
}

#[test]
fn responses_need_no_body() {
    for status in [0, 0x58, 0x410] {
        for command_id in CommandId::ALL.iter().filter(|id| id.is_response()) {
            let frame = frame_of(*command_id, status, 3, b"");
            let pdu = read(&frame);
            assert_eq!(pdu.command_id(), *command_id);
            assert_eq!(pdu.status, CommandStatus(status));
        }
    }
    // An error may carry any rubbish.
    let frame = frame_of(CommandId::SUBMIT_SM_RESP, 0x58, 3, &[b'x'; 300]);
    assert_eq!(
        read(&frame).body,
        Body::SubmitSmResp(SubmitSmResp::default())
    );
}

#[test]
fn a_text_too_long_for_sm_length_becomes_message_payload() {
    let mut out = BytesMut::new();
    let long = SubmitSm {
        short_message: Bytes::from(vec![b'x'; 300]),
        ..SubmitSm::default()
    };
    encode_submit_sm(&mut out, 1, &long);
    let Body::SubmitSm(read) = read(&out.freeze()).body else {
        panic!("not a submit_sm");
    };
    assert!(read.short_message.is_empty());
    assert_eq!(read.payload(), long.short_message);
}

#[test]
fn a_nul_inside_a_string_does_not_shift_what_follows() {
    let mut out = BytesMut::new();
    let body = QuerySm {
        message_id: b(b"m1\0evil"),
        source_addr: b(b"99"),
        ..QuerySm::default()
    };
    Pdu::request(1, Body::QuerySm(body)).encode(&mut out);
    let Body::QuerySm(read) = read(&out.freeze()).body else {
        panic!("not a query_sm");
    };
    assert_eq!(
        (&read.message_id[..], &read.source_addr[..]),
        (&b"m1"[..], &b"99"[..])
    );
}

#[test]
fn frames_are_cut_by_their_length_alone() {
    let mut buf = BytesMut::new();
    // A message id without NUL must not take the first octet of the next PDU.
    buf.put_slice(&frame_of(CommandId::SUBMIT_SM_RESP, 0, 1, b"abc"));
    buf.put_slice(&frame_of(CommandId::ENQUIRE_LINK, 0, 2, b""));
    let first = next_frame(&mut buf, DEFAULT_MAX_PDU).unwrap().unwrap();
    let Decoded::Pdu(pdu) = decode(&first, &Leniency::default()) else {
        panic!("not accepted");
    };
    let Body::SubmitSmResp(resp) = pdu.body else {
        panic!("not a submit_sm_resp");
    };
    assert_eq!(resp.message_id, "abc");
    let second = next_frame(&mut buf, DEFAULT_MAX_PDU).unwrap().unwrap();
    assert_eq!(read(&second), Pdu::request(2, Body::EnquireLink));
    assert_eq!(next_frame(&mut buf, DEFAULT_MAX_PDU), Ok(None));
}

#[test]
fn only_an_unbelievable_length_is_fatal() {
    for (length, max) in [
        (15u32, 100usize),
        (0, 100),
        (101, 100),
        (u32::MAX, DEFAULT_MAX_PDU),
    ] {
        let mut buf = BytesMut::new();
        buf.put_u32(length);
        assert_eq!(
            next_frame(&mut buf, max),
            Err(BadCommandLength {
                length,
                header: None
            })
        );
        buf.put_slice(&[0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 5]);
        let bad = next_frame(&mut buf, max).unwrap_err();
        assert_eq!(bad.header.unwrap().sequence, 5);
    }
    let mut short = BytesMut::from(&[0, 0, 0][..]);
    assert_eq!(next_frame(&mut short, 100), Ok(None));
}
