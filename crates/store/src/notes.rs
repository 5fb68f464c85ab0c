//! The notes port: what people write about accounts, operators and other resources, for each other.
//!
//! Used by the admin API. Notes are about a name: they stay when the resource is removed.

use super::Reply;
use super::cold::{ColdRecord as _, ColdTables, record, values};

record! {
    /// A note.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct NoteRow in "notes" {
        /// From the sequence of message ids: it carries the time.
        pub id: u64,
        /// What it is about: `accounts/shop`.
        pub about: String,
        pub text: String,
        /// Who wrote it.
        pub by: String,
    }
}

/// The notes part of a store. Calls never block.
pub trait NoteStore {
    /// Notes about something, or about anything, below an id, the newest first.
    fn notes(&self, about: Option<String>, below: u64, limit: usize) -> Reply<Vec<NoteRow>>;

    /// Keeps a note.
    fn add_note(&self, note: NoteRow) -> Reply<()>;

    /// Forgets a note; gives it, if there was one.
    fn remove_note(&self, id: u64) -> Reply<Option<NoteRow>>;
}

impl<S: ColdTables> NoteStore for S {
    fn notes(&self, about: Option<String>, below: u64, limit: usize) -> Reply<Vec<NoteRow>> {
        // Two texts, so that the index is used where one is asked for.
        let found = match about {
            Some(about) => NoteRow::select(
                "WHERE about = $1 AND id < $2 ORDER BY id DESC LIMIT $3",
                values![about, below, limit],
            ),
            None => NoteRow::select(
                "WHERE id < $1 ORDER BY id DESC LIMIT $2",
                values![below, limit],
            ),
        };
        self.select(found, NoteRow::all)
    }

    fn add_note(&self, note: NoteRow) -> Reply<()> {
        self.change(vec![note.insert("")], |_| Ok(()))
    }

    fn remove_note(&self, id: u64) -> Reply<Option<NoteRow>> {
        let delete = NoteRow::delete("WHERE id = $1", values![id]);
        self.change(vec![delete], |done| NoteRow::first(done.returned))
    }
}
