//! Checksums of rows: CRC32C (RFC 3720 §12.1) over all that a row says, as it was inserted.
//!
//! Written and checked by both adapters. That of a message, and of a change that has a blob, is the first field of the
//! blob: builds before skip it, and drop it when they erase the content. Other rows have a column for it, which is NULL
//! in rows of builds before; those are read as they are.

use bytes::Bytes;

use crate::damage::{CHECKSUM, DamagedRow};
use crate::outbox::CdrRow;
use crate::{ChangeKind, ChangeRow, FinRow, ParkedRow, SentRow};
use smsc_proto::Message;

/// The key of field 98, `fixed32`, of every blob with a checksum.
pub const KEY: [u8; 2] = [0x95, 0x06];
/// Octets of the field: its key, and the number, lowest octet first.
pub const SEAL: usize = KEY.len() + size_of::<u32>();
/// Octets that are added up at once: most rows have fewer.
const GATHERED: usize = 256;
const NUMBER: usize = size_of::<i64>();

/// What the beginning of a blob says of its checksum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Seal {
    /// A build before has written it.
    None,
    Sum(u32),
    /// It is cut off, or begins with one bit of the key wrong, as no blob does.
    Broken,
}

/// The checksum of a message and its blob without the seal.
pub fn of_message(message: &Message, blob: &[u8]) -> u32 {
    let numbering = crate::record::numbering(message).map_or(-1, i64::from);
    sum(
        [
            message.id as i64,
            message.accepted_at,
            message.sender.into(),
            message.queue.into(),
            message.priority.into(),
            message.due_at,
            message.expires_at,
            numbering,
        ],
        [&message.source, &message.destination, blob],
    )
}

/// A row with a column for its checksum.
pub trait Summed {
    /// The table that it is in.
    const TABLE: &'static str;

    /// What the column has.
    fn sum(&self) -> u32;

    fn id_mut(&mut self) -> &mut u64;
}

/// Without what only one of the adapters keeps. Its number, which the database may change, is only added.
impl Summed for SentRow {
    const TABLE: &'static str = "sent";

    fn sum(&self) -> u32 {
        let without_number = sum(
            [
                self.id as i64,
                self.at,
                self.operator.into(),
                self.status.into(),
                self.latency_ms.into(),
                self.bind as i64,
            ],
            [&self.operator_message_id],
        );
        without_number ^ self.attempt
    }

    fn id_mut(&mut self) -> &mut u64 {
        &mut self.id
    }
}

impl Summed for FinRow {
    const TABLE: &'static str = "fin";

    fn sum(&self) -> u32 {
        sum(
            [
                self.id as i64,
                self.at,
                i32::from(self.state).into(),
                self.operator.into(),
                self.tell.into(),
                self.done_at,
            ],
            [&self.error],
        )
    }

    fn id_mut(&mut self) -> &mut u64 {
        &mut self.id
    }
}

impl Summed for ParkedRow {
    const TABLE: &'static str = "parked";

    fn sum(&self) -> u32 {
        sum(
            [self.id as i64, self.operator.into(), self.at],
            [&self.operator_message_id, &self.receipt],
        )
    }

    fn id_mut(&mut self) -> &mut u64 {
        &mut self.id
    }
}

impl Summed for CdrRow {
    const TABLE: &'static str = "cdr";

    fn sum(&self) -> u32 {
        sum(
            [
                self.id as i64,
                self.is_mo.into(),
                self.accepted_at,
                self.final_at,
                self.done_at,
                i32::from(self.state).into(),
                self.attempts.into(),
                self.data_coding.into(),
                self.octets.into(),
                self.parts.into(),
                self.replay_of as i64,
                self.price,
            ],
            [
                &self.account,
                &self.sender,
                &self.queue,
                &self.from,
                &self.to,
                &self.operator,
                &self.error,
                &self.network,
                &self.currency,
                &self.client_reference,
            ]
            .map(|text| text.as_bytes()),
        )
    }

