//! The text of a message by its Msg_Fmt (CMPP §8.4.3.1, SGIP §3.3.3, SMGP §7.2.3): ASCII, UCS-2 or GBK.
//!
//! With TP_udhi, a header (3GPP TS 23.040 §9.2.3.24) is in front of the text, as in SMPP. Invariant: a text that
//! [`encode`] writes is the same when [`decode`] reads it.

use bytes::Bytes;
use encoding_rs::GBK;
use smsc_sms::convert::{self, Alphabet};
use smsc_sms::udh::UserDataHeader;
use smsc_sms::{Shifts, ucs2};

/// Msg_Fmt, MessageCoding or MsgFormat: how the octets of a text are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Format {
    /// ASCII.
    Ascii = 0,
    /// An operation that writes the card.
    Card = 3,
    /// Binary data.
    Binary = 4,
    /// UCS-2.
    Ucs2 = 8,
    /// GBK, the national alphabet: 1 or 2 octets per character.
    Gbk = 15,
}

/// Longest text in octets that fits into one message in this format; what is longer needs parts with a header.
pub const LONGEST_ASCII: usize = 160;
/// Longest text in octets that fits into one message in any format but ASCII.
pub const LONGEST: usize = 140;

// === impl Format ===

impl Format {
    /// By its number.
    #[must_use]
    pub fn of(number: u8) -> Option<Self> {
        Some(match number {
            0 => Self::Ascii,
            3 => Self::Card,
            4 => Self::Binary,
            8 => Self::Ucs2,
            15 => Self::Gbk,
            _ => return None,
        })
    }

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Ascii => "ASCII",
            Self::Card => "card operation",
            Self::Binary => "binary",
            Self::Ucs2 => "UCS-2",
            Self::Gbk => "GBK",
        }
    }
}

/// The text of octets; `None` when they are data. Octets that are no character become U+FFFD.
#[must_use]
pub fn decode(format: Format, octets: &[u8]) -> Option<String> {
    match format {
        Format::Card | Format::Binary => None,
        Format::Ascii => Some(convert::decode(Alphabet::Ascii, octets, Shifts::default())),
        Format::Ucs2 => Some(ucs2::decode(octets)),
        Format::Gbk => Some(GBK.decode_without_bom_handling(octets).0.into_owned()),
    }
}

/// The octets of a text; `None` when the format lacks one of its characters, or holds no texts.
#[must_use]
pub fn encode(format: Format, text: &str) -> Option<Vec<u8>> {
    match format {
        Format::Card | Format::Binary => None,
        Format::Ascii => text.is_ascii().then(|| text.as_bytes().to_vec()),
        Format::Ucs2 => Some(ucs2::encode(text)),
        Format::Gbk => {
            let (octets, _, has_others) = GBK.encode(text);
            // The encoder knows characters of GB 18030 with four octets, and some that it reads as others.
            let same = !has_others && decode(format, &octets).as_deref() == Some(text);
            same.then(|| octets.into_owned())
        }
    }
}

/// The octets in the first of these formats that has all characters; UCS-2 has all.
#[must_use]
pub fn choose(formats: &[Format], text: &str) -> (Format, Vec<u8>) {
    let mut fitting = formats
        .iter()
        .filter_map(|format| Some((*format, encode(*format, text)?)));
    fitting
        .next()
        .unwrap_or_else(|| (Format::Ucs2, ucs2::encode(text)))
}

/// data_coding of SMPP and the octets for a content in this Msg_Fmt, which may begin with a header: GBK becomes UCS-2, and
/// other formats keep their number.
#[must_use]
pub fn for_smpp(format: u8, content: Bytes, has_header: bool) -> (u8, Bytes) {
    match Format::of(format) {
        Some(Format::Gbk) => {
            let text_at = match content.first() {
                Some(length) if has_header => content.len().min(usize::from(*length) + 1),
                _ => 0,
            };
            let text = decode(Format::Gbk, &content[text_at..]).unwrap_or_default();
            let octets = [&content[..text_at], &ucs2::encode(&text)].concat();
            (Format::Ucs2 as u8, Bytes::from(octets))
        }
        // A card operation is data to everybody else.
        Some(Format::Card) => (Format::Binary as u8, content),
        _ => (format, content),
    }
}

/// The text of a part in GBK as it came: a character has two octets, and the second one may be in the next part.
#[must_use]
pub fn part_in_gbk(format: u8, content: &Bytes, has_header: bool) -> Option<Bytes> {
    if format != Format::Gbk as u8 || !has_header {
        return None;
    }
    let (header, text) = UserDataHeader::split(content).ok()?;
    header.concat().filter(|part| part.total > 1)?;
    Some(text)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn texts_and_their_octets() {
        for (format, text, octets) in [
            (Format::Ascii, "hi", &b"hi"[..]),
            (Format::Ucs2, "你好", &[0x4F, 0x60, 0x59, 0x7D]),
            (Format::Gbk, "你好", &[0xC4, 0xE3, 0xBA, 0xC3]),
            (Format::Gbk, "a你", &[b'a', 0xC4, 0xE3]),
        ] {
            assert_eq!(encode(format, text).as_deref(), Some(octets));
            assert_eq!(decode(format, octets).as_deref(), Some(text));
        }
        assert_eq!(encode(Format::Ascii, "é"), None);
        assert_eq!(encode(Format::Gbk, "😀"), None);
        assert_eq!(encode(Format::Binary, "a"), None);
        assert_eq!(decode(Format::Binary, b"a"), None);
        let all = [Format::Ascii, Format::Gbk];
        for (text, format) in [
            ("a", Format::Ascii),
            ("你", Format::Gbk),
            ("😀", Format::Ucs2),
        ] {
            assert_eq!(choose(&all, text).0, format);
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(text: String) {
            let (format, octets) = choose(&[Format::Ascii, Format::Gbk], &text);
            prop_assert_eq!(decode(format, &octets), Some(text));
        }

        #[test]
        fn any_octets_are_read(number: u8, octets: Vec<u8>) {
            if let Some(format) = Format::of(number % 16) {
                prop_assert_eq!(format as u8, number % 16);
                let text = decode(format, &octets);
                prop_assert_eq!(text.is_none(), matches!(format, Format::Card | Format::Binary));
            }
        }
    }
}
