//! Events of sinks on SQLite: rows of the outbox, read in their order on its thread.

use rusqlite::{Connection, params};

use super::outbox::{backlog, checksum_of, read_event};
use super::reader::whole;
use super::record::read_sent;
use super::schema::sql_failed;
use super::{SqliteStore, writer};
use crate::damage::DamageLog;
use crate::outbox::EventRow;
use crate::sinks::{
    EARLY, EarlyRow, SinkBacklog, SinkEvents, SinkStore, Wants, events_of, last_of_each, rows,
};
use crate::{Reply, SentRow};
use smsc_proto::EarlyEvent;

impl SinkStore for SqliteStore {
    fn write_for_sinks(&self, sinks: Vec<Wants>) {
        self.shared.listeners.change(|all| all.sinks = sinks);
    }

    fn add_early(&self, events: Vec<EarlyEvent>) -> Reply<()> {
        let listeners = self.shared.listeners.get();
        let events = events.into_iter().map(|event| (0, event)).collect();
        let rows = rows(events, &listeners.sinks);
        writer::transact(&self.shared, move |connection, _| note(connection, &rows))
    }

    fn read_sink(&self, reader: i16, limit: usize) -> Reply<Option<SinkEvents>> {
        let damage = self.damage();
        self.outbox.ask(move |connection| {
            read_sink(connection, &damage, reader, limit).map_err(sql_failed)
        })
    }

    fn finish_sink(&self, reader: i16, rows: Vec<i64>) -> Reply<u64> {
        writer::transact(&self.shared, move |connection, _| {
            let mut delete =
                connection.prepare_cached("DELETE FROM outbox WHERE row = ?1 AND reader = ?2")?;
            rows.iter().try_fold(
                0,
                |sum, row| Ok(sum + delete.execute((row, reader))? as u64),
            )
        })
    }

    fn sink_backlog(&self, readers: Vec<i16>) -> Reply<Vec<SinkBacklog>> {
        self.outbox.ask(move |connection| {
            backlog(connection, &readers, |reader| reader).map_err(sql_failed)
        })
    }

    fn accepted_attempts(&self, ids: Vec<u64>) -> Reply<Vec<SentRow>> {
        let damage = self.damage();
        self.outbox
            .ask(move |connection| accepted_attempts(connection, &damage, &ids).map_err(sql_failed))
    }
}

/// Writes early events of a transaction. Called by the writer before those of ends.
pub fn note(connection: &Connection, rows: &[EarlyRow]) -> rusqlite::Result<()> {
    if rows.is_empty() {
        return Ok(());
    }
    let mut insert = connection.prepare_cached(
        "INSERT INTO outbox(reader, kind, at, ids, data, checksum) VALUES(?1, ?2, ?3, ?4, ?5, ?6)",
    )?;
    for row in rows {
        let ids: Vec<u8> = row.ids.iter().copied().flat_map(u64::to_be_bytes).collect();
        for reader in &row.readers {
            let checksum = checksum_of(*reader, EARLY, row.at, &ids, &row.data);
            insert.execute(params![reader, EARLY, row.at, ids, row.data, checksum])?;
        }
    }
    Ok(())
}

fn read_sink(
    connection: &Connection,
    damage: &DamageLog,
    reader: i16,
    limit: usize,
) -> rusqlite::Result<Option<SinkEvents>> {
    let mut statement =
        connection.prepare_cached("SELECT * FROM outbox WHERE reader = ?1 ORDER BY row")?;
    let mut found = statement.query([reader])?;
    let (mut rows, mut events) = (Vec::new(), Vec::new());
    while events.len() < limit
        && let Some(row) = found.next()?
    {
        // A damaged one is finished without its events.
        rows.push(row.get(0)?);
        if let Some(EventRow {
            kind, ids, data, ..
        }) = damage.sift(read_event(row)?)
        {
            events_of(kind, ids.into_iter(), &data, &mut events);
        }
    }
    Ok((!rows.is_empty()).then(|| SinkEvents {
        is_full: events.len() >= limit,
        rows,
        events,
    }))
}

fn accepted_attempts(
    connection: &Connection,
    damage: &DamageLog,
    ids: &[u64],
) -> rusqlite::Result<Vec<SentRow>> {
    let sql = "SELECT * FROM attempts WHERE id = ?1 AND status = 0 ORDER BY attempt";
    let mut all = Vec::new();
    for id in ids {
        let key = [crate::signed(*id)];
        all.extend(whole(connection, damage, sql, key, read_sent)?);
    }
    Ok(last_of_each(all))
}
