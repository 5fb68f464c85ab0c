//! Marks of streams on SQLite, in the table `meta`.

use super::schema::{read_meta, set_meta, sql_failed};
use super::{SqliteStore, writer};
use crate::Reply;
use crate::stream_marks::{self, StreamMarkStore};

impl StreamMarkStore for SqliteStore {
    fn stream_marks(&self) -> Reply<Vec<(String, i64)>> {
        self.admin.ask(|connection| {
            read_meta(connection, stream_marks::SELECT, stream_marks::of_meta).map_err(sql_failed)
        })
    }

    fn keep_stream_mark(&self, rows: Vec<(String, i64)>) -> Reply<()> {
        writer::transact(&self.shared, move |connection, _| {
            rows.iter()
                .try_for_each(|(key, value)| set_meta(connection, key, *value as u64))
        })
    }
}
