//! A text of characters as the message that carries it: its alphabet, its data_coding, and where it goes.
//!
//! Called for what comes over HTTP and over the local socket, where a text is UTF-8 and nothing else is said. Pure.

use bytes::Bytes;

use crate::UDHI;
use smsc_domain::rewrite::TypedAddress;
use smsc_proto::Message;
use smsc_smpp::time::{format_absolute, parse_time};
use smsc_smpp::{Tlvs, tag};
use smsc_sms::coding::{DataCoding, with_charset};
use smsc_sms::convert::{self, Choice, choose};
use smsc_sms::language::Shifts;
use smsc_sms::udh::UserDataHeader;
use smsc_sms::{Unrepresentable, gsm7, ucs2};

use crate::peer::SHORT_MESSAGE;

/// Most octets of a text: the PDU that carries it stays within 64 KiB.
pub const LONGEST: usize = 60_000;
/// data_coding of data (SMPP 3.4 §5.2.19).
const DATA: u8 = 4;
/// The 7-bit alphabet in words.
const GSM: &str = "GSM 7-bit";
/// data_coding of class 0 in the default alphabet (3GPP TS 23.038 §4), of data and in UCS-2.
const FLASH: u8 = 0x10;
const FLASH_DATA: u8 = 0x14;
const FLASH_UCS2: u8 = 0x18;

/// Octets of an address (SMPP 3.4 §5.2.8).
const MAX_DIGITS: usize = 20;
/// Letters of an alphanumeric sender (3GPP TS 23.040 §9.1.2.5).
const MAX_LETTERS: usize = 11;
/// Characters of a sender's own name for a message.
const MAX_REFERENCE: usize = 100;
/// The highest priority (SMPP 3.4 §5.2.14).
pub const MAX_PRIORITY: u32 = 3;
/// In Unix milliseconds. SMPP has two digits for the year (3.4 §7.1.1.1).
pub const YEAR_2100: i64 = 4_102_444_800_000;
/// Most digits of a short code.
const SHORT_CODE: usize = 8;
/// TON and NPI (SMPP 3.4 §5.2.5-6).
const INTERNATIONAL: (u8, u8) = (1, 1);
const UNKNOWN: (u8, u8) = (0, 0);
const ALPHANUMERIC: (u8, u8) = (5, 0);

/// In which alphabet a text is sent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum TextAlphabet {
    /// Whichever takes the fewest messages: GSM if it has all characters, else UCS-2.
    #[default]
    Auto,
    /// The 7-bit alphabet of GSM (3GPP TS 23.038 §6.2.1).
    Gsm,
    /// The 7-bit alphabet of GSM, with a question mark for each character that it lacks.
    GsmLossy,
    Ucs2,
    /// ISO 8859-1.
    Latin1,
}

/// A body, ready to be carried.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ComposedBody {
    /// The alphabet in words.
    pub alphabet: &'static str,
    /// data_coding (SMPP 3.4 §5.2.19).
    pub data_coding: u8,
    /// The user data header; empty without one.
    pub header: Bytes,
    pub octets: Bytes,
}

/// Why a text cannot be sent so.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ComposeRefusal {
    #[error("{alphabet} has no {:?} (U+{:04X}, character {} of the text)", .lacks.character, u32::from(.lacks.character), .lacks.at + 1)]
    Character {
        alphabet: &'static str,
        lacks: Unrepresentable,
    },
    #[error("flash is a message class, and data_coding has none for Latin-1; use gsm or ucs2")]
    ClassOfLatin1,
    #[error("it has {octets} octets; at most {LONGEST} are possible")]
    TooLong { octets: usize },
    #[error("it is no user data header: {0}")]
    Header(String),
    #[error("UCS-2 has two octets for each character, and it has {octets} octets")]
    HalfCharacter { octets: usize },
    #[error("there is no alphabet for data_coding {0} here")]
    DataCoding(u8),
}

/// It is no sender. Follows the name of its field.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("must be a number, a short code or up to {MAX_LETTERS} letters, not {0:?}")]
pub struct NotASender(String);

/// It is no reference. Follows the name of its field.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("must be at most {MAX_REFERENCE} printable characters")]
pub struct NotAReference;

