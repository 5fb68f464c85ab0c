//! Result codes: of a login (§8.4.1.2), of a submission (§8.4.3.2) and of a delivery (§8.4.5.2), and what they are in
//! SMPP, so that retries are decided as for an operator of SMPP.

use smsc_smpp::CommandStatus as Smpp;

/// Everything went well.
pub const OK: u32 = 0;
/// Another request had its sequence.
pub const SEQUENCE: u32 = 3;
/// The other side is over its limit: it may be tried again soon.
pub const FLOW: u32 = 8;

/// What a login is answered with: code, meaning, SMPP.
pub const CONNECT: [(u32, &str, Smpp); 6] = [
    (0, "accepted", Smpp::ESME_ROK),
    (1, "wrong structure", Smpp::ESME_RINVCMDLEN),
    (2, "wrong source address", Smpp::ESME_RINVSYSID),
    (3, "not authentic", Smpp::ESME_RINVPASWD),
    (4, "version too high", Smpp::ESME_RBINDFAIL),
    (5, "another error", Smpp::ESME_RBINDFAIL),
];

/// What a submission or a delivery is answered with: code, meaning, SMPP.
pub const SUBMIT: [(u32, &str, Smpp); 14] = [
    (0, "accepted", Smpp::ESME_ROK),
    (1, "wrong structure", Smpp::ESME_RINVCMDLEN),
    (2, "wrong command", Smpp::ESME_RINVCMDID),
    (3, "sequence repeated", Smpp::ESME_RSUBMITFAIL),
    (4, "wrong length of message", Smpp::ESME_RINVMSGLEN),
    (5, "wrong fee code", Smpp::ESME_RINVSERTYP),
    (6, "message too long", Smpp::ESME_RINVMSGLEN),
    (7, "wrong service", Smpp::ESME_RINVSERTYP),
    (8, "over the limit", Smpp::ESME_RTHROTTLED),
    (
        9,
        "the gateway does not serve this fee number",
        Smpp::ESME_RPROHIBITED,
    ),
    (10, "wrong Src_Id", Smpp::ESME_RINVSRCADR),
    (11, "wrong Msg_src", Smpp::ESME_RINVSYSID),
    (12, "wrong Fee_terminal_Id", Smpp::ESME_RPROHIBITED),
    (13, "wrong Dest_terminal_Id", Smpp::ESME_RINVDSTADR),
];

/// The meaning of the code, where the standard has one.
#[must_use]
pub fn meaning(table: &[(u32, &'static str, Smpp)], code: u32) -> Option<&'static str> {
    let known = table.iter().find(|(known, ..)| *known == code);
    known.map(|(_, meaning, _)| *meaning)
}

/// The status of SMPP for a result; other errors are [`Smpp::ESME_RUNKNOWNERR`].
#[must_use]
pub fn smpp(table: &[(u32, &'static str, Smpp)], code: u32) -> Smpp {
    let known = table.iter().find(|(known, ..)| *known == code);
    known.map_or(Smpp::ESME_RUNKNOWNERR, |(.., status)| *status)
}

/// The result for a status of SMPP, where we are the gateway, or get what it brings: [`FLOW`] for what may be brought
/// again, 9 for what has no code of its own.
#[must_use]
pub fn of_smpp(status: Smpp) -> u32 {
    let known = SUBMIT.iter().find(|(.., known)| *known == status);
    match status {
        Smpp::ESME_RMSGQFUL | Smpp::ESME_RX_T_APPN | Smpp::ESME_RSYSERR => FLOW,
        _ => known.map_or(9, |(code, ..)| *code),
    }
}
