//! The columns of an export, and how a message becomes a row of them.
//!
//! Used by every format; `docs/day-two.md` explains them. Guarantees that phone numbers and ids of
//! operators are text (they may begin with zeros), and that the text of a message is only there when
//! it is asked for.

use std::collections::HashMap;

use smsc_content as content;
use smsc_domain::address::{mask, printable};
use smsc_domain::state;
use smsc_proto::{Kind, Message};
use smsc_store::archive::Exported;
use smsc_store::{MessageHistory, SentRow, Stored};

use super::details::{details, hex};

/// How a column is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColumnKind {
    /// 64 bits: text in JSON, where numbers have 53.
    Id,
    Number,
    Text,
    /// Unix milliseconds: RFC 3339 in text formats.
    Time,
    /// A JSON document.
    Json,
}

/// One column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Column {
    pub name: &'static str,
    pub shape: ColumnKind,
}

/// One value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cell {
    Null,
    Number(i64),
    Text(String),
}

const fn column(name: &'static str, shape: ColumnKind) -> Column {
    Column { name, shape }
}

/// In the order of the rows; the last two only with the text. An archive adds `details` behind them.
const COLUMNS: [Column; 19] = [
    column("id", ColumnKind::Id),
    column("accepted_at", ColumnKind::Time),
    column("kind", ColumnKind::Text),
    column("sender", ColumnKind::Text),
    column("source", ColumnKind::Text),
    column("destination", ColumnKind::Text),
    column("operator", ColumnKind::Text),
    column("part_reference", ColumnKind::Number),
    column("part", ColumnKind::Number),
    column("parts", ColumnKind::Number),
    column("state", ColumnKind::Text),
    column("error", ColumnKind::Text),
    column("final_at", ColumnKind::Time),
    column("attempts", ColumnKind::Number),
    column("operator_message_id", ColumnKind::Text),
    column("data_coding", ColumnKind::Number),
    column("done_at", ColumnKind::Time),
    column("text", ColumnKind::Text),
    column("octets", ColumnKind::Text),
];
const TEXT_COLUMNS: usize = 2;

/// What [`details`] makes.
const DETAILS: Column = column("details", ColumnKind::Json);
const WITH_DETAILS: [Column; COLUMNS.len() + 1] = with_details();
const DETAILS_WITHOUT_TEXT: [Column; COLUMNS.len() + 1 - TEXT_COLUMNS] = with_details();

/// Every column, with those of the text.
pub const ALL: &[Column] = &COLUMNS;
/// Every column, with those of the text and the details.
pub const WHOLE: &[Column] = &WITH_DETAILS;

/// The first columns, and the details.
const fn with_details<const N: usize>() -> [Column; N] {
    let mut all = [DETAILS; N];
    let mut at = 0;
    while at + 1 < N {
        all[at] = COLUMNS[at];
        at += 1;
    }
    all
}

/// Makes rows of messages.
#[derive(Debug, Clone)]
pub struct RowMaker {
    names: HashMap<u32, String>,
    with_text: bool,
    with_details: bool,
    /// Numbers of subscribers are masked.
    masked: bool,
}

// === impl RowMaker ===

impl RowMaker {
    /// `names` are the interned ones of the store.
    pub fn new(names: Vec<(u32, String)>, with_text: bool) -> Self {
        Self {
            names: names.into_iter().collect(),
            with_text,
            with_details: false,
            masked: false,
        }
    }

    /// Rows of whole messages, with all that happened to them.
    pub fn whole(names: Vec<(u32, String)>, with_text: bool, masked: bool) -> Self {
        Self {
            with_details: true,
            masked,
            ..Self::new(names, with_text)
        }
    }

    /// The columns of every row.
    pub fn columns(&self) -> &'static [Column] {
        match (self.with_text, self.with_details) {
            (true, false) => &COLUMNS,
            (false, false) => &COLUMNS[..COLUMNS.len() - TEXT_COLUMNS],
            (true, true) => &WITH_DETAILS,
            (false, true) => &DETAILS_WITHOUT_TEXT,
        }
    }

    /// The row of a message with its history, as long as [`RowMaker::columns`]. Only of [`RowMaker::whole`].
    pub fn whole_row(&self, history: &MessageHistory) -> Vec<Cell> {
        let named = |number: u32| self.names.get(&number).map(String::as_str);
        let details = details(history, &named, self.with_text, self.masked);
        let accepted = history.accepted_attempt();
        let mut row = self.of(&history.stored, accepted.or(history.attempts.last()));
        row.push(Cell::Text(details));
        row
    }

    /// The row of a message, as long as [`RowMaker::columns`].
    pub fn row(&self, exported: &Exported) -> Vec<Cell> {
        self.of(&exported.stored, exported.attempt.as_ref())
    }

    fn of(&self, stored: &Stored, attempt: Option<&SentRow>) -> Vec<Cell> {
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
        let (operator, their_id) = match attempt {
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
            self.address(&message.source),
            self.address(&message.destination),
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

    fn address(&self, address: &[u8]) -> Cell {
        if self.masked && !address.is_empty() {
            Cell::Text(mask(address))
        } else {
            Cell::octets(address)
        }
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
    let octets = hex(&payload);
    [text.map_or(Cell::Null, Cell::Text), Cell::Text(octets)]
}
