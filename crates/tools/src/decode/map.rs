//! What an SMSC and an SS7 network say to each other, layer by layer: M3UA, SCCP, TCAP with MAP, and the TPDU in it.
//!
//! Each layer has a report of its own, behind that of the layer that carries it. What was given may begin with any of
//! the first three. [`m3ua`] and [`sccp`] have fields at known places; [`tcap`] walks over elements of BER ([`ber`]) and
//! names them by the tables of [`shape`] and [`operations`].

mod ber;
mod m3ua;
mod operations;
mod sccp;
mod shape;
mod tcap;

use bytes::Bytes;

use super::report::{DecodeReport, DecodedField};

/// Explains one message of M3UA after the other, or one of SCCP or TCAP.
pub fn explain(octets: &Bytes) -> Vec<DecodeReport> {
    match octets.first() {
        Some(&m3ua::VERSION) => m3ua::explain(octets),
        Some(first) if sccp::is_type(*first) => sccp::explain(octets, 0),
        Some(first) if tcap::is_message(*first) => tcap::explain(octets, 0),
        _ => {
            let mut report = DecodeReport::new("map", "no message", octets, 0);
            report.note(DecodedField::hex(0, "(not read)", octets));
            let text =
                "M3UA begins with 01, SCCP with 09, 0A or 11 to 14, TCAP with 61, 62, 64, 65 or 67";
            report.problem(0, "first octet", text);
            vec![report]
        }
    }
}

#[cfg(test)]
mod tests;
