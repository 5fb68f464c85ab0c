//! The codec against another implementation of SMPP 5.0 (rusmpp): it reads our octets with equal fields
//! and writes equal octets, and we read what it writes.

use crate::smpp_generate;
use bytes::{Bytes, BytesMut};
use proptest::prelude::*;
use rusmpp::decode::DecodeWithLength;
use rusmpp::encode::{Encode, Length};
use smsc::smpp::*;

const LENGTH_FIELD: usize = 4;

/// Our octets, read by rusmpp.
fn ours_to_theirs(body: &Body) -> (Bytes, rusmpp::Command) {
    let mut out = BytesMut::new();
    Pdu::request(0x1234, body.clone()).encode(&mut out);
    let octets = out.freeze();
    let mut src = BytesMut::from(&octets[LENGTH_FIELD..]);
    let length = src.len();
    let (command, consumed) = rusmpp::Command::decode(&mut src, length).expect("rusmpp reads it");
    assert_eq!(consumed, length);
    (octets, command)
}

/// Octets of rusmpp with their length in front.
fn theirs(command: &rusmpp::Command) -> Bytes {
    let length = command.length();
    let mut octets = vec![0; length];
    assert_eq!(command.encode(&mut octets), length);
    let mut frame = BytesMut::from(&((length + LENGTH_FIELD) as u32).to_be_bytes()[..]);
    frame.extend_from_slice(&octets);
    frame.freeze()
}

/// Its strings include the NUL in some types and not in others.
fn text(octets: &[u8]) -> &[u8] {
    octets.strip_suffix(b"\0").unwrap_or(octets)
}

fn tlvs_of(theirs: &[rusmpp::tlvs::Tlv]) -> Vec<(u16, usize)> {
    theirs
        .iter()
        .map(|tlv| (u16::from(tlv.tag()), usize::from(tlv.value_length())))
        .collect()
}

fn tlvs_ours(ours: &Tlvs) -> Vec<(u16, usize)> {
    ours.iter().map(|(tag, value)| (tag, value.len())).collect()
}

