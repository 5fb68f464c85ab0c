//! The statements of the writer.
//!
//! Owned by the writer thread for as long as its connection; guarantees that each statement is
//! prepared once, that rows are inserted and never changed (except `retry`, where the last one
//! wins), and that no message is both final and in `retry`. Of the tables that nearly every message has rows in, several
//! rows are inserted by one statement: beginning and ending one costs as much as a row.

use ahash::AHashSet;
use prost::Message as _;
use rusqlite::{Connection, Statement, ToSql, params};

use super::asides;
use super::idempotency::IdempotencyKey;
use super::insert::{Insert, groups};
use super::record::Readable;
use super::schema;
use crate::checksum::{Summed as _, close_change};
use crate::heard::HeardRow;
use crate::idempotency::IdempotencyRow;
use crate::moving::DeadRow;
use crate::record::{encode_body, numbering};
use crate::{ChangeRow, FinRow, ParkedRow, RetryRow, SentRow, TryRow};
use smsc_host::clock;
use smsc_proto::Message;

/// Larger rows are refused: no message comes near it (an SMPP PDU is at most 64 KiB here).
const MAX_ROW: usize = 1024 * 1024;
/// What of a rejected row is quarantined.
const MAX_DEAD: usize = 64 * 1024;
/// Numbers tried for an attempt whose own number is taken.
const MAX_ATTEMPT_SHIFT: u32 = 64;

/// Why a row was not written.
#[derive(Debug)]
pub enum RowError {
    /// The row itself is at fault.
    Row(String),
    /// An error of SQLite; `failure.rs` classifies it.
    Sql(rusqlite::Error),
}

/// What the writer knows in RAM beside the tables.
#[derive(Debug, Default)]
pub struct Marks {
    /// Messages accepted below it go to `carry` as well: the low-water mark, or what it is about to
    /// become.
    pub carry_below: u64,
    /// Highest id written by a message or a parked receipt.
    pub highest: u64,
    /// `meta.highest_id`: at least this is known without any row.
    pub highest_saved: u64,
    /// Ids with a `retry` row: a superset after a rollback, so that hot rows need no DELETE.
    pub retrying: AHashSet<u64>,
    /// Ids taken out of `retrying` since BEGIN.
    pub undo: Vec<u64>,
    /// Something was deleted since BEGIN: `highest` may have lost its row.
    pub deleted: bool,
    /// Lowest accepted id since BEGIN, for the search index.
    pub lowest_accepted: Option<u64>,
    /// Idempotency keys answered since BEGIN, with their rows.
    pub answered: Vec<(IdempotencyKey, i64)>,
    /// Whether anybody reads events.
    pub has_readers: bool,
    /// Messages that ended since BEGIN, if anybody reads events.
    pub ended: Vec<u64>,
    /// The earliest of their ends.
    pub first_end: i64,
}

// === impl Marks ===

impl Marks {
    /// What the writer has to know before its first row.
    pub fn read(connection: &Connection) -> rusqlite::Result<Self> {
        let retrying = connection
            .prepare("SELECT id FROM retry")?
            .query_map([], |row| Ok(row.get::<_, i64>(0)? as u64))?
            .collect::<rusqlite::Result<_>>()?;
        Ok(Self {
            carry_below: schema::meta(connection, "low_water")?,
            highest: asides::highest_id(connection)?,
            highest_saved: schema::meta(connection, "highest_id")?,
            retrying,
            ..Self::default()
        })
    }
}

/// Prepared statements and the buffer that messages are encoded into.
pub struct Statements<'c> {
    connection: &'c Connection,
    begin: Statement<'c>,
    commit: Statement<'c>,
    savepoint: Statement<'c>,
    release: Statement<'c>,
    msg: Insert<'c>,
    sent: Insert<'c>,
    same_sent: Statement<'c>,
    resent: Statement<'c>,
    retry: Statement<'c>,
    unretry: Statement<'c>,
    fin: Insert<'c>,
    told: Insert<'c>,
    tries: Statement<'c>,
    change: Statement<'c>,
    park: Statement<'c>,
    unpark: Statement<'c>,
    heard: Statement<'c>,
    carry: Statement<'c>,
    idempotency: Statement<'c>,
    buffer: Vec<u8>,
    pub marks: Marks,
}

// === impl Statements ===

