//! Takes items out of the shared hand-off table for the partitions of this node.
//!
//! Called by the cluster port. Guarantees that a row is returned once: it is deleted in the
//! transaction that reads it, and if the connection breaks during the commit, the row is kept in
//! memory until the next call has checked whether the hand-off table still has it.

use std::sync::Arc;

use deadpool_postgres::Transaction;
use futures_util::{TryFutureExt, future};
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use super::super::PostgresShared;
use super::DbResult;
use super::lease::{QUEUE, lock_member};
use crate::cluster::{Handed, MOST_COLLECTED_OCTETS, Membership, Partition};
use crate::{StoreError, StoreResult};

/// The LATERAL makes it one index look-up per partition, whatever the table holds for others.
const TAKE: &str = "
WITH oldest AS MATERIALIZED (
  SELECT i.queue, i.part, i.seq,
    sum(i.octets) OVER (ORDER BY i.seq ROWS UNBOUNDED PRECEDING) - i.octets AS octets_before
  FROM lease l CROSS JOIN LATERAL (
    SELECT i.queue, i.part, i.seq, octet_length(i.items) AS octets FROM inbox i
    WHERE i.queue = l.name AND i.part = l.part ORDER BY i.seq LIMIT $4) i
  WHERE l.node = $1 AND l.epoch = $2 AND l.kind = $3 AND l.taken
    AND NOT EXISTS (SELECT 1 FROM unnest($5::int[], $6::smallint[]) e(queue, part)
      WHERE e.queue = l.name AND e.part = l.part)
  ORDER BY i.seq LIMIT $4)
DELETE FROM inbox i USING oldest o
WHERE i.queue = o.queue AND i.part = o.part AND i.seq = o.seq AND o.octets_before < $7
RETURNING i.queue, i.part, i.seq, i.items";

/// The lock waits for a transaction of ours that the server may still be committing.
const STILL_THERE: &str = "
SELECT i.seq FROM inbox i
JOIN unnest($1::int[], $2::smallint[], $3::bigint[]) u(queue, part, seq)
  ON i.queue = u.queue AND i.part = u.part AND i.seq = u.seq FOR UPDATE OF i";

/// A row of the hand-off table.
pub struct HandOffRow {
    queue: i32,
    part: i16,
    seq: i64,
    items: Vec<u8>,
}

// === impl HandOffRow ===

impl HandOffRow {
    pub fn partition(&self) -> Partition {
        Partition {
            queue: self.queue as u32,
            part: self.part as u8,
        }
    }

    fn handed(self) -> Handed {
        Handed::new(self.partition(), self.items)
    }
}

/// Takes up to `limit` rows, oldest first, none of the partitions in `except`, and no further ones once they have
/// [`MOST_COLLECTED_OCTETS`].
pub async fn collect(
    shared: &Arc<PostgresShared>,
    limit: usize,
    except: Vec<Partition>,
) -> StoreResult<Vec<Handed>> {
    let me = shared.membership().ok_or(StoreError::Fenced)?;
    shared.caught_up().await?;
    let _collecting = shared.cluster.collecting.read().await;
    let mut uncertain = shared.cluster.uncertain.lock().await;
    // They are being read, and with them the messages of these rows.
    uncertain.retain(|row| !except.contains(&row.partition()));
    let taken = try_collect(shared, me, limit, &except, &mut uncertain).await;
    shared.or_fenced(me, taken)
}

async fn try_collect(
    shared: &Arc<PostgresShared>,
    me: Membership,
    limit: usize,
    except: &[Partition],
    uncertain: &mut Vec<HandOffRow>,
) -> DbResult<Vec<Handed>> {
    let mut client = shared.pool.get().await?;
    let (node, epoch) = me.columns();
    let transaction = client.transaction().await?;
    let take = transaction.prepare_cached(TAKE).await?;
    if !uncertain.is_empty() {
        keep_gone(&transaction, uncertain).await?;
    }
    let room = limit.saturating_sub(uncertain.len()) as i64;
    let queues: Vec<i32> = except.iter().map(|at| at.queue as i32).collect();
    let parts: Vec<i16> = except.iter().map(|at| at.part.into()).collect();
    let waiting: usize = uncertain.iter().map(|row| row.items.len()).sum();
    let octets = MOST_COLLECTED_OCTETS.saturating_sub(waiting) as i64;
    let wanted: [&(dyn ToSql + Sync); 7] = [&node, &epoch, &QUEUE, &room, &queues, &parts, &octets];
    // Sent together; without membership the transaction is rolled back.
    let ((), rows) = future::try_join(
        lock_member(&transaction, me),
        transaction.query(&take, &wanted).err_into(),
    )
    .await?;
    if rows.is_empty() && uncertain.is_empty() {
        // Nothing was written: no commit to wait for.
        transaction.rollback().await?;
        return Ok(Vec::new());
    }
    uncertain.extend(rows.iter().map(read));
    uncertain.sort_unstable_by_key(|row| row.seq);
    transaction.commit().await?;
    Ok(uncertain.drain(..).map(HandOffRow::handed).collect())
}

/// Keeps those that the hand-off table has no more: the commit that took them did happen.
async fn keep_gone(transaction: &Transaction<'_>, uncertain: &mut Vec<HandOffRow>) -> DbResult {
    let queues: Vec<i32> = uncertain.iter().map(|row| row.queue).collect();
    let parts: Vec<i16> = uncertain.iter().map(|row| row.part).collect();
    let seqs: Vec<i64> = uncertain.iter().map(|row| row.seq).collect();
    let rows = transaction
        .query(STILL_THERE, &[&queues, &parts, &seqs])
        .await?;
    let there: Vec<i64> = rows.iter().map(|row| row.get(0)).collect();
    uncertain.retain(|row| !there.contains(&row.seq));
    Ok(())
}

fn read(row: &Row) -> HandOffRow {
    HandOffRow {
        queue: row.get(0),
        part: row.get(1),
        seq: row.get(2),
        items: row.get(3),
    }
}
