//! The PostgreSQL side of [`record`](crate::record): numbers and octets as columns, and back.
//!
//! Called by the writer and the readers. Guarantees that nothing is lost: unsigned numbers keep
//! their bits in signed columns, and octets that are no clean text are escaped, not replaced.

use std::borrow::Cow;
use std::fmt::Write as _;

use bytes::Bytes;
use prost::Message as _;
use tokio_postgres::Row;

use super::failure::failed;
use crate::record::set_numbering;
use crate::{ChangeKind, ChangeRow, FinRow, SentRow, StoreError};
use smsc_proto::{Message, MessageState, PayloadKind};

/// Opens escaped octets: a text that starts with a backslash is escaped as well.
const ESCAPE: &str = "\\x";

/// `payload_kind` of what SMPP brought.
const SUBMIT_SM: i16 = 1;
const DELIVER_SM: i16 = 2;
/// Of what radio networks brought. Builds that know migrations up to V25 only refuse to read such a row.
const SMS_SUBMIT: i16 = 3;
const SMS_DELIVER: i16 = 4;

/// Octets as text: as they are when they are clean, else as `\x` and hexadecimal digits.
pub fn text_of(octets: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(octets) {
        Ok(text) if !text.starts_with('\\') && !octets.contains(&0) => Cow::Borrowed(text),
        _ => {
            let mut escaped = String::with_capacity(ESCAPE.len() + 2 * octets.len());
            escaped.push_str(ESCAPE);
            for octet in octets {
                let _ = write!(escaped, "{octet:02x}");
            }
            Cow::Owned(escaped)
        }
    }
}

/// The octets of [`text_of`].
pub fn octets_of(text: &str) -> Bytes {
    let Some(digits) = text.strip_prefix(ESCAPE) else {
        return Bytes::copy_from_slice(text.as_bytes());
    };
    // Digits of a hand-made row that are none read as zero.
    let digit = |digit: u8| char::from(digit).to_digit(16).unwrap_or(0) as u8;
    let pairs = digits.as_bytes().chunks(2);
    pairs
        .map(|pair| pair.iter().fold(0, |value, one| value << 4 | digit(*one)))
        .collect()
}

/// The column `payload_kind` of a message.
pub fn payload_kind(message: &Message) -> i16 {
    match message.payload_kind() {
        PayloadKind::SmsSubmit => SMS_SUBMIT,
        PayloadKind::SmsDeliver => SMS_DELIVER,
        PayloadKind::Smpp if message.kind == 0 => SUBMIT_SM,
        PayloadKind::Smpp => DELIVER_SM,
    }
}

/// Whether builds that know migrations up to V25 only cannot read messages of this `payload_kind`.
pub fn is_new_to_older_builds(payload_kind: i16) -> bool {
    matches!(payload_kind, SMS_SUBMIT | SMS_DELIVER)
}

/// The columns of `msg`, in the order that [`read_message`] expects.
pub const MESSAGE_COLUMNS: &str = "m.id, m.at, m.sender, m.queue, m.priority, m.due_at, \
     m.expires_at, m.source, m.destination, m.numbering, m.body, m.payload_kind";

/// A message from a row of [`MESSAGE_COLUMNS`].
pub fn read_message(row: &Row) -> Result<Message, StoreError> {
    let id = id_at(row, 0)?;
    let kind: i16 = row.try_get(11)?;
    if !matches!(kind, SUBMIT_SM | DELIVER_SM | SMS_SUBMIT | SMS_DELIVER) {
        return Err(failed(format!(
            "message {id} has payload kind {kind}, which this release does not know"
        )));
    }
    // One allocation: the fields share it.
    let body = Bytes::copy_from_slice(row.try_get(10)?);
    let mut message = Message::decode(body)
        .map_err(|error| failed(format!("message {id} cannot be decoded: {error}")))?;
    message.id = id;
    message.accepted_at = row.try_get(1)?;
    message.sender = number_at(row, 2)?;
    message.queue = number_at(row, 3)?;
    message.priority = number_at(row, 4)?;
    message.due_at = row.try_get(5)?;
    message.expires_at = row.try_get(6)?;
    message.source = octets_at(row, 7)?;
    message.destination = octets_at(row, 8)?;
    let packed: Option<i32> = row.try_get(9)?;
    set_numbering(&mut message, packed.map(|packed| packed as u32));
    Ok(message)
}