impl<'c> Statements<'c> {
    /// Prepares them all.
    pub fn new(connection: &'c Connection, marks: Marks) -> rusqlite::Result<Self> {
        let prepare = |sql: &str| connection.prepare(sql);
        Ok(Self {
            connection,
            begin: prepare("BEGIN IMMEDIATE")?,
            commit: prepare("COMMIT")?,
            savepoint: prepare("SAVEPOINT several")?,
            release: prepare("RELEASE several")?,
            // What fails ends the transaction: a copy of the pages before each statement would be in vain.
            msg: Insert::prepare(
                connection,
                "INSERT OR FAIL INTO msg(id, at, sender, queue, priority, due_at, expires_at, source,
                   destination, numbering, body)",
                11,
                "",
            )?,
            sent: Insert::prepare(
                connection,
                "INSERT INTO sent(id, at, operator, status, operator_message_id, latency_ms, bind, checksum)",
                8,
                "ON CONFLICT DO NOTHING",
            )?,
            same_sent: prepare(
                "SELECT 1 FROM attempts WHERE id=?1 AND at=?2 AND operator=?3 AND status=?4
                 AND operator_message_id=?5",
            )?,
            resent: prepare(
                "INSERT INTO resent(id, at, operator, status, operator_message_id, latency_ms, bind, checksum,
                   attempt) VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9) ON CONFLICT DO NOTHING",
            )?,
            retry: prepare(
                "INSERT INTO retry(id, due_at, attempts)
                 SELECT ?1,?2,?3 WHERE NOT EXISTS(SELECT 1 FROM fin WHERE id=?1)
                 ON CONFLICT(id) DO UPDATE SET due_at=excluded.due_at, attempts=excluded.attempts",
            )?,
            unretry: prepare("DELETE FROM retry WHERE id=?1")?,
            fin: Insert::prepare(
                connection,
                "INSERT INTO fin(id, at, state, error, operator, tell, done_at, checksum)",
                8,
                "ON CONFLICT DO NOTHING",
            )?,
            told: Insert::prepare(
                connection,
                "INSERT INTO told(id)",
                1,
                "ON CONFLICT DO NOTHING",
            )?,
            tries: prepare(
                "INSERT INTO tries(id, attempt, at, operator) VALUES(?1,?2,?3,?4) ON CONFLICT(id, attempt) DO UPDATE
                 SET at=excluded.at, operator=excluded.operator",
            )?,
            change: prepare(
                "INSERT INTO change(id, seq, at, kind, queue, by, expires_at, body, checksum) VALUES(?1,
                   (SELECT coalesce(max(seq),0)+1 FROM change WHERE id=?1),?2,?3,?4,?5,?6,?7,?8)",
            )?,
            park: prepare(
                "INSERT INTO parked(id, operator, operator_message_id, at, receipt, checksum)
                 VALUES(?1,?2,?3,?4,?5,?6)",
            )?,
            unpark: prepare("DELETE FROM parked WHERE id=?1")?,
            heard: prepare(
                "INSERT INTO heard(id, kind, at, operator, state, word, error, done_at, due)
                 VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9) ON CONFLICT(id, kind) DO UPDATE
                 SET at=excluded.at, operator=excluded.operator, state=excluded.state,
                   word=excluded.word, error=excluded.error, done_at=excluded.done_at, due=excluded.due",
            )?,
            carry: prepare("INSERT INTO carry(id) VALUES(?1) ON CONFLICT DO NOTHING")?,
            idempotency: prepare(
                "INSERT INTO idempotency(account, key, at, request, answer)
                 VALUES(?1,?2,?3,?4,?5)",
            )?,
            buffer: Vec::with_capacity(4096),
            marks,
        })
    }

    /// Opens the transaction.
    pub fn begin(&mut self) -> rusqlite::Result<()> {
        self.marks.undo.clear();
        self.marks.deleted = false;
        self.marks.lowest_accepted = None;
        self.marks.answered.clear();
        self.marks.ended.clear();
        self.begin.raw_execute().map(drop)
    }

    /// Makes it durable: returns after the fsync.
    pub fn commit(&mut self) -> rusqlite::Result<()> {
        if self.marks.deleted && self.marks.highest > self.marks.highest_saved {
            super::schema::set_meta(self.connection, "highest_id", self.marks.highest)?;
            self.marks.highest_saved = self.marks.highest;
        }
        self.commit.raw_execute().map(drop)
    }

    /// After part of a transaction was undone: `retrying` becomes a superset of the table again.
    pub fn forget_deletions(&mut self) {
        self.marks.retrying.extend(self.marks.undo.drain(..));
    }

    /// Undoes what was done since `begin`.
    pub fn rollback(&mut self) {
        self.forget_deletions();
        // A saved value may be undone; saving it again is harmless.
        self.marks.highest_saved = 0;
        if !self.connection.is_autocommit()
            && let Err(error) = self.connection.execute_batch("ROLLBACK")
        {
            tracing::error!(%error, "cannot roll back");
        }
    }

    pub fn accept(&mut self, messages: &[Message]) -> Result<(), RowError> {
        let (statement, buffer) = (&mut self.msg, &mut self.buffer);
        for group in groups(messages) {
            statement.write(group, |row, at, message| {
                bind_message(row, at, message, buffer)
            })?;
        }
        let marks = &mut self.marks;
        for message in messages {
            if message.id < marks.carry_below {
                bind(&mut self.carry, 1, key(message.id)?)?;
                self.carry.raw_execute()?;
            }
            marks.highest = marks.highest.max(message.id);
            let lowest = marks.lowest_accepted.unwrap_or(message.id);
            marks.lowest_accepted = Some(lowest.min(message.id));
        }
        Ok(())
    }

    /// Appends attempts. One whose number is taken gets the next free number (a late answer after
    /// a timeout): nothing is overwritten and no operator id is lost.
    pub fn sent(&mut self, rows: &[SentRow]) -> Result<(), RowError> {
        let is_first = |sent: &SentRow| sent.attempt <= 1;
        for group in groups(rows) {
            let are_alike = group.iter().all(is_first);
            for part in group.chunks(if are_alike { group.len() } else { 1 }) {
                let mut written = 0;
                if part.iter().all(is_first) {
                    written = self
                        .sent
                        .write(part, |row, at, sent| bind_sent(row, at, 1, sent))?;
                }
                // Some of these ids have a first attempt already: an attempt that is stored exactly so needs nothing.
                if written < part.len() {
                    part.iter().try_for_each(|sent| self.resent(sent))?;
                }
            }
            for sent in group.iter().filter(|sent| sent.status == 0) {
                self.unretry(sent.id)?;
            }
        }
        Ok(())
    }

    /// Appends an attempt that is not the first one, or not the first of that number, unless it is there.
    fn resent(&mut self, sent: &SentRow) -> Result<(), RowError> {
        if self.is_repeated(key(sent.id)?, sent)? {
            return Ok(());
        }
        let first = sent.attempt.max(2);
        for attempt in first..first.saturating_add(MAX_ATTEMPT_SHIFT) {
            bind_sent(&mut self.resent, 1, attempt, sent)?;
            bind(&mut self.resent, 9, attempt)?;
            if self.resent.raw_execute()? == 1 {
                return Ok(());
            }
        }
        let reason = format!("attempt {} and the next ones are taken", sent.attempt);
        Err(RowError::Row(reason))
    }

    /// Whether exactly this attempt is stored already, under any number.
    fn is_repeated(&mut self, id: i64, sent: &SentRow) -> Result<bool, RowError> {
        let values: [&dyn ToSql; 5] = [
            &id,
            &sent.at,
            &sent.operator,
            &sent.status,
            &Readable(&sent.operator_message_id),
        ];
        Ok(self.same_sent.exists(&values[..])?)
    }

    /// Sets when a message is due again; does nothing for a final one.
    pub fn retry(&mut self, retry: &RetryRow) -> Result<(), RowError> {
        bind(&mut self.retry, 1, key(retry.id)?)?;
        bind(&mut self.retry, 2, retry.due_at)?;
        bind(&mut self.retry, 3, retry.attempts)?;
        if self.retry.raw_execute()? > 0 {
            self.marks.retrying.insert(retry.id);
        }
        Ok(())
    }

    fn unretry(&mut self, id: u64) -> Result<(), RowError> {
        if self.marks.retrying.is_empty() || !self.marks.retrying.remove(&id) {
            return Ok(());
        }
        self.marks.undo.push(id);
        bind(&mut self.unretry, 1, id as i64)?;
        self.unretry.raw_execute()?;
        Ok(())
    }

    /// Writes final states; those of messages that were final already go to `lost`.
    pub fn fin(&mut self, rows: &[FinRow], lost: &mut Vec<u64>) -> Result<(), RowError> {
        for group in groups(rows) {
            if group.len() > 1 && self.fin_together(group)? {
                continue;
            }
            for fin in group {
                if self.fin.write(std::slice::from_ref(fin), bind_fin)? == 1 {
                    self.note_end(fin);
                } else {
                    lost.push(fin.id);
                }
                self.unretry(fin.id)?;
            }
        }
        Ok(())
    }

    /// False, and nothing is written, if some of these messages were final already: which ones cannot be told.
    fn fin_together(&mut self, group: &[FinRow]) -> Result<bool, RowError> {
        self.savepoint.raw_execute()?;
        let is_written = self.fin.write(group, bind_fin)? == group.len();
        if !is_written {
            self.connection.execute_batch("ROLLBACK TO several")?;
        }
        self.release.raw_execute()?;
        if is_written {
            for fin in group {
                self.note_end(fin);
                self.unretry(fin.id)?;
            }
        }
        Ok(is_written)
    }

    fn note_end(&mut self, fin: &FinRow) {
        let marks = &mut self.marks;
        if marks.has_readers {
            marks.first_end = if marks.ended.is_empty() {
                fin.at
            } else {
                marks.first_end.min(fin.at)
            };
            marks.ended.push(fin.id);
        }
    }

    pub fn told(&mut self, ids: &[u64]) -> Result<(), RowError> {
        for group in groups(ids) {
            self.told
                .write(group, |row, at, id| bind(row, at, key(*id)?))?;
        }
        Ok(())
    }

    pub fn tries(&mut self, tried: &TryRow) -> Result<(), RowError> {
        bind(&mut self.tries, 1, key(tried.id)?)?;
        bind(&mut self.tries, 2, tried.attempt)?;
        bind(&mut self.tries, 3, tried.at)?;
        bind(&mut self.tries, 4, tried.operator)?;
        self.tries.raw_execute()?;
        Ok(())
    }

    pub fn change(&mut self, change: &ChangeRow) -> Result<(), RowError> {
        check_size(change.by.len() + change.body.len())?;
        let (body, checksum) = close_change(change);
        let row = &mut self.change;
        bind(row, 1, key(change.id)?)?;
        bind(row, 2, change.at)?;
        bind(row, 3, change.kind as i64)?;
        bind(row, 4, change.queue)?;
        bind(row, 5, &change.by)?;
        bind(row, 6, change.expires_at)?;
        bind(row, 7, &body[..])?;
        bind(row, 8, checksum.map(|sum| sum as i32))?;
        row.raw_execute()?;
        Ok(())
    }

    pub fn park(&mut self, parked: &ParkedRow) -> Result<(), RowError> {
        check_size(parked.operator_message_id.len() + parked.receipt.len())?;
        let row = &mut self.park;
        bind(row, 1, key(parked.id)?)?;
        bind(row, 2, parked.operator)?;
        bind(row, 3, Readable(&parked.operator_message_id))?;
        bind(row, 4, parked.at)?;
        bind(row, 5, &parked.receipt[..])?;
        bind(row, 6, parked.sum() as i32)?;
        row.raw_execute()?;
        self.marks.highest = self.marks.highest.max(parked.id);
        Ok(())
    }

    pub fn unpark(&mut self, id: u64) -> Result<(), RowError> {
        bind(&mut self.unpark, 1, key(id)?)?;
        if self.unpark.raw_execute()? > 0 {
            self.marks.deleted = true;
        }
        Ok(())
    }

    /// Keeps what was heard of a message; the last of a kind stays.
    pub fn heard(&mut self, heard: &HeardRow) -> Result<(), RowError> {
        check_size(heard.word.len() + heard.error.len())?;
        let row = &mut self.heard;
        bind(row, 1, key(heard.id)?)?;
        bind(row, 2, heard.kind())?;
        bind(row, 3, heard.at)?;
        bind(row, 4, heard.operator)?;
        bind(row, 5, i32::from(heard.state))?;
        bind(row, 6, Readable(&heard.word))?;
        bind(row, 7, Readable(&heard.error))?;
        bind(row, 8, heard.done_at)?;
        bind(row, 9, heard.due)?;
        row.raw_execute()?;
        Ok(())
    }

    /// Appends the answer to a request.
    pub fn idempotency(&mut self, answered: &IdempotencyRow) -> Result<(), RowError> {
        check_size(answered.answer.len())?;
        let row = &mut self.idempotency;
        bind(row, 1, answered.account)?;
        bind(row, 2, &answered.key[..])?;
        bind(row, 3, answered.at)?;
        bind(row, 4, &answered.request[..])?;
        bind(row, 5, &answered.answer[..])?;
        row.raw_execute()?;
        let key = (answered.account, answered.key);
        let id = self.connection.last_insert_rowid();
        self.marks.answered.push((key, id));
        Ok(())
    }

    /// Quarantines a rejected row for inspection.
    pub fn quarantine(
        &mut self,
        table: &str,
        id: u64,
        reason: &str,
        row: &[u8],
    ) -> Result<(), rusqlite::Error> {
        let dead = DeadRow {
            at: clock::now_ms(),
            origin: table.to_owned(),
            id,
            reason: reason.to_owned(),
            row: row[..row.len().min(MAX_DEAD)].to_vec(),
        };
        let checksum = dead.sum() as i32;
        self.connection
            .prepare_cached(
                "INSERT INTO dead(at, origin, id, reason, row, checksum) VALUES(?1, ?2, ?3, ?4, ?5, ?6)",
            )?
            .execute(params![dead.at, dead.origin, id as i64, dead.reason, dead.row, checksum])?;
        Ok(())
    }
}

