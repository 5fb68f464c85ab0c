//! Bind permits: the binds that an account may have over all nodes, each a row of `lease` like a resource.
//!
//! Called by the cluster port. Guarantees that an account has no more permits taken than it may: a permit
//! is taken under the lock of its row. A permit whose owner is no member any more is free, so the permits
//! of a dead node are released when it is removed. A permit whose commit broke off is
//! *uncertain*, and released: before this node takes the next permit of the account, or by itself a moment later. Until
//! then no other bind of this node can have got the same permit.

use std::sync::Arc;
use std::time::Duration;

use deadpool_postgres::Transaction;
use tokio::sync::{Mutex, MutexGuard};
use tokio_postgres::types::ToSql;

use super::super::PostgresShared;
use super::super::connect::{find_in, run_in};
use super::lease::lock_member;
use super::{DbError, DbResult};
use crate::cluster::{Membership, Permit};
use crate::{StoreError, StoreResult};

/// `lease.kind` of a permit: name = account, part = permit.
const PERMIT: i16 = 4;
const RELEASE: &str = "
UPDATE lease SET node = NULL, epoch = NULL
WHERE kind = $1 AND name = $2 AND part = ANY($3) AND node = $4 AND epoch = $5";
/// Accounts that take and give one after another, by the remainder of their number.
const GROUPS: usize = 64;
/// Between two attempts to release what is uncertain.
const SETTLE: Duration = Duration::from_secs(1);

/// The uncertain permits of this node.
pub struct Uncertain([Mutex<Vec<Permit>>; GROUPS]);

/// The number of the permit that a transaction has taken.
enum PermitOutcome {
    Committed(Option<u32>),
    Uncertain(u32, tokio_postgres::Error),
}

// === impl Uncertain ===

impl Default for Uncertain {
    fn default() -> Self {
        Self(std::array::from_fn(|_| Mutex::default()))
    }
}

impl Uncertain {
    /// Those of this account and of some others; of this membership, for others have ended with theirs.
    async fn of(&self, account: u32, me: Membership) -> MutexGuard<'_, Vec<Permit>> {
        let mut permits = self.0[account as usize % GROUPS].lock().await;
        permits.retain(|permit| permit.epoch == me.epoch);
        permits
    }
}

fn numbers_of(uncertain: &[Permit], account: u32) -> Vec<i32> {
    let permits = uncertain.iter().filter(|permit| permit.account == account);
    permits.map(|permit| permit.number as i32).collect()
}

/// Takes a free permit below `most`; `None` when there is none.
pub async fn take(
    shared: &Arc<PostgresShared>,
    account: u32,
    most: u32,
) -> StoreResult<Option<Permit>> {
    let me = shared.membership().ok_or(StoreError::Fenced)?;
    let permit = |number| Permit {
        account,
        number,
        epoch: me.epoch,
    };
    let mut uncertain = shared.cluster.uncertain_permits.of(account, me).await;
    let numbers = numbers_of(&uncertain, account);
    let taken = try_take(shared, me, account as i32, most as i32, &numbers).await;
    match shared.or_fenced(me, taken)? {
        PermitOutcome::Committed(number) => {
            uncertain.retain(|permit| permit.account != account);
            Ok(number.map(permit))
        }
        PermitOutcome::Uncertain(number, error) => {
            release_later(shared, me, &mut uncertain, permit(number));
            Err(DbError::from(error).into())
        }
    }
}

