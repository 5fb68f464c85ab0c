//! Reads what is active in partitions that this node has claimed.
//!
//! Called by the cluster port. Guarantees that a message is either in the result or arrives by the
//! hand-off table later: the result is read, and that table is emptied, in one snapshot, and nothing
//! is collected for a partition before that. If the table changes meanwhile, the database refuses the
//! transaction, and it is repeated.

use std::sync::Arc;

use deadpool_postgres::Transaction;
use futures_util::{TryStreamExt, pin_mut};
use tokio_postgres::error::SqlState;
use tokio_postgres::types::ToSql;
use tokio_postgres::{IsolationLevel, Row};

use super::super::Shared;
use super::DbError;
use super::lease::{QUEUE, lock_member};
use crate::cluster::{Membership, Partition, Resource};
use crate::{Active, Stage, StoreError};
use smsc_domain::partition::WHOLE;

/// Other nodes conflict only by deleting items that they collected just before, which is rare.
const TRIES: usize = 10;

/// Queues and parts as columns.
struct Wanted {
    queues: Vec<i32>,
    parts: Vec<i16>,
}

/// The result of a transaction.
enum Outcome {
    Read(Vec<Active>),
    NoMember,
    /// Holds only so many of them.
    Holds(i64),
}

/// Which messages a statement reads.
#[derive(Clone, Copy)]
enum Range {
    /// Those below the low-water mark that are in `carry`.
    Carried,
    /// From the mark on.
    Slice,
}

