//! Attempts by their operator's message id: the look-up of old ones, and the table
//! `smpp.message_correlations` for other programs.
//!
//! The look-up is called by the correlation actor through the store; the table is filled by the
//! lanes in the transaction of the attempt. Keeps true that the newest attempt answers, and that
//! the UUIDs of one message and of one operator are the same on every node and for ever.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use ahash::AHashMap;
use deadpool_postgres::Client;
use uuid::Uuid;

use super::Shared;
use super::record::id_at;
use crate::clock;
use crate::domain::id::lowest_at;
use crate::store::StoreError;

/// The longest id of an operator that the table holds.
const MAX_THEIRS: usize = 64;
/// Name space of operators' UUIDs. Part of the data: never change it.
const OPERATORS: Uuid = Uuid::from_u128(0x5d0c_6e0a_8f0e_4f5e_9a55_736d_7363_0001);
/// Rows per statement of the sweep.
const SWEEP: i64 = 10_000;

/// What has become of attempts in `smpp.message_correlations`.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct CorrelationCounts {
    /// Rows that an operator's reused id took over.
    pub taken_over: u64,
    /// Attempts without a row, because the row of their id still waits for its receipt.
    pub in_use: u64,
    /// Attempts without a row, because the operator's id is longer than the column.
    pub too_long: u64,
}

/// The counts, as they are kept.
#[derive(Debug, Default)]
pub struct Counts {
    pub taken_over: AtomicU64,
    pub in_use: AtomicU64,
    pub too_long: AtomicU64,
}

/// Counts what does not fit while the rows of one transaction are collected.
#[derive(Debug, Default)]
pub struct Kept {
    too_long: std::cell::Cell<u64>,
}

// === impl Counts ===

impl Counts {
    pub fn read(&self) -> CorrelationCounts {
        CorrelationCounts {
            taken_over: self.taken_over.load(Ordering::Relaxed),
            in_use: self.in_use.load(Ordering::Relaxed),
            too_long: self.too_long.load(Ordering::Relaxed),
        }
    }
}

// === impl Kept ===

impl Kept {
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

/// Version 8, made of our id so that they sort alike.
pub fn message_uuid(id: u64) -> Uuid {
    let high = (id >> 16) << 16 | 0x8000 | (id >> 4 & 0xFFF);
    let low = 0x8000_0000_0000_0000 | (id & 0xF) << 58;
    Uuid::from_u64_pair(high, low)
}

/// Version 5, made of the operator's name; `None` for the queue of an account.
pub fn operator_uuid(queue: &str) -> Option<Uuid> {
    if queue.starts_with("account:") {
        return None;
    }
    let name = queue.strip_prefix("operator:").unwrap_or(queue);
    Some(Uuid::new_v5(&OPERATORS, name.as_bytes()))
}

/// Looks keys up; answers in the order asked. An operator may give an id again: the newest message
/// that is not final answers, without one the newest.
pub async fn find(
    client: &Client,
    keys: &[u128],
    ttl: Duration,
) -> Result<Vec<Option<u64>>, StoreError> {
    // The low half is what the attempt was written with.
    let wanted: Vec<i64> = keys.iter().map(|key| *key as u64 as i64).collect();
    let ttl = i64::try_from(ttl.as_millis()).unwrap_or(i64::MAX);
    let from = lowest_at(clock::now_ms().saturating_sub(ttl)) as i64;
    let statement = client
        .prepare_cached(
            "SELECT max(id), correlation, min(id) FROM sent
             WHERE correlation = ANY($1) AND correlation <> 0 AND id >= $2 GROUP BY correlation",
        )
        .await?;
    let rows = client.query(&statement, &[&wanted, &from]).await?;
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
        let statement = client
            .prepare_cached(
                "SELECT max(s.id), s.correlation FROM sent s
                 WHERE s.correlation = ANY($1) AND s.correlation <> 0 AND s.id >= $2
                   AND NOT EXISTS (SELECT FROM fin f WHERE f.id = s.id)
                 GROUP BY s.correlation",
            )
            .await?;
        for row in &client.query(&statement, &[&several, &from]).await? {
            found.insert(row.try_get::<_, i64>(1)?, id_at(row, 0)?);
        }
    }
    Ok(wanted.iter().map(|key| found.get(key).copied()).collect())
}

/// Ends what has waited for its receipt too long; says how many.
pub async fn sweep(shared: &Shared) -> Result<u64, StoreError> {
    let client = shared.reader().await?;
    let mut swept = 0;
    loop {
        let some = client
            .execute(
                "UPDATE smpp.message_correlations SET status = 'EXPIRED' WHERE id IN (
                   SELECT id FROM smpp.message_correlations
                   WHERE status = 'SUBMITTED' AND expires_at < now() LIMIT $1
                   FOR UPDATE SKIP LOCKED)",
                &[&SWEEP],
            )
            .await?;
        swept += some;
        if some < SWEEP as u64 {
            return Ok(swept);
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
        let version = operator_uuid("up").map(|uuid| uuid.get_version_num());
        assert_eq!(version, Some(5));
    }
}