/// The fields that differ per PDU, compared one by one.
fn assert_equal_fields(ours: &Body, theirs: &rusmpp::Pdu) {
    macro_rules! message_fields {
        ($o:ident, $t:ident) => {
            assert_eq!(u8::from($t.source_addr_ton), $o.source_addr_ton);
            assert_eq!(u8::from($t.source_addr_npi), $o.source_addr_npi);
            assert_eq!(text($t.source_addr.as_ref()), &$o.source_addr[..]);
            assert_eq!(u8::from($t.esm_class), $o.esm_class);
            assert_eq!(u8::from($t.registered_delivery), $o.registered_delivery);
            assert_eq!(u8::from($t.data_coding), $o.data_coding);
            assert_eq!(tlvs_of($t.tlvs()), tlvs_ours(&$o.tlvs));
        };
    }
    macro_rules! text_fields {
        ($o:ident, $t:ident) => {
            assert_eq!(
                text($t.schedule_delivery_time.as_ref()),
                &$o.schedule_delivery_time[..]
            );
            assert_eq!(text($t.validity_period.as_ref()), &$o.validity_period[..]);
            assert_eq!($t.sm_default_msg_id, $o.sm_default_msg_id);
            assert_eq!($t.short_message().as_ref(), &$o.short_message[..]);
        };
    }
    macro_rules! bind_fields {
        ($o:ident, $t:ident) => {
            assert_eq!(text($t.system_id.as_ref()), &$o.system_id[..]);
            assert_eq!(text($t.password.as_ref()), &$o.password[..]);
            assert_eq!(text($t.system_type.as_ref()), &$o.system_type[..]);
            assert_eq!(u8::from($t.interface_version), $o.interface_version);
            assert_eq!(u8::from($t.addr_ton), $o.addr_ton);
            assert_eq!(u8::from($t.addr_npi), $o.addr_npi);
            assert_eq!(text($t.address_range.as_ref()), &$o.address_range[..]);
        };
    }
    use rusmpp::Pdu as Theirs;
    match (ours, theirs) {
        (Body::BindTransmitter(o), Theirs::BindTransmitter(t)) => {
            bind_fields!(o, t);
        }
        (Body::BindReceiver(o), Theirs::BindReceiver(t)) => {
            bind_fields!(o, t);
        }
        (Body::BindTransceiver(o), Theirs::BindTransceiver(t)) => {
            bind_fields!(o, t);
        }
        (Body::SubmitSm(o), Theirs::SubmitSm(t)) => {
            message_fields!(o, t);
            text_fields!(o, t);
            assert_eq!(text(t.destination_addr.as_ref()), &o.destination_addr[..]);
            assert_eq!(t.protocol_id, o.protocol_id);
        }
        (Body::DeliverSm(o), Theirs::DeliverSm(t)) => {
            message_fields!(o, t);
            text_fields!(o, t);
            assert_eq!(text(t.destination_addr.as_ref()), &o.destination_addr[..]);
            assert_eq!(t.protocol_id, o.protocol_id);
        }
        (Body::SubmitMulti(o), Theirs::SubmitMulti(t)) => {
            message_fields!(o, t);
            text_fields!(o, t);
            assert_eq!(t.dest_address().len(), o.dest_address.len());
        }
        (Body::DataSm(o), Theirs::DataSm(t)) => {
            message_fields!(o, t);
            assert_eq!(text(t.destination_addr.as_ref()), &o.destination_addr[..]);
        }
        (Body::QuerySm(o), Theirs::QuerySm(t)) => {
            assert_eq!(text(t.message_id.as_ref()), &o.message_id[..]);
            assert_eq!(text(t.source_addr.as_ref()), &o.source_addr[..]);
        }
        (Body::ReplaceSm(o), Theirs::ReplaceSm(t)) => {
            text_fields!(o, t);
            assert_eq!(text(t.message_id.as_ref()), &o.message_id[..]);
        }
        (Body::BroadcastSm(o), Theirs::BroadcastSm(t)) => {
            assert_eq!(text(t.message_id.as_ref()), &o.message_id[..]);
            assert_eq!(text(t.validity_period.as_ref()), &o.validity_period[..]);
            assert_eq!(u8::from(t.data_coding), o.data_coding);
            assert_eq!(tlvs_of(t.tlvs()), tlvs_ours(&o.tlvs));
        }
        // For the others, comparing the octets suffices.
        _ => {}
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3_000))]

    #[test]
    fn they_read_what_we_write_and_we_what_they_write(body in smpp_generate::body()) {
        let (octets, command) = ours_to_theirs(&body);
        prop_assert_eq!(u32::from(command.id()), body.command_id().0);
        prop_assert_eq!(command.sequence_number(), 0x1234);
        if let Some(pdu) = command.pdu() {
            assert_equal_fields(&body, pdu);
        }
        let back = theirs(&command);
        prop_assert_eq!(&back[..], &octets[..]);
        let pdu = Pdu::request(0x1234, body);
        prop_assert_eq!(decode(&back, &Leniency::strict()), Decoded::Pdu(pdu));
    }
}

#[test]
fn names_and_numbers_are_the_same() {
    for command_id in CommandId::ALL {
        let theirs = rusmpp::CommandId::from(command_id.0);
        assert!(
            !matches!(theirs, rusmpp::CommandId::Other(_)),
            "{command_id}"
        );
    }
    for status in CommandStatus::ALL {
        let theirs = rusmpp::CommandStatus::from(status.0);
        assert!(
            !matches!(theirs, rusmpp::CommandStatus::Other(_)),
            "{status}"
        );
    }
    for tag in tag::ALL {
        let theirs = rusmpp::tlvs::TlvTag::from(*tag);
        assert!(
            !matches!(theirs, rusmpp::tlvs::TlvTag::Other(_)),
            "{tag:#06x}"
        );
    }
}
