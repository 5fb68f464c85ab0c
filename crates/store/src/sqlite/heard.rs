//! What was heard of messages, on SQLite. Nothing is ever held: the store goes back with its only process.

use rusqlite::{Connection, Row};

use super::record::bytes_of;
use super::schema::sql_failed;
use super::{SqliteStore, writer};
use crate::Reply;
use crate::heard::{HeardRow, HeardStore};
use crate::held::HeldStore;
use smsc_proto::MessageState;

/// The columns of a row.
pub const HEARD: &str = "SELECT id, at, operator, state, word, error, done_at, due FROM heard";

impl HeldStore for SqliteStore {}

impl HeardStore for SqliteStore {
    fn heard_due(&self, at: i64, limit: usize) -> Reply<Vec<HeardRow>> {
        self.admin.ask(move |connection| {
            let sql = format!("{HEARD} WHERE due > 0 AND due <= ?1 ORDER BY due, id LIMIT ?2");
            rows(connection, &sql, (at, crate::signed(limit))).map_err(sql_failed)
        })
    }

    fn last_heard(&self, ids: Vec<u64>) -> Reply<Vec<HeardRow>> {
        self.admin.ask(move |connection| {
            let sql = format!("{HEARD} WHERE id = ?1 AND kind = 1");
            let mut found = Vec::new();
            for id in ids {
                found.extend(rows(connection, &sql, [id as i64])?);
            }
            found.sort_unstable_by_key(|row| row.id);
            Ok(found)
        })
    }

    fn heard_settled(&self, ids: Vec<u64>) -> Reply<()> {
        writer::transact(&self.shared, move |connection, _| {
            let mut settle = connection.prepare_cached("UPDATE heard SET due = 0 WHERE id = ?1")?;
            ids.iter()
                .try_for_each(|id| settle.execute([*id as i64]).map(drop))
        })
    }
}

/// What was heard of one message; nothing in a store of a release before.
pub fn of_message(connection: &Connection, id: i64) -> rusqlite::Result<Vec<HeardRow>> {
    if !connection.table_exists(None, "heard")? {
        return Ok(Vec::new());
    }
    rows(
        connection,
        &format!("{HEARD} WHERE id = ?1 ORDER BY at"),
        [id],
    )
}

fn rows(
    connection: &Connection,
    sql: &str,
    values: impl rusqlite::Params,
) -> rusqlite::Result<Vec<HeardRow>> {
    let mut statement = connection.prepare_cached(sql)?;
    statement.query_map(values, read_heard)?.collect()
}

/// A row of [`HEARD`].
pub fn read_heard(row: &Row<'_>) -> rusqlite::Result<HeardRow> {
    Ok(HeardRow {
        id: row.get::<_, i64>(0)? as u64,
        at: row.get(1)?,
        operator: row.get(2)?,
        state: MessageState::try_from(row.get::<_, i32>(3)?).unwrap_or_default(),
        word: bytes_of(row.get_ref(4)?),
        error: bytes_of(row.get_ref(5)?),
        done_at: row.get(6)?,
        due: row.get(7)?,
    })
}
