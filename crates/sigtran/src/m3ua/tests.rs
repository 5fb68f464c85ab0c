//! Messages of M3UA by octets of RFC 4666, and what cannot be read.

use proptest::prelude::*;

use super::*;
use crate::hex::octets;
use crate::point_code::PointCode;

fn bytes(hex: &str) -> Bytes {
    octets(hex).into()
}

fn number(tag: u16, value: u32) -> M3uaParameter {
    M3uaParameter::number(tag, value)
}

/// Messages of every class, with their octets and the section of RFC 4666.
fn examples() -> Vec<(&'static str, M3uaMessage)> {
    let new = M3uaMessage::new;
    let key = [
        number(tag::LOCAL_ROUTING_KEY, 1),
        number(tag::DESTINATION_POINT_CODE, 187),
        M3uaParameter::new(tag::SERVICE_INDICATORS, &b"\x03"[..]),
    ];
    let result = [
        number(tag::LOCAL_ROUTING_KEY, 1),
        number(tag::REGISTRATION_STATUS, 0),
        number(tag::ROUTING_CONTEXT, 7),
    ];
    let data = ProtocolData {
        originating: PointCode(187),
        destination: PointCode(185),
        service: SERVICE_SCCP,
        network_indicator: 2,
        priority: 0,
        selection: 5,
        data: bytes("09 80 03"),
    };
    vec![
        // §3.3.1
        (
            "01000101 0000002C 0200 0008 00000001 0006 0008 00000007 \
             0210 0013 000000BB 000000B9 03 02 00 05 098003 00",
            new(M3uaKind::DATA)
                .with_number(tag::NETWORK_APPEARANCE, Some(1))
                .with_number(tag::ROUTING_CONTEXT, Some(7))
                .with(data.to_parameter()),
        ),
        // §3.4.1, §3.4.4
        (
            "01000201 00000014 0012 000C 000000B9 030000B8",
            new(M3uaKind::DUNA).with(M3uaParameter::numbers(
                tag::AFFECTED_POINT_CODE,
                &[185, 3 << 24 | 184],
            )),
        ),
        (
            "01000204 00000018 0012 0008 000000B9 0205 0008 00000002",
            new(M3uaKind::SCON)
                .with(number(tag::AFFECTED_POINT_CODE, 185))
                .with(number(tag::CONGESTION, 2)),
        ),
        // §3.5.1, §3.5.5, §3.6.1, §3.6.2
        ("01000301 00000008", new(M3uaKind::ASPUP)),
        (
            "01000301 00000010 0011 0008 00000003",
            new(M3uaKind::ASPUP).with_number(tag::ASP_IDENTIFIER, Some(3)),
        ),
        (
            "01000303 00000010 0009 0006 CAFE 0000",
            new(M3uaKind::BEAT).with(M3uaParameter::new(tag::HEARTBEAT, bytes("CAFE"))),
        ),
        (
            "01000901 00000024 0207 001C 020A 0008 00000001 020B 0008 000000BB 020C 0005 03 000000",
            new(M3uaKind::REG_REQ).with(M3uaParameter::group(tag::ROUTING_KEY, &key).unwrap()),
        ),
        (
            "01000902 00000024 0208 001C 020A 0008 00000001 0212 0008 00000000 0006 0008 00000007",
            new(M3uaKind::REG_RSP)
                .with(M3uaParameter::group(tag::REGISTRATION_RESULT, &result).unwrap()),
        ),
        // §3.7.1, §3.8.1, §3.8.2
        (
            "01000401 00000018 000B 0008 00000002 0006 0008 00000007",
            new(M3uaKind::ASPAC)
                .with_number(tag::TRAFFIC_MODE, Some(2))
                .with_number(tag::ROUTING_CONTEXT, Some(7)),
        ),
        (
            "01000000 00000018 000C 0008 00000006 0007 0007 010001 00",
            new(M3uaKind::ERR)
                .with(number(tag::ERROR_CODE, M3uaErrorCode::UNEXPECTED_MESSAGE.0))
                .with(M3uaParameter::new(tag::DIAGNOSTIC, bytes("010001"))),
        ),
        (
            "01000001 00000010 000D 0008 0001 0004",
            new(M3uaKind::NTFY).with(number(tag::STATUS, ApplicationStatus::Pending.number())),
        ),
    ]
}

