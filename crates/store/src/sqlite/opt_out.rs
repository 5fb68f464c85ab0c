//! Changes of opt-out lists on SQLite.

use rusqlite::{Connection, OptionalExtension as _};

use super::cold::run;
use super::schema::{meta, set_meta};
use super::{SqliteStore, writer};
use crate::Reply;
use crate::opt_out::{OptOutRow, OptOutStore, REMEMBERED};

/// The last version, in `meta`: that of the last row may be gone with it.
pub(super) const VERSION: &str = "opt_out_version";

impl OptOutStore for SqliteStore {
    fn set_opt_out(&self, row: OptOutRow) -> Reply<bool> {
        writer::transact(&self.shared, move |connection, _| set(connection, row))
    }
}

fn set(connection: &Connection, mut row: OptOutRow) -> rusqlite::Result<bool> {
    let is_out: Option<bool> = connection
        .prepare_cached("SELECT out FROM opt_out WHERE account = ?1 AND number = ?2")?
        .query_row((&row.account, &row.number), |found| found.get(0))
        .optional()?;
    if is_out.unwrap_or(false) == row.out {
        return Ok(false);
    }
    row.version = meta(connection, VERSION)? + 1;
    set_meta(connection, VERSION, row.version)?;
    run(connection, &row.set())?;
    // As its index says it.
    connection
        .prepare_cached("DELETE FROM opt_out WHERE out = 0 AND at < ?1")?
        .execute([row.at - REMEMBERED])?;
    Ok(true)
}
