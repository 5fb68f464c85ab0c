//! Routing information against vectors of pycrate 0.8.1, and what else networks send.

use proptest::prelude::*;

use super::*;
use crate::hex::octets;

fn argument(priority: bool, gprs_support: bool) -> RoutingInfoArg {
    RoutingInfoArg {
        msisdn: TpduAddress::international("4917612345678"),
        priority,
        service_centre: TpduAddress::international("491710760000"),
        gprs_support,
    }
}

fn node(node: ServingNode, number: &str) -> Option<ServingAddress> {
    let number = TpduAddress::international(number);
    Some(ServingAddress { node, number })
}

fn result(node: Option<ServingAddress>) -> RoutingInfoResult {
    RoutingInfoResult {
        imsi: "262011234567890".to_owned(),
        node,
        lmsi: None,
        additional: None,
        waiting_set: None,
    }
}

/// TS 29.002 §17.7.6, RoutingInfoForSM-Arg.
#[test]
fn arguments_are_those_of_pycrate() {
    for (version, argument, hex) in [
        (
            MapVersion::V3,
            argument(true, false),
            "30 16 80 08 91 94 71 16 32 54 76 f8 81 01 ff 82 07 91 94 71 01 67 00 00",
        ),
        (
            MapVersion::V3,
            argument(false, true),
            "30 18 80 08 91 94 71 16 32 54 76 f8 81 01 00 82 07 91 94 71 01 67 00 00 87 00",
        ),
        (
            MapVersion::V2,
            argument(false, false),
            "30 16 80 08 91 94 71 16 32 54 76 f8 81 01 00 82 07 91 94 71 01 67 00 00",
        ),
    ] {
        assert_eq!(argument.encode(version).unwrap(), octets(hex), "{hex}");
        assert_eq!(RoutingInfoArg::decode(&octets(hex)), Ok(argument), "{hex}");
    }
}

#[test]
fn earlier_versions_know_no_gprs() {
    let written = argument(false, true).encode(MapVersion::V2).unwrap();
    assert_eq!(RoutingInfoArg::decode(&written), Ok(argument(false, false)));
}

/// TS 29.002 §17.7.6, RoutingInfoForSM-Res and LocationInfoWithLMSI.
#[test]
fn results_are_those_of_pycrate() {
    let msc = node(ServingNode::Msc, "491720010");
    let sgsn = node(ServingNode::Sgsn, "491720099");
    let lmsi = Some(Bytes::from_static(&[1, 2, 3, 4]));
    for (version, result, hex) in [
        (
            MapVersion::V3,
            result(msc.clone()),
            "30 14 04 08 62 02 11 32 54 76 98 f0 a0 08 81 06 91 94 71 02 10 f0",
        ),
        (
            MapVersion::V3,
            RoutingInfoResult {
                lmsi: lmsi.clone(),
                additional: sgsn.clone(),
                ..result(msc.clone())
            },
            "30 24 04 08 62 02 11 32 54 76 98 f0 a0 18 81 06 91 94 71 02 10 f0 \
             04 04 01 02 03 04 a6 08 81 06 91 94 71 02 90 f9",
        ),
        (
            MapVersion::V3,
            RoutingInfoResult {
                additional: msc.clone(),
                ..result(sgsn.clone())
            },
            "30 20 04 08 62 02 11 32 54 76 98 f0 a0 14 81 06 91 94 71 02 90 f9 85 00 \
             a6 08 80 06 91 94 71 02 10 f0",
        ),
        (
            MapVersion::V1,
            RoutingInfoResult {
                lmsi,
                waiting_set: Some(true),
                ..result(msc)
            },
            "30 1d 04 08 62 02 11 32 54 76 98 f0 a0 0e 81 06 91 94 71 02 10 f0 \
             04 04 01 02 03 04 82 01 ff",
        ),
    ] {
        assert_eq!(result.encode(version).unwrap(), octets(hex), "{hex}");
        assert_eq!(RoutingInfoResult::decode(&octets(hex)), Ok(result), "{hex}");
    }
}

#[test]
fn what_later_releases_and_makers_add_is_passed_over() {
    let argument_hex = "30 31 80 08 91 94 71 16 32 54 76 f8 81 01 ff 82 07 91 94 71 01 67 00 00 \
                        a6 02 a1 00 87 00 88 01 00 89 03 91 94 71 8a 01 00 8c 08 62 02 11 32 54 \
                        76 98 f0";
    let read = RoutingInfoArg::decode(&octets(argument_hex));
    assert_eq!(read, Ok(argument(true, true)));
    let result_hex = "30 24 04 08 62 02 11 32 54 76 98 f0 a0 0c 81 06 91 94 71 02 10 f0 30 02 a1 \
                      00 a4 02 a1 00 a5 06 02 01 1e 02 01 3c";
    let read = RoutingInfoResult::decode(&octets(result_hex)).unwrap();
    assert_eq!(read, result(node(ServingNode::Msc, "491720010")));
}

