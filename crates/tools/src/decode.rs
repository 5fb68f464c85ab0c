//! Explains SMPP PDUs, the user data of a message, TPDUs, GSUP frames, messages of an SS7 network, or PDUs of Chinese
//! carriers, octet by octet.
//!
//! Called by `smsc decode`. Pure: [`explain`] and its counterparts in [`tpdu`], [`gsup`], [`map`] and [`carrier`] turn octets
//! into reports, [`show`] turns a report into a page. Invariant: every octet that was given is in a field of a report,
//! whatever the octets are.

mod bits;
pub mod carrier;
mod causes;
mod elements;
pub mod gsup;
pub mod hex;
pub mod map;
mod pdu;
mod reader;
mod receipts;
pub mod report;
pub mod show;
pub mod text;
mod times;
mod tlvs;
pub mod tpdu;

use bytes::Bytes;

use report::DecodeReport;
use smsc_smpp::{CommandId, HEADER_LEN};
use text::UserDataHints;

/// Minimum length to distinguish a PDU from user data: command_length and command_id.
const TELLING: usize = 8;

/// Explains one PDU after the other.
pub fn explain(octets: &Bytes) -> Vec<DecodeReport> {
    let mut reports = Vec::new();
    let mut at = 0;
    while at < octets.len() {
        let report = pdu::explain(octets, at);
        at += report.octets;
        reports.push(report);
    }
    reports
}

/// Explains user data.
pub fn user_data(octets: &Bytes, reading: UserDataHints) -> DecodeReport {
    let (user_data, problem) = text::explain(octets, 0, reading);
    let mut report = DecodeReport::new("user_data", "user data", octets, 0);
    report.user_data = Some(user_data);
    if let Some(text) = problem {
        report.problem(0, "user data header", text);
    }
    report
}

/// Whether the octets begin with a header of an operation that exists.
pub fn looks_like_a_pdu(octets: &[u8]) -> bool {
    let word = |at: usize| Some(u32::from_be_bytes(*octets.get(at..)?.first_chunk()?));
    octets.len() >= TELLING
        && word(4).is_some_and(|id| CommandId(id).is_known())
        && word(0).is_some_and(|length| length as usize >= HEADER_LEN)
}

#[cfg(test)]
mod tests;
