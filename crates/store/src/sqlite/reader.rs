//! Reads messages by id: pages for the data path, one message with its history for people.
//!
//! Called on the reader threads, each with its own connection; guarantees that one answer comes from
//! one snapshot. A table is read in ascending id order with one statement that steps over small gaps
//! and seeks over large ones, so that a dense page costs one seek per table and a sparse one no more
//! than a seek per id.

use rusqlite::{Connection, Row};

use super::heard;
use super::in_order::{PAGE_ROWS, RowsInOrder, page_before};
use super::record::{
    MESSAGE_COLUMNS, Sound, octets_of, read_change, read_fin, read_first, read_message,
    read_parked, read_sent,
};
use crate::damage::{DamageLog, DamagedRow};
use crate::{FinRow, MessageHistory, ParkedRow, RetryRow, Stored};
use smsc_domain::address::normalise;

/// Every column: a backup of an older release, which is read as it is, has fewer.
pub const CHANGES: &str = "SELECT * FROM change";
/// Every column of the ends.
pub const FINS: &str = "SELECT * FROM fin";
/// Every column of receipts that matched nothing.
pub const PARKED: &str = "SELECT * FROM parked";
/// Rows read per snapshot while looking for an address.
const SLICE: i64 = 65_536;
/// Rows stepped over before seeking is cheaper.
const MAX_GAP: u32 = 5;

/// Messages by id, in the order asked. What is damaged is noted: a message is left out, and a final state is an unknown one.
pub fn load(
    connection: &Connection,
    damage: &DamageLog,
    ids: &[u64],
) -> rusqlite::Result<Vec<Option<Stored>>> {
    if ids.is_sorted_by(|left, right| left < right) {
        return load_sorted(connection, damage, ids);
    }
    let mut sorted = ids.to_vec();
    sorted.sort_unstable();
    sorted.dedup();
    let found = load_sorted(connection, damage, &sorted)?;
    Ok(ids
        .iter()
        .map(|id| {
            let index = sorted.binary_search(id).ok()?;
            found.get(index).cloned().flatten()
        })
        .collect())
}

/// Messages by strictly ascending id.
fn load_sorted(
    connection: &Connection,
    damage: &DamageLog,
    ids: &[u64],
) -> rusqlite::Result<Vec<Option<Stored>>> {
    let snapshot = connection.unchecked_transaction()?;
    let mut found: Vec<Option<Stored>> = ids.iter().map(|_| None).collect();
    let tables = IdTables {
        connection: &snapshot,
        damage,
        ids,
    };
    let all = format!("SELECT {MESSAGE_COLUMNS} FROM msg t");
    tables.gather("msg", &all, "t.id", read_message, |index, message| {
        found[index] = damage.sift(message).map(Stored::new);
    })?;
    tables.gather("fin", FINS, "id", read_fin, |index, fin| {
        if let Some(stored) = &mut found[index] {
            let id = stored.message.id;
            stored.fin = Some(damage.sift(fin).unwrap_or_else(|| FinRow::damaged(id)));
        }
    })?;
    // What has not ended ends for a damaged row of it, which may say that it was sent, moved or cancelled.
    let sift = |stored: &mut Option<Stored>, row| {
        damage.note(row);
        if stored.as_ref().is_some_and(|stored| stored.fin.is_none()) {
            *stored = None;
        }
    };
    let first = read_first as fn(&Row<'_>) -> Sound<_>;
    for (table, sql, read) in [
        ("sent", "SELECT * FROM sent", first),
        ("resent", "SELECT * FROM resent", read_sent),
    ] {
        tables.gather(table, sql, "id", read, |index, sent| {
            match (&mut found[index], sent) {
                (Some(stored), Ok(sent)) => stored.attempted(&sent),
                (stored, Err(row)) => sift(stored, row),
                (None, Ok(_)) => {}
            }
        })?;
    }
    let retry = "SELECT id, attempts FROM retry";
    let attempts = |row: &Row<'_>| Ok(Ok(row.get::<_, u32>(1).unwrap_or(0)));
    tables.gather("retry", retry, "id", attempts, |index, attempts| {
        if let (Some(stored), Ok(attempts)) = (&mut found[index], attempts) {
            stored.attempts = stored.attempts.max(attempts);
        }
    })?;
    // In the order of the key (id, seq): the last of a kind wins.
    tables.gather(
        "change",
        CHANGES,
        "id",
        read_change,
        |index, change| match (&mut found[index], change) {
            (Some(stored), Ok(change)) => stored.changed(change),
            (stored, Err(row)) => sift(stored, row),
            (None, Ok(_)) => {}
        },
    )?;
    snapshot.finish()?;
    Ok(found)
}

/// Tables that are searched for the same ids.
struct IdTables<'c> {
    connection: &'c Connection,
    damage: &'c DamageLog,
    /// Strictly ascending.
    ids: &'c [u64],
}

// === impl IdTables ===

