//! What becomes of a message at a handset, as numbers beside those of command_status.
//!
//! A GSM network answers an MT-forwardSM with an RP-cause (3GPP TS 24.011 §8.2.5.4) or with a GMM cause
//! (TS 24.008 §10.5.5.14), and GSUP knows ROUTING_ERROR; over MAP there are user errors, and what SCCP and TCAP say
//! ([`map`]). Histories, retry rules and metrics have one number for the answer to an attempt: these numbers lie in
//! the range that SMPP reserves (3.4 §5.1.3), so that no answer of an operator can be one. Called through
//! [`super::command_status`], which knows their names and classes.
//!
//! | numbers | what the last octet is |
//! |---|---|
//! | `0x0001_00xx` | an RP-cause |
//! | `0x0002_00xx` | a GMM cause |
//! | `0x0003_00xx` | what GSUP and this SMSC add to them |
//! | `0x0004_00xx` … `0x0009_00xx` | of MAP: see [`map`] |

pub mod map;
mod table;

use self::table::ROWS;
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

/// What is to be done about a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ThenWhat {
    /// Nothing: the message ends.
    End,
    /// Another attempt later, which may succeed whether the subscriber has changed or not.
    Retry,
    /// Another attempt when the subscriber is there, or has memory: others to it would fail as well.
    Await,
}

/// What the result of a message says about the network. A cause without a name is unspecified, as
/// in [`class`].
pub fn verdict(status: u32) -> BreakerVerdict {
    row(status).map_or_else(|| map::verdict_of_unnamed(status), |row| row.verdict)
}

/// Whether the subscriber is not there, or takes nothing for now: other messages to it would meet the same.
pub fn waits_for_subscriber(status: u32) -> bool {
    row(status).map_or_else(
        || map::is_absence_of_unnamed(status),
        |row| row.then == ThenWhat::Await,
    )
}

/// Whether a status is one of these, with a name or without.
pub fn is_one(status: u32) -> bool {
    (RP..map::END).contains(&status) && status & 0xFF00 == 0
}

/// The class of such a status; an RP-cause that the table lacks is unspecified (TS 24.011 §8.2.5.4), and so
/// temporary, as any other cause without a name.
pub fn class(status: u32) -> RefusalClass {
    match row(status).map(|row| row.then) {
        Some(ThenWhat::End) => RefusalClass::Permanent,
        Some(ThenWhat::Retry | ThenWhat::Await) | None => RefusalClass::Temporary,
    }
}

/// The name, if it has one.
pub fn name(status: u32) -> Option<&'static str> {
    row(status).map(|row| row.name)
}

/// The status of a name, in any case.
pub fn parse(text: &str) -> Option<u32> {
    let named = |row: &&GsmResultRow| row.name.eq_ignore_ascii_case(text);
    ROWS.iter().find(named).map(|row| row.status)
}

/// All names.
pub fn names() -> impl Iterator<Item = &'static str> {
    ROWS.iter().map(|row| row.name)
}

/// What stands in a receipt for such a status: the cause alone, in three digits. For those of MAP see
/// [`map::error_code`].
pub fn error_code(status: u32) -> String {
    let code = map::error_code(status).unwrap_or(status & 0xFF);
    format!("{code:03}")
}

/// One result.
struct GsmResultRow {
    status: u32,
    name: &'static str,
    then: ThenWhat,
    verdict: BreakerVerdict,
}

fn row(status: u32) -> Option<&'static GsmResultRow> {
    let at = ROWS.binary_search_by_key(&status, |row| row.status);
    at.ok().map(|at| &ROWS[at])
}

#[cfg(test)]
mod tests;
