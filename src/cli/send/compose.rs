//! A text as the messages that carry it: its alphabet, its parts, their headers.
//!
//! Called by `smsc send` before anything is connected, so that `--dry-run` shows the same as what
//! would be sent. Pure.

use anyhow::{anyhow, bail};
use bytes::{BufMut, Bytes, BytesMut};

use crate::cli::exit::WrongCommandLine;
use crate::decode::{hex, text};
use crate::smpp::{ESM_UDHI, SubmitSm, Tlvs, tag};
use crate::sms::coding::{DataCoding, coding, with_charset};
use crate::sms::convert::{self, Choice, choose};
use crate::sms::language::{Language, Shifts};
use crate::sms::segment::{self, PartNumbering, TextTooLong, Units};
use crate::sms::udh::{Concat, UserDataHeader};
use crate::sms::{Unrepresentable, gsm7, ucs2};

/// Longest message_payload: the PDU stays within 64 KiB.
const PAYLOAD_MAX: usize = 60_000;
/// data_coding of class 0 in the default alphabet (3GPP TS 23.038 §4).
const FLASH: u8 = 0x10;

/// In which alphabet a text is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum SendAlphabet {
    /// The 7-bit alphabet of GSM, one septet per octet: 160 characters in a message.
    Gsm,
    /// UCS-2, which has every character: 70 in a message.
    Ucs2,
    /// ISO 8859-1: 140 characters in a message.
    Latin1,
    /// Data; the text is hexadecimal digits.
    Binary,
}

/// How to send a text that does not fit into one message.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Long {
    /// In parts, numbered in their user data header.
    #[default]
    Udh,
    /// In parts, numbered in their user data header with a 16-bit reference.
    Udh16,
    /// In parts, numbered by the sar parameters.
    Sar,
    /// Whole, in message_payload: the SMSC cuts it.
    Payload,
}

/// How a text is to be written.
#[derive(Debug, Clone, Default)]
pub struct Writing {
    /// `None`: whichever takes the fewest messages.
    pub alphabet: Option<SendAlphabet>,
    /// National tables that the phone knows.
    pub languages: Vec<Language>,
    /// Shown at once and not kept.
    pub flash: bool,
    pub long: Long,
    /// The number that all parts of one text have; 8 bits of it where there are no more.
    pub reference: u16,
}

/// What is sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Composed {
    /// The alphabet by name, tables included.
    pub alphabet: String,
    pub data_coding: u8,
    pub units: Units,
    /// Of the whole text; octets for data.
    pub characters: usize,
    pub parts: Vec<ComposedPart>,
}

/// One message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ComposedPart {
    header: UserDataHeader,
    /// The text without its header.
    body: Bytes,
    /// Numbers outside the header.
    tlvs: Tlvs,
    in_payload: bool,
    /// Characters of this part; octets for data.
    pub characters: usize,
    /// Septets or octets that are left; `None` where no room is set.
    pub left: Option<usize>,
}

/// A text in its alphabet.
struct EncodedText {
    alphabet: String,
    data_coding: u8,
    units: Units,
    shifts: Shifts,
    octets: Bytes,
}

/// Chooses the alphabet and cuts the text.
///
/// # Errors
/// The alphabet does not have a character of the text, or the text is too long; with the cure.
pub fn compose(text: &str, writing: &Writing) -> anyhow::Result<Composed> {
    let mut written = write(text, writing)?;
    if writing.flash {
        written.data_coding = flash(written.data_coding)?;
    }
    let mut header = UserDataHeader::default();
    header.set_shifts(written.shifts);
    let bodies = match writing.long {
        Long::Payload if written.octets.len() > PAYLOAD_MAX => bail!(WrongCommandLine(format!(
            "the text has {} octets; message_payload holds {PAYLOAD_MAX}",
            written.octets.len()
        ))),
        Long::Payload => vec![written.octets.clone()],
        Long::Udh | Long::Sar => cut(&written, &header, PartNumbering::Eight)?,
        Long::Udh16 => cut(&written, &header, PartNumbering::Sixteen)?,
    };
    let total = bodies.len();
    let parts = bodies.into_iter().zip(1..);
    let parts = parts
        .map(|(body, number)| part(body, number, total, &written, &header, writing))
        .collect();
    Ok(Composed {
        characters: characters(&written.octets, &written),
        alphabet: written.alphabet,
        data_coding: written.data_coding,
        units: written.units,
        parts,
    })
}

