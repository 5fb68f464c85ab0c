//! The forwarding operations against vectors of pycrate 0.8.1, and what else networks send.

use proptest::prelude::*;

use super::*;
use crate::hex::octets;

/// A TPDU with "How are you?".
const TPDU: &str = "04 0b 91 13 46 61 00 89 f6 00 00 20 80 62 91 73 14 08 0c c8 f7 1d 14 96 97 41 f9 \
                    77 fd 07";

fn to_handset(more: bool) -> ForwardSmArg {
    ForwardSmArg {
        destination: SmRpDa::Imsi("262011234567890".to_owned()),
        originator: SmRpOa::ServiceCentre(TpduAddress::international("491710760000")),
        tpdu: octets(TPDU).into(),
        more,
        imsi: None,
    }
}

fn from_handset(imsi: Option<&str>) -> ForwardSmArg {
    ForwardSmArg {
        destination: SmRpDa::ServiceCentre(TpduAddress::international("491710760000")),
        originator: SmRpOa::Msisdn(TpduAddress::international("4917612345678")),
        tpdu: octets(TPDU).into(),
        more: false,
        imsi: imsi.map(str::to_owned),
    }
}

/// TS 29.002 §17.7.6: MT-ForwardSM-Arg, MO-ForwardSM-Arg; ForwardSM-Arg of version 2.
#[test]
fn arguments_are_those_of_pycrate() {
    let to_imsi = "80 08 62 02 11 32 54 76 98 f0 84 07 91 94 71 01 67 00 00 04 1e";
    let from_number = "84 07 91 94 71 01 67 00 00 82 08 91 94 71 16 32 54 76 f8 04 1e";
    for (version, argument, hex) in [
        (
            MapVersion::V3,
            to_handset(false),
            format!("30 33 {to_imsi} {TPDU}"),
        ),
        (
            MapVersion::V3,
            to_handset(true),
            format!("30 35 {to_imsi} {TPDU} 05 00"),
        ),
        (
            MapVersion::V2,
            to_handset(true),
            format!("30 35 {to_imsi} {TPDU} 05 00"),
        ),
        (
            MapVersion::V3,
            ForwardSmArg {
                destination: SmRpDa::Absent,
                originator: SmRpOa::Absent,
                ..to_handset(false)
            },
            format!("30 24 85 00 85 00 04 1e {TPDU}"),
        ),
        (
            MapVersion::V1,
            ForwardSmArg {
                destination: SmRpDa::RoamingNumber(TpduAddress::international("4917612345678")),
                ..to_handset(false)
            },
            format!("30 33 83 08 91 94 71 16 32 54 76 f8 84 07 91 94 71 01 67 00 00 04 1e {TPDU}"),
        ),
        (
            MapVersion::V3,
            from_handset(Some("262011234567890")),
            format!("30 3d {from_number} {TPDU} 04 08 62 02 11 32 54 76 98 f0"),
        ),
        (
            MapVersion::V2,
            from_handset(None),
            format!("30 33 {from_number} {TPDU}"),
        ),
    ] {
        assert_eq!(argument.encode(version).unwrap(), octets(&hex), "{hex}");
        assert_eq!(ForwardSmArg::decode(&octets(&hex)), Ok(argument), "{hex}");
    }
}

#[test]
fn earlier_versions_lack_what_later_ones_have() {
    let written = to_handset(true).encode(MapVersion::V1).unwrap();
    assert_eq!(ForwardSmArg::decode(&written), Ok(to_handset(false)));
    let written = from_handset(Some("262011234567890")).encode(MapVersion::V2);
    let read = ForwardSmArg::decode(&written.unwrap());
    assert_eq!(read, Ok(from_handset(None)));
}

