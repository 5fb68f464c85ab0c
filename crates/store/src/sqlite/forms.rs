//! The forms of operators' ids on SQLite, in the table `meta`.

use rusqlite::Connection;

use super::schema::{set_meta, sql_failed};
use super::{SqliteStore, writer};
use crate::Reply;
use crate::forms::{self, FormStore};

impl FormStore for SqliteStore {
    fn message_id_forms(&self) -> Reply<Vec<(u32, u8)>> {
        self.admin
            .ask(|connection| read(connection).map_err(sql_failed))
    }

    fn keep_message_id_form(&self, operator: u32, form: u8) -> Reply<()> {
        writer::transact(&self.shared, move |connection, _| {
            set_meta(connection, &forms::key(operator), u64::from(form))
        })
    }
}

/// All that is remembered.
pub(super) fn read(connection: &Connection) -> rusqlite::Result<Vec<(u32, u8)>> {
    let mut statement = connection.prepare_cached(forms::SELECT)?;
    let rows = statement.query_map([], |row| {
        Ok(forms::of_meta(&row.get::<_, String>(0)?, row.get(1)?))
    })?;
    rows.filter_map(Result::transpose).collect()
}
