//! Which way messages take, and what they look like to each kind of peer.

mod charged;

use bytes::Bytes;

use super::divide::divide;
use super::gather::gather;
use super::shape::shape;
use super::*;
use crate::pdu::submit_sm_of;
use crate::{part_of, payload, segments, text_of};
use smsc_proto as pb;
use smsc_smpp::Tlvs;

/// All forms of long messages.
pub(super) const LONGS: [LongMessages; 5] = [
    LongMessages::AsIs,
    LongMessages::Udh,
    LongMessages::Udh16,
    LongMessages::Sar,
    LongMessages::Payload,
];

fn peer_encoding(long: LongMessages) -> PeerEncoding {
    PeerEncoding {
        long,
        ..PeerEncoding::default()
    }
}

fn message(data_coding: u32, octets: &[u8]) -> Message {
    let mut message = Message {
        id: 7,
        data_coding,
        ..Message::default()
    };
    if octets.len() <= SHORT_MESSAGE {
        message.short_message = Bytes::copy_from_slice(octets);
    } else {
        let mut tlvs = Tlvs::default();
        tlvs.push(tag::MESSAGE_PAYLOAD, octets);
        message.tlvs = tlvs.raw().clone();
    }
    message
}

fn part(header: &[u8], body: &[u8]) -> Message {
    Message {
        esm_class: UDHI,
        ..message(0, &[header, body].concat())
    }
}

#[test]
fn the_way_depends_on_length_and_form() {
    use LongMessages::{AsIs, Payload, Sar, Udh, Udh16};
    let eight = b"\x05\x00\x03\x2a\x03\x02";
    let sixteen = b"\x06\x08\x04\x01\x2a\x03\x02";
    let cases = [
        (message(0, &[b'a'; 160]), [PeerTreatment::Single; 5]),
        (
            message(0, &[b'a'; 161]),
            [
                PeerTreatment::Single,
                PeerTreatment::Divide,
                PeerTreatment::Divide,
                PeerTreatment::Divide,
                PeerTreatment::Single,
            ],
        ),
        (message(8, &[0x04; 140]), [PeerTreatment::Single; 5]),
        (
            message(8, &[0x04; 142]),
            [
                PeerTreatment::Single,
                PeerTreatment::Divide,
                PeerTreatment::Divide,
                PeerTreatment::Divide,
                PeerTreatment::Single,
            ],
        ),
        (message(4, &[0; 140]), [PeerTreatment::Single; 5]),
        (
            part(eight, &[b'a'; 153]),
            // A header of 16 bits leaves room for 152 septets only.
            [
                PeerTreatment::Single,
                PeerTreatment::Single,
                PeerTreatment::Gather,
                PeerTreatment::Single,
                PeerTreatment::Gather,
            ],
        ),
        (
            part(sixteen, &[b'a'; 152]),
            // Its reference is not one of 8 bits.
            [
                PeerTreatment::Single,
                PeerTreatment::Gather,
                PeerTreatment::Single,
                PeerTreatment::Single,
                PeerTreatment::Gather,
            ],
        ),
    ];
    for (message, ways) in cases {
        for (long, expected) in [AsIs, Udh, Udh16, Sar, Payload].into_iter().zip(ways) {
            let length = message.short_message.len();
            assert_eq!(
                way(&message, &peer_encoding(long)),
                expected,
                "{length} {long}"
            );
        }
    }
    let whole = message(0, &[b'a'; 400]);
    let (parts, _) = divide(&whole, &peer_encoding(Udh), 9).unwrap();
    for part in parts {
        assert_eq!(
            way(&part, &peer_encoding(Payload)),
            PeerTreatment::Single,
            "never divided twice"
        );
        assert_eq!(crate::parent_of(&part), Some(7));
    }
}

#[test]
fn what_a_handset_gets_is_counted() {
    for (message, expected) in [
        (message(0, b""), 1),
        (message(0, &[b'a'; 160]), 1),
        (message(0, &[b'a'; 161]), 2),
        (message(0, &[b'a'; 153 * 3]), 3),
        (message(0, &[b'a'; 153 * 3 + 1]), 4),
        (message(0, &[0x1B; 80]), 1),
        (message(8, &[0x04; 134 * 5]), 5),
        (message(4, &[0; 141]), 2),
        (part(b"\x05\x00\x03\x2a\x03\x02", &[b'a'; 153]), 1),
    ] {
        assert_eq!(segments(&message), expected);
    }
    // Latin-1 with a character of the extension table, which needs two septets.
    let mut latin1 = message(0, &[b'{'; 81]);
    latin1.set_alphabet(pb::Alphabet::Latin1);
    assert_eq!(segments(&latin1), 2);
    // And with one that the GSM alphabet does not have: UCS-2.
    let mut latin1 = message(0, &[0xEA; 71]);
    latin1.set_alphabet(pb::Alphabet::Latin1);
    assert_eq!(segments(&latin1), 2);
}

