//! Lists messages for people: by address, sender and time through the index, by state, newest first.
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

/// One condition that the index answers: its table, its column there, the value.
struct Term<'a> {
    table: &'static str,
    column: &'static str,
    value: Box<dyn ToSql + 'a>,
}

/// Answers a search. `index` is the path of `index.db`, `None` when it is switched off.
pub fn search(
    main: &Connection,
    index: Option<&Path>,
    search: &Search,
) -> Result<Vec<Stored>, StoreError> {
    let limit = search.limit.min(MAX_LIMIT);
    let ids = search.ids();
    let range = [ids.start as i64, ids.end as i64];
    let terms = terms(search);
    if terms.is_empty() {
        return by_state(main, search.state, range, limit).map_err(sql_failed);
    }
    let index = index.ok_or_else(|| {
        failed("search by address or sender is switched off: set store.search_index = true")
    })?;
    let index = schema::open_reader(index)?;
    by_terms(main, &index, &terms, search, range, limit).map_err(sql_failed)
}

/// The conditions, the one that leaves the fewest messages first: subscribers have few, senders many.
fn terms(search: &Search) -> Vec<Term<'_>> {
    let term = |table, column, value| Term {
        table,
        column,
        value,
    };
    let to = search.to.as_deref().map(|to| {
        let value = Box::new(Readable(to.as_bytes())) as Box<dyn ToSql>;
        term("dst_idx", "dst", value)
    });
    let from = search.from.as_deref().map(|from| {
        let value = Box::new(Readable(from.as_bytes())) as Box<dyn ToSql>;
        term("src_idx", "src", value)
    });
    let sender = search
        .sender
        .map(|sender| term("sender_idx", "sender", Box::new(sender) as Box<dyn ToSql>));
    [to, from, sender].into_iter().flatten().collect()
}

fn by_state(
    main: &Connection,
    state: Option<MessageState>,
    [from, below]: [i64; 2],
    limit: usize,
) -> rusqlite::Result<Vec<Stored>> {
    // The inner SELECT bounds the walk: without it a rare state would read the whole table.
    let (sql, value): (&str, &dyn ToSql) = match &state {
        None => (
            "SELECT id FROM msg WHERE id >= ?1 AND id < ?2 AND ?3 = 0
             ORDER BY id DESC LIMIT min(?4, ?5)",
            &0,
        ),
        Some(MessageState::Enroute) => (
            "SELECT m.id FROM (SELECT id FROM msg WHERE id >= ?1 AND id < ?2
               ORDER BY id DESC LIMIT ?5) m
             WHERE ?3 = 0 AND NOT EXISTS(SELECT 1 FROM fin f WHERE f.id = m.id) LIMIT ?4",
            &0,
        ),
        Some(state) => (
            "SELECT id FROM (SELECT id, state FROM fin WHERE id >= ?1 AND id < ?2
               ORDER BY id DESC LIMIT ?5)
             WHERE state = ?3 LIMIT ?4",
            &i32::from(*state),
        ),
    };
    let mut statement = main.prepare_cached(sql)?;
    let values: [&dyn ToSql; 5] = [&from, &below, value, &(limit as i64), &MAX_SCAN];
    let ids = statement
        .query_map(&values[..], |row| Ok(row.get::<_, i64>(0)? as u64))?
        .collect::<rusqlite::Result<Vec<u64>>>()?;
    Ok(load(main, &ids)?.into_iter().flatten().collect())
}

fn by_terms(
    main: &Connection,
    index: &Connection,
    terms: &[Term<'_>],
    search: &Search,
    [from, below]: [i64; 2],
    limit: usize,
) -> rusqlite::Result<Vec<Stored>> {
    // The mark and the entries come from one snapshot, so nothing falls between index and tail.
    let snapshot = index.unchecked_transaction()?;
    let upto = meta(&snapshot, "indexed_upto")? as i64;
    let tail = tail(main, search, [from.max(upto + 1), below])?;
    let mut entries = snapshot.prepare_cached(&statement(terms))?;
    let end = below.min(upto + 1);
    let mut values: Vec<&dyn ToSql> = vec![&from, &end, &MAX_SCAN];
    values.extend(terms.iter().map(|term| &*term.value));
    let indexed = entries.query_map(&values[..], |row| {
        // NULL where another condition does not hold: it counts as looked at.
        Ok(row.get::<_, Option<i64>>(0)?.map(|id| id as u64))
    })?;
    let mut candidates = tail
        .into_iter()
        .map(Ok)
        .chain(indexed.filter_map(Result::transpose));
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
        let matching = loaded.filter(|stored| is_in(stored, search.state));
        found.extend(matching.take(limit - found.len()));
    }
    Ok(found)
}

/// The first condition is walked from the newest id down, the others are looked up per id.
fn statement(terms: &[Term<'_>]) -> String {
    let Some((first, others)) = terms.split_first() else {
        return String::new();
    };
    let mut holds = String::from("1");
    for (at, term) in others.iter().enumerate() {
        holds.push_str(&format!(
            " AND EXISTS(SELECT 1 FROM {table} o WHERE o.{column} = ?{number} AND o.id = w.id)",
            table = term.table,
            column = term.column,
            number = at + 5,
        ));
    }
    format!(
        "SELECT CASE WHEN {holds} THEN w.id END FROM {table} w
         WHERE w.{column} = ?4 AND w.id >= ?1 AND w.id < ?2 ORDER BY w.id DESC LIMIT ?3",
        table = first.table,
        column = first.column,
    )
}

/// Matching messages that the index does not know yet, newest first.
fn tail(main: &Connection, search: &Search, [from, below]: [i64; 2]) -> rusqlite::Result<Vec<u64>> {
    let plus = |address: &Option<String>| address.as_ref().map(|address| format!("+{address}"));
    let (to_plus, from_plus) = (plus(&search.to), plus(&search.from));
    main.prepare_cached(
        "SELECT id FROM (SELECT id, sender, source, destination FROM msg
           WHERE id >= ?1 AND id < ?2 ORDER BY id DESC LIMIT ?3)
         WHERE (?4 IS NULL OR destination IN (?4, ?5)) AND (?6 IS NULL OR source IN (?6, ?7))
           AND (?8 IS NULL OR sender = ?8)",
    )?
    .query_map(
        (
            from,
            below,
            MAX_SCAN,
            readable(&search.to),
            readable(&to_plus),
            readable(&search.from),
            readable(&from_plus),
            search.sender,
        ),
        |row| Ok(row.get::<_, i64>(0)? as u64),
    )?
    .collect()
}

fn readable(text: &Option<String>) -> Option<Readable<'_>> {
    text.as_deref().map(|text| Readable(text.as_bytes()))
}

fn is_in(stored: &Stored, state: Option<MessageState>) -> bool {
    match (state, &stored.fin) {
        (None, _) | (Some(MessageState::Enroute), None) => true,
        (Some(_), None) => false,
        (Some(state), Some(fin)) => fin.state == state,
    }
}
