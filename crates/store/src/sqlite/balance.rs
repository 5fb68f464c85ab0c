//! The balance port on SQLite: reads on the connections of cold tables, top-ups as jobs of the
//! writer, and the charges of a commit as one statement per purse.

use std::collections::BTreeMap;

use rusqlite::{Connection, OptionalExtension as _};

use super::cold::{records, run};
use super::write_queue::WaitingBatch;
use super::{SqliteStore, writer};
use crate::balance::{BalanceStore, PurseRow, TopUpOutcome, TopUpRow};
use crate::cold::{ColdRecord as _, ColdTables as _};
use crate::{Reply, Written};
use smsc_domain::price::Purse;

impl BalanceStore for SqliteStore {
    fn purses(&self, account: Option<u32>) -> Reply<Vec<PurseRow>> {
        self.look_up(PurseRow::of(account, "0"), PurseRow::all)
    }

    fn top_up(&self, row: TopUpRow, floor: i64) -> Reply<TopUpOutcome> {
        writer::transact(&self.shared, move |connection, _| {
            top_up(connection, &row, floor)
        })
    }

    fn top_ups(&self, account: u32, below: u64, limit: usize) -> Reply<Vec<TopUpRow>> {
        self.select(TopUpRow::below(account, below, limit), TopUpRow::all)
    }

    fn forget_quotas(&self, day: u32) -> Reply<()> {
        self.change(vec![PurseRow::forget("purse", day)], |_| Ok(()))
    }
}

/// Writes the charges of the messages of a group, except rejected ones.
pub fn charge(
    connection: &Connection,
    group: &[WaitingBatch],
    written: &[Written],
) -> rusqlite::Result<()> {
    let mut sums: BTreeMap<Purse, i64> = BTreeMap::new();
    for (pending, written) in group.iter().zip(written) {
        for row in &pending.batch.charge {
            let is_rejected =
                |rejected: &crate::Rejected| rejected.table == "msg" && rejected.id == row.id;
            if !written.rejected.iter().any(is_rejected) {
                *sums.entry(row.purse).or_default() += row.amount;
            }
        }
    }
    for (purse, amount) in sums {
        add(connection, purse, -amount)?;
    }
    Ok(())
}

/// Accounts whose balance is below zero, or more than was ever put into it.
pub(super) fn wrong_balances(connection: &Connection) -> rusqlite::Result<Vec<(u32, i64, i64)>> {
    connection
        .prepare(
            "SELECT p.account, p.credits, t.amount FROM purse p JOIN (
               SELECT p.account, coalesce(sum(t.amount), 0) AS amount
               FROM purse p LEFT JOIN top_ups t ON t.account = p.account
               WHERE p.day = 0 GROUP BY p.account) t ON t.account = p.account
             WHERE p.day = 0 AND (p.credits < 0 OR p.credits > t.amount)",
        )?
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?
        .collect()
}

fn top_up(connection: &Connection, row: &TopUpRow, floor: i64) -> rusqlite::Result<TopUpOutcome> {
    if row.reference.is_some()
        && let Some(known) = records(connection, &row.known())?.pop()
    {
        return Ok(TopUpOutcome::Repeated(known));
    }
    let balance = Purse::balance(row.account);
    let before: Option<i64> = connection
        .prepare_cached("SELECT credits FROM purse WHERE account = ?1 AND day = ?2")?
        .query_row((balance.account, balance.day), |row| row.get(0))
        .optional()?;
    let after = before.unwrap_or(0).saturating_add(row.amount);
    if row.amount < 0 && after < floor {
        return Ok(TopUpOutcome::TooLow);
    }
    add(connection, balance, row.amount)?;
    run(connection, &row.insert(""))?;
    Ok(TopUpOutcome::Done)
}

fn add(connection: &Connection, purse: Purse, amount: i64) -> rusqlite::Result<()> {
    let sql = "INSERT INTO purse(account, day, credits) VALUES(?1, ?2, ?3)
        ON CONFLICT(account, day) DO UPDATE SET credits = credits + excluded.credits";
    let mut add = connection.prepare_cached(sql)?;
    add.execute((purse.account, purse.day, amount)).map(drop)
}
