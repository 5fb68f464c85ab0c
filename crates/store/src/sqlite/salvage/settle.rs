//! Makes a sound store of the rows that were read: what belongs to a lost message goes, what may have ended is not sent again,
//! and the marks of the start are those of these rows.

use rusqlite::Connection;

use super::super::asides;
use super::super::opt_out;
use super::super::schema::{meta, set_meta};
use super::new_store::NewStore;
use super::shapes::merge;
use crate::FinRow;
use crate::checksum::Summed as _;
use crate::damage::{DamagedRow, PAGE};
use crate::signed;

/// Tables whose rows are about messages.
const OF_MESSAGES: [&str; 9] = [
    "sent", "resent", "fin", "told", "retry", "change", "tries", "heard", "carry",
];
/// Tables without a row of which a message is not what it seems to be: it may have been sent, have ended, or be changed.
const DECISIVE: [&str; 5] = ["sent", "resent", "fin", "change", "tries"];
/// Messages that are ended at a time.
const AT_A_TIME: usize = 1000;
/// Row numbers that are skipped where the last one used is not known.
const SKIPPED: i64 = 1_000_000;

/// What became of the messages of a damaged store.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SettledMessages {
    /// Messages of which only other rows are left.
    pub lost: u64,
    /// Messages that have not ended and of which a row is damaged: they end.
    pub damaged: u64,
    /// Messages that may have been sent, or have ended, by rows that cannot be read.
    pub doubtful: u64,
}

impl NewStore {
    /// Settles what becomes of messages. `is_log_lost`: any message may have ended without a trace.
    pub fn settle_messages(
        &mut self,
        is_log_lost: bool,
        send_doubtful: bool,
    ) -> rusqlite::Result<SettledMessages> {
        let connection = &self.connection;
        keep_ids(connection)?;
        let lost = self.drop_ownerless()?;
        let mut settled = SettledMessages {
            lost,
            ..SettledMessages::default()
        };
        let damaged = "SELECT DISTINCT d.id FROM damaged d JOIN msg m ON m.id = d.id
             WHERE d.origin IN ('sent', 'fin', 'change', 'tries') AND d.id BETWEEN ?1 AND ?2
               AND NOT EXISTS(SELECT 1 FROM fin f WHERE f.id = d.id) ORDER BY d.id LIMIT ?3";
        settled.damaged = self.each(damaged, i64::MIN, i64::MAX, |id| self.end(id))?;
        let unfinished = "SELECT m.id FROM msg m WHERE m.id BETWEEN ?1 AND ?2
               AND NOT EXISTS(SELECT 1 FROM fin f WHERE f.id = m.id) ORDER BY m.id LIMIT ?3";
        for (low, high) in self.doubts(is_log_lost) {
            settled.doubtful += self.each(unfinished, low, high, |id| {
                self.list(&DamagedRow::new(PAGE, id as u64, doubt(send_doubtful)))?;
                if send_doubtful { Ok(()) } else { self.end(id) }
            })?;
        }
        // A start reads from here on; the mark moves when the server runs.
        self.connection.execute_batch(
            "DELETE FROM retry WHERE EXISTS(SELECT 1 FROM fin f WHERE f.id = retry.id);
             DELETE FROM carry;",
        )?;
        let first: Option<i64> = self.connection.query_row(
            "SELECT min(m.id) FROM msg m LEFT JOIN fin f ON f.id = m.id WHERE f.id IS NULL
               OR (f.tell <> 0 AND NOT EXISTS(SELECT 1 FROM told t WHERE t.id = m.id))",
            [],
            |row| row.get(0),
        )?;
        let first = first.map(|id| id as u64);
        let mark = first.unwrap_or(meta(&self.connection, "highest_id")?);
        set_meta(&self.connection, "low_water", mark)?;
        Ok(settled)
    }

    /// The ranges of ids in which a message may have gone on without a trace, ascending.
    fn doubts(&self, is_log_lost: bool) -> Vec<(i64, i64)> {
        let decisive = (self.shapes.iter()).filter(|shape| DECISIVE.contains(&&*shape.name));
        let lost = decisive.flat_map(|shape| &shape.lost);
        let mut ranges: Vec<(i64, i64)> = lost.map(|lost| (lost.low, lost.high)).collect();
        if is_log_lost {
            ranges.push((i64::MIN, i64::MAX));
        }
        merge(ranges)
    }

    /// Calls `act` for each id of a statement with a range and a limit; it is asked again from the last one on.
    fn each(
        &self,
        sql: &str,
        low: i64,
        high: i64,
        act: impl Fn(i64) -> rusqlite::Result<()>,
    ) -> rusqlite::Result<u64> {
        let mut statement = self.connection.prepare_cached(sql)?;
        let (mut from, mut count) = (low, 0);
        loop {
            let ids: Vec<i64> = statement
                .query_map((from, high, signed(AT_A_TIME)), |row| row.get(0))?
                .collect::<rusqlite::Result<_>>()?;
            for id in &ids {
                act(*id)?;
            }
            count += ids.len() as u64;
            match ids.last() {
                Some(last) if ids.len() == AT_A_TIME && *last < high => from = last + 1,
                _ => return Ok(count),
            }
        }
    }

