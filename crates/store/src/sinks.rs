//! The part of the outbox that event sinks read: also what happens before the end of messages, and to binds.
//!
//! Used by `actors/control/export/sinks.rs`. The transaction that writes rows about messages also writes one row for each
//! sink that wants to hear of them: early events ([`early`], in the order of the batches) in front of ends. As what is
//! written about one message is written in its order (`postgres/write_queue.rs`), so are its events; a sink is read in the
//! order of the rows. Rows of a sink have no holder: whoever does the work for all nodes reads them, and two who
//! both believe it publish the same events twice.

use std::sync::{Arc, PoisonError, RwLock};

use super::outbox::{EventReader, ReaderBacklog};
use super::{ParkedRow, Reply, SentRow, WriteBatch};
use prost::Message as _;
use smsc_proto::{EarlyEvent, EarlyEvents, EarlyKind, Kind, OperatorReceipt};

/// The number of the reader of the sink with interned name 0.
pub const FIRST_SINK: i16 = 100;
/// The kind of a row with early events, beside [`EventKind`](super::outbox::EventKind).
pub(crate) const EARLY: i16 = 2;
/// The bit of ends of messages in [`Wants::kinds`]; the others are `1 <<` [`EarlyKind`].
pub const ENDED: u32 = 1;

/// What a sink wants to hear of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wants {
    /// See [`reader_of`].
    pub reader: i16,
    pub kinds: u32,
}

/// Who wants to hear of what a transaction writes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Listeners {
    /// Readers of ends alone.
    pub readers: Vec<EventReader>,
    pub sinks: Vec<Wants>,
}

/// The [`Listeners`] of now, which each transaction asks for.
#[derive(Debug, Default)]
pub(crate) struct CurrentListeners(RwLock<Arc<Listeners>>);

/// An event for a sink.
#[derive(Debug, Clone, PartialEq)]
pub enum SinkEvent {
    /// A message has ended.
    Ended(u64),
    /// Something has happened before; to a message, or 0.
    Early(u64, EarlyEvent),
}

/// Events of a sink, the oldest first.
#[derive(Debug, Clone, PartialEq)]
pub struct SinkEvents {
    /// Their rows.
    pub rows: Vec<i64>,
    pub events: Vec<SinkEvent>,
    /// There may be more.
    pub is_full: bool,
}

/// What waits for a sink.
pub type SinkBacklog = ReaderBacklog<i16>;

/// A row to be written for sinks that want the same.
#[derive(Debug, PartialEq)]
pub(crate) struct EarlyRow {
    pub readers: Vec<i16>,
    pub at: i64,
    pub ids: Vec<u64>,
    pub data: Vec<u8>,
}

/// The events of sinks.
pub trait SinkStore {
    /// From the next commit on, events are written for these sinks and no others.
    fn write_for_sinks(&self, sinks: Vec<Wants>);

    /// Adds events that are about no message, for the sinks that want them.
    fn add_early(&self, events: Vec<EarlyEvent>) -> Reply<()>;

    /// The oldest events of a sink; after `limit` no further row is added. `None` when there are none.
    fn read_sink(&self, reader: i16, limit: usize) -> Reply<Option<SinkEvents>>;

    /// Ends events; returns how many rows were still there.
    fn finish_sink(&self, reader: i16, rows: Vec<i64>) -> Reply<u64>;

    /// What waits, of those sinks for which something does.
    fn sink_backlog(&self, readers: Vec<i16>) -> Reply<Vec<SinkBacklog>>;

    /// The accepted attempts of these messages, the last one of each, in any order.
    fn accepted_attempts(&self, ids: Vec<u64>) -> Reply<Vec<SentRow>>;
}

/// The reader of the sink with this interned name; `None` for more names than rows can tell apart.
pub fn reader_of(number: u32) -> Option<i16> {
    i16::try_from(number).ok()?.checked_add(FIRST_SINK)
}

/// The bit of an early event in [`Wants::kinds`].
pub fn bit(kind: EarlyKind) -> u32 {
    1 << (kind as u32)
}

// === impl CurrentListeners ===

impl CurrentListeners {
    pub fn get(&self) -> Arc<Listeners> {
        Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }

    pub fn change(&self, change: impl FnOnce(&mut Listeners)) {
        change(Arc::make_mut(
            &mut self.0.write().unwrap_or_else(PoisonError::into_inner),
        ));
    }
}

