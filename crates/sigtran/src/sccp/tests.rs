//! Messages of SCCP by octets of Q.713, and what cannot be read.

use proptest::prelude::*;

use super::management::SubsystemMessage;
use super::*;
use crate::address::ssn;
use crate::address::tests::any_address;
use crate::global_title::GlobalTitle;
use crate::hex::octets;
use crate::point_code::PointCode;

fn bytes(hex: &str) -> Bytes {
    octets(hex).into()
}

fn hlr() -> SccpAddress {
    SccpAddress::of_title(GlobalTitle::international("49170123", 0), ssn::HLR)
}

fn smsc() -> SccpAddress {
    SccpAddress::of_point(PointCode(187), ssn::MSC)
}

/// Messages of every type, with their octets and the section of Q.713.
fn examples() -> Vec<(&'static str, SccpMessage)> {
    let unitdata = || SccpMessage::unitdata(hlr(), smsc(), bytes("CAFE"));
    let class_1 = SccpPurpose::Data {
        in_order: true,
        return_on_error: true,
    };
    let first = Segmentation {
        is_first: true,
        in_order: false,
        remaining: 2,
        reference: 0x01_0203,
    };
    vec![
        // §4.10
        (
            "09 00 03 0C 10 09 12 06 00 12 04 94 71 10 32 04 43 BB 00 08 02 CA FE",
            unitdata(),
        ),
        (
            "09 81 03 0C 10 09 12 06 00 12 04 94 71 10 32 04 43 BB 00 08 02 CA FE",
            SccpMessage {
                purpose: class_1,
                ..unitdata()
            },
        ),
        // §4.11: the parties change places.
        (
            "0A 04 03 07 10 04 43 BB 00 08 09 12 06 00 12 04 94 71 10 32 02 CA FE",
            unitdata().returned(cause::UNEQUIPPED_USER),
        ),
        // §4.18: without and with optional parts.
        (
            "11 00 0F 04 0D 11 00 09 12 06 00 12 04 94 71 10 32 04 43 BB 00 08 02 CA FE",
            SccpMessage {
                form: SccpForm::Extended,
                ..unitdata()
            },
        ),
        (
            "11 81 0F 04 0D 11 13 09 12 06 00 12 04 94 71 10 32 04 43 BB 00 08 02 CA FE \
             10 04 82 01 02 03 00",
            SccpMessage {
                form: SccpForm::Extended,
                purpose: class_1,
                segmentation: Some(first),
                ..unitdata()
            },
        ),
        // §4.19
        (
            "12 0E 0F 04 08 11 13 04 43 BB 00 08 09 12 06 00 12 04 94 71 10 32 02 CA FE \
             10 04 C0 01 02 03 12 01 05 00",
            SccpMessage {
                form: SccpForm::Extended,
                segmentation: Some(Segmentation {
                    in_order: true,
                    remaining: 0,
                    ..first
                }),
                importance: Some(5),
                ..unitdata()
            }
            .returned(cause::SEGMENTATION_FAILURE),
        ),
        // §4.20, §4.21: two octets each, the lower one first; pointers count from the second.
        (
            "13 00 0F 07 00 0F 00 12 00 00 00 09 12 06 00 12 04 94 71 10 32 04 43 BB 00 08 02 00 CA FE",
            SccpMessage {
                form: SccpForm::Long,
                ..unitdata()
            },
        ),
        (
            "14 07 0F 07 00 0A 00 12 00 14 00 04 43 BB 00 08 09 12 06 00 12 04 94 71 10 32 02 00 CA FE \
             10 04 82 01 02 03 00",
            SccpMessage {
                form: SccpForm::Long,
                segmentation: Some(first),
                ..unitdata()
            }
            .returned(cause::UNQUALIFIED),
        ),
    ]
}

#[test]
fn messages_of_every_type() {
    for (hex, message) in examples() {
        let name = message.name();
        assert_eq!(message.encode().unwrap(), bytes(hex), "{name}");
        assert_eq!(
            SccpMessage::decode(&bytes(hex)).as_ref(),
            Ok(&message),
            "{name}"
        );
    }
}

