//! Old correlations on disk: one table per hour in `index.db`, dropped whole.
//!
//! Written by the index thread, read by a separate thread so that a slow look-up never blocks the
//! data path; called through the store by the correlation actor. Guarantees that the newest hour is
//! searched first and that a table is either complete or absent.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use rusqlite::Connection;

use super::SqliteShared;
use super::index::IndexThread;
use super::schema::{self, sql_failed};
use crate::StoreResult;

const PREFIX: &str = "corr_";

/// Context of the look-up thread.
pub struct LookUpThread {
    pub path: PathBuf,
    pub shared: Arc<SqliteShared>,
    /// Opened at the first look-up, and again when the index was rebuilt.
    pub connection: Option<(u64, Connection)>,
}

/// Writes pairs sorted by key to the table of an hour; a key that is there gets the newer id.
pub fn spill(index: &mut IndexThread, hour: i64, sorted: &[(u128, u64)]) -> StoreResult {
    let shared = index.run(|index, connection| {
        let table = table_of(hour);
        let transaction = connection.unchecked_transaction()?;
        transaction.execute_batch(&format!(
            "CREATE TABLE IF NOT EXISTS \"{table}\"(key BLOB PRIMARY KEY, id INT) WITHOUT ROWID"
        ))?;
        {
            let mut insert = transaction.prepare_cached(&format!(
                "INSERT OR REPLACE INTO \"{table}\" VALUES(?1, ?2)"
            ))?;
            for (key, id) in sorted {
                insert.execute((&key.to_be_bytes()[..], *id as i64))?;
            }
        }
        transaction.commit()?;
        Ok(Arc::clone(index.shared()))
    })?;
    let mut hours = shared.hours();
    if let Err(at) = hours.binary_search(&hour) {
        hours.insert(at, hour);
    }
    Ok(())
}

/// Drops the tables of the hours before this one.
pub fn drop_before(index: &mut IndexThread, hour: i64) -> StoreResult {
    let shared = Arc::clone(index.shared());
    // Out of the list first: a look-up must not read a table that is about to be dropped.
    let gone: Vec<i64> = {
        let mut hours = shared.hours();
        let keep = hours.partition_point(|known| *known < hour);
        hours.drain(..keep).collect()
    };
    index.run(|_, connection| {
        gone.iter().try_for_each(|hour| {
            connection.execute_batch(&format!("DROP TABLE IF EXISTS \"{}\"", table_of(*hour)))
        })
    })
}

/// Drops them all, at open.
pub fn drop_all(connection: &Connection) -> rusqlite::Result<()> {
    let tables: Vec<String> = connection
        .prepare("SELECT name FROM sqlite_master WHERE type = 'table' AND name GLOB 'corr_*'")?
        .query_map([], |row| row.get(0))?
        .collect::<rusqlite::Result<_>>()?;
    tables
        .iter()
        .try_for_each(|table| connection.execute_batch(&format!("DROP TABLE \"{table}\"")))
}

fn table_of(hour: i64) -> String {
    format!("{PREFIX}{hour}")
}

// === impl LookUpThread ===

impl LookUpThread {
    /// Looks keys up, newest hour first; answers in the order requested.
    pub fn find(&mut self, keys: &[u128]) -> StoreResult<Vec<Option<u64>>> {
        let mut found = vec![None; keys.len()];
        let hours: Vec<i64> = self.shared.hours().iter().rev().copied().collect();
        if hours.is_empty() {
            return Ok(found);
        }
        // Ascending keys touch each page of a table once.
        let mut left: Vec<usize> = (0..keys.len()).collect();
        left.sort_unstable_by_key(|index| keys[*index]);
        let connection = self.connection()?;
        for hour in hours {
            if left.is_empty() {
                break;
            }
            let sql = format!("SELECT id FROM \"{}\" WHERE key = ?1", table_of(hour));
            let mut statement = match connection.prepare_cached(&sql) {
                Ok(statement) => statement,
                // Dropped since the list was read: too old to matter.
                Err(error) if error.to_string().contains("no such table") => continue,
                Err(error) => return Err(sql_failed(error)),
            };
            let mut missing = Vec::new();
            for index in left {
                let key = keys[index].to_be_bytes();
                let mut rows = statement.query([&key[..]])?;
                match rows.next()? {
                    Some(row) => found[index] = Some(row.get::<_, i64>(0)? as u64),
                    None => missing.push(index),
                }
            }
            left = missing;
        }
        Ok(found)
    }

    fn connection(&mut self) -> StoreResult<&Connection> {
        let generation = self.shared.index_generation.load(Ordering::Relaxed);
        let current = self
            .connection
            .take()
            .filter(|(known, _)| *known == generation);
        let current = match current {
            Some(current) => current,
            None => (generation, schema::open_reader(&self.path)?),
        };
        Ok(&self.connection.insert(current).1)
    }
}
