//! Retention: whole days are dropped, single messages deleted where they have no day of their own.
//!
//! Called through the store by the janitor of one node. Guarantees that only messages that are
//! final and whose receipt is acknowledged are removed: rows of a dropped day that are still needed
//! move to the default partitions first, in the same transaction; and that the highest id is kept.
//!
//! A day is read without a lock. Under the lock, which those who write to that day wait for, only what
//! may have to stay is looked at. A day of which too much has to stay is not read again for an hour.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::connect::Object;
use deadpool_postgres::Transaction;
use tokio_postgres::{Client, Error, Row};

use super::asides;
use super::connect::{begin_reading, begin_with};
use super::schema::SPLIT;
use super::upkeep::{meta, one, raise};
use super::{PostgresShared, failed};
use crate::StoreResult;
use smsc_domain::id::{MAX_LEAD_MS, lowest_at};
use smsc_domain::period::DAY_MS;
use smsc_host::clock;

/// Messages deleted per transaction.
const CHUNK: usize = 1000;
/// Rows that a dropped day may leave behind; one with more waits.
const MAX_KEPT: i64 = 100_000;
/// A day with more than that is looked at again after this time: each look reads all of it.
const LOOK_AGAIN: Duration = Duration::from_secs(3600);

/// Days that are not looked at before some time, by the suffixes of their names.
#[derive(Default)]
pub struct DeferredDays(Mutex<HashMap<String, Instant>>);

/// Removes messages that were final, with their receipts acknowledged, before `before`; single
/// messages up to `limit`. Returns how many.
pub async fn retire(shared: &PostgresShared, before: i64, limit: usize) -> StoreResult<u64> {
    let mut client = shared.upkeep.get().await?;
    let highest = asides::highest_id(&**client).await?;
    raise(&**client, "highest_id", highest as i64).await?;
    let mut removed = 0;
    // Days that are still written to are never dropped.
    let over = lowest_at(before.min(clock::now_ms() - DAY_MS)) as i64;
    let days = days(&client).await?;
    let waiting = &shared.waiting_days;
    waiting.forget(Instant::now());
    let old = days.iter().take_while(|day| day.end <= over);
    for day in old.filter(|day| !waiting.has(day)) {
        match drop_day(&mut client, day, before).await {
            Ok(Some(count)) => removed += count,
            Ok(None) => {
                waiting.add(day);
                tracing::warn!(
                    day = day.name,
                    "a day is kept for an hour: more than {MAX_KEPT} messages of it have not ended, or not long enough ago"
                );
            }
            // The other days need not wait for this one.
            Err(error) => tracing::warn!(%error, day = day.name, "a day is kept for now"),
        }
    }
    let mut deleted = 0;
    // A message is not final before it was accepted, so its id bounds the walk.
    let below = lowest_at(before.saturating_add(MAX_LEAD_MS)).min(i64::MAX as u64) as i64;
    let set_aside = asides::read(&**client).await?;
    // Of ids that were set aside in whichever partitions have them: the days of these differ from their end.
    let set_aside = set_aside
        .iter()
        .map(|aside| ("", aside.first as i64..aside.last as i64 + 1));
    for (suffix, mut ids) in [("_default", 0..below)].into_iter().chain(set_aside) {
        while deleted < limit {
            let room = CHUNK.min(limit - deleted);
            let transaction = begin(&mut client).await?;
            let some = delete(&transaction, suffix, &ids, before, room).await?;
            transaction.commit().await?;
            let Some((count, last)) = some else { break };
            deleted += count as usize;
            ids.start = last + 1;
        }
    }
    forget_heard(&client, before).await?;
    Ok(removed + deleted as u64)
}

/// Deletes what was heard of messages that are gone: days are dropped without looking at each message.
async fn forget_heard(client: &Client, before: i64) -> StoreResult {
    let below = lowest_at(before).min(i64::MAX as u64) as i64;
    let sql = "DELETE FROM heard WHERE id IN (SELECT h.id FROM heard h
         WHERE h.id < $1 AND NOT EXISTS(SELECT 1 FROM msg m WHERE m.id = h.id)
         ORDER BY h.id LIMIT $2)";
    while client.execute(sql, &[&below, &(CHUNK as i64)]).await? >= CHUNK as u64 {}
    Ok(())
}

/// Everyone who writes would wait in line behind a lock that is waited for.
async fn begin(client: &mut Object) -> Result<Transaction<'_>, Error> {
    let local = "SET LOCAL lock_timeout = '1s'; SET LOCAL statement_timeout = '5min'";
    begin_with(client, local).await
}

/// A day with partitions of its own.
struct Day {
    /// Suffix of their names, as `20260131`.
    name: String,
    /// Its ids are from this one up to `end`.
    first: i64,
    end: i64,
}

