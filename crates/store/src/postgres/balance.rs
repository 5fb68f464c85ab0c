//! The balance port on PostgreSQL: purses, top-ups, and the charges of a commit.
//!
//! The blocks that nodes reserve of a purse are in [`cluster`](super::cluster). Charges are written by
//! the lanes, each into its own row, so that no two transactions wait for one another.

use std::collections::BTreeMap;

use super::cold::run_all;
use super::columns::{Parameter, StatementCall};
use super::failure::failed;
use super::statements::StatementStep;
use super::{PgStore, PostgresShared};
use crate::balance::{BalanceStore, BlockOrder, BlockStore, PurseRow, TopUpOutcome, TopUpRow};
use crate::cluster::Membership;
use crate::cold::{ColdRecord as _, ColdTables as _};
use crate::{Reply, StoreResult, WriteBatch};
use smsc_domain::price::Purse;

/// What nodes have reserved of a purse `p`.
const RESERVED: &str = "CAST(coalesce((SELECT sum(b.credits) FROM purse_block b
    WHERE b.account = p.account AND b.day = p.day), 0) AS bigint)";

impl BalanceStore for PgStore {
    fn purses(&self, account: Option<u32>) -> Reply<Vec<PurseRow>> {
        self.look_up(PurseRow::of(account, RESERVED), PurseRow::all)
    }

    fn top_up(&self, row: TopUpRow, floor: i64) -> Reply<TopUpOutcome> {
        self.ask(|shared| async move { top_up(&shared, row, floor).await })
    }

    fn top_ups(&self, account: u32, below: u64, limit: usize) -> Reply<Vec<TopUpRow>> {
        self.select(TopUpRow::below(account, below, limit), TopUpRow::all)
    }

    fn forget_quotas(&self, day: u32) -> Reply<()> {
        let forget = ["purse", "purse_block"].map(|table| PurseRow::forget(table, day));
        self.change(forget.into(), |_| Ok(()))
    }
}

impl BlockStore for PgStore {
    fn order_block(&self, order: BlockOrder) -> Reply<i64> {
        self.ask(|shared| async move { super::cluster::order_block(&shared, order).await })
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
    let columns: Vec<Parameter<'static>> = vec![
        Box::new(of(|purse| purse.account)),
        Box::new(of(|purse| purse.day)),
        Box::new(amounts),
        Box::new(i16::from(member.node)),
        Box::new(member.epoch as i64),
        Box::new(lane as i32),
    ];
    Some(StatementCall::new(StatementStep::Charge, columns))
}

async fn top_up(shared: &PostgresShared, row: TopUpRow, floor: i64) -> StoreResult<TopUpOutcome> {
    let account = row.account as i32;
    let mut client = shared.cold.get().await?;
    let transaction = client.transaction().await?;
    let insert = row.insert("ON CONFLICT(account, reference) DO NOTHING");
    let added = run_all(&*transaction, &[insert]).await?.rows;
    if added == 0 {
        let known = run_all(&*transaction, &[row.known()]).await?;
        let known = TopUpRow::first(known.returned)?;
        return known.map(TopUpOutcome::Repeated).ok_or_else(|| {
            failed("the top-up with this reference was removed meanwhile".to_owned())
        });
    }
    let insert = "INSERT INTO purse(account, day, credits) VALUES($1, 0, 0) ON CONFLICT DO NOTHING";
    transaction.execute(insert, &[&account]).await?;
    let update = "UPDATE purse SET credits = credits + $2::bigint
         WHERE account = $1 AND day = 0
           AND ($2::bigint >= 0 OR credits + $2::bigint >= $3::bigint)";
    let changed = transaction
        .execute(update, &[&account, &row.amount, &floor])
        .await?;
    if changed == 0 {
        return Ok(TopUpOutcome::TooLow);
    }
    transaction.commit().await?;
    Ok(TopUpOutcome::Done)
}