fn write(text: &str, writing: &Writing) -> anyhow::Result<EncodedText> {
    let national = &writing.languages;
    match writing.alphabet {
        Some(SendAlphabet::Gsm) | None => match choose(text, national) {
            Choice::Gsm(shifts) => Ok(EncodedText {
                alphabet: text::with_tables("GSM 7-bit", shifts),
                data_coding: 0,
                units: Units::Septets,
                shifts,
                octets: gsm7::encode(text, shifts)?.into(),
            }),
            Choice::Ucs2 if writing.alphabet.is_none() => Ok(in_ucs2(text)),
            Choice::Ucs2 => Err(not_in_gsm(text, national)),
        },
        Some(SendAlphabet::Ucs2) => Ok(in_ucs2(text)),
        Some(SendAlphabet::Latin1) => {
            let octets = convert::encode(text, convert::Alphabet::Latin1, Shifts::default());
            let octets = octets.map_err(|error| {
                lacks(
                    "Latin-1",
                    error,
                    "leave --alphabet out, or give --alphabet ucs2",
                )
            })?;
            Ok(plain("Latin-1", 3, octets))
        }
        Some(SendAlphabet::Binary) => {
            let octets = hex::parse(text).map_err(|error| {
                let what = "--alphabet binary sends data, given as hexadecimal digits";
                WrongCommandLine(format!("{what}: {error}"))
            })?;
            Ok(plain("data", 4, octets.into()))
        }
    }
}

fn in_ucs2(text: &str) -> EncodedText {
    EncodedText {
        alphabet: "UCS-2".to_owned(),
        data_coding: 8,
        units: Units::Ucs2,
        shifts: Shifts::default(),
        octets: ucs2::encode(text).into(),
    }
}

fn plain(alphabet: &str, data_coding: u8, octets: Vec<u8>) -> EncodedText {
    EncodedText {
        alphabet: alphabet.to_owned(),
        data_coding,
        units: Units::Octets,
        shifts: Shifts::default(),
        octets: octets.into(),
    }
}

/// Names the character that keeps a text out of every allowed table: the one that the best table
/// stops at.
fn not_in_gsm(text: &str, languages: &[Language]) -> anyhow::Error {
    let both = |locking: Language, single: Language| Shifts { locking, single };
    let tables = languages.iter().flat_map(|locking| {
        let singles = languages.iter().map(|single| both(*locking, *single));
        singles.chain([Shifts::locking(*locking), Shifts::single(*locking)])
    });
    let furthest = tables
        .chain([Shifts::default()])
        .filter_map(|shifts| gsm7::encode(text, shifts).err())
        .max_by_key(|error| error.at);
    let cure =
        "leave --alphabet out, give --alphabet ucs2, or allow national tables with --language";
    match furthest {
        Some(error) => lacks("the GSM 7-bit alphabet", error, cure),
        None => WrongCommandLine(format!("the text is in no single table: {cure}")).into(),
    }
}

fn lacks(alphabet: &str, error: Unrepresentable, cure: &str) -> anyhow::Error {
    let Unrepresentable { character, at } = error;
    let said = format!(
        "{alphabet} has no `{character}` (U+{:04X}, character {} of the text); {cure}",
        u32::from(character),
        at + 1
    );
    WrongCommandLine(said).into()
}

fn flash(data_coding: u8) -> anyhow::Result<u8> {
    match coding(data_coding) {
        DataCoding::Default | DataCoding::Ucs2 | DataCoding::Octets => {
            Ok(with_charset(FLASH, coding(data_coding)))
        }
        _ => bail!(WrongCommandLine(
            "--flash is a class, and data_coding has none beside Latin-1; give --alphabet gsm or ucs2"
                .to_owned()
        )),
    }
}

