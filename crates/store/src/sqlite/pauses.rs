//! Paused queues on SQLite, in the table `meta`.

use super::schema::{read_meta, set_meta, sql_failed};
use super::{SqliteStore, writer};
use crate::Reply;
use crate::pauses::{self, PauseStore};

impl PauseStore for SqliteStore {
    fn paused(&self) -> Reply<Vec<u32>> {
        self.admin.ask(|connection| {
            read_meta(connection, pauses::SELECT, pauses::of_meta).map_err(sql_failed)
        })
    }

    fn set_paused(&self, queue: u32, is_paused: bool) -> Reply<()> {
        writer::transact(&self.shared, move |connection, _| {
            set_meta(connection, &pauses::key(queue), u64::from(is_paused))
        })
    }
}
