//! The outbox on SQLite: one row for each reader and commit, appended by the writer, read on a thread of its own.
//!
//! One process has the store, so rows are only its own: nobody else takes them.

use std::sync::Arc;

use rusqlite::{Connection, Error, Row, params};

use super::reader::{load, with_address};
use super::record::{Sound, key_of, sound, summed, younger};
use super::rows::Marks;
use super::schema::sql_failed;
use super::{SqliteShared, SqliteStore, usage, writer};
use crate::archive::ERASED;
use crate::checksum::{Summed as _, check_numbered, sum};
use crate::cold::{ColdStatement, ColdTables as _, values};
use crate::damage::DamageLog;
use crate::outbox::{
    CdrRow, EventClaim, EventKind, EventReader, EventRow, MOST_COUNTED, OutboxStore, ReaderBacklog,
    ReaderOutcome, TakeEvents, TakenEvents,
};
use crate::{Reply, StoreResult, Stored};
use smsc_domain::id::{MAX_LEAD_MS, lowest_at};
use smsc_domain::state;
use smsc_proto::MessageState;

/// Octets of an id in a row.
const ID: usize = size_of::<u64>();
/// Records changed per transaction.
const CHUNK: usize = 1000;

impl OutboxStore for SqliteStore {
    fn write_events_for(&self, readers: &[EventReader]) {
        let readers = readers.to_vec();
        self.shared.listeners.change(|all| all.readers = readers);
    }

    fn take_events(&self, take: TakeEvents) -> Reply<Option<TakenEvents>> {
        let damage = self.damage();
        self.outbox
            .ask(move |connection| take_events(connection, &damage, take).map_err(sql_failed))
    }

    fn read_ended(&self, ids: Vec<u64>) -> Reply<Vec<Option<Stored>>> {
        let damage = self.damage();
        self.outbox
            .ask(move |connection| load(connection, &damage, &ids).map_err(sql_failed))
    }

    fn finish_events(&self, claim: EventClaim, outcome: ReaderOutcome) -> Reply<bool> {
        writer::transact(&self.shared, move |connection, _| {
            finish_events(connection, &claim, &outcome)
        })
    }

    fn backlog(&self) -> Reply<Vec<ReaderBacklog>> {
        let number = |reader: EventReader| reader as i16;
        self.outbox.ask(move |connection| {
            backlog(connection, &EventReader::ALL, number).map_err(sql_failed)
        })
    }

    fn drop_events(&self, before: i64, limit: usize) -> Reply<u64> {
        writer::transact(&self.shared, move |connection, _| {
            let sql = "DELETE FROM outbox WHERE row IN (SELECT row FROM
                 (SELECT row, at FROM outbox ORDER BY row LIMIT ?2) WHERE at < ?1)
               RETURNING length(ids)";
            let mut delete = connection.prepare_cached(sql)?;
            delete
                .query_map((before, crate::signed(limit)), |row| row.get::<_, i64>(0))?
                .try_fold(0, |sum, octets| Ok(sum + octets? as u64 / ID as u64))
        })
    }

    fn erase_records(&self, digits: String) -> Reply<u64> {
        let shared = Arc::clone(&self.shared);
        self.outbox
            .ask(move |connection| erase_records(connection, &shared, digits.as_bytes()))
    }

    fn forget_records(&self, before: i64, limit: usize) -> Reply<u64> {
        // A message ends after it is accepted, so its id bounds the walk.
        let below = lowest_at(before.saturating_add(MAX_LEAD_MS));
        let delete = "DELETE FROM cdr WHERE id IN (SELECT id FROM cdr WHERE id < $1
            AND final_at < $2 ORDER BY id LIMIT $3)";
        let delete = ColdStatement::new(delete, values![below, before, limit]);
        self.change(vec![delete], |done| Ok(done.rows))
    }
}

/// Writes the events of a transaction. Called by the writer before its commit.
pub fn note(connection: &Connection, readers: &[i16], marks: &Marks) -> rusqlite::Result<()> {
    if marks.ended.is_empty() {
        return Ok(());
    }
    let ids: Vec<u8> = marks
        .ended
        .iter()
        .copied()
        .flat_map(u64::to_be_bytes)
        .collect();
    let sql = "INSERT INTO outbox(reader, kind, at, ids, checksum) VALUES(?1, ?2, ?3, ?4, ?5)";
    let mut insert = connection.prepare_cached(sql)?;
    let kind = EventKind::Ended as i16;
    for reader in readers {
        let checksum = checksum_of(*reader, kind, marks.first_end, &ids, &[]);
        insert.execute((reader, kind, marks.first_end, &ids, checksum))?;
    }
    Ok(())
}