/// What is quarantined of a message: its protobuf encoding.
pub fn remains_of_message(message: &Message) -> Vec<u8> {
    message.encode_to_vec()
}

/// The key of a row: ids above `i64::MAX` would sort below zero.
fn key(id: u64) -> Result<i64, RowError> {
    i64::try_from(id)
        .ok()
        .filter(|&id| id > 0)
        .ok_or_else(|| RowError::Row(format!("id {id} is out of range")))
}

fn check_size(octets: usize) -> Result<(), RowError> {
    if octets > MAX_ROW {
        let reason = format!("row of {octets} octets, at most {MAX_ROW} are stored");
        return Err(RowError::Row(reason));
    }
    Ok(())
}

fn bind_message(
    row: &mut Statement<'_>,
    at: usize,
    message: &Message,
    buffer: &mut Vec<u8>,
) -> Result<(), RowError> {
    encode_body(message, buffer);
    check_size(buffer.len() + message.source.len() + message.destination.len())?;
    bind(row, at, key(message.id)?)?;
    bind(row, at + 1, message.accepted_at)?;
    bind(row, at + 2, message.sender)?;
    bind(row, at + 3, message.queue)?;
    bind(row, at + 4, message.priority)?;
    bind(row, at + 5, message.due_at)?;
    bind(row, at + 6, message.expires_at)?;
    bind(row, at + 7, Readable(&message.source))?;
    bind(row, at + 8, Readable(&message.destination))?;
    bind(row, at + 9, numbering(message))?;
    bind(row, at + 10, &*buffer)
}