/// Takes partitions over; they are collected for from now on.
pub async fn take_over(
    shared: &Arc<Shared>,
    partitions: Vec<Partition>,
) -> Result<Vec<Active>, StoreError> {
    let me = shared.membership().ok_or(StoreError::Fenced)?;
    let wanted = Wanted::of(&partitions);
    let resources: Vec<Resource> = partitions.into_iter().map(Resource::Queue).collect();
    {
        let _still = shared.cluster.collecting.write().await;
        shared.cluster.forget(&resources).await;
        close(shared, me, &wanted).await?;
    }
    for _ in 0..TRIES {
        match try_take_over(shared, me, &wanted).await {
            Ok(Outcome::Read(active)) => return Ok(active),
            Ok(Outcome::NoMember) => {
                return shared.or_fenced(me, None);
            }
            Ok(Outcome::Holds(held)) => {
                return Err(StoreError::Failed(format!(
                    "this node holds {held} of {} partitions to take over",
                    wanted.queues.len()
                )));
            }
            Err(error) if error.has(&SqlState::T_R_SERIALIZATION_FAILURE) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Err(StoreError::Failed(
        "the hand-off table changed during every attempt to take partitions over".into(),
    ))
}

/// Ends collecting for partitions that were taken over before.
async fn close(shared: &Shared, me: Membership, wanted: &Wanted) -> Result<(), DbError> {
    let client = shared.pool.get().await?;
    let statement = client
        .prepare_cached(
            "UPDATE lease l SET taken = false FROM unnest($1::int[], $2::smallint[]) w(queue, part)
             WHERE l.kind = $3 AND l.name = w.queue AND l.part = w.part
               AND l.node = $4 AND l.epoch = $5 AND l.taken",
        )
        .await?;
    client
        .execute(&statement, &wanted.and(&me.columns()))
        .await?;
    Ok(())
}

async fn try_take_over(
    shared: &Arc<Shared>,
    me: Membership,
    wanted: &Wanted,
) -> Result<Outcome, DbError> {
    let mut client = shared.pool.get().await?;
    let transaction = client
        .build_transaction()
        .isolation_level(IsolationLevel::RepeatableRead)
        .start()
        .await?;
    // Joined as written: the planner underestimates active messages and would read the history
    // first.
    transaction
        .batch_execute(
            "SET LOCAL statement_timeout = 0; SET LOCAL jit = off;
             SET LOCAL work_mem = '64MB'; SET LOCAL join_collapse_limit = 1;
             SET LOCAL from_collapse_limit = 1",
        )
        .await?;
    // This first statement takes the snapshot.
    if !lock_member(&transaction, me).await? {
        return Ok(Outcome::NoMember);
    }
    let keys = me.columns();
    let held: i64 = transaction
        .query_one(
            "SELECT count(*) FROM unnest($1::int[], $2::smallint[]) w(queue, part)
             JOIN lease l ON l.kind = $3 AND l.name = w.queue AND l.part = w.part
             WHERE l.node = $4 AND l.epoch = $5",
            &wanted.and(&keys),
        )
        .await?
        .get(0);
    if held != wanted.queues.len() as i64 {
        return Ok(Outcome::Holds(held));
    }
    transaction
        .execute(
            "DELETE FROM inbox i USING unnest($1::int[], $2::smallint[]) w(queue, part)
             WHERE i.queue = w.queue AND i.part = w.part",
            &[&wanted.queues, &wanted.parts],
        )
        .await?;
    let mark: i64 = transaction
        .query_opt("SELECT value FROM meta WHERE key = 'low_water'", &[])
        .await?
        .map_or(0, |row| row.get(0));
    let mut active = Vec::new();
    for range in [Range::Carried, Range::Slice] {
        read_range(&transaction, range, mark, wanted, &mut active).await?;
    }
    // Last, because claims of other leases wait for these locks.
    transaction
        .execute(
            "UPDATE lease l SET taken = true FROM unnest($1::int[], $2::smallint[]) w(queue, part)
             WHERE l.kind = $3 AND l.name = w.queue AND l.part = w.part
               AND l.node = $4 AND l.epoch = $5",
            &wanted.and(&keys),
        )
        .await?;
    transaction.commit().await?;
    Ok(Outcome::Read(active))
}

async fn read_range(
    transaction: &Transaction<'_>,
    range: Range,
    mark: i64,
    wanted: &Wanted,
    into: &mut Vec<Active>,
) -> Result<(), DbError> {
    let parameters: [&(dyn ToSql + Sync); 3] = [&mark, &wanted.queues, &wanted.parts];
    // Not cached: the plan must know where the mark is.
    let statement = transaction.prepare(&range.sql()).await?;
    let rows = transaction.query_raw(&statement, parameters).await?;
    pin_mut!(rows);
    while let Some(row) = rows.try_next().await? {
        into.push(read(&row));
    }
    Ok(())
}

fn read(row: &Row) -> Active {
    let tell: Option<i32> = row.get(8);
    let unsure: bool = row.get(9);
    Active {
        id: row.get::<_, i64>(0) as u64,
        sender: row.get::<_, i32>(1) as u32,
        queue: row.get::<_, i32>(2) as u32,
        part: row.get::<_, i16>(3) as u8,
        priority: row.get::<_, i32>(4) as u32,
        due_at: row.get(5),
        expires_at: row.get(6),
        attempts: row.get::<_, i32>(7) as u32,
        stage: match tell {
            Some(tell) => Stage::Untold {
                tell: tell as u32,
                at: row.get(10),
            },
            None if unsure => Stage::OutcomeUnknown,
            None => Stage::Waiting,
        },
    }
}

// === impl Range ===

impl Range {
    /// The rows of a table that belong to messages of this range: each side of a join is narrowed,
    /// so that history is not read.
    fn of(self, table: &str) -> String {
        match self {
            Self::Carried => {
                format!("(SELECT t.* FROM carry c JOIN {table} t ON t.id = c.id WHERE c.id < $1)")
            }
            Self::Slice => format!("(SELECT t.* FROM {table} t WHERE t.id >= $1)"),
        }
    }

    /// A receipt belongs to the whole queue of the account that it is for, a message to its part of
    /// the queue that owns it after moves. Messages that wait for an operator's receipt are left
    /// out.
    fn sql(self) -> String {
        let [msg, fin, told, change, sent, tries] =
            ["msg", "fin", "told", "change", "sent", "tries"].map(|table| self.of(table));
        format!(
            "WITH open AS MATERIALIZED (
               SELECT m.id, m.sender, coalesce(v.queue, m.queue) AS queue, w.part, m.priority,
                 m.due_at, coalesce(x.expires_at, m.expires_at) AS expires_at, f.tell,
                 f.at AS ended
               FROM {msg} m
               LEFT JOIN {fin} f ON f.id = m.id
               LEFT JOIN {told} d ON d.id = m.id
               LEFT JOIN (SELECT DISTINCT ON (h.id) h.id, h.queue FROM {change} h
                 WHERE h.kind = 1 ORDER BY h.id, h.seq DESC) v ON v.id = m.id
               LEFT JOIN (SELECT DISTINCT ON (h.id) h.id, h.expires_at FROM {change} h
                 WHERE h.kind = 4 ORDER BY h.id, h.seq DESC) x ON x.id = m.id
               JOIN unnest($2::int[], $3::smallint[]) w(queue, part)
                 ON w.queue = coalesce(f.tell, v.queue, m.queue)
                 AND (w.part = {WHOLE} OR f.id IS NULL AND w.part = m.part)
               WHERE f.id IS NULL OR (f.tell <> 0 AND d.id IS NULL))
             SELECT o.id, o.sender, o.queue, o.part, o.priority, coalesce(r.due_at, o.due_at),
               o.expires_at, greatest(r.attempts, s.attempts, 0), o.tell,
               coalesce(NOT y.attempts <@ coalesce(s.settled, '{{}}'), false), o.ended
             FROM open o
             LEFT JOIN retry r ON r.id = o.id
             LEFT JOIN (SELECT a.id, max(a.attempt) AS attempts, bool_or(a.status = 0) AS accepted,
                 array_agg(a.attempt) FILTER (WHERE a.status <> -1) AS settled
               FROM {sent} a GROUP BY a.id) s ON s.id = o.id
             LEFT JOIN (SELECT a.id, array_agg(a.attempt) AS attempts FROM {tries} a GROUP BY a.id) y
               ON y.id = o.id
             WHERE o.tell IS NOT NULL OR s.accepted IS NOT TRUE
             ORDER BY o.id"
        )
    }
}

// === impl Wanted ===

impl Wanted {
    fn of(partitions: &[Partition]) -> Self {
        let mut sorted = partitions.to_vec();
        sorted.sort_unstable();
        sorted.dedup();
        Self {
            queues: sorted.iter().map(|at| at.queue as i32).collect(),
            parts: sorted.iter().map(|at| at.part.into()).collect(),
        }
    }

    /// Parameters of the statements about leases.
    fn and<'a>(&'a self, (node, epoch): &'a (i16, i64)) -> [&'a (dyn ToSql + Sync); 5] {
        [&self.queues, &self.parts, &QUEUE, node, epoch]
    }
}
