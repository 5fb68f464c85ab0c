//! Attempts by their operator's message id: the look-up of old ones, and the table
//! `smpp.message_correlations` for other programs.
//!
//! The look-up is called by the correlation actor through the store; the table is filled by the
//! lanes in the transaction of the attempt. Guarantees that the newest attempt is found, that the UUIDs of one message
//! and of one operator are the same on every node and for ever, and that of rows that are not ours nothing but the status
//! changes. Ours have a row in `correlation_row`; those of the release before are known by a message_id that is made of our id.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::connect::{Object as Client, find as find_rows};
use ahash::AHashMap;
use tokio_postgres::types::ToSql;
use uuid::Uuid;

use super::PostgresShared;
use super::record::id_at;
use crate::cluster::CorrelationCounts;
use crate::{StoreResult, signed};
use smsc_domain::id::{MAX_LEAD_MS, lowest_at};
use smsc_domain::queue_name::QueueName;
use smsc_host::clock;
use smsc_proto::Message;

/// The longest id of an operator that the table holds.
const MAX_THEIRS: usize = 64;
/// Name space of operators' UUIDs. Part of the data: never change it.
const OPERATORS: Uuid = Uuid::from_u128(0x5d0c_6e0a_8f0e_4f5e_9a55_736d_7363_0001);
/// No message is older: 2020, Unix ms. UUIDs of others are all over their range, and most are not looked at for this.
const FIRST_MS: i64 = 1_577_836_800_000;
/// Rows per statement of the sweep.
const SWEEP: i64 = 10_000;

/// The counts, as they are kept.
#[derive(Debug, Default)]
pub struct KeptCorrelationCounts {
    pub taken_over: AtomicU64,
    pub in_use: AtomicU64,
    pub too_long: AtomicU64,
    pub expired: AtomicU64,
    pub deleted: AtomicU64,
}

/// Counts what does not fit while the rows of one transaction are collected.
#[derive(Debug, Default)]
pub struct OverflowCounts {
    too_long: std::cell::Cell<u64>,
}

// === impl KeptCorrelationCounts ===

impl KeptCorrelationCounts {
    pub fn read(&self) -> CorrelationCounts {
        CorrelationCounts {
            taken_over: self.taken_over.load(Ordering::Relaxed),
            in_use: self.in_use.load(Ordering::Relaxed),
            too_long: self.too_long.load(Ordering::Relaxed),
            expired: self.expired.load(Ordering::Relaxed),
            deleted: self.deleted.load(Ordering::Relaxed),
        }
    }
}

// === impl OverflowCounts ===

impl OverflowCounts {
    pub fn fits(&self, theirs: &str) -> bool {
        let fits = theirs.chars().count() <= MAX_THEIRS;
        if !fits {
            self.too_long.set(self.too_long.get() + 1);
        }
        fits
    }

    pub fn too_long(&self) -> u64 {
        self.too_long.get()
    }
}

/// What other programs know a message by, and all its parts: the `reference` of its sender where that is a UUID. `None`
/// where [`message_uuid`] of its own id says it.
pub fn known_as(message: &Message) -> Option<Uuid> {
    let client = message.client_data.as_deref();
    let given = client.and_then(|client| Uuid::try_parse(&client.reference).ok());
    given.or_else(|| {
        let parent = message.composition.as_deref().map_or(0, |one| one.parent);
        (parent != 0).then(|| message_uuid(parent))
    })
}

/// Version 8, made of our id so that they sort alike.
pub fn message_uuid(id: u64) -> Uuid {
    let high = (id >> 16) << 16 | 0x8000 | (id >> 4 & 0xFFF);
    let low = 0x8000_0000_0000_0000 | (id & 0xF) << 58;
    Uuid::from_u64_pair(high, low)
}

/// The operator's name when that is a UUID, else version 5, made of it; `None` for the queue of an
/// account, and for those of our own.
pub fn operator_uuid(queue: &str) -> Option<Uuid> {
    let name = match QueueName::parse(queue) {
        QueueName::Account(_) | QueueName::Internal(_) => return None,
        QueueName::Operator(id) => id,
        _ => queue,
    };
    let own = Uuid::try_parse(name);
    Some(own.unwrap_or_else(|_| Uuid::new_v5(&OPERATORS, name.as_bytes())))
}

/// Looks keys up; answers in the order requested. An operator may reuse an id: the newest message that
/// is not final is returned, otherwise the newest.
///
/// Each day that is read costs time: those within `ttl` come first, and the others from `since` (Unix
/// ms) on only for missing keys.
pub async fn find(
    client: &Client,
    keys: &[u128],
    ttl: Duration,
    since: i64,
) -> StoreResult<Vec<Option<u64>>> {
    // The low half is what the attempt was written with.
    let mut wanted: Vec<i64> = keys.iter().map(|key| *key as u64 as i64).collect();
    let ttl = signed(ttl.as_millis());
    let recent = clock::now_ms().saturating_sub(ttl);
    let mut found = find_from(client, &wanted, recent.max(since)).await?;
    if since < recent {
        let all = wanted.clone();
        wanted.retain(|key| !found.contains_key(key));
        if !wanted.is_empty() {
            found.extend(find_from(client, &wanted, since).await?);
        }
        wanted = all;
    }
    Ok(wanted.iter().map(|key| found.get(key).copied()).collect())
}

