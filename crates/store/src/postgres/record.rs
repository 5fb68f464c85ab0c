//! The PostgreSQL side of [`record`](crate::record): numbers and octets as columns, and back.
//!
//! Called by the writer and the readers. Guarantees that nothing is lost: unsigned numbers keep
//! their bits in signed columns, and octets that are no clean text are escaped, not replaced.

use std::borrow::Cow;
use std::fmt::Write as _;

use bytes::Bytes;
use tokio_postgres::Row;

use super::checksums_from::{MISSING, checksum_or_missing, is_sealed};
use super::failure::failed;
use crate::archive::ERASED;
use crate::checksum::{Summed, check, open_body, open_change};
use crate::damage::{CHECKSUM, DamagedRow, NO_CHECKSUM};
use crate::record::set_numbering;
use crate::{ChangeKind, ChangeRow, FinRow, ParkedRow, SentRow, StoreResult};
use smsc_domain::partition;
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
pub const MESSAGE_COLUMNS: &str = concat!(
    "m.id, m.at, m.sender, m.queue, m.priority, m.due_at, m.expires_at, m.source, m.destination, m.numbering, m.body, \
     m.payload_kind, NOT ",
    is_sealed!("m.body"),
    " AND coalesce(m.id >= (SELECT value FROM meta WHERE key = 'checksums_from'), false), m.part"
);

/// A message from a row of [`MESSAGE_COLUMNS`].
pub fn read_message(row: &Row) -> Result<Message, DamagedRow> {
    let id = key_of(row);
    let body: &[u8] = row
        .try_get(10)
        .map_err(|error| DamagedRow::new("msg", id, error.to_string()))?;
    // One allocation: the fields share it.
    let message = open_body(id, &Bytes::copy_from_slice(body), |message| {
        fill(message, row).map_err(|error| error.to_string())
    })?;
    let (kind, is_missing) = (row.try_get::<_, i16>(11), row.try_get::<_, bool>(12));
    // Kind and partition follow from the rest.
    let follows = kind.is_ok_and(|kind| kind == payload_kind(&message))
        && row.try_get(13).is_ok_and(|part| is_part_of(&message, part));
    let why = match (follows, is_missing) {
        (true, Ok(true)) => NO_CHECKSUM,
        (true, _) => return Ok(message),
        (false, _) => CHECKSUM,
    };
    Err(DamagedRow {
        legible: DamagedRow::legible(&message),
        ..DamagedRow::new("msg", id, why)
    })
}

/// Whether a message is in its partition. It stays there when its number is erased.
fn is_part_of(message: &Message, part: i16) -> bool {
    part == i16::from(partition::of(&message.destination)) || message.destination == ERASED
}

fn fill(message: &mut Message, row: &Row) -> StoreResult {
    message.accepted_at = row.try_get(1)?;
    message.sender = number_at(row, 2)?;
    message.queue = number_at(row, 3)?;
    message.priority = number_at(row, 4)?;
    message.due_at = row.try_get(5)?;
    message.expires_at = row.try_get(6)?;
    message.source = octets_at(row, 7)?;
    message.destination = octets_at(row, 8)?;
    let packed: Option<i32> = row.try_get(9)?;
    set_numbering(message, packed.map(|packed| packed as u32));
    Ok(())
}

/// The first column: the id that the row is about.
pub fn key_of(row: &Row) -> u64 {
    id_at(row, 0).unwrap_or(0)
}

/// Reads a row that has its checksum in a column; values that cannot be are damage.
pub fn summed<T: Summed>(
    row: &Row,
    read: impl FnOnce() -> StoreResult<(T, Option<u32>)>,
) -> Result<T, DamagedRow> {
    match read() {
        Ok((whole, written)) => check(whole, written),
        Err(error) => Err(DamagedRow::new(T::TABLE, key_of(row), error.to_string())),
    }
}

/// The checksum of a row; `None` in one of a build before.
pub fn checksum_at(row: &Row, index: usize) -> StoreResult<Option<u32>> {
    match row.try_get::<_, Option<i64>>(index)? {
        Some(MISSING) => Err(failed(NO_CHECKSUM)),
        written => Ok(written.map(|sum| sum as u32)),
    }
}

/// The columns of [`read_fin`].
pub const FIN_COLUMNS: &str = concat!(
    "id, at, state, error, operator, tell, done_at, ",
    checksum_or_missing!("true")
);

