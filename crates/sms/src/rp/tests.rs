//! Tables of RP messages, what is refused, and that reading undoes writing.

use proptest::prelude::*;

use super::*;
use crate::hex::octets;

fn tpdu(hex: &str) -> Bytes {
    octets(hex).into()
}

/// Octets (section, hexadecimal) and the message.
fn table() -> Vec<(&'static str, &'static str, Rp)> {
    vec![
        (
            "7.3.1.1 RP-DATA to the phone",
            "01 2A 06 91 94710000F0 00 03 040811",
            Rp::Data {
                direction: Direction::ToPhone,
                reference: 0x2A,
                service_centre: TpduAddress::international("491700000"),
                tpdu: tpdu("040811"),
            },
        ),
        (
            "7.3.1.2 RP-DATA from the phone",
            "00 07 00 05 91 94710000 02 0107",
            Rp::Data {
                direction: Direction::FromPhone,
                reference: 7,
                service_centre: TpduAddress::international("49170000"),
                tpdu: tpdu("0107"),
            },
        ),
        (
            "7.3.2 RP-SMMA",
            "06 09",
            Rp::MemoryAvailable { reference: 9 },
        ),
        (
            "7.3.3 RP-ACK from the phone",
            "02 2A 41 02 0000",
            Rp::Ack {
                direction: Direction::FromPhone,
                reference: 0x2A,
                tpdu: Some(tpdu("0000")),
            },
        ),
        (
            "7.3.3 RP-ACK to the phone",
            "03 07",
            Rp::Ack {
                direction: Direction::ToPhone,
                reference: 7,
                tpdu: None,
            },
        ),
        (
            "7.3.4 RP-ERROR from the phone: memory capacity exceeded",
            "04 2A 01 16 41 03 00D300",
            Rp::Error {
                direction: Direction::FromPhone,
                reference: 0x2A,
                cause: 22,
                diagnostic: None,
                tpdu: Some(tpdu("00D300")),
            },
        ),
        (
            "7.3.4 RP-ERROR to the phone with a diagnostic",
            "05 07 02 45 80",
            Rp::Error {
                direction: Direction::ToPhone,
                reference: 7,
                cause: 69,
                diagnostic: Some(0x80),
                tpdu: None,
            },
        ),
    ]
}

#[test]
fn messages_are_read_and_written() {
    for (about, hex, rp) in table() {
        let given = tpdu(hex);
        let examined = examine(&given);
        assert_eq!(examined.rp, Ok(rp.clone()), "{about}");
        assert!(examined.notes.oddities.is_empty(), "{about}");
        let covered: usize = examined.notes.fields.iter().map(|span| span.octets).sum();
        assert_eq!(covered, given.len(), "{about}");
        assert_eq!(rp.encode().unwrap(), given, "{about}");
    }
}

#[test]
fn what_cannot_be_read_is_named() {
    let short = |wanted, left| FieldProblem::Short { wanted, left };
    for (hex, fault) in [
        ("", TpduField::RpMessageType.fault(0, short(1, 0))),
        (
            "07 01",
            TpduField::RpMessageType.fault(0, FieldProblem::Reserved(7)),
        ),
        ("02", TpduField::RpMessageReference.fault(1, short(1, 0))),
        (
            "01 01 06 91",
            TpduField::RpOriginatorAddress.fault(3, short(6, 1)),
        ),
        ("04 01 00", TpduField::RpCause.fault(2, short(1, 0))),
        ("02 01 41", TpduField::RpUserData.fault(2, short(2, 1))),
    ] {
        assert_eq!(decode(&tpdu(hex)), Err(fault), "{hex}");
    }
}

#[test]
fn what_is_odd_is_kept_and_noted() {
    let short = FieldProblem::Short { wanted: 5, left: 2 };
    for (hex, fault) in [
        // A TPDU that is cut short, an unknown element, reserved bits of the message type.
        (
            "00 07 00 02 91 94 05 0107",
            TpduField::RpUserData.fault(7, short),
        ),
        (
            "F3 07 42 01 00",
            TpduField::Rest.fault(2, FieldProblem::LeftOver(3)),
        ),
    ] {
        let examined = examine(&tpdu(hex));
        assert!(examined.rp.is_ok(), "{hex}: {examined:?}");
        assert_eq!(examined.notes.oddities, [fault], "{hex}");
    }
}

#[test]
fn what_the_standard_cannot_carry_is_refused() {
    let direction = Direction::FromPhone;
    let data = |digits: &str, length| Rp::Data {
        direction,
        reference: 0,
        service_centre: TpduAddress::international(digits),
        tpdu: vec![0; length].into(),
    };
    let long = |length, unit, most| UnwritableReason::Long { length, unit, most };
    let digits = "1".repeat(21);
    for (rp, field, reason) in [
        (
            data("1", 234),
            TpduField::RpUserData,
            long(234, "octets", 233),
        ),
        (
            data(&digits, 1),
            TpduField::RpDestinationAddress,
            long(21, "digits", 20),
        ),
        (
            data("+1", 1),
            TpduField::RpDestinationAddress,
            UnwritableReason::Digit('+'),
        ),
        (
            Rp::Error {
                direction,
                reference: 0,
                cause: 128,
                diagnostic: None,
                tpdu: None,
            },
            TpduField::RpCause,
            UnwritableReason::Large {
                value: 128,
                most: 127,
            },
        ),
    ] {
        assert_eq!(rp.encode(), Err(TpduWriteError { field, reason }));
    }
}

fn any_message() -> impl Strategy<Value = Rp> {
    let direction = prop_oneof![Just(Direction::ToPhone), Just(Direction::FromPhone)];
    let address = ("[0-9*#abc]{0,20}", 0_u8..8, 0_u8..16);
    let octets = prop::collection::vec(any::<u8>(), 0..=ANSWER_MAX);
    let tpdu = prop::option::of(octets.clone());
    let cause = (0_u8..128, any::<Option<u8>>());
    (direction, any::<u8>(), address, octets, tpdu, cause, 0..4).prop_map(
        |(direction, reference, (text, ton, npi), octets, tpdu, (cause, diagnostic), which)| {
            let tpdu = tpdu.map(Bytes::from);
            match which {
                0 => Rp::Data {
                    direction,
                    reference,
                    service_centre: TpduAddress { ton, npi, text },
                    tpdu: octets.into(),
                },
                1 => Rp::Ack {
                    direction,
                    reference,
                    tpdu,
                },
                2 => Rp::Error {
                    direction,
                    reference,
                    cause,
                    diagnostic,
                    tpdu,
                },
                _ => Rp::MemoryAvailable { reference },
            }
        },
    )
}

proptest! {
    #[test]
    fn reading_undoes_writing(rp in any_message()) {
        let written = Bytes::from(rp.encode().unwrap());
        let examined = examine(&written);
        prop_assert_eq!(examined.rp, Ok(rp));
        prop_assert!(examined.notes.oddities.is_empty());
    }

    #[test]
    fn no_octets_panic(octets: Vec<u8>) {
        let octets = Bytes::from(octets);
        let examined = examine(&octets);
        prop_assert_eq!(&decode(&octets), &examined.rp);
        let covered: usize = examined.notes.fields.iter().map(|span| span.octets).sum();
        prop_assert!(covered <= octets.len());
        if let Ok(rp) = examined.rp {
            prop_assert_eq!(covered, octets.len());
            let _ = rp.encode();
        }
    }
}
