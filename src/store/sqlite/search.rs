//! Lists messages for people: by destination through the index, by state, newest first.
//!
//! Called on the admin thread; keeps true that one request reads a bounded number of rows, so that a
//! search for something rare cannot occupy the thread for long. A list shorter than the limit may
//! therefore be continued with `before` set to its last id.

use std::path::Path;

use rusqlite::{Connection, ToSql};

use super::reader::load;
use super::record::Readable;
use super::schema::{self, failed, meta, sql_failed};
use crate::pb::MessageState;
use crate::store::{Search, StoreError, Stored};

/// Rows looked at per request.
const MAX_SCAN: i64 = 500_000;
/// Largest answer.
const MAX_LIMIT: usize = 10_000;
/// Candidates loaded at once when a state has to be compared.
const PAGE: usize = 256;

/// Answers a search. `index` is the path of `index.db`, `None` when it is switched off.
pub fn search(
    main: &Connection,
    index: Option<&Path>,
    search: &Search,
) -> Result<Vec<Stored>, StoreError> {
    let limit = search.limit.min(MAX_LIMIT);
    let before = search
        .before
        .map_or(i64::MAX, |id| i64::try_from(id).unwrap_or(i64::MAX));
    let Some(to) = &search.to else {
        return by_state(main, search.state, before, limit).map_err(sql_failed);
    };
    let index = index.ok_or_else(|| {
        failed("search by destination is switched off: set store.search_index = true")
    })?;
    let index = schema::open_reader(index)?;
    by_destination(main, &index, to, search.state, before, limit).map_err(sql_failed)
}

fn by_state(
    main: &Connection,
    state: Option<MessageState>,
    before: i64,
    limit: usize,
) -> rusqlite::Result<Vec<Stored>> {
    // The inner SELECT bounds the walk: without it a rare state would read the whole table.
    let (sql, value): (&str, &dyn ToSql) = match &state {
        None => (
            "SELECT id FROM msg WHERE id < ?1 AND ?2 = 0 ORDER BY id DESC LIMIT min(?3, ?4)",
            &0,
        ),
        Some(MessageState::Enroute) => (
            "SELECT m.id FROM (SELECT id FROM msg WHERE id < ?1 ORDER BY id DESC LIMIT ?4) m
             WHERE ?2 = 0 AND NOT EXISTS(SELECT 1 FROM fin f WHERE f.id = m.id) LIMIT ?3",
            &0,
        ),
        Some(state) => (
            "SELECT id FROM (SELECT id, state FROM fin WHERE id < ?1 ORDER BY id DESC LIMIT ?4)
             WHERE state = ?2 LIMIT ?3",
            &i32::from(*state),
        ),
    };
    let mut statement = main.prepare_cached(sql)?;
    let values: [&dyn ToSql; 4] = [&before, value, &(limit as i64), &MAX_SCAN];
    let ids = statement
        .query_map(&values[..], |row| Ok(row.get::<_, i64>(0)? as u64))?
        .collect::<rusqlite::Result<Vec<u64>>>()?;
    Ok(load(main, &ids)?.into_iter().flatten().collect())
}

fn by_destination(
    main: &Connection,
    index: &Connection,
    to: &str,
    state: Option<MessageState>,
    before: i64,
    limit: usize,
) -> rusqlite::Result<Vec<Stored>> {
    // The mark and the entries come from one snapshot, so nothing falls between index and tail.
    let snapshot = index.unchecked_transaction()?;
    let upto = meta(&snapshot, "indexed_upto")? as i64;
    let mut entries = snapshot.prepare_cached(
        "SELECT id FROM dst_idx WHERE dst = ?1 AND id < ?2 AND id <= ?3 ORDER BY id DESC",
    )?;
    let destination = Readable(to.as_bytes());
    let tail: Vec<u64> = main
        .prepare_cached(
            "SELECT id FROM (SELECT id, destination FROM msg WHERE id > ?1 AND id < ?2
               ORDER BY id DESC LIMIT ?4) WHERE destination = ?3",
        )?
        .query_map((upto, before, destination, MAX_SCAN), |row| {
            Ok(row.get::<_, i64>(0)? as u64)
        })?
        .collect::<rusqlite::Result<_>>()?;
    let indexed = entries.query_map((destination, before, upto), |row| {
        Ok(row.get::<_, i64>(0)? as u64)
    })?;
    let mut candidates = tail
        .into_iter()
        .map(Ok)
        .chain(indexed)
        .take(MAX_SCAN as usize);
    let mut found = Vec::new();
    while found.len() < limit {
        let page = candidates
            .by_ref()
            .take(PAGE.min(limit))
            .collect::<rusqlite::Result<Vec<u64>>>()?;
        if page.is_empty() {
            break;
        }
        let loaded = load(main, &page)?.into_iter().flatten();
        let matching = loaded.filter(|stored| is_in(stored, state));
        found.extend(matching.take(limit - found.len()));
    }
    Ok(found)
}

fn is_in(stored: &Stored, state: Option<MessageState>) -> bool {
    match (state, &stored.fin) {
        (None, _) | (Some(MessageState::Enroute), None) => true,
        (Some(_), None) => false,
        (Some(state), Some(fin)) => fin.state == state,
    }
}