#[test]
fn parts_are_the_text_in_every_form_and_again_the_whole() {
    let turkish: Vec<u8> = "Şişli'de 😀 "
        .repeat(40)
        .encode_utf16()
        .flat_map(u16::to_be_bytes)
        .collect();
    let ports = [&b"\x06\x05\x04\x0b\x84\x23\xf0"[..], &[b'z'; 300]].concat();
    let with_ports = Message {
        esm_class: UDHI,
        ..message(4, &ports)
    };
    for whole in [message(0, &[b'a'; 700]), message(8, &turkish), with_ports] {
        for long in [LongMessages::Udh, LongMessages::Udh16, LongMessages::Sar] {
            let (parts, changed) = divide(&whole, &peer_encoding(long), 0x1234).unwrap();
            assert_eq!(changed, 0);
            for (at, one) in parts.iter().enumerate() {
                let place = part_of(one).unwrap();
                assert_eq!(usize::from(place.sequence), at + 1);
                assert_eq!(usize::from(place.total), parts.len());
                assert_eq!(place.wide, long != LongMessages::Udh);
                let expected = if place.wide { 0x1234 } else { 0x34 };
                assert_eq!(place.reference, expected);
            }
            let again = gather(&parts).unwrap();
            assert_eq!(payload(&again), payload(&whole));
            assert_eq!(again.esm_class, whole.esm_class);
            assert_eq!(again.data_coding, whole.data_coding);
        }
    }
}

#[test]
fn parts_in_different_alphabets_become_one_text() {
    let one = part(b"\x05\x00\x03\x01\x02\x01", b"\x1B\x65 1 ");
    let two = Message {
        esm_class: UDHI,
        registered_delivery: 1,
        ..message(8, b"\x05\x00\x03\x01\x02\x02\x04\x1f")
    };
    let whole = gather(&[one, two]).unwrap();
    assert_eq!(whole.data_coding, 8);
    assert_eq!(text_of(&whole).as_deref(), Some("€ 1 П"));
    assert_eq!(whole.registered_delivery, 1, "what one of them asks for");
    assert!(gather(&[]).is_none());
}

#[test]
fn a_part_is_numbered_the_way_its_peer_wants() {
    let eight = part(b"\x05\x00\x03\x2a\x03\x02", b"text");
    for (long, esm_class, octets) in [
        (
            LongMessages::AsIs,
            0x40,
            &b"\x05\x00\x03\x2a\x03\x02text"[..],
        ),
        (LongMessages::Udh, 0x40, b"\x05\x00\x03\x2a\x03\x02text"),
        (
            LongMessages::Udh16,
            0x40,
            b"\x06\x08\x04\x00\x2a\x03\x02text",
        ),
        (LongMessages::Sar, 0, b"text"),
    ] {
        let mut pdu = submit_sm_of(&eight, 0, 0);
        assert_eq!(shape(&mut pdu, &eight, &peer_encoding(long)), 0);
        assert_eq!(
            (pdu.esm_class, &pdu.short_message[..]),
            (esm_class, octets),
            "{long}"
        );
        let sar = pdu.tlvs.get(tag::SAR_MSG_REF_NUM);
        assert_eq!(
            sar,
            (long == LongMessages::Sar).then_some(&[0x00, 0x2a][..])
        );
    }
}

#[test]
fn what_no_longer_fits_travels_in_message_payload() {
    let mut latin1 = message(0, &[b"\xEA".repeat(200)].concat());
    latin1.set_alphabet(pb::Alphabet::Latin1);
    let mut pdu = submit_sm_of(&latin1, 0, 0);
    shape(&mut pdu, &latin1, &PeerEncoding::default());
    assert!(pdu.short_message.is_empty());
    assert_eq!(
        pdu.tlvs.get(tag::MESSAGE_PAYLOAD).map(<[u8]>::len),
        Some(400)
    );
    assert_eq!(pdu.data_coding, 8);
}

#[test]
fn a_header_that_is_none_is_text() {
    let broken = part(b"\x09\x00", b"text");
    assert_eq!(part_of(&broken), None);
    for long in [LongMessages::Udh, LongMessages::Sar, LongMessages::Payload] {
        let mut pdu = submit_sm_of(&broken, 0, 0);
        shape(&mut pdu, &broken, &peer_encoding(long));
        assert_eq!(pdu.short_message, broken.short_message);
    }
}

#[test]
fn parts_for_handsets_have_their_ports_in_the_header() {
    let mut long = message(4, &[1; 300]);
    let mut tlvs = Tlvs::from_raw(long.tlvs.clone());
    tlvs.push(tag::DEST_PORT, &[0x0B, 0x84]);
    long.tlvs = tlvs.raw().clone();
    let mut to = peer_encoding(LongMessages::Udh);
    let headers = |to: &PeerEncoding| -> Vec<usize> {
        let (parts, _) = divide(&long, to, 7).unwrap();
        assert!(parts.iter().all(|part| part.short_message.len() <= 140));
        let ports = |part: &Message| MessageContent::read(part).header.ports();
        parts
            .iter()
            .filter_map(ports)
            .map(|ports| usize::from(ports.destination))
            .collect()
    };
    assert!(headers(&to).is_empty(), "an operator gets the TLV");
    to.user_data_only = true;
    assert_eq!(headers(&to), [2948; 3]);
}
