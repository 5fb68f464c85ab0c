//! Names of command_status values, for configuration, logs, CDRs and the API; and what each means as
//! the answer to a message that was sent.
//!
//! SMPP 3.4 §5.1.3 and SMPP 5.0 §4.7.6. [`class`] is the table of defaults that
//! docs/developers/smpp-conformance.md shows; an operator's own classes are in its [`super::retry::RetryPolicy`],
//! which is used wherever the outcome of a message depends on it.

use std::ops::RangeInclusive;

use super::gsm_result;

/// No error.
pub const ESME_ROK: u32 = 0x00;
/// The bind is lost, or of the wrong kind.
pub const ESME_RINVBNDSTS: u32 = 0x04;
/// System error.
pub const ESME_RSYSERR: u32 = 0x08;
/// Invalid destination address; also our answer when no route exists.
pub const ESME_RINVDSTADR: u32 = 0x0B;
/// Bind failed.
pub const ESME_RBINDFAIL: u32 = 0x0D;
/// Message queue full.
pub const ESME_RMSGQFUL: u32 = 0x14;
/// submit_sm failed.
pub const ESME_RSUBMITFAIL: u32 = 0x45;
/// Throttling: the allowed rate is exceeded.
pub const ESME_RTHROTTLED: u32 = 0x58;
/// Invalid schedule_delivery_time.
pub const ESME_RINVSCHED: u32 = 0x61;
/// Invalid validity_period.
pub const ESME_RINVEXPIRY: u32 = 0x62;
/// Temporary error of the receiving application.
pub const ESME_RX_T_APPN: u32 = 0x64;
/// query_sm failed (and Vonage's temporary answer to deliver_sm).
pub const ESME_RQUERYFAIL: u32 = 0x67;
/// Delivery failure (data_sm_resp).
pub const ESME_RDELIVERYFAILURE: u32 = 0xFE;
/// Unknown error.
pub const ESME_RUNKNOWNERR: u32 = 0xFF;
/// SMPP 5.0: the service type is unavailable for now.
pub const ESME_RSERTYPUNAVAIL: u32 = 0x102;

/// Every value with a name, ascending.
const NAMES: &[(u32, &str)] = &[
    (0x00, "ESME_ROK"),
    (0x01, "ESME_RINVMSGLEN"),
    (0x02, "ESME_RINVCMDLEN"),
    (0x03, "ESME_RINVCMDID"),
    (0x04, "ESME_RINVBNDSTS"),
    (0x05, "ESME_RALYBND"),
    (0x06, "ESME_RINVPRTFLG"),
    (0x07, "ESME_RINVREGDLVFLG"),
    (0x08, "ESME_RSYSERR"),
    (0x0A, "ESME_RINVSRCADR"),
    (0x0B, "ESME_RINVDSTADR"),
    (0x0C, "ESME_RINVMSGID"),
    (0x0D, "ESME_RBINDFAIL"),
    (0x0E, "ESME_RINVPASWD"),
    (0x0F, "ESME_RINVSYSID"),
    (0x11, "ESME_RCANCELFAIL"),
    (0x13, "ESME_RREPLACEFAIL"),
    (0x14, "ESME_RMSGQFUL"),
    (0x15, "ESME_RINVSERTYP"),
    (0x33, "ESME_RINVNUMDESTS"),
    (0x34, "ESME_RINVDLNAME"),
    (0x40, "ESME_RINVDESTFLAG"),
    (0x42, "ESME_RINVSUBREP"),
    (0x43, "ESME_RINVESMCLASS"),
    (0x44, "ESME_RCNTSUBDL"),
    (0x45, "ESME_RSUBMITFAIL"),
    (0x48, "ESME_RINVSRCTON"),
    (0x49, "ESME_RINVSRCNPI"),
    (0x50, "ESME_RINVDSTTON"),
    (0x51, "ESME_RINVDSTNPI"),
    (0x53, "ESME_RINVSYSTYP"),
    (0x54, "ESME_RINVREPFLAG"),
    (0x55, "ESME_RINVNUMMSGS"),
    (0x58, "ESME_RTHROTTLED"),
    (0x61, "ESME_RINVSCHED"),
    (0x62, "ESME_RINVEXPIRY"),
    (0x63, "ESME_RINVDFTMSGID"),
    (0x64, "ESME_RX_T_APPN"),
    (0x65, "ESME_RX_P_APPN"),
    (0x66, "ESME_RX_R_APPN"),
    (0x67, "ESME_RQUERYFAIL"),
    (0xC0, "ESME_RINVOPTPARSTREAM"),
    (0xC1, "ESME_ROPTPARNOTALLWD"),
    (0xC2, "ESME_RINVPARLEN"),
    (0xC3, "ESME_RMISSINGOPTPARAM"),
    (0xC4, "ESME_RINVOPTPARAMVAL"),
    (0xFE, "ESME_RDELIVERYFAILURE"),
    (0xFF, "ESME_RUNKNOWNERR"),
    (0x100, "ESME_RSERTYPUNAUTH"),
    (0x101, "ESME_RPROHIBITED"),
    (0x102, "ESME_RSERTYPUNAVAIL"),
    (0x103, "ESME_RSERTYPDENIED"),
    (0x104, "ESME_RINVDCS"),
    (0x105, "ESME_RINVSRCADDRSUBUNIT"),
    (0x106, "ESME_RINVDSTADDRSUBUNIT"),
    (0x107, "ESME_RINVBCASTFREQINT"),
    (0x108, "ESME_RINVBCASTALIAS_NAME"),
    (0x109, "ESME_RINVBCASTAREAFMT"),
    (0x10A, "ESME_RINVNUMBCAST_AREAS"),
    (0x10B, "ESME_RINVBCASTCNTTYPE"),
    (0x10C, "ESME_RINVBCASTMSGCLASS"),
    (0x10D, "ESME_RBCASTFAIL"),
    (0x10E, "ESME_RBCASTQUERYFAIL"),
    (0x10F, "ESME_RBCASTCANCELFAIL"),
    (0x110, "ESME_RINVBCAST_REP"),
    (0x111, "ESME_RINVBCASTSRVGRP"),
    (0x112, "ESME_RINVBCASTCHANIND"),
];