/// A row of `id, at, state, error, operator, tell, done_at`.
pub fn read_fin(row: &Row) -> Result<FinRow, StoreError> {
    Ok(FinRow {
        id: id_at(row, 0)?,
        at: row.try_get(1)?,
        state: MessageState::try_from(i32::from(row.try_get::<_, i16>(2)?)).unwrap_or_default(),
        error: octets_at(row, 3)?,
        operator: number_at(row, 4)?,
        tell: number_at(row, 5)?,
        done_at: row.try_get(6)?,
        remote_item: Bytes::new(),
        remote_part: 0,
    })
}

/// A row of `id, attempt, at, operator, status, operator_message_id, latency_ms, correlation, bind`.
pub fn read_sent(row: &Row) -> Result<SentRow, StoreError> {
    Ok(SentRow {
        id: id_at(row, 0)?,
        attempt: number_at(row, 1)?,
        at: row.try_get(2)?,
        operator: number_at(row, 3)?,
        status: number_at(row, 4)?,
        operator_message_id: octets_at(row, 5)?,
        latency_ms: number_at(row, 6)?,
        correlation: id_at(row, 7)?,
        bind: id_at(row, 8)?,
    })
}

/// A row of `id, at, kind, queue, by, expires_at, body`.
pub fn read_change(row: &Row) -> Result<ChangeRow, StoreError> {
    Ok(ChangeRow {
        id: id_at(row, 0)?,
        at: row.try_get(1)?,
        // Who adds a kind sets `meta.oldest_schema`, so that no binary opens what it would misread.
        kind: match row.try_get::<_, i16>(2)? {
            1 => ChangeKind::Move,
            2 => ChangeKind::Retry,
            4 => ChangeKind::Replace,
            5 => ChangeKind::Replay,
            6 => ChangeKind::GiveUp,
            _ => ChangeKind::Cancel,
        },
        queue: number_at(row, 3)?,
        by: row.try_get(4)?,
        expires_at: row.try_get(5)?,
        body: Bytes::from(row.try_get::<_, Option<Vec<u8>>>(6)?.unwrap_or_default()),
    })
}

/// A `bigint` whose bits are an unsigned number.
pub fn id_at(row: &Row, index: usize) -> Result<u64, StoreError> {
    Ok(row.try_get::<_, i64>(index)? as u64)
}

/// An `int` whose bits are an unsigned number.
pub fn number_at(row: &Row, index: usize) -> Result<u32, StoreError> {
    Ok(row.try_get::<_, i32>(index)? as u32)
}

/// The octets of a text column.
pub fn octets_at(row: &Row, index: usize) -> Result<Bytes, StoreError> {
    Ok(octets_of(row.try_get(index)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_payload_is_named_as_it_came() {
        let message = |kind, payload: PayloadKind| Message {
            kind,
            payload_kind: payload.into(),
            ..Message::default()
        };
        for (kind, payload, column) in [
            (0, PayloadKind::Smpp, 1),
            (1, PayloadKind::Smpp, 2),
            (0, PayloadKind::SmsSubmit, 3),
            (1, PayloadKind::SmsSubmit, 3),
            (1, PayloadKind::SmsDeliver, 4),
        ] {
            assert_eq!(payload_kind(&message(kind, payload)), column);
            assert_eq!(is_new_to_older_builds(column), column > 2);
        }
    }

    #[test]
    fn octets_come_back() {
        for octets in [
            &b""[..],
            b"4179",
            b"\\x41",
            b"a\0b",
            b"\xff\xfe",
            "ü".as_bytes(),
        ] {
            assert_eq!(octets_of(&text_of(octets)), octets, "{octets:?}");
        }
        assert_eq!(text_of(b"4179"), "4179", "clean text stays readable");
        assert_eq!(text_of(b"1\x002"), "\\x310032");
    }
}
