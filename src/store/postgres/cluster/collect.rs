//! Takes items out of the shared inbox for the partitions of this node.
//!
//! Called by the cluster port. Keeps true that an item is answered once: it is deleted in the
//! transaction that reads it, and when the connection breaks during the commit, the item is kept
//! aside until the next call has seen whether the inbox still has it.

use std::sync::Arc;

use deadpool_postgres::Transaction;
use tokio_postgres::Row;

use super::super::Shared;
use super::DbError;
use super::lease::{QUEUE, lock_member};
use crate::pb::delivery::What;
use crate::store::cluster::Membership;
use crate::store::{HandOver, StoreError};

/// Is there anything? Writes nothing, so that looking costs no commit. The LATERAL makes it one
/// look into the index for each partition, whatever the inbox holds for others.
const LOOK: &str = "
SELECT EXISTS(SELECT 1 FROM node WHERE node = $1 AND epoch = $2),
  EXISTS(SELECT 1 FROM lease l CROSS JOIN LATERAL (
    SELECT 1 FROM inbox i WHERE i.queue = l.name AND i.part = l.part LIMIT 1) i
    WHERE l.node = $1 AND l.epoch = $2 AND l.kind = $3 AND l.taken)";

const TAKE: &str = "
WITH oldest AS MATERIALIZED (
  SELECT i.queue, i.part, i.id, i.what FROM lease l CROSS JOIN LATERAL (
    SELECT i.queue, i.part, i.id, i.what FROM inbox i
    WHERE i.queue = l.name AND i.part = l.part ORDER BY i.id LIMIT $4) i
  WHERE l.node = $1 AND l.epoch = $2 AND l.kind = $3 AND l.taken
  ORDER BY i.id LIMIT $4)
DELETE FROM inbox i USING oldest o
WHERE i.queue = o.queue AND i.part = o.part AND i.id = o.id AND i.what = o.what
RETURNING i.queue, i.part, i.id, i.what, i.priority, i.due_at, i.expires_at, i.attempts";

/// The lock waits for a transaction of ours that the server may still be committing.
const STILL_THERE: &str = "
SELECT i.queue, i.part, i.id, i.what FROM inbox i
JOIN unnest($1::int[], $2::smallint[], $3::bigint[], $4::smallint[]) u(queue, part, id, what)
  ON i.queue = u.queue AND i.part = u.part AND i.id = u.id AND i.what = u.what FOR UPDATE OF i";

/// Takes up to `limit` items, oldest first.
pub async fn collect(shared: &Arc<Shared>, limit: usize) -> Result<Vec<HandOver>, StoreError> {
    let me = shared.membership().ok_or(StoreError::Fenced)?;
    let _collecting = shared.cluster.collecting.read().await;
    let mut uncertain = shared.cluster.uncertain.lock().await;
    let taken = try_collect(shared, me, limit, &mut uncertain).await?;
    shared.or_fenced(me, taken)
}

/// `None` when this node is no member any more.
async fn try_collect(
    shared: &Arc<Shared>,
    me: Membership,
    limit: usize,
    uncertain: &mut Vec<HandOver>,
) -> Result<Option<Vec<HandOver>>, DbError> {
    let mut client = shared.pool.get().await?;
    let (node, epoch) = me.columns();
    if uncertain.is_empty() {
        let look = client.prepare_cached(LOOK).await?;
        let row = client.query_one(&look, &[&node, &epoch, &QUEUE]).await?;
        if !row.get::<_, bool>(0) {
            return Ok(None);
        }
        if !row.get::<_, bool>(1) {
            return Ok(Some(Vec::new()));
        }
    }
    let transaction = client.transaction().await?;
    if !lock_member(&transaction, me).await? {
        return Ok(None);
    }
    let mut items = if uncertain.is_empty() {
        Vec::new()
    } else {
        gone(&transaction, uncertain).await?
    };
    let room = limit.saturating_sub(items.len());
    let take = transaction.prepare_cached(TAKE).await?;
    let rows = transaction
        .query(&take, &[&node, &epoch, &QUEUE, &(room as i64)])
        .await?;
    items.extend(rows.iter().map(read));
    items.sort_unstable_by_key(|item| item.id);
    if let Err(error) = transaction.commit().await {
        *uncertain = items;
        return Err(error.into());
    }
    uncertain.clear();
    Ok(Some(items))
}

/// Those that the inbox has no more: the commit that took them did happen.
async fn gone(
    transaction: &Transaction<'_>,
    uncertain: &[HandOver],
) -> Result<Vec<HandOver>, DbError> {
    let queues: Vec<i32> = uncertain.iter().map(|item| item.queue as i32).collect();
    let parts: Vec<i16> = uncertain.iter().map(|item| item.part.into()).collect();
    let ids: Vec<i64> = uncertain.iter().map(|item| item.id as i64).collect();
    let whats: Vec<i16> = uncertain.iter().map(|item| item.what as i16).collect();
    let rows = transaction
        .query(STILL_THERE, &[&queues, &parts, &ids, &whats])
        .await?;
    let there: Vec<(u32, u8, u64, i16)> = rows
        .iter()
        .map(|row| {
            (
                row.get::<_, i32>(0) as u32,
                row.get::<_, i16>(1) as u8,
                row.get::<_, i64>(2) as u64,
                row.get(3),
            )
        })
        .collect();
    let is_gone =
        |item: &&HandOver| !there.contains(&(item.queue, item.part, item.id, item.what as i16));
    Ok(uncertain.iter().filter(is_gone).copied().collect())
}

fn read(row: &Row) -> HandOver {
    HandOver {
        queue: row.get::<_, i32>(0) as u32,
        part: row.get::<_, i16>(1) as u8,
        id: row.get::<_, i64>(2) as u64,
        what: What::try_from(i32::from(row.get::<_, i16>(3))).unwrap_or_default(),
        priority: row.get::<_, i16>(4) as u32,
        due_at: row.get(5),
        expires_at: row.get(6),
        attempts: row.get::<_, i32>(7) as u32,
    }
}
