//! Every PDU as octets, by the tables of SMPP 3.4 §4 and 5.0 §4.

use bytes::{Bytes, BytesMut};

use super::*;

pub(super) fn bind() -> BindRequest {
    BindRequest {
        system_id: b(b"SMPP3TEST"),
        password: b(b"secret08"),
        system_type: b(b"SUBMIT1"),
        interface_version: 0x34,
        addr_ton: 1,
        addr_npi: 1,
        address_range: Bytes::new(),
    }
}

const BIND: &[u8] = b"SMPP3TEST\0secret08\0SUBMIT1\0\x34\x01\x01\0";

fn bind_resp() -> BindResp {
    BindResp {
        system_id: b(b"SMSC"),
        tlvs: tlvs(b"\x02\x10\x00\x01\x34"),
    }
}

const BIND_RESP: &[u8] = b"SMSC\0\x02\x10\x00\x01\x34";

pub(super) fn submit_sm() -> SubmitSm {
    SubmitSm {
        service_type: b(b"CMT"),
        source_addr_ton: 5,
        source_addr: b(b"Bank"),
        dest_addr_ton: 1,
        dest_addr_npi: 1,
        destination_addr: b(b"447700900123"),
        esm_class: 0x40,
        protocol_id: 0x7F,
        priority_flag: 2,
        schedule_delivery_time: b(b"261121083000000+"),
        validity_period: b(b"000001000000000R"),
        registered_delivery: 1,
        replace_if_present_flag: 1,
        data_coding: 8,
        sm_default_msg_id: 3,
        short_message: b(b"hello"),
        tlvs: tlvs(b"\x02\x04\x00\x02\x12\x34\x14\x01\x00\x00"),
        ..SubmitSm::default()
    }
}

const SUBMIT_SM: &[u8] = b"CMT\0\x05\x00Bank\0\x01\x01447700900123\0\x40\x7F\x02\
    261121083000000+\x00000001000000000R\0\x01\x01\x08\x03\x05hello\
    \x02\x04\x00\x02\x12\x34\x14\x01\x00\x00";

fn id_resp() -> SubmitSmResp {
    SubmitSmResp {
        message_id: b(b"m1"),
        tlvs: Tlvs::new(),
    }
}

