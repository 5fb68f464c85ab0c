//! The SQLite side of [`record`](crate::record): columns and how octets are kept in them.
//!
//! Called by the writer and the readers; guarantees that octets come back as they were, and are
//! text for the sqlite3 shell where they are text.

use bytes::Bytes;
use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Error, Row, ToSql};

use crate::checksum::{Summed, check, check_numbered, open_body, open_change};
use crate::damage::DamagedRow;
use crate::moving::DeadRow;
use crate::record::set_numbering;
use crate::{ChangeKind, ChangeRow, FinRow, ParkedRow, SentRow};
use smsc_proto::{Message, MessageState};

/// A row, or what is wrong with it; the outer error is one of the database.
pub type Sound<T> = rusqlite::Result<Result<T, DamagedRow>>;

/// Octets that an operator should be able to read: text where they are text, a blob otherwise.
#[derive(Debug, Clone, Copy)]
pub struct Readable<'a>(pub &'a [u8]);

// === impl Readable ===

impl ToSql for Readable<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        // A NUL would end the text for the sqlite3 shell.
        let text = std::str::from_utf8(self.0).is_ok() && !self.0.contains(&0);
        Ok(ToSqlOutput::Borrowed(if text {
            ValueRef::Text(self.0)
        } else {
            ValueRef::Blob(self.0)
        }))
    }
}

/// The octets of a text or blob column; empty for NULL.
pub fn octets_of(value: ValueRef<'_>) -> &[u8] {
    match value {
        ValueRef::Text(octets) | ValueRef::Blob(octets) => octets,
        _ => &[],
    }
}

/// An owned copy of a text or blob column; does not allocate for an empty one.
pub fn bytes_of(value: ValueRef<'_>) -> Bytes {
    let octets = octets_of(value);
    if octets.is_empty() {
        Bytes::new()
    } else {
        Bytes::copy_from_slice(octets)
    }
}

/// The columns of `msg`, in the order that [`read_message`] expects.
pub const MESSAGE_COLUMNS: &str = "t.id, t.at, t.sender, t.queue, t.priority, t.due_at, t.expires_at, \
     t.source, t.destination, t.numbering, t.body";

/// A message from a row of [`MESSAGE_COLUMNS`].
pub fn read_message(row: &Row<'_>) -> Sound<Message> {
    // One allocation: the fields share it.
    let body = bytes_of(row.get_ref(10)?);
    let read = open_body(key_of(row)?, &body, |message| {
        fill(message, row).map_err(|error| error.to_string())
    });
    Ok(read)
}

fn fill(message: &mut Message, row: &Row<'_>) -> rusqlite::Result<()> {
    message.accepted_at = row.get(1)?;
    message.sender = row.get(2)?;
    message.queue = row.get(3)?;
    message.priority = row.get(4)?;
    message.due_at = row.get(5)?;
    message.expires_at = row.get(6)?;
    message.source = bytes_of(row.get_ref(7)?);
    message.destination = bytes_of(row.get_ref(8)?);
    set_numbering(message, row.get(9)?);
    Ok(())
}

/// The first column: the id that the row is about; 0 when it is no number.
pub fn key_of(row: &Row<'_>) -> rusqlite::Result<u64> {
    Ok(row.get_ref(0)?.as_i64().unwrap_or(0) as u64)
}

