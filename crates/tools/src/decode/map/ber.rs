//! Where the parts of an element of BER are, and what object identifiers are (ITU-T X.690 §8.1, 8.19). Pure.
//!
//! The reader is that of `tcap`; here its elements get places, so that each octet is in a field.

use bytes::Bytes;

use smsc_tcap::ber::{self, MalformedBer};
pub use smsc_tcap::ber::{DEEPEST, INTEGER, NULL, OBJECT_IDENTIFIER, SEQUENCE};

/// The octet in place of a length that is told by two octets of zero behind the value (§8.1.3.6).
const INDEFINITE: u8 = 0x80;

/// An element, by the octets of its parts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlacedElement {
    /// Its octets of the tag, as one number: `0x62`, `0x9F21`.
    pub tag: u32,
    /// Octets of tag and length.
    pub head: usize,
    pub value: Bytes,
    /// Octets behind the value that end it: 2 for an indefinite length.
    pub end: usize,
    pub is_constructed: bool,
}

/// The element at the beginning of these octets.
pub fn first(octets: &Bytes) -> Result<PlacedElement, MalformedBer> {
    let (element, _) = ber::first(octets)?;
    let of_tag = (u32::BITS - element.tag.leading_zeros()).div_ceil(8).max(1) as usize;
    let is_indefinite = element.whole.get(of_tag) == Some(&INDEFINITE);
    let end = if is_indefinite { 2 } else { 0 };
    let behind_head = element.content.len() + end;
    let head = element.whole.len() - behind_head;
    Ok(PlacedElement {
        tag: element.tag,
        head,
        value: octets.slice(head..head + element.content.len()),
        end,
        is_constructed: element.is_constructed,
    })
}

// === impl PlacedElement ===

impl PlacedElement {
    /// All its octets.
    pub fn octets(&self) -> usize {
        self.head + self.value.len() + self.end
    }
}

/// An INTEGER or ENUMERATED; `None` for none and for one that MAP does not have.
pub fn integer(value: &[u8]) -> Option<i32> {
    ber::integer(value).and_then(|number| i32::try_from(number).ok())
}

/// An OBJECT IDENTIFIER as numbers with dots; `None` for what is none.
pub fn object_identifier(value: &[u8]) -> Option<String> {
    let mut numbers: Vec<u64> = Vec::new();
    let (mut number, mut is_open) = (0_u64, false);
    for octet in value {
        number = number.checked_mul(128)? + u64::from(octet & 0x7F);
        is_open = octet & 0x80 != 0;
        if !is_open {
            if numbers.is_empty() {
                let first = (number / 40).min(2);
                numbers.extend([first, number - first * 40]);
            } else {
                numbers.push(number);
            }
            number = 0;
        }
    }
    if numbers.is_empty() || is_open {
        return None;
    }
    let numbers: Vec<String> = numbers.iter().map(u64::to_string).collect();
    Some(numbers.join("."))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode::hex;

    #[test]
    fn elements_of_all_forms_have_their_places() {
        for (text, tag, head, value, end) in [
            ("0201 05", 0x02, 2, 1, 0),
            ("0400", 0x04, 2, 0, 0),
            ("048103 010203 FF", 0x04, 3, 3, 0),
            ("30820002 0500", 0x30, 4, 2, 0),
            ("9F2101 AA", 0x9F21, 3, 1, 0),
            ("3080 0201 05 0000 99", 0x30, 2, 3, 2),
            ("3080 A080 0500 0000 0000", 0x30, 2, 6, 2),
            ("3080 0000", 0x30, 2, 0, 2),
        ] {
            let element = first(&hex::parse(text).unwrap()).unwrap();
            assert_eq!(
                (element.tag, element.head, element.value.len(), element.end),
                (tag, head, value, end),
                "{text}"
            );
        }
    }

    #[test]
    fn object_identifiers_are_read() {
        let map = object_identifier(&[4, 0, 0, 1, 0, 25, 3]);
        assert_eq!(map.as_deref(), Some("0.4.0.0.1.0.25.3"));
        let dialogue = object_identifier(&[0, 0x11, 0x86, 5, 1, 1, 1]);
        assert_eq!(dialogue.as_deref(), Some("0.0.17.773.1.1.1"));
        assert_eq!(object_identifier(&[]), None);
        assert_eq!(object_identifier(&[4, 0x80]), None);
        assert_eq!(object_identifier(&[0xFF; 40]), None);
    }
}