#[test]
fn messages_that_others_write_are_taken() {
    // Parties in another order, with octets between them, as pointers allow; unknown optional parts; no
    // end of them.
    let expected = SccpMessage {
        form: SccpForm::Extended,
        ..SccpMessage::unitdata(smsc(), hlr(), bytes("CAFE"))
    };
    for hex in [
        "11 00 0F 0E 03 11 00 09 12 06 00 12 04 94 71 10 32 04 43 BB 00 08 02 CA FE",
        "11 00 0F 04 09 13 00 04 43 BB 00 08 FF 09 12 06 00 12 04 94 71 10 32 FF 02 CA FE",
        "11 00 0F 04 08 11 13 04 43 BB 00 08 09 12 06 00 12 04 94 71 10 32 02 CA FE 55 02 01 02 00",
        "11 00 0F 04 08 11 13 04 43 BB 00 08 09 12 06 00 12 04 94 71 10 32 02 CA FE 55 02 01 02",
    ] {
        assert_eq!(
            SccpMessage::decode(&bytes(hex)).as_ref(),
            Ok(&expected),
            "{hex}"
        );
    }
}

#[test]
fn what_is_no_message_is_refused() {
    let cut = MalformedSccp::CutShort;
    for (hex, why) in [
        ("", cut),
        ("09", cut),
        ("09 00 03 05", cut),
        // Connection request; classes of connections.
        ("01 00", MalformedSccp::Type(1)),
        (
            "09 02 03 05 09 02 42 06 02 42 08 00",
            MalformedSccp::Class(2),
        ),
        // Pointers of nothing, and behind the end.
        ("09 00 00 05 07 02 42 06 02 42 08 00", cut),
        ("09 00 03 05 FF 02 42 06 02 42 08 00", cut),
        // Lengths behind the end, of a party and of the data.
        ("09 00 03 05 07 09 42 06 02 42 08 00", cut),
        ("09 00 03 05 07 02 42 06 02 42 08 01", cut),
        // A party that is none, and a segmentation that is none.
        (
            "09 00 03 04 06 01 02 02 42 08 00",
            MalformedSccp::Address(SccpAddressProblem::CutShort),
        ),
        (
            "11 00 0F 04 06 08 08 02 42 06 02 42 08 00 10 03 82 01 02 00",
            MalformedSccp::Segmentation(3),
        ),
        ("11 00 0F 04 06 08 08 02 42 06 02 42 08 00 10 09 82", cut),
        ("11 00 0F 04 06 08 FF 02 42 06 02 42 08 00", cut),
        ("13 00 0F 07 00", cut),
        (
            "13 00 0F 07 00 08 00 09 00 FF FF 02 42 06 02 42 08 00 00",
            cut,
        ),
    ] {
        assert_eq!(SccpMessage::decode(&bytes(hex)), Err(why), "{hex}");
    }
}

#[test]
fn more_data_than_a_long_message_has_is_refused() {
    let long = |octets: usize| {
        let head = "13 00 0F 07 00 08 00 09 00 00 00 02 42 06 02 42 08";
        let mut message = bytes(head).to_vec();
        message.extend((octets as u16).to_le_bytes());
        message.resize(message.len() + octets, 0);
        SccpMessage::decode(&message.into()).map(|message| message.data.len())
    };
    assert_eq!(long(3_952), Ok(3_952));
    assert_eq!(long(3_953), Err(MalformedSccp::Long(3_953)));
    assert_eq!(long(65_535), Err(MalformedSccp::Long(65_535)));
}

