//! Reads messages by id: pages for the data path, one message with its history for people.
//!
//! Called on the reader threads, each with its own connection; guarantees that one answer comes from
//! one snapshot. A table is read in ascending id order with one statement that steps over small gaps
//! and seeks over large ones, so that a dense page costs one seek per table and a sparse one no more
//! than a seek per id.

use bytes::Bytes;
use rusqlite::{Connection, Row};

use super::heard;
use super::record::{MESSAGE_COLUMNS, bytes_of, read_message};
use crate::record::{moved, replace};
use crate::{ChangeKind, ChangeRow, FinRow, History, ParkedRow, RetryRow, SentRow, Stored};
use smsc_proto::MessageState;

/// Every column: a backup of an older release, which is read as it is, has fewer.
pub const CHANGES: &str = "SELECT * FROM change";
/// The same of the ends.
pub const FINS: &str = "SELECT * FROM fin";
/// Rows stepped over before seeking is cheaper.
const MAX_GAP: u32 = 5;

/// Messages by id, in the order asked.
pub fn load(connection: &Connection, ids: &[u64]) -> rusqlite::Result<Vec<Option<Stored>>> {
    if ids.is_sorted_by(|left, right| left < right) {
        return load_sorted(connection, ids);
    }
    let mut sorted = ids.to_vec();
    sorted.sort_unstable();
    sorted.dedup();
    let found = load_sorted(connection, &sorted)?;
    Ok(ids
        .iter()
        .map(|id| {
            let index = sorted.binary_search(id).ok()?;
            found.get(index).cloned().flatten()
        })
        .collect())
}

/// Messages by strictly ascending id.
fn load_sorted(connection: &Connection, ids: &[u64]) -> rusqlite::Result<Vec<Option<Stored>>> {
    let snapshot = connection.unchecked_transaction()?;
    let mut found: Vec<Option<Stored>> = ids.iter().map(|_| None).collect();
    let all = format!("SELECT {MESSAGE_COLUMNS} FROM msg t");
    gather(&snapshot, &all, "t.id", ids, |index, row| {
        let message = read_message(row)?;
        found[index] = Some(Stored {
            queue: message.queue,
            message,
            fin: None,
            attempts: 0,
            replayed_as: 0,
            sent_at: 0,
        });
        Ok(())
    })?;
    for sql in [
        "SELECT id, 1, status, at FROM sent",
        "SELECT id, attempt, status, at FROM resent",
        "SELECT id, attempts, 1, 0 FROM retry",
    ] {
        gather(&snapshot, sql, "id", ids, |index, row| {
            let attempts = row.get(1)?;
            if let Some(stored) = &mut found[index] {
                stored.attempts = stored.attempts.max(attempts);
                if row.get::<_, i64>(2)? == 0 {
                    stored.sent_at = stored.sent_at.max(row.get(3)?);
                }
            }
            Ok(())
        })?;
    }
    gather(&snapshot, FINS, "id", ids, |index, row| {
        if let Some(stored) = &mut found[index] {
            stored.fin = Some(read_fin(row)?);
        }
        Ok(())
    })?;
    // In the order of the key (id, seq): the last of a kind wins.
    gather(&snapshot, CHANGES, "id", ids, |index, row| {
        let Some(stored) = &mut found[index] else {
            return Ok(());
        };
        let change = read_change(row)?;
        match change.kind {
            ChangeKind::Move => moved(stored, &change),
            ChangeKind::Replace => {
                replace(&mut stored.message, change.body, change.expires_at);
            }
            ChangeKind::Replay => stored.replayed_as = change.replay(),
            ChangeKind::Retry | ChangeKind::Cancel | ChangeKind::GiveUp => {}
        }
        Ok(())
    })?;
    snapshot.finish()?;
    Ok(found)
}