#[test]
fn messages_of_every_class() {
    for (hex, message) in examples() {
        let octets = bytes(hex);
        assert_eq!(message.encode().unwrap(), octets, "{}", message.kind);
        let read = M3uaMessage::decode(&octets).unwrap();
        // The padding within a group is part of its value.
        assert_eq!(read.kind, message.kind);
        assert_eq!(read, message, "{}", message.kind);
    }
}

#[test]
fn groups_and_data_are_taken_apart() {
    let octets = bytes(examples()[7].0);
    let message = M3uaMessage::decode(&octets).unwrap();
    let result = message.parameter(tag::REGISTRATION_RESULT).unwrap();
    let numbers: Vec<u32> = result
        .as_group()
        .unwrap()
        .iter()
        .flat_map(|one| one.as_numbers().collect::<Vec<_>>())
        .collect();
    assert_eq!(numbers, [1, 0, 7]);
    let octets = bytes(examples()[0].0);
    let message = M3uaMessage::decode(&octets).unwrap();
    let data = message.parameter(tag::PROTOCOL_DATA).unwrap();
    let data = ProtocolData::of_value(&data.value).unwrap();
    assert_eq!(data.data, bytes("098003"));
    assert_eq!((data.selection, data.network_indicator), (5, 2));
    assert!(ProtocolData::of_value(&bytes("0000 0000 0000 0000 0000 00")).is_none());
}

#[test]
fn the_last_padding_may_lack_or_be_beside_the_length() {
    // §3.1.4: a BEAT of two octets, its padding not counted, sent or not.
    let expected =
        M3uaMessage::new(M3uaKind::BEAT).with(M3uaParameter::new(tag::HEARTBEAT, bytes("CAFE")));
    for hex in [
        "01000303 0000000E 0009 0006 CAFE",
        "01000303 0000000E 0009 0006 CAFE 0000",
    ] {
        assert_eq!(M3uaMessage::decode(&bytes(hex)), Ok(expected.clone()));
    }
}

#[test]
fn what_is_no_message_is_refused() {
    for (hex, why) in [
        ("", MalformedM3ua::CutShort),
        ("01000301 000000", MalformedM3ua::CutShort),
        ("01000301 00000009", MalformedM3ua::CutShort),
        ("01000301 00000007", MalformedM3ua::CutShort),
        ("01000301 FFFFFFFF", MalformedM3ua::CutShort),
        ("02000301 00000008", MalformedM3ua::Version(2)),
        ("01000301 00000008 00000000", MalformedM3ua::TooLong(4)),
        // A parameter shorter than its head, one that goes on behind the message, half a head.
        (
            "01000301 0000000C 0004 0003",
            MalformedM3ua::ParameterLength(4),
        ),
        (
            "01000301 0000000C 0004 0000",
            MalformedM3ua::ParameterLength(4),
        ),
        (
            "01000301 0000000C 0004 0005",
            MalformedM3ua::ParameterLength(4),
        ),
        ("01000301 0000000A 0004", MalformedM3ua::CutShort),
    ] {
        assert_eq!(M3uaMessage::decode(&bytes(hex)), Err(why), "{hex}");
    }
    let many = M3uaMessage {
        kind: M3uaKind::ASPUP,
        parameters: vec![number(tag::INFO, 0); 65],
    };
    let many = many.encode().unwrap();
    assert_eq!(M3uaMessage::decode(&many), Err(MalformedM3ua::Parameters));
}

#[test]
fn a_parameter_that_is_too_long_is_not_cut() {
    let long = |octets: usize| {
        let value = M3uaParameter::new(tag::HEARTBEAT, vec![0; octets]);
        M3uaMessage::new(M3uaKind::BEAT).with(value).encode()
    };
    assert!(long(65_531).is_ok());
    let too_long = M3uaParameterTooLong {
        tag: tag::HEARTBEAT,
        octets: 65_532,
    };
    assert_eq!(long(65_532), Err(too_long));
}

#[test]
fn messages_are_cut_by_their_length() {
    let mut stream = BytesMut::new();
    for (hex, _) in examples() {
        stream.extend_from_slice(&octets(hex));
    }
    stream.extend_from_slice(&octets("010003"));
    for (hex, _) in examples() {
        assert_eq!(next_m3ua(&mut stream), Ok(Some(bytes(hex))));
    }
    assert_eq!(next_m3ua(&mut stream), Ok(None));
    assert_eq!(stream[..], octets("010003"));
}