/// The oldest first.
async fn days(client: &Client) -> StoreResult<Vec<Day>> {
    let select = "SELECT substr(c.relname, 5),
           substring(pg_get_expr(c.relpartbound, c.oid) FROM 'FROM \\(''([0-9]+)''\\)')::bigint,
           substring(pg_get_expr(c.relpartbound, c.oid) FROM 'TO \\(''([0-9]+)''\\)')::bigint
         FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
         WHERE i.inhparent = 'msg'::regclass AND c.relname ~ '^msg_[0-9]{8}$' ORDER BY 1";
    let rows = client.query(select, &[]).await?;
    rows.iter()
        .map(|row| {
            Ok(Day {
                name: row.try_get(0)?,
                first: row.try_get(1)?,
                end: row.try_get(2)?,
            })
        })
        .collect()
}

/// Drops a day, if nothing prevents it; returns how many messages it removed, or `None` when too many have
/// to stay.
async fn drop_day(client: &mut Object, day: &Day, before: i64) -> StoreResult<Option<u64>> {
    let began = Instant::now();
    let Some(census) = census(client, day, before).await? else {
        return Ok(None);
    };
    let counted = began.elapsed();
    let Day { name, first, end } = day;
    let transaction = begin(client).await?;
    // Locked first: nothing may be added to a day between looking at it and dropping it.
    for table in SPLIT {
        let lock = format!("LOCK TABLE {table}_{name} IN EXCLUSIVE MODE");
        transaction.batch_execute(&lock).await?;
    }
    let newer = format!("SELECT EXISTS(SELECT 1 FROM msg_{name} WHERE id >= $1)");
    if one(&*transaction, &newer, &[&census.mark]).await? {
        return Err(failed("messages of it came just now"));
    }
    transaction
        .batch_execute(
            "CREATE TEMP TABLE kept(id bigint PRIMARY KEY) ON COMMIT DROP;
             SET LOCAL enable_hashjoin = off; SET LOCAL enable_mergejoin = off",
        )
        .await?;
    // Both what was carried then, which may have ended since, and what is carried now.
    let insert = "INSERT INTO kept SELECT unnest($1::bigint[])
         UNION SELECT id FROM carry WHERE id >= $2 AND id < $3";
    transaction
        .execute(insert, &[&census.kept, first, end])
        .await?;
    transaction
        .batch_execute(&format!(
            "DELETE FROM kept k WHERE NOT EXISTS(SELECT 1 FROM msg_{name} m
               LEFT JOIN fin_{name} f ON f.id = m.id
               WHERE m.id = k.id AND (f.id IS NULL OR f.at >= {before}
                 OR (f.tell <> 0 AND NOT EXISTS(SELECT 1 FROM told_{name} t WHERE t.id = m.id))));
             ANALYZE kept;
             DELETE FROM carry c WHERE c.id >= {first} AND c.id < {end}
               AND NOT EXISTS(SELECT 1 FROM kept k WHERE k.id = c.id)"
        ))
        .await?;
    let kept: i64 = one(&*transaction, "SELECT count(*) FROM kept", &[]).await?;
    let removed = census.messages - kept;
    for table in SPLIT {
        let sql = format!(
            "ALTER TABLE {table} DETACH PARTITION {table}_{name};
             INSERT INTO {table} SELECT d.* FROM kept k JOIN {table}_{name} d ON d.id = k.id;
             DROP TABLE {table}_{name}"
        );
        transaction.batch_execute(&sql).await?;
    }
    transaction.commit().await?;
    tracing::info!(
        day = name,
        removed,
        counted_ms = counted.as_millis() as u64,
        locked_ms = (began.elapsed() - counted).as_millis() as u64,
        "dropped the partitions of a day"
    );
    Ok(Some(removed as u64))
}

/// What is in a day that is to be dropped.
struct Census {
    /// The low-water mark, which is above all messages of the day.
    mark: i64,
    messages: i64,
    /// Those that may have to stay, most of them because they are in `carry`.
    kept: Vec<i64>,
}

