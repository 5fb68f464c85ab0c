//! Reads what is active in partitions that this node has claimed.
//!
//! Called by the cluster port. Guarantees that a message is either in the result or arrives by the
//! hand-off table later: the result is read, and that table is emptied, in one snapshot, and nothing
//! is collected for a partition before that. If the table changes meanwhile, the database refuses the
//! transaction, and it is repeated. A reading that waited for the database while its node lost and regained the
//! partitions takes nothing: it asks last whether it is still wanted, when it has the locks of the leases, so that a later
//! reading of them either follows it or is repeated.

use std::ops::Range;
use std::sync::Arc;

use ahash::AHashSet;
use deadpool_postgres::Transaction;
use futures_util::{FutureExt as _, TryStreamExt, pin_mut};
use tokio_postgres::Statement;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::ToSql;

use super::super::PostgresShared;
use super::super::connect::{begin_snapshot, execute_in_turn};
use super::super::doubts;
use super::super::recover::{PAGE, place, read_ids};
use super::super::upkeep::{meta, one};
use super::DbResult;
use super::lease::{QUEUE, lock_member};
use super::rehome;
use crate::cluster::{IsWanted, LeasedResource, Membership, Partition};
use crate::damage::DamageLog;
use crate::{Active, MessageStage, StoreError, StoreResult};
use smsc_domain::partition::WHOLE;

/// Other nodes conflict only by deleting items that they collected just before, which is rare.
const TRIES: usize = 10;

/// Partitions, and their queues and parts as columns.
struct WantedPartitions {
    partitions: AHashSet<Partition>,
    queues: Vec<i32>,
    parts: Vec<i16>,
}

/// The result of a transaction.
enum TakeOverOutcome {
    Read(Vec<Active>),
    Unwanted,
    /// Holds only so many of them.
    Holds(i64),
}

/// Takes partitions over; they are collected for from now on.
pub async fn take_over(
    shared: &Arc<PostgresShared>,
    partitions: Vec<Partition>,
    is_wanted: &IsWanted,
) -> StoreResult<Vec<Active>> {
    let me = shared.membership().ok_or(StoreError::Fenced)?;
    shared.caught_up().await?;
    doubts::wait_for_others(shared, me).await?;
    let wanted = WantedPartitions::of(&partitions);
    let resources: Vec<LeasedResource> =
        partitions.into_iter().map(LeasedResource::Queue).collect();
    {
        let _still = shared.cluster.collecting.write().await;
        if !is_wanted() {
            return Err(unwanted());
        }
        shared.cluster.forget(&resources).await;
        close(shared, me, &wanted).await?;
    }
    for _ in 0..TRIES {
        match try_take_over(shared, me, &wanted, is_wanted).await {
            Ok(TakeOverOutcome::Read(active)) => return Ok(active),
            Ok(TakeOverOutcome::Unwanted) => return Err(unwanted()),
            Ok(TakeOverOutcome::Holds(held)) => {
                return Err(StoreError::Failed(format!(
                    "this node holds {held} of {} partitions to take over",
                    wanted.queues.len()
                )));
            }
            Err(error) if error.has(&SqlState::T_R_SERIALIZATION_FAILURE) => {}
            Err(error) => return shared.or_fenced(me, Err(error)),
        }
    }
    Err(StoreError::Failed(
        "the hand-off table changed during every attempt to take partitions over".into(),
    ))
}

fn unwanted() -> StoreError {
    StoreError::Failed("a later reading of the partitions has taken the place of this one".into())
}

/// Ends collecting for partitions that were taken over before. Late, it would end that of the reading that follows.
async fn close(shared: &PostgresShared, me: Membership, wanted: &WantedPartitions) -> DbResult {
    let mut client = shared.pool.get().await?;
    let sql =
        "UPDATE lease l SET taken = false FROM unnest($1::int[], $2::smallint[]) w(queue, part)
         WHERE l.kind = $3 AND l.name = w.queue AND l.part = w.part
           AND l.node = $4 AND l.epoch = $5 AND l.taken";
    let (node, epoch) = me.columns();
    execute_in_turn(&mut client, sql, &wanted.and(&node, &epoch)).await?;
    Ok(())
}

