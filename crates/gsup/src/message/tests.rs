//! Tables of messages with their octets, what is odd, what is refused, and that reading undoes writing.

use proptest::prelude::*;

use super::*;
use crate::hex::octets;

/// IMSI 001010000000001.
const IMSI: &str = "001010000000001";
const IMSI_HEX: &str = "01 08 00010100000000F1";

fn given(hex: &str) -> Bytes {
    octets(hex).into()
}

fn service_centre() -> SmRpAddress {
    SmRpAddress::ServiceCentre(TpduAddress::international("49170000"))
}

fn mt_request() -> GsupMessage {
    GsupMessage {
        reference: Some(1),
        destination: Some(SmRpAddress::Imsi(IMSI.to_owned())),
        originator: Some(service_centre()),
        user_information: Some(given("040481214300003211221234440005C8329BFD06")),
        more_messages: Some(false),
        source_name: Some(Bytes::from_static(b"SMSC-00-00-00-00-00-00")),
        ..GsupMessage::new(MessageType::MT_FORWARD_SM_REQUEST, IMSI)
    }
}

fn answer(message_type: MessageType) -> GsupMessage {
    GsupMessage {
        reference: Some(0x2A),
        class: None,
        ..GsupMessage::new(message_type, IMSI)
    }
}

/// What it is, its octets, the message.
#[expect(clippy::too_many_lines, reason = "a table of messages")]
fn table() -> Vec<(&'static str, String, GsupMessage)> {
    let with_imsi = |message_type: &str, rest: &str| format!("{message_type} {IMSI_HEX} {rest}");
    let error = |message_type, rp_cause| GsupMessage {
        rp_cause: Some(rp_cause),
        ..answer(message_type)
    };
    vec![
        (
            "MT-forwardSM request, as captured from an HLR",
            with_imsi(
                "28",
                "40 01 01 41 09 01 00010100000000F1 42 06 03 91 94710000 \
                 43 14 040481214300003211221234440005C8329BFD06 45 01 00 0A 01 02 \
                 60 17 534D53432D30302D30302D30302D30302D30302D303000",
            ),
            mt_request(),
        ),
        (
            "MO-forwardSM request",
            with_imsi(
                "24",
                "40 01 2A 41 06 03 91 94710000 42 06 02 91 94610010 43 02 0107 0A 01 02 \
                 60 04 4D534300 61 05 534D534300",
            ),
            GsupMessage {
                reference: Some(0x2A),
                destination: Some(service_centre()),
                originator: Some(SmRpAddress::Msisdn(TpduAddress::international("49160001"))),
                user_information: Some(given("0107")),
                source_name: Some(Bytes::from_static(b"MSC")),
                destination_name: Some(Bytes::from_static(b"SMSC")),
                ..GsupMessage::new(MessageType::MO_FORWARD_SM_REQUEST, IMSI)
            },
        ),
        (
            "MO-forwardSM result",
            with_imsi("26", "40 01 2A"),
            answer(MessageType::MO_FORWARD_SM_RESULT),
        ),
        (
            "MO-forwardSM error",
            with_imsi("25", "40 01 2A 44 01 15"),
            error(MessageType::MO_FORWARD_SM_ERROR, 21),
        ),
        (
            "MT-forwardSM result with the report of the phone",
            with_imsi("2A", "40 01 2A 43 02 0000"),
            GsupMessage {
                user_information: Some(given("0000")),
                ..answer(MessageType::MT_FORWARD_SM_RESULT)
            },
        ),
        (
            "MT-forwardSM error: memory capacity exceeded",
            with_imsi("29", "40 01 2A 44 01 16"),
            error(MessageType::MT_FORWARD_SM_ERROR, 22),
        ),
        (
            "MT-forwardSM error of the HLR: implicitly detached",
            with_imsi("29", "02 01 0A 40 01 2A"),
            GsupMessage {
                cause: Some(0x0A),
                ..answer(MessageType::MT_FORWARD_SM_ERROR)
            },
        ),
        (
            "READY-FOR-SM request: memory available",
            with_imsi("2C", "40 01 2A 46 01 02 0A 01 02"),
            GsupMessage {
                alert_reason: Some(ALERT_MEMORY),
                class: Some(CLASS_SMS),
                ..answer(MessageType::READY_FOR_SM_REQUEST)
            },
        ),
        (
            "READY-FOR-SM result",
            with_imsi("2E", "40 01 2A"),
            answer(MessageType::READY_FOR_SM_RESULT),
        ),
        (
            "READY-FOR-SM error",
            with_imsi("2D", "40 01 2A 44 01 26"),
            error(MessageType::READY_FOR_SM_ERROR, 38),
        ),
        (
            "ROUTING_ERROR",
            with_imsi("4E", "40 01 2A 0A 01 02"),
            GsupMessage {
                class: Some(CLASS_SMS),
                ..answer(MessageType::ROUTING_ERROR)
            },
        ),
        (
            "no destination, and more messages",
            with_imsi(
                "28",
                "40 01 FF 41 01 FF 42 06 03 91 94710000 43 00 45 01 01 0A 01 02",
            ),
            GsupMessage {
                reference: Some(REFERENCE_UNKNOWN),
                destination: Some(SmRpAddress::Absent),
                user_information: Some(Bytes::new()),
                more_messages: Some(true),
                source_name: None,
                ..mt_request()
            },
        ),
    ]
}

