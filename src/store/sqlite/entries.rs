//! What makes messages searchable: their ids by destination, by source and by sender, in `index.db`.
//!
//! Written by the index thread in sorted batches, so that a batch costs each page of a tree once;
//! read by the search and by the erasure of a number. Keeps true that addresses are kept without a
//! leading plus and that an erased one is not kept at all.

use rusqlite::Connection;

use super::record::{Readable, octets_of};
use crate::domain::address::normalise;
use crate::store::archive::ERASED;

pub const DDL: &str = "
CREATE TABLE dst_idx(dst TEXT, id INT, PRIMARY KEY(dst, id)) WITHOUT ROWID;
CREATE TABLE src_idx(src TEXT, id INT, PRIMARY KEY(src, id)) WITHOUT ROWID;
CREATE TABLE sender_idx(sender INT, id INT, PRIMARY KEY(sender, id)) WITHOUT ROWID;
";

/// What the index knows of a message.
#[derive(Debug)]
pub struct Entry {
    pub id: i64,
    sender: u32,
    source: Vec<u8>,
    destination: Vec<u8>,
}

/// Entries of the messages after one id and below another.
pub fn read_range(
    main: &Connection,
    range: (i64, i64),
    limit: usize,
) -> rusqlite::Result<Vec<Entry>> {
    main.prepare_cached(
        "SELECT id, sender, source, destination FROM msg WHERE id > ?1 AND id < ?2
         ORDER BY id LIMIT ?3",
    )?
    .query_map((range.0, range.1, limit as i64), Entry::read)?
    .collect()
}

/// Entries of these messages.
pub fn read_each(main: &Connection, ids: &[u64]) -> rusqlite::Result<Vec<Entry>> {
    let mut statement =
        main.prepare_cached("SELECT id, sender, source, destination FROM msg WHERE id = ?1")?;
    let mut entries = Vec::with_capacity(ids.len());
    for id in ids {
        entries.extend(
            statement
                .query_map([*id as i64], Entry::read)?
                .next()
                .transpose()?,
        );
    }
    Ok(entries)
}

/// Adds entries; those that are there stay.
pub fn insert(index: &Connection, entries: &mut [Entry]) -> rusqlite::Result<()> {
    // Read in id order, so a stable sort by the other column is enough.
    entries.sort_by(|left, right| left.destination.cmp(&right.destination));
    let mut row = index.prepare_cached("INSERT OR IGNORE INTO dst_idx VALUES(?1, ?2)")?;
    for entry in entries.iter().filter(|entry| entry.destination != ERASED) {
        row.execute((Readable(&entry.destination), entry.id))?;
    }
    entries.sort_by(|left, right| (&left.source, left.id).cmp(&(&right.source, right.id)));
    let mut row = index.prepare_cached("INSERT OR IGNORE INTO src_idx VALUES(?1, ?2)")?;
    for entry in entries.iter().filter(|entry| entry.source != ERASED) {
        row.execute((Readable(&entry.source), entry.id))?;
    }
    entries.sort_by_key(|entry| (entry.sender, entry.id));
    let mut row = index.prepare_cached("INSERT OR IGNORE INTO sender_idx VALUES(?1, ?2)")?;
    for entry in &*entries {
        row.execute((entry.sender, entry.id))?;
    }
    Ok(())
}

/// Removes the entries of messages that are gone.
pub fn delete(index: &Connection, entries: &mut [Entry]) -> rusqlite::Result<()> {
    entries.sort_by(|left, right| left.destination.cmp(&right.destination));
    let mut row = index.prepare_cached("DELETE FROM dst_idx WHERE dst = ?1 AND id = ?2")?;
    for entry in &*entries {
        row.execute((Readable(&entry.destination), entry.id))?;
    }
    entries.sort_by(|left, right| (&left.source, left.id).cmp(&(&right.source, right.id)));
    let mut row = index.prepare_cached("DELETE FROM src_idx WHERE src = ?1 AND id = ?2")?;
    for entry in &*entries {
        row.execute((Readable(&entry.source), entry.id))?;
    }
    entries.sort_by_key(|entry| (entry.sender, entry.id));
    let mut row = index.prepare_cached("DELETE FROM sender_idx WHERE sender = ?1 AND id = ?2")?;
    for entry in &*entries {
        row.execute((entry.sender, entry.id))?;
    }
    Ok(())
}

/// Removes an address from the entries of messages.
pub fn delete_address(index: &Connection, address: &[u8], ids: &[u64]) -> rusqlite::Result<()> {
    for sql in [
        "DELETE FROM dst_idx WHERE dst = ?1 AND id = ?2",
        "DELETE FROM src_idx WHERE src = ?1 AND id = ?2",
    ] {
        let mut row = index.prepare_cached(sql)?;
        for id in ids {
            row.execute((Readable(address), *id as i64))?;
        }
    }
    Ok(())
}

/// Up to `limit` ids with this address on either side, after one id, ascending.
pub fn of_address(
    index: &Connection,
    address: &[u8],
    after: u64,
    limit: usize,
) -> rusqlite::Result<Vec<u64>> {
    index
        .prepare_cached(
            "SELECT id FROM dst_idx WHERE dst = ?1 AND id > ?2
             UNION SELECT id FROM src_idx WHERE src = ?1 AND id > ?2 ORDER BY id LIMIT ?3",
        )?
        .query_map((Readable(address), after as i64, limit as i64), |row| {
            Ok(row.get::<_, i64>(0)? as u64)
        })?
        .collect()
}

// === impl Entry ===

impl Entry {
    fn read(row: &rusqlite::Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            id: row.get(0)?,
            sender: row.get(1)?,
            source: normalise(octets_of(row.get_ref(2)?)).to_vec(),
            destination: normalise(octets_of(row.get_ref(3)?)).to_vec(),
        })
    }
}
