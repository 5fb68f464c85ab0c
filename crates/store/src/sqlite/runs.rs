//! Ids of the messages that share a value, such as their sender, many to a row of `index.db`.
//!
//! Called by [`entries`](super::entries) and the search. A row per message would cost as much as the
//! message's own row; senders and sources are few, so here one row holds up to [`RUN`] ids.
//! Guarantees that the runs of a value do not overlap: a row's key is its highest id, and all its
//! ids are above the key of the row before.
//!
//! A run's octets are the distances from each id down to the next lower one, as varints
//! (protobuf's); a run of one id has none.

use prost::encoding::{decode_varint, encode_varint};
use rusqlite::{CachedStatement, Connection, ToSql};

/// Ids in a row at most: with distances of four octets it stays within SQLite's page of 4 KiB
/// without an overflow page ((4096 - 12) * 64 / 255 - 23 octets, sqlite.org/fileformat.html §1.6).
const RUN: usize = 224;
/// A run shorter than this is merged with the next ids.
const SHORT: usize = RUN / 2;

/// A table of runs: `(value, last, ids)`, keyed by value and last.
#[derive(Debug, Clone, Copy)]
pub struct Runs {
    table: &'static str,
    column: &'static str,
}

/// Changes runs; its statements are prepared once for as many values as there are.
pub struct RunWriter<'c> {
    newest_first: CachedStatement<'c>,
    oldest_first: CachedStatement<'c>,
    write: CachedStatement<'c>,
    delete: CachedStatement<'c>,
}

/// Whether ids belong to a value; ids must be requested in descending order, and each run is read
/// once.
pub struct RunLookUp<'c> {
    statement: CachedStatement<'c>,
    /// The run with the last id or just above it.
    run: Vec<u64>,
}

// === impl Runs ===

impl Runs {
    pub const fn new(table: &'static str, column: &'static str) -> Self {
        Self { table, column }
    }

    /// The statement that creates the table.
    pub fn ddl(self, kind: &str) -> String {
        let Self { table, column } = self;
        format!(
            "CREATE TABLE {table}({column} {kind}, last INT, ids BLOB, PRIMARY KEY({column}, last))
             WITHOUT ROWID;"
        )
    }

    /// Reads the runs with ids from ?2 to below ?3 of a value (?1), the newest first: for [`ids`].
    pub fn newest_first(self) -> String {
        let Self { table, column } = self;
        // The run with the lowest last id at or above ?3 may begin below it.
        format!(
            "SELECT last, ids FROM {table} WHERE {column} = ?1 AND last >= ?2 AND last <= coalesce(
               (SELECT min(last) FROM {table} WHERE {column} = ?1 AND last >= ?3),
               9223372036854775807)
             ORDER BY last DESC"
        )
    }

    /// Reads the runs of a value (?1) with ids above ?2, the oldest first: for [`ids`].
    fn oldest_first(self) -> String {
        let Self { table, column } = self;
        format!("SELECT last, ids FROM {table} WHERE {column} = ?1 AND last > ?2 ORDER BY last")
    }

    /// Prepares changes.
    pub fn writer(self, index: &Connection) -> rusqlite::Result<RunWriter<'_>> {
        let Self { table, column } = self;
        let of_value = format!("{table} WHERE {column} = ?1");
        Ok(RunWriter {
            newest_first: index.prepare_cached(&format!(
                "SELECT last, ids FROM {of_value} ORDER BY last DESC"
            ))?,
            oldest_first: index.prepare_cached(&self.oldest_first())?,
            write: index.prepare_cached(&format!("INSERT INTO {table} VALUES(?1, ?2, ?3)"))?,
            delete: index.prepare_cached(&format!("DELETE FROM {of_value} AND last = ?2"))?,
        })
    }

    /// Prepares look-ups, for one value each.
    pub fn lookup(self, index: &Connection) -> rusqlite::Result<RunLookUp<'_>> {
        let Self { table, column } = self;
        Ok(RunLookUp {
            statement: index.prepare_cached(&format!(
                "SELECT last, ids FROM {table} WHERE {column} = ?1 AND last >= ?2
                 ORDER BY last LIMIT 1"
            ))?,
            run: Vec::new(),
        })
    }

    /// Up to `limit` ids of a value after one id, ascending.
    pub fn after(
        self,
        index: &Connection,
        value: &dyn ToSql,
        after: u64,
        limit: usize,
    ) -> rusqlite::Result<Vec<u64>> {
        let mut statement = index.prepare_cached(&self.oldest_first())?;
        let mut rows = statement.query((value, after as i64))?;
        let mut found = Vec::new();
        while found.len() < limit {
            let Some(row) = rows.next()? else { break };
            let run = ids(row.get(0)?, row.get_ref(1)?.as_blob()?);
            found.extend(run.into_iter().rev().filter(|id| *id > after));
        }
        found.truncate(limit);
        Ok(found)
    }
}