/// A row of [`FIN_COLUMNS`].
pub fn read_fin(row: &Row) -> Result<FinRow, DamagedRow> {
    summed(row, || {
        let state = i32::from(row.try_get::<_, i16>(2)?);
        let fin = FinRow {
            id: id_at(row, 0)?,
            at: row.try_get(1)?,
            state: MessageState::try_from(state)
                .map_err(|_| failed(format!("state {state} is none")))?,
            error: octets_at(row, 3)?,
            operator: number_at(row, 4)?,
            tell: number_at(row, 5)?,
            done_at: row.try_get(6)?,
            ..FinRow::default()
        };
        Ok((fin, checksum_at(row, 7)?))
    })
}

/// The columns of [`read_sent`].
pub const SENT_COLUMNS: &str = concat!(
    "id, attempt, at, operator, status, operator_message_id, latency_ms, correlation, bind, ",
    checksum_or_missing!("true")
);

/// A row of [`SENT_COLUMNS`].
pub fn read_sent(row: &Row) -> Result<SentRow, DamagedRow> {
    summed(row, || {
        let sent = SentRow {
            id: id_at(row, 0)?,
            attempt: number_at(row, 1)?,
            at: row.try_get(2)?,
            operator: number_at(row, 3)?,
            status: number_at(row, 4)?,
            operator_message_id: octets_at(row, 5)?,
            latency_ms: number_at(row, 6)?,
            correlation: id_at(row, 7)?,
            bind: id_at(row, 8)?,
            known_as: None,
        };
        Ok((sent, checksum_at(row, 9)?))
    })
}

/// The columns of [`read_change`]. Moves and replacements have their checksum in the blob, unless that was erased.
pub const CHANGE_COLUMNS: &str = concat!(
    "id, at, kind, queue, by, expires_at, body, ",
    checksum_or_missing!(
        "(kind NOT IN (1, 4) OR length(body) > 0 AND NOT ",
        is_sealed!("body"),
        ")"
    )
);

/// A row of [`CHANGE_COLUMNS`].
pub fn read_change(row: &Row) -> Result<ChangeRow, DamagedRow> {
    let read = || -> StoreResult<_> {
        let change = ChangeRow {
            id: id_at(row, 0)?,
            at: row.try_get(1)?,
            kind: ChangeKind::of(row.try_get::<_, i16>(2)?.into()),
            queue: number_at(row, 3)?,
            by: row.try_get(4)?,
            expires_at: row.try_get(5)?,
            body: Bytes::from(row.try_get::<_, Option<Vec<u8>>>(6)?.unwrap_or_default()),
        };
        Ok((change, checksum_at(row, 7)?))
    };
    match read() {
        Ok((change, written)) => open_change(change, written),
        Err(error) => Err(DamagedRow::new("change", key_of(row), error.to_string())),
    }
}

/// The columns of [`read_parked`].
pub const PARKED_COLUMNS: &str = concat!(
    "id, operator, operator_message_id, at, receipt, ",
    checksum_or_missing!("true")
);

/// A row of [`PARKED_COLUMNS`].
pub fn read_parked(row: &Row) -> Result<ParkedRow, DamagedRow> {
    summed(row, || {
        let parked = ParkedRow {
            id: id_at(row, 0)?,
            operator: number_at(row, 1)?,
            operator_message_id: octets_at(row, 2)?,
            at: row.try_get(3)?,
            receipt: row.try_get::<_, Vec<u8>>(4)?.into(),
        };
        Ok((parked, checksum_at(row, 5)?))
    })
}

/// A `bigint` whose bits are an unsigned number.
pub fn id_at(row: &Row, index: usize) -> StoreResult<u64> {
    Ok(row.try_get::<_, i64>(index)? as u64)
}

/// The ids in the first column of rows.
pub fn ids_of<T: FromIterator<u64>>(rows: &[Row]) -> StoreResult<T> {
    rows.iter().map(|row| id_at(row, 0)).collect()
}

/// An `int` whose bits are an unsigned number.
pub fn number_at(row: &Row, index: usize) -> StoreResult<u32> {
    Ok(row.try_get::<_, i32>(index)? as u32)
}

/// The octets of a text column.
pub fn octets_at(row: &Row, index: usize) -> StoreResult<Bytes> {
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
