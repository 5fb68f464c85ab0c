//! The port for queues that a receiver of callbacks has paused by answering 410 Gone: they stay paused after a restart.
//!
//! Read when callbacks start; written when a receiver says so, and when an administrator resumes the queue.

use super::Reply;
use super::cold::{ColdRecord as _, ColdTables};
use super::meta::MetaRow;

/// Paused queues.
pub trait PauseStore {
    /// The interned names of the paused queues.
    fn paused(&self) -> Reply<Vec<u32>>;

    /// Pauses a queue, or lets it go on.
    fn set_paused(&self, queue: u32, is_paused: bool) -> Reply<()>;
}

/// What their keys in the table `meta` begin with, in front of the queue's number.
pub(crate) const KEY: &str = "paused:";

impl<S: ColdTables> PauseStore for S {
    fn paused(&self) -> Reply<Vec<u32>> {
        self.look_up(MetaRow::starting_with(KEY), |rows| {
            let rows = MetaRow::all(rows)?;
            let all = rows.iter().filter_map(|row| row.numbered(KEY));
            // One that goes on again has 0.
            let paused = all.filter(|(_, value)| *value != 0);
            Ok(paused.map(|(queue, _)| queue).collect())
        })
    }

    fn set_paused(&self, queue: u32, is_paused: bool) -> Reply<()> {
        let row = MetaRow::new(format!("{KEY}{queue}"), is_paused);
        self.change(vec![row.put()], |_| Ok(()))
    }
}