/// The checksum of a row, as its column has it.
pub fn checksum_of(reader: i16, kind: i16, at: i64, ids: &[u8], data: &[u8]) -> i32 {
    sum([reader.into(), kind.into(), at], [ids, data]) as i32
}

fn take_events(
    connection: &Connection,
    damage: &DamageLog,
    take: TakeEvents,
) -> rusqlite::Result<Option<TakenEvents>> {
    let (mut rows, mut ids): (Vec<i64>, Vec<u64>) = Default::default();
    let mut statement = connection
        .prepare_cached("SELECT * FROM outbox WHERE reader = ?1 AND kind = ?2 ORDER BY row")?;
    let mut found = statement.query((take.reader as i64, EventKind::Ended as i64))?;
    while ids.len() < take.limit
        && let Some(row) = found.next()?
    {
        // A damaged one is finished without its events.
        rows.push(row.get(0)?);
        if let Some(event) = damage.sift(read_event(row)?) {
            ids.extend(event.ids);
        }
    }
    drop(found);
    if rows.is_empty() {
        return Ok(None);
    }
    ids.sort_unstable();
    Ok(Some(TakenEvents {
        is_full: ids.len() >= take.limit,
        claim: EventClaim {
            reader: take.reader,
            holder: take.holder,
            rows,
        },
        ids,
    }))
}

fn finish_events(
    connection: &Connection,
    claim: &EventClaim,
    outcome: &ReaderOutcome,
) -> rusqlite::Result<bool> {
    let mut known = connection.prepare_cached("SELECT 1 FROM outbox WHERE row = ?1")?;
    for row in &claim.rows {
        if !known.exists([row])? {
            // It was dropped for its age.
            return Ok(false);
        }
    }
    let mut delete = connection.prepare_cached("DELETE FROM outbox WHERE row = ?1")?;
    for row in &claim.rows {
        delete.execute([row])?;
    }
    match outcome {
        ReaderOutcome::Elsewhere => {}
        ReaderOutcome::Records(records) => put_records(connection, records)?,
        ReaderOutcome::Usage(rows) => usage::add(connection, rows)?,
    }
    Ok(true)
}

/// Adds records; one that is there stays.
fn put_records(connection: &Connection, records: &[CdrRow]) -> rusqlite::Result<()> {
    let mut insert = connection.prepare_cached(
        "INSERT INTO cdr(id, account, kind, sender, queue, source, destination, accepted_at, final_at,
           done_at, state, operator, attempts, data_coding, octets, parts, error, network, replay_of, price,
           currency, client_reference, checksum)
         VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15,
           ?16, ?17, ?18, ?19, ?20, ?21, ?22, ?23) ON CONFLICT DO NOTHING",
    )?;
    for row in records {
        insert.execute(params![
            crate::signed(row.id),
            row.account,
            row.kind(),
            row.sender,
            row.queue,
            row.from,
            row.to,
            row.accepted_at,
            row.final_at,
            Some(row.done_at).filter(|at| *at != 0),
            state::name(row.state as u8),
            row.operator,
            row.attempts,
            row.data_coding,
            row.octets,
            row.parts,
            row.error,
            row.network,
            Some(crate::signed(row.replay_of)).filter(|id| *id != 0),
            row.price,
            row.currency,
            row.client_reference,
            row.sum() as i32,
        ])?;
    }
    Ok(())
}

/// A row of `outbox`.
pub fn read_event(row: &Row<'_>) -> Sound<EventRow> {
    let read = sound("outbox", row, |row| {
        let ids = row.get_ref(4)?.as_blob().map_err(Error::from)?;
        let event = EventRow {
            reader: row.get(1)?,
            kind: row.get(2)?,
            at: row.get(3)?,
            ids: ids_of(ids).collect(),
            data: younger::<Option<Vec<u8>>>(row, 5)?.unwrap_or_default(),
        };
        let sum = checksum_of(event.reader, event.kind, event.at, ids, &event.data);
        Ok((event, sum as u32, younger::<Option<i32>>(row, 6)?))
    })?;
    let number = key_of(row)?;
    Ok(read.and_then(|(event, sum, written)| {
        check_numbered("outbox", number, event, sum, written.map(|sum| sum as u32))
    }))
}

