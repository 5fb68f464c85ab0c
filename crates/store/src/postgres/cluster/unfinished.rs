//! The table `unfinished`: how many messages of an account are not finished, on all nodes together.
//!
//! Called by the cluster port. Guarantees that the sum of an account's rows is right except for
//! changes that nodes have not reported yet: each node adds its changes since its last report, and
//! counting the messages corrects the sum without interfering with these reports.

use std::sync::Arc;

use tokio_postgres::Row;

use super::super::PostgresShared;
use super::super::connect::{begin_snapshot, find};
use super::super::record::number_at;
use super::super::upkeep::meta;
use crate::{StoreError, StoreResult};

/// The node number of the row with the counted correction; nodes have theirs from 0 on.
const COUNTED: i16 = -1;
/// Adds to the counts of accounts in the rows of a node.
const ADD: &str = "INSERT INTO unfinished(account, node, count)
    SELECT u.account, $3, u.change FROM unnest($1::int[], $2::bigint[]) u(account, change)
    ON CONFLICT (account, node) DO UPDATE SET count = unfinished.count + excluded.count";

/// Adds what this node has accepted and ended; answers the sum of each account.
pub async fn add(
    shared: &Arc<PostgresShared>,
    changes: Vec<(u32, i64)>,
) -> StoreResult<Vec<(u32, i64)>> {
    let me = shared.membership().ok_or(StoreError::Fenced)?;
    let (node, _) = me.columns();
    let (accounts, counts) = columns(changes);
    let client = shared.pool.get().await?;
    if !accounts.is_empty() {
        find(&client, ADD, &[&accounts, &counts, &node]).await?;
    }
    let sums = "SELECT account, sum(count)::bigint FROM unfinished GROUP BY account";
    counts_of(&find(&client, sums, &[]).await?)
}

/// Counts the unfinished messages of these accounts, which reads everything active: how many more there
/// are than the sums.
pub async fn recount(
    shared: &Arc<PostgresShared>,
    accounts: Vec<u32>,
) -> StoreResult<Vec<(u32, i64)>> {
    let accounts: Vec<i32> = accounts.into_iter().map(|account| account as i32).collect();
    let mut client = shared.pool.get().await?;
    // One snapshot: messages and the counts that nodes reported must be consistent.
    let local = "SET LOCAL statement_timeout = 0; SET LOCAL jit = off";
    let transaction = begin_snapshot(&mut client, true, local).await?;
    let mark = meta(&*transaction, "low_water").await?;
    // Not cached: the plan must know where the mark is.
    let sql = "WITH open AS (
           SELECT m.sender FROM (SELECT id, sender FROM msg WHERE id >= $1) m
           LEFT JOIN (SELECT id FROM fin WHERE id >= $1) f ON f.id = m.id
           WHERE f.id IS NULL AND m.sender = ANY($2)
           UNION ALL
           SELECT m.sender FROM carry c JOIN msg m ON m.id = c.id
           LEFT JOIN fin f ON f.id = m.id
           WHERE c.id < $1 AND f.id IS NULL AND m.sender = ANY($2)),
         counted AS (SELECT sender, count(*) AS count FROM open GROUP BY sender),
         said AS (SELECT account, sum(count)::bigint AS count FROM unfinished GROUP BY account)
         SELECT a.account, coalesce(c.count, 0) - coalesce(s.count, 0)
         FROM unnest($2::int[]) a(account)
         LEFT JOIN counted c ON c.sender = a.account
         LEFT JOIN said s ON s.account = a.account";
    let rows = transaction.query(sql, &[&mark, &accounts]).await?;
    transaction.commit().await?;
    counts_of(&rows)
}

/// Corrects the sums by so many.
pub async fn correct(shared: &Arc<PostgresShared>, more: Vec<(u32, i64)>) -> StoreResult {
    let (accounts, counts) = columns(more);
    let client = shared.pool.get().await?;
    find(&client, ADD, &[&accounts, &counts, &COUNTED]).await?;
    Ok(())
}

/// Accounts and counts as columns.
fn columns(counts: Vec<(u32, i64)>) -> (Vec<i32>, Vec<i64>) {
    let counts = counts.into_iter();
    counts
        .map(|(account, count)| (account as i32, count))
        .unzip()
}

fn counts_of(rows: &[Row]) -> StoreResult<Vec<(u32, i64)>> {
    let read = |row: &Row| Ok((number_at(row, 0)?, row.try_get(1)?));
    rows.iter().map(read).collect()
}
