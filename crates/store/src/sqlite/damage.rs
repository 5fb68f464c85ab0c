//! Damaged rows, on SQLite.

use rusqlite::{Connection, Row};

use super::SqliteStore;
use super::outbox::{read_event, read_record};
use super::reader::{CHANGES, FINS, PARKED};
use super::record::{
    MESSAGE_COLUMNS, Sound, read_change, read_dead, read_fin, read_message, read_parked, read_sent,
};
use super::schema::{count, sql_failed};
use crate::checksum;
use crate::damage::{DamageStore, DamagedRow};
use crate::{Reply, signed};

const UNFINISHED: &str = "SELECT 1 FROM msg m WHERE m.id = ?1
    AND NOT EXISTS(SELECT 1 FROM fin f WHERE f.id = m.id)";
const UNTOLD: &str = "SELECT 1 FROM fin f WHERE f.id = ?1 AND f.tell <> 0
    AND NOT EXISTS(SELECT 1 FROM told t WHERE t.id = f.id)";

impl DamageStore for SqliteStore {
    fn take_damage(&self) -> Vec<DamagedRow> {
        self.shared.damage.take()
    }

    fn put_damage_back(&self, rows: Vec<DamagedRow>) {
        self.shared.damage.put_back(rows);
    }

    fn unfinished(&self, ids: Vec<u64>) -> Reply<Vec<u64>> {
        self.loader
            .ask(move |connection| those_of(connection, UNFINISHED, ids).map_err(sql_failed))
    }

    fn untold(&self, ids: Vec<u64>) -> Reply<Vec<u64>> {
        self.loader
            .ask(move |connection| those_of(connection, UNTOLD, ids).map_err(sql_failed))
    }
}

/// Those of the ids for which a query finds something.
fn those_of(connection: &Connection, sql: &str, ids: Vec<u64>) -> rusqlite::Result<Vec<u64>> {
    let mut query = connection.prepare_cached(sql)?;
    let mut found = Vec::new();
    for id in ids {
        if query.exists([signed(id)])? {
            found.push(id);
        }
    }
    Ok(found)
}

/// Calls `each` for every damaged row of a store or a backup of one.
pub fn each(connection: &Connection, found: &mut dyn FnMut(DamagedRow)) -> rusqlite::Result<()> {
    let messages = format!("SELECT {MESSAGE_COLUMNS} FROM msg t");
    check(connection, &messages, read_message, found)?;
    check(connection, "SELECT * FROM attempts", read_sent, found)?;
    check(connection, FINS, read_fin, found)?;
    check(connection, CHANGES, read_change, found)?;
    check(connection, PARKED, read_parked, found)?;
    check(connection, "SELECT * FROM dead", read_dead, found)?;
    // A backup of an earlier release has not all tables.
    if connection.table_exists(None, "outbox")? {
        check(connection, "SELECT * FROM outbox", read_event, found)?;
        check(connection, "SELECT * FROM cdr", read_record, found)?;
    }
    Ok(())
}

fn check<T>(
    connection: &Connection,
    sql: &str,
    read: fn(&Row<'_>) -> Sound<T>,
    found: &mut dyn FnMut(DamagedRow),
) -> rusqlite::Result<()> {
    let mut statement = connection.prepare(sql)?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        if let Err(row) = read(row)? {
            found(row);
        }
    }
    Ok(())
}

/// Messages without a checksum.
pub fn unsealed(connection: &Connection) -> rusqlite::Result<u64> {
    let unsealed = "SELECT count(*) FROM msg WHERE substr(body, 1, 2) <> ?1";
    count(connection, unsealed, [&checksum::KEY[..]])
}
