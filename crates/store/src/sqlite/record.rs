//! The SQLite side of [`record`](crate::record): columns and how octets are kept in them.
//!
//! Called by the writer and the readers; guarantees that octets come back as they were, and are
//! text for the sqlite3 shell where they are text.

use bytes::Bytes;
use prost::Message as _;
use rusqlite::ToSql;
use rusqlite::types::{ToSqlOutput, ValueRef};

use crate::record::set_numbering;
use smsc_proto::Message;

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
pub fn read_message(row: &rusqlite::Row<'_>) -> rusqlite::Result<Message> {
    // One allocation: the fields below share it.
    let body = bytes_of(row.get_ref(10)?);
    let mut message = Message::decode(body).map_err(|error| {
        rusqlite::Error::FromSqlConversionFailure(10, rusqlite::types::Type::Blob, Box::new(error))
    })?;
    message.id = row.get::<_, i64>(0)? as u64;
    message.accepted_at = row.get(1)?;
    message.sender = row.get(2)?;
    message.queue = row.get(3)?;
    message.priority = row.get(4)?;
    message.due_at = row.get(5)?;
    message.expires_at = row.get(6)?;
    message.source = bytes_of(row.get_ref(7)?);
    message.destination = bytes_of(row.get_ref(8)?);
    set_numbering(&mut message, row.get(9)?);
    Ok(message)
}