/// Reads a row of a table; values that cannot be are damage.
pub fn sound<T>(
    table: &str,
    row: &Row<'_>,
    read: impl FnOnce(&Row<'_>) -> rusqlite::Result<T>,
) -> Sound<T> {
    match read(row) {
        Ok(whole) => Ok(Ok(whole)),
        Err(
            error @ (Error::InvalidColumnType(..)
            | Error::IntegralValueOutOfRange(..)
            | Error::FromSqlConversionFailure(..)
            | Error::Utf8Error(..)),
        ) => Ok(Err(DamagedRow::new(table, key_of(row)?, error.to_string()))),
        Err(error) => Err(error),
    }
}

/// A column that tables of earlier releases do not have.
pub fn younger<T: rusqlite::types::FromSql + Default>(
    row: &Row<'_>,
    index: usize,
) -> rusqlite::Result<T> {
    if index < row.as_ref().column_count() {
        row.get(index)
    } else {
        Ok(T::default())
    }
}

/// Reads a row that has its checksum in a column.
pub fn summed<T: Summed>(
    row: &Row<'_>,
    read: impl FnOnce(&Row<'_>) -> rusqlite::Result<(T, Option<i32>)>,
) -> Sound<T> {
    let read = sound(T::TABLE, row, read)?;
    Ok(read.and_then(|(whole, written)| check(whole, written.map(|sum| sum as u32))))
}

/// A row of `parked`.
pub fn read_parked(row: &Row<'_>) -> Sound<ParkedRow> {
    summed(row, |row| {
        let parked = ParkedRow {
            id: key_of(row)?,
            operator: row.get(1)?,
            operator_message_id: bytes_of(row.get_ref(2)?),
            at: row.get(3)?,
            receipt: bytes_of(row.get_ref(4)?),
        };
        Ok((parked, younger(row, 5)?))
    })
}

/// A row of `fin`.
pub fn read_fin(row: &Row<'_>) -> Sound<FinRow> {
    summed(row, |row| {
        let state: i32 = row.get(2)?;
        let out_of_range = |_| Error::IntegralValueOutOfRange(2, state.into());
        let fin = FinRow {
            id: key_of(row)?,
            at: row.get(1)?,
            state: MessageState::try_from(state).map_err(out_of_range)?,
            error: bytes_of(row.get_ref(3)?),
            operator: row.get(4)?,
            tell: row.get(5)?,
            done_at: younger(row, 6)?,
            ..FinRow::default()
        };
        Ok((fin, younger(row, 7)?))
    })
}

/// A row of `sent`, which has first attempts only.
pub fn read_first(row: &Row<'_>) -> Sound<SentRow> {
    summed(row, |row| attempt(row, 1, 1))
}

/// A row of `resent` or of the view `attempts`.
pub fn read_sent(row: &Row<'_>) -> Sound<SentRow> {
    summed(row, |row| attempt(row, row.get(1)?, 2))
}

/// An attempt with its columns from this one on.
fn attempt(row: &Row<'_>, number: u32, from: usize) -> rusqlite::Result<(SentRow, Option<i32>)> {
    let sent = SentRow {
        id: key_of(row)?,
        attempt: number,
        at: row.get(from)?,
        operator: row.get(from + 1)?,
        status: row.get(from + 2)?,
        operator_message_id: bytes_of(row.get_ref(from + 3)?),
        latency_ms: row.get(from + 4)?,
        correlation: 0,
        bind: younger::<i64>(row, from + 5)? as u64,
        known_as: None,
    };
    Ok((sent, younger(row, from + 6)?))
}

/// A row of `change`.
pub fn read_change(row: &Row<'_>) -> Sound<ChangeRow> {
    let read = sound("change", row, |row| {
        let change = ChangeRow {
            id: key_of(row)?,
            at: row.get(2)?,
            kind: ChangeKind::of(row.get(3)?),
            queue: row.get(4)?,
            by: row.get(5)?,
            expires_at: younger(row, 6)?,
            body: match row.as_ref().column_count() {
                ..8 => Bytes::new(),
                _ => bytes_of(row.get_ref(7)?),
            },
        };
        let written: Option<i32> = younger(row, 8)?;
        Ok((change, written.map(|sum| sum as u32)))
    })?;
    Ok(read.and_then(|(change, checksum)| open_change(change, checksum)))
}

/// A row of `dead`.
pub fn read_dead(row: &Row<'_>) -> Sound<DeadRow> {
    let read = sound("dead", row, |row| {
        let dead = DeadRow {
            at: row.get(1)?,
            origin: row.get(2)?,
            id: row.get::<_, i64>(3)? as u64,
            reason: row.get(4)?,
            row: row.get(5)?,
        };
        Ok((dead, younger::<Option<i32>>(row, 6)?))
    })?;
    let number = key_of(row)?;
    Ok(read.and_then(|(dead, written)| {
        let sum = dead.sum();
        check_numbered("dead", number, dead, sum, written.map(|sum| sum as u32))
    }))
}
