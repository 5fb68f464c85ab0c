//! Empties a write-ahead log, so that data overwritten in the database does not remain there.

use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};

/// How long readers of older snapshots are waited for at a time: the writer waits as well.
const PATIENCE: Duration = Duration::from_millis(50);
/// Pause before it is tried again.
const PAUSE: Duration = Duration::from_millis(100);
const TRIES: usize = 20;

/// Copies the log of a database into it and truncates its file; false when a reader's snapshot
/// prevents this for too long. Blocks, the writer for [`PATIENCE`] at most.
pub fn empty(path: &Path) -> rusqlite::Result<bool> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(PATIENCE)?;
    for _ in 0..TRIES {
        // Most of it while the writer goes on.
        checkpoint(&connection, "PASSIVE")?;
        if checkpoint(&connection, "TRUNCATE")? {
            return Ok(true);
        }
        std::thread::park_timeout(PAUSE);
    }
    Ok(false)
}

/// Whether all of it was done.
fn checkpoint(connection: &Connection, mode: &str) -> rusqlite::Result<bool> {
    let sql = format!("PRAGMA wal_checkpoint({mode})");
    connection.query_row(&sql, [], |row| Ok(row.get::<_, i64>(0)? == 0))
}
