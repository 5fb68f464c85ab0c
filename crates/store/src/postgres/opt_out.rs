//! The opt-out port on PostgreSQL. The lists belong to no node, so their writes carry no epoch.
//!
//! The row of `opt_out_version` is held until the commit: versions become visible in their order, and
//! a reader that asks for those after one never misses any.

use tokio_postgres::Transaction;

use super::cold::run_all;
use super::upkeep::one;
use super::{PgStore, PostgresShared};
use crate::cold::{ColdRecord as _, ColdStatement, values};
use crate::opt_out::{OptOutRow, OptOutStore, REMEMBERED};
use crate::{Reply, StoreResult};

impl OptOutStore for PgStore {
    fn set_opt_out(&self, row: OptOutRow) -> Reply<bool> {
        self.ask(|shared| async move { set(&shared, row).await })
    }
}

async fn set(shared: &PostgresShared, mut row: OptOutRow) -> StoreResult<bool> {
    let mut client = shared.cold.get().await?;
    let transaction = client.transaction().await?;
    let next = "UPDATE opt_out_version SET version = version + 1 RETURNING version";
    let version: i64 = one(&*transaction, next, &[]).await?;
    let select = "SELECT out FROM opt_out WHERE account = $1 AND number = $2";
    let is_out = transaction
        .query_opt(select, &[&row.account, &row.number])
        .await?;
    let is_out = is_out.map_or(Ok(false), |found| found.try_get(0))?;
    if is_out == row.out {
        transaction.rollback().await?;
        return Ok(false);
    }
    row.version = version as u64;
    let forget = "DELETE FROM opt_out WHERE NOT out AND at < $1";
    let forget = ColdStatement::new(forget, values![row.at - REMEMBERED]);
    run_all(&*transaction, &[row.set(), forget]).await?;
    transaction.commit().await?;
    Ok(true)
}

/// Writes a row that is moved in, with its version.
pub(super) async fn insert(transaction: &Transaction<'_>, row: &OptOutRow) -> StoreResult {
    let sql = "UPDATE opt_out_version SET version = greatest(version, $1)";
    let version = ColdStatement::new(sql, values![row.version]);
    run_all(transaction, &[row.insert(""), version]).await?;
    Ok(())
}
