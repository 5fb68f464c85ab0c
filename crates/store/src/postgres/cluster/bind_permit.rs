//! Bind permits: the binds that an account may have over all nodes, each a row of `lease` like a resource.
//!
//! Called by the cluster port. Guarantees that an account has no more permits taken than it may: a permit
//! is taken under the lock of its row. A permit whose owner is no member any more is free, so the permits
//! of a dead node are released when it is removed.

use std::sync::Arc;

use super::super::Shared;
use super::DbError;
use super::lease::lock_member;
use crate::StoreError;
use crate::cluster::{Membership, Permit};

/// `lease.kind` of a permit: name = account, part = permit.
const PERMIT: i16 = 4;

/// Takes a free permit below `most`; `None` when there is none.
pub async fn take(
    shared: &Arc<Shared>,
    account: u32,
    most: u32,
) -> Result<Option<Permit>, StoreError> {
    let me = shared.membership().ok_or(StoreError::Fenced)?;
    let taken = try_take(shared, me, account as i32, most as i32).await?;
    let number = shared.or_fenced(me, taken)?;
    Ok(number.map(|number| Permit {
        account,
        number,
        epoch: me.epoch,
    }))
}

async fn try_take(
    shared: &Arc<Shared>,
    me: Membership,
    account: i32,
    most: i32,
) -> Result<Option<Option<u32>>, DbError> {
    let mut client = shared.pool.get().await?;
    let transaction = client.transaction().await?;
    if !lock_member(&transaction, me).await? {
        return Ok(None);
    }
    let statement = transaction
        .prepare_cached(
            "INSERT INTO lease(kind, name, part)
             SELECT $1, $2, part FROM generate_series(0, $3 - 1) part
             WHERE NOT EXISTS(SELECT 1 FROM lease l
               WHERE l.kind = $1 AND l.name = $2 AND l.part = $3 - 1)
             ON CONFLICT DO NOTHING",
        )
        .await?;
    transaction
        .execute(&statement, &[&PERMIT, &account, &most])
        .await?;
    let (node, epoch) = me.columns();
    // A locked row is being taken or released at this moment: wait for it, because a bind that is
    // refused too early looks like a wrong count.
    let statement = transaction
        .prepare_cached(
            "SELECT part FROM lease WHERE kind = $1 AND name = $2 ORDER BY part FOR UPDATE",
        )
        .await?;
    transaction.query(&statement, &[&PERMIT, &account]).await?;
    let statement = transaction
        .prepare_cached(
            "UPDATE lease SET node = $4, epoch = $5
             WHERE kind = $1 AND name = $2 AND part = (
               SELECT min(l.part) FROM lease l
               WHERE l.kind = $1 AND l.name = $2 AND l.part < $3
                 AND NOT EXISTS(SELECT 1 FROM node n WHERE n.node = l.node AND n.epoch = l.epoch))
               AND $3 > (SELECT count(*) FROM lease l
                 JOIN node n ON n.node = l.node AND n.epoch = l.epoch
                 WHERE l.kind = $1 AND l.name = $2)
             RETURNING part",
        )
        .await?;
    let row = transaction
        .query_opt(&statement, &[&PERMIT, &account, &most, &node, &epoch])
        .await?;
    transaction.commit().await?;
    Ok(Some(row.map(|row| row.get::<_, i32>(0) as u32)))
}

/// Releases a permit of this node.
pub async fn give(shared: &Arc<Shared>, permit: Permit) -> Result<(), StoreError> {
    let is_mine = |me: &Membership| me.epoch == permit.epoch;
    let Some(me) = shared.membership().filter(is_mine) else {
        // That membership is over, and its permits with it.
        return Ok(());
    };
    let (node, epoch) = me.columns();
    let work = async {
        let client = shared.pool.get().await?;
        let statement = client
            .prepare_cached(
                "UPDATE lease SET node = NULL, epoch = NULL
                 WHERE kind = $1 AND name = $2 AND part = $3 AND node = $4 AND epoch = $5",
            )
            .await?;
        let (account, number) = (permit.account as i32, permit.number as i32);
        client
            .execute(&statement, &[&PERMIT, &account, &number, &node, &epoch])
            .await?;
        Ok::<_, DbError>(())
    };
    Ok(work.await?)
}
