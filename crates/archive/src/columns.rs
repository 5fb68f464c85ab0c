//! The columns of an export, and how a message becomes a row of them.
//!
//! Used by every format; `docs/operations.md` explains them. Guarantees that phone numbers and ids of
//! operators are text (they may begin with zeros), and that the text of a message is only there when
//! it is asked for.

use std::collections::HashMap;

use smsc_content as content;
use smsc_domain::address::printable;
use smsc_domain::state;
use smsc_proto::{Kind, Message};
use smsc_store::archive::Exported;

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
const COLUMNS: [Column; 19] = [
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
    column("done_at", Shape::Time),
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
        let part = content::part_of(message);
        let (ended, done, error, state) = match &stored.fin {
            Some(fin) => (
                Cell::Number(fin.at),
                match fin.done_at {
                    0 => Cell::Null,
                    said => Cell::Number(said),
                },
                Cell::octets(&fin.error),
                state::name(u8::try_from(i32::from(fin.state)).unwrap_or_default()),
            ),
            None => (
                Cell::Null,
                Cell::Null,
                Cell::Null,
                state::name(state::ENROUTE),
            ),
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
            Cell::number(part.map(|part| part.reference.into())),
            Cell::number(part.map(|part| part.sequence.into())),
            Cell::number(part.map(|part| part.total.into())),
            Cell::Text(state.to_owned()),
            error,
            ended,
            Cell::number(Some(stored.attempts)),
            their_id,
            Cell::number(Some(message.data_coding)),
            done,
        ];
        if self.with_text {
            row.extend(texts(message));
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
fn texts(message: &Message) -> [Cell; TEXT_COLUMNS] {
    if message.text_erased {
        return [Cell::Null, Cell::Null];
    }
    let payload = content::payload(message);
    let text = content::text_of(message);
    let octets: String = payload.iter().map(|octet| format!("{octet:02x}")).collect();
    [text.map_or(Cell::Null, Cell::Text), Cell::Text(octets)]
}