fn cut(
    written: &EncodedText,
    header: &UserDataHeader,
    form: PartNumbering,
) -> anyhow::Result<Vec<Bytes>> {
    segment::split(&written.octets, written.units, header, form).map_err(|error| match error {
        TextTooLong::Parts { parts } => anyhow!(WrongCommandLine(format!(
            "the text needs {parts} parts, and 255 can be numbered; send it in pieces, or with \
             --long payload"
        ))),
        TextTooLong::Header { .. } => anyhow!("{error}"),
    })
}

fn part(
    body: Bytes,
    number: u8,
    total: usize,
    written: &EncodedText,
    header: &UserDataHeader,
    writing: &Writing,
) -> ComposedPart {
    let mut header = header.clone();
    let mut tlvs = Tlvs::new();
    let mut reserved = 0;
    // `cut` gives no more than 255 parts.
    let count = total as u8;
    if total > 1 {
        match writing.long {
            Long::Sar => {
                tlvs.push(tag::SAR_MSG_REF_NUM, &writing.reference.to_be_bytes());
                tlvs.push(tag::SAR_TOTAL_SEGMENTS, &[count]);
                tlvs.push(tag::SAR_SEGMENT_SEQNUM, &[number]);
                reserved = Concat::octets(false) + usize::from(header.is_empty());
            }
            long => {
                let wide = long == Long::Udh16;
                header.set_concat(Some(Concat {
                    reference: if wide {
                        writing.reference
                    } else {
                        writing.reference & 0xFF
                    },
                    wide,
                    total: count,
                    sequence: number,
                }));
            }
        }
    }
    let room = segment::room(written.units, header.octets() + reserved);
    let in_payload = writing.long == Long::Payload && body.len() > room;
    ComposedPart {
        characters: characters(&body, written),
        left: (!in_payload).then(|| room.saturating_sub(body.len())),
        header,
        body,
        tlvs,
        in_payload,
    }
}

fn characters(octets: &[u8], written: &EncodedText) -> usize {
    match written.units {
        Units::Septets => gsm7::decode(octets, written.shifts).chars().count(),
        Units::Ucs2 => ucs2::decode(octets).chars().count(),
        Units::Octets => octets.len(),
    }
}

// === impl Composed ===

impl Composed {
    /// What will be sent: one line, and one more per part when there are several.
    pub fn lines(&self) -> Vec<String> {
        let counted = |number: usize| match coding(self.data_coding) {
            DataCoding::Octets => hex::counted(number, "octet"),
            _ => hex::counted(number, "character"),
        };
        let left = |number: usize| format!("{} left", hex::counted(number, self.unit()));
        let total = self.parts.len();
        let mut summary = format!(
            "{:<10} {}, {}, data_coding 0x{:02X}",
            hex::counted(total, "part"),
            self.alphabet,
            counted(self.characters),
            self.data_coding
        );
        if let [only] = &self.parts[..] {
            match only.left {
                Some(number) => summary.push_str(&format!(", {}", left(number))),
                None => summary.push_str(", in message_payload"),
            }
            return vec![summary];
        }
        let mut lines = vec![summary];
        for (part, number) in self.parts.iter().zip(1..) {
            lines.push(format!(
                "{:<10} {}, {}",
                format!("  {number} of {total}"),
                counted(part.characters),
                left(part.left.unwrap_or(0)),
            ));
        }
        lines
    }

    fn unit(&self) -> &'static str {
        match self.units {
            Units::Septets => "septet",
            Units::Octets | Units::Ucs2 => "octet",
        }
    }

    /// The messages, each like `envelope` with its part of the text.
    pub fn messages(&self, envelope: &SubmitSm) -> Vec<SubmitSm> {
        let message = |part: &ComposedPart| {
            let mut text = BytesMut::from(&part.header.encode()[..]);
            text.put_slice(&part.body);
            let mut message = SubmitSm {
                data_coding: self.data_coding,
                tlvs: part.tlvs.clone(),
                ..envelope.clone()
            };
            if !part.header.is_empty() {
                message.esm_class |= ESM_UDHI;
            }
            if part.in_payload {
                message.tlvs.push(tag::MESSAGE_PAYLOAD, &text);
            } else {
                message.short_message = text.freeze();
            }
            message
        };
        self.parts.iter().map(message).collect()
    }
}

#[cfg(test)]
mod tests;
