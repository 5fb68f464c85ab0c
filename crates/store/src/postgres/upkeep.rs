//! Names, spilled blocks, and the low-water mark, which makes restarts fast.
//!
//! Called through the store, the mark by the janitor of one node. Guarantees that every active
//! message below the mark is in `carry`:
//!
//! 1. the mark's target is committed in `meta`; from then on every writer copies what it accepts
//!    below it into `carry` in the same transaction;
//! 2. transactions that began before that are waited for, by their lanes' rows;
//! 3. only then are the rows read, and the active ones copied into `carry`;
//! 4. only then is the mark moved.

use std::ops::Range;

use deadpool_postgres::Object;
use tokio_postgres::GenericClient;

use super::connect::begin_slowly;
use super::recover::IS_ACTIVE;
use super::{Shared, schema};
use crate::StoreError;
use crate::low_water::{SLICE, Slice, best};
use smsc_domain::id::lowest_at;
use smsc_host::clock;

/// The mark stays this far behind now, so that it is not moved through the busiest rows.
const TRAIL_MS: i64 = 60_000;
/// Taken while a name is given a number: "name" in ASCII.
const NAMES_LOCK: i64 = 0x6e61_6d65;

/// The number of a name, a new one when it has none.
pub async fn intern(client: &mut Object, name: &str) -> Result<u32, StoreError> {
    let known = "SELECT number FROM names WHERE name = $1";
    if let Some(row) = client.query_opt(known, &[&name]).await? {
        return Ok(row.try_get::<_, i32>(0)? as u32);
    }
    // The lock ends with the transaction; what it guards is read by the next statement, whose
    // snapshot is younger.
    let transaction = client.transaction().await?;
    transaction
        .execute("SELECT pg_advisory_xact_lock($1)", &[&NAMES_LOCK])
        .await?;
    let insert = "INSERT INTO names SELECT coalesce(max(number), 0) + 1, $1 FROM names
         ON CONFLICT DO NOTHING RETURNING number";
    let inserted = transaction.query_opt(insert, &[&name]).await?;
    transaction.commit().await?;
    let row = match inserted {
        Some(row) => row,
        // Another node was faster.
        None => client.query_one(known, &[&name]).await?,
    };
    Ok(row.try_get::<_, i32>(0)? as u32)
}

fn node(shared: &Shared) -> i32 {
    shared
        .membership()
        .map_or(0, |member| i32::from(member.node))
}

/// Keeps a block for this node.
pub async fn spill_block(
    shared: &Shared,
    queue: u32,
    block: u64,
    octets: &[u8],
) -> Result<(), StoreError> {
    let client = shared.reader().await?;
    client
        .execute(
            "INSERT INTO spill VALUES($1, $2, $3, $4)
             ON CONFLICT(node, queue, block) DO UPDATE SET octets = excluded.octets",
            &[&node(shared), &(queue as i32), &(block as i64), &octets],
        )
        .await?;
    Ok(())
}

/// Gives a block back.
pub async fn read_block(
    shared: &Shared,
    queue: u32,
    block: u64,
) -> Result<Option<Vec<u8>>, StoreError> {
    let client = shared.reader().await?;
    let row = client
        .query_opt(
            "SELECT octets FROM spill WHERE node = $1 AND queue = $2 AND block = $3",
            &[&node(shared), &(queue as i32), &(block as i64)],
        )
        .await?;
    Ok(row.map(|row| row.try_get(0)).transpose()?)
}

/// Forgets blocks of a queue.
pub async fn forget_blocks(
    shared: &Shared,
    queue: u32,
    blocks: Range<u64>,
) -> Result<(), StoreError> {
    let client = shared.reader().await?;
    let (from, below) = (blocks.start as i64, blocks.end as i64);
    client
        .execute(
            "DELETE FROM spill WHERE node = $1 AND queue = $2 AND block >= $3 AND block < $4",
            &[&node(shared), &(queue as i32), &from, &below],
        )
        .await?;
    Ok(())
}