#[test]
fn messages_are_read_and_written() {
    for (about, hex, message) in table() {
        let given = given(&hex);
        assert_eq!(GsupMessage::decode(&given), Ok(message.clone()), "{about}");
        assert_eq!(message.encode().unwrap(), given, "{about}");
    }
}

#[test]
fn types_have_names() {
    for (message_type, name) in [
        (MessageType::MO_FORWARD_SM_REQUEST, "MO-forwardSM request"),
        (MessageType::MT_FORWARD_SM_ERROR, "MT-forwardSM error"),
        (MessageType::READY_FOR_SM_RESULT, "READY-FOR-SM result"),
        (MessageType::ROUTING_ERROR, "ROUTING_ERROR"),
        (MessageType(0x05), "UpdateLocation error"),
    ] {
        assert_eq!(message_type.to_string(), name);
    }
    let request = MessageType::MT_FORWARD_SM_REQUEST;
    assert_eq!(request.error(), MessageType::MT_FORWARD_SM_ERROR);
    assert_eq!(request.result().request(), request);
    assert!(request.is_request() && !request.result().is_request());
}

#[test]
fn what_is_not_known_is_passed_over() {
    // Another order, elements of other procedures, a name without a NUL, a repeated element.
    let hex = format!(
        "26 40 01 01 08 05 04 94610010 28 01 02 30 04 00000001 31 01 01 F0 00 {IMSI_HEX} \
         60 03 4D5343 40 01 2A"
    );
    let expected = GsupMessage {
        source_name: Some(Bytes::from_static(b"MSC")),
        ..answer(MessageType::MO_FORWARD_SM_RESULT)
    };
    assert_eq!(GsupMessage::decode(&given(&hex)), Ok(expected));
    let other = GsupMessage::decode(&given(&format!("04 {IMSI_HEX} 28 01 02"))).unwrap();
    assert_eq!(other.message_type, MessageType(0x04));
}

