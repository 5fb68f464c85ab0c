//! Failed messages and parked receipts, read for the admin API.
//!
//! Called with a connection for administrators. Final states are walked from the newest down, at most
//! [`MAX_SCAN`] of them per request.

use super::PgStore;
use super::asides;
use super::cold::run_all;
use super::connect::{Object as Client, find};
use super::reader::{histories, load};
use super::record::{PARKED_COLUMNS, read_parked};
use super::search::end_of_walk;
use crate::cold::{self, ColdStatement};
use crate::damage::DamageLog;
use crate::failed::{EndPlace, FailedSearch, FailedStore, MAX_LOOKED, PAGE, ParkedSearch};
use crate::{FoundMessages, MAX_SCAN, MessageHistory, ParkedRow, Reply, StoreResult, signed};

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
    if search.by_end {
        return failed_by_end(client, damage, search).await;
    }
    let ids = search.which.ids(&asides::read(&***client).await?);
    let (mut found, mut looked, mut below) = (Vec::new(), 0, ids.end);
    loop {
        let candidates = search.candidates(&(ids.start..below));
        let candidates = run_all(&***client, &[candidates]).await?;
        let candidates = cold::ids_of(candidates.returned)?;
        looked += candidates.len();
        let is_full = candidates.len() == PAGE;
        let next = match candidates.last() {
            Some(last) if is_full => Some(*last),
            _ => {
                let (from, below) = (ids.start as i64, below as i64);
                end_of_walk(client, search.walk(), &[&from, &below, &MAX_SCAN]).await?
            }
        };
        let loaded = load(client, damage, &candidates)
            .await?
            .into_iter()
            .flatten();
        found.extend(loaded.filter(|stored| search.fits(stored)));
        let enough = found.len() > search.which.limit || looked >= MAX_LOOKED;
        match next {
            Some(next) if is_full && !enough => below = next,
            _ => return Ok(search.page(found, next)),
        }
    }
}

/// As [`failed`], the latest end first.
async fn failed_by_end(
    client: &Client,
    damage: &DamageLog,
    search: &FailedSearch,
) -> StoreResult<FoundMessages> {
    let places = async |statement: ColdStatement| {
        let rows = run_all(&***client, &[statement]).await?.returned;
        EndPlace::all(rows)
    };
    let last = match search.which.before {
        None => None,
        Some(id) => match places(FailedSearch::end_of(id)).await?.first() {
            Some(place) => Some(*place),
            // Retention has come past it, and past what is behind it.
            None => return Ok(FoundMessages::default()),
        },
    };
    let mut place = search.first_place(last);
    let (mut found, mut looked) = (Vec::new(), 0);
    loop {
        let candidates = places(search.candidates_by_end(place)).await?;
        looked += candidates.len();
        let is_full = candidates.len() == PAGE;
        let next = match candidates.last() {
            Some(last) if is_full => Some(*last),
            _ => places(search.end_of_walk_by_end(place)).await?.pop(),
        };
        let ids: Vec<u64> = candidates.iter().map(|place| place.id).collect();
        let loaded = load(client, damage, &ids).await?.into_iter().flatten();
        found.extend(loaded.filter(|stored| search.fits(stored)));
        let enough = found.len() > search.which.limit || looked >= MAX_LOOKED;
        match next {
            Some(next) if is_full && !enough => place = next,
            next => return Ok(search.page(found, next.map(|place| place.id))),
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
