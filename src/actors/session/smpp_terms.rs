//! Messages in the terms of SMPP, for sessions with peers that speak something else: carriers (`egress/carrier`), their clients
//! (`ingress/carrier`) and local programs (`egress/program_bind.rs`). Pure.

use bytes::Bytes;
use jiff::tz::{Offset, TimeZone};

use crate::content::peer::SHORT_MESSAGE;
use crate::pb::{Composition, Message};
use crate::smpp::{ESM_UDHI, SubmitSm, tag};

/// Requests of the peer that may be under way.
pub const WINDOW: usize = 4_096;
/// registered_delivery: the bits that ask for a receipt (SMPP 3.4 §5.2.17).
const RECEIPT_BITS: u8 = 0b11;

/// The time of carriers and their clients: China has one, without changes.
pub fn china() -> TimeZone {
    TimeZone::fixed(Offset::constant(8))
}

/// Notes that the text of a part came in GBK, octet for octet so.
pub fn came_in_gbk(message: &mut Message, gbk: Bytes) {
    message.composition = Some(Box::new(Composition {
        gbk,
        ..Composition::default()
    }));
}

/// Whether a message asks for a receipt.
pub fn wants_receipt(message: &SubmitSm) -> bool {
    message.registered_delivery & RECEIPT_BITS != 0
}

/// The esm_class of what begins with a user data header, or does not (§5.2.12).
pub fn esm_class(has_header: bool) -> u8 {
    if has_header { ESM_UDHI } else { 0 }
}

/// A message with this content, wherever it fits.
pub fn carrying(mut message: SubmitSm, octets: Bytes) -> SubmitSm {
    if octets.len() <= SHORT_MESSAGE {
        message.short_message = octets;
    } else {
        message.tlvs.push(tag::MESSAGE_PAYLOAD, &octets);
    }
    message
}
