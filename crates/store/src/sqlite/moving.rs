//! Reads everything from an unused store, page by page, for the move to another one.
//!
//! Called by `smsc migrate-store`. Holds the data folder's lock, so that no server changes what is
//! being read; guarantees that memory does not grow with the store, and that each row is on exactly
//! one page, also one whose message was retired.

use std::path::Path;

use rusqlite::{Connection, Row};

use super::cold::{self, records};
use super::folder_lock::{FolderLock, lock_folder};
use super::heard;
use super::outbox::{read_event, read_record};
use super::reader::{CHANGES, FINS};
use super::record::{
    MESSAGE_COLUMNS, Sound, bytes_of, key_of, read_change, read_dead, read_fin, read_message,
    read_parked, read_sent, sound,
};
use super::schema::{self, failed, open_reader};
use super::settings;
use super::usage;
use super::wal;
use crate::balance::PurseRow;
use crate::cold::{ColdRecord as _, values};
use crate::heard::HeardRow;
use crate::idempotency::IdempotencyRow;
use crate::meta::MetaRow;
use crate::moving::{END, Inventory, MovePart, MovedPage, TABLES};
use crate::opt_out::OptOutRow;
use crate::postgres::known_as;
use crate::settings::{StoredSetting, StoredSettings};
use crate::{MOVED_WHOLE, RetryRow, StoreResult, TryRow};
use crate::{forms, pauses, stream_marks};

/// A store at rest.
pub struct StoreAtRest {
    connection: Connection,
    _lock: FolderLock,
}

// === impl StoreAtRest ===

impl StoreAtRest {
    /// Locks a data folder and opens the store in it.
    ///
    /// # Errors
    /// There is no store, it is of a newer release, or a server uses it.
    pub fn open(folder: &Path) -> StoreResult<Self> {
        let path = folder.join(schema::MAIN_FILE);
        if !path.is_file() {
            return Err(failed(format!("{} is not there", path.display())));
        }
        let lock = lock_folder(folder)?;
        wal::at_rest(&path)?;
        let connection = open_reader(&path)?;
        let version = schema::check_version(&connection, &path)?;
        if version == 0 {
            return Err(failed(format!("{} is no store of smsc", path.display())));
        }
        // What this release does not know would be left behind.
        if version > schema::SCHEMA_VERSION {
            return Err(failed(format!(
                "{} has schema version {version}, this release knows up to {}: move it with the release that wrote it",
                path.display(),
                schema::SCHEMA_VERSION
            )));
        }
        Ok(Self {
            connection,
            _lock: lock,
        })
    }

    /// Counts what there is. Reads every table to its end.
    pub fn inventory(&self) -> StoreResult<Inventory> {
        let mut inventory = self.read_inventory()?;
        if self.has("config_versions")? {
            inventory.settings = settings::read(&self.connection)?;
            let resources = inventory.settings.settings.iter();
            inventory.whole.extend(resources.map(StoredSetting::put));
            for version in settings::history(&self.connection)? {
                // What cannot be read is not moved.
                version.decode()?;
                inventory.whole.push(version.insert(""));
            }
        }
        if self.has("purse")? {
            let purses = cold::run(&self.connection, &PurseRow::of(None, "0"))?;
            let purses = PurseRow::all(purses.returned)?;
            inventory.whole.extend(purses.iter().map(PurseRow::insert));
        }
        for kind in [forms::KEY, pauses::KEY, stream_marks::KEY] {
            let rows = records::<MetaRow>(&self.connection, &MetaRow::starting_with(kind))?;
            inventory.whole.extend(rows.iter().map(MetaRow::put));
        }
        for moved in &MOVED_WHOLE {
            if self.has(moved.table)? {
                let rows = cold::run(&self.connection, &(moved.read)())?;
                inventory.whole.extend((moved.write)(rows.returned)?);
            }
        }
        Ok(inventory)
    }

    /// A store of an earlier release, which is only read, has not all tables.
    fn has(&self, table: &str) -> rusqlite::Result<bool> {
        self.connection.table_exists(None, table)
    }

