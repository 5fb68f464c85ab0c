//! What was heard of messages, on SQLite. Nothing is ever held: the store goes back with its only process.

use rusqlite::Connection;

use super::SqliteStore;
use super::cold::{as_sql_error, run};
use crate::cold::{ColdStatement, values};
use crate::heard::HeardRow;
use crate::held::HeldStore;

impl HeldStore for SqliteStore {}

/// What a statement of [`HeardRow::select`] finds; nothing in a store of a release before.
pub fn find(connection: &Connection, select: &ColdStatement) -> rusqlite::Result<Vec<HeardRow>> {
    if !connection.table_exists(None, "heard")? {
        return Ok(Vec::new());
    }
    let rows = run(connection, select)?.returned;
    HeardRow::all::<SqliteStore>(rows).map_err(as_sql_error)
}

/// What was heard of one message.
pub fn of_message(connection: &Connection, id: u64) -> rusqlite::Result<Vec<HeardRow>> {
    find(
        connection,
        &HeardRow::select("WHERE id = $1 ORDER BY at", values![id]),
    )
}
