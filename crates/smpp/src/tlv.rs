//! Optional parameters of a PDU (SMPP 3.4 §3.2.4, §5.3), carried as the octets that were received.
//!
//! Used by every PDU that allows them and wherever a message is forwarded: order, unknown tags,
//! repeated tags and odd lengths pass from one side to the other untouched. Invariant: the octets
//! are whole TLVs; [`Tlvs::is_incomplete`] tells whether the codec cut something off.

use bytes::{BufMut, Bytes, BytesMut};

/// Octets of tag and length before a value (§3.2.4.1).
const TLV_HEADER: usize = 4;

/// The optional part of a PDU: tag, length, value, again and again (§5.3.1).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tlvs {
    raw: Bytes,
    incomplete: bool,
}

/// Walks whole TLVs; ends at the first that is cut short.
#[derive(Clone, Debug)]
pub struct Iter<'a> {
    rest: &'a [u8],
}

impl Tlvs {
    /// No optional parameters.
    pub const fn new() -> Tlvs {
        Tlvs {
            raw: Bytes::new(),
            incomplete: false,
        }
    }

    /// Takes octets as received. What follows the last whole TLV is dropped, and remembered as
    /// [`Self::is_incomplete`].
    pub fn from_raw(raw: Bytes) -> Tlvs {
        let whole = whole_length(&raw);
        if whole == raw.len() {
            return Tlvs {
                raw,
                incomplete: false,
            };
        }
        Tlvs {
            raw: raw.slice(..whole),
            incomplete: true,
        }
    }

    /// The octets of all whole TLVs, in the order received.
    pub fn raw(&self) -> &Bytes {
        &self.raw
    }

    /// Whether a last TLV was cut short and dropped: count it, the peer is broken.
    pub fn is_incomplete(&self) -> bool {
        self.incomplete
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.raw.is_empty()
    }

    /// Tag and value of each, in order; a tag may come more than once.
    pub fn iter(&self) -> Iter<'_> {
        Iter { rest: &self.raw }
    }

    /// Value of the first TLV with this tag.
    pub fn get(&self, tag: u16) -> Option<&[u8]> {
        self.iter().find(|(t, _)| *t == tag).map(|(_, value)| value)
    }

    /// Like [`Self::get`], sharing the buffer instead of borrowing it.
    pub fn get_bytes(&self, tag: u16) -> Option<Bytes> {
        self.get(tag).map(|value| self.raw.slice_ref(value))
    }

    /// An integer value of one to four octets, whatever width the peer chose; `None` when absent or
    /// of another length.
    pub fn get_uint(&self, tag: u16) -> Option<u32> {
        let value = self.get(tag)?;
        if value.is_empty() || value.len() > 4 {
            return None;
        }
        Some(
            value
                .iter()
                .fold(0, |number, octet| number << 8 | u32::from(*octet)),
        )
    }

    /// A C-octet string value without its NUL, which some peers omit (§5.3.2.12).
    pub fn get_c_string(&self, tag: u16) -> Option<Bytes> {
        let value = self.get_bytes(tag)?;
        let end = value.iter().position(|octet| *octet == 0);
        Some(value.slice(..end.unwrap_or(value.len())))
    }

    /// Appends one TLV. A value over 65,535 octets is cut there: the length field has 16 bits.
    pub fn push(&mut self, tag: u16, value: &[u8]) {
        let value = &value[..value.len().min(usize::from(u16::MAX))];
        let mut raw = std::mem::take(&mut self.raw)
            .try_into_mut()
            .unwrap_or_else(|shared| {
                let mut copy =
                    BytesMut::with_capacity(shared.len() + TLV_HEADER + value.len() + 32);
                copy.put_slice(&shared);
                copy
            });
        put_tlv(&mut raw, tag, value);
        self.raw = raw.freeze();
    }

    /// All but the TLVs with these tags; shares the buffer when none is there.
    pub fn without(&self, tags: &[u16]) -> Tlvs {
        if !self.iter().any(|(tag, _)| tags.contains(&tag)) {
            return self.clone();
        }
        let mut raw = BytesMut::with_capacity(self.raw.len());
        for (tag, value) in self.iter().filter(|(tag, _)| !tags.contains(tag)) {
            put_tlv(&mut raw, tag, value);
        }
        Tlvs {
            raw: raw.freeze(),
            incomplete: self.incomplete,
        }
    }
}