/// What kind of refusal a command_status is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RefusalClass {
    /// Worth another attempt later; counts as an attempt.
    Temporary,
    /// Final: the message is REJECTED.
    Permanent,
    /// The peer is over its limit: the message waits, and nothing counts as an attempt.
    Throttled,
}

/// The class of a command_status other than ESME_ROK, unless an operator's configuration says
/// otherwise.
///
/// Temporary are statuses that large providers publish as retryable (Vonage's list for deliver_sm),
/// and those that the standard describes as temporary. All others are permanent, vendor statuses
/// (0x400-0x4FF) included: a message that can never be delivered must not be sent again for ten
/// days.
pub fn class(command_status: u32) -> RefusalClass {
    match command_status {
        ESME_RTHROTTLED | ESME_RMSGQFUL => RefusalClass::Throttled,
        ESME_RSYSERR
        | ESME_RSUBMITFAIL
        | ESME_RX_T_APPN
        | ESME_RQUERYFAIL
        | ESME_RDELIVERYFAILURE
        | ESME_RUNKNOWNERR
        | ESME_RSERTYPUNAVAIL
        // The bind was lost or of the wrong kind: unrelated to the message.
        | ESME_RINVBNDSTS
        | ESME_RBINDFAIL => RefusalClass::Temporary,
        gsm if gsm_result::is_one(gsm) => gsm_result::class(gsm),
        _ => RefusalClass::Permanent,
    }
}

/// The name of the standard, or that of a GSM result, if it has one.
pub fn name(status: u32) -> Option<&'static str> {
    NAMES
        .binary_search_by_key(&status, |(value, _)| *value)
        .ok()
        .map(|at| NAMES[at].1)
        .or_else(|| gsm_result::name(status))
}

/// The name, or `0x00000401` for a value without one.
pub fn display(status: u32) -> String {
    name(status).map_or_else(|| format!("{status:#010x}"), str::to_owned)
}

/// Reads a name (in any case, with or without `ESME_`; also of a GSM result) or a number (decimal, or hexadecimal with
/// `0x`).
pub fn parse(text: &str) -> Option<u32> {
    let text = text.trim();
    if let Some(hex) = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        return u32::from_str_radix(hex, 16).ok();
    }
    if text.bytes().all(|octet| octet.is_ascii_digit()) {
        return text.parse().ok();
    }
    NAMES
        .iter()
        .find(|(_, name)| {
            let short = name.strip_prefix("ESME_").unwrap_or(name);
            name.eq_ignore_ascii_case(text) || short.eq_ignore_ascii_case(text)
        })
        .map(|(value, _)| *value)
        .or_else(|| gsm_result::parse(text))
}

/// Reads one status as [`parse`] does, or a range of numbers: `0x0410-0x041F`.
pub fn parse_range(text: &str) -> Option<RangeInclusive<u32>> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let range = parse(first)?..=parse(last)?;
    (!range.is_empty()).then_some(range)
}

/// All names, for "did you mean".
pub fn names() -> impl Iterator<Item = &'static str> {
    NAMES
        .iter()
        .map(|(_, name)| *name)
        .chain(gsm_result::names())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_without_configuration() {
        for throttled in [0x58, 0x14] {
            assert_eq!(class(throttled), RefusalClass::Throttled, "{throttled:#x}");
        }
        for temporary in [0x04, 0x08, 0x0D, 0x45, 0x67, 0xFE, 0xFF, 0x64, 0x102] {
            assert_eq!(class(temporary), RefusalClass::Temporary, "{temporary:#x}");
        }
        for permanent in [
            0x01, 0x0A, 0x0B, 0x61, 0x65, 0x66, 0x101, 0x400, 0x4FF, 0xF0000,
        ] {
            assert_eq!(class(permanent), RefusalClass::Permanent, "{permanent:#x}");
        }
    }

    #[test]
    fn names_go_both_ways() {
        assert!(
            NAMES.is_sorted_by(|a, b| a.0 < b.0),
            "binary search needs it"
        );
        for (value, text) in NAMES {
            assert_eq!(name(*value), Some(*text));
            assert_eq!(parse(text), Some(*value));
        }
    }

    #[test]
    fn reads_what_people_write() {
        assert_eq!(parse("esme_rthrottled"), Some(0x58));
        assert_eq!(parse("RMSGQFUL"), Some(0x14));
        assert_eq!(parse("0x58"), Some(0x58));
        assert_eq!(parse("88"), Some(88));
        assert_eq!(parse(" 1025 "), Some(0x401));
        assert_eq!(parse("ESME_RNOSUCH"), None);
        assert_eq!(parse_range("0x0410-0x041F"), Some(0x410..=0x41F));
        assert_eq!(parse_range("1040 - 1055"), Some(0x410..=0x41F));
        assert_eq!(parse_range("RSYSERR"), Some(8..=8));
        for wrong in ["", "-", "0x41F-0x410", "0x410-", "1-2-3", "RNOSUCH"] {
            assert_eq!(parse_range(wrong), None, "{wrong}");
        }
        assert_eq!(display(0x0B), "ESME_RINVDSTADR");
        assert_eq!(display(0x401), "0x00000401");
    }
}
