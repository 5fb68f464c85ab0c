//! Every field and optional parameter of a submit_sm reaches the operator unchanged, and those of a
//! deliver_sm reach the account.

use std::sync::LazyLock;

use crate::harness::{FakeOperator, Peer, Scene, Smsc, submit, submit_quietly};
use bytes::Bytes;
use smsc::clock;
use smsc::smpp::time::format_absolute;
use smsc::smpp::{Body, CommandStatus, SubmitSm, Tlvs, tag};

/// A day from now. A relative time would be less with each second that a message waits.
static VALIDITY: LazyLock<Bytes> =
    LazyLock::new(|| format_absolute(clock::now_ms() + 86_400_000).into());

fn scene() -> Scene {
    Scene::of("addresses = [\"12345\"]", "", |builder| builder)
}

/// The submit_sm that the operator gets for a message.
fn through(scene: &mut Scene, message: SubmitSm) -> SubmitSm {
    scene.esme.submit(message);
    scene.take("")
}

/// The deliver_sm that the account gets for a mobile-originated message.
fn back(scene: &mut Scene, message: SubmitSm) -> SubmitSm {
    let sequence = scene.bind.request(Body::DeliverSm(message));
    let delivered = scene.esme.deliver();
    let answer = scene.bind.answer_to(sequence);
    assert_eq!(answer.status, CommandStatus::ESME_ROK);
    delivered
}

/// Every octet from 0 to 255.
fn every_octet() -> Vec<u8> {
    (0..=255).collect()
}

fn everything() -> SubmitSm {
    let mut tlvs = Tlvs::new();
    tlvs.push(tag::USER_MESSAGE_REFERENCE, &[0xBE, 0xEF]);
    tlvs.push(tag::SOURCE_PORT, &[0x0B, 0x84]);
    tlvs.push(tag::DEST_PORT, &[0x23, 0xF0]);
    tlvs.push(tag::SAR_MSG_REF_NUM, &[0, 7]);
    tlvs.push(tag::SAR_TOTAL_SEGMENTS, &[3]);
    tlvs.push(tag::SAR_SEGMENT_SEQNUM, &[2]);
    tlvs.push(tag::PAYLOAD_TYPE, &[0]);
    tlvs.push(tag::PRIVACY_INDICATOR, &[3]);
    tlvs.push(tag::LANGUAGE_INDICATOR, &[2]);
    // Vendor TLVs, one of them twice, one of them empty.
    tlvs.push(0x1400, &every_octet());
    tlvs.push(0x1501, b"first");
    tlvs.push(0x1501, b"second");
    tlvs.push(0x3FFF, b"");
    // Tags that neither the standard nor a known vendor defines.
    tlvs.push(0x4F00, b"\0");
    SubmitSm {
        service_type: Bytes::from_static(b"WAP"),
        source_addr_ton: 5,
        source_addr_npi: 0,
        source_addr: Bytes::from_static(b"A.B c-_@!~\x01"),
        dest_addr_ton: 2,
        dest_addr_npi: 8,
        destination_addr: Bytes::from_static(b"*7700*9#"),
        esm_class: 0x43,
        protocol_id: 0x7F,
        priority_flag: 2,
        schedule_delivery_time: Bytes::new(),
        validity_period: VALIDITY.clone(),
        registered_delivery: 1,
        replace_if_present_flag: 1,
        data_coding: 0xF5,
        sm_default_msg_id: 9,
        short_message: Bytes::from(every_octet()[..254].to_vec()),
        tlvs,
    }
}

#[test]
fn pain_13_every_field_and_parameter() {
    let mut scene = scene();
    assert_eq!(through(&mut scene, everything()), everything());
}

#[test]
fn an_empty_message() {
    let mut scene = scene();
    let message = SubmitSm {
        destination_addr: Bytes::from_static(b"1"),
        ..SubmitSm::default()
    };
    assert_eq!(through(&mut scene, message.clone()), message);
}

#[test]
fn message_payload_stays_message_payload() {
    let mut scene = scene();
    for length in [1, 255, 256, 20_000, 60_000] {
        let mut message = submit("447700900123", "");
        let payload: Vec<u8> = every_octet().into_iter().cycle().take(length).collect();
        message.tlvs.push(tag::MESSAGE_PAYLOAD, &payload);
        assert_eq!(
            through(&mut scene, message.clone()),
            message,
            "{length} octets"
        );
    }
}