async fn try_take_over(
    shared: &Arc<PostgresShared>,
    me: Membership,
    wanted: &WantedPartitions,
    is_wanted: &IsWanted,
) -> DbResult<TakeOverOutcome> {
    let mut client = shared.pool.get().await?;
    let local = "SET LOCAL statement_timeout = 0; SET LOCAL work_mem = '64MB'";
    let transaction = begin_snapshot(&mut client, false, local).await?;
    // This first statement takes the snapshot.
    lock_member(&transaction, me).await?;
    let (node, epoch) = me.columns();
    let held = "SELECT count(*) FROM unnest($1::int[], $2::smallint[]) w(queue, part)
         JOIN lease l ON l.kind = $3 AND l.name = w.queue AND l.part = w.part
         WHERE l.node = $4 AND l.epoch = $5";
    let held: i64 = one(&*transaction, held, &wanted.and(&node, &epoch)).await?;
    if held != wanted.queues.len() as i64 {
        return Ok(TakeOverOutcome::Holds(held));
    }
    let delete = "DELETE FROM inbox i USING unnest($1::int[], $2::smallint[]) w(queue, part)
         WHERE i.queue = w.queue AND i.part = w.part";
    transaction
        .execute(delete, &[&wanted.queues, &wanted.parts])
        .await?;
    rehome::divide(&transaction, &wanted.divided(), &wanted.partitions).await?;
    let read: Vec<Partition> = wanted.partitions.iter().copied().collect();
    let doubts = doubts::take(&transaction, &read).await?;
    let holds = shared.options.hold_after_step_back;
    let ids = wanted.ids(&transaction, &shared.damage).await?;
    let mut active = Vec::new();
    for page in ids.chunks(PAGE as usize) {
        let mut read = read_ids(&transaction, &shared.damage, page).await?;
        // Other partitions of these queues are not this node's to hold.
        read.retain(|one| wanted.has(one));
        doubts::hold_doubtful(&transaction, holds, &doubts, &mut read).await?;
        active.extend(read.into_iter().filter_map(|one| wanted.wants(one)));
    }
    // Last, because claims of other leases wait for these locks.
    transaction
        .execute(
            "UPDATE lease l SET taken = true FROM unnest($1::int[], $2::smallint[]) w(queue, part)
             WHERE l.kind = $3 AND l.name = w.queue AND l.part = w.part
               AND l.node = $4 AND l.epoch = $5",
            &wanted.and(&node, &epoch),
        )
        .await?;
    if !is_wanted() {
        return Ok(TakeOverOutcome::Unwanted);
    }
    transaction.commit().await?;
    Ok(TakeOverOutcome::Read(active))
}

/// Of the partitions $1 and $2, ids from $3 up to $4; from $5 on, which follows the low-water mark, of all messages.
fn candidates() -> String {
    // A queue that is held as a whole has rows of all parts, and receipts that builds before carry have no part.
    let mine = |queue: &str, part: &str| {
        format!(
            "EXISTS(SELECT 1 FROM unnest($1::int[], $2::smallint[]) w(queue, part)
               WHERE w.queue = {queue} AND w.part IN ({WHOLE}, {part}))"
        )
    };
    let (routed, told) = (mine("m.queue", "m.part"), mine("f.tell", "m.part"));
    format!(
        "SELECT c.id FROM unnest($1::int[], $2::smallint[]) w(queue, part)
           JOIN carry c ON c.queue = w.queue AND c.part = w.part AND c.id >= $3 AND c.id < $4
           WHERE w.part <> {WHOLE}
         UNION ALL SELECT c.id FROM carry c WHERE c.part = {WHOLE} AND c.id >= $3 AND c.id < $4
           AND c.queue IN (SELECT w.queue FROM unnest($1, $2) w(queue, part) WHERE w.part <> {WHOLE})
         UNION ALL SELECT c.id FROM carry c WHERE c.id >= $3 AND c.id < $4
           AND c.queue IN (SELECT w.queue FROM unnest($1, $2) w(queue, part) WHERE w.part = {WHOLE})
         UNION ALL SELECT c.id FROM carry c WHERE c.queue IS NULL AND c.id >= $3 AND c.id < $4
         UNION ALL SELECT m.id FROM msg m LEFT JOIN fin f ON f.id = m.id AND f.id >= $5 AND f.id < $4
           WHERE m.id >= $5 AND m.id < $4 AND f.id IS NULL AND {routed}
         UNION ALL SELECT f.id FROM fin f JOIN msg m ON m.id = f.id AND m.id >= $5 AND m.id < $4
           LEFT JOIN told t ON t.id = f.id AND t.id >= $5 AND t.id < $4
           WHERE f.id >= $5 AND f.id < $4 AND f.tell = ANY($1) AND t.id IS NULL AND {told}
         UNION ALL SELECT h.id FROM change h
           WHERE h.id >= $5 AND h.id < $4 AND h.kind = 1 AND h.queue = ANY($1)"
    )
}