/// Writes a text in an alphabet.
///
/// # Errors
/// The alphabet lacks a character, or the text is too long.
pub fn text(
    text: &str,
    alphabet: TextAlphabet,
    flash: bool,
) -> Result<ComposedBody, ComposeRefusal> {
    let body = match alphabet {
        TextAlphabet::Auto => match choose(text, &[]) {
            Choice::Gsm(_) => in_gsm(text)?,
            Choice::Ucs2 => in_ucs2(text),
        },
        TextAlphabet::Gsm => in_gsm(text)?,
        TextAlphabet::GsmLossy => plain(GSM, 0, gsm7::encode_lossy(text, Shifts::default())),
        TextAlphabet::Ucs2 => in_ucs2(text),
        TextAlphabet::Latin1 if flash => return Err(ComposeRefusal::ClassOfLatin1),
        TextAlphabet::Latin1 => {
            let octets = convert::encode(text, convert::Alphabet::Latin1, Shifts::default());
            plain("Latin-1", 3, octets.map_err(lacked_by("Latin-1"))?)
        }
    };
    sized(flashing(body, flash))
}

/// Data as it is, behind a user data header that may be empty (3GPP TS 23.040 §9.2.3.24).
///
/// # Errors
/// The header is none, or the data is too long.
pub fn data(octets: Bytes, header: Bytes, flash: bool) -> Result<ComposedBody, ComposeRefusal> {
    framed(flashing(plain("data", DATA, octets), flash), header)
}

/// A text that is encoded already, or data, by its data_coding: 0, 3, 4 and 8, and those of class 0. Behind a
/// user data header that may be empty.
///
/// # Errors
/// The data_coding is another one, the header is none, or the octets are too many or half a character.
pub fn coded(
    octets: Bytes,
    header: Bytes,
    data_coding: u8,
) -> Result<ComposedBody, ComposeRefusal> {
    let alphabet = match data_coding {
        0 | FLASH => GSM,
        3 => "Latin-1",
        DATA | FLASH_DATA => "data",
        8 | FLASH_UCS2 if octets.len() % 2 == 1 => {
            let octets = octets.len();
            return Err(ComposeRefusal::HalfCharacter { octets });
        }
        8 | FLASH_UCS2 => "UCS-2",
        other => return Err(ComposeRefusal::DataCoding(other)),
    };
    framed(plain(alphabet, data_coding, octets), header)
}

/// Octets that were encoded elsewhere, by this data_coding, behind a user data header that may be empty.
///
/// # Errors
/// The header is none, or the octets are too many.
pub fn encoded(
    data_coding: u8,
    header: Bytes,
    octets: Bytes,
) -> Result<ComposedBody, ComposeRefusal> {
    framed(plain("data", data_coding, octets), header)
}

fn framed(body: ComposedBody, header: Bytes) -> Result<ComposedBody, ComposeRefusal> {
    if !header.is_empty() {
        let (_, rest) = UserDataHeader::split(&header)
            .map_err(|error| ComposeRefusal::Header(error.to_string()))?;
        if !rest.is_empty() {
            let said = format!("{} octets follow it", rest.len());
            return Err(ComposeRefusal::Header(said));
        }
    }
    sized(ComposedBody { header, ..body })
}

// === impl ComposedBody ===

impl ComposedBody {
    /// Puts it into a message, which is divided when it is too long for one short message.
    pub fn carry(&self, message: &mut Message) {
        message.data_coding = u32::from(self.data_coding);
        let octets = if self.header.is_empty() {
            self.octets.clone()
        } else {
            message.esm_class |= UDHI;
            [&self.header[..], &self.octets].concat().into()
        };
        message.divide = true;
        if octets.len() <= SHORT_MESSAGE {
            message.short_message = octets;
            return;
        }
        let mut tlvs = Tlvs::from_raw(std::mem::take(&mut message.tlvs));
        tlvs.push(tag::MESSAGE_PAYLOAD, &octets);
        message.tlvs = tlvs.raw().clone();
    }
}

/// [`source`] of what a person or a program gives as the sender.
///
/// # Errors
/// It is too long, or has characters that no sender has.
pub fn sender(text: &str) -> Result<TypedAddress, NotASender> {
    let text = text.trim();
    let digits = text.strip_prefix('+').unwrap_or(text);
    let is_number = digits.bytes().all(|octet| octet.is_ascii_digit());
    let fits = if is_number {
        digits.len() <= MAX_DIGITS
    } else {
        text.len() <= MAX_LETTERS && text.bytes().all(|octet| (b' '..0x7F).contains(&octet))
    };
    if fits {
        Ok(source(text))
    } else {
        Err(NotASender(text.to_owned()))
    }
}