#[test]
fn a_stream_that_is_not_m3ua_ends_at_once() {
    let next = |hex: &str| next_m3ua(&mut BytesMut::from(&octets(hex)[..]));
    // "GET ", which also would be a long message; lengths that cannot be; and the longest that can.
    assert_eq!(next("47"), Err(M3uaFraming::Version(0x47)));
    assert_eq!(next("01000301 00000007"), Err(M3uaFraming::Length(7)));
    assert_eq!(next("01000301 00010001"), Err(M3uaFraming::Length(65_537)));
    assert_eq!(
        next("01000301 FFFFFFFF"),
        Err(M3uaFraming::Length(u32::MAX))
    );
    assert_eq!(next("01000301 00010000"), Ok(None));
}

#[test]
fn what_a_peer_says_is_fit_for_a_log() {
    let info = |text: &[u8]| {
        let value = Bytes::copy_from_slice(text);
        M3uaMessage::new(M3uaKind::ERR)
            .with(M3uaParameter::new(tag::INFO, value))
            .info()
    };
    assert_eq!(
        info(b"no such AS\r\n\x1b[31m"),
        Some("no such AS[31m".into())
    );
    assert_eq!(info(b"\0"), None);
    assert_eq!(info(&[b'x'; 1_000]).unwrap().len(), 255);
}

#[test]
fn statuses_are_numbers_and_back() {
    for number in [
        0x0001_0002,
        0x0001_0003,
        0x0001_0004,
        0x0002_0001,
        0x0002_0002,
        0x0002_0003,
        0x0009_0001,
    ] {
        assert_eq!(ApplicationStatus::of_number(number).number(), number);
    }
}

fn any_message() -> impl Strategy<Value = M3uaMessage> {
    let parameter = (any::<u16>(), prop::collection::vec(any::<u8>(), 0..40));
    let parameter = parameter.prop_map(|(tag, value)| M3uaParameter::new(tag, value));
    let kinds: Vec<M3uaKind> = examples()
        .into_iter()
        .map(|(_, message)| message.kind)
        .collect();
    let parts = (
        prop::sample::select(kinds),
        prop::collection::vec(parameter, 0..6),
    );
    parts.prop_map(|(kind, parameters)| M3uaMessage { kind, parameters })
}

proptest! {
    #[test]
    fn what_is_written_is_read(message in any_message()) {
        let octets = message.encode().unwrap();
        prop_assert_eq!(octets.len() % 4, 0);
        prop_assert_eq!(M3uaMessage::decode(&octets).unwrap(), message);
    }

    #[test]
    fn an_independent_codec_reads_and_writes_the_same(message in any_message()) {
        let octets = message.encode().unwrap();
        let theirs = ::m3ua::M3uaMessage::decode(&octets).unwrap();
        prop_assert_eq!(theirs.message_type.class_and_type(), (message.kind.class, message.kind.number));
        prop_assert_eq!(theirs.parameters.len(), message.parameters.len());
        for (theirs, ours) in theirs.parameters.iter().zip(&message.parameters) {
            prop_assert_eq!(theirs.tag, ours.tag);
            prop_assert_eq!(&theirs.value[..], &ours.value[..]);
        }
        prop_assert_eq!(&theirs.encode()[..], &octets[..]);
    }

    #[test]
    fn no_octets_panic(octets in any::<Vec<u8>>()) {
        let octets = Bytes::from(octets);
        if let Ok(message) = M3uaMessage::decode(&octets) {
            for parameter in &message.parameters {
                let _ = (parameter.as_group(), parameter.as_numbers().count());
                let _ = ProtocolData::of_value(&parameter.value);
            }
            let _ = message.info();
        }
        let _ = next_m3ua(&mut BytesMut::from(&octets[..]));
    }

    #[test]
    fn no_change_of_a_message_panics(message in any_message(), at in any::<prop::sample::Index>(), octet: u8) {
        let mut octets = message.encode().unwrap().to_vec();
        let at = at.index(octets.len());
        octets[at] = octet;
        let _ = M3uaMessage::decode(&octets.into());
    }
}
