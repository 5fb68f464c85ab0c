//! Status codes of responses, and what they are in SMPP. The errors of single fields (30 to 72) are those of
//! messages that no repetition mends.

use smsc_smpp::CommandStatus as Smpp;

/// Everything went well.
pub const OK: u32 = 0;
/// The other side has too much to do.
pub const BUSY: u32 = 1;

/// Code, meaning, SMPP.
pub const CODES: [(u32, &str, Smpp); 9] = [
    (0, "accepted", Smpp::ESME_ROK),
    (1, "busy", Smpp::ESME_RTHROTTLED),
    (2, "too many connections", Smpp::ESME_RBINDFAIL),
    (10, "wrong structure", Smpp::ESME_RINVCMDLEN),
    (11, "wrong command", Smpp::ESME_RINVCMDID),
    (12, "sequence repeated", Smpp::ESME_RSUBMITFAIL),
    (20, "wrong IP address", Smpp::ESME_RBINDFAIL),
    (21, "not authentic", Smpp::ESME_RINVPASWD),
    (22, "version too high", Smpp::ESME_RBINDFAIL),
];

/// The errors of single fields.
const FIELDS: std::ops::RangeInclusive<u32> = 30..=72;

/// The meaning of a code, where there is one.
#[must_use]
pub fn meaning(code: u32) -> Option<&'static str> {
    let known = CODES.iter().find(|(known, ..)| *known == code);
    match known {
        Some((_, meaning, _)) => Some(meaning),
        None if FIELDS.contains(&code) => Some("a field is wrong"),
        None => None,
    }
}

/// The status of SMPP for a code; others are [`Smpp::ESME_RUNKNOWNERR`].
#[must_use]
pub fn smpp(code: u32) -> Smpp {
    let known = CODES.iter().find(|(known, ..)| *known == code);
    match known {
        Some((.., status)) => *status,
        None if FIELDS.contains(&code) => Smpp::ESME_RSUBMITFAIL,
        None => Smpp::ESME_RUNKNOWNERR,
    }
}
