//! Lists messages for people: by address, sender and time through the index, by state, newest first.
//!
//! Called on the admin thread; guarantees that one request reads a bounded number of rows, so that a
//! search for something rare cannot occupy the thread for long. A page says where the next one begins,
//! even if it is empty.

use std::cell::Cell;
use std::ops::Range;
use std::path::Path;

use rusqlite::{Connection, ToSql};

use super::asides;
use super::entries;
use super::reader::{ids, load};
use super::record::{Readable, octets_of};
use super::runs::{self, Runs};
use super::schema::{self, failed, meta, sql_failed};
use crate::damage::DamageLog;
use crate::{FoundMessages, MAX_SCAN, Search, StoreResult, Stored};
use smsc_domain::id::Aside;
use smsc_proto::MessageState;

/// Largest answer.
const MAX_LIMIT: usize = 10_000;
/// Candidates loaded at once when a state has to be compared.
const PAGE: usize = 256;

/// One condition that the index answers.
struct Term<'a> {
    /// Where the ids of the value are; `None` for a destination.
    runs: Option<Runs>,
    value: Box<dyn ToSql + 'a>,
}

/// Answers a search. `index` is the path of `index.db`, `None` when it is switched off.
pub fn search(
    main: &Connection,
    damage: &DamageLog,
    index: Option<&Path>,
    search: &Search,
) -> StoreResult<FoundMessages> {
    let asides = asides::read(main)?;
    let terms = terms(search);
    let Some((first, others)) = terms.split_first() else {
        return Ok(by_state(main, damage, search, &asides)?);
    };
    let index = index.ok_or_else(|| {
        failed("search by address or sender is switched off: set store.search_index = true")
    })?;
    let index = schema::open_reader(index)?;
    by_terms(main, damage, &index, first, others, search, &asides).map_err(sql_failed)
}

/// The conditions, the one that leaves the fewest messages first: subscribers have few, senders many.
fn terms(search: &Search) -> Vec<Term<'_>> {
    let to = search.to.as_deref().map(|to| Term {
        runs: None,
        value: Box::new(Readable(to.as_bytes())),
    });
    let from = search.from.as_deref().map(|from| Term {
        runs: Some(entries::SOURCES),
        value: Box::new(Readable(from.as_bytes())),
    });
    let sender = search.sender.map(|sender| Term {
        runs: Some(entries::SENDERS),
        value: Box::new(sender),
    });
    [to, from, sender].into_iter().flatten().collect()
}

fn by_state(
    main: &Connection,
    damage: &DamageLog,
    search: &Search,
    asides: &[Aside],
) -> rusqlite::Result<FoundMessages> {
    let limit = search.limit.min(MAX_LIMIT);
    let range = search.ids(asides);
    let (from, below) = (range.start as i64, range.end as i64);
    let (most, ends) = (limit as i64, search.ends());
    let state = search.state.map(i32::from);
    let mut values: Vec<&dyn ToSql> = vec![&from, &below, &most, &MAX_SCAN];
    // The inner SELECT bounds the walk: without it a rare state would read the whole table.
    let sql = match &search.state {
        None if !search.asks_for_ends() => {
            "SELECT id FROM msg WHERE id >= ?1 AND id < ?2 ORDER BY id DESC LIMIT min(?3, ?4)"
        }
        Some(MessageState::Enroute) => {
            "SELECT m.id FROM (SELECT id FROM msg WHERE id >= ?1 AND id < ?2
               ORDER BY id DESC LIMIT ?4) m
             WHERE NOT EXISTS(SELECT 1 FROM fin f WHERE f.id = m.id) LIMIT ?3"
        }
        _ => {
            values.extend([&state as &dyn ToSql, &ends.start, &ends.end]);
            "SELECT id FROM (SELECT id, state, at FROM fin WHERE id >= ?1 AND id < ?2
               ORDER BY id DESC LIMIT ?4)
             WHERE (?5 IS NULL OR state = ?5) AND at >= ?6 AND at < ?7 LIMIT ?3"
        }
    };
    let ids: Vec<u64> = ids(main, sql, &values[..])?;
    let next_before = match search.state {
        _ if ids.len() >= limit => ids.last().copied(),
        // All that was walked over is on the page.
        None if !search.asks_for_ends() => None,
        Some(MessageState::Enroute) => end_of_walk(main, "msg", range)?,
        _ => end_of_walk(main, "fin", range)?,
    };
    let messages = load(main, damage, &ids)?.into_iter().flatten();
    let messages = messages.filter(|stored| search.covers(stored));
    Ok(FoundMessages {
        messages: messages.collect(),
        next_before,
    })
}