#[test]
fn user_data_headers_and_binary_text() {
    let mut scene = scene();
    for (esm_class, data_coding, text) in [
        (0x40, 8, &b"\x05\x00\x03\xCC\x02\x01\x04\x1F\x04\x40"[..]),
        (0x40, 4, b"\x06\x05\x04\x0B\x84\x23\xF0\x00\x01\x02"),
        (0x00, 0, b"\x1B\x65\x00\x40"),
        (0x00, 0xF0, b"flash"),
        (0x80, 1, b"reply path"),
    ] {
        let message = SubmitSm {
            esm_class,
            data_coding,
            short_message: Bytes::copy_from_slice(text),
            ..submit("447700900123", "")
        };
        assert_eq!(through(&mut scene, message.clone()), message);
    }
}

#[test]
fn the_same_after_it_has_waited_in_the_store() {
    let operator = FakeOperator::listen();
    let mut smsc = Smsc::new().relaying_to(operator.address()).start();
    // The operator does not answer the bind, so the message waits.
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    esme.submit(everything());
    smsc.kill();
    drop(operator.accept());
    smsc.start_again();
    let mut bind = operator.accept_bind();
    let pdu = bind.expect("a submit_sm", |pdu| matches!(pdu.body, Body::SubmitSm(_)));
    assert_eq!(pdu.body, Body::SubmitSm(everything()));
}

#[test]
fn a_mobile_originated_message() {
    let mut scene = scene();
    let mut tlvs = Tlvs::new();
    tlvs.push(tag::USER_MESSAGE_REFERENCE, &[0xBE, 0xEF]);
    tlvs.push(tag::SOURCE_PORT, &[0x0B, 0x84]);
    tlvs.push(tag::DEST_PORT, &[0x23, 0xF0]);
    tlvs.push(tag::SAR_MSG_REF_NUM, &[0, 7]);
    tlvs.push(0x1400, &every_octet());
    tlvs.push(0x1501, b"vendor");
    let message = SubmitSm {
        service_type: Bytes::from_static(b"CMT"),
        source_addr_ton: 1,
        source_addr_npi: 1,
        source_addr: Bytes::from_static(b"447700900999"),
        dest_addr_ton: 3,
        dest_addr_npi: 1,
        destination_addr: Bytes::from_static(b"12345"),
        esm_class: 0x40,
        protocol_id: 0x11,
        priority_flag: 1,
        data_coding: 8,
        short_message: Bytes::from_static(b"\x05\x00\x03\xCC\x02\x01\x04\x1F"),
        tlvs,
        ..SubmitSm::default()
    };
    assert_eq!(back(&mut scene, message.clone()), message);
}

#[test]
fn parameters_that_deliver_sm_knows_reach_the_account() {
    let mut scene = scene();
    // SMPP 3.4 §4.6.1.
    for (name, value) in [
        (tag::USER_RESPONSE_CODE, &[1][..]),
        (tag::PAYLOAD_TYPE, &[0]),
        (0x0381, b"\x01\x00\x00447700900123"),
        (0x1383, &[0, 1]),
        (tag::LANGUAGE_INDICATOR, &[1]),
        (tag::PRIVACY_INDICATOR, &[1]),
    ] {
        let mut message = submit_quietly("12345", "hello");
        message.tlvs.push(name, value);
        let arrived = back(&mut scene, message);
        assert_eq!(arrived.tlvs.get(name), Some(value), "{name:#06x}");
    }
}

/// SMPP 3.4 §4.4.2 against §4.6.1: callback_num_pres_ind, callback_num_atag, number_of_messages, display_time, ms_validity,
/// alert_on_message_delivery, its_reply_type.
const OF_SUBMIT_SM: [(u16, &[u8]); 7] = [
    (0x0302, &[0]),
    (0x0303, b"\x00name"),
    (0x0304, &[3]),
    (0x1201, &[1]),
    (0x1204, &[0]),
    (0x130C, b""),
    (0x1380, &[1]),
];

#[test]
fn parameters_that_only_submit_sm_has_are_in_no_deliver_sm() {
    let operator = FakeOperator::listen();
    let smsc = Smsc::new()
        .account("test", "test")
        .account("peer", "peer")
        .operator_with("up", operator.address(), "send_as = \"deliver_sm\"")
        .route("1", "peer")
        .route("", "up")
        .start();
    let mut bind = operator.accept_bind();
    let mut peer = Peer::bind(smsc.smpp(), "peer", "peer");
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    for to in ["1", "447700900123"] {
        let mut message = submit(to, "hello");
        message.tlvs.push(tag::LANGUAGE_INDICATOR, &[1]);
        for (name, value) in OF_SUBMIT_SM {
            message.tlvs.push(name, value);
        }
        message.tlvs.push(0x1501, b"vendor");
        esme.submit(message);
        let delivered = match to {
            "1" => peer.deliver(),
            _ => bind.deliver(),
        };
        let mut left = Tlvs::new();
        left.push(tag::LANGUAGE_INDICATOR, &[1]);
        left.push(0x1501, b"vendor");
        assert_eq!(delivered.tlvs, left, "to {to}");
    }
}
