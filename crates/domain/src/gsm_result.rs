//! What becomes of a message at a handset, as numbers beside those of command_status.
//!
//! A GSM network answers an MT-forwardSM with an RP-cause (3GPP TS 24.011 §8.2.5.4) or with a GMM cause
//! (TS 24.008 §10.5.5.14), and GSUP knows ROUTING_ERROR. Histories, retry rules and metrics have one number for
//! the answer to an attempt: these numbers lie in the range that SMPP reserves (3.4 §5.1.3), so that no answer of
//! an operator can be one. Called through [`super::command_status`], which knows their names and classes.

use super::command_status::RefusalClass;

/// RP-causes are this and the cause.
const RP: u32 = 0x0001_0000;
/// GMM causes are this and the cause.
const GMM: u32 = 0x0002_0000;
/// What GSUP and this SMSC add to them.
const OWN: u32 = 0x0003_0000;

/// The HLR does not know the IMSI (3GPP TS 24.008 §10.5.5.14).
pub const GMM_IMSI_UNKNOWN: u32 = GMM | 0x02;
/// The MSC is not connected, or nobody knows where the subscriber is.
pub const GSUP_ROUTING_ERROR: u32 = OWN | 0x01;
/// No answer came in time: an MSC that pages in vain may say nothing.
pub const GSUP_NO_ANSWER: u32 = OWN | 0x02;
/// The message has no IMSI, or one that is none.
pub const GSUP_NO_IMSI: u32 = OWN | 0x03;
/// The message cannot be written as TPDUs.
pub const GSUP_UNWRITABLE: u32 = OWN | 0x04;
/// An error without a cause.
pub const GSUP_NO_CAUSE: u32 = OWN | 0x05;

