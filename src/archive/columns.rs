//! The columns of an export, and how a message becomes a row of them.
//!
//! Used by every format; `docs/operations.md` explains them. Keeps true that phone numbers and ids of
//! operators are text (they may begin with zeros), and that the text of a message is only there when
//! it is asked for.

use std::collections::HashMap;

use crate::domain::address::printable;
use crate::domain::{readable, state};
use crate::pb::{Kind, Message};
use crate::smpp::{Tlvs, tag};
use crate::store::archive::Exported;

/// esm_class bit: the octets begin with a user data header (SMPP 3.4 §5.2.12).
const UDHI: u32 = 0x40;
/// Information elements of concatenated messages, 8 and 16 bit reference (3GPP TS 23.040 §9.2.3.24).
const CONCATENATED_8: u8 = 0x00;
const CONCATENATED_16: u8 = 0x08;

/// How a column is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// 64 bits: text in JSON, where numbers have 53.
    Id,
    Number,
    Text,
    /// Unix milliseconds: RFC 3339 in text formats.
    Time,
}

/// One column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Column {
    pub name: &'static str,
    pub shape: Shape,
}

/// One value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cell {
    Null,
    Number(i64),
    Text(String),
}

const fn column(name: &'static str, shape: Shape) -> Column {
    Column { name, shape }
}

/// In the order of the rows; the last two only with the text.
const COLUMNS: [Column; 18] = [
    column("id", Shape::Id),
    column("accepted_at", Shape::Time),
    column("kind", Shape::Text),
    column("sender", Shape::Text),
    column("source", Shape::Text),
    column("destination", Shape::Text),
    column("operator", Shape::Text),
    column("part_reference", Shape::Number),
    column("part", Shape::Number),
    column("parts", Shape::Number),
    column("state", Shape::Text),
    column("error", Shape::Text),
    column("final_at", Shape::Time),
    column("attempts", Shape::Number),
    column("operator_message_id", Shape::Text),
    column("data_coding", Shape::Number),
    column("text", Shape::Text),
    column("octets", Shape::Text),
];
const TEXT_COLUMNS: usize = 2;

/// Every column, with those of the text.
pub const ALL: &[Column] = &COLUMNS;

/// Makes rows of messages.
#[derive(Debug, Clone)]
pub struct Rows {
    names: HashMap<u32, String>,
    with_text: bool,
}

/// Which part of a long message this is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Part {
    reference: u32,
    parts: u32,
    part: u32,
}

// === impl Rows ===

impl Rows {
    /// `names` are the interned ones of the store.
    pub fn new(names: Vec<(u32, String)>, with_text: bool) -> Self {
        Self {
            names: names.into_iter().collect(),
            with_text,
        }
    }

    /// The columns of every row.
    pub fn columns(&self) -> &'static [Column] {
        match self.with_text {
            true => &COLUMNS,
            false => &COLUMNS[..COLUMNS.len() - TEXT_COLUMNS],
        }
    }

    /// The row of a message, as long as [`Rows::columns`].
    pub fn row(&self, exported: &Exported) -> Vec<Cell> {
        let stored = &exported.stored;
        let message = &stored.message;
        let payload = payload(message);
        let part = part_of(message, payload);
        let (ended, error, state) = match &stored.fin {
            Some(fin) => (
                Cell::Number(fin.at),
                Cell::octets(&fin.error),
                state::name(u8::try_from(i32::from(fin.state)).unwrap_or_default()),
            ),
            None => (Cell::Null, Cell::Null, state::name(state::ENROUTE)),
        };
        let (operator, their_id) = match &exported.attempt {
            Some(attempt) => (
                self.name(attempt.operator),
                Cell::octets(&attempt.operator_message_id),
            ),
            None => (Cell::Null, Cell::Null),
        };
        let mut row = vec![
            Cell::Number(i64::try_from(message.id).unwrap_or(i64::MAX)),
            Cell::Number(message.accepted_at),
            Cell::Text(match message.kind() {
                Kind::Mt => "MT".to_owned(),
                Kind::Mo => "MO".to_owned(),
            }),
            self.name(message.sender),
            Cell::octets(&message.source),
            Cell::octets(&message.destination),
            operator,
            Cell::number(part.map(|part| part.reference)),
            Cell::number(part.map(|part| part.part)),
            Cell::number(part.map(|part| part.parts)),
            Cell::Text(state.to_owned()),
            error,
            ended,
            Cell::number(Some(stored.attempts)),
            their_id,
            Cell::number(Some(message.data_coding)),
        ];
        if self.with_text {
            row.extend(texts(message, payload));
        }
        row
    }

    fn name(&self, number: u32) -> Cell {
        self.names
            .get(&number)
            .map_or(Cell::Null, |name| Cell::Text(name.clone()))
    }
}