// === impl Iter ===

impl<'a> Iterator for Iter<'a> {
    type Item = (u16, &'a [u8]);

    fn next(&mut self) -> Option<(u16, &'a [u8])> {
        let [tag_high, tag_low, length_high, length_low, values @ ..] = self.rest else {
            return None;
        };
        let length = usize::from(u16::from_be_bytes([*length_high, *length_low]));
        let (value, rest) = values.split_at_checked(length)?;
        self.rest = rest;
        Some((u16::from_be_bytes([*tag_high, *tag_low]), value))
    }
}

impl<'a> IntoIterator for &'a Tlvs {
    type Item = (u16, &'a [u8]);
    type IntoIter = Iter<'a>;

    fn into_iter(self) -> Iter<'a> {
        self.iter()
    }
}

/// Appends one TLV whose value is known to fit 16 bits of length.
pub(super) fn put_tlv(out: &mut BytesMut, tag: u16, value: &[u8]) {
    let value = &value[..value.len().min(usize::from(u16::MAX))];
    out.put_u16(tag);
    out.put_u16(value.len() as u16);
    out.put_slice(value);
}

/// Octets of all whole TLVs at the start.
fn whole_length(octets: &[u8]) -> usize {
    let mut iter = Iter { rest: octets };
    while iter.next().is_some() {}
    octets.len() - iter.rest.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tag;

    #[test]
    fn order_unknown_and_repeated_tags_are_kept() {
        let mut tlvs = Tlvs::new();
        tlvs.push(0x1501, b"vendor");
        tlvs.push(tag::USER_MESSAGE_REFERENCE, &[0x12, 0x34]);
        tlvs.push(0x1501, b"again");
        assert_eq!(
            tlvs.raw()[..],
            *b"\x15\x01\x00\x06vendor\x02\x04\x00\x02\x12\x34\x15\x01\x00\x05again"
        );
        assert_eq!(tlvs.get(0x1501), Some(&b"vendor"[..]));
        assert_eq!(tlvs.get_uint(tag::USER_MESSAGE_REFERENCE), Some(0x1234));
        assert_eq!(tlvs.iter().count(), 3);
        let fewer = tlvs.without(&[0x1501]);
        assert_eq!(fewer.raw()[..], *b"\x02\x04\x00\x02\x12\x34");
        assert_eq!(tlvs.without(&[0x9999]), tlvs);
    }

    #[test]
    fn a_cut_tail_is_dropped_and_told() {
        let whole = Tlvs::from_raw(Bytes::from_static(b"\x02\x04\x00\x02\x12\x34"));
        assert!(!whole.is_incomplete());
        for cut in 7..10 {
            let octets = b"\x02\x04\x00\x02\x12\x34\x04\x27\x00\x01";
            let tlvs = Tlvs::from_raw(Bytes::copy_from_slice(&octets[..cut]));
            assert!(tlvs.is_incomplete());
            assert_eq!(tlvs.raw(), whole.raw());
        }
    }

    #[test]
    fn c_strings_with_and_without_nul() {
        let mut tlvs = Tlvs::new();
        tlvs.push(tag::RECEIPTED_MESSAGE_ID, b"abc\0");
        assert_eq!(tlvs.get_c_string(tag::RECEIPTED_MESSAGE_ID).unwrap(), "abc");
        let mut tlvs = Tlvs::new();
        tlvs.push(tag::RECEIPTED_MESSAGE_ID, b"abc");
        assert_eq!(tlvs.get_c_string(tag::RECEIPTED_MESSAGE_ID).unwrap(), "abc");
    }

    #[test]
    fn an_oversized_value_is_cut_at_the_length_field() {
        let mut tlvs = Tlvs::new();
        tlvs.push(tag::MESSAGE_PAYLOAD, &vec![7; 70_000]);
        assert_eq!(tlvs.get(tag::MESSAGE_PAYLOAD).unwrap().len(), 65_535);
    }
}