    fn id_mut(&mut self) -> &mut u64 {
        &mut self.id
    }
}

/// The part of the checksum of a row of events, on PostgreSQL, that is known before it is known which ends are in it.
pub fn of_reader(reader: i16, kind: i16, data: &[u8]) -> u32 {
    sum([reader.into(), kind.into()], [data])
}

/// The part of one of its ids. Multiplied, since CRCs are linear: the same bit of two ids would make no difference.
pub fn of_event(id: u64) -> u32 {
    const ODD: u32 = 0x9E37_79B1;
    sum([id as i64], []).wrapping_mul(ODD)
}

/// The checksum of a row of events on PostgreSQL, as its function `outbox_checksum` puts it together.
pub fn of_events(reader: i16, kind: i16, at: i64, ids: &[u64], data: &[u8]) -> u32 {
    let of_time = at as u32 ^ (at >> u32::BITS) as u32;
    let of_ids = ids.iter().fold(0, |all, id| all ^ of_event(*id));
    of_reader(reader, kind, data) ^ of_time ^ of_ids
}

/// A row that has this checksum; one of a build before has none.
pub fn check<T: Summed>(mut row: T, written: Option<u32>) -> Result<T, DamagedRow> {
    let Some(written) = written.filter(|written| *written != row.sum()) else {
        return Ok(row);
    };
    let id = *row.id_mut();
    let fits = |id| {
        *row.id_mut() = id;
        row.sum() == written
    };
    Err(misfit(T::TABLE, id, fits))
}

/// A row that is about no single message, with its number and its own checksum, if it has this one.
pub fn check_numbered<T>(
    table: &str,
    number: u64,
    row: T,
    sum: u32,
    written: Option<u32>,
) -> Result<T, DamagedRow> {
    if written.is_none_or(|written| written == sum) {
        Ok(row)
    } else {
        Err(DamagedRow::new(table, number, CHECKSUM))
    }
}

/// A row that does not have its checksum: of the message for which it would, if one bit of its id is wrong.
fn misfit(table: &str, id: u64, mut fits: impl FnMut(u64) -> bool) -> DamagedRow {
    let mut others = (0..u64::BITS - 1).map(|bit| id ^ 1 << bit);
    match others.find(|other| fits(*other)) {
        Some(other) => DamagedRow::new(table, other, format!("it says that it is of message {id}")),
        None => DamagedRow::new(table, id, CHECKSUM),
    }
}

/// The checksum of a change and its blob without the seal.
fn of_change(change: &ChangeRow, blob: &[u8]) -> u32 {
    sum(
        [
            change.id as i64,
            change.at,
            change.kind as i64,
            change.queue.into(),
            change.expires_at,
        ],
        [change.by.as_bytes(), blob],
    )
}

/// The CRC32C of numbers, of the lengths of octets, and of the octets.
///
/// All that fits is added up at once: a call for each of them would cost more than it adds up.
pub fn sum<const N: usize, const M: usize>(numbers: [i64; N], octets: [&[u8]; M]) -> u32 {
    const { assert!((N + M) * NUMBER <= GATHERED, "numbers fit") };
    let mut gathered = [0; GATHERED];
    let (slots, _) = gathered.as_chunks_mut::<NUMBER>();
    let (of_numbers, of_lengths) = slots.split_at_mut(N);
    for (slot, number) in of_numbers.iter_mut().zip(numbers) {
        *slot = number.to_le_bytes();
    }
    for (slot, octets) in of_lengths.iter_mut().zip(octets) {
        *slot = (octets.len() as u64).to_le_bytes();
    }
    let mut end = (N + M) * NUMBER;
    let mut sum = 0;
    for more in octets {
        if let Some(room) = gathered.get_mut(end..end + more.len()) {
            room.copy_from_slice(more);
            end += more.len();
        } else {
            sum = crc32c::crc32c_append(sum, gathered.get(..end).unwrap_or_default());
            sum = crc32c::crc32c_append(sum, more);
            end = 0;
        }
    }
    crc32c::crc32c_append(sum, gathered.get(..end).unwrap_or_default())
}

