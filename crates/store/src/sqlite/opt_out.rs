//! The opt-out port on SQLite: reads on the connection of the admin API, writes as jobs of the writer.

use rusqlite::{Connection, OptionalExtension as _, Row, params};

use super::schema::{meta, set_meta, sql_failed};
use super::{SqliteStore, writer};
use crate::opt_out::{OptOutRow, OptOutSearch, OptOutStore, REMEMBERED};
use crate::{Reply, signed};

const COLUMNS: &str = "SELECT account, number, out, at, who, version FROM opt_out";
/// The last version, in `meta`: that of the last row may be gone with it.
pub(super) const VERSION: &str = "opt_out_version";

impl OptOutStore for SqliteStore {
    fn opt_outs_after(&self, version: u64, limit: usize) -> Reply<Vec<OptOutRow>> {
        self.admin
            .ask(move |connection| after(connection, version, limit).map_err(sql_failed))
    }

    fn opt_outs(&self, search: OptOutSearch) -> Reply<Vec<OptOutRow>> {
        self.admin.ask(move |connection| {
            let sql = format!(
                "{COLUMNS} WHERE out = 1 AND version < ?1 AND (?2 IS NULL OR account = ?2)
                 AND (?3 IS NULL OR number = ?3) ORDER BY version DESC LIMIT ?4"
            );
            let wanted = params![
                signed(search.below),
                search.account,
                search.number,
                search.limit as i64
            ];
            rows(connection, &sql, wanted).map_err(sql_failed)
        })
    }

    fn set_opt_out(&self, row: OptOutRow) -> Reply<bool> {
        writer::transact(&self.shared, move |connection, _| set(connection, &row))
    }
}

/// Changes after a version in their order.
pub(super) fn after(
    connection: &Connection,
    version: u64,
    limit: usize,
) -> rusqlite::Result<Vec<OptOutRow>> {
    let sql = format!("{COLUMNS} WHERE version > ?1 ORDER BY version LIMIT ?2");
    rows(connection, &sql, params![signed(version), limit as i64])
}

fn set(connection: &Connection, row: &OptOutRow) -> rusqlite::Result<bool> {
    let is_out: Option<bool> = connection
        .prepare_cached("SELECT out FROM opt_out WHERE account = ?1 AND number = ?2")?
        .query_row((&row.account, &row.number), |found| found.get(0))
        .optional()?;
    if is_out.unwrap_or(false) == row.out {
        return Ok(false);
    }
    let version = meta(connection, VERSION)? + 1;
    set_meta(connection, VERSION, version)?;
    connection
        .prepare_cached(
            "INSERT INTO opt_out(account, number, out, at, who, version)
             VALUES(?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT(account, number) DO UPDATE SET
             out = excluded.out, at = excluded.at, who = excluded.who, version = excluded.version",
        )?
        .execute((
            &row.account,
            &row.number,
            row.out,
            row.at,
            &row.who,
            version as i64,
        ))?;
    connection
        .prepare_cached("DELETE FROM opt_out WHERE out = 0 AND at < ?1")?
        .execute([row.at - REMEMBERED])?;
    Ok(true)
}

fn rows(
    connection: &Connection,
    sql: &str,
    values: impl rusqlite::Params,
) -> rusqlite::Result<Vec<OptOutRow>> {
    let mut statement = connection.prepare_cached(sql)?;
    let found = statement.query_map(values, read)?;
    found.collect()
}

fn read(row: &Row<'_>) -> rusqlite::Result<OptOutRow> {
    Ok(OptOutRow {
        account: row.get(0)?,
        number: row.get(1)?,
        out: row.get(2)?,
        at: row.get(3)?,
        who: row.get(4)?,
        version: row.get::<_, i64>(5)? as u64,
    })
}