// === impl Listeners ===

impl Listeners {
    /// Those who want to hear of ends, by number.
    pub(crate) fn of_ends(&self) -> Vec<i16> {
        let sinks = self.sinks.iter().filter(|one| one.kinds & ENDED != 0);
        let readers = self.readers.iter().map(|one| *one as i16);
        readers.chain(sinks.map(|one| one.reader)).collect()
    }
}

/// The rows of early events that follow from these batches.
pub(crate) fn early(batches: &[&WriteBatch], sinks: &[Wants]) -> Vec<EarlyRow> {
    let wanted = sinks.iter().fold(0, |all, one| all | one.kinds);
    if wanted & !ENDED == 0 {
        return Vec::new();
    }
    let events = batches
        .iter()
        .flat_map(|batch| of_batch(batch, wanted))
        .collect();
    rows(events, sinks)
}

/// The rows of these events for these sinks.
pub(crate) fn rows(events: Vec<(u64, EarlyEvent)>, sinks: &[Wants]) -> Vec<EarlyRow> {
    let mut rows: Vec<(u32, EarlyRow)> = Vec::new();
    for sink in sinks {
        let kinds = sink.kinds & !ENDED;
        match rows.iter_mut().find(|(of, _)| *of == kinds) {
            Some((_, row)) => row.readers.push(sink.reader),
            None => rows.push((kinds, row(&events, kinds, sink.reader))),
        }
    }
    rows.retain(|(_, row)| !row.ids.is_empty());
    rows.into_iter().map(|(_, row)| row).collect()
}

fn row(events: &[(u64, EarlyEvent)], kinds: u32, reader: i16) -> EarlyRow {
    let of_sink = || {
        events
            .iter()
            .filter(move |(_, one)| kinds & bit(one.kind()) != 0)
    };
    EarlyRow {
        readers: vec![reader],
        at: of_sink().map(|(_, one)| one.at).min().unwrap_or_default(),
        ids: of_sink().map(|(id, _)| *id).collect(),
        data: EarlyEvents {
            events: of_sink().map(|(_, one)| one.clone()).collect(),
        }
        .encode_to_vec(),
    }
}

fn of_batch(batch: &WriteBatch, wanted: u32) -> Vec<(u64, EarlyEvent)> {
    let mut all = Vec::new();
    for message in &batch.accept {
        let kind = match message.kind() {
            Kind::Mt => EarlyKind::Accepted,
            Kind::Mo => EarlyKind::Mo,
        };
        // A copy brings an account what is known of another message.
        if wanted & bit(kind) != 0 && message.copied.is_none() {
            all.push((
                message.id,
                EarlyEvent {
                    kind: kind.into(),
                    at: message.accepted_at,
                    ..EarlyEvent::default()
                },
            ));
        }
    }
    if wanted & bit(EarlyKind::Sent) != 0 {
        for row in batch.sent.iter().filter(|row| row.status == 0) {
            all.push((row.id, attempt(EarlyKind::Sent, row)));
        }
    }
    if wanted & bit(EarlyKind::Retry) != 0 {
        for row in &batch.retry {
            // Without an attempt it waits for its time, or for another message, or was changed.
            let failed = batch.sent.iter().rfind(|sent| sent.id == row.id);
            if let Some(failed) = failed.filter(|sent| sent.status != 0) {
                let event = EarlyEvent {
                    due_at: row.due_at,
                    ..attempt(EarlyKind::Retry, failed)
                };
                all.push((row.id, event));
            }
        }
    }
    if wanted & bit(EarlyKind::Unmatched) != 0 {
        all.extend(batch.park.iter().filter_map(unmatched));
    }
    all
}

/// Of a receipt that matches nothing; `None` where it names no message, or is one of several messages of a receipt.
fn unmatched(row: &ParkedRow) -> Option<(u64, EarlyEvent)> {
    let receipt = OperatorReceipt::decode(row.receipt.clone()).ok()?;
    let is_part = (receipt.extras.as_ref()).is_some_and(|extras| extras.part.is_some());
    if is_part || row.operator_message_id.is_empty() {
        return None;
    }
    let event = EarlyEvent {
        kind: EarlyKind::Unmatched.into(),
        at: row.at,
        operator: row.operator,
        operator_message_id: row.operator_message_id.clone(),
        state: receipt.state,
        error: receipt.error,
        done_at: receipt.done_at,
        ..EarlyEvent::default()
    };
    Some((row.id, event))
}

