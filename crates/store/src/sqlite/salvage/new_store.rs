//! The new store while it is being filled: rows as they were written, each only if its checksum says so.

use std::collections::HashMap;
use std::path::Path;

use prost::Message as _;
use rusqlite::{Connection, Row, params_from_iter};

use super::super::outbox::{read_event, read_record};
use super::super::record::{
    Sound, read_change, read_dead, read_fin, read_first, read_message, read_parked, read_sent,
};
use super::super::schema::{failed, open_main, sql_failed};
use super::super::schema_check;
use super::btree::RawValue;
use super::shapes::{TableShape, shapes};
use super::walk::{FoundRow, TreeFinding};
use crate::StoreResult;
use crate::checksum::KEY;
use crate::damage::DamagedRow;
use smsc_proto as pb;

/// The index that has all names once more.
const NAMES_INDEX: &str = "sqlite_autoindex_names_1";

/// Rows of a table.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RowCount {
    pub read: u64,
    /// That are not as they were written.
    pub damaged: u64,
}

/// A store that is being filled. One transaction, and no journal: what is not finished is removed.
pub struct NewStore {
    pub connection: Connection,
    pub shapes: Vec<TableShape>,
    /// By the order of the shapes.
    pub counts: Vec<RowCount>,
    /// Names by their numbers as the index of them has them.
    pub indexed_names: HashMap<i64, String>,
    /// Unix milliseconds.
    pub now: i64,
}

// === impl NewStore ===