/// Refuses what cannot be a sender's own name for a message.
///
/// # Errors
/// It is too long, or has control characters.
pub fn check_reference(text: &str) -> Result<(), NotAReference> {
    let fits = text.chars().count() <= MAX_REFERENCE && !text.chars().any(char::is_control);
    fits.then_some(()).ok_or(NotAReference)
}

/// A source address with the TON and NPI that it has by its form: a number in international form, a short code, or
/// letters (SMPP 3.4 §5.2.5-6).
pub fn source(text: &str) -> TypedAddress {
    let digits = text.strip_prefix('+').unwrap_or(text);
    let is_number = digits.bytes().all(|octet| octet.is_ascii_digit());
    let ((ton, npi), address) = if !is_number {
        (ALPHANUMERIC, text)
    } else if digits.len() > SHORT_CODE {
        (INTERNATIONAL, digits)
    } else {
        (UNKNOWN, digits)
    };
    TypedAddress {
        ton,
        npi,
        digits: Bytes::copy_from_slice(address.as_bytes()),
    }
}

/// A message from a source to a number in international form; what else it says is to be added.
pub fn between(source: TypedAddress, destination: Bytes) -> Message {
    Message {
        source_ton: source.ton.into(),
        source_npi: source.npi.into(),
        source: source.digits,
        dest_ton: INTERNATIONAL.0.into(),
        dest_npi: INTERNATIONAL.1.into(),
        destination,
        follow: true,
        ..Message::default()
    }
}

/// When a message may be sent, and until when, in Unix milliseconds, as the fields of SMPP say it
/// (3.4 §5.2.15-16).
pub fn set_times(message: &mut Message, send_at: Option<i64>, valid_until: Option<i64>) {
    let absolute = |at: Option<i64>| at.map(format_absolute).unwrap_or_default();
    message.schedule_delivery_time = absolute(send_at).into();
    message.validity_period = absolute(valid_until).into();
}

/// Unix milliseconds of a time as SMPP writes it, absolute or from now on (SMPP 3.4 §7.1.1); `None` if it is none or
/// says nothing.
pub fn time_of(text: &str, now: i64) -> Option<i64> {
    parse_time(text.as_bytes(), now).ok().flatten()
}

fn in_gsm(text: &str) -> Result<ComposedBody, ComposeRefusal> {
    let octets = gsm7::encode(text, Shifts::default()).map_err(lacked_by("the GSM alphabet"))?;
    Ok(plain(GSM, 0, octets))
}

fn in_ucs2(text: &str) -> ComposedBody {
    plain("UCS-2", 8, ucs2::encode(text))
}

fn plain(alphabet: &'static str, data_coding: u8, octets: impl Into<Bytes>) -> ComposedBody {
    ComposedBody {
        alphabet,
        data_coding,
        header: Bytes::new(),
        octets: octets.into(),
    }
}

fn flashing(mut body: ComposedBody, flash: bool) -> ComposedBody {
    if flash {
        let coding = match body.data_coding {
            0 => DataCoding::Default,
            8 => DataCoding::Ucs2,
            _ => DataCoding::Octets,
        };
        body.data_coding = with_charset(FLASH, coding);
    }
    body
}

fn sized(body: ComposedBody) -> Result<ComposedBody, ComposeRefusal> {
    match body.octets.len() + body.header.len() {
        ..=LONGEST => Ok(body),
        octets => Err(ComposeRefusal::TooLong { octets }),
    }
}

