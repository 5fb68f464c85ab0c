//! Failed messages and parked receipts, read for the admin API.
//!
//! Called with a connection of the pool. Final states are walked from the newest down, at most
//! [`MAX_SCAN`] of them per request.

use std::sync::Arc;

use deadpool_postgres::Client;

use super::PgStore;
use super::reader::{histories, load, read_parked};
use super::record::id_at;
use crate::store::failed::{
    FailedPage, FailedSearch, FailedStore, MAX_LOOKED, MAX_SCAN, PAGE, ParkedSearch,
};
use crate::store::{History, ParkedRow, Reply, StoreError};

impl FailedStore for PgStore {
    fn failed(&self, search: FailedSearch) -> Reply<FailedPage> {
        let shared = Arc::clone(&self.shared);
        self.shared
            .ask(async move { failed(&shared.reader().await?, &search).await })
    }

    fn histories(&self, ids: Vec<u64>) -> Reply<Vec<Option<History>>> {
        let shared = Arc::clone(&self.shared);
        self.shared
            .ask(async move { histories(&shared.reader().await?, &ids).await })
    }

    fn unmatched(&self, search: ParkedSearch) -> Reply<Vec<ParkedRow>> {
        let shared = Arc::clone(&self.shared);
        self.shared
            .ask(async move { unmatched(&shared.reader().await?, &search).await })
    }
}

async fn failed(client: &Client, search: &FailedSearch) -> Result<FailedPage, StoreError> {
    let ids = search.which.ids();
    let (mut found, mut looked, mut below) = (Vec::new(), 0, ids.end);
    loop {
        let candidates = candidates(client, search, ids.start, below).await?;
        looked += candidates.len();
        let is_full = candidates.len() == PAGE;
        let next = match candidates.last() {
            Some(last) if is_full => Some(*last),
            _ => end_of_walk(client, ids.start, below).await?,
        };
        let loaded = load(client, &candidates).await?.into_iter().flatten();
        found.extend(loaded.filter(|stored| search.fits(stored)));
        let enough = found.len() > search.which.limit || looked >= MAX_LOOKED;
        match next {
            Some(next) if is_full && !enough => below = next,
            _ => return Ok(search.page(found, next)),
        }
    }
}

/// Up to [`PAGE`] ids of messages in the wanted states, newest first.
async fn candidates(
    client: &Client,
    search: &FailedSearch,
    from: u64,
    below: u64,
) -> Result<Vec<u64>, StoreError> {
    let sql = format!(
        "SELECT f.id FROM (SELECT id, state FROM fin WHERE id >= $1 AND id < $2
           ORDER BY id DESC LIMIT $3) f
         WHERE f.state IN ({}) ORDER BY f.id DESC LIMIT $4",
        search.states()
    );
    let statement = client.prepare_cached(&sql).await?;
    let (from, below, most) = (from as i64, below as i64, PAGE as i64);
    let rows = client
        .query(&statement, &[&from, &below, &MAX_SCAN, &most])
        .await?;
    rows.iter().map(|row| id_at(row, 0)).collect()
}

/// The lowest id that [`candidates`] has walked over; `None` when it has walked over all.
async fn end_of_walk(client: &Client, from: u64, below: u64) -> Result<Option<u64>, StoreError> {
    let statement = client
        .prepare_cached(
            "SELECT min(w.id), count(*) FROM (SELECT id FROM fin WHERE id >= $1 AND id < $2
               ORDER BY id DESC LIMIT $3) w",
        )
        .await?;
    let row = client
        .query_one(&statement, &[&(from as i64), &(below as i64), &MAX_SCAN])
        .await?;
    let (lowest, count): (Option<i64>, i64) = (row.try_get(0)?, row.try_get(1)?);
    Ok(lowest.filter(|_| count >= MAX_SCAN).map(|id| id as u64))
}

async fn unmatched(client: &Client, search: &ParkedSearch) -> Result<Vec<ParkedRow>, StoreError> {
    let below = search.before.unwrap_or(i64::MAX as u64) as i64;
    let id = search.id.map(|id| id as i64);
    let operator = search.operator.map(|operator| operator as i32);
    let limit = i64::try_from(search.limit).unwrap_or(i64::MAX);
    let statement = client
        .prepare_cached(
            "SELECT id, operator, operator_message_id, at, receipt FROM parked
             WHERE ($1::bigint IS NULL OR id = $1) AND ($2::int IS NULL OR operator = $2)
               AND id < $3
             ORDER BY id DESC LIMIT $4",
        )
        .await?;
    let rows = client
        .query(&statement, &[&id, &operator, &below, &limit])
        .await?;
    rows.iter().map(read_parked).collect()
}
