//! Paused queues on PostgreSQL, in the table `meta`.

use super::PgStore;
use crate::Reply;
use crate::pauses::{self, PauseStore};

impl PauseStore for PgStore {
    fn paused(&self) -> Reply<Vec<u32>> {
        self.read_meta(pauses::SELECT, pauses::of_meta)
    }

    fn set_paused(&self, queue: u32, is_paused: bool) -> Reply<()> {
        self.set_meta(pauses::key(queue), i64::from(is_paused))
    }
}
