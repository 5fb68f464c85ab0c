//! The search index: ids by destination, by source and by sender, in `index.db`.
//!
//! Written by the index thread in sorted batches, so that a batch costs each page of a tree once;
//! read by the search and by the erasure of a number. There are many destinations, each with few
//! messages: one row per message. There are few sources and senders: their ids are kept in [`Runs`].
//! Guarantees that addresses are kept without a leading plus and that an erased one is not kept at
//! all.

use rusqlite::Connection;

use super::reader;
use super::record::{Readable, octets_of};
use super::runs::Runs;
use crate::archive::ERASED;
use smsc_domain::address::normalise;

/// Ids by source.
pub const SOURCES: Runs = Runs::new("src_idx", "src");
/// Ids by sender.
pub const SENDERS: Runs = Runs::new("sender_idx", "sender");

/// Reads the ids of a destination (?1) from ?2 to below ?3, the newest first, as runs of one.
pub const DESTINATIONS_NEWEST_FIRST: &str =
    "SELECT id, x'' FROM dst_idx WHERE dst = ?1 AND id >= ?2 AND id < ?3 ORDER BY id DESC";

/// The statements that create the tables.
pub fn ddl() -> String {
    format!(
        "CREATE TABLE dst_idx(dst TEXT, id INT, PRIMARY KEY(dst, id)) WITHOUT ROWID; {} {}",
        SOURCES.ddl("TEXT"),
        SENDERS.ddl("INT"),
    )
}

/// The index entry of a message.
#[derive(Debug)]
pub struct SqliteEntry {
    pub id: i64,
    sender: u32,
    source: Vec<u8>,
    destination: Vec<u8>,
}

/// Entries of the messages after one id and below another.
pub fn read_range(
    main: &Connection,
    after: i64,
    below: i64,
    limit: usize,
) -> rusqlite::Result<Vec<SqliteEntry>> {
    main.prepare_cached(
        "SELECT id, sender, source, destination FROM msg WHERE id > ?1 AND id < ?2
         ORDER BY id LIMIT ?3",
    )?
    .query_map((after, below, limit as i64), SqliteEntry::read)?
    .collect()
}

/// Entries of these messages.
pub fn read_each(main: &Connection, ids: &[u64]) -> rusqlite::Result<Vec<SqliteEntry>> {
    let mut statement =
        main.prepare_cached("SELECT id, sender, source, destination FROM msg WHERE id = ?1")?;
    let mut entries = Vec::with_capacity(ids.len());
    for id in ids {
        entries.extend(
            statement
                .query_map([*id as i64], SqliteEntry::read)?
                .next()
                .transpose()?,
        );
    }
    Ok(entries)
}

/// Adds entries; those that are there stay.
pub fn insert(index: &Connection, entries: &mut [SqliteEntry]) -> rusqlite::Result<()> {
    let (mut sources, mut senders) = (SOURCES.writer(index)?, SENDERS.writer(index)?);
    each_run(entries, |of, ids| match of {
        Of::Source(source) => sources.insert(&source, ids),
        Of::Sender(sender) => senders.insert(&sender, ids),
    })?;
    entries.sort_by(|left, right| left.destination.cmp(&right.destination));
    let mut row = index.prepare_cached("INSERT OR IGNORE INTO dst_idx VALUES(?1, ?2)")?;
    for entry in entries.iter().filter(|entry| entry.destination != ERASED) {
        row.execute((Readable(&entry.destination), entry.id))?;
    }
    Ok(())
}

/// Removes the entries of messages that are gone.
pub fn delete(index: &Connection, entries: &mut [SqliteEntry]) -> rusqlite::Result<()> {
    let (mut sources, mut senders) = (SOURCES.writer(index)?, SENDERS.writer(index)?);
    each_run(entries, |of, ids| match of {
        Of::Source(source) => sources.remove(&source, ids),
        Of::Sender(sender) => senders.remove(&sender, ids),
    })?;
    entries.sort_by(|left, right| left.destination.cmp(&right.destination));
    let mut row = index.prepare_cached("DELETE FROM dst_idx WHERE dst = ?1 AND id = ?2")?;
    for entry in &*entries {
        row.execute((Readable(&entry.destination), entry.id))?;
    }
    Ok(())
}

/// What the messages of a run have in common.
enum Of<'a> {
    Source(Readable<'a>),
    Sender(u32),
}

/// The ids of each source and of each sender, ascending.
fn each_run(
    entries: &mut [SqliteEntry],
    mut each: impl FnMut(Of<'_>, &[u64]) -> rusqlite::Result<()>,
) -> rusqlite::Result<()> {
    let ids = |run: &[SqliteEntry]| {
        run.iter()
            .map(|entry| entry.id as u64)
            .collect::<Vec<u64>>()
    };
    entries.sort_by_key(|entry| (entry.sender, entry.id));
    for run in entries.chunk_by(|left, right| left.sender == right.sender) {
        each(Of::Sender(run[0].sender), &ids(run))?;
    }
    entries.sort_by(|left, right| (&left.source, left.id).cmp(&(&right.source, right.id)));
    for run in entries.chunk_by(|left, right| left.source == right.source) {
        if run[0].source != ERASED {
            each(Of::Source(Readable(&run[0].source)), &ids(run))?;
        }
    }
    Ok(())
}

/// Removes an address from the entries of messages, whose ids are ascending.
pub fn delete_address(index: &Connection, address: &[u8], ids: &[u64]) -> rusqlite::Result<()> {
    let mut row = index.prepare_cached("DELETE FROM dst_idx WHERE dst = ?1 AND id = ?2")?;
    for id in ids {
        row.execute((Readable(address), *id as i64))?;
    }
    SOURCES.writer(index)?.remove(&Readable(address), ids)
}

/// Up to `limit` ids with this address on either side, after one id, ascending.
pub fn of_address(
    index: &Connection,
    address: &[u8],
    after: u64,
    limit: usize,
) -> rusqlite::Result<Vec<u64>> {
    let sql = "SELECT id FROM dst_idx WHERE dst = ?1 AND id > ?2 ORDER BY id LIMIT ?3";
    let values = (Readable(address), after as i64, limit as i64);
    let mut ids: Vec<u64> = reader::ids(index, sql, values)?;
    ids.extend(SOURCES.after(index, &Readable(address), after, limit)?);
    ids.sort_unstable();
    ids.dedup();
    ids.truncate(limit);
    Ok(ids)
}

// === impl SqliteEntry ===

impl SqliteEntry {
    fn read(row: &rusqlite::Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            id: row.get(0)?,
            sender: row.get(1)?,
            source: normalise(octets_of(row.get_ref(2)?)).to_vec(),
            destination: normalise(octets_of(row.get_ref(3)?)).to_vec(),
        })
    }
}
