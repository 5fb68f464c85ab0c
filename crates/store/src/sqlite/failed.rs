//! Failed messages and parked receipts, read for the admin API.
//!
//! Called on the admin thread, for histories on that of the outbox. Final states are walked from the newest down, at most
//! [`MAX_SCAN`](crate::MAX_SCAN) of them per request.

use rusqlite::{Connection, ToSql};

use super::SqliteStore;
use super::asides;
use super::cold::records;
use super::reader::{PARKED, history, load, whole};
use super::record::read_parked;
use super::schema::sql_failed;
use crate::cold::ColdStatement;
use crate::damage::DamageLog;
use crate::failed::{EndPlace, FailedSearch, FailedStore, PAGE, ParkedSearch};
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
    let places = |statement: &ColdStatement| records::<EndPlace>(connection, statement);
    let last = match search.end_before() {
        None => None,
        Some(end) => match places(&end)?.pop() {
            // Retention has come past it, and past what is behind it.
            None => return Ok(FoundMessages::default()),
            last => last,
        },
    };
    let mut walk = search.walk(&asides::read(connection)?, last);
    loop {
        let candidates = places(&walk.candidates())?;
        let next = match candidates.last() {
            Some(last) if candidates.len() == PAGE => Some(*last),
            _ => places(&walk.end())?.pop(),
        };
        let ids: Vec<u64> = candidates.iter().map(|place| place.id).collect();
        if let Some(page) = walk.add(load(connection, damage, &ids)?, next) {
            return Ok(page);
        }
    }
}

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