/// Every result with its name and its class.
const RESULTS: &[(u32, &str, RefusalClass)] = &[
    (RP | 1, "RP_UNASSIGNED_NUMBER", RefusalClass::Permanent),
    (
        RP | 8,
        "RP_OPERATOR_DETERMINED_BARRING",
        RefusalClass::Permanent,
    ),
    (RP | 10, "RP_CALL_BARRED", RefusalClass::Permanent),
    (RP | 11, "RP_RESERVED", RefusalClass::Permanent),
    (
        RP | 21,
        "RP_SHORT_MESSAGE_TRANSFER_REJECTED",
        RefusalClass::Permanent,
    ),
    (
        RP | 22,
        "RP_MEMORY_CAPACITY_EXCEEDED",
        RefusalClass::Temporary,
    ),
    (
        RP | 27,
        "RP_DESTINATION_OUT_OF_ORDER",
        RefusalClass::Temporary,
    ),
    (
        RP | 28,
        "RP_UNIDENTIFIED_SUBSCRIBER",
        RefusalClass::Permanent,
    ),
    (RP | 29, "RP_FACILITY_REJECTED", RefusalClass::Permanent),
    (RP | 30, "RP_UNKNOWN_SUBSCRIBER", RefusalClass::Permanent),
    (RP | 38, "RP_NETWORK_OUT_OF_ORDER", RefusalClass::Temporary),
    (RP | 41, "RP_TEMPORARY_FAILURE", RefusalClass::Temporary),
    (RP | 42, "RP_CONGESTION", RefusalClass::Temporary),
    (RP | 47, "RP_RESOURCES_UNAVAILABLE", RefusalClass::Temporary),
    (
        RP | 50,
        "RP_FACILITY_NOT_SUBSCRIBED",
        RefusalClass::Permanent,
    ),
    (
        RP | 69,
        "RP_FACILITY_NOT_IMPLEMENTED",
        RefusalClass::Permanent,
    ),
    (RP | 81, "RP_INVALID_REFERENCE", RefusalClass::Temporary),
    (
        RP | 95,
        "RP_SEMANTICALLY_INCORRECT",
        RefusalClass::Permanent,
    ),
    (
        RP | 96,
        "RP_INVALID_MANDATORY_INFORMATION",
        RefusalClass::Permanent,
    ),
    (
        RP | 97,
        "RP_MESSAGE_TYPE_NOT_IMPLEMENTED",
        RefusalClass::Permanent,
    ),
    (
        RP | 98,
        "RP_MESSAGE_NOT_COMPATIBLE",
        RefusalClass::Temporary,
    ),
    (
        RP | 99,
        "RP_ELEMENT_NOT_IMPLEMENTED",
        RefusalClass::Permanent,
    ),
    (RP | 111, "RP_PROTOCOL_ERROR", RefusalClass::Temporary),
    (RP | 127, "RP_INTERWORKING", RefusalClass::Temporary),
    // An MSC says so of a subscriber that has detached, too; whether the HLR knows it, its look-up tells.
    (
        GMM_IMSI_UNKNOWN,
        "GMM_IMSI_UNKNOWN",
        RefusalClass::Temporary,
    ),
    (GMM | 0x03, "GMM_ILLEGAL_MS", RefusalClass::Permanent),
    (GMM | 0x06, "GMM_ILLEGAL_ME", RefusalClass::Permanent),
    // OsmoMSC without `sms-over-gsup`.
    (
        GMM | 0x07,
        "GMM_SERVICE_NOT_ALLOWED",
        RefusalClass::Temporary,
    ),
    (
        GMM | 0x0A,
        "GMM_IMPLICITLY_DETACHED",
        RefusalClass::Temporary,
    ),
    (GMM | 0x10, "GMM_MSC_NOT_REACHABLE", RefusalClass::Temporary),
    // OsmoMSC from 1.14 on, after paging in vain.
    (GMM | 0x11, "GMM_NETWORK_FAILURE", RefusalClass::Temporary),
    (GMM | 0x16, "GMM_CONGESTION", RefusalClass::Temporary),
    (GMM | 0x28, "GMM_NO_TRANSACTION", RefusalClass::Temporary),
    (
        GMM | 0x5F,
        "GMM_SEMANTICALLY_INCORRECT",
        RefusalClass::Permanent,
    ),
    (
        GMM | 0x60,
        "GMM_INVALID_MANDATORY_INFORMATION",
        RefusalClass::Permanent,
    ),
    (
        GMM | 0x61,
        "GMM_MESSAGE_TYPE_NOT_IMPLEMENTED",
        RefusalClass::Temporary,
    ),
    (GMM | 0x6F, "GMM_PROTOCOL_ERROR", RefusalClass::Temporary),
    (
        GSUP_ROUTING_ERROR,
        "GSUP_ROUTING_ERROR",
        RefusalClass::Temporary,
    ),
    (GSUP_NO_ANSWER, "GSUP_NO_ANSWER", RefusalClass::Temporary),
    (GSUP_NO_IMSI, "GSUP_NO_IMSI", RefusalClass::Temporary),
    (GSUP_UNWRITABLE, "GSUP_UNWRITABLE", RefusalClass::Permanent),
    (GSUP_NO_CAUSE, "GSUP_NO_CAUSE", RefusalClass::Temporary),
];

/// The status of an RP-cause.
pub fn of_rp(cause: u8) -> u32 {
    RP | u32::from(cause)
}

/// The status of a GMM cause.
pub fn of_gmm(cause: u8) -> u32 {
    GMM | u32::from(cause)
}

/// RP-causes (3GPP TS 24.011 §8.2.5.4).
pub const RP_UNASSIGNED_NUMBER: u8 = 1;
pub const RP_TRANSFER_REJECTED: u8 = 21;
pub const RP_TEMPORARY_FAILURE: u8 = 41;
pub const RP_CONGESTION: u8 = 42;

/// The RP-cause to a handset whose message was refused with this command_status.
pub fn mo_cause(status: u32) -> u8 {
    use super::command_status::{ESME_RINVDSTADR, ESME_RMSGQFUL, ESME_RTHROTTLED};
    match (status, super::command_status::class(status)) {
        (ESME_RINVDSTADR, _) => RP_UNASSIGNED_NUMBER,
        (ESME_RTHROTTLED | ESME_RMSGQFUL, _) => RP_CONGESTION,
        (_, RefusalClass::Temporary | RefusalClass::Throttled) => RP_TEMPORARY_FAILURE,
        (_, RefusalClass::Permanent) => RP_TRANSFER_REJECTED,
    }
}