/// Room for the seal of a blob, to be given to [`seal`] when the rest is there.
pub fn leave_room(blob: &mut Vec<u8>) {
    blob.extend_from_slice(&[0; SEAL]);
}

/// Puts the checksum into the room at the beginning of a blob.
pub fn seal(blob: &mut [u8], sum: u32) {
    if let Some(room) = blob.first_chunk_mut::<SEAL>() {
        let [a, b, c, d] = sum.to_le_bytes();
        *room = [KEY[0], KEY[1], a, b, c, d];
    }
}

/// A blob without its seal, and what the seal says.
pub fn unseal(blob: &[u8]) -> (Seal, &[u8]) {
    let Some((key, rest)) = blob.split_first_chunk::<2>() else {
        // What a build before has written of a message that says nothing at all is listed, so that no text is lost unseen.
        return (Seal::Broken, blob);
    };
    // No blob of a build before begins so: its first keys are those of other fields.
    let wrong = (u16::from_be_bytes(*key) ^ u16::from_be_bytes(KEY)).count_ones();
    match (wrong, rest.split_first_chunk::<4>()) {
        (0, Some((sum, content))) => (Seal::Sum(u32::from_le_bytes(*sum)), content),
        (0 | 1, _) => (Seal::Broken, blob),
        _ => (Seal::None, blob),
    }
}

/// A message from its blob and, by `fill`, its columns.
pub fn open_body(
    id: u64,
    body: &Bytes,
    fill: impl FnOnce(&mut Message) -> Result<(), String>,
) -> Result<Message, DamagedRow> {
    let (seal, content) = unseal(body);
    let mut message = <Message as prost::Message>::decode(body.slice_ref(content))
        .map_err(|error| DamagedRow::new("msg", id, format!("it cannot be decoded: {error}")))?;
    message.id = id;
    fill(&mut message).map_err(|why| DamagedRow::new("msg", id, why))?;
    if seal.fits(|| of_message(&message, content)) {
        return Ok(message);
    }
    let legible = DamagedRow::legible(&message);
    let fits = |id| {
        message.id = id;
        seal.fits(|| of_message(&message, content))
    };
    Err(DamagedRow {
        legible,
        ..misfit("msg", id, fits)
    })
}

/// The blob of a change as it is stored, and its checksum where that has a column of its own: a blob that is erased later
/// takes its checksum along.
pub fn close_change(change: &ChangeRow) -> (Bytes, Option<u32>) {
    match change.kind {
        ChangeKind::Move | ChangeKind::Replace => {
            let mut blob = Vec::with_capacity(SEAL + change.body.len());
            leave_room(&mut blob);
            blob.extend_from_slice(&change.body);
            seal(&mut blob, of_change(change, &change.body));
            (blob.into(), None)
        }
        // Builds before ask for the length of the others.
        _ => (change.body.clone(), Some(of_change(change, &change.body))),
    }
}

/// A change as it was before [`close_change`].
pub fn open_change(mut change: ChangeRow, checksum: Option<u32>) -> Result<ChangeRow, DamagedRow> {
    let (id, body) = (change.id, change.body.clone());
    let (seal, content) = if body.is_empty() {
        // It has none, or was erased.
        (Seal::None, &[][..])
    } else {
        unseal(&body)
    };
    let mut fits = |id| {
        change.id = id;
        let sum = of_change(&change, content);
        seal.fits(|| sum) && checksum.is_none_or(|written| written == sum)
    };
    if !fits(id) {
        return Err(misfit("change", id, fits));
    }
    change.body = body.slice_ref(content);
    Ok(change)
}

// === impl Seal ===

impl Seal {
    /// Whether a content with this checksum may be what was written.
    pub fn fits(self, sum: impl FnOnce() -> u32) -> bool {
        match self {
            Self::None => true,
            Self::Sum(written) => written == sum(),
            Self::Broken => false,
        }
    }
}

#[cfg(test)]
mod tests;