// === impl Cell ===

impl Cell {
    /// Octets of the wire as readable text; `Null` when there are none.
    fn octets(octets: &[u8]) -> Self {
        match octets {
            [] => Self::Null,
            octets => Self::Text(printable(octets)),
        }
    }

    fn number(number: Option<u32>) -> Self {
        number.map_or(Self::Null, |number| Self::Number(number.into()))
    }
}

/// The text as far as it can be read, and its octets; both null when it was erased.
fn texts(message: &Message, payload: &[u8]) -> [Cell; TEXT_COLUMNS] {
    if message.text_erased {
        return [Cell::Null, Cell::Null];
    }
    let text = readable::text(message.esm_class, message.data_coding, payload);
    let octets: String = payload.iter().map(|octet| format!("{octet:02x}")).collect();
    [text.map_or(Cell::Null, Cell::Text), Cell::Text(octets)]
}

/// short_message, or message_payload when that is empty (SMPP 3.4 §5.3.2.32).
fn payload(message: &Message) -> &[u8] {
    if !message.short_message.is_empty() {
        return &message.short_message;
    }
    let mut rest = &message.tlvs[..];
    while let [high, low, length_high, length_low, values @ ..] = rest {
        let length = usize::from(u16::from_be_bytes([*length_high, *length_low]));
        let Some((value, after)) = values.split_at_checked(length) else {
            break;
        };
        if u16::from_be_bytes([*high, *low]) == tag::MESSAGE_PAYLOAD {
            return value;
        }
        rest = after;
    }
    &[]
}

fn part_of(message: &Message, payload: &[u8]) -> Option<Part> {
    let from_header = (message.esm_class & UDHI != 0)
        .then(|| part_of_header(payload))
        .flatten();
    from_header.or_else(|| {
        let tlvs = Tlvs::from_raw(message.tlvs.clone());
        Some(Part {
            reference: tlvs.get_uint(tag::SAR_MSG_REF_NUM)?,
            parts: tlvs.get_uint(tag::SAR_TOTAL_SEGMENTS)?,
            part: tlvs.get_uint(tag::SAR_SEGMENT_SEQNUM)?,
        })
    })
}

fn part_of_header(payload: &[u8]) -> Option<Part> {
    let (length, rest) = payload.split_first()?;
    let mut elements = rest.get(..usize::from(*length))?;
    while let [kind, length, values @ ..] = elements {
        let (value, after) = values.split_at_checked(usize::from(*length))?;
        match (*kind, value) {
            (CONCATENATED_8, [reference, parts, part]) => {
                return Some(Part {
                    reference: (*reference).into(),
                    parts: (*parts).into(),
                    part: (*part).into(),
                });
            }
            (CONCATENATED_16, [high, low, parts, part]) => {
                return Some(Part {
                    reference: u16::from_be_bytes([*high, *low]).into(),
                    parts: (*parts).into(),
                    part: (*part).into(),
                });
            }
            _ => elements = after,
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;

    #[test]
    fn parts_are_found_in_header_and_parameters() {
        let expected = |reference| {
            Some(Part {
                reference,
                parts: 3,
                part: 2,
            })
        };
        let mut message = Message {
            esm_class: UDHI,
            ..Message::default()
        };
        let header = |octets| part_of(&message, octets);
        assert_eq!(header(b"\x05\x00\x03\x07\x03\x02text"), expected(7));
        assert_eq!(header(b"\x06\x08\x04\x01\x07\x03\x02"), expected(263));
        // A port element before it.
        assert_eq!(
            header(b"\x0b\x05\x04\x0b\x84\x23\xf0\x00\x03\x07\x03\x02"),
            expected(7)
        );
        for broken in [&b""[..], b"\xff", b"\x03\x00\x09\x01", b"\x01\x00"] {
            assert_eq!(header(broken), None);
        }
        message.tlvs =
            Bytes::from_static(b"\x02\x0c\x00\x02\x01\x07\x02\x0e\x00\x01\x03\x02\x0f\x00\x01\x02");
        assert_eq!(part_of(&message, b""), expected(263));
    }
}
