//! Whether the schema in a store is the one that was written.
//!
//! SQLite reads the text of each table at open. With one bit of it flipped a key may be no key any more, or a number of a
//! root page that of another page, and then no row of that table is found: what has ended would be sent again. So the texts
//! are compared with those of a new store, and the numbers with their checksum. That differs also after VACUUM, which
//! moves tables; then SQLite is asked whether each page is where it belongs.

use std::collections::BTreeMap;
use std::path::Path;

use rusqlite::Connection;

use super::schema::{self, SCHEMA_VERSION, meta, set_meta, sql_failed, upgrade};
use crate::{StoreError, StoreResult};

/// The checksum in the table `meta`, plus one.
pub const SUM: &str = "schema_sum";

/// Tables, indexes and views with their texts.
type Texts = BTreeMap<String, String>;

/// Of a store that is opened for writing.
///
/// # Errors
/// [`StoreError::Damaged`]; it says what is wrong and what can be done.
pub fn check(connection: &Connection, path: &Path) -> StoreResult {
    if schema::check_version(connection, path)? != SCHEMA_VERSION {
        return Ok(());
    }
    let damaged = |what: String| {
        StoreError::Damaged(format!(
            "the schema in {} is not what was written: {what}. Look at the disk first (docs/day-two.md, \"Damaged rows\"), \
             and restore a backup, or read what is left by `smsc salvage`",
            path.display()
        ))
    };
    if let Some(problem) = problem(connection)? {
        return Err(damaged(problem));
    }
    let (sum, written) = sums(connection)?;
    if written == Some(sum) {
        return Ok(());
    }
    if written.is_some()
        && let Some(problem) = misplaced(connection)?
    {
        return Err(damaged(problem));
    }
    set_meta(connection, SUM, u64::from(sum) + 1).map_err(sql_failed)
}

/// What is wrong with the texts of a store of this version.
pub fn problem(connection: &Connection) -> rusqlite::Result<Option<String>> {
    let new = Connection::open_in_memory()?;
    new.execute_batch(&upgrade(0))?;
    let has = texts(connection)?;
    let wrong = (texts(&new)?.into_iter()).find(|(name, text)| has.get(name) != Some(text));
    Ok(wrong.map(|(name, _)| format!("{name} is another than in a new store")))
}

fn texts(connection: &Connection) -> rusqlite::Result<Texts> {
    let sql = "SELECT type || ' ' || name || ' of ' || tbl_name, sql FROM sqlite_schema WHERE sql IS NOT NULL";
    let mut statement = connection.prepare(sql)?;
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    rows.collect()
}

/// The checksum of all numbers of root pages, and the one that was written.
fn sums(connection: &Connection) -> rusqlite::Result<(u32, Option<u32>)> {
    let mut statement =
        connection.prepare("SELECT name, rootpage FROM sqlite_schema ORDER BY name")?;
    let mut rows = statement.query([])?;
    let mut sum = 0;
    while let Some(row) = rows.next()? {
        let (name, root): (String, i64) = (row.get(0)?, row.get(1)?);
        sum = crc32c::crc32c_append(sum, name.as_bytes());
        sum = crc32c::crc32c_append(sum, &root.to_le_bytes());
    }
    let written = meta(connection, SUM)?.checked_sub(1);
    Ok((sum, written.map(|written| written as u32)))
}

/// What SQLite finds wrong with the use of pages. Reads all of them.
fn misplaced(connection: &Connection) -> rusqlite::Result<Option<String>> {
    let said: String = connection.query_row("PRAGMA quick_check(1)", [], |row| row.get(0))?;
    Ok(Some(said).filter(|said| said != "ok"))
}
