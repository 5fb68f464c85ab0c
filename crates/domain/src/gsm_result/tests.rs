//! What a result is called, what it means for the message, and what for the network.

use super::*;
use crate::command_status;

#[test]
fn names_go_both_ways_and_are_known_as_statuses() {
    assert!(
        ROWS.is_sorted_by(|a, b| a.status < b.status),
        "binary search"
    );
    for row in ROWS {
        let (status, text) = (row.status, row.name);
        assert!(is_one(status), "{text}");
        assert_eq!(name(status), Some(text));
        assert_eq!(parse(&text.to_lowercase()), Some(status), "{text}");
        assert_eq!(command_status::name(status), Some(text));
        assert_eq!(command_status::parse(text), Some(status));
        assert_eq!(command_status::class(status), class(status), "{text}");
    }
}

#[test]
fn no_answer_of_an_operator_is_one() {
    for status in [0, 0x58, 0x112, 0x400, 0x4FF, 0x10000 - 1, u32::MAX] {
        assert!(!is_one(status), "{status:#x}");
    }
    for status in [
        of_rp(0),
        of_rp(255),
        of_gmm(0x0A),
        GSUP_NO_CAUSE,
        map::of_user_error(255),
        map::of_absent(Some(255)),
        map::of_sccp(255),
        map::MAP_NO_ANSWER,
    ] {
        assert!(is_one(status), "{status:#x}");
    }
    assert!(!is_one(0x1_0100) && !is_one(0x3_0100) && !is_one(0x9_0100) && !is_one(0xA_0000));
}

/// TS 24.011 §8.2.5.4, annex E; TS 24.008 §10.5.5.14.
#[test]
fn what_a_cause_means_for_the_message() {
    let cases = [
        (of_rp(22), RefusalClass::Temporary),
        (of_rp(27), RefusalClass::Temporary),
        (of_rp(21), RefusalClass::Permanent),
        (of_rp(30), RefusalClass::Permanent),
        (of_rp(38), RefusalClass::Temporary),
        (of_rp(42), RefusalClass::Temporary),
        (of_rp(96), RefusalClass::Permanent),
        // Unspecified ones.
        (of_rp(0), RefusalClass::Temporary),
        (of_rp(77), RefusalClass::Temporary),
        (of_gmm(0x0A), RefusalClass::Temporary),
        (of_gmm(0x02), RefusalClass::Temporary),
        (of_gmm(0x11), RefusalClass::Temporary),
        (of_gmm(0x60), RefusalClass::Permanent),
        (of_gmm(0x7F), RefusalClass::Temporary),
        (GSUP_ROUTING_ERROR, RefusalClass::Temporary),
        (GSUP_NO_ANSWER, RefusalClass::Temporary),
    ];
    for (status, expected) in cases {
        assert_eq!(command_status::class(status), expected, "{status:#x}");
    }
}

/// TS 24.011 §8.2.5.4, annex E; TS 24.008 annex G.
#[test]
fn what_is_wrong_with_one_subscriber_says_nothing_about_the_network() {
    for (status, expected) in [
        // The handset has answered, or the network knows why it cannot.
        (of_rp(22), BreakerVerdict::Works),
        (of_rp(111), BreakerVerdict::Works),
        (of_rp(30), BreakerVerdict::Works),
        (of_rp(21), BreakerVerdict::Works),
        (of_gmm(0x60), BreakerVerdict::Works),
        // It is not there.
        (of_rp(27), BreakerVerdict::Nothing),
        (of_gmm(0x02), BreakerVerdict::Nothing),
        (of_gmm(0x0A), BreakerVerdict::Nothing),
        (of_gmm(0x11), BreakerVerdict::Nothing),
        (GSUP_NO_IMSI, BreakerVerdict::Nothing),
        (GSUP_UNWRITABLE, BreakerVerdict::Nothing),
        // The network fails.
        (of_rp(38), BreakerVerdict::Fails),
        (of_rp(41), BreakerVerdict::Fails),
        (of_rp(42), BreakerVerdict::Fails),
        (of_rp(47), BreakerVerdict::Fails),
        (of_rp(127), BreakerVerdict::Fails),
        (of_gmm(0x10), BreakerVerdict::Fails),
        (of_gmm(0x16), BreakerVerdict::Fails),
        (GSUP_ROUTING_ERROR, BreakerVerdict::Fails),
        (GSUP_NO_ANSWER, BreakerVerdict::Fails),
        (GSUP_NO_CAUSE, BreakerVerdict::Fails),
        // Unspecified ones are temporary failures.
        (of_rp(77), BreakerVerdict::Fails),
    ] {
        assert_eq!(verdict(status), expected, "{status:#x}");
    }
}

#[test]
fn a_handset_is_told_why_its_message_is_refused() {
    for (status, cause) in [
        (0x0B, 1),
        (0x58, 42),
        (0x14, 42),
        (0x08, 41),
        (0x0A, 21),
        (0x62, 21),
    ] {
        assert_eq!(mo_cause(status), cause, "{status:#x}");
    }
}

#[test]
fn receipts_have_the_cause() {
    assert_eq!(error_code(of_rp(22)), "022");
    assert_eq!(error_code(of_gmm(0x60)), "096");
}

