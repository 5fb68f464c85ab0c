//! Result codes of responses and error codes of reports, which are one table, and what they are in SMPP.

use smsc_carrier::outcome::Outcome;
use smsc_smpp::CommandStatus as Smpp;

/// Everything went well.
pub const OK: u8 = 0;
/// A sequence that was there already, with other content.
pub const SEQUENCE: u8 = 9;
/// The other side has too much to do.
pub const BUSY: u8 = 11;
/// A wrong login.
pub const LOGIN: u8 = 1;
/// Logged in already.
pub const AGAIN: u8 = 2;
/// Too many connections.
pub const CONNECTIONS: u8 = 3;
/// A login of another type.
pub const LOGIN_TYPE: u8 = 4;
/// A command that is not served.
pub const COMMAND: u8 = 7;
/// No way to the destination.
pub const ROUTE: u8 = 22;

/// Code, meaning, SMPP. From 12 on only in reports, except those of 1.3.
pub const CODES: [(u8, &str, Smpp); 32] = [
    (0, "accepted", Smpp::ESME_ROK),
    (1, "wrong login", Smpp::ESME_RINVPASWD),
    (2, "logged in already", Smpp::ESME_RALYBND),
    (3, "too many connections", Smpp::ESME_RBINDFAIL),
    (4, "wrong type of login", Smpp::ESME_RBINDFAIL),
    (5, "wrong parameter", Smpp::ESME_RSUBMITFAIL),
    (6, "wrong number", Smpp::ESME_RINVDSTADR),
    (7, "wrong command", Smpp::ESME_RINVCMDID),
    (8, "wrong length", Smpp::ESME_RINVMSGLEN),
    (9, "sequence repeated", Smpp::ESME_RSUBMITFAIL),
    (10, "wrong operation of the GNS", Smpp::ESME_RSYSERR),
    (11, "busy", Smpp::ESME_RMSGQFUL),
    (13, "service code not assigned", Smpp::ESME_RINVSERTYP),
    (14, "wrong fee", Smpp::ESME_RINVSERTYP),
    (17, "wrong LinkID", Smpp::ESME_RPROHIBITED),
    (18, "not subscribed", Smpp::ESME_RPROHIBITED),
    (21, "destination out of reach", Smpp::ESME_RDELIVERYFAILURE),
    (22, "wrong route", Smpp::ESME_RDELIVERYFAILURE),
    (23, "no route", Smpp::ESME_RINVDSTADR),
    (24, "wrong number to charge", Smpp::ESME_RPROHIBITED),
    (25, "handset out of reach", Smpp::ESME_RDELIVERYFAILURE),
    (
        26,
        "memory of the handset full",
        Smpp::ESME_RDELIVERYFAILURE,
    ),
    (
        27,
        "handset without short messages",
        Smpp::ESME_RDELIVERYFAILURE,
    ),
    (28, "handset cannot receive", Smpp::ESME_RDELIVERYFAILURE),
    (29, "unknown user", Smpp::ESME_RINVDSTADR),
    (30, "not provided", Smpp::ESME_RPROHIBITED),
    (31, "wrong equipment", Smpp::ESME_RDELIVERYFAILURE),
    (32, "failure of a system", Smpp::ESME_RSYSERR),
    (
        33,
        "over the limit, or the queue of the SMSC is full",
        Smpp::ESME_RTHROTTLED,
    ),
    (34, "logins too often", Smpp::ESME_RBINDFAIL),
    (38, "too many messages for a LinkID", Smpp::ESME_RPROHIBITED),
    (40, "MorelatetoMTFlag 3 not allowed", Smpp::ESME_RPROHIBITED),
];

/// The meaning of a code, where there is one.
#[must_use]
pub fn meaning(code: u8) -> Option<&'static str> {
    let known = CODES.iter().find(|(known, ..)| *known == code);
    known.map(|(_, meaning, _)| *meaning)
}

/// The status of SMPP for a code; others are [`Smpp::ESME_RUNKNOWNERR`].
#[must_use]
pub fn smpp(code: u8) -> Smpp {
    let known = CODES.iter().find(|(known, ..)| *known == code);
    known.map_or(Smpp::ESME_RUNKNOWNERR, |(.., status)| *status)
}

/// The code for a status of SMPP, where we are the gateway, or get what it brings: [`BUSY`] for what may be brought
/// again, [`ROUTE`] for what has no code among those of responses.
#[must_use]
pub fn of_smpp(status: Smpp) -> u8 {
    let of_responses = CODES.iter().filter(|(code, ..)| *code <= BUSY);
    let mut known = of_responses.filter(|(.., known)| *known == status);
    match status {
        Smpp::ESME_RTHROTTLED | Smpp::ESME_RX_T_APPN | Smpp::ESME_RSYSERR => BUSY,
        _ => known.next().map_or(ROUTE, |(code, ..)| *code),
    }
}

/// What a Report says of its message, by State; `None` for a state that nobody defined.
#[must_use]
pub fn outcome(state: u8) -> Option<Outcome> {
    match state {
        0 => Some(Outcome::Delivered),
        1 => Some(Outcome::Enroute),
        2 => Some(Outcome::Undeliverable),
        _ => None,
    }
}
