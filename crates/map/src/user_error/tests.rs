//! Errors against vectors of pycrate 0.8.1, and the statuses that they become.

use proptest::prelude::*;
use smsc_domain::gsm_result;

use super::*;
use crate::hex::octets;

/// TS 29.002 §17.7.7: AbsentSubscriberSM-Param, SM-DeliveryFailureCause.
#[test]
fn parameters_are_those_of_pycrate() {
    let report = Some(Bytes::from_static(&[0, 0]));
    for (version, error, hex) in [
        (
            MapVersion::V3,
            MapUserError::AbsentSubscriberSm {
                diagnostic: Some(1),
                additional: None,
            },
            "30 03 02 01 01",
        ),
        (
            MapVersion::V3,
            MapUserError::AbsentSubscriberSm {
                diagnostic: Some(0),
                additional: Some(6),
            },
            "30 06 02 01 00 80 01 06",
        ),
        (
            MapVersion::V3,
            MapUserError::SmDeliveryFailure {
                cause: Some(0),
                report: None,
            },
            "30 03 0a 01 00",
        ),
        (
            MapVersion::V3,
            MapUserError::SmDeliveryFailure {
                cause: Some(1),
                report: report.clone(),
            },
            "30 07 0a 01 01 04 02 00 00",
        ),
        (
            MapVersion::V2,
            MapUserError::SmDeliveryFailure {
                cause: Some(4),
                report,
            },
            "30 07 0a 01 04 04 02 00 00",
        ),
        (
            MapVersion::V1,
            MapUserError::SmDeliveryFailure {
                cause: Some(0),
                report: None,
            },
            "0a 01 00",
        ),
        (MapVersion::V3, MapUserError::Other(1), ""),
    ] {
        assert_eq!(error.encode(version).unwrap(), octets(hex), "{hex}");
        let read = MapUserError::decode(error.code(), &octets(hex));
        assert_eq!(read, error, "{hex}");
    }
}

#[test]
fn an_error_counts_whatever_its_parameter_is() {
    for hex in [
        "",
        "30 00",
        "05",
        "30 05 02",
        "01 01 ff",
        "30 04 30 02 a1 00",
    ] {
        let read = MapUserError::decode(MapUserError::ABSENT_SUBSCRIBER_SM, &octets(hex));
        let absent = MapUserError::AbsentSubscriberSm {
            diagnostic: None,
            additional: None,
        };
        assert_eq!(read, absent, "{hex}");
        let read = MapUserError::decode(MapUserError::SM_DELIVERY_FAILURE, &octets(hex));
        let failure = MapUserError::SmDeliveryFailure {
            cause: None,
            report: None,
        };
        assert_eq!(read, failure, "{hex}");
        // Version 1 says by a flag whether the service centre is in the list.
        let read = MapUserError::decode(MapUserError::ABSENT_SUBSCRIBER, &octets(hex));
        assert_eq!(read, MapUserError::Other(27), "{hex}");
    }
}

#[test]
fn statuses_have_names() {
    for (code, hex, name) in [
        (6, "30 03 02 01 01", "MAP_ABSENT_IMSI_DETACHED"),
        (6, "", "MAP_ABSENT_SUBSCRIBER_SM"),
        (27, "01 01 ff", "MAP_ABSENT_SUBSCRIBER"),
        (32, "0a 01 00", "MAP_MEMORY_CAPACITY_EXCEEDED"),
        (32, "", "MAP_SM_DELIVERY_FAILURE"),
        (1, "", "MAP_UNKNOWN_SUBSCRIBER"),
        (34, "0a 01 00", "MAP_SYSTEM_FAILURE"),
    ] {
        let status = MapUserError::decode(code, &octets(hex)).status();
        assert_eq!(gsm_result::name(status), Some(name));
    }
}

/// TS 29.002 §12.2.3.
#[test]
fn refusals_of_ours_are_errors() {
    let report = Some(Bytes::from_static(&[1, 0]));
    let failure = |cause, report| MapUserError::SmDeliveryFailure {
        cause: Some(cause),
        report,
    };
    for (cause, report, error) in [
        (1, None, failure(5, None)),
        (42, None, failure(4, None)),
        (50, None, failure(6, None)),
        (41, None, MapUserError::Other(34)),
        (69, None, MapUserError::Other(21)),
        (96, None, MapUserError::Other(35)),
        (21, report.clone(), failure(5, report.clone())),
        (41, report.clone(), failure(4, report)),
    ] {
        assert_eq!(MapUserError::of_refusal(cause, report), error, "{cause}");
    }
}

proptest! {
    #[test]
    fn nothing_panics(code: u8, octets in proptest::collection::vec(any::<u8>(), 0..64)) {
        let error = MapUserError::decode(code, &octets);
        let _ = error.encode(MapVersion::V3);
        prop_assert!(gsm_result::is_one(error.status()));
        prop_assert_eq!(error.code(), code);
    }
}

#[test]
fn a_foreign_service_centre_tries_again_where_that_may_help() {
    for (cause, code) in [
        (42, MapUserError::SYSTEM_FAILURE),
        (41, MapUserError::SYSTEM_FAILURE),
        (21, MapUserError::FACILITY_NOT_SUPPORTED),
        (1, MapUserError::FACILITY_NOT_SUPPORTED),
        (50, MapUserError::FACILITY_NOT_SUPPORTED),
        (69, MapUserError::FACILITY_NOT_SUPPORTED),
        (96, MapUserError::UNEXPECTED_DATA_VALUE),
        (95, MapUserError::UNEXPECTED_DATA_VALUE),
    ] {
        let refused = MapUserError::of_refused_forward(cause);
        assert_eq!(refused, MapUserError::Other(code), "{cause}");
        for version in [MapVersion::V1, MapVersion::V2, MapVersion::V3] {
            assert_eq!(refused.encode(version), Ok(Bytes::new()));
        }
    }
}
