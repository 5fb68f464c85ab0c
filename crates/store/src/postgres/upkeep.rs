//! Names, spilled blocks, and the numbers of the `meta` table. Called through the store and by its
//! maintenance.

use std::collections::BTreeMap;
use std::ops::Range;

use tokio_postgres::types::{FromSqlOwned, ToSql};
use tokio_postgres::{Client, Error, GenericClient};

use super::PostgresShared;
use super::connect::Object;
use crate::{StoreError, StoreResult};

/// Taken while a name is given a number: "name" in ASCII.
const NAMES_LOCK: i64 = 0x6e61_6d65;

/// The number of a name, a new one when it has none.
pub async fn intern(client: &mut Object, name: &str) -> StoreResult<u32> {
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

/// Gives names their numbers again, where the database has forgotten them. Returns those that have other numbers now.
pub async fn intern_again(
    client: &mut Client,
    known: &BTreeMap<u32, String>,
) -> Result<Vec<String>, Error> {
    let numbers: Vec<i32> = known.keys().map(|number| *number as i32).collect();
    let names: Vec<&str> = known.values().map(String::as_str).collect();
    let transaction = client.transaction().await?;
    transaction
        .execute("SELECT pg_advisory_xact_lock($1)", &[&NAMES_LOCK])
        .await?;
    let insert =
        "INSERT INTO names SELECT * FROM unnest($1::int[], $2::text[]) ON CONFLICT DO NOTHING";
    let inserted = transaction.execute(insert, &[&numbers, &names]).await?;
    let others = "SELECT u.name FROM unnest($1::int[], $2::text[]) u(number, name)
         WHERE NOT EXISTS(SELECT 1 FROM names n WHERE n.number = u.number AND n.name = u.name)";
    let rows = transaction.query(others, &[&numbers, &names]).await?;
    transaction.commit().await?;
    if inserted > 0 {
        tracing::warn!(
            names = inserted,
            "names that the database had forgotten have their numbers again"
        );
    }
    rows.iter().map(|row| row.try_get(0)).collect()
}

fn node(shared: &PostgresShared) -> i32 {
    shared
        .membership()
        .map_or(0, |member| i32::from(member.node))
}

/// Keeps a block for this membership. What a silent host carries out when another process has the number of this node, and
/// blocks of the same numbers, keeps nothing.
pub async fn spill_block(
    shared: &PostgresShared,
    queue: u32,
    block: u64,
    octets: &[u8],
) -> StoreResult {
    let me = shared.membership().ok_or(StoreError::Fenced)?;
    let (node, epoch) = (i32::from(me.node), me.epoch as i64);
    let client = shared.reader().await?;
    let insert = "INSERT INTO spill(node, queue, block, octets)
         SELECT $1::int, $2::int, $3::bigint, $4::bytea
         WHERE EXISTS(SELECT FROM lane WHERE node = $1 AND epoch = $5)
         ON CONFLICT(node, queue, block) DO UPDATE SET octets = excluded.octets";
    let kept = client
        .execute(
            insert,
            &[&node, &(queue as i32), &(block as i64), &octets, &epoch],
        )
        .await?;
    if kept == 0 {
        return Err(StoreError::Fenced);
    }
    Ok(())
}

/// Gives a block back.
pub async fn read_block(
    shared: &PostgresShared,
    queue: u32,
    block: u64,
) -> StoreResult<Option<Vec<u8>>> {
    let client = shared.reader().await?;
    let select = "SELECT octets FROM spill WHERE node = $1 AND queue = $2 AND block = $3";
    let row = client
        .query_opt(select, &[&node(shared), &(queue as i32), &(block as i64)])
        .await?;
    Ok(row.map(|row| row.try_get(0)).transpose()?)
}

/// Forgets blocks of a queue.
pub async fn forget_blocks(shared: &PostgresShared, queue: u32, blocks: Range<u64>) -> StoreResult {
    let client = shared.reader().await?;
    let (from, below) = (blocks.start as i64, blocks.end as i64);
    let delete = "DELETE FROM spill WHERE node = $1 AND queue = $2 AND block >= $3 AND block < $4";
    client
        .execute(delete, &[&node(shared), &(queue as i32), &from, &below])
        .await?;
    Ok(())
}

/// The value that a statement gives.
pub async fn one<T: FromSqlOwned>(
    client: &impl GenericClient,
    sql: &str,
    parameters: &[&(dyn ToSql + Sync)],
) -> Result<T, Error> {
    client.query_one(sql, parameters).await?.try_get(0)
}

/// A number of the `meta` table, 0 when it was never set.
pub async fn meta(client: &impl GenericClient, key: &str) -> Result<i64, Error> {
    let sql = "SELECT value FROM meta WHERE key = $1";
    let row = client.query_opt(sql, &[&key]).await?;
    row.map_or(Ok(0), |row| row.try_get(0))
}

/// Sets a number of the `meta` table, unless it is higher already.
pub async fn raise(client: &impl GenericClient, key: &str, value: i64) -> StoreResult {
    let insert = "INSERT INTO meta VALUES($1, $2)
         ON CONFLICT(key) DO UPDATE SET value = greatest(meta.value, excluded.value)";
    client.execute(insert, &[&key, &value]).await?;
    Ok(())
}
