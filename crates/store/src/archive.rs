//! The archive port: export and erasure of finished messages. They stay where they are; they are
//! read in ranges of ids, and their text or a subscriber's number is erased.
//!
//! Called by the command line (export), by the janitor (text) and by the admin API (erasure); each
//! adapter implements it beside [`super::Store`]. Guarantees that an active message (not final, or
//! final with a receipt that its account has not acknowledged) is never changed.

use std::ops::{ControlFlow, Range};

use bytes::Bytes;

use super::{Reply, SentRow, StoreResult, Stored};
use smsc_domain::address::normalise;
use smsc_proto::Message;

/// Stands for an address that was erased.
pub const ERASED: &[u8] = b"(erased)";
/// esm_class bit: the octets begin with a user data header (SMPP 3.4 §5.2.12).
const UDHI: u32 = 0x40;
/// The optional parameter that holds a text (SMPP 3.4 §5.3.2.32).
const MESSAGE_PAYLOAD: u16 = 0x0424;
/// Optional parameters that hold (part of) an address and go with the number: source_subaddress,
/// dest_subaddress, callback_num_atag, callback_num (SMPP 3.4 §5.3.2).
const ADDRESSES: &[u16] = &[0x0202, 0x0203, 0x0303, 0x0381];

/// A message as it is exported.
#[derive(Debug, Clone, PartialEq)]
pub struct Exported {
    pub stored: Stored,
    /// The last attempt that was answered with ESME_ROK, else the last one.
    pub attempt: Option<SentRow>,
}

/// The result of an erasure.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Erased {
    /// Messages that no longer show the number.
    pub erased: u64,
    /// Messages of the number that were left alone, because they are active.
    pub active: u64,
}

/// Receives exported messages; returns whether to continue.
pub type Each<'a> = dyn FnMut(Exported) -> ControlFlow<()> + 'a;