/// Those of messages with ids of this time (Unix ms) or later.
async fn find_from(client: &Client, wanted: &[i64], since: i64) -> StoreResult<AHashMap<i64, u64>> {
    let from = lowest_at(since) as i64;
    let newest = "SELECT max(id), correlation, min(id) FROM sent
         WHERE correlation = ANY($1) AND correlation <> 0 AND id >= $2 GROUP BY correlation";
    let rows = find_rows(client, newest, &[&wanted, &from]).await?;
    let mut found = AHashMap::with_capacity(rows.len());
    let mut several: Vec<i64> = Vec::new();
    for row in &rows {
        let key = row.try_get::<_, i64>(1)?;
        let newest = id_at(row, 0)?;
        if id_at(row, 2)? != newest {
            several.push(key);
        }
        found.insert(key, newest);
    }
    if !several.is_empty() {
        let active = "SELECT max(s.id), s.correlation FROM sent s
             WHERE s.correlation = ANY($1) AND s.correlation <> 0 AND s.id >= $2
               AND NOT EXISTS (SELECT FROM fin f WHERE f.id = s.id)
             GROUP BY s.correlation";
        for row in &find_rows(client, active, &[&several, &from]).await? {
            found.insert(row.try_get::<_, i64>(1)?, id_at(row, 0)?);
        }
    }
    Ok(found)
}

/// Expires rows that waited too long for their receipt, and deletes those of ours that ended before `before` (Unix ms);
/// returns the number of rows.
pub async fn sweep(shared: &PostgresShared, before: i64) -> StoreResult<u64> {
    let client = shared.reader().await?;
    let counts = &shared.counts.correlations;
    let expire = "UPDATE smpp.message_correlations SET status = 'EXPIRED' WHERE id IN (
        SELECT id FROM smpp.message_correlations
        WHERE status = 'SUBMITTED' AND expires_at < now() LIMIT $1 FOR UPDATE SKIP LOCKED)";
    let expired = in_steps(&client, expire, &[], &counts.expired).await?;
    // Nothing ends before its message was accepted, whose ids ascend: that bounds the walk.
    let below = lowest_at(before.saturating_add(MAX_LEAD_MS));
    let ended = before as f64;
    let ours = "WITH chosen AS (
          SELECT c.id FROM correlation_row k JOIN smpp.message_correlations c ON c.id = k.id
          WHERE k.msg < $2 AND c.status <> 'SUBMITTED'
            AND coalesce(c.dlr_received_at, c.expires_at) < to_timestamp($3::float8 / 1000)
          LIMIT $1 FOR UPDATE OF c SKIP LOCKED),
        gone AS (DELETE FROM smpp.message_correlations WHERE id IN (SELECT id FROM chosen) RETURNING id)
        DELETE FROM correlation_row WHERE id IN (SELECT id FROM gone)";
    let of_ids: [&(dyn ToSql + Sync); 2] = [&(below as i64), &ended];
    let mut deleted = in_steps(&client, ours, &of_ids, &counts.deleted).await?;
    let of_the_release_before = "DELETE FROM smpp.message_correlations WHERE id IN (
        SELECT c.id FROM smpp.message_correlations c
        WHERE c.message_id >= $4 AND c.message_id < $2 AND is_made_of_id(c.message_id)
          AND c.status <> 'SUBMITTED'
          AND coalesce(c.dlr_received_at, c.expires_at) < to_timestamp($3::float8 / 1000)
          AND NOT EXISTS (SELECT FROM correlation_row k WHERE k.id = c.id)
        LIMIT $1 FOR UPDATE SKIP LOCKED)";
    let (first, last) = (message_uuid(lowest_at(FIRST_MS)), message_uuid(below));
    let by_uuid: [&(dyn ToSql + Sync); 3] = [&last, &ended, &first];
    deleted += in_steps(&client, of_the_release_before, &by_uuid, &counts.deleted).await?;
    // Those whose row somebody else has deleted: a node of the release before, or the platform.
    let bereft = "DELETE FROM correlation_row WHERE id IN (
        SELECT k.id FROM correlation_row k WHERE k.msg < $2
          AND NOT EXISTS (SELECT FROM smpp.message_correlations c WHERE c.id = k.id)
        LIMIT $1)";
    in_steps(&client, bereft, &of_ids[..1], &AtomicU64::new(0)).await?;
    Ok(expired + deleted)
}

/// Runs a statement with at most [`SWEEP`] rows until there are fewer; returns how many in all.
async fn in_steps(
    client: &Client,
    sql: &str,
    values: &[&(dyn ToSql + Sync)],
    count: &AtomicU64,
) -> StoreResult<u64> {
    let mut all: Vec<&(dyn ToSql + Sync)> = vec![&SWEEP];
    all.extend(values);
    let mut done = 0;
    loop {
        let some = client.execute(sql, &all).await?;
        count.fetch_add(some, Ordering::Relaxed);
        done += some;
        if some < SWEEP as u64 {
            return Ok(done);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uuids_stay_the_same_for_ever() {
        let id = 0x1234_5678_9abc_def1;
        let message = message_uuid(id).to_string();
        assert_eq!(message, "12345678-9abc-8def-8400-000000000000");
        assert!(message_uuid(id) < message_uuid(id + 1));
        assert_eq!(operator_uuid("operator:up"), operator_uuid("up"));
        assert_eq!(operator_uuid("account:up"), None);
        assert_eq!(operator_uuid("internal:assembly"), None);
        let own = "6f1e7a3c-3f4b-4a57-9d5e-0c1d2e3f4a5b";
        let as_it_is = operator_uuid(&format!("operator:{own}")).map(|uuid| uuid.to_string());
        assert_eq!(as_it_is.as_deref(), Some(own));
        let version = operator_uuid("up").map(|uuid| uuid.get_version_num());
        assert_eq!(version, Some(5));
    }
}