/// Numbers, names, classes, what they say of the network, and whether others to the subscriber wait. TS 29.002 §17.6.6;
/// TS 23.040 table 1 of §3.3, and §3.3.2; Q.713 §3.12; Q.773 §4.2.1.
#[rustfmt::skip]
const OF_MAP: &[(u32, &str, RefusalClass, BreakerVerdict, bool)] = {
    use BreakerVerdict::{Fails, Nothing, Works};
    use RefusalClass::{Permanent, Temporary};
    &[
        (0x4_0001, "MAP_UNKNOWN_SUBSCRIBER", Permanent, Works, false),
        (0x4_0005, "MAP_UNIDENTIFIED_SUBSCRIBER", Temporary, Nothing, true),
        (0x4_0006, "MAP_ABSENT_SUBSCRIBER_SM", Temporary, Nothing, true),
        (0x4_0009, "MAP_ILLEGAL_SUBSCRIBER", Permanent, Works, false),
        (0x4_000B, "MAP_TELESERVICE_NOT_PROVISIONED", Permanent, Works, false),
        (0x4_000D, "MAP_CALL_BARRED", Temporary, Works, false),
        (0x4_0015, "MAP_FACILITY_NOT_SUPPORTED", Temporary, Nothing, false),
        (0x4_001B, "MAP_ABSENT_SUBSCRIBER", Temporary, Nothing, true),
        (0x4_001F, "MAP_SUBSCRIBER_BUSY_FOR_MT_SMS", Temporary, Nothing, true),
        (0x4_0020, "MAP_SM_DELIVERY_FAILURE", Temporary, Works, false),
        (0x4_0022, "MAP_SYSTEM_FAILURE", Temporary, Fails, false),
        (0x5_0001, "MAP_ABSENT_IMSI_DETACHED", Temporary, Nothing, true),
        (0x6_0000, "MAP_MEMORY_CAPACITY_EXCEEDED", Temporary, Works, true),
        (0x6_0001, "MAP_EQUIPMENT_PROTOCOL_ERROR", Temporary, Works, false),
        (0x7_0001, "SCCP_NO_TRANSLATION", Temporary, Nothing, false),
        (0x7_0004, "SCCP_UNEQUIPPED_USER", Temporary, Fails, false),
        (0x8_0004, "TCAP_RESOURCE_LIMITATION", Temporary, Fails, false),
        (map::MAP_NO_ANSWER, "MAP_NO_ANSWER", Temporary, Fails, false),
        (map::MAP_UNWRITABLE, "MAP_UNWRITABLE", Permanent, Nothing, false),
    ]
};

#[test]
fn what_map_says_about_a_message_and_about_the_network() {
    for &(status, name, class, verdict, waits) in OF_MAP {
        assert_eq!(super::name(status), Some(name));
        assert_eq!(super::class(status), class, "{name}");
        assert_eq!(super::verdict(status), verdict, "{name}");
        assert_eq!(waits_for_subscriber(status), waits, "{name}");
    }
    for (status, number) in [
        (map::of_user_error(1), 0x4_0001),
        (map::of_absent(None), 0x4_0006),
        (map::of_absent(Some(1)), 0x5_0001),
        (map::of_delivery_failure(None), 0x4_0020),
        (map::of_delivery_failure(Some(0)), 0x6_0000),
        (map::of_sccp(1), 0x7_0001),
        (map::of_p_abort(4), 0x8_0004),
    ] {
        assert_eq!(status, number);
    }
}

#[test]
fn what_map_says_without_a_name_is_temporary() {
    use BreakerVerdict::{Fails, Nothing, Works};
    for (status, verdict, waits) in [
        (map::of_user_error(99), Fails, false),
        (map::of_absent(Some(99)), Nothing, true),
        (map::of_delivery_failure(Some(99)), Works, false),
        (map::of_sccp(99), Fails, false),
    ] {
        assert_eq!(super::name(status), None, "{status:#x}");
        assert_eq!(super::class(status), RefusalClass::Temporary, "{status:#x}");
        assert_eq!(super::verdict(status), verdict, "{status:#x}");
        assert_eq!(waits_for_subscriber(status), waits, "{status:#x}");
    }
}

#[test]
fn receipts_have_the_code_of_the_map_error() {
    for (status, code) in [
        (map::of_user_error(1), "001"),
        (map::of_absent(None), "006"),
        (map::of_absent(Some(5)), "006"),
        (map::of_delivery_failure(Some(0)), "032"),
        (map::of_sccp(1), "101"),
        (map::of_p_abort(4), "124"),
        (map::MAP_NO_ANSWER, "142"),
    ] {
        assert_eq!(error_code(status), code, "{status:#x}");
    }
}

/// TS 29.002 §12.2.3 has no other errors for MO-forwardSM.
#[test]
fn a_refusal_of_ours_becomes_an_error_that_mo_forward_sm_has() {
    for cause in 0..=u8::MAX {
        let code = map::MoMapError::of_rp(cause).code();
        assert!([21, 32, 34, 35, 36].contains(&code), "{cause}: {code}");
    }
    for (cause, error) in [
        (RP_UNASSIGNED_NUMBER, map::MoMapError::DeliveryFailure(5)),
        (RP_TRANSFER_REJECTED, map::MoMapError::DeliveryFailure(5)),
        (RP_TEMPORARY_FAILURE, map::MoMapError::SystemFailure),
        (RP_CONGESTION, map::MoMapError::DeliveryFailure(4)),
        (50, map::MoMapError::DeliveryFailure(6)),
        (69, map::MoMapError::FacilityNotSupported),
        (96, map::MoMapError::DataMissing),
    ] {
        assert_eq!(map::MoMapError::of_rp(cause), error, "{cause}");
    }
}
