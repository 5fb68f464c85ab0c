//! Retention: whole days are dropped, single messages deleted where they have no day of their own.
//!
//! Called through the store by the janitor of one node. Guarantees that only messages that are
//! final and whose receipt is acknowledged are removed: rows of a dropped day that are still needed
//! move to the default partitions first, in the same transaction; and that the highest id is kept.

use std::ops::Range;

use deadpool_postgres::{Object, Transaction};
use tokio_postgres::{Client, Row};

use super::asides;
use super::record::id_at;
use super::schema::{DAY_MS, SPLIT};
use super::upkeep::raise;
use super::{Shared, failed};
use crate::StoreError;
use smsc_domain::id::{MAX_LEAD_MS, lowest_at};
use smsc_host::clock;

/// Messages deleted per transaction.
const CHUNK: usize = 1000;
/// Rows that a dropped day may leave behind; one with more waits.
const MAX_KEPT: i64 = 100_000;

/// Removes messages that were final, with their receipts acknowledged, before `before`; single
/// messages up to `limit`. Returns how many.
pub async fn retire(shared: &Shared, before: i64, limit: usize) -> Result<u64, StoreError> {
    let mut client = shared.reader().await?;
    let highest = asides::highest_id(&**client).await?;
    raise(&**client, "highest_id", highest as i64).await?;
    let mut removed = 0;
    // Days that are still written to are never dropped.
    let over = before.min(clock::now_ms() - DAY_MS);
    for (day, end) in days(&client).await? {
        if end <= lowest_at(over) as i64 {
            match drop_day(&mut client, &day, before).await {
                Ok(count) => removed += count,
                // The other days need not wait for this one.
                Err(error) => tracing::warn!(%error, %day, "a day is kept for now"),
            }
        }
    }
    let mut deleted = 0;
    while deleted < limit {
        let transaction = begin(&mut client).await?;
        let some = delete(&transaction, before, CHUNK.min(limit - deleted)).await?;
        transaction.commit().await?;
        if some == 0 {
            break;
        }
        deleted += some as usize;
    }
    for aside in asides::read(&**client).await? {
        let mut from = aside.first as i64;
        while deleted < limit {
            let room = CHUNK.min(limit - deleted);
            let ids = from..aside.last as i64 + 1;
            let transaction = begin(&mut client).await?;
            let some = delete_aside(&transaction, ids, before, room).await?;
            transaction.commit().await?;
            let Some((count, last)) = some else { break };
            deleted += count as usize;
            from = last + 1;
        }
    }
    Ok(removed + deleted as u64)
}

/// Everyone who writes would wait in line behind a lock that is waited for.
async fn begin(client: &mut Object) -> Result<Transaction<'_>, StoreError> {
    let transaction = client.transaction().await?;
    transaction
        .batch_execute("SET LOCAL lock_timeout = '1s'; SET LOCAL statement_timeout = '5min'")
        .await?;
    Ok(transaction)
}

/// Suffixes of the partitions of days, with the first id after each, oldest first.
async fn days(client: &Client) -> Result<Vec<(String, i64)>, StoreError> {
    let rows = client
        .query(
            "SELECT substr(c.relname, 5), substring(pg_get_expr(c.relpartbound, c.oid)
                FROM 'TO \\(''([0-9]+)''\\)')::bigint
             FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
             WHERE i.inhparent = 'msg'::regclass AND c.relname ~ '^msg_[0-9]{8}$' ORDER BY 1",
            &[],
        )
        .await?;
    rows.iter()
        .map(|row| Ok((row.try_get(0)?, row.try_get(1)?)))
        .collect()
}