/// The columns that `sent` and `resent` have, with the checksum of this number.
fn bind_sent(
    row: &mut Statement<'_>,
    at: usize,
    attempt: u32,
    sent: &SentRow,
) -> Result<(), RowError> {
    check_size(sent.operator_message_id.len())?;
    bind(row, at, key(sent.id)?)?;
    bind(row, at + 1, sent.at)?;
    bind(row, at + 2, sent.operator)?;
    bind(row, at + 3, sent.status)?;
    bind(row, at + 4, Readable(&sent.operator_message_id))?;
    bind(row, at + 5, sent.latency_ms)?;
    bind(row, at + 6, sent.bind as i64)?;
    bind(row, at + 7, (sent.sum() ^ sent.attempt ^ attempt) as i32)
}

fn bind_fin(row: &mut Statement<'_>, at: usize, fin: &FinRow) -> Result<(), RowError> {
    check_size(fin.error.len())?;
    bind(row, at, key(fin.id)?)?;
    bind(row, at + 1, fin.at)?;
    bind(row, at + 2, i32::from(fin.state))?;
    bind(row, at + 3, Readable(&fin.error))?;
    bind(row, at + 4, fin.operator)?;
    bind(row, at + 5, fin.tell)?;
    bind(row, at + 6, fin.done_at)?;
    bind(row, at + 7, fin.sum() as i32)
}

fn bind<T: ToSql>(statement: &mut Statement<'_>, index: usize, value: T) -> Result<(), RowError> {
    Ok(statement.raw_bind_parameter(index, value)?)
}

// === impl RowError ===

impl From<rusqlite::Error> for RowError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sql(error)
    }
}
