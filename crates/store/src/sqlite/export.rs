//! Reads messages in id order: for the export, by the server or by another process beside it.
//!
//! Called on the caller's thread with a connection of its own. Guarantees that memory does not grow
//! with the range, and that no snapshot is held longer than a page, so that the write-ahead log of a
//! running server can be used again while a long export goes on.

use std::ops::Range;
use std::path::Path;

use rusqlite::Connection;

use super::reader::{self, load, whole};
use super::record::read_sent;
use super::schema::{self, failed, open_reader, sql_failed};
use super::wal;
use crate::archive::{Each, Exported};
use crate::damage::{DamageLog, DamagedRow};
use crate::{SentRow, StoreResult, signed};

/// Messages read per snapshot.
const PAGE: i64 = 1024;

/// The store of a data folder, or a backup of it, for reading beside a running server.
#[derive(Debug)]
pub struct ReadOnly(Connection, DamageLog);

// === impl ReadOnly ===

impl ReadOnly {
    /// Opens the store in a data folder, or a database file.
    pub fn open(path: &Path) -> StoreResult<Self> {
        let path = schema::main_path(path);
        if !path.is_file() {
            return Err(failed(format!("{} is not there", path.display())));
        }
        wal::unless_in_use(&path)?;
        let connection = open_reader(&path)?;
        match schema::check_version(&connection, &path)? {
            0 => Err(failed(format!("{} is no store of smsc", path.display()))),
            _ => Ok(Self(connection, DamageLog::default())),
        }
    }

    /// All interned names.
    pub fn names(&self) -> StoreResult<Vec<(u32, String)>> {
        schema::names(&self.0).map_err(sql_failed)
    }

    /// Damaged rows that were found and left out since the last call.
    pub fn take_damage(&self) -> Vec<DamagedRow> {
        self.1.take()
    }

    /// See [`crate::archive::ArchiveStore::export`].
    pub fn export(&self, ids: Range<u64>, each: &mut Each<'_>) -> StoreResult {
        export(&self.0, &self.1, ids, each).map_err(sql_failed)
    }
}

/// Calls `each` for every message of the range.
pub fn export(
    connection: &Connection,
    damage: &DamageLog,
    ids: Range<u64>,
    each: &mut Each<'_>,
) -> rusqlite::Result<()> {
    let (mut from, below) = (signed(ids.start), signed(ids.end));
    loop {
        let sql = "SELECT id FROM msg WHERE id >= ?1 AND id < ?2 ORDER BY id LIMIT ?3";
        let page: Vec<u64> = reader::ids(connection, sql, (from, below, PAGE))?;
        let Some(&last) = page.last() else {
            return Ok(());
        };
        // A message that was retired between the two reads is left out.
        for stored in load(connection, damage, &page)?.into_iter().flatten() {
            let attempt = match stored.attempts {
                0 => None,
                _ => last_attempt(connection, damage, stored.message.id)?,
            };
            if each(Exported { stored, attempt }).is_break() {
                return Ok(());
            }
        }
        from = signed(last) + 1;
    }
}

fn last_attempt(
    connection: &Connection,
    damage: &DamageLog,
    id: u64,
) -> rusqlite::Result<Option<SentRow>> {
    let sql = "SELECT * FROM attempts WHERE id = ?1 ORDER BY status = 0 DESC, attempt DESC LIMIT 1";
    Ok(whole(connection, damage, sql, [id as i64], read_sent)?.pop())
}
