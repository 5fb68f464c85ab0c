//! Which part of a longer text a message is.

use crate::pb::Message;
use crate::smpp::{Tlvs, tag};

/// Which part of how many this is, of a text in several messages: by its user data header
/// (3GPP TS 23.040 §9.2.3.24.1 and .8) or by its sar_ parameters (SMPP 3.4 §5.3.2.22-24).
pub(super) fn of(message: &Message) -> Option<(u8, u8)> {
    if message.esm_class & 0x40 != 0 {
        let text = &message.short_message;
        let length = usize::from(*text.first()?);
        let mut header = text.get(1..1 + length)?;
        while let [element, length, rest @ ..] = header {
            let value = rest.get(..usize::from(*length))?;
            match (element, value) {
                (0x00, [_, parts, part]) | (0x08, [_, _, parts, part]) => {
                    return Some((*part, *parts));
                }
                _ => header = &rest[value.len()..],
            }
        }
        return None;
    }
    if message.tlvs.is_empty() {
        return None;
    }
    let tlvs = Tlvs::from_raw(message.tlvs.clone());
    let octet = |tag| tlvs.get(tag)?.first().copied();
    Some((
        octet(tag::SAR_SEGMENT_SEQNUM)?,
        octet(tag::SAR_TOTAL_SEGMENTS)?,
    ))
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;

    #[test]
    fn parts_are_read_from_header_or_parameters() {
        let message = |esm_class, text: &'static [u8], tlvs: &'static [u8]| Message {
            esm_class,
            short_message: Bytes::from_static(text),
            tlvs: Bytes::from_static(tlvs),
            ..Message::default()
        };
        let eight = b"\x05\x00\x03\x2a\x03\x02hello";
        assert_eq!(of(&message(0x40, eight, b"")), Some((2, 3)));
        assert_eq!(of(&message(0, eight, b"")), None);
        let sixteen = b"\x0b\x05\x04\x0b\x84\x23\xf0\x08\x04\x00\x2a\x02\x01x";
        assert_eq!(of(&message(0x40, sixteen, b"")), None, "cut short");
        let sixteen = b"\x0c\x05\x04\x0b\x84\x23\xf0\x08\x04\x00\x2a\x02\x01x";
        assert_eq!(of(&message(0x40, sixteen, b"")), Some((1, 2)));
        let sar = b"\x02\x0c\x00\x02\x00\x01\x02\x0e\x00\x01\x04\x02\x0f\x00\x01\x03";
        assert_eq!(of(&message(0, b"hello", sar)), Some((3, 4)));
        for broken in [&b""[..], b"\x09\x00", b"\x05\x00\x09\x01\x02\x03"] {
            assert_eq!(of(&message(0x40, broken, b"")), None);
        }
    }
}
