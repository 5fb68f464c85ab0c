//! Status codes of responses, and what they are in SMPP, so that retries are decided as for an operator of SMPP. Later
//! releases of the standard number those above 48 differently, so they have no meaning of their own here.

use smsc_smpp::CommandStatus as Smpp;

/// Everything went well.
pub const OK: u32 = 0;
/// The other side has too much to do.
pub const BUSY: u32 = 1;
/// Another request had its sequence.
pub const SEQUENCE: u32 = 12;
/// No way to the destination.
pub const ROUTE: u32 = 39;

/// Code, meaning, SMPP.
pub const CODES: [(u32, &str, Smpp); 28] = [
    (0, "accepted", Smpp::ESME_ROK),
    (1, "busy", Smpp::ESME_RTHROTTLED),
    (2, "too many connections", Smpp::ESME_RBINDFAIL),
    (10, "wrong structure", Smpp::ESME_RINVCMDLEN),
    (11, "wrong command", Smpp::ESME_RINVCMDID),
    (12, "sequence repeated", Smpp::ESME_RSUBMITFAIL),
    (20, "wrong IP address", Smpp::ESME_RBINDFAIL),
    (21, "not authentic", Smpp::ESME_RINVPASWD),
    (22, "version too high", Smpp::ESME_RBINDFAIL),
    (30, "wrong MsgType", Smpp::ESME_RSUBMITFAIL),
    (31, "wrong Priority", Smpp::ESME_RINVPRTFLG),
    (32, "wrong FeeType", Smpp::ESME_RINVSERTYP),
    (33, "wrong FeeCode", Smpp::ESME_RINVSERTYP),
    (34, "wrong MsgFormat", Smpp::ESME_RSUBMITFAIL),
    (35, "wrong form of a time", Smpp::ESME_RSUBMITFAIL),
    (36, "wrong MsgLength", Smpp::ESME_RINVMSGLEN),
    (37, "validity is over", Smpp::ESME_RINVEXPIRY),
    (38, "wrong QueryType", Smpp::ESME_RSUBMITFAIL),
    (39, "no route", Smpp::ESME_RDELIVERYFAILURE),
    (40, "wrong FixedFee", Smpp::ESME_RINVSERTYP),
    (41, "wrong UpdateType", Smpp::ESME_RSUBMITFAIL),
    (42, "wrong RouteId", Smpp::ESME_RSUBMITFAIL),
    (43, "wrong ServiceID", Smpp::ESME_RINVSERTYP),
    (44, "wrong ValidTime", Smpp::ESME_RINVEXPIRY),
    (45, "wrong AtTime", Smpp::ESME_RINVSCHED),
    (46, "wrong SrcTermID", Smpp::ESME_RINVSRCADR),
    (47, "wrong DestTermID", Smpp::ESME_RINVDSTADR),
    (48, "wrong ChargeTermID", Smpp::ESME_RPROHIBITED),
];

/// The errors of single fields.
const FIELDS: std::ops::RangeInclusive<u32> = 30..=72;

/// The meaning of a code, where there is one.
#[must_use]
pub fn meaning(code: u32) -> Option<&'static str> {
    known(code).map(|(meaning, _)| meaning)
}

/// The status of SMPP for a code; others are [`Smpp::ESME_RUNKNOWNERR`].
#[must_use]
pub fn smpp(code: u32) -> Smpp {
    known(code).map_or(Smpp::ESME_RUNKNOWNERR, |(_, status)| status)
}

fn known(code: u32) -> Option<(&'static str, Smpp)> {
    let listed = CODES.iter().find(|(known, ..)| *known == code);
    let of_field = || {
        FIELDS
            .contains(&code)
            .then_some(("a field is wrong", Smpp::ESME_RSUBMITFAIL))
    };
    listed
        .map(|(_, meaning, status)| (*meaning, *status))
        .or_else(of_field)
}

/// The code for a status of SMPP, where we are the gateway, or get what it brings: [`BUSY`] for what may be brought
/// again, [`ROUTE`] for what has no code of its own.
#[must_use]
pub fn of_smpp(status: Smpp) -> u32 {
    let known = CODES.iter().find(|(.., known)| *known == status);
    match status {
        Smpp::ESME_RMSGQFUL | Smpp::ESME_RX_T_APPN | Smpp::ESME_RSYSERR => BUSY,
        _ => known.map_or(ROUTE, |(code, ..)| *code),
    }
}