/// The lowest id of a table that a walk of at most [`MAX_SCAN`] ids has come to, from the newest down;
/// `None` when it has come to its end.
fn end_of_walk(main: &Connection, table: &str, range: Range<u64>) -> rusqlite::Result<Option<u64>> {
    let (lowest, count): (Option<i64>, i64) = main
        .prepare_cached(&format!(
            "SELECT min(id), count(*) FROM (SELECT id FROM {table} WHERE id >= ?1 AND id < ?2
               ORDER BY id DESC LIMIT ?3)"
        ))?
        .query_row((range.start as i64, range.end as i64, MAX_SCAN), |row| {
            Ok((row.get(0)?, row.get(1)?))
        })?;
    Ok(lowest.filter(|_| count >= MAX_SCAN).map(|id| id as u64))
}

fn by_terms(
    main: &Connection,
    damage: &DamageLog,
    index: &Connection,
    first: &Term<'_>,
    others: &[Term<'_>],
    search: &Search,
    asides: &[Aside],
) -> rusqlite::Result<FoundMessages> {
    let limit = search.limit.min(MAX_LIMIT);
    let range = search.ids(asides);
    let (from, below) = (range.start as i64, range.end as i64);
    // Ids that were set aside are not in the index before their time.
    let cut = asides.first().map_or(i64::MAX, |aside| aside.first as i64);
    // The mark and the entries come from one snapshot, so nothing falls between index and tail.
    let snapshot = index.unchecked_transaction()?;
    let upto = meta(&snapshot, "indexed_upto")? as i64;
    let start = from.max(upto + 1);
    let mut newer = tail(main, search, start.max(cut), below)?;
    newer.extend(tail(main, search, start, below.min(cut))?);
    let end = below.min(upto + 1);
    // The first condition is walked from the newest id down, the others are looked up per id: a
    // subscriber's few messages are found however many its sender has sent since.
    let mut walk = snapshot.prepare_cached(&match first.runs {
        None => entries::DESTINATIONS_NEWEST_FIRST.to_owned(),
        Some(runs) => runs.newest_first(),
    })?;
    let runs = walk.query_map((&first.value, from, end), |row| {
        Ok(runs::ids(row.get(0)?, octets_of(row.get_ref(1)?)))
    })?;
    let mut lookups = Vec::with_capacity(others.len());
    for term in others {
        if let Some(runs) = term.runs {
            lookups.push((runs.lookup(&snapshot)?, &term.value));
        }
    }
    let mut has_all = |id: u64| {
        for (lookup, value) in &mut lookups {
            if !lookup.has(value, id)? {
                return Ok(None);
            }
        }
        Ok(Some(id))
    };
    let walked = Cell::new((0, None));
    let indexed = ids_of(runs, from as u64..end as u64)
        .take(MAX_SCAN as usize)
        .inspect(|id| walked.set((walked.get().0 + 1, id.as_ref().ok().copied())))
        .filter_map(|id| id.and_then(&mut has_all).transpose());
    let mut candidates = newer.into_iter().map(Ok).chain(indexed);
    let mut found = Vec::new();
    while found.len() < limit {
        let page = candidates
            .by_ref()
            .take(PAGE.min(limit))
            .collect::<rusqlite::Result<Vec<u64>>>()?;
        if page.is_empty() {
            break;
        }
        let loaded = load(main, damage, &page)?.into_iter().flatten();
        let matching = loaded.filter(|stored| is_in(stored, search.state) && search.covers(stored));
        found.extend(matching.take(limit - found.len()));
    }
    let (count, lowest) = walked.get();
    let next_before = match found.last() {
        Some(last) if found.len() >= limit => Some(last.message.id),
        _ => lowest.filter(|_| count >= MAX_SCAN),
    };
    Ok(FoundMessages {
        messages: found,
        next_before,
    })
}

/// The ids of a range in runs, newest first.
fn ids_of(
    runs: impl Iterator<Item = rusqlite::Result<Vec<u64>>>,
    range: Range<u64>,
) -> impl Iterator<Item = rusqlite::Result<u64>> {
    runs.flat_map(|run| match run {
        Ok(ids) => ids.into_iter().map(Ok).collect(),
        Err(error) => vec![Err(error)],
    })
    .filter(move |id| !matches!(id, Ok(id) if !range.contains(id)))
}

/// Matching messages that the index does not know yet, newest first.
fn tail(main: &Connection, search: &Search, from: i64, below: i64) -> rusqlite::Result<Vec<u64>> {
    let plus = |address: &Option<String>| address.as_ref().map(|address| format!("+{address}"));
    let (to_plus, from_plus) = (plus(&search.to), plus(&search.from));
    ids(
        main,
        "SELECT id FROM (SELECT id, sender, source, destination FROM msg
           WHERE id >= ?1 AND id < ?2 ORDER BY id DESC LIMIT ?3)
         WHERE (?4 IS NULL OR destination IN (?4, ?5)) AND (?6 IS NULL OR source IN (?6, ?7))
           AND (?8 IS NULL OR sender = ?8)",
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
    )
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

#[cfg(test)]
mod tests {
    use super::*;

    const OLD: u64 = 5 << 20;
    /// As many as one request walks.
    const NEWER: Range<u64> = OLD + 1..OLD + 1 + MAX_SCAN as u64;

    /// One failed message to a subscriber below many newer ones of its sender.
    fn one_below_many(folder: &Path) -> (Connection, std::path::PathBuf) {
        let main = schema::open_main(&folder.join(schema::MAIN_FILE), 1000).unwrap();
        let number = i32::from;
        main.execute_batch(&format!(
            "INSERT INTO msg VALUES({OLD}, 5, 7, 1, 0, 0, 0, 'ACME', '447700900123', 0, x'7801');
             INSERT INTO fin(id, at, state, error, operator, tell) VALUES({OLD}, 6, {}, '', 0, 0);
             WITH RECURSIVE newer(id) AS (
               VALUES({}) UNION ALL SELECT id + 1 FROM newer WHERE id + 1 < {})
             INSERT INTO fin(id, at, state, error, operator, tell) SELECT id, 6, {}, '', 0, 0 FROM newer;",
            number(MessageState::Rejected),
            NEWER.start,
            NEWER.end,
            number(MessageState::Delivered),
        ))
        .unwrap();
        let path = folder.join(schema::INDEX_FILE);
        let index = Connection::open(&path).unwrap();
        let transaction = index.unchecked_transaction().unwrap();
        transaction
            .execute_batch(&format!(
                "CREATE TABLE meta(key, value); {};
                 INSERT INTO meta VALUES('indexed_upto', {});
                 INSERT INTO dst_idx VALUES('447700900123', {OLD});",
                entries::ddl(),
                NEWER.end,
            ))
            .unwrap();
        let ids: Vec<u64> = std::iter::once(OLD).chain(NEWER).collect();
        let mut senders = entries::SENDERS.writer(&transaction).unwrap();
        senders.insert(&7, &ids).unwrap();
        drop(senders);
        transaction.commit().unwrap();
        (main, path)
    }

    #[test]
    fn what_is_below_more_than_a_request_walks_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let (main, index) = one_below_many(folder.path());
        let find = |wanted: &Search| {
            let found = search(&main, &DamageLog::default(), Some(&index), wanted).unwrap();
            let ids: Vec<u64> = found.messages.iter().map(|one| one.message.id).collect();
            (ids, found.next_before)
        };
        let rejected = Search {
            state: Some(MessageState::Rejected),
            limit: 10,
            ..Search::default()
        };
        let of_sender = Search {
            sender: Some(7),
            ..rejected.clone()
        };
        for wanted in [&rejected, &of_sender] {
            assert_eq!(find(wanted), (vec![], Some(NEWER.start)), "{wanted:?}");
            let next = Search {
                before: Some(NEWER.start),
                ..wanted.clone()
            };
            assert_eq!(find(&next), (vec![OLD], None), "{next:?}");
        }
        let to_subscriber = Search {
            to: Some("447700900123".to_owned()),
            ..of_sender.clone()
        };
        assert_eq!(find(&to_subscriber), (vec![OLD], None), "it has but one");
        let one = Search {
            limit: 1,
            ..to_subscriber
        };
        assert_eq!(find(&one), (vec![OLD], Some(OLD)), "the page is full");
    }
}