impl IdTables<'_> {
    /// Calls `each` with the index in `ids` for every row of a table that has one of them.
    fn gather<T>(
        &self,
        table: &'static str,
        select: &str,
        key: &str,
        read: fn(&Row<'_>) -> Sound<T>,
        mut each: impl FnMut(usize, Result<T, DamagedRow>),
    ) -> rusqlite::Result<()> {
        let ids = self.ids;
        // Without an upper bound: a damaged id would be one too early.
        let Some(&last) = ids.last() else {
            return Ok(());
        };
        let sql = format!("{select} WHERE {key} >= ?1 ORDER BY {key}");
        let mut statement = self.connection.prepare_cached(&sql)?;
        let mut at = 0;
        // Of attempts only one table has this name in the list.
        let is_damaged = self.damage.is_in(table) || self.damage.is_in("sent") && table == "resent";
        let most = if is_damaged {
            PAGE_ROWS + MAX_GAP
        } else {
            MAX_GAP
        };
        while at < ids.len() {
            let begun = at;
            // No row has one that SQLite would take for negative.
            let Ok(mut from) = i64::try_from(ids[at]) else {
                return Ok(());
            };
            if is_damaged {
                from = page_before(self.connection, table, from)?;
            }
            let rows = statement.query([from])?;
            let mut rows = RowsInOrder::new(table, rows, read, self.damage, last)?;
            let mut gap = 0;
            while gap <= most {
                let Some((id, row)) = rows.next()? else {
                    return Ok(());
                };
                while at < ids.len() && ids[at] < id {
                    at += 1;
                }
                if at == ids.len() {
                    return Ok(());
                }
                if ids[at] == id {
                    // Stays on this id: the next row may be its as well.
                    each(at, row);
                    gap = 0;
                } else {
                    gap += 1;
                }
            }
            // Wrong ids never keep it in one place.
            if at == begun {
                at += 1;
            }
        }
        Ok(())
    }
}

/// A message with all that happened to it.
pub fn history(
    connection: &Connection,
    damage: &DamageLog,
    id: u64,
) -> rusqlite::Result<Option<MessageHistory>> {
    let Some(stored) = load(connection, damage, &[id])?.pop().flatten() else {
        return Ok(None);
    };
    let key = id as i64;
    let mut statement =
        connection.prepare_cached("SELECT id, due_at, attempts FROM retry WHERE id = ?1")?;
    let retry = statement
        .query_map([key], |row| {
            Ok(RetryRow {
                id,
                due_at: row.get(1)?,
                attempts: row.get(2)?,
            })
        })?
        .next()
        .transpose()?;
    let told = connection
        .prepare_cached("SELECT 1 FROM told WHERE id = ?1")?
        .exists([key])?;
    let attempts = "SELECT * FROM attempts WHERE id = ?1 ORDER BY attempt";
    let changes = format!("{CHANGES} WHERE id = ?1 ORDER BY seq");
    Ok(Some(MessageHistory {
        stored,
        attempts: whole(connection, damage, attempts, [key], read_sent)?,
        retry,
        told,
        changes: whole(connection, damage, &changes, [key], read_change)?,
        heard: heard::of_message(connection, id)?,
    }))
}

/// The rows of a statement without those that are damaged.
pub fn whole<T>(
    connection: &Connection,
    damage: &DamageLog,
    sql: &str,
    values: impl rusqlite::Params,
    read: fn(&Row<'_>) -> Sound<T>,
) -> rusqlite::Result<Vec<T>> {
    let mut statement = connection.prepare_cached(sql)?;
    let rows = statement.query_map(values, |row| Ok(damage.sift(read(row)?)))?;
    rows.filter_map(Result::transpose).collect()
}

/// The ids that a statement finds.
pub fn ids<T: FromIterator<u64>>(
    connection: &Connection,
    sql: &str,
    values: impl rusqlite::Params,
) -> rusqlite::Result<T> {
    let mut statement = connection.prepare_cached(sql)?;
    let rows = statement.query_map(values, |row| Ok(row.get::<_, i64>(0)? as u64))?;
    rows.collect()
}

/// The rows of the next slice of a table that have this address, and the last id of the slice.
pub fn with_address(
    connection: &Connection,
    table: &str,
    digits: &[u8],
    after: u64,
) -> rusqlite::Result<(Vec<u64>, Option<u64>)> {
    let sql =
        format!("SELECT id, source, destination FROM {table} WHERE id > ?1 ORDER BY id LIMIT ?2");
    let mut statement = connection.prepare_cached(&sql)?;
    let mut rows = statement.query([after as i64, SLICE])?;
    let (mut found, mut last) = (Vec::new(), None);
    while let Some(row) = rows.next()? {
        let id = row.get::<_, i64>(0)? as u64;
        let is_theirs =
            |at| -> rusqlite::Result<bool> { Ok(normalise(octets_of(row.get_ref(at)?)) == digits) };
        if is_theirs(1)? || is_theirs(2)? {
            found.push(id);
        }
        last = Some(id);
    }
    Ok((found, last))
}

/// Parked receipts in id order.
pub fn parked(
    connection: &Connection,
    damage: &DamageLog,
    limit: i64,
) -> rusqlite::Result<Vec<ParkedRow>> {
    let sql = format!("{PARKED} ORDER BY id LIMIT ?1");
    whole(connection, damage, &sql, [limit], read_parked)
}