/// Section, PDU, body on the wire.
#[expect(clippy::too_many_lines, reason = "a table of PDUs")]
fn table() -> Vec<(&'static str, Body, &'static [u8])> {
    vec![
        ("4.1.1", Body::BindTransmitter(bind()), BIND),
        ("4.1.2", Body::BindTransmitterResp(bind_resp()), BIND_RESP),
        ("4.1.3", Body::BindReceiver(bind()), BIND),
        ("4.1.4", Body::BindReceiverResp(bind_resp()), BIND_RESP),
        ("4.1.5", Body::BindTransceiver(bind()), BIND),
        ("4.1.6", Body::BindTransceiverResp(bind_resp()), BIND_RESP),
        (
            "4.1.7",
            Body::Outbind(OutbindRequest {
                system_id: b(b"SMSC"),
                password: b(b"pw"),
            }),
            b"SMSC\0pw\0",
        ),
        ("4.2.1", Body::Unbind, b""),
        ("4.2.2", Body::UnbindResp, b""),
        ("4.3.1", Body::GenericNack, b""),
        ("4.4.1", Body::SubmitSm(submit_sm()), SUBMIT_SM),
        ("4.4.2", Body::SubmitSmResp(id_resp()), b"m1\0"),
        (
            "4.5.1",
            Body::SubmitMulti(SubmitMulti {
                source_addr: b(b"99"),
                dest_address: vec![
                    DestAddress::Sme {
                        dest_addr_ton: 1,
                        dest_addr_npi: 2,
                        destination_addr: b(b"12"),
                    },
                    DestAddress::DistributionList {
                        dl_name: b(b"list"),
                    },
                ],
                esm_class: 3,
                protocol_id: 4,
                priority_flag: 1,
                registered_delivery: 1,
                data_coding: 0xF1,
                short_message: b(b"x"),
                ..SubmitMulti::default()
            }),
            b"\0\0\x0099\0\x02\x01\x01\x0212\0\x02list\0\x03\x04\x01\0\0\x01\0\xF1\0\x01x",
        ),
        (
            "4.5.2",
            Body::SubmitMultiResp(SubmitMultiResp {
                message_id: b(b"m1"),
                unsuccess_sme: vec![UnsuccessSme {
                    dest_addr_ton: 1,
                    dest_addr_npi: 2,
                    destination_addr: b(b"12"),
                    error_status_code: CommandStatus::ESME_RINVDSTADR,
                }],
                tlvs: Tlvs::new(),
            }),
            b"m1\0\x01\x01\x0212\0\0\0\0\x0B",
        ),
        ("4.6.1", Body::DeliverSm(submit_sm()), SUBMIT_SM),
        (
            "4.6.2",
            Body::DeliverSmResp(DeliverSmResp::default()),
            b"\0",
        ),
        (
            "4.7.1",
            Body::DataSm(DataSm {
                source_addr_ton: 1,
                source_addr_npi: 2,
                source_addr: b(b"1"),
                dest_addr_ton: 3,
                dest_addr_npi: 4,
                destination_addr: b(b"2"),
                esm_class: 5,
                registered_delivery: 6,
                data_coding: 7,
                tlvs: tlvs(b"\x04\x24\x00\x02hi"),
                ..DataSm::default()
            }),
            b"\0\x01\x021\0\x03\x042\0\x05\x06\x07\x04\x24\x00\x02hi",
        ),
        (
            "4.7.2",
            Body::DataSmResp(DataSmResp {
                message_id: b(b"m1"),
                tlvs: tlvs(b"\x04\x25\x00\x01\x00"),
            }),
            b"m1\0\x04\x25\x00\x01\x00",
        ),
        (
            "4.8.1",
            Body::QuerySm(QuerySm {
                message_id: b(b"m1"),
                source_addr_ton: 1,
                source_addr_npi: 1,
                source_addr: b(b"99"),
            }),
            b"m1\0\x01\x0199\0",
        ),
        (
            "4.8.2",
            Body::QuerySmResp(QuerySmResp {
                message_id: b(b"m1"),
                final_date: b(b"261121083000000+"),
                message_state: 2,
                error_code: 9,
            }),
            b"m1\x00261121083000000+\0\x02\x09",
        ),
        (
            "4.9.1",
            Body::CancelSm(CancelSm {
                service_type: b(b"CMT"),
                message_id: b(b"m1"),
                source_addr: b(b"99"),
                destination_addr: b(b"12"),
                ..CancelSm::default()
            }),
            b"CMT\0m1\0\0\x0099\0\0\x0012\0",
        ),
        ("4.9.2", Body::CancelSmResp, b""),
        (
            "4.10.1",
            Body::ReplaceSm(ReplaceSm {
                message_id: b(b"m1"),
                source_addr: b(b"99"),
                validity_period: b(b"000001000000000R"),
                registered_delivery: 1,
                short_message: b(b"new"),
                ..ReplaceSm::default()
            }),
            b"m1\0\0\x0099\0\x00000001000000000R\0\x01\0\x03new",
        ),
        ("4.10.2", Body::ReplaceSmResp, b""),
        ("4.11.1", Body::EnquireLink, b""),
        ("4.11.2", Body::EnquireLinkResp, b""),
        (
            "4.12.1",
            Body::AlertNotification(AlertNotification {
                source_addr_ton: 1,
                source_addr_npi: 2,
                source_addr: b(b"12"),
                esme_addr_ton: 3,
                esme_addr_npi: 4,
                esme_addr: b(b"99"),
                tlvs: tlvs(b"\x04\x22\x00\x01\x00"),
            }),
            b"\x01\x0212\0\x03\x0499\0\x04\x22\x00\x01\x00",
        ),
        (
            "5.0 4.4.1.1",
            Body::BroadcastSm(BroadcastSm {
                source_addr: b(b"99"),
                priority_flag: 1,
                data_coding: 8,
                tlvs: tlvs(b"\x06\x04\x00\x02\x00\x05"),
                ..BroadcastSm::default()
            }),
            b"\0\0\x0099\0\0\x01\0\0\0\x08\0\x06\x04\x00\x02\x00\x05",
        ),
        (
            "5.0 4.4.1.2",
            Body::BroadcastSmResp(BroadcastSmResp {
                message_id: b(b"m1"),
                tlvs: Tlvs::new(),
            }),
            b"m1\0",
        ),
        (
            "5.0 4.6.1.1",
            Body::QueryBroadcastSm(QueryBroadcastSm {
                message_id: b(b"m1"),
                source_addr: b(b"99"),
                ..QueryBroadcastSm::default()
            }),
            b"m1\0\0\x0099\0",
        ),
        (
            "5.0 4.6.1.3",
            Body::QueryBroadcastSmResp(QueryBroadcastSmResp {
                message_id: b(b"m1"),
                tlvs: tlvs(b"\x04\x27\x00\x01\x02"),
            }),
            b"m1\0\x04\x27\x00\x01\x02",
        ),
        (
            "5.0 4.6.2.1",
            Body::CancelBroadcastSm(CancelBroadcastSm {
                message_id: b(b"m1"),
                source_addr: b(b"99"),
                ..CancelBroadcastSm::default()
            }),
            b"\0m1\0\0\x0099\0",
        ),
        ("5.0 4.6.2.3", Body::CancelBroadcastSmResp, b""),
    ]
}

#[test]
fn every_pdu_of_the_standard_both_ways() {
    let table = table();
    for (section, body, octets) in &table {
        let frame = frame_of(body.command_id(), 0, 7, octets);
        let pdu = Pdu::request(7, body.clone());
        assert_eq!(read(&frame), pdu, "§{section}");
        let mut out = BytesMut::from(&b"before"[..]);
        pdu.encode(&mut out);
        assert_eq!(&out[6..], &frame[..], "§{section}");
    }
    for command_id in CommandId::ALL {
        let is_there = |row: &(&str, Body, &[u8])| row.1.command_id() == *command_id;
        assert!(table.iter().any(is_there), "no row for {command_id}");
    }
}