/// Moves the low-water mark, and makes the partitions of the days to come.
pub async fn advance(shared: &Shared) -> Result<(), StoreError> {
    let mut client = shared.reader().await?;
    schema::make_days(&client).await?;
    schema::index_closed_days(&mut client).await?;
    let highest = super::asides::highest_id(&**client).await? as i64;
    let trail = lowest_at(clock::now_ms() - TRAIL_MS) as i64;
    let target = trail.min(highest.saturating_add(1));
    let mark = meta(&**client, "low_water").await?;
    client
        .execute(
            &format!(
                "DELETE FROM carry c WHERE c.id < $1 AND NOT EXISTS(
                   SELECT 1 FROM msg m LEFT JOIN fin f ON f.id = m.id
                   WHERE m.id = c.id AND {IS_ACTIVE})"
            ),
            &[&mark],
        )
        .await?;
    if target <= mark {
        return Ok(());
    }
    raise(&**client, "carry_below", target).await?;
    wait_for_writers(&**client).await?;
    let carried: i64 = client
        .query_one("SELECT count(*) FROM carry", &[])
        .await?
        .try_get(0)?;
    let carried = usize::try_from(carried).unwrap_or(usize::MAX);
    let room = shared.options.carry_limit.saturating_sub(carried);
    let reading = begin_slowly(&mut client).await?;
    let slices = look(&*reading, mark, target).await?;
    reading.commit().await?;
    let mut from = mark;
    for slice in &slices[..best(&slices, room)] {
        let end = slice.end as i64;
        // One transaction: a mark without its carried rows would lose messages.
        let moving = begin_slowly(&mut client).await?;
        carry(&*moving, from, end).await?;
        moving.commit().await?;
        from = end;
    }
    Ok(())
}

/// Counts from the mark to the target, slice by slice.
async fn look(
    client: &impl GenericClient,
    mark: i64,
    target: i64,
) -> Result<Vec<Slice>, StoreError> {
    let sql = format!(
        "SELECT count(*), count(*) FILTER (WHERE s.is_active), max(s.id) FROM (
           SELECT m.id, {IS_ACTIVE} AS is_active
           FROM msg m LEFT JOIN fin f ON f.id = m.id AND f.id >= $1
           WHERE m.id >= $1 AND m.id < $2 ORDER BY m.id LIMIT $3) s"
    );
    let statement = client.prepare(&sql).await?;
    let mut slices = Vec::new();
    let mut from = mark;
    while from < target {
        let limit = SLICE as i64;
        let row = client
            .query_one(&statement, &[&from, &target, &limit])
            .await?;
        let messages: i64 = row.try_get(0)?;
        let last: Option<i64> = row.try_get(2)?;
        from = match last {
            Some(last) if messages == limit => last + 1,
            _ => target,
        };
        slices.push(Slice {
            end: from as u64,
            messages: messages as usize,
            active: row.try_get::<_, i64>(1)? as usize,
        });
    }
    Ok(slices)
}

async fn carry(client: &impl GenericClient, mark: i64, target: i64) -> Result<(), StoreError> {
    client
        .execute(
            &format!(
                "INSERT INTO carry SELECT m.id FROM msg m LEFT JOIN fin f ON f.id = m.id AND f.id >= $1
                 WHERE m.id >= $1 AND m.id < $2 AND {IS_ACTIVE} ON CONFLICT DO NOTHING"
            ),
            &[&mark, &target],
        )
        .await?;
    // Lowered meanwhile: others accept messages below the target without carrying them.
    let below = "SELECT value FROM meta WHERE key = 'carry_below' FOR UPDATE";
    if client.query_one(below, &[]).await?.try_get::<_, i64>(0)? < target {
        return Err(super::failed("the low-water mark was set back"));
    }
    raise(client, "low_water", target).await
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

/// A number of the `meta` table, 0 when it was never set.
pub async fn meta(client: &impl GenericClient, key: &str) -> Result<i64, StoreError> {
    let row = client
        .query_opt("SELECT value FROM meta WHERE key = $1", &[&key])
        .await?;
    Ok(row.map_or(Ok(0), |row| row.try_get(0))?)
}

/// Sets a number of the `meta` table, unless it is higher already.
pub async fn raise(client: &impl GenericClient, key: &str, value: i64) -> Result<(), StoreError> {
    client
        .execute(
            "INSERT INTO meta VALUES($1, $2)
             ON CONFLICT(key) DO UPDATE SET value = greatest(meta.value, excluded.value)",
            &[&key, &value],
        )
        .await?;
    Ok(())
}