async fn try_take(
    shared: &Arc<PostgresShared>,
    me: Membership,
    account: i32,
    most: i32,
    uncertain: &[i32],
) -> DbResult<PermitOutcome> {
    let mut client = shared.pool.get().await?;
    let transaction = client.transaction().await?;
    lock_member(&transaction, me).await?;
    let insert = "INSERT INTO lease(kind, name, part)
         SELECT $1, $2, part FROM generate_series(0, $3 - 1) part
         WHERE NOT EXISTS(SELECT 1 FROM lease l
           WHERE l.kind = $1 AND l.name = $2 AND l.part = $3 - 1)
         ON CONFLICT DO NOTHING";
    run_in(&transaction, insert, &[&PERMIT, &account, &most]).await?;
    let (node, epoch) = me.columns();
    lock_all(&transaction, account).await?;
    if !uncertain.is_empty() {
        release(&transaction, me, account, uncertain).await?;
    }
    let update = "UPDATE lease SET node = $4, epoch = $5
         WHERE kind = $1 AND name = $2 AND part = (
           SELECT min(l.part) FROM lease l
           WHERE l.kind = $1 AND l.name = $2 AND l.part < $3
             AND NOT EXISTS(SELECT 1 FROM node n WHERE n.node = l.node AND n.epoch = l.epoch))
           AND $3 > (SELECT count(*) FROM lease l
             JOIN node n ON n.node = l.node AND n.epoch = l.epoch
             WHERE l.kind = $1 AND l.name = $2)
         RETURNING part";
    let values: [&(dyn ToSql + Sync); 5] = [&PERMIT, &account, &most, &node, &epoch];
    let rows = find_in(&transaction, update, &values).await?;
    let number = rows.first().map(|row| row.get::<_, i32>(0) as u32);
    match (transaction.commit().await, number) {
        (Ok(()), number) => Ok(PermitOutcome::Committed(number)),
        (Err(error), Some(number)) => Ok(PermitOutcome::Uncertain(number, error)),
        (Err(error), None) => Err(error.into()),
    }
}

/// A locked row is being taken or released at this moment: waits for it, because a bind that is refused too early
/// looks like a wrong count, and what is being committed is not seen yet.
async fn lock_all(transaction: &Transaction<'_>, account: i32) -> DbResult {
    let lock = "SELECT part FROM lease WHERE kind = $1 AND name = $2 ORDER BY part FOR UPDATE";
    find_in(transaction, lock, &[&PERMIT, &account]).await?;
    Ok(())
}

/// Releases those of these permits that are this membership's.
async fn release(
    transaction: &Transaction<'_>,
    me: Membership,
    account: i32,
    numbers: &[i32],
) -> DbResult {
    let (node, epoch) = me.columns();
    let values: [&(dyn ToSql + Sync); 5] = [&PERMIT, &account, &numbers, &node, &epoch];
    run_in(transaction, RELEASE, &values).await?;
    Ok(())
}

/// Releases a permit of this node; at the latest when the database answers again.
pub async fn give(shared: &Arc<PostgresShared>, permit: Permit) {
    let is_mine = |me: &Membership| me.epoch == permit.epoch;
    // Otherwise that membership is over, and its permits with it.
    if let Some(me) = shared.membership().filter(is_mine) {
        let mut uncertain = shared
            .cluster
            .uncertain_permits
            .of(permit.account, me)
            .await;
        let (account, number) = (permit.account as i32, permit.number as i32);
        if let Err(error) = try_give(shared, me, account, &[number]).await {
            let error = StoreError::from(error);
            tracing::debug!(%error, "a bind's permit could not be given back yet");
            release_later(shared, me, &mut uncertain, permit);
        }
    }
}

/// Waits for each step: a single statement that a silent host carries out late would release a permit that was taken again
/// meanwhile. For the locks of this transaction the next taking waits.
async fn try_give(
    shared: &PostgresShared,
    me: Membership,
    account: i32,
    numbers: &[i32],
) -> DbResult {
    let mut client = shared.pool.get().await?;
    let transaction = client.transaction().await?;
    lock_all(&transaction, account).await?;
    release(&transaction, me, account, numbers).await?;
    Ok(transaction.commit().await?)
}

/// Has a permit released that may be this node's, or not.
fn release_later(
    shared: &Arc<PostgresShared>,
    me: Membership,
    uncertain: &mut Vec<Permit>,
    permit: Permit,
) {
    let account = permit.account;
    let is_first = uncertain.iter().all(|other| other.account != account);
    uncertain.push(permit);
    if is_first {
        shared
            .runtime
            .spawn(settle(Arc::clone(shared), me, account));
    }
}

/// Releases what is uncertain of an account, unless the next taking does.
async fn settle(shared: Arc<PostgresShared>, me: Membership, account: u32) {
    loop {
        tokio::time::sleep(SETTLE).await;
        let mut uncertain = shared.cluster.uncertain_permits.of(account, me).await;
        let numbers = numbers_of(&uncertain, account);
        if numbers.is_empty() || shared.membership() != Some(me) {
            return;
        }
        if try_give(&shared, me, account as i32, &numbers)
            .await
            .is_ok()
        {
            uncertain.retain(|permit| permit.account != account);
            return;
        }
    }
}