impl NewStore {
    /// Creates the file.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn create(path: &Path, now: i64) -> StoreResult<Self> {
        let connection = open_main(path, 0)?;
        // Lists of rows to be deleted may be long.
        let shapes = connection
            .execute_batch(
                "PRAGMA locking_mode=EXCLUSIVE; PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF;
                 PRAGMA temp_store=FILE; BEGIN;",
            )
            .and_then(|()| shapes(&connection))?;
        connection.set_prepared_statement_cache_capacity(128);
        Ok(Self {
            counts: vec![RowCount::default(); shapes.len()],
            connection,
            shapes,
            indexed_names: HashMap::new(),
            now,
        })
    }

    /// The place of a table or an index in the list.
    pub fn place(&self, name: &str) -> Option<usize> {
        self.shapes.iter().position(|shape| shape.name == name)
    }

    /// Takes what was found of a table; false for a row that is not as it was written.
    ///
    /// # Errors
    /// The new store cannot be written.
    pub fn take(&mut self, place: usize, found: TreeFinding) -> StoreResult<bool> {
        match found {
            TreeFinding::Lost(lost) => {
                self.shapes[place].lost.push(lost);
                Ok(true)
            }
            TreeFinding::Row(row) if self.shapes[place].is_table() => {
                self.put(place, row).map_err(sql_failed)
            }
            TreeFinding::Row(row) => {
                if self.shapes[place].name == NAMES_INDEX
                    && let [name, number] = &row.fields[..]
                    && let (Some(name), Some(number)) = (name.text(), number.int())
                {
                    self.indexed_names.insert(number, name.to_owned());
                }
                Ok(true)
            }
        }
    }

    fn put(&mut self, place: usize, row: FoundRow) -> rusqlite::Result<bool> {
        let shape = &self.shapes[place];
        let is_in_place = row.is_in_place;
        let values = shape.values(row.rowid, row.fields);
        match self.check(place, &values)? {
            Err(damaged) => {
                self.counts[place].damaged += 1;
                self.list(&damaged)?;
                return Ok(false);
            }
            // Only a checksum proves a row that is not where it belongs.
            Ok(is_proved) if !is_proved && !is_in_place => {
                self.counts[place].damaged += 1;
                return Ok(false);
            }
            Ok(_) => {}
        }
        let insert = self.shapes[place].insert(values.len());
        let mut insert = self.connection.prepare_cached(&insert)?;
        self.counts[place].read += insert.execute(params_from_iter(&values))? as u64;
        Ok(true)
    }

    /// Whether a checksum proves that a row of a table is as it was written; what is wrong with one that is not.
    pub fn check(
        &self,
        place: usize,
        values: &[RawValue],
    ) -> rusqlite::Result<Result<bool, DamagedRow>> {
        fn told<T>(read: Sound<T>) -> rusqlite::Result<Result<(), DamagedRow>> {
            read.map(|read| read.map(drop))
        }
        type Check = fn(&Row<'_>) -> rusqlite::Result<Result<(), DamagedRow>>;
        // The checksum is in the blob, or in the last column.
        let (check, columns): (Check, usize) = match &*self.shapes[place].name {
            "msg" => (|row| told(read_message(row)), 11),
            "sent" => (|row| told(read_first(row)), 8),
            "resent" => (|row| told(read_sent(row)), 9),
            "fin" => (|row| told(read_fin(row)), 8),
            "parked" => (|row| told(read_parked(row)), 6),
            "change" => (|row| told(read_change(row)), 8),
            "outbox" => (|row| told(read_event(row)), 7),
            "cdr" => (|row| told(read_record(row)), 23),
            "dead" => (|row| told(read_dead(row)), 7),
            _ => return Ok(Ok(false)),
        };
        let marks = vec!["?"; values.len()].join(",");
        let mut select = self.connection.prepare_cached(&format!("SELECT {marks}"))?;
        let checked = select.query_row(params_from_iter(values), check)?;
        if let Err(why) = unsealed(&self.shapes[place].name, values) {
            let id = values.first().and_then(RawValue::int).unwrap_or(0);
            let damaged = DamagedRow::new(&self.shapes[place].name, id as u64, why);
            return Ok(checked.and(Err(damaged)));
        }
        let seal = values.get(columns - 1);
        Ok(checked.map(|()| !matches!(seal, None | Some(RawValue::Null))))
    }

    /// Puts a row on the list for people.
    pub fn list(&self, row: &DamagedRow) -> rusqlite::Result<()> {
        self.connection
            .prepare_cached(
                "INSERT OR IGNORE INTO damaged(id, origin, found_at, why, legible) VALUES(?1, ?2, ?3, ?4, ?5)",
            )?
            .execute((row.id as i64, &row.table, self.now, &row.why, &row.legible))
            .map(drop)
    }

    /// Ends the transaction; the file is durable on return.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn finish(self, path: &Path) -> StoreResult {
        // Its tables begin elsewhere.
        self.connection
            .execute("DELETE FROM meta WHERE key = ?1", [schema_check::SUM])
            .and_then(|_| self.connection.execute_batch("COMMIT"))?;
        let closed = self.connection.close();
        closed.map_err(|(_, error)| sql_failed(error))?;
        let synced = std::fs::File::open(path).and_then(|file| file.sync_all());
        synced.map_err(|error| failed(format!("cannot write {}: {error}", path.display())))
    }
}

/// A blob without a checksum is what an earlier release has written, and not one whose beginning is damaged by more than a bit: a
/// message has no field that is not known, and a change begins with none of the type of a checksum.
fn unsealed(table: &str, values: &[RawValue]) -> Result<(), &'static str> {
    let is_earlier = match (table, values.get(10), values.get(7)) {
        ("msg", Some(RawValue::Blob(blob)), _) => {
            blob.starts_with(&KEY)
                || pb::Message::decode(&blob[..]).is_ok_and(|read| read.encode_to_vec() == *blob)
        }
        ("change", _, Some(RawValue::Blob(blob))) => {
            let type_of = |octet: &u8| octet & 7;
            blob.starts_with(&KEY) || blob.first().map(type_of) != KEY.first().map(type_of)
        }
        _ => true,
    };
    is_earlier
        .then_some(())
        .ok_or("its checksum cannot be read")
}
