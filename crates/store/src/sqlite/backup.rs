//! The online backup: a consistent copy in one file while the store works.
//!
//! Called by `smsc backup` and the admin API through `backup()`; guarantees that an existing file is
//! never overwritten and that a half-written copy never carries the final name. The copy is read once, so that damaged
//! rows in it are known.

use std::fs::File;
use std::path::Path;
use std::time::Duration;

use rusqlite::Connection;
use rusqlite::backup::Backup;

use super::damage;
use super::schema::{failed, open_reader, sql_failed};
use super::wal;
use crate::StoreResult;
use crate::damage::DamagedRow;
use smsc_host::files;

/// Pages copied per step.
const STEP_PAGES: i32 = 4096;

/// Copies the database file at `from` to `to`, whether a server uses it or not; gives how many rows of it are damaged.
///
/// # Errors
/// `from` cannot be read, or its log is damaged; `to` exists, or cannot be written.
pub fn backup(from: &Path, to: &Path) -> StoreResult<u64> {
    wal::unless_in_use(from)?;
    let mut damaged = 0;
    of_running(from, to, &mut |_| damaged += 1)?;
    Ok(damaged)
}

/// Backs up a store that this process has open, with what is to be done about each damaged row.
pub fn of_running(from: &Path, to: &Path, damaged: &mut dyn FnMut(DamagedRow)) -> StoreResult {
    let exists = |path: &Path| failed(format!("{} exists already", path.display()));
    if to.exists() {
        return Err(exists(to));
    }
    let mut partial = to.to_path_buf().into_os_string();
    partial.push(".partial");
    let partial = Path::new(&partial);
    // Created by us or not at all.
    files::create_new(partial)
        .map_err(|error| failed(format!("cannot create {}: {error}", partial.display())))?;
    let result = copy(from, partial).and_then(|()| publish(partial, to));
    if result.is_err() {
        let _ = std::fs::remove_file(partial);
    }
    result?;
    damage::each(&open_reader(to)?, damaged).map_err(sql_failed)
}

fn copy(from: &Path, to: &Path) -> StoreResult {
    let source = open_reader(from)?;
    // Holding a snapshot keeps the writer's commits from starting the copy over and over.
    let snapshot = source.unchecked_transaction()?;
    snapshot.query_row("SELECT count(*) FROM sqlite_master", [], |_| Ok(()))?;
    let mut target = Connection::open(to)?;
    Backup::new(&snapshot, &mut target)
        .and_then(|backup| backup.run_to_completion(STEP_PAGES, Duration::ZERO, None))?;
    // One file: nothing of the copy may stay in a WAL beside it.
    target.execute_batch("PRAGMA wal_checkpoint(TRUNCATE); PRAGMA journal_mode=DELETE;")?;
    target.close().map_err(|(_, error)| sql_failed(error))
}

/// Gives the finished copy its name, durably, unless the name was taken meanwhile.
fn publish(partial: &Path, to: &Path) -> StoreResult {
    let io = |error: std::io::Error| failed(format!("cannot write {}: {error}", to.display()));
    File::open(partial)
        .and_then(|file| file.sync_all())
        .map_err(io)?;
    // A link fails when the name exists, a rename would replace it.
    std::fs::hard_link(partial, to).map_err(io)?;
    std::fs::remove_file(partial).map_err(io)?;
    let folder = to.parent().filter(|folder| !folder.as_os_str().is_empty());
    File::open(folder.unwrap_or(Path::new(".")))
        .and_then(|folder| folder.sync_all())
        .map_err(io)
}
