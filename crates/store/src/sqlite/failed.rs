//! Failed messages and parked receipts, read for the admin API.
//!
//! Called on the admin thread, for histories on that of the outbox. Final states are walked from the newest down, at most
//! [`MAX_SCAN`](crate::MAX_SCAN) of them per request.

use rusqlite::{Connection, ToSql};

use super::SqliteStore;
use super::asides;
use super::cold::{as_sql_error, run};
use super::reader::{PARKED, history, load, whole};
use super::record::read_parked;
use super::schema::sql_failed;
use super::search::end_of_walk;
use crate::cold::{ColdStatement, ids_of};
use crate::damage::DamageLog;
use crate::failed::{EndPlace, FailedSearch, FailedStore, MAX_LOOKED, PAGE, ParkedSearch};
use crate::{FoundMessages, MessageHistory, ParkedRow, Reply};

impl FailedStore for SqliteStore {
    fn failed(&self, search: FailedSearch) -> Reply<FoundMessages> {
        let damage = self.damage();
        self.admin
            .ask(move |connection| failed(connection, &damage, &search).map_err(sql_failed))
    }

    fn histories(&self, ids: Vec<u64>) -> Reply<Vec<Option<MessageHistory>>> {
        let damage = self.damage();
        self.outbox.ask(move |connection| {
            let all = ids.iter().map(|id| history(connection, &damage, *id));
            all.collect::<rusqlite::Result<_>>().map_err(sql_failed)
        })
    }

    fn unmatched(&self, search: ParkedSearch) -> Reply<Vec<ParkedRow>> {
        let damage = self.damage();
        self.admin
            .ask(move |connection| unmatched(connection, &damage, &search).map_err(sql_failed))
    }
}

fn failed(
    connection: &Connection,
    damage: &DamageLog,
    search: &FailedSearch,
) -> rusqlite::Result<FoundMessages> {
    if search.by_end {
        return failed_by_end(connection, damage, search);
    }
    let ids = search.which.ids(&asides::read(connection)?);
    let (mut found, mut looked, mut below) = (Vec::new(), 0, ids.end);
    loop {
        let candidates = run(connection, &search.candidates(&(ids.start..below)))?;
        let candidates = ids_of(candidates.returned).map_err(as_sql_error)?;
        looked += candidates.len();
        let is_full = candidates.len() == PAGE;
        let next = match candidates.last() {
            Some(last) if is_full => Some(*last),
            _ if search.receipts => end_of_walk(connection, CHANGED, ids.start..below)?,
            _ => end_of_walk(connection, "fin", ids.start..below)?,
        };
        let loaded = load(connection, damage, &candidates)?.into_iter().flatten();
        found.extend(loaded.filter(|stored| search.fits(stored)));
        let enough = found.len() > search.which.limit || looked >= MAX_LOOKED;
        match next {
            Some(next) if is_full && !enough => below = next,
            _ => return Ok(search.page(found, next)),
        }
    }
}

/// As [`failed`], the latest end first.
fn failed_by_end(
    connection: &Connection,
    damage: &DamageLog,
    search: &FailedSearch,
) -> rusqlite::Result<FoundMessages> {
    let places = |statement: &ColdStatement| {
        let rows = run(connection, statement)?.returned;
        EndPlace::all(rows).map_err(as_sql_error)
    };
    let last = match search.which.before {
        None => None,
        Some(id) => match places(&FailedSearch::end_of(id))?.first() {
            Some(place) => Some(*place),
            // Retention has come past it, and past what is behind it.
            None => return Ok(FoundMessages::default()),
        },
    };
    let mut place = search.first_place(last);
    let (mut found, mut looked) = (Vec::new(), 0);
    loop {
        let candidates = places(&search.candidates_by_end(place))?;
        looked += candidates.len();
        let is_full = candidates.len() == PAGE;
        let next = match candidates.last() {
            Some(last) if is_full => Some(*last),
            _ => places(&search.end_of_walk_by_end(place))?.pop(),
        };
        let ids: Vec<u64> = candidates.iter().map(|place| place.id).collect();
        let loaded = load(connection, damage, &ids)?.into_iter().flatten();
        found.extend(loaded.filter(|stored| search.fits(stored)));
        let enough = found.len() > search.which.limit || looked >= MAX_LOOKED;
        match next {
            Some(next) if is_full && !enough => place = next,
            next => return Ok(search.page(found, next.map(|place| place.id))),
        }
    }
}

/// Messages about which there was an order.
const CHANGED: &str = "(SELECT DISTINCT id FROM change)";

fn unmatched(
    connection: &Connection,
    damage: &DamageLog,
    search: &ParkedSearch,
) -> rusqlite::Result<Vec<ParkedRow>> {
    let below = search.before.unwrap_or(i64::MAX as u64) as i64;
    let id = search.id.map(|id| id as i64);
    let limit = search.limit as i64;
    let values: [&dyn ToSql; 4] = [&id, &search.operator, &below, &limit];
    let sql = format!(
        "{PARKED} WHERE (?1 IS NULL OR id = ?1) AND (?2 IS NULL OR operator = ?2) AND id < ?3
         ORDER BY id DESC LIMIT ?4"
    );
    whole(connection, damage, &sql, &values[..], read_parked)
}