#[test]
fn a_roaming_number_is_no_node() {
    let hex = "30 14 04 08 62 02 11 32 54 76 98 f0 a0 08 80 06 91 94 71 02 10 f0";
    assert_eq!(RoutingInfoResult::decode(&octets(hex)), Ok(result(None)));
}

#[test]
fn both_nodes_are_found_by_their_kind() {
    let both = RoutingInfoResult {
        additional: node(ServingNode::Msc, "2"),
        ..result(node(ServingNode::Sgsn, "1"))
    };
    let number = |kind| both.number_of(kind).map(|number| &number.text[..]);
    assert_eq!(number(ServingNode::Msc), Some("2"));
    assert_eq!(number(ServingNode::Sgsn), Some("1"));
    assert_eq!(result(None).number_of(ServingNode::Msc), None);
}

#[test]
fn what_is_wrong_is_named() {
    for (hex, fault) in [
        ("30 00", MalformedMap::Missing("the MSISDN")),
        ("30 03 80 01 91", MalformedMap::Field("the MSISDN")),
        ("30 04 80 02 91 f4", MalformedMap::Missing("SM-RP-PRI")),
        ("04 00", MalformedMap::Field("the parameter")),
    ] {
        assert_eq!(RoutingInfoArg::decode(&octets(hex)), Err(fault), "{hex}");
    }
    for (hex, fault) in [
        ("30 00", MalformedMap::Missing("the location")),
        ("30 02 a0 00", MalformedMap::Missing("the IMSI")),
        ("30 04 04 02 62 02", MalformedMap::Field("the IMSI")),
        ("30 05 04 03 62 0a 11", MalformedMap::Field("the IMSI")),
        (
            "30 04 a0 02 a6 00",
            MalformedMap::Field("the additional number"),
        ),
    ] {
        assert_eq!(RoutingInfoResult::decode(&octets(hex)), Err(fault), "{hex}");
    }
    assert!(RoutingInfoArg::decode(&[]).is_err());
    assert!(RoutingInfoResult::decode(&octets("30 05 04")).is_err());
}

#[test]
fn numbers_that_do_not_fit_are_not_written() {
    let long = TpduAddress::international("12345678901234567");
    let with_long = RoutingInfoArg {
        msisdn: long,
        ..argument(false, false)
    };
    assert!(with_long.encode(MapVersion::V3).is_err());
    let no_imsi = RoutingInfoResult {
        imsi: "12x".to_owned(),
        ..result(None)
    };
    assert_eq!(no_imsi.encode(MapVersion::V3), Err(UnwritableMap::Imsi));
}

proptest! {
    #[test]
    fn what_is_written_is_read_as_the_same(
        msisdn in "[0-9]{1,15}",
        centre in "[0-9]{1,15}",
        imsi in "[0-9]{5,15}",
        node in "[0-9]{1,15}",
        other in proptest::option::of("[0-9]{1,15}"),
        priority: bool,
        gprs_support: bool,
        is_sgsn: bool,
    ) {
        let argument = RoutingInfoArg {
            msisdn: TpduAddress::international(msisdn),
            priority,
            service_centre: TpduAddress::international(centre),
            gprs_support,
        };
        let written = argument.encode(MapVersion::V3).unwrap();
        prop_assert_eq!(RoutingInfoArg::decode(&written), Ok(argument));
        let kinds = [ServingNode::Msc, ServingNode::Sgsn];
        let (kind, other_kind) = (kinds[usize::from(is_sgsn)], kinds[usize::from(!is_sgsn)]);
        let address = |node, number: String| ServingAddress {
            node,
            number: TpduAddress::international(number),
        };
        let result = RoutingInfoResult {
            imsi,
            node: Some(address(kind, node)),
            lmsi: None,
            additional: other.map(|other| address(other_kind, other)),
            waiting_set: None,
        };
        let written = result.encode(MapVersion::V3).unwrap();
        prop_assert_eq!(RoutingInfoResult::decode(&written), Ok(result));
    }

    #[test]
    fn nothing_panics(octets in proptest::collection::vec(any::<u8>(), 0..96)) {
        let _ = RoutingInfoArg::decode(&octets);
        let _ = RoutingInfoResult::decode(&octets);
        let mut framed = vec![0x30, octets.len() as u8];
        framed.extend(&octets);
        let _ = RoutingInfoArg::decode(&framed);
        let _ = RoutingInfoResult::decode(&framed);
    }
}