#[test]
fn what_does_not_fit_is_not_cut() {
    let encode = |form, octets: usize| {
        let message = SccpMessage {
            form,
            ..SccpMessage::unitdata(hlr(), smsc(), vec![0; octets].into())
        };
        message.encode().map(|octets| octets.len())
    };
    for (form, most) in [
        (SccpForm::Short, 255),
        (SccpForm::Extended, 254),
        (SccpForm::Long, 3_952),
    ] {
        assert!(encode(form, most).is_ok());
        assert_eq!(encode(form, most + 1), Err(SccpWriteError::Long(most + 1)));
    }
    // The pointer to the optional parts cannot point beyond the data.
    let segment = SccpMessage {
        form: SccpForm::Extended,
        importance: Some(1),
        ..SccpMessage::unitdata(hlr(), smsc(), vec![0; 254].into())
    };
    assert_eq!(segment.encode(), Err(SccpWriteError::Long(254)));
}

#[test]
fn subsystems_are_asked_for_and_told() {
    // §5.3: SST for subsystem 8 of 0.23.3.
    let test = SubsystemMessage {
        kind: management::SUBSYSTEM_TEST,
        ssn: 8,
        point_code: PointCode(187),
    };
    assert_eq!(test.encode(), bytes("03 08 BB 00 00"));
    assert_eq!(
        SubsystemMessage::decode(&octets("03 08 BB 00 00")),
        Some(test)
    );
    assert_eq!(SubsystemMessage::decode(&octets("03 08 BB 00")), None);
}

pub(crate) fn any_message() -> impl Strategy<Value = SccpMessage> {
    let form = prop::sample::select(vec![SccpForm::Short, SccpForm::Extended, SccpForm::Long]);
    let data =
        (any::<bool>(), any::<bool>()).prop_map(|(in_order, return_on_error)| SccpPurpose::Data {
            in_order,
            return_on_error,
        });
    let purpose = prop_oneof![data, any::<u8>().prop_map(SccpPurpose::Return)];
    let segmentation = (any::<bool>(), any::<bool>(), 0_u8..16, 0_u32..1 << 24);
    let segmentation =
        segmentation.prop_map(|(is_first, in_order, remaining, reference)| Segmentation {
            is_first,
            in_order,
            remaining,
            reference,
        });
    let parties = (any_address(), any_address());
    let data = prop::collection::vec(any::<u8>(), 0..150);
    let optional = (
        proptest::option::of(segmentation),
        proptest::option::of(0_u8..8),
    );
    (form, purpose, any::<u8>(), parties, data, optional).prop_map(
        |(form, purpose, hops, (called, calling), data, (segmentation, importance))| {
            let is_short = form == SccpForm::Short;
            SccpMessage {
                form,
                purpose,
                hops: if is_short { HOPS } else { hops },
                called,
                calling,
                data: data.into(),
                segmentation: segmentation.filter(|_| !is_short),
                importance: importance.filter(|_| !is_short),
            }
        },
    )
}

proptest! {
    #[test]
    fn what_is_written_is_read(message in any_message()) {
        let octets = message.encode().unwrap();
        prop_assert_eq!(SccpMessage::decode(&octets).unwrap(), message);
    }

    #[test]
    fn an_independent_codec_writes_the_same(message in any_message()) {
        let octets = message.encode().unwrap();
        let theirs = ::sccp::message::SccpMessage::decode(&octets).unwrap();
        prop_assert_eq!(&theirs.encode().unwrap()[..], &octets[..]);
    }

    #[test]
    fn no_octets_panic(kind in 0_u8..0x16, octets in any::<Vec<u8>>()) {
        let _ = SccpMessage::decode(&octets.clone().into());
        let typed: Vec<u8> = std::iter::once(kind).chain(octets).collect();
        if let Ok(message) = SccpMessage::decode(&typed.into()) {
            let _ = message.encode();
        }
    }

    #[test]
    fn no_change_of_a_message_panics(
        message in any_message(),
        at in any::<prop::sample::Index>(),
        octet: u8,
        cut in any::<prop::sample::Index>(),
    ) {
        let mut octets = message.encode().unwrap().to_vec();
        let at = at.index(octets.len());
        octets[at] = octet;
        let _ = SccpMessage::decode(&octets.clone().into());
        octets.truncate(cut.index(octets.len()));
        let _ = SccpMessage::decode(&octets.into());
    }
}
