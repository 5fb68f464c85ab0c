//! Reports and alerts against vectors of pycrate 0.8.1.

use proptest::prelude::*;

use super::*;
use crate::hex::octets;

const TWO_ADDRESSES: &str = "04 08 91 94 71 16 32 54 76 f8 04 07 91 94 71 01 67 00 00";

fn msisdn() -> TpduAddress {
    TpduAddress::international("4917612345678")
}

fn report(outcome: Option<SmDeliveryOutcome>) -> ReportDeliveryStatusArg {
    ReportDeliveryStatusArg {
        msisdn: msisdn(),
        service_centre: TpduAddress::international("491710760000"),
        outcome,
        diagnostic: None,
        gprs_support: false,
        of_sgsn: false,
        additional: None,
    }
}

/// TS 29.002 §17.7.6, ReportSM-DeliveryStatusArg.
#[test]
fn reports_are_those_of_pycrate() {
    use SmDeliveryOutcome::{AbsentSubscriber, MemoryCapacityExceeded, SuccessfulTransfer};
    for (version, report, hex) in [
        (
            MapVersion::V3,
            report(Some(AbsentSubscriber)),
            "30 16 - 0a 01 01",
        ),
        (
            MapVersion::V3,
            ReportDeliveryStatusArg {
                diagnostic: Some(1),
                gprs_support: true,
                additional: Some((AbsentSubscriber, Some(6))),
                ..report(Some(AbsentSubscriber))
            },
            "30 21 - 0a 01 01 80 01 01 82 00 84 01 01 85 01 06",
        ),
        (
            MapVersion::V3,
            ReportDeliveryStatusArg {
                gprs_support: true,
                of_sgsn: true,
                ..report(Some(MemoryCapacityExceeded))
            },
            "30 1a - 0a 01 00 82 00 83 00",
        ),
        (
            MapVersion::V2,
            report(Some(SuccessfulTransfer)),
            "30 16 - 0a 01 02",
        ),
        (MapVersion::V1, report(None), "30 13 -"),
    ] {
        let written = octets(&hex.replace('-', TWO_ADDRESSES));
        assert_eq!(report.encode(version).unwrap(), written, "{hex}");
        let read = ReportDeliveryStatusArg::decode(&written);
        assert_eq!(read, Ok(report), "{hex}");
    }
    // An extension container stands among them.
    let hex = format!("30 1e {TWO_ADDRESSES} 0a 01 00 a1 02 a1 00 82 00 83 00");
    let read = ReportDeliveryStatusArg::decode(&octets(&hex)).unwrap();
    assert!(read.of_sgsn && read.outcome == Some(MemoryCapacityExceeded));
}

#[test]
fn earlier_versions_say_less() {
    let full = ReportDeliveryStatusArg {
        diagnostic: Some(1),
        gprs_support: true,
        ..report(Some(SmDeliveryOutcome::AbsentSubscriber))
    };
    let in_v2 = full.encode(MapVersion::V2).unwrap();
    let expected = report(Some(SmDeliveryOutcome::AbsentSubscriber));
    assert_eq!(ReportDeliveryStatusArg::decode(&in_v2), Ok(expected));
    let in_v1 = full.encode(MapVersion::V1).unwrap();
    assert_eq!(ReportDeliveryStatusArg::decode(&in_v1), Ok(report(None)));
}

#[test]
fn the_stored_number_is_read_in_all_its_forms() {
    let stored = ReportDeliveryStatusResult {
        stored_msisdn: Some(msisdn()),
    };
    for (version, hex) in [
        (MapVersion::V3, "30 0a 04 08 91 94 71 16 32 54 76 f8"),
        (MapVersion::V2, "04 08 91 94 71 16 32 54 76 f8"),
    ] {
        assert_eq!(stored.encode(version).unwrap(), octets(hex));
        let read = ReportDeliveryStatusResult::decode(&octets(hex));
        assert_eq!(read, Ok(stored.clone()));
    }
    for nothing in ["", "30 00", "05 00", "30 04 30 02 a1 00"] {
        let read = ReportDeliveryStatusResult::decode(&octets(nothing));
        assert_eq!(read, Ok(ReportDeliveryStatusResult::default()), "{nothing}");
    }
}

/// TS 29.002 §17.7.6, AlertServiceCentreArg.
#[test]
fn alerts_are_those_of_pycrate() {
    let alert = AlertServiceCentreArg {
        msisdn: msisdn(),
        service_centre: TpduAddress::international("491710760000"),
    };
    let written = octets(&format!("30 13 {TWO_ADDRESSES}"));
    assert_eq!(alert.encode().unwrap(), written);
    assert_eq!(AlertServiceCentreArg::decode(&written), Ok(alert.clone()));
    // With an IMSI behind, as later releases have.
    let longer = octets(&format!(
        "30 1d {TWO_ADDRESSES} 80 08 62 02 11 32 54 76 98 f0"
    ));
    assert_eq!(AlertServiceCentreArg::decode(&longer), Ok(alert));
    let fault = MalformedMap::Missing("the service centre address");
    let short = octets("30 0a 04 08 91 94 71 16 32 54 76 f8");
    assert_eq!(AlertServiceCentreArg::decode(&short), Err(fault));
}

/// TS 29.002 §17.7.6, InformServiceCentreArg and MW-Status.
#[test]
fn what_an_hlr_has_noted_is_as_in_pycrate() {
    let status = MessageWaitingStatus::default();
    let informed = InformServiceCentreArg::default();
    for (version, informed, hex) in [
        (
            MapVersion::V3,
            InformServiceCentreArg {
                stored_msisdn: Some(msisdn()),
                status: Some(MessageWaitingStatus {
                    not_reachable: true,
                    memory_exceeded: true,
                    ..status
                }),
                ..informed.clone()
            },
            "30 0e 04 08 91 94 71 16 32 54 76 f8 03 02 02 60",
        ),
        (
            MapVersion::V3,
            InformServiceCentreArg {
                stored_msisdn: Some(msisdn()),
                status: Some(MessageWaitingStatus {
                    not_reachable: true,
                    not_reachable_gprs: true,
                    ..status
                }),
                diagnostic: Some(1),
                additional_diagnostic: Some(6),
            },
            "30 14 04 08 91 94 71 16 32 54 76 f8 03 02 02 50 02 01 01 80 01 06",
        ),
        (
            MapVersion::V2,
            InformServiceCentreArg {
                status: Some(MessageWaitingStatus {
                    not_included: true,
                    ..status
                }),
                ..informed.clone()
            },
            "30 04 03 02 02 80",
        ),
        (MapVersion::V3, informed, "30 00"),
    ] {
        assert_eq!(informed.encode(version).unwrap(), octets(hex), "{hex}");
        let read = InformServiceCentreArg::decode(&octets(hex));
        assert_eq!(read, Ok(informed), "{hex}");
    }
}

proptest! {
    #[test]
    fn nothing_panics(octets in proptest::collection::vec(any::<u8>(), 0..64)) {
        let mut framed = vec![0x30, octets.len() as u8];
        framed.extend(&octets);
        for octets in [octets, framed] {
            let _ = ReportDeliveryStatusArg::decode(&octets);
            let _ = ReportDeliveryStatusResult::decode(&octets);
            let _ = AlertServiceCentreArg::decode(&octets);
            let _ = InformServiceCentreArg::decode(&octets);
        }
    }
}