// === impl RunWriter ===

impl RunWriter<'_> {
    /// Adds ids, ascending; those that are there stay once.
    pub fn insert(&mut self, value: &dyn ToSql, new: &[u64]) -> rusqlite::Result<()> {
        let (Some(first), Some(highest)) = (new.first(), new.last()) else {
            return Ok(());
        };
        let (mut touched, mut joined) = (Vec::new(), Vec::new());
        let mut rows = self.newest_first.query([value])?;
        while let Some(row) = rows.next()? {
            let last = row.get::<_, i64>(0)?;
            let run = ids(last, row.get_ref(1)?.as_blob()?);
            if run.last().is_some_and(|lowest| lowest > highest) {
                continue;
            }
            let overlaps = last as u64 >= *first;
            if overlaps || (touched.is_empty() && run.len() < SHORT) {
                touched.push(last);
                joined.extend(run);
            }
            if !overlaps {
                break;
            }
        }
        drop(rows);
        if touched.is_empty() {
            return self.write(value, new);
        }
        self.delete(value, &touched)?;
        joined.extend_from_slice(new);
        joined.sort_unstable();
        joined.dedup();
        self.write(value, &joined)
    }

    /// Removes ids, ascending.
    pub fn remove(&mut self, value: &dyn ToSql, gone: &[u64]) -> rusqlite::Result<()> {
        let (Some(first), Some(highest)) = (gone.first(), gone.last()) else {
            return Ok(());
        };
        let (mut touched, mut left) = (Vec::new(), Vec::new());
        let mut rows = self.oldest_first.query((value, *first as i64 - 1))?;
        while let Some(row) = rows.next()? {
            let last = row.get::<_, i64>(0)?;
            let mut run = ids(last, row.get_ref(1)?.as_blob()?);
            if run.last().is_some_and(|lowest| lowest > highest) {
                break;
            }
            let before = run.len();
            run.retain(|id| gone.binary_search(id).is_err());
            if run.len() < before {
                run.reverse();
                touched.push(last);
                left.push(run);
            }
        }
        drop(rows);
        self.delete(value, &touched)?;
        left.iter().try_for_each(|run| self.write(value, run))
    }

    fn delete(&mut self, value: &dyn ToSql, keys: &[i64]) -> rusqlite::Result<()> {
        keys.iter()
            .try_for_each(|last| self.delete.execute((value, last)).map(drop))
    }

    fn write(&mut self, value: &dyn ToSql, new: &[u64]) -> rusqlite::Result<()> {
        new.chunks(RUN).try_for_each(|run| {
            let (last, octets) = encode(run);
            self.write.execute((value, last as i64, octets)).map(drop)
        })
    }
}

// === impl RunLookUp ===

impl RunLookUp<'_> {
    /// Whether the value has this id, which must be below those requested before.
    pub fn has(&mut self, value: &dyn ToSql, id: u64) -> rusqlite::Result<bool> {
        if self.run.last().is_none_or(|lowest| *lowest > id) {
            let mut rows = self.statement.query((value, id as i64))?;
            self.run = match rows.next()? {
                Some(row) => ids(row.get(0)?, row.get_ref(1)?.as_blob()?),
                None => Vec::new(),
            };
        }
        Ok(self.run.binary_search_by(|known| id.cmp(known)).is_ok())
    }
}

/// The last of these ascending ids and the octets of the run.
fn encode(run: &[u64]) -> (u64, Vec<u8>) {
    let mut octets = Vec::with_capacity(run.len() * 4);
    for pair in run.windows(2).rev() {
        if let [lower, higher] = pair {
            encode_varint(higher - lower, &mut octets);
        }
    }
    (run.last().copied().unwrap_or(0), octets)
}