#[test]
fn what_cannot_be_read_is_named_with_what_was_read() {
    let mr = "40 01 2A";
    for (rest, tag, at, problem) in [
        ("43 05 0107", Tag::SM_RP_UI, 14, ElementProblem::CutShort),
        ("43", Tag::SM_RP_UI, 14, ElementProblem::CutShort),
        ("41 00", Tag::SM_RP_DA, 14, ElementProblem::Length(0)),
        ("41 01 02", Tag::SM_RP_DA, 14, ElementProblem::Length(1)),
        ("42 02 07 91", Tag::SM_RP_OA, 14, ElementProblem::Kind(7)),
        (
            "44 02 0016",
            Tag::SM_RP_CAUSE,
            14,
            ElementProblem::Length(2),
        ),
        ("45 00", Tag::SM_RP_MMS, 14, ElementProblem::Length(0)),
    ] {
        let error = GsupMessage::decode(&given(&format!("28 {IMSI_HEX} {mr} {rest}"))).unwrap_err();
        assert_eq!(
            (error.tag, error.at, error.problem),
            (tag, at, problem),
            "{rest}"
        );
        assert_eq!(error.message.imsi, IMSI, "{rest}");
        assert_eq!(error.message.reference, Some(0x2A), "{rest}");
    }
    for hex in ["", "28", "28 40 01 01", "28 01 00"] {
        let error = GsupMessage::decode(&given(hex)).unwrap_err();
        assert_eq!(
            (error.tag, error.problem),
            (Tag::IMSI, ElementProblem::Missing),
            "{hex}"
        );
    }
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table of what is refused")]
fn what_the_protocol_cannot_carry_is_refused() {
    let request = mt_request;
    let long = |length: usize| Some(Bytes::from(vec![b'x'; length]));
    let international = |digits: &str| SmRpAddress::Msisdn(TpduAddress::international(digits));
    let not_a_digit = tpdu::TpduWriteError {
        field: TpduField::RpOriginatorAddress,
        reason: tpdu::UnwritableReason::Digit('+'),
    };
    let (imsi, ready) = (IMSI.to_owned(), MessageType::READY_FOR_SM_REQUEST);
    for (message, tag, reason) in [
        (
            GsupMessage {
                imsi: String::new(),
                ..request()
            },
            Tag::IMSI,
            ElementWriteProblem::Missing,
        ),
        (
            GsupMessage {
                imsi: "12".to_owned(),
                ..request()
            },
            Tag::IMSI,
            ElementWriteProblem::Imsi,
        ),
        (
            GsupMessage {
                imsi: "00101000000000a".to_owned(),
                ..request()
            },
            Tag::IMSI,
            ElementWriteProblem::Imsi,
        ),
        (
            GsupMessage {
                reference: None,
                ..request()
            },
            Tag::SM_RP_MR,
            ElementWriteProblem::Missing,
        ),
        (
            GsupMessage {
                destination: None,
                ..request()
            },
            Tag::SM_RP_DA,
            ElementWriteProblem::Missing,
        ),
        (
            GsupMessage {
                originator: None,
                ..request()
            },
            Tag::SM_RP_OA,
            ElementWriteProblem::Missing,
        ),
        (
            GsupMessage {
                user_information: None,
                ..request()
            },
            Tag::SM_RP_UI,
            ElementWriteProblem::Missing,
        ),
        (
            answer(MessageType::MT_FORWARD_SM_ERROR),
            Tag::SM_RP_CAUSE,
            ElementWriteProblem::Missing,
        ),
        (
            answer(ready),
            Tag::SM_ALERT_REASON,
            ElementWriteProblem::Missing,
        ),
        (
            GsupMessage {
                originator: Some(SmRpAddress::Imsi(imsi)),
                ..request()
            },
            Tag::SM_RP_OA,
            ElementWriteProblem::Kind,
        ),
        (
            GsupMessage {
                originator: Some(international("+49")),
                ..request()
            },
            Tag::SM_RP_OA,
            ElementWriteProblem::Number(not_a_digit),
        ),
        (
            GsupMessage {
                user_information: long(256),
                ..request()
            },
            Tag::SM_RP_UI,
            ElementWriteProblem::Long(256),
        ),
        (
            GsupMessage {
                source_name: long(255),
                ..request()
            },
            Tag::SOURCE_NAME,
            ElementWriteProblem::Long(256),
        ),
        (
            GsupMessage {
                rp_cause: Some(128),
                ..answer(MessageType::MT_FORWARD_SM_ERROR)
            },
            Tag::SM_RP_CAUSE,
            ElementWriteProblem::Large(128),
        ),
    ] {
        assert_eq!(
            message.encode(),
            Err(GsupWriteError { tag, reason }),
            "{message:?}"
        );
    }
}

#[test]
fn an_answer_goes_back_to_where_the_request_came_from() {
    let own = Bytes::from_static(b"MSC");
    let answer = mt_request().answer(MessageType::MT_FORWARD_SM_RESULT, &own);
    assert_eq!(answer.destination_name, mt_request().source_name);
    assert_eq!(answer.source_name, Some(own));
    assert_eq!((answer.reference, answer.imsi.as_str()), (Some(1), IMSI));
    assert!(answer.encode().is_ok());
}

fn any_address() -> impl Strategy<Value = SmRpAddress> {
    let number = ("[0-9*#abc]{0,20}", 0_u8..8, 0_u8..16);
    let number = number.prop_map(|(text, ton, npi)| TpduAddress { ton, npi, text });
    prop_oneof![
        number.clone().prop_map(SmRpAddress::Msisdn),
        number.prop_map(SmRpAddress::ServiceCentre),
        Just(SmRpAddress::Absent),
    ]
}

fn any_message() -> impl Strategy<Value = GsupMessage> {
    let types = prop::sample::select(vec![
        0x24, 0x25, 0x26, 0x28, 0x29, 0x2A, 0x2C, 0x2D, 0x2E, 0x4E,
    ]);
    let octets = (
        any::<u8>(),
        any::<Option<u8>>(),
        0_u8..128,
        any::<u8>(),
        any::<Option<u8>>(),
    );
    let imsi = "[0-9]{6,15}";
    let destination = prop_oneof![any_address(), imsi.prop_map(SmRpAddress::Imsi)];
    let user_information = prop::collection::vec(any::<u8>(), 0..=255);
    let name = prop::option::of("[A-Z0-9-]{0,254}");
    let names = (name.clone(), name, any::<Option<bool>>());
    (
        types,
        imsi,
        octets,
        (destination, any_address()),
        user_information,
        names,
    )
        .prop_map(
            |(types, imsi, octets, (destination, originator), user_information, names)| {
                GsupMessage {
                    message_type: MessageType(types),
                    imsi,
                    cause: octets.1,
                    reference: Some(octets.0),
                    destination: Some(destination),
                    originator: Some(originator),
                    user_information: Some(user_information.into()),
                    more_messages: names.2,
                    rp_cause: Some(octets.2),
                    alert_reason: Some(octets.3),
                    class: octets.4,
                    source_name: names.0.map(Bytes::from),
                    destination_name: names.1.map(Bytes::from),
                }
            },
        )
}

proptest! {
    #[test]
    fn reading_undoes_writing(message in any_message()) {
        let written = Bytes::from(message.encode().unwrap());
        prop_assert!(written.len() < crate::ipa::FRAME_MAX - crate::ipa::HEAD);
        prop_assert_eq!(GsupMessage::decode(&written), Ok(message));
    }

    #[test]
    fn no_octets_panic(octets: Vec<u8>) {
        let octets = Bytes::from(octets);
        match GsupMessage::decode(&octets) {
            Ok(message) => drop(message.encode()),
            Err(malformed) => prop_assert!(malformed.at <= octets.len()),
        }
    }

    #[test]
    fn no_elements_panic(elements in prop::collection::vec((0_u8..0x70, any::<Vec<u8>>()), 0..6)) {
        let mut octets = vec![0x28];
        for (tag, value) in &elements {
            let value = &value[..value.len().min(255)];
            octets.extend([*tag, value.len() as u8]);
            octets.extend_from_slice(value);
        }
        let octets = Bytes::from(octets);
        let read: Vec<_> = Elements::of(&octets).collect();
        prop_assert_eq!(read.len(), elements.len());
        if let Ok(message) = GsupMessage::decode(&octets) {
            drop(message.encode());
        }
    }
}