/// What a result says about an operator or a GSM network, as far as its circuit breaker cares.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BreakerVerdict {
    /// It works: it has accepted the message, has refused it for good, or knows about the subscriber.
    Works,
    /// It fails, whoever the subscriber is.
    Fails,
    /// Nothing: the subscriber is not there, or nothing was sent.
    Nothing,
}

/// What the result of a message says about the network. A cause without a name is unspecified, as
/// in [`class`].
pub fn verdict(status: u32) -> BreakerVerdict {
    const DETACHED: u32 = GMM | 0x0A;
    // OsmoMSC says so of a subscriber that it has paged in vain.
    const PAGED_IN_VAIN: u32 = GMM | 0x11;
    const NO_TRANSACTION: u32 = GMM | 0x28;
    const DESTINATION_OUT_OF_ORDER: u32 = RP | 27;
    // What a handset says itself (TS 24.011 §8.2.5.4): memory, and errors in what it got.
    const MEMORY: u32 = RP | 22;
    const REFERENCE: u32 = RP | 81;
    const NOT_COMPATIBLE: u32 = RP | 98;
    const PROTOCOL: u32 = RP | 111;
    match (status, row(status)) {
        (
            GMM_IMSI_UNKNOWN | DETACHED | PAGED_IN_VAIN | NO_TRANSACTION | DESTINATION_OUT_OF_ORDER,
            _,
        )
        | (GSUP_NO_IMSI | GSUP_UNWRITABLE, _) => BreakerVerdict::Nothing,
        (MEMORY | REFERENCE | NOT_COMPATIBLE | PROTOCOL, _) => BreakerVerdict::Works,
        (_, Some((_, _, RefusalClass::Permanent))) => BreakerVerdict::Works,
        _ => BreakerVerdict::Fails,
    }
}

/// Whether a status is one of these, with a name or without.
pub fn is_one(status: u32) -> bool {
    (RP..OWN + 0x100).contains(&status) && status & 0xFF00 == 0
}

/// The class of such a status; an RP-cause that the table lacks is unspecified (TS 24.011 §8.2.5.4), and so
/// temporary, as any other cause without a name.
pub fn class(status: u32) -> RefusalClass {
    row(status).map_or(RefusalClass::Temporary, |(_, _, class)| *class)
}

/// The name, if it has one.
pub fn name(status: u32) -> Option<&'static str> {
    row(status).map(|(_, name, ..)| *name)
}

/// The status of a name, in any case.
pub fn parse(text: &str) -> Option<u32> {
    let named = |(_, name, ..): &&(u32, &str, RefusalClass)| name.eq_ignore_ascii_case(text);
    RESULTS.iter().find(named).map(|(status, ..)| *status)
}

/// All names.
pub fn names() -> impl Iterator<Item = &'static str> {
    RESULTS.iter().map(|(_, name, ..)| *name)
}

/// What stands in a receipt for such a status: the cause alone, in three digits.
pub fn error_code(status: u32) -> String {
    format!("{:03}", status & 0xFF)
}

fn row(status: u32) -> Option<&'static (u32, &'static str, RefusalClass)> {
    let at = RESULTS.binary_search_by_key(&status, |(value, ..)| *value);
    at.ok().map(|at| &RESULTS[at])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command_status;

    #[test]
    fn names_go_both_ways_and_are_known_as_statuses() {
        assert!(RESULTS.is_sorted_by(|a, b| a.0 < b.0), "binary search");
        for (status, text, class) in RESULTS {
            assert!(is_one(*status), "{text}");
            assert_eq!(name(*status), Some(*text));
            assert_eq!(parse(&text.to_lowercase()), Some(*status));
            assert_eq!(command_status::name(*status), Some(*text));
            assert_eq!(command_status::parse(text), Some(*status));
            assert_eq!(command_status::class(*status), *class, "{text}");
        }
    }

    #[test]
    fn no_answer_of_an_operator_is_one() {
        for status in [0, 0x58, 0x112, 0x400, 0x4FF, 0x10000 - 1, u32::MAX] {
            assert!(!is_one(status), "{status:#x}");
        }
        for status in [of_rp(0), of_rp(255), of_gmm(0x0A), GSUP_NO_CAUSE] {
            assert!(is_one(status), "{status:#x}");
        }
        assert!(!is_one(0x1_0100) && !is_one(0x3_0100));
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
}
