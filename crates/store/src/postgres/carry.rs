//! The low-water mark, and the table `carry` behind it: what is active is read without its history.
//!
//! Called every few seconds by the janitor of one node. Guarantees that every active message below the
//! mark has a row in `carry` that names the partition that owns it:
//!
//! 1. the mark's target is committed in `meta` (`carry_below`); from then on the transaction that
//!    accepts a message below it puts it into `carry`, and triggers keep that row right in the
//!    transactions that end or move it, whether it was there before or not;
//! 2. transactions that began before that are waited for, by their lanes' rows;
//! 3. only then are the rows read, slice by slice, and the active ones put into `carry`, except where
//!    a trigger was faster: its row is younger than what was read;
//! 4. the mark is moved with each slice, in its transaction.
//!
//! Messages that cannot be read (`around`) are carried without an owner until they are ended. The mark waits for what an
//! index does not find, which may be found again.
//!
//! A message may end between 3 and the commit of 4, when no row was there to delete: such rows are
//! deleted a round later, when the transactions of that time have been waited for. A row too many does
//! no harm: whoever reads `carry` looks at the message itself.

use std::ops::Range;

use deadpool_postgres::Transaction;
use futures_util::FutureExt as _;
use tokio_postgres::GenericClient;

use super::PostgresShared;
use super::around::Around;
use super::asides;
use super::connect::Object;
use super::connect::begin_slowly;
use super::failure::{DbResult, is_unreadable};
use super::recover::{IS_ACTIVE, first_ids, place};
use super::upkeep::{meta, one, raise};
use crate::damage::DamageLog;
use crate::{StoreResult, signed};
use smsc_domain::id::lowest_at;
use smsc_host::clock;

/// What is older than this is carried, however little it is: most messages have ended by then.
const TRAIL_MS: i64 = 60_000;
/// What is younger is never carried: it is being written.
const SETTLE_MS: i64 = 5_000;
/// Messages that may be above the mark when they are older than that: a take-over reads all of them.
const WINDOW: i64 = 200_000;
/// Messages of a slice: a transaction of about a tenth of a second.
const SLICE: i64 = 16_384;
/// Rows of `carry` that are looked at in a transaction.
const CHUNK: i64 = 10_000;

/// The partition that owns an active message, and whether that is for its receipt, of `msg m LEFT JOIN fin f`.
const OWNER: &str =
    "coalesce(f.tell, (SELECT h.queue FROM change h WHERE h.id = m.id AND h.kind = 1
      ORDER BY h.seq DESC LIMIT 1), m.queue), m.part, f.id IS NOT NULL";
/// What makes a row of `carry` incomplete, of `carry c`: builds before gave it no owner, or gave a receipt no
/// partition.
const INCOMPLETE: &str = "(c.queue IS NULL OR c.part = 255)";

/// What the rounds before have left to do.
#[derive(Debug, Default)]
pub struct CarryProgress {
    /// Ids from the first up to the second have been carried in the last round.
    carried: (i64, i64),
    /// All rows of `carry` are looked at in turn; where to go on.
    next: i64,
}

/// A round: moves the mark, and looks at some rows of `carry`.
pub async fn advance(shared: &PostgresShared) -> StoreResult {
    let mut progress = shared.carry.lock().await;
    let mut client = shared.upkeep.get().await?;
    let mark = meta(&**client, "low_water").await?;
    let target = target(&**client, mark).await?;
    let (mut from, end) = progress.carried;
    if target > mark {
        raise(&**client, "carry_below", target).await?;
    }
    if target > mark || end > from {
        wait_for_writers(&**client).await?;
    }
    while from < end {
        from = look(&mut client, &shared.damage, from, end).await?.next;
    }
    progress.carried = (mark, mark);
    while progress.carried.1 < target {
        let mark = progress.carried.1;
        progress.carried.1 = close(&mut client, &shared.damage, mark, target).await?;
    }
    // Slowly, for rows that no round has left: of a janitor that died, and of other builds. Those
    // that lack their owner are read by every take-over, so they are completed at once.
    loop {
        let looked = look(&mut client, &shared.damage, progress.next, mark).await?;
        progress.next = looked.next;
        if progress.next >= mark {
            progress.next = 0;
            return Ok(());
        }
        if !looked.completed {
            return Ok(());
        }
    }
}

/// Where the mark should be.
async fn target(client: &(impl GenericClient + Sync), mark: i64) -> StoreResult<i64> {
    let now = clock::now_ms();
    let settled = lowest_at(now - SETTLE_MS) as i64;
    let select = "SELECT id FROM msg WHERE id >= $1 AND id < $2 ORDER BY id DESC OFFSET $3 LIMIT 1";
    let crowded = client.query_opt(select, &[&mark, &settled, &WINDOW]).await;
    let crowded = match crowded {
        Ok(row) => row.map_or(Ok(0), |row| row.try_get(0))?,
        // Then the time alone says it.
        Err(error) if is_unreadable(&error) => 0,
        Err(error) => return Err(error.into()),
    };
    let highest = signed(asides::highest_id(client).await?);
    let late = lowest_at(now - TRAIL_MS) as i64;
    Ok(late.max(crowded).min(highest.saturating_add(1)))
}