    /// Ends a message for damage.
    fn end(&self, id: i64) -> rusqlite::Result<()> {
        let fin = FinRow {
            at: self.now,
            ..FinRow::damaged(id as u64)
        };
        let error = String::from_utf8_lossy(&fin.error);
        self.connection
            .prepare_cached(
                "INSERT OR IGNORE INTO fin(id, at, state, error, operator, tell, done_at, checksum)
                 VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
            )?
            .execute((
                id,
                fin.at,
                i32::from(fin.state),
                error,
                fin.operator,
                fin.tell,
                fin.done_at,
                fin.sum() as i32,
            ))
            .map(drop)
    }

    /// Removes rows of messages that are lost, and lists those messages.
    fn drop_ownerless(&self) -> rusqlite::Result<u64> {
        let retired = meta(&self.connection, "retired_upto")? as i64;
        let mut lost = 0;
        for table in OF_MESSAGES {
            let ownerless = format!(
                "FROM {table} WHERE id > ?1 AND NOT EXISTS(SELECT 1 FROM msg m WHERE m.id = {table}.id)"
            );
            if table != "carry" {
                lost += self.connection.execute(
                    &format!(
                        "INSERT OR IGNORE INTO damaged(id, origin, found_at, why, legible)
                         SELECT DISTINCT id, 'msg', ?2, 'it cannot be read; other rows are about it', '' {ownerless}"
                    ),
                    (retired, self.now),
                )? as u64;
            }
            self.connection
                .execute(&format!("DELETE {ownerless}"), [retired])?;
        }
        Ok(lost)
    }

    /// Gives each number that is in use a name, so that it is given to nobody else; in words what was done.
    pub fn mend_names(&self) -> rusqlite::Result<Vec<String>> {
        let mut said = Vec::new();
        for (number, name) in &self.indexed_names {
            let read: Option<String> = self.connection.query_row(
                "SELECT (SELECT name FROM names WHERE number = ?1)",
                [number],
                |row| row.get(0),
            )?;
            match read {
                Some(read) if read != *name => {
                    said.push(format!(
                        "name {number} is {read:?} or {name:?}: it is called lost:{number} now, and nobody has it"
                    ));
                    let set = "UPDATE names SET name = 'lost:' || number WHERE number = ?1";
                    self.connection.execute(set, [number])?;
                }
                Some(_) => {}
                None if u32::try_from(*number).is_ok() => {
                    let insert = "INSERT OR IGNORE INTO names(number, name) VALUES(?1, ?2)";
                    self.connection.execute(insert, (number, name))?;
                }
                None => {}
            }
        }
        let nameless = self.connection.execute(
            "INSERT OR IGNORE INTO names(number, name) SELECT n, 'lost:' || n FROM (
               SELECT sender AS n FROM msg UNION SELECT queue FROM msg UNION SELECT account FROM purse)
             WHERE n BETWEEN 1 AND 2147483647 AND n NOT IN (SELECT number FROM names)",
            [],
        )?;
        if nameless > 0 {
            said.push(format!(
                "the names of {nameless} accounts, operators or queues are lost: messages of theirs wait for nobody"
            ));
        }
        Ok(said)
    }

    /// No row number of an event is used again.
    pub fn mend_sequence(&self) -> rusqlite::Result<()> {
        let is_lost = (self.shapes.iter()).any(|shape| {
            matches!(&*shape.name, "outbox" | "sqlite_sequence") && !shape.lost.is_empty()
        });
        let last: i64 = self.connection.query_row(
            "SELECT max(coalesce((SELECT max(seq) FROM sqlite_sequence WHERE name = 'outbox'), 0),
               coalesce((SELECT max(row) FROM outbox), 0))",
            [],
            |row| row.get(0),
        )?;
        let skipped = if is_lost { SKIPPED } else { 0 };
        let last = last.saturating_add(skipped);
        let delete = "DELETE FROM sqlite_sequence WHERE name = 'outbox'";
        self.connection.execute(delete, [])?;
        let insert = "INSERT INTO sqlite_sequence(name, seq) VALUES('outbox', ?1)";
        self.connection.execute(insert, [last]).map(drop)
    }
}

/// Why a message is doubtful, and what becomes of it.
fn doubt(send_doubtful: bool) -> &'static str {
    if send_doubtful {
        "a row of it may be lost: it may have been sent, or have ended; it is sent"
    } else {
        "a row of it may be lost: it may have been sent, or have ended; it is not sent again"
    }
}

/// Ids and versions are not used again, whatever was lost.
fn keep_ids(connection: &Connection) -> rusqlite::Result<()> {
    let mut highest = asides::highest_id(connection)?;
    let aside = asides::read(connection)?;
    for table in ["fin", "sent"] {
        let last = format!("SELECT coalesce(max(id), 0) FROM {table}");
        let last = connection.query_row(&last, [], |row| row.get::<_, i64>(0))? as u64;
        if !aside.iter().any(|aside| aside.contains(last)) {
            highest = highest.max(last);
        }
    }
    set_meta(connection, "highest_id", highest)?;
    let last = "SELECT coalesce(max(version), 0) FROM opt_out";
    let last = connection.query_row(last, [], |row| row.get::<_, i64>(0))? as u64;
    let version = meta(connection, opt_out::VERSION)?.max(last);
    set_meta(connection, opt_out::VERSION, version)
}