fn attempt(kind: EarlyKind, row: &SentRow) -> EarlyEvent {
    EarlyEvent {
        kind: kind.into(),
        at: row.at,
        operator: row.operator,
        attempt: row.attempt,
        operator_message_id: row.operator_message_id.clone(),
        status: row.status,
        ..EarlyEvent::default()
    }
}

/// The events of a row, as both adapters keep them.
pub(crate) fn events_of(
    kind: i16,
    ids: impl Iterator<Item = u64>,
    data: &[u8],
    events: &mut Vec<SinkEvent>,
) {
    if kind != EARLY {
        events.extend(ids.map(SinkEvent::Ended));
        return;
    }
    // What cannot be read was written by nobody: it must not stop what is behind it.
    let early = EarlyEvents::decode(data).unwrap_or_default().events;
    let pairs = ids.zip(early);
    events.extend(pairs.map(|(id, event)| SinkEvent::Early(id, event)));
}

/// The last one of the accepted attempts of each message; they come in the order of their numbers.
pub(crate) fn last_of_each(attempts: Vec<SentRow>) -> Vec<SentRow> {
    let mut last: Vec<SentRow> = Vec::with_capacity(attempts.len());
    for row in attempts {
        match last.last_mut() {
            Some(before) if before.id == row.id => *before = row,
            _ => last.push(row),
        }
    }
    last
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;
    use crate::RetryRow;
    use smsc_proto::Message;

    fn batch() -> WriteBatch {
        let mo = Message {
            id: 2,
            kind: Kind::Mo.into(),
            ..Message::default()
        };
        let sent = |id, status| SentRow {
            id,
            attempt: 1,
            at: 5,
            operator: 7,
            status,
            operator_message_id: Bytes::from_static(b"x"),
            latency_ms: 0,
            correlation: 0,
            bind: 0,
            known_as: None,
        };
        let retry = |id, attempts| RetryRow {
            id,
            due_at: 9,
            attempts,
        };
        WriteBatch {
            accept: vec![
                Message {
                    id: 1,
                    ..Message::default()
                },
                mo,
            ],
            sent: vec![sent(3, 0), sent(4, 8)],
            retry: vec![retry(4, 1), retry(5, 1)],
            ..WriteBatch::default()
        }
    }

    fn told(row: &EarlyRow) -> Vec<(u64, EarlyKind)> {
        let mut events = Vec::new();
        events_of(EARLY, row.ids.iter().copied(), &row.data, &mut events);
        let kind = |event: SinkEvent| match event {
            SinkEvent::Early(id, early) => (id, early.kind()),
            SinkEvent::Ended(id) => (id, EarlyKind::Unspecified),
        };
        events.into_iter().map(kind).collect()
    }

    #[test]
    fn a_sink_gets_what_it_wants_in_order() {
        let batch = batch();
        let all = [
            EarlyKind::Accepted,
            EarlyKind::Mo,
            EarlyKind::Sent,
            EarlyKind::Retry,
        ];
        let kinds = all.into_iter().fold(ENDED, |kinds, one| kinds | bit(one));
        let wants = |reader, kinds| Wants { reader, kinds };
        let sinks = [
            wants(101, kinds),
            wants(102, bit(EarlyKind::Mo)),
            wants(103, kinds),
            wants(104, ENDED),
        ];
        let rows = early(&[&batch], &sinks);
        let readers: Vec<_> = rows.iter().map(|row| &row.readers[..]).collect();
        assert_eq!(readers, [&[101, 103][..], &[102]]);
        let expected = [(1, all[0]), (2, all[1]), (3, all[2]), (4, all[3])];
        assert_eq!(told(&rows[0]), expected);
        assert_eq!(told(&rows[1]), [(2, EarlyKind::Mo)]);
        let early = EarlyEvents::decode(&rows[0].data[..]).unwrap();
        let retry = &early.events[3];
        assert_eq!((retry.due_at, retry.status, retry.attempt), (9, 8, 1));
        assert!(super::early(&[&batch], &sinks[3..]).is_empty());
    }

    #[test]
    fn a_name_has_a_reader_of_its_own() {
        assert_eq!(reader_of(1), Some(101));
        assert_eq!(reader_of(40_000), None);
    }
}