/// The ids of a run, descending; one that is damaged ends where the damage is.
pub fn ids(last: i64, mut octets: &[u8]) -> Vec<u64> {
    let mut id = last as u64;
    let mut found = vec![id];
    while !octets.is_empty() {
        let Some(lower) = decode_varint(&mut octets)
            .ok()
            .and_then(|distance| id.checked_sub(distance))
        else {
            break;
        };
        id = lower;
        found.push(id);
    }
    found
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    const RUNS: Runs = Runs::new("runs", "value");

    fn table() -> Connection {
        let index = Connection::open_in_memory().unwrap();
        index.execute_batch(&RUNS.ddl("TEXT")).unwrap();
        index
    }

    fn rows(index: &Connection) -> Vec<Vec<u64>> {
        index
            .prepare("SELECT last, ids FROM runs ORDER BY value, last DESC")
            .unwrap()
            .query_map([], |row| Ok(ids(row.get(0)?, row.get_ref(1)?.as_blob()?)))
            .unwrap()
            .collect::<Result<_, _>>()
            .unwrap()
    }

    #[test]
    fn a_thousand_messages_of_one_sender_are_a_handful_of_rows() {
        let index = table();
        let new: Vec<u64> = (0..1000).map(|at| (at << 20) + at * 7).collect();
        RUNS.writer(&index).unwrap().insert(&"a", &new).unwrap();
        let rows = rows(&index);
        assert_eq!(rows.len(), 5);
        let longest = rows.iter().map(|run| {
            let ascending: Vec<u64> = run.iter().rev().copied().collect();
            encode(&ascending).1.len()
        });
        assert!(longest.max().unwrap() < 1000, "no overflow pages");
        assert_eq!(rows.concat(), new.into_iter().rev().collect::<Vec<u64>>());
    }

    #[test]
    fn what_comes_one_by_one_is_gathered() {
        let index = table();
        for id in 1..=300 {
            RUNS.writer(&index).unwrap().insert(&"a", &[id]).unwrap();
        }
        assert_eq!(rows(&index).len(), 3);
    }

    #[test]
    fn octets_that_are_cut_end_the_run() {
        let (last, octets) = encode(&[5, 1000, 100_000]);
        assert_eq!(
            ids(last as i64, &octets[..octets.len() - 1]),
            [100_000, 1000]
        );
        assert_eq!(ids(3, &[4]), [3], "below 0");
    }

    proptest! {
        #[test]
        fn they_hold_what_a_set_holds(
            steps in prop::collection::vec(
                (any::<bool>(), 0..2_u8, prop::collection::btree_set(1..2000_u64, 0..400)), 1..12),
            after in 0..2000_u64, below in 0..2000_u64,
        ) {
            let index = table();
            let mut model = [BTreeSet::new(), BTreeSet::new()];
            for (add, value, ids) in steps {
                let (name, known) = (value.to_string(), &mut model[usize::from(value)]);
                let ids: Vec<u64> = ids.into_iter().collect();
                if add {
                    RUNS.writer(&index).unwrap().insert(&name, &ids).unwrap();
                    known.extend(ids);
                } else {
                    RUNS.writer(&index).unwrap().remove(&name, &ids).unwrap();
                    known.retain(|id| ids.binary_search(id).is_err());
                }
            }
            for (value, known) in model.iter().enumerate() {
                let name = value.to_string();
                let found = RUNS.after(&index, &name, after, 100).unwrap();
                prop_assert_eq!(found, known.range(after + 1..).take(100).copied().collect::<Vec<_>>());
                let found: Vec<u64> = index
                    .prepare(&RUNS.newest_first())
                    .unwrap()
                    .query_map((&name, after as i64, below as i64), |row| {
                        Ok(ids(row.get(0)?, row.get_ref(1)?.as_blob()?))
                    })
                    .unwrap()
                    .flat_map(Result::unwrap)
                    .filter(|id| (after..below).contains(id))
                    .collect();
                let expected: Vec<u64> = known.iter().rev().copied()
                    .filter(|id| (after..below).contains(id)).collect();
                prop_assert_eq!(found, expected);
                let mut lookup = RUNS.lookup(&index).unwrap();
                for id in (1..2000).rev().step_by(3) {
                    prop_assert_eq!(lookup.has(&name, id).unwrap(), known.contains(&id), "{}", id);
                }
            }
            let total: usize = model.iter().map(BTreeSet::len).sum();
            prop_assert_eq!(rows(&index).concat().len(), total, "none twice");
        }
    }
}