fn lacked_by(alphabet: &'static str) -> impl Fn(Unrepresentable) -> ComposeRefusal {
    move |lacks| ComposeRefusal::Character { alphabet, lacks }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{MessageContent, segments, text_of};

    fn carried(body: &ComposedBody) -> Message {
        let mut message = Message::default();
        body.carry(&mut message);
        message
    }

    #[test]
    fn the_alphabet_is_the_one_that_takes_the_fewest_messages() {
        for (written, alphabet, data_coding, parts) in [
            ("hello", "GSM 7-bit", 0, 1),
            ("10 € {}", "GSM 7-bit", 0, 1),
            ("привет", "UCS-2", 8, 1),
            ("😀", "UCS-2", 8, 1),
            (&"a".repeat(160), "GSM 7-bit", 0, 1),
            (&"a".repeat(161), "GSM 7-bit", 0, 2),
            (&"я".repeat(70), "UCS-2", 8, 1),
            (&"я".repeat(71), "UCS-2", 8, 2),
            (&"a".repeat(1_000), "GSM 7-bit", 0, 7),
        ] {
            let body = text(written, TextAlphabet::Auto, false).unwrap();
            assert_eq!((body.alphabet, body.data_coding), (alphabet, data_coding));
            let message = carried(&body);
            assert_eq!(segments(&message), parts, "{written}");
            assert_eq!(text_of(&message).as_deref(), Some(written));
        }
    }

    #[test]
    fn an_alphabet_without_a_character_says_which() {
        let refused = text("ab€я", TextAlphabet::Gsm, false)
            .unwrap_err()
            .to_string();
        assert_eq!(
            refused,
            "the GSM alphabet has no 'я' (U+044F, character 4 of the text)"
        );
        let lossy = text("ab€яê", TextAlphabet::GsmLossy, false).unwrap();
        assert_eq!(
            (lossy.data_coding, &lossy.octets[..]),
            (0, &b"ab\x1be??"[..])
        );
        assert!(text("é", TextAlphabet::Latin1, false).is_ok());
        assert!(text("я", TextAlphabet::Latin1, false).is_err());
        assert!(text(&"a".repeat(LONGEST + 1), TextAlphabet::Auto, false).is_err());
    }

    #[test]
    fn flash_is_class_0() {
        let coding = |written| text(written, TextAlphabet::Auto, true).unwrap().data_coding;
        assert_eq!((coding("hello"), coding("я")), (0x10, 0x18));
        assert_eq!(
            text("a", TextAlphabet::Latin1, true),
            Err(ComposeRefusal::ClassOfLatin1)
        );
    }

    #[test]
    fn data_goes_behind_its_header() {
        // A port address (3GPP TS 23.040 §9.2.3.24.4).
        let header = Bytes::from_static(&[6, 5, 4, 0x0B, 0x84, 0x23, 0xF0]);
        let body = data(Bytes::from_static(&[1, 2, 3]), header.clone(), false).unwrap();
        let message = carried(&body);
        assert_eq!((message.data_coding, message.esm_class), (4, UDHI));
        assert_eq!(&MessageContent::read(&message).body[..], [1, 2, 3]);
        for wrong in [
            &[6, 5][..],
            &[1, 5, 4],
            &[6, 5, 4, 0x0B, 0x84, 0x23, 0xF0, 1],
        ] {
            let header = Bytes::copy_from_slice(wrong);
            assert!(data(Bytes::new(), header, false).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn encoded_octets_keep_their_data_coding() {
        let octets = |text: &'static [u8]| Bytes::from_static(text);
        let none = Bytes::new;
        for (data_coding, alphabet) in [
            (0, "GSM 7-bit"),
            (3, "Latin-1"),
            (4, "data"),
            (8, "UCS-2"),
            (0x10, "GSM 7-bit"),
            (0x14, "data"),
            (0x18, "UCS-2"),
        ] {
            let body = coded(octets(b"\x04\x16"), none(), data_coding).unwrap();
            assert_eq!((body.data_coding, body.alphabet), (data_coding, alphabet));
        }
        assert_eq!(
            coded(octets(b"a"), none(), 15),
            Err(ComposeRefusal::DataCoding(15))
        );
        let half = ComposeRefusal::HalfCharacter { octets: 3 };
        assert_eq!(coded(octets(b"abc"), none(), 8), Err(half));
        // The second of two parts, in UCS-2.
        let header = octets(&[5, 0, 3, 7, 2, 2]);
        let body = coded(octets(b"\x04\x16"), header, 8).unwrap();
        let message = carried(&body);
        assert_eq!((message.data_coding, message.esm_class), (8, UDHI));
        assert_eq!(text_of(&message).as_deref(), Some("Ж"));
    }

    #[test]
    fn times_of_smpp_are_read() {
        let now = 1_700_000_000_000;
        assert_eq!(time_of("231114221320000+", 0), Some(now));
        assert_eq!(time_of("231115061320032+", 0), Some(now));
        assert_eq!(time_of("000000020000000R", now), Some(now + 7_200_000));
        assert_eq!(time_of("tomorrow", now), None);
        assert_eq!(time_of("", now), None);
    }
}