async fn drop_day(client: &mut Object, day: &str, before: i64) -> Result<u64, StoreError> {
    let client = begin(client).await?;
    let kept = format!(
        "CREATE TEMP TABLE kept ON COMMIT DROP AS SELECT m.id FROM msg_{day} m
         LEFT JOIN fin_{day} f ON f.id = m.id
         WHERE f.id IS NULL OR f.at >= {before}
           OR (f.tell <> 0 AND NOT EXISTS(SELECT 1 FROM told_{day} t WHERE t.id = m.id))"
    );
    // Locked first: nothing may be added to a day between reading and dropping it.
    for table in SPLIT {
        let lock = format!("LOCK TABLE {table}_{day} IN EXCLUSIVE MODE");
        client.batch_execute(&lock).await?;
    }
    client.batch_execute(&kept).await?;
    let counts = client
        .query_one(
            &format!("SELECT (SELECT count(*) FROM msg_{day}), (SELECT count(*) FROM kept)"),
            &[],
        )
        .await?;
    let (all, kept): (i64, i64) = (counts.try_get(0)?, counts.try_get(1)?);
    if kept > MAX_KEPT {
        return Err(failed(format!(
            "{kept} messages of {day} are not finished: the day is kept"
        )));
    }
    client
        .batch_execute("INSERT INTO carry SELECT id FROM kept ON CONFLICT DO NOTHING")
        .await?;
    for table in SPLIT {
        let sql = format!(
            "ALTER TABLE {table} DETACH PARTITION {table}_{day};
             INSERT INTO {table} SELECT d.* FROM {table}_{day} d JOIN kept k ON k.id = d.id;
             DROP TABLE {table}_{day}"
        );
        client.batch_execute(&sql).await?;
    }
    client.commit().await?;
    tracing::info!(
        day,
        removed = all - kept,
        kept,
        "dropped the partitions of a day"
    );
    Ok((all - kept) as u64)
}

/// Deletes finished messages from the default partitions.
async fn delete(client: &Transaction<'_>, before: i64, limit: usize) -> Result<u64, StoreError> {
    let below = lowest_at(before.saturating_add(MAX_LEAD_MS)).min(i64::MAX as u64) as i64;
    let rows = client
        .query(
            // A message is not final before it was accepted, so its id bounds the walk.
            "SELECT f.id FROM fin_default f WHERE f.id < $1 AND f.at < $2
             AND (f.tell = 0 OR EXISTS(SELECT 1 FROM told t WHERE t.id = f.id))
             ORDER BY f.id LIMIT $3",
            &[&below, &before, &(limit as i64)],
        )
        .await?;
    delete_rows(client, "_default", &ids_of(&rows)?).await
}

/// Deletes finished messages of a range that was set aside, whichever partitions have it: the days
/// of their partitions differ from their end. Returns how many, and the last.
async fn delete_aside(
    client: &Transaction<'_>,
    ids: Range<i64>,
    before: i64,
    limit: usize,
) -> Result<Option<(u64, i64)>, StoreError> {
    let rows = client
        .query(
            "SELECT f.id FROM fin f WHERE f.id >= $1 AND f.id < $2 AND f.at < $3
             AND (f.tell = 0 OR EXISTS(SELECT 1 FROM told t WHERE t.id = f.id))
             ORDER BY f.id LIMIT $4",
            &[&ids.start, &ids.end, &before, &(limit as i64)],
        )
        .await?;
    let ids = ids_of(&rows)?;
    let Some(&last) = ids.last() else {
        return Ok(None);
    };
    Ok(Some((delete_rows(client, "", &ids).await?, last)))
}

fn ids_of(rows: &[Row]) -> Result<Vec<i64>, StoreError> {
    let id = |row| id_at(row, 0).map(|id| id as i64);
    rows.iter().map(id).collect()
}

/// Deletes all rows of messages from the tables with this suffix, and from those that are not split.
async fn delete_rows(
    client: &Transaction<'_>,
    suffix: &str,
    ids: &[i64],
) -> Result<u64, StoreError> {
    let mut deleted = 0;
    for table in SPLIT {
        let sql = format!("DELETE FROM {table}{suffix} WHERE id = ANY($1)");
        let count = client.execute(&sql, &[&ids]).await?;
        if table == "fin" {
            deleted = count;
        }
    }
    for table in ["retry", "carry"] {
        let sql = format!("DELETE FROM {table} WHERE id = ANY($1)");
        client.execute(&sql, &[&ids]).await?;
    }
    Ok(deleted)
}
