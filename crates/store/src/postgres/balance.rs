//! The balance port on PostgreSQL: purses, top-ups, and the charges of a commit.
//!
//! The blocks that nodes reserve of a purse are in [`cluster`](super::cluster). Charges are written by
//! the lanes, each into its own row, so that no two transactions wait for one another.

use std::collections::BTreeMap;
use std::sync::Arc;

use tokio_postgres::{Row, Transaction};

use super::columns::StatementCall;
use super::statements::StatementStep;
use super::{PgStore, PostgresShared};
use crate::balance::{BalanceStore, BlockOrder, BlockStore, PurseRow, TopUpOutcome, TopUpRow};
use crate::cluster::Membership;
use crate::{Reply, StoreError, WriteBatch, signed};
use smsc_domain::price::Purse;

/// Columns of a top-up, in the order of [`read_top_up`].
const TOP_UP: &str = "SELECT id, account, amount, reference, by FROM top_ups";

impl BalanceStore for PgStore {
    fn purses(&self, account: Option<u32>) -> Reply<Vec<PurseRow>> {
        let shared = Arc::clone(&self.shared);
        self.shared
            .ask(async move { purses(&shared, account.map(|account| account as i32)).await })
    }

    fn top_up(&self, row: TopUpRow, floor: i64) -> Reply<TopUpOutcome> {
        let shared = Arc::clone(&self.shared);
        self.shared
            .ask(async move { top_up(&shared, row, floor).await })
    }

    fn top_ups(&self, account: u32, below: u64, limit: usize) -> Reply<Vec<TopUpRow>> {
        let shared = Arc::clone(&self.shared);
        self.shared.ask(async move {
            let client = shared.reader().await?;
            let statement = client
                .prepare_cached(&format!(
                    "{TOP_UP} WHERE account = $1 AND id < $2 ORDER BY id DESC LIMIT $3"
                ))
                .await?;
            let below = signed(below);
            let limit = signed(limit);
            let rows = client
                .query(&statement, &[&(account as i32), &below, &limit])
                .await?;
            rows.iter().map(read_top_up).collect()
        })
    }

    fn forget_quotas(&self, day: u32) -> Reply<()> {
        let shared = Arc::clone(&self.shared);
        self.shared.ask(async move {
            let day = day as i32;
            let mut client = shared.reader().await?;
            let transaction = client.transaction().await?;
            for table in ["purse", "purse_block"] {
                let delete = format!("DELETE FROM {table} WHERE day > 0 AND day < $1");
                transaction.execute(&delete, &[&day]).await?;
            }
            transaction.commit().await?;
            Ok(())
        })
    }
}

impl BlockStore for PgStore {
    fn order_block(&self, order: BlockOrder) -> Reply<i64> {
        let shared = Arc::clone(&self.shared);
        self.shared
            .ask(async move { super::cluster::order_block(&shared, order).await })
    }
}

/// The statement that writes what these batches cost, on one lane; `None` when they cost nothing.
pub fn charges(
    batches: &[&WriteBatch],
    member: Membership,
    lane: usize,
) -> Option<StatementCall<'static>> {
    let mut sums: BTreeMap<Purse, i64> = BTreeMap::new();
    for row in batches.iter().flat_map(|batch| &batch.charge) {
        *sums.entry(row.purse).or_default() += row.amount;
    }
    if sums.is_empty() {
        return None;
    }
    let of = |part: fn(&Purse) -> u32| -> Vec<i32> {
        sums.keys().map(|purse| part(purse) as i32).collect()
    };
    let amounts: Vec<i64> = sums.values().copied().collect();
    Some(StatementCall {
        step: StatementStep::Charge,
        parameters: vec![
            Box::new(of(|purse| purse.account)),
            Box::new(of(|purse| purse.day)),
            Box::new(amounts),
            Box::new(i16::from(member.node)),
            Box::new(member.epoch as i64),
            Box::new(lane as i32),
        ],
        rows: 0,
    })
}

/// Writes the balances that are moved in from an embedded store.
pub async fn import(
    transaction: &Transaction<'_>,
    purses: &[PurseRow],
    top_ups: &[TopUpRow],
) -> Result<(), StoreError> {
    for row in purses {
        let (account, day) = (row.purse.account as i32, row.purse.day as i32);
        let insert = "INSERT INTO purse(account, day, credits) VALUES($1, $2, $3)";
        transaction
            .execute(insert, &[&account, &day, &row.left])
            .await?;
    }
    for row in top_ups {
        let (id, account) = (row.id as i64, row.account as i32);
        let insert =
            "INSERT INTO top_ups(id, account, amount, reference, by) VALUES($1, $2, $3, $4, $5)";
        transaction
            .execute(
                insert,
                &[&id, &account, &row.amount, &row.reference, &row.by],
            )
            .await?;
    }
    Ok(())
}

async fn purses(
    shared: &PostgresShared,
    account: Option<i32>,
) -> Result<Vec<PurseRow>, StoreError> {
    let client = shared.reader().await?;
    let statement = client
        .prepare_cached(
            "SELECT p.account, p.day, p.credits, coalesce((
               SELECT sum(b.credits) FROM purse_block b
               WHERE b.account = p.account AND b.day = p.day), 0)::bigint
             FROM purse p WHERE $1::int IS NULL OR p.account = $1 ORDER BY p.account, p.day",
        )
        .await?;
    let rows = client.query(&statement, &[&account]).await?;
    let read = |row: &Row| {
        Ok(PurseRow {
            purse: Purse {
                account: row.try_get::<_, i32>(0)? as u32,
                day: row.try_get::<_, i32>(1)? as u32,
            },
            left: row.try_get(2)?,
            reserved: row.try_get(3)?,
        })
    };
    rows.iter().map(read).collect()
}

async fn top_up(
    shared: &PostgresShared,
    row: TopUpRow,
    floor: i64,
) -> Result<TopUpOutcome, StoreError> {
    let account = row.account as i32;
    let mut client = shared.reader().await?;
    let transaction = client.transaction().await?;
    let added = transaction
        .execute(
            "INSERT INTO top_ups(id, account, amount, reference, by) VALUES($1, $2, $3, $4, $5)
             ON CONFLICT(account, reference) DO NOTHING",
            &[
                &(row.id as i64),
                &account,
                &row.amount,
                &row.reference,
                &row.by,
            ],
        )
        .await?;
    if added == 0 {
        let known = transaction
            .query_one(
                &format!("{TOP_UP} WHERE account = $1 AND reference = $2"),
                &[&account, &row.reference],
            )
            .await?;
        return Ok(TopUpOutcome::Repeated(read_top_up(&known)?));
    }
    transaction
        .execute(
            "INSERT INTO purse(account, day, credits) VALUES($1, 0, 0) ON CONFLICT DO NOTHING",
            &[&account],
        )
        .await?;
    let changed = transaction
        .execute(
            "UPDATE purse SET credits = credits + $2::bigint
             WHERE account = $1 AND day = 0
               AND ($2::bigint >= 0 OR credits + $2::bigint >= $3::bigint)",
            &[&account, &row.amount, &floor],
        )
        .await?;
    if changed == 0 {
        return Ok(TopUpOutcome::TooLow);
    }
    transaction.commit().await?;
    Ok(TopUpOutcome::Done)
}

fn read_top_up(row: &Row) -> Result<TopUpRow, StoreError> {
    Ok(TopUpRow {
        id: row.try_get::<_, i64>(0)? as u64,
        account: row.try_get::<_, i32>(1)? as u32,
        amount: row.try_get(2)?,
        reference: row.try_get(3)?,
        by: row.try_get(4)?,
    })
}
