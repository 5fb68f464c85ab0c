//! Failed messages and parked receipts, read for the admin API.
//!
//! Called with a connection for administrators. Final states are walked from the newest down, at most
//! [`MAX_SCAN`](crate::MAX_SCAN) of them per request.

use super::PgStore;
use super::asides;
use super::cold::run_all;
use super::connect::{Object as Client, find};
use super::reader::{histories, load};
use super::record::{PARKED_COLUMNS, read_parked};
use crate::cold::{ColdRecord as _, ColdStatement};
use crate::damage::DamageLog;
use crate::failed::{EndPlace, FailedSearch, FailedStore, PAGE, ParkedSearch};
use crate::{FoundMessages, MessageHistory, ParkedRow, Reply, StoreResult, signed};

impl FailedStore for PgStore {
    fn failed(&self, search: FailedSearch) -> Reply<FoundMessages> {
        self.ask(|shared| async move {
            failed(&shared.admin_reader().await?, &shared.damage, &search).await
        })
    }

    fn histories(&self, ids: Vec<u64>) -> Reply<Vec<Option<MessageHistory>>> {
        self.ask(|shared| async move {
            histories(&shared.outbox.get().await?, &shared.damage, &ids).await
        })
    }

    fn unmatched(&self, search: ParkedSearch) -> Reply<Vec<ParkedRow>> {
        self.ask(|shared| async move {
            unmatched(&shared.admin_reader().await?, &shared.damage, &search).await
        })
    }
}

async fn failed(
    client: &Client,
    damage: &DamageLog,
    search: &FailedSearch,
) -> StoreResult<FoundMessages> {
    let places = async |statement: ColdStatement| {
        let rows = run_all(&***client, &[statement]).await?.returned;
        EndPlace::all(rows)
    };
    let last = match search.end_before() {
        None => None,
        Some(end) => match places(end).await?.pop() {
            // Retention has come past it, and past what is behind it.
            None => return Ok(FoundMessages::default()),
            last => last,
        },
    };
    let mut walk = search.walk(&asides::read(&***client).await?, last);
    loop {
        let candidates = places(walk.candidates()).await?;
        let next = match candidates.last() {
            Some(last) if candidates.len() == PAGE => Some(*last),
            _ => places(walk.end()).await?.pop(),
        };
        let ids: Vec<u64> = candidates.iter().map(|place| place.id).collect();
        if let Some(page) = walk.add(load(client, damage, &ids).await?, next) {
            return Ok(page);
        }
    }
}

async fn unmatched(
    client: &Client,
    damage: &DamageLog,
    search: &ParkedSearch,
) -> StoreResult<Vec<ParkedRow>> {
    let below = search.before.unwrap_or(i64::MAX as u64) as i64;
    let id = search.id.map(|id| id as i64);
    let operator = search.operator.map(|operator| operator as i32);
    let limit = signed(search.limit);
    let sql = format!(
        "SELECT {PARKED_COLUMNS} FROM parked
             WHERE ($1::bigint IS NULL OR id = $1) AND ($2::int IS NULL OR operator = $2)
               AND id < $3
             ORDER BY id DESC LIMIT $4"
    );
    let rows = find(client, &sql, &[&id, &operator, &below, &limit]).await?;
    let whole = rows.iter().filter_map(|row| damage.sift(read_parked(row)));
    Ok(whole.collect())
}