#[test]
fn what_later_releases_and_makers_add_is_passed_over() {
    // smDeliveryTimer, an extension container, smsOverIP-OnlyIndicator.
    let hex = format!(
        "30 3a 81 04 01 02 03 04 84 07 91 94 71 01 67 00 00 04 1e {TPDU} 05 00 30 02 a1 00 02 01 \
         3c 80 00"
    );
    let read = ForwardSmArg::decode(&octets(&hex));
    let expected = ForwardSmArg {
        destination: SmRpDa::Lmsi(Bytes::from_static(&[1, 2, 3, 4])),
        ..to_handset(true)
    };
    assert_eq!(read, Ok(expected));
}

/// TS 29.002 §17.7.6: MT-ForwardSM-Res, MO-ForwardSM-Res.
#[test]
fn results_are_those_of_pycrate() {
    let report = ForwardSmResult {
        tpdu: Some(Bytes::from_static(&[0, 0])),
    };
    let written = report.encode(MapVersion::V3).unwrap();
    assert_eq!(written, octets("30 04 04 02 00 00"));
    assert_eq!(ForwardSmResult::decode(&written), Ok(report.clone()));
    assert_eq!(report.encode(MapVersion::V2).unwrap(), Bytes::new());
    for nothing in ["", "30 00", "30 04 30 02 a1 00", "05 00"] {
        let read = ForwardSmResult::decode(&octets(nothing));
        assert_eq!(read, Ok(ForwardSmResult::default()), "{nothing}");
    }
}

#[test]
fn what_is_wrong_is_named() {
    for (hex, fault) in [
        ("30 00", MalformedMap::Missing("SM-RP-DA")),
        ("30 02 85 00", MalformedMap::Missing("SM-RP-OA")),
        ("30 04 85 00 85 00", MalformedMap::Missing("SM-RP-UI")),
        ("30 06 85 00 85 00 05 00", MalformedMap::Missing("SM-RP-UI")),
        (
            "30 06 85 00 85 00 04 00",
            MalformedMap::Field("the SM-RP-UI"),
        ),
        (
            "30 07 99 00 85 00 04 01 00",
            MalformedMap::Missing("SM-RP-DA"),
        ),
        (
            "30 07 85 00 99 00 04 01 00",
            MalformedMap::Missing("SM-RP-OA"),
        ),
        (
            "30 09 80 02 21 43 85 00 04 01 00",
            MalformedMap::Field("the IMSI"),
        ),
    ] {
        assert_eq!(ForwardSmArg::decode(&octets(hex)), Err(fault), "{hex}");
    }
}

#[test]
fn what_does_not_fit_is_not_written() {
    for tpdu in [vec![], vec![0; 201]] {
        let argument = ForwardSmArg {
            tpdu: tpdu.into(),
            ..to_handset(false)
        };
        let refused = Err(UnwritableMap::Long("the SM-RP-UI"));
        assert_eq!(argument.encode(MapVersion::V3), refused);
    }
    let argument = ForwardSmArg {
        destination: SmRpDa::Lmsi(Bytes::from_static(&[1])),
        ..to_handset(false)
    };
    assert!(argument.encode(MapVersion::V3).is_err());
}

proptest! {
    #[test]
    fn what_is_written_is_read_as_the_same(
        imsi in "[0-9]{5,15}",
        centre in "[0-9]{1,15}",
        tpdu in proptest::collection::vec(any::<u8>(), 1..=200),
        more: bool,
    ) {
        let argument = ForwardSmArg {
            destination: SmRpDa::Imsi(imsi),
            originator: SmRpOa::ServiceCentre(TpduAddress::international(centre)),
            tpdu: tpdu.into(),
            more,
            imsi: None,
        };
        let written = argument.encode(MapVersion::V3).unwrap();
        prop_assert_eq!(ForwardSmArg::decode(&written), Ok(argument));
    }

    #[test]
    fn nothing_panics(octets in proptest::collection::vec(any::<u8>(), 0..120)) {
        let _ = ForwardSmArg::decode(&octets);
        let _ = ForwardSmResult::decode(&octets);
        let mut framed = vec![0x30, octets.len() as u8];
        framed.extend(&octets);
        let _ = ForwardSmArg::decode(&framed);
        let _ = ForwardSmResult::decode(&framed);
    }
}
