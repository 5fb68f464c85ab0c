//! Paused queues on SQLite, in the table `meta`.

use rusqlite::Connection;

use super::schema::{set_meta, sql_failed};
use super::{SqliteStore, writer};
use crate::Reply;
use crate::pauses::{self, PauseStore};

impl PauseStore for SqliteStore {
    fn paused(&self) -> Reply<Vec<u32>> {
        self.admin
            .ask(|connection| read(connection).map_err(sql_failed))
    }

    fn set_paused(&self, queue: u32, is_paused: bool) -> Reply<()> {
        writer::transact(&self.shared, move |connection, _| {
            set_meta(connection, &pauses::key(queue), u64::from(is_paused))
        })
    }
}

/// Those that are paused.
pub(super) fn read(connection: &Connection) -> rusqlite::Result<Vec<u32>> {
    let mut statement = connection.prepare_cached(pauses::SELECT)?;
    let rows = statement.query_map([], |row| {
        Ok(pauses::of_meta(&row.get::<_, String>(0)?, row.get(1)?))
    })?;
    rows.filter_map(Result::transpose).collect()
}
