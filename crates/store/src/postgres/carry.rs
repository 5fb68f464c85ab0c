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
//! A message may end between 3 and the commit of 4, when no row was there to delete: such rows are
//! deleted a round later, when the transactions of that time have been waited for. A row too many does
//! no harm: whoever reads `carry` looks at the message itself.

use tokio_postgres::GenericClient;

use super::connect::Object;

use super::Shared;
use super::asides;
use super::connect::begin_slowly;
use super::recover::IS_ACTIVE;
use super::upkeep::{meta, raise};
use crate::{StoreError, signed};
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
pub struct Progress {
    /// Ids from the first up to the second have been carried in the last round.
    carried: (i64, i64),
    /// All rows of `carry` are looked at in turn; where to go on.
    next: i64,
}

/// A round: moves the mark, and looks at some rows of `carry`.
pub async fn advance(shared: &Shared) -> Result<(), StoreError> {
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
        from = look(&mut client, from, end).await?.next;
    }
    progress.carried = (mark, mark);
    while progress.carried.1 < target {
        progress.carried.1 = close(&mut client, progress.carried.1, target).await?;
    }
    // Slowly, for rows that no round has left: of a janitor that died, and of other builds. Those
    // that lack their owner are read by every take-over, so they are completed at once.
    loop {
        let looked = look(&mut client, progress.next, mark).await?;
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
async fn target(client: &impl GenericClient, mark: i64) -> Result<i64, StoreError> {
    let now = clock::now_ms();
    let settled = lowest_at(now - SETTLE_MS) as i64;
    let crowded = client
        .query_opt(
            "SELECT id FROM msg WHERE id >= $1 AND id < $2 ORDER BY id DESC OFFSET $3 LIMIT 1",
            &[&mark, &settled, &WINDOW],
        )
        .await?
        .map_or(Ok(0), |row| row.try_get(0))?;
    let highest = signed(asides::highest_id(client).await?);
    let late = lowest_at(now - TRAIL_MS) as i64;
    Ok(late.max(crowded).min(highest.saturating_add(1)))
}

/// Carries what is active of the next slice, and moves the mark behind it; returns where that is.
async fn close(client: &mut Object, mark: i64, target: i64) -> Result<i64, StoreError> {
    let transaction = begin_slowly(client).await?;
    let end = transaction
        .query_opt(
            "SELECT id FROM msg WHERE id >= $1 AND id < $2 ORDER BY id OFFSET $3 LIMIT 1",
            &[&mark, &target, &SLICE],
        )
        .await?
        .map_or(Ok(target), |row| row.try_get(0))?;
    // The bounds are repeated, so that each side of a join reads the slice alone.
    let sql = format!(
        "INSERT INTO carry(id, queue, part, ended) SELECT m.id, {OWNER}
         FROM msg m LEFT JOIN fin f ON f.id = m.id AND f.id >= $1 AND f.id < $2
           LEFT JOIN told t ON t.id = m.id AND t.id >= $1 AND t.id < $2
         WHERE m.id >= $1 AND m.id < $2 AND (f.id IS NULL OR (f.tell <> 0 AND t.id IS NULL))
         ORDER BY m.id ON CONFLICT DO NOTHING"
    );
    transaction.execute(&sql, &[&mark, &end]).await?;
    // Lowered meanwhile: others accept messages below the target without carrying them.
    let below = "SELECT value FROM meta WHERE key = 'carry_below' FOR UPDATE";
    let below: i64 = transaction.query_one(below, &[]).await?.try_get(0)?;
    if below < end {
        return Err(super::failed("the low-water mark was set back"));
    }
    raise(&*transaction, "low_water", end).await?;
    transaction.commit().await?;
    Ok(end)
}

/// Some rows of `carry` that were looked at.
struct Looked {
    /// The id after them.
    next: i64,
    /// Whether any were incomplete.
    completed: bool,
}

/// Deletes rows that are not active any more, and completes those that lack their owner or its partition.
async fn look(client: &mut Object, from: i64, below: i64) -> Result<Looked, StoreError> {
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
        return Ok(Looked {
            next: below,
            completed: false,
        });
    };
    let sql = format!(
        "DELETE FROM carry c WHERE c.id >= $1 AND c.id <= $2 AND NOT EXISTS(
           SELECT 1 FROM msg m LEFT JOIN fin f ON f.id = m.id WHERE m.id = c.id AND {IS_ACTIVE})"
    );
    transaction.execute(&sql, &[&from, &last]).await?;
    let completed = row.try_get(1)?;
    if completed {
        // A row that a trigger completes meanwhile is younger, and is not touched.
        let sql = format!(
            "UPDATE carry c SET (queue, part, ended) = (o.queue, o.part, o.ended) FROM (
               SELECT m.id, {OWNER} FROM carry c JOIN msg m ON m.id = c.id LEFT JOIN fin f ON f.id = m.id
               WHERE c.id >= $1 AND c.id <= $2 AND {INCOMPLETE}) o(id, queue, part, ended)
             WHERE c.id = o.id AND {INCOMPLETE}"
        );
        transaction.execute(&sql, &[&from, &last]).await?;
    }
    transaction.commit().await?;
    Ok(Looked {
        next: last + 1,
        completed,
    })
}

/// Waits, lane by lane, for writes that are under way.
async fn wait_for_writers(client: &impl GenericClient) -> Result<(), StoreError> {
    let lanes = client
        .query("SELECT node, epoch, lane FROM lane", &[])
        .await?;
    for lane in &lanes {
        let (node, epoch, number): (i32, i64, i32) =
            (lane.try_get(0)?, lane.try_get(1)?, lane.try_get(2)?);
        client
            .query(
                "SELECT 1 FROM lane WHERE node = $1 AND epoch = $2 AND lane = $3 FOR SHARE",
                &[&node, &epoch, &number],
            )
            .await?;
    }
    Ok(())
}