/// The archive part of a store.
pub trait ArchiveStore {
    /// Calls `each` for every message of a range of ids in their order, in constant memory. Blocks.
    fn export(&self, ids: Range<u64>, each: &mut Each<'_>) -> StoreResult;

    /// Removes the text of up to `limit` messages that ended before `before` (Unix milliseconds);
    /// returns how many. Fewer than `limit` means that there are no more for now.
    fn erase_text(&self, before: i64, limit: usize) -> Reply<u64>;

    /// Replaces an address, with or without a leading plus, by [`ERASED`] in every finished message
    /// that comes from or goes to it, and removes the text of those messages.
    fn erase_msisdn(&self, digits: String) -> Reply<Erased>;
}

/// The first id of a moment in Unix milliseconds.
pub fn first_id(ms: i64) -> u64 {
    (ms.clamp(0, i64::MAX >> 20) as u64) << 20
}

/// Erases the text of a message and its metadata; false when there was no text. A user data header stays:
/// it has the part numbers, but no text. A TPDU goes, with its text and its address.
pub fn without_text(message: &mut Message) -> bool {
    let header = header_of(message);
    let kept = tlvs_without(&message.tlvs, &[MESSAGE_PAYLOAD]);
    let had_text =
        header != message.short_message || kept != message.tlvs || !message.tpdu.is_empty();
    message.tpdu = Vec::new();
    (message.composition.iter_mut()).for_each(|one| one.gbk.clear());
    message.short_message = header;
    message.tlvs = kept;
    message.text_erased |= had_text;
    if let Some(client) = &mut message.client_data {
        client.metadata.clear();
    }
    had_text
}

/// Whether a message comes from or goes to an address.
pub fn matches(message: &Message, digits: &[u8]) -> bool {
    normalise(&message.source) == digits || normalise(&message.destination) == digits
}

/// Takes an address and the text out of a message.
pub fn without_address(message: &mut Message, digits: &[u8]) {
    // An IMSI is another number of the same subscriber.
    if normalise(&message.destination) == digits {
        message.imsi.clear();
    }
    if normalise(&message.source) == digits {
        message.source_imsi.clear();
    }
    let (mut from, mut to) = (None, None);
    if let Some(original) = &mut message.original {
        (from, to) = (original.source.as_mut(), original.destination.as_mut());
    }
    for (address, as_it_came) in [(&mut message.source, from), (&mut message.destination, to)] {
        if normalise(address) == digits {
            *address = Bytes::from_static(ERASED);
            // The same number, written otherwise.
            if let Some(as_it_came) = as_it_came {
                as_it_came.digits = Bytes::from_static(ERASED);
            }
        }
    }
    message.tlvs = tlvs_without(&message.tlvs, ADDRESSES);
    message.client_data = None;
    without_text(message);
}

fn header_of(message: &Message) -> Bytes {
    let octets = &message.short_message;
    let length = octets.first().map_or(0, |length| usize::from(*length) + 1);
    if message.esm_class & UDHI != 0 && length <= octets.len() {
        octets.slice(..length)
    } else {
        Bytes::new()
    }
}

/// Octets after the last whole parameter are dropped as well, because their meaning is unknown.
fn tlvs_without(tlvs: &[u8], tags: &[u16]) -> Bytes {
    let mut kept = Vec::with_capacity(tlvs.len());
    let mut rest = tlvs;
    while let [tag_high, tag_low, length_high, length_low, ..] = *rest {
        let length = usize::from(u16::from_be_bytes([length_high, length_low]));
        let Some((parameter, after)) = rest.split_at_checked(4 + length) else {
            break;
        };
        if !tags.contains(&u16::from_be_bytes([tag_high, tag_low])) {
            kept.extend_from_slice(parameter);
        }
        rest = after;
    }
    kept.into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use smsc_proto::{Address, Composition, Original};

    /// message_payload, sar_total_segments, callback_num, and half a parameter.
    const TLVS: &[u8] =
        b"\x04\x24\x00\x06secret\x02\x0e\x00\x01\x02\x03\x81\x00\x04\x01\x01\x014\x04\x24\x00";

    fn message() -> Message {
        Message {
            source: Bytes::from_static(b"ACME"),
            destination: Bytes::from_static(b"+447700900123"),
            short_message: Bytes::from_static(b"secret"),
            tlvs: Bytes::from_static(TLVS),
            imsi: "234150123456789".to_owned(),
            payload_kind: 3,
            tpdu: b"\x01\x00secret".to_vec(),
            composition: Some(Box::new(Composition {
                gbk: Bytes::from_static(b"secret"),
                ..Composition::default()
            })),
            ..Message::default()
        }
    }

    #[test]
    fn the_text_goes_and_the_rest_stays() {
        let mut message = message();
        assert!(without_text(&mut message));
        assert!(!without_text(&mut message), "there is nothing left");
        assert!(message.short_message.is_empty() && message.text_erased);
        assert_eq!(
            &message.tlvs[..],
            b"\x02\x0e\x00\x01\x02\x03\x81\x00\x04\x01\x01\x014"
        );
        assert_eq!(&message.destination[..], b"+447700900123");
        assert!(message.tpdu.is_empty() && !message.imsi.is_empty());
        assert_eq!(message.composition, Some(Box::default()));
        assert_eq!(message.payload_kind, 3, "what it came as is no text");
        message.tpdu = b"\x01\x00secret".to_vec();
        assert!(without_text(&mut message), "a TPDU has a text");
    }

    #[test]
    fn a_header_is_no_text() {
        let mut message = message();
        message.esm_class = UDHI;
        message.short_message = Bytes::from_static(b"\x05\x00\x03\x07\x02\x01secret");
        without_text(&mut message);
        assert_eq!(&message.short_message[..], b"\x05\x00\x03\x07\x02\x01");
        message.short_message = Bytes::from_static(b"\xffsecret");
        without_text(&mut message);
        assert!(message.short_message.is_empty(), "a header that lies");
    }

    #[test]
    fn a_number_goes_from_every_place() {
        let mut message = message();
        without_address(&mut message, b"447700900123");
        assert_eq!(&message.destination[..], ERASED);
        assert_eq!(&message.source[..], b"ACME");
        assert_eq!(&message.tlvs[..], b"\x02\x0e\x00\x01\x02");
        assert!(message.text_erased && message.tpdu.is_empty() && message.imsi.is_empty());
    }

    #[test]
    fn an_imsi_goes_with_its_number_only() {
        let mut message = Message {
            source: Bytes::from_static(b"447700900124"),
            source_imsi: "234150123456780".to_owned(),
            ..message()
        };
        let other = message.clone();
        without_address(&mut message, b"447700900123");
        assert!(message.imsi.is_empty() && !message.source_imsi.is_empty());
        message = other;
        without_address(&mut message, b"447700900124");
        assert!(!message.imsi.is_empty() && message.source_imsi.is_empty());
    }

    #[test]
    fn a_number_goes_as_it_came_too() {
        let address = |digits: &'static str| {
            Some(Address {
                digits: Bytes::from_static(digits.as_bytes()),
                ..Address::default()
            })
        };
        let mut message = message();
        message.original = Some(Box::new(Original {
            source: address("Acme"),
            destination: address("07700900123"),
        }));
        without_address(&mut message, b"447700900123");
        let original = message.original.unwrap();
        assert_eq!(&original.destination.unwrap().digits[..], ERASED);
        assert_eq!(&original.source.unwrap().digits[..], b"Acme");
    }
}