// === impl WantedPartitions ===

impl WantedPartitions {
    fn of(partitions: &[Partition]) -> Self {
        let mut sorted = partitions.to_vec();
        sorted.sort_unstable();
        sorted.dedup();
        Self {
            queues: sorted.iter().map(|at| at.queue as i32).collect(),
            parts: sorted.iter().map(|at| at.part.into()).collect(),
            partitions: sorted.into_iter().collect(),
        }
    }

    /// The queues that are taken over in parts.
    fn divided(&self) -> Vec<i32> {
        let both = self.queues.iter().zip(&self.parts);
        let mut queues: Vec<i32> = both
            .filter(|(_, part)| **part != i16::from(WHOLE))
            .map(|(queue, _)| *queue)
            .collect();
        queues.dedup();
        queues
    }

    /// Messages that may be active in these partitions: of `carry` those of their rows, above the
    /// low-water mark what was routed or moved to them, or has a receipt for them. Ascending.
    async fn ids(&self, transaction: &Transaction<'_>, damage: &DamageLog) -> DbResult<Vec<i64>> {
        let mark = meta(&**transaction, "low_water").await?;
        // Not cached: the plan must know where the mark is.
        let statement = transaction.prepare(&candidates()).await?;
        let statement = &statement;
        let read = |ids| self.ids_of(transaction, statement, mark, ids).boxed();
        let mut ids = place(transaction, damage)
            .read(0..i64::MAX, read)
            .await?
            .read;
        ids.sort_unstable();
        ids.dedup();
        Ok(ids)
    }

    /// Those in a range, if all that they are found by can be read.
    async fn ids_of(
        &self,
        transaction: &Transaction<'_>,
        statement: &Statement,
        mark: i64,
        ids: Range<i64>,
    ) -> DbResult<Vec<i64>> {
        let above = mark.max(ids.start);
        let parameters: [&(dyn ToSql + Sync); 5] =
            [&self.queues, &self.parts, &ids.start, &ids.end, &above];
        let rows = transaction.query_raw(statement, parameters).await?;
        pin_mut!(rows);
        let mut ids = Vec::new();
        while let Some(row) = rows.try_next().await? {
            ids.push(row.get(0));
        }
        Ok(ids)
    }

    /// Whether a message that waits does so in one of these partitions; what does not wait may be anywhere.
    fn has(&self, active: &Active) -> bool {
        let of = |part| Partition {
            queue: active.queue,
            part,
        };
        !active.waits()
            || [active.part, WHOLE]
                .iter()
                .any(|part| self.partitions.contains(&of(*part)))
    }

    /// A message as its owner continues it, if that is one of these partitions: a receipt belongs to the queue
    /// of its account, and there to the partition of its message. Messages that wait for an operator's receipt are
    /// left out.
    fn wants(&self, mut active: Active) -> Option<Active> {
        let (queue, part) = match active.stage {
            MessageStage::Sent { .. } => return None,
            MessageStage::Untold { tell, .. } => (tell, active.part),
            MessageStage::Waiting | MessageStage::OutcomeUnknown => (active.queue, active.part),
        };
        if self.partitions.contains(&Partition { queue, part }) {
            active.part = part;
        } else if self.partitions.contains(&Partition { queue, part: WHOLE }) {
            active.part = WHOLE;
        } else {
            return None;
        }
        Some(active)
    }

    /// Parameters of the statements about leases.
    fn and<'a>(&'a self, node: &'a i16, epoch: &'a i64) -> [&'a (dyn ToSql + Sync); 5] {
        [&self.queues, &self.parts, &QUEUE, node, epoch]
    }
}