/// Calls `each` with the index in `ids` for every row of a table that has one of them.
fn gather(
    connection: &Connection,
    select: &str,
    key: &str,
    ids: &[u64],
    mut each: impl FnMut(usize, &Row<'_>) -> rusqlite::Result<()>,
) -> rusqlite::Result<()> {
    let Some(&last) = ids.last() else {
        return Ok(());
    };
    let sql = format!("{select} WHERE {key} >= ?1 AND {key} <= ?2 ORDER BY {key}");
    let mut statement = connection.prepare_cached(&sql)?;
    let mut at = 0;
    while at < ids.len() {
        let mut rows = statement.query([ids[at] as i64, last as i64])?;
        let mut gap = 0;
        while gap <= MAX_GAP {
            let Some(row) = rows.next()? else {
                return Ok(());
            };
            let id = row.get::<_, i64>(0)? as u64;
            while at < ids.len() && ids[at] < id {
                at += 1;
            }
            if at == ids.len() {
                return Ok(());
            }
            if ids[at] == id {
                // Stays on this id: the next row may be its as well.
                each(at, row)?;
                gap = 0;
            } else {
                gap += 1;
            }
        }
    }
    Ok(())
}

/// A message with all that happened to it.
pub fn history(connection: &Connection, id: u64) -> rusqlite::Result<Option<History>> {
    let Some(stored) = load(connection, &[id])?.pop().flatten() else {
        return Ok(None);
    };
    let key = id as i64;
    let mut statement =
        connection.prepare_cached("SELECT * FROM attempts WHERE id = ?1 ORDER BY attempt")?;
    let attempts = statement
        .query_map([key], read_sent)?
        .collect::<rusqlite::Result<_>>()?;
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
    let mut statement =
        connection.prepare_cached(&format!("{CHANGES} WHERE id = ?1 ORDER BY seq"))?;
    let changes = statement
        .query_map([key], read_change)?
        .collect::<rusqlite::Result<_>>()?;
    Ok(Some(History {
        stored,
        attempts,
        retry,
        told,
        changes,
        heard: heard::of_message(connection, key)?,
    }))
}

/// Parked receipts in id order.
pub fn parked(connection: &Connection, limit: i64) -> rusqlite::Result<Vec<ParkedRow>> {
    let mut statement = connection.prepare(
        "SELECT id, operator, operator_message_id, at, receipt FROM parked ORDER BY id LIMIT ?1",
    )?;
    statement.query_map([limit], read_parked)?.collect()
}

/// A row of `id, operator, operator_message_id, at, receipt`.
pub fn read_parked(row: &Row<'_>) -> rusqlite::Result<ParkedRow> {
    Ok(ParkedRow {
        id: row.get::<_, i64>(0)? as u64,
        operator: row.get(1)?,
        operator_message_id: bytes_of(row.get_ref(2)?),
        at: row.get(3)?,
        receipt: bytes_of(row.get_ref(4)?),
    })
}

/// A row of [`FINS`].
pub fn read_fin(row: &Row<'_>) -> rusqlite::Result<FinRow> {
    Ok(FinRow {
        id: row.get::<_, i64>(0)? as u64,
        at: row.get(1)?,
        state: MessageState::try_from(row.get::<_, i32>(2)?).unwrap_or_default(),
        error: bytes_of(row.get_ref(3)?),
        operator: row.get(4)?,
        tell: row.get(5)?,
        // Younger than the table.
        done_at: match row.as_ref().column_count() {
            ..7 => 0,
            _ => row.get(6)?,
        },
        remote_item: Bytes::new(),
        remote_part: 0,
    })
}

/// A row of the view `attempts`.
pub fn read_sent(row: &Row<'_>) -> rusqlite::Result<SentRow> {
    Ok(SentRow {
        id: row.get::<_, i64>(0)? as u64,
        attempt: row.get(1)?,
        at: row.get(2)?,
        operator: row.get(3)?,
        status: row.get(4)?,
        operator_message_id: bytes_of(row.get_ref(5)?),
        latency_ms: row.get(6)?,
        correlation: 0,
        // Younger than the table, as the last columns of `change`.
        bind: match row.as_ref().column_count() {
            ..8 => 0,
            _ => row.get::<_, i64>(7)? as u64,
        },
    })
}

/// A row of [`CHANGES`].
pub fn read_change(row: &Row<'_>) -> rusqlite::Result<ChangeRow> {
    // The last two columns are younger than the table.
    let is_old = row.as_ref().column_count() < 8;
    Ok(ChangeRow {
        id: row.get::<_, i64>(0)? as u64,
        at: row.get(2)?,
        kind: kind_of(row.get(3)?),
        queue: row.get(4)?,
        by: row.get(5)?,
        expires_at: if is_old { 0 } else { row.get(6)? },
        body: match is_old {
            true => Bytes::new(),
            false => bytes_of(row.get_ref(7)?),
        },
    })
}

/// Who adds a kind sets `meta.oldest_schema`, so that no binary opens what it would misread.
fn kind_of(kind: i64) -> ChangeKind {
    match kind {
        1 => ChangeKind::Move,
        2 => ChangeKind::Retry,
        4 => ChangeKind::Replace,
        5 => ChangeKind::Replay,
        6 => ChangeKind::GiveUp,
        _ => ChangeKind::Cancel,
    }
}
