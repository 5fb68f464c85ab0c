//! The opt-out port on PostgreSQL. The lists belong to no node, so their writes carry no epoch.
//!
//! The row of `opt_out_version` is held until the commit: versions become visible in their order, and
//! a reader that asks for those after one never misses any.

use std::sync::Arc;

use tokio_postgres::types::ToSql;
use tokio_postgres::{Row, Transaction};

use super::{PgStore, PostgresShared};
use crate::opt_out::{OptOutRow, OptOutSearch, OptOutStore, REMEMBERED};
use crate::{Reply, StoreError, signed};

const COLUMNS: &str = "SELECT account, number, out, at, who, version FROM opt_out";

impl OptOutStore for PgStore {
    fn opt_outs_after(&self, version: u64, limit: usize) -> Reply<Vec<OptOutRow>> {
        let shared = Arc::clone(&self.shared);
        self.shared.ask(async move {
            let client = shared.reader().await?;
            let sql = format!("{COLUMNS} WHERE version > $1 ORDER BY version LIMIT $2");
            let statement = client.prepare_cached(&sql).await?;
            let rows = client
                .query(&statement, &[&signed(version), &(limit as i64)])
                .await?;
            rows.iter().map(read).collect()
        })
    }

    fn opt_outs(&self, search: OptOutSearch) -> Reply<Vec<OptOutRow>> {
        let shared = Arc::clone(&self.shared);
        self.shared.ask(async move {
            let client = shared.reader().await?;
            let sql = format!(
                "{COLUMNS} WHERE out AND version < $1 AND ($2::text IS NULL OR account = $2)
                 AND ($3::text IS NULL OR number = $3) ORDER BY version DESC LIMIT $4"
            );
            let statement = client.prepare_cached(&sql).await?;
            let rows = client
                .query(
                    &statement,
                    &[
                        &signed(search.below),
                        &search.account,
                        &search.number,
                        &(search.limit as i64),
                    ],
                )
                .await?;
            rows.iter().map(read).collect()
        })
    }

    fn set_opt_out(&self, row: OptOutRow) -> Reply<bool> {
        let shared = Arc::clone(&self.shared);
        self.shared.ask(async move { set(&shared, &row).await })
    }
}

async fn set(shared: &PostgresShared, row: &OptOutRow) -> Result<bool, StoreError> {
    let mut client = shared.reader().await?;
    let transaction = client.transaction().await?;
    let version: i64 = transaction
        .query_one(
            "UPDATE opt_out_version SET version = version + 1 RETURNING version",
            &[],
        )
        .await?
        .try_get(0)?;
    let is_out = transaction
        .query_opt(
            "SELECT out FROM opt_out WHERE account = $1 AND number = $2",
            &[&row.account, &row.number],
        )
        .await?;
    let is_out = is_out.map_or(Ok(false), |found| found.try_get(0))?;
    if is_out == row.out {
        transaction.rollback().await?;
        return Ok(false);
    }
    transaction
        .execute(
            "INSERT INTO opt_out(account, number, out, at, who, version)
             VALUES($1, $2, $3, $4, $5, $6) ON CONFLICT(account, number) DO UPDATE SET
             out = excluded.out, at = excluded.at, who = excluded.who, version = excluded.version",
            &[
                &row.account,
                &row.number,
                &row.out,
                &row.at,
                &row.who,
                &version,
            ],
        )
        .await?;
    transaction
        .execute(
            "DELETE FROM opt_out WHERE NOT out AND at < $1",
            &[&(row.at - REMEMBERED)],
        )
        .await?;
    transaction.commit().await?;
    Ok(true)
}

/// Writes a row that is moved in, with its version.
pub(super) async fn insert(
    transaction: &Transaction<'_>,
    row: &OptOutRow,
) -> Result<(), tokio_postgres::Error> {
    let version = signed(row.version);
    let sql = "INSERT INTO opt_out(account, number, out, at, who, version)
               VALUES($1, $2, $3, $4, $5, $6)";
    let values: [&(dyn ToSql + Sync); 6] = [
        &row.account,
        &row.number,
        &row.out,
        &row.at,
        &row.who,
        &version,
    ];
    transaction.execute(sql, &values).await?;
    let sql = "UPDATE opt_out_version SET version = greatest(version, $1)";
    transaction.execute(sql, &[&version]).await?;
    Ok(())
}

fn read(row: &Row) -> Result<OptOutRow, StoreError> {
    Ok(OptOutRow {
        account: row.try_get(0)?,
        number: row.try_get(1)?,
        out: row.try_get(2)?,
        at: row.try_get(3)?,
        who: row.try_get(4)?,
        version: row.try_get::<_, i64>(5)? as u64,
    })
}
