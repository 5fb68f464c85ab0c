//! The table `purse_block`: blocks that nodes have reserved from shared purses.
//!
//! Called by the balance port, and when a membership ends. Guarantees that the sum of a purse and its
//! blocks changes by charges and top-ups only, that a block belongs to a member, and that a late
//! request does nothing.
//!
//! Locks are taken in one order: the node's row, its lanes, purses by account and day, blocks.

use std::sync::Arc;

use deadpool_postgres::Transaction;
use tokio_postgres::types::ToSql;

use super::super::PostgresShared;
use super::super::connect::{find_in, run_in};
use super::DbResult;
use super::lease::lock_member;
use crate::balance::{BlockChange, BlockOrder};
use crate::cluster::Membership;
use crate::{StoreError, StoreResult};

/// The lane number of the row with the reserved amount; lanes have theirs from 0 on.
const TAKEN: i32 = -1;
/// A node that requests more than it lacks gets at most this part of what is left.
const PART: i64 = 4;

/// Carries an order out; see [`BlockStore`](crate::balance::BlockStore).
pub async fn order(shared: &Arc<PostgresShared>, order: BlockOrder) -> StoreResult<i64> {
    let me = shared.membership().ok_or(StoreError::Fenced)?;
    if me.epoch != order.epoch {
        return Err(StoreError::Fenced);
    }
    shared.or_fenced(me, try_order(shared, me, &order).await)
}

async fn try_order(
    shared: &Arc<PostgresShared>,
    me: Membership,
    order: &BlockOrder,
) -> DbResult<i64> {
    let (account, day) = (order.purse.account as i32, order.purse.day as i32);
    let (node, epoch) = me.columns();
    let mut client = shared.pool.get().await?;
    let transaction = client.transaction().await?;
    lock_member(&transaction, me).await?;
    if matches!(order.change, BlockChange::Take { .. }) {
        let make = "INSERT INTO purse(account, day, credits) VALUES($1, $2, 0)
                    ON CONFLICT DO NOTHING";
        run_in(&transaction, make, &[&account, &day]).await?;
    }
    let purse = "SELECT credits FROM purse WHERE account = $1 AND day = $2 FOR UPDATE";
    let left = find_in(&transaction, purse, &[&account, &day]).await?;
    let left: i64 = left.first().map_or(Ok(0), |row| row.try_get(0))?;
    let block = "SELECT credits, number FROM purse_block
        WHERE account = $1 AND day = $2 AND node = $3 AND epoch = $4 AND lane = $5";
    let key: [&(dyn ToSql + Sync); 5] = [&account, &day, &node, &epoch, &TAKEN];
    let (taken, last): (i64, i64) = match find_in(&transaction, block, &key).await?.first() {
        Some(row) => (row.try_get(0)?, row.try_get(1)?),
        None => (0, 0),
    };
    if last >= order.number {
        return Ok(taken);
    }
    let amount = match order.change {
        BlockChange::Look => 0,
        BlockChange::Take { lack, want, floor } => share(left.saturating_sub(floor), lack, want),
        BlockChange::Give { amount } => -amount,
    };
    let change = "UPDATE purse SET credits = credits - $3 WHERE account = $1 AND day = $2";
    run_in(&transaction, change, &[&account, &day, &amount]).await?;
    let note = "INSERT INTO purse_block(account, day, node, epoch, lane, credits, number)
         VALUES($1, $2, $3, $4, $5, $6, $7)
         ON CONFLICT(account, day, node, epoch, lane) DO UPDATE
         SET credits = purse_block.credits + excluded.credits, number = excluded.number";
    let values: [&(dyn ToSql + Sync); 7] = [
        &account,
        &day,
        &node,
        &epoch,
        &TAKEN,
        &amount,
        &order.number,
    ];
    run_in(&transaction, note, &values).await?;
    transaction.commit().await?;
    Ok(taken + amount)
}

/// The part of the remaining amount that a node gets.
fn share(left: i64, lack: i64, want: i64) -> i64 {
    let left = left.max(0);
    lack.max(want.min(left / PART)).min(left)
}

/// Returns what is left of blocks without a member to their purses. Called when a membership and its
/// lanes have been deleted, in the same transaction.
pub async fn return_lost(transaction: &Transaction<'_>) -> DbResult {
    let lock = "SELECT 1 FROM purse p WHERE EXISTS(
                  SELECT 1 FROM purse_block b WHERE b.account = p.account AND b.day = p.day
                    AND NOT EXISTS(SELECT 1 FROM node n WHERE n.node = b.node AND n.epoch = b.epoch))
                ORDER BY p.account, p.day FOR UPDATE";
    transaction.query(lock, &[]).await?;
    let put_back = "WITH gone AS (
          DELETE FROM purse_block b
          WHERE NOT EXISTS(SELECT 1 FROM node n WHERE n.node = b.node AND n.epoch = b.epoch)
          RETURNING account, day, credits),
        sums AS (SELECT account, day, sum(credits)::bigint AS credits FROM gone
          GROUP BY account, day)
        UPDATE purse p SET credits = p.credits + s.credits FROM sums s
        WHERE p.account = s.account AND p.day = s.day";
    transaction.execute(put_back, &[]).await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::share;

    #[test]
    fn blocks_shrink_with_what_is_left() {
        assert_eq!(share(1_000_000, 10, 2_000), 2_000);
        assert_eq!(share(1_000, 10, 2_000), 250);
        assert_eq!(share(20, 10, 2_000), 10);
        assert_eq!(share(7, 10, 2_000), 7, "all there is");
        assert_eq!(share(1, 1, 1), 1);
        assert_eq!(share(0, 1, 1), 0);
        assert_eq!(share(-5, 1, 1), 0, "a quota that was made smaller");
    }
}