/// Carries what is active of the next slice, and moves the mark behind it; returns where that is.
async fn close(
    client: &mut Object,
    damage: &DamageLog,
    mark: i64,
    target: i64,
) -> StoreResult<i64> {
    let transaction = begin_slowly(client).await?;
    let ids = first_ids(
        &transaction,
        damage,
        "SELECT id FROM msg WHERE id >= $1 AND id < $2 ORDER BY id LIMIT $3",
        mark..target,
        SLICE + 1,
    );
    let end = ids.await?.get(SLICE as usize).copied().unwrap_or(target);
    // The bounds are repeated, so that each side of a join reads the slice alone.
    let sql = format!(
        "INSERT INTO carry(id, queue, part, ended) SELECT m.id, {OWNER}
         FROM msg m LEFT JOIN fin f ON f.id = m.id AND f.id >= $1 AND f.id < $2
           LEFT JOIN told t ON t.id = m.id AND t.id >= $1 AND t.id < $2
         WHERE m.id >= $1 AND m.id < $2 AND (f.id IS NULL OR (f.tell <> 0 AND t.id IS NULL))
         ORDER BY m.id ON CONFLICT DO NOTHING"
    );
    let done = in_ranges(&transaction, damage, mark..end, &sql).await?;
    carry_damaged(&transaction, damage, &done.damaged_ids()).await?;
    let end = done.whole_below().unwrap_or(end);
    if end <= mark {
        return Err(super::failed(format!(
            "the low-water mark waits at {mark}: what follows is not found, see `smsc damaged`"
        )));
    }
    // Lowered meanwhile: others accept messages below the target without carrying them.
    let below = "SELECT value FROM meta WHERE key = 'carry_below' FOR UPDATE";
    if one::<i64>(&*transaction, below, &[]).await? < end {
        return Err(super::failed("the low-water mark was set back"));
    }
    raise(&*transaction, "low_water", end).await?;
    transaction.commit().await?;
    Ok(end)
}

/// Some rows of `carry` that were looked at.
struct ExaminedRows {
    /// The id after them.
    next: i64,
    /// Whether any were incomplete.
    completed: bool,
}

/// Deletes rows that are not active any more, and completes those that lack their owner or its partition.
async fn look(
    client: &mut Object,
    damage: &DamageLog,
    from: i64,
    below: i64,
) -> StoreResult<ExaminedRows> {
    let transaction = begin_slowly(client).await?;
    // One look-up for each row, whatever the planner thinks of the history.
    transaction
        .batch_execute("SET LOCAL enable_hashjoin = off; SET LOCAL enable_mergejoin = off")
        .await?;
    let sql = format!(
        "SELECT max(id), coalesce(bool_or({INCOMPLETE}), false) FROM (
           SELECT id, queue, part FROM carry WHERE id >= $1 AND id < $2 ORDER BY id LIMIT $3) c"
    );
    let row = transaction
        .query_one(&sql, &[&from, &below, &CHUNK])
        .await?;
    let Some(last) = row.try_get::<_, Option<i64>>(0)? else {
        return Ok(ExaminedRows {
            next: below,
            completed: false,
        });
    };
    let sql = format!(
        "DELETE FROM carry c WHERE c.id >= $1 AND c.id < $2 AND NOT EXISTS(
           SELECT 1 FROM msg m LEFT JOIN fin f ON f.id = m.id WHERE m.id = c.id AND {IS_ACTIVE})"
    );
    in_ranges(&transaction, damage, from..last + 1, &sql).await?;
    let completed = row.try_get(1)?;
    if completed {
        // A row that a trigger completes meanwhile is younger, and is not touched.
        let sql = format!(
            "UPDATE carry c SET (queue, part, ended) = (o.queue, o.part, o.ended) FROM (
               SELECT m.id, {OWNER} FROM carry c JOIN msg m ON m.id = c.id LEFT JOIN fin f ON f.id = m.id
               WHERE c.id >= $1 AND c.id < $2 AND {INCOMPLETE}) o(id, queue, part, ended)
             WHERE c.id = o.id AND {INCOMPLETE}"
        );
        in_ranges(&transaction, damage, from..last + 1, &sql).await?;
    }
    transaction.commit().await?;
    Ok(ExaminedRows {
        next: last + 1,
        completed,
    })
}

/// Carries messages that cannot be read and have not ended: every take-over comes upon them until they are ended.
async fn carry_damaged(client: &Transaction<'_>, damage: &DamageLog, ids: &[i64]) -> DbResult {
    if ids.is_empty() {
        return Ok(());
    }
    let sql = "INSERT INTO carry(id) SELECT i FROM unnest($1::bigint[]) i
         WHERE NOT EXISTS(SELECT 1 FROM fin f WHERE f.id = i) ON CONFLICT DO NOTHING";
    let run = |ids: &[i64]| {
        let ids = ids.to_vec();
        let done = async move {
            client.execute(sql, &[&ids]).await?;
            Ok(Vec::<()>::new())
        };
        done.boxed()
    };
    place(client, damage).read(ids, run).await.map(drop)
}

/// Runs a statement for the ids from $1 up to $2, as far as they can be read.
async fn in_ranges(
    client: &Transaction<'_>,
    damage: &DamageLog,
    ids: Range<i64>,
    sql: &str,
) -> DbResult<Around<()>> {
    let run = |ids: Range<i64>| {
        let done = async move {
            client.execute(sql, &[&ids.start, &ids.end]).await?;
            Ok(Vec::<()>::new())
        };
        done.boxed()
    };
    place(client, damage).read(ids, run).await
}

/// Waits, lane by lane, for writes that are under way.
async fn wait_for_writers(client: &impl GenericClient) -> StoreResult {
    let lanes = client
        .query("SELECT node, epoch, lane FROM lane", &[])
        .await?;
    for lane in &lanes {
        let (node, epoch, number): (i32, i64, i32) =
            (lane.try_get(0)?, lane.try_get(1)?, lane.try_get(2)?);
        let select = "SELECT 1 FROM lane WHERE node = $1 AND epoch = $2 AND lane = $3 FOR SHARE";
        client.query(select, &[&node, &epoch, &number]).await?;
    }
    Ok(())
}