/// A row of `cdr`.
pub fn read_record(row: &Row<'_>) -> Sound<CdrRow> {
    summed(row, |row| {
        let kind: String = row.get(2)?;
        let state: String = row.get(10)?;
        let state = state::from_exact_name(&state).unwrap_or_default();
        let record = CdrRow {
            id: key_of(row)?,
            account: row.get(1)?,
            is_mo: kind == "MO",
            sender: row.get(3)?,
            queue: row.get(4)?,
            from: row.get(5)?,
            to: row.get(6)?,
            accepted_at: row.get(7)?,
            final_at: row.get(8)?,
            done_at: row.get::<_, Option<i64>>(9)?.unwrap_or(0),
            state: MessageState::try_from(i32::from(state)).unwrap_or_default(),
            operator: row.get(11)?,
            attempts: row.get(12)?,
            data_coding: row.get(13)?,
            octets: row.get(14)?,
            parts: row.get(15)?,
            error: row.get(16)?,
            network: row.get(17)?,
            replay_of: row.get::<_, Option<i64>>(18)?.unwrap_or(0) as u64,
            price: row.get(19)?,
            currency: row.get(20)?,
            client_reference: row.get(21)?,
        };
        Ok((record, younger(row, 22)?))
    })
}

pub fn ids_of(octets: &[u8]) -> impl Iterator<Item = u64> {
    let (each, _) = octets.as_chunks::<ID>();
    each.iter().copied().map(u64::from_be_bytes)
}

/// What waits, of those readers for which something does.
pub(super) fn backlog<R: Copy>(
    connection: &Connection,
    readers: &[R],
    number: fn(R) -> i16,
) -> rusqlite::Result<Vec<ReaderBacklog<R>>> {
    let mut statement = connection.prepare_cached(&format!(
        "SELECT sum(length(ids)) / {ID}, min(at) FROM
           (SELECT ids, at FROM outbox WHERE reader = ?1 ORDER BY row LIMIT {MOST_COUNTED})"
    ))?;
    let mut all = Vec::new();
    for &reader in readers {
        all.extend(statement.query_row([number(reader)], |row| {
            let (events, oldest_at) = (row.get::<_, Option<i64>>(0)?, row.get(1)?);
            Ok(events
                .zip(oldest_at)
                .map(|(events, oldest_at)| ReaderBacklog {
                    reader,
                    events: events as u64,
                    oldest_at,
                }))
        })?);
    }
    Ok(all)
}

fn erase_records(
    connection: &Connection,
    shared: &SqliteShared,
    digits: &[u8],
) -> StoreResult<u64> {
    let (mut after, mut erased) = (0, 0);
    loop {
        let (found, last) = with_address(connection, "cdr", digits, after)?;
        for ids in found.chunks(CHUNK) {
            let (ids, digits) = (ids.to_vec(), digits.to_vec());
            erased += ids.len() as u64;
            writer::transact(shared, move |connection, _| {
                ids.iter()
                    .try_for_each(|id| erase_record(connection, *id as i64, &digits))
            })
            .wait()?;
        }
        match last {
            Some(last) => after = last,
            None => return Ok(erased),
        }
    }
}

fn erase_record(connection: &Connection, id: i64, digits: &[u8]) -> rusqlite::Result<()> {
    let mut read = connection.prepare_cached("SELECT * FROM cdr WHERE id = ?1")?;
    // What is damaged stays so.
    let is_sound = read.query_row([id], read_record)?.is_ok();
    let erased = String::from_utf8_lossy(ERASED);
    let digits = String::from_utf8_lossy(digits);
    for column in ["source", "destination"] {
        connection
            .prepare_cached(&format!(
                "UPDATE cdr SET {column} = ?2, client_reference = '',
                   checksum = CASE WHEN ?4 THEN NULL ELSE checksum END
                 WHERE id = ?1 AND ltrim({column}, '+') = ?3"
            ))?
            .execute((id, &erased, &digits, is_sound))?;
    }
    if is_sound && let Ok(record) = read.query_row([id], read_record)? {
        connection
            .prepare_cached("UPDATE cdr SET checksum = ?2 WHERE id = ?1")?
            .execute((id, record.sum() as i32))?;
    }
    Ok(())
}