    fn read_inventory(&self) -> rusqlite::Result<Inventory> {
        let number = |sql: &str| schema::count(&self.connection, sql, []);
        let mut rows = [0; TABLES.len()];
        for (count, table) in rows.iter_mut().zip(TABLES) {
            if !self.has(table)? {
                continue;
            }
            let from = if table == "sent" { "attempts" } else { table };
            *count = number(&format!("SELECT count(*) FROM {from}"))?;
        }
        let highest = number(
            "SELECT max(coalesce((SELECT max(id) FROM msg), 0),
               coalesce((SELECT max(id) FROM parked), 0))",
        )?;
        Ok(Inventory {
            names: schema::names(&self.connection)?,
            settings: StoredSettings::default(),
            whole: Vec::new(),
            rows,
            highest: highest.max(schema::meta(&self.connection, "highest_id")?),
            low_water: schema::meta(&self.connection, "low_water")?,
        })
    }

    /// The page of a part that follows on a key, with up to `limit` messages (or rows, where there
    /// are no messages); `None` behind the end.
    pub fn page(&self, part: MovePart, after: u64, limit: usize) -> StoreResult<Option<MovedPage>> {
        if after >= END {
            return Ok(None);
        }
        let mut page = MovedPage::new(part, after);
        let last = match part {
            MovePart::Messages => self.messages(&mut page, limit),
            MovePart::Carry => self.carry(&mut page, limit),
            MovePart::Parked => self.sifted(&mut page, "parked", limit, read_parked, |page| {
                &mut page.rows.park
            }),
            MovePart::Dead => {
                self.sifted(&mut page, "dead", limit, read_dead, |page| &mut page.dead)
            }
            MovePart::OptOuts => self.opt_outs(&mut page, limit),
            MovePart::Idempotency => self.idempotency(&mut page, limit),
            MovePart::Events => self.sifted(&mut page, "outbox", limit, read_event, |page| {
                &mut page.events
            }),
            MovePart::Records => self.sifted(&mut page, "cdr", limit, read_record, |page| {
                &mut page.records
            }),
            MovePart::Usage => self.usage(&mut page, limit),
        };
        // The last page ends at the end of the table; an earlier one at its last row.
        page.upto = last?.unwrap_or(END);
        Ok(Some(page))
    }

    fn messages(&self, page: &mut MovedPage, limit: usize) -> rusqlite::Result<Option<u64>> {
        let all = format!("SELECT {MESSAGE_COLUMNS} FROM msg t");
        let (messages, last) = self.numbered(&all, page.after, limit, read_message)?;
        // By the range, not by the messages: rows of retired ones belong to a page as well.
        let ids = (page.after as i64, last.unwrap_or(END) as i64);
        let left = &mut page.left;
        let rows = &mut page.rows;
        rows.accept = left.sift("msg", messages);
        let attempts = "SELECT * FROM (
            SELECT * FROM attempts WHERE id > ?1 AND id <= ?2) ORDER BY id, attempt";
        rows.sent = left.sift("sent", self.rows(attempts, ids, read_sent)?);
        for sent in &mut rows.sent {
            let message = rows
                .accept
                .binary_search_by_key(&sent.id, |message| message.id);
            sent.known_as = message.ok().and_then(|at| known_as(&rows.accept[at]));
        }
        let of_these = |select: &str, order: &str| {
            format!("{select} WHERE id > ?1 AND id <= ?2 ORDER BY {order}")
        };
        rows.fin = left.sift("fin", self.rows(&of_these(FINS, "id"), ids, read_fin)?);
        rows.told = self.rows(&of_these("SELECT id FROM told", "id"), ids, key_at_0)?;
        let retries = of_these("SELECT id, due_at, attempts FROM retry", "id");
        let retries = self.rows(&retries, ids, |row| {
            sound("retry", row, |row| {
                Ok(RetryRow {
                    id: key_of(row)?,
                    due_at: row.get(1)?,
                    attempts: row.get(2)?,
                })
            })
        })?;
        rows.retry = left.sift("retry", retries);
        let tries = of_these("SELECT id, attempt, at, operator FROM tries", "id, attempt");
        let tries = self.rows(&tries, ids, |row| {
            sound("tries", row, |row| {
                Ok(TryRow {
                    id: key_of(row)?,
                    attempt: row.get(1)?,
                    at: row.get(2)?,
                    operator: row.get(3)?,
                })
            })
        })?;
        rows.tries = left.sift("tries", tries);
        let changes = self.rows(&of_these(CHANGES, "id, seq"), ids, read_change)?;
        rows.change = left.sift("change", changes);
        left.end_messages(rows);
        let heard = "WHERE id > $1 AND id <= $2 ORDER BY id, kind";
        let heard = HeardRow::select(heard, values![ids.0, ids.1]);
        rows.heard = heard::find(&self.connection, &heard)?;
        Ok(last)
    }

    fn carry(&self, page: &mut MovedPage, limit: usize) -> rusqlite::Result<Option<u64>> {
        let (ids, last) = self.numbered("SELECT id FROM carry", page.after, limit, key_at_0)?;
        page.carry = ids;
        Ok(last)
    }

    fn opt_outs(&self, page: &mut MovedPage, limit: usize) -> rusqlite::Result<Option<u64>> {
        if self.has("opt_out")? {
            page.opt_outs = records(&self.connection, &OptOutRow::after(page.after, limit))?;
        }
        Ok(cut(&page.opt_outs, limit, |row| row.version))
    }

    fn idempotency(&self, page: &mut MovedPage, limit: usize) -> rusqlite::Result<Option<u64>> {
        if !self.has("idempotency")? {
            return Ok(None);
        }
        let all = "SELECT id, account, key, request, at, answer FROM idempotency";
        let (rows, last) = self.numbered(all, page.after, limit, |row| {
            Ok(IdempotencyRow {
                account: row.get(1)?,
                key: row.get(2)?,
                request: row.get(3)?,
                at: row.get(4)?,
                answer: bytes_of(row.get_ref(5)?),
            })
        })?;
        page.rows.idempotency = rows;
        Ok(last)
    }

    /// Whole days, about as many as have so many rows.
    fn usage(&self, page: &mut MovedPage, limit: usize) -> rusqlite::Result<Option<u64>> {
        if !self.has("usage")? {
            return Ok(None);
        }
        let last: Option<i64> = self.connection.query_row(
            "SELECT max(day) FROM (SELECT day FROM usage WHERE day > ?1 ORDER BY day LIMIT ?2)",
            (page.after as i64, limit as i64),
            |row| row.get(0),
        )?;
        let Some(last) = last else {
            return Ok(None);
        };
        page.usage = usage::of_days(&self.connection, page.after as i64, last)?;
        Ok(Some(last as u64))
    }

    /// Rows of a table that may not be there, without those that are damaged.
    fn sifted<T>(
        &self,
        page: &mut MovedPage,
        table: &'static str,
        limit: usize,
        read: fn(&Row<'_>) -> Sound<T>,
        into: fn(&mut MovedPage) -> &mut Vec<T>,
    ) -> rusqlite::Result<Option<u64>> {
        if !self.has(table)? {
            return Ok(None);
        }
        let all = format!("SELECT * FROM {table}");
        let (rows, last) = self.numbered(&all, page.after, limit, read)?;
        let rows = page.left.sift(table, rows);
        *into(page) = rows;
        Ok(last)
    }

    /// The rows of a table behind a key, which is its first column; and the last key, when there may be more.
    fn numbered<T>(
        &self,
        all: &str,
        after: u64,
        limit: usize,
        read: fn(&Row<'_>) -> rusqlite::Result<T>,
    ) -> rusqlite::Result<(Vec<T>, Option<u64>)> {
        let sql = format!("{all} WHERE rowid > ?1 ORDER BY rowid LIMIT ?2");
        let numbered = |row: &Row<'_>| Ok((key_at_0(row)?, read(row)?));
        let rows = self.rows(&sql, (after as i64, limit as i64), numbered)?;
        let last = cut(&rows, limit, |(key, _)| *key);
        Ok((rows.into_iter().map(|(_, row)| row).collect(), last))
    }

    fn rows<T>(
        &self,
        sql: &str,
        parameters: (i64, i64),
        read: impl Fn(&Row<'_>) -> rusqlite::Result<T>,
    ) -> rusqlite::Result<Vec<T>> {
        self.connection
            .prepare_cached(sql)?
            .query_map(parameters, read)?
            .collect()
    }
}

/// The key of the last row, when there may be more rows.
fn cut<T>(rows: &[T], limit: usize, key: impl Fn(&T) -> u64) -> Option<u64> {
    rows.last().filter(|_| rows.len() >= limit).map(key)
}

fn key_at_0(row: &Row<'_>) -> rusqlite::Result<u64> {
    Ok(row.get::<_, i64>(0)? as u64)
}