/// Looks at a day in one snapshot, without a lock; reads it once, which takes as long as it takes.
///
/// What is active is in `carry`. That is not taken on trust: as many messages must lack a final state, and
/// as many receipts an acknowledgement, as are found there. `None` when too many have to stay, which is looked
/// for first.
async fn census(client: &mut Object, day: &Day, before: i64) -> StoreResult<Option<Census>> {
    let Day { name, first, end } = day;
    let snapshot = begin_reading(client).await?;
    let mark = meta(&*snapshot, "low_water").await?;
    let newer = format!("SELECT EXISTS(SELECT 1 FROM msg_{name} WHERE id >= $1)");
    if one(&*snapshot, &newer, &[&mark]).await? {
        return Err(failed("it is above the low-water mark still"));
    }
    let carried = "SELECT id FROM carry WHERE id >= $1 AND id < $2 LIMIT $3";
    let rows = snapshot
        .query(carried, &[first, end, &(MAX_KEPT + 1)])
        .await?;
    let Some(mut kept) = few(&rows)? else {
        return Ok(None);
    };
    let finals = format!(
        "SELECT count(*), count(*) FILTER (WHERE tell <> 0), count(*) FILTER (WHERE at >= {before})
         FROM fin_{name}"
    );
    let finals = snapshot.query_one(&finals, &[]).await?;
    let late: i64 = finals.try_get(2)?;
    if late > MAX_KEPT {
        return Ok(None);
    }
    let count = |table: &str| format!("SELECT count(*) FROM {table}_{name}");
    let messages: i64 = one(&*snapshot, &count("msg"), &[]).await?;
    let told: i64 = one(&*snapshot, &count("told"), &[]).await?;
    let active = format!(
        "SELECT count(*) FILTER (WHERE f.id IS NULL),
           count(*) FILTER (WHERE f.tell <> 0 AND t.id IS NULL)
         FROM unnest($1::bigint[]) k JOIN msg_{name} m ON m.id = k
           LEFT JOIN fin_{name} f ON f.id = k LEFT JOIN told_{name} t ON t.id = k"
    );
    let active = snapshot.query_one(&active, &[&kept]).await?;
    let open = messages - finals.try_get::<_, i64>(0)?;
    let untold = finals.try_get::<_, i64>(1)? - told;
    if (open, untold) != (active.try_get(0)?, active.try_get(1)?) {
        tracing::error!(
            day = name,
            open,
            untold,
            "not all that is active is carried: reading the day"
        );
        let sql = format!(
            "SELECT m.id FROM msg_{name} m LEFT JOIN fin_{name} f ON f.id = m.id
               LEFT JOIN told_{name} t ON t.id = m.id
             WHERE f.id IS NULL OR (f.tell <> 0 AND t.id IS NULL) LIMIT $1"
        );
        let Some(more) = few(&snapshot.query(&sql, &[&(MAX_KEPT + 1)]).await?)? else {
            return Ok(None);
        };
        kept.extend(more);
    }
    if late > 0 {
        let sql = format!("SELECT id FROM fin_{name} WHERE at >= $1");
        kept.extend(ids_of(&snapshot.query(&sql, &[&before]).await?)?);
    }
    snapshot.commit().await?;
    Ok(Some(Census {
        mark,
        messages,
        kept,
    }))
}

/// Their ids, unless there are too many to stay.
fn few(rows: &[Row]) -> StoreResult<Option<Vec<i64>>> {
    if rows.len() as i64 > MAX_KEPT {
        Ok(None)
    } else {
        ids_of(rows).map(Some)
    }
}

/// Deletes finished messages of a range from the tables with this suffix. Returns how many, and the last.
async fn delete(
    client: &Transaction<'_>,
    suffix: &str,
    ids: &Range<i64>,
    before: i64,
    limit: usize,
) -> StoreResult<Option<(u64, i64)>> {
    let select = format!(
        "SELECT f.id FROM fin{suffix} f WHERE f.id >= $1 AND f.id < $2 AND f.at < $3
         AND (f.tell = 0 OR EXISTS(SELECT 1 FROM told t WHERE t.id = f.id))
         ORDER BY f.id LIMIT $4"
    );
    let rows = client
        .query(&select, &[&ids.start, &ids.end, &before, &(limit as i64)])
        .await?;
    let ids = ids_of(&rows)?;
    let Some(&last) = ids.last() else {
        return Ok(None);
    };
    Ok(Some((delete_rows(client, suffix, &ids).await?, last)))
}

fn ids_of(rows: &[Row]) -> StoreResult<Vec<i64>> {
    let ids = rows.iter().map(|row| row.try_get(0));
    Ok(ids.collect::<Result<_, _>>()?)
}

/// Deletes all rows of messages from the tables with this suffix, and from those that are not split.
async fn delete_rows(client: &Transaction<'_>, suffix: &str, ids: &[i64]) -> StoreResult<u64> {
    let mut deleted = 0;
    for table in SPLIT {
        let sql = format!("DELETE FROM {table}{suffix} WHERE id = ANY($1)");
        let count = client.execute(&sql, &[&ids]).await?;
        if table == "fin" {
            deleted = count;
        }
    }
    for table in ["retry", "carry", "heard"] {
        let sql = format!("DELETE FROM {table} WHERE id = ANY($1)");
        client.execute(&sql, &[&ids]).await?;
    }
    Ok(deleted)
}

// === impl DeferredDays ===

impl DeferredDays {
    fn days(&self) -> std::sync::MutexGuard<'_, HashMap<String, Instant>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, day: &Day) {
        let until = Instant::now() + LOOK_AGAIN;
        self.days().insert(day.name.clone(), until);
    }

    fn has(&self, day: &Day) -> bool {
        self.days().contains_key(&day.name)
    }

    /// Forgets those whose time has come.
    fn forget(&self, now: Instant) {
        self.days().retain(|_, until| *until > now);
    }
}
