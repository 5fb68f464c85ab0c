//! The statements of the writer: one row in, one row written.
//!
//! Owned by the writer thread for as long as its connection; guarantees that each statement is
//! prepared once, that rows are inserted and never changed (except `retry`, where the last one
//! wins), and that no message is both final and in `retry`.

use ahash::AHashSet;
use prost::Message as _;
use rusqlite::{Connection, Statement, ToSql, params};

use super::asides;
use super::idempotency::IdempotencyKey;
use super::reader;
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
        Ok(Self {
            carry_below: schema::meta(connection, "low_water")?,
            highest: asides::highest_id(connection)?,
            highest_saved: schema::meta(connection, "highest_id")?,
            retrying: reader::ids(connection, "SELECT id FROM retry", [])?,
            ..Self::default()
        })
    }
}

/// Prepared statements and the buffer that messages are encoded into.
pub struct Statements<'c> {
    connection: &'c Connection,
    begin: Statement<'c>,
    commit: Statement<'c>,
    msg: Statement<'c>,
    sent: Statement<'c>,
    same_sent: Statement<'c>,
    resent: Statement<'c>,
    retry: Statement<'c>,
    unretry: Statement<'c>,
    fin: Statement<'c>,
    told: Statement<'c>,
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
            msg: prepare(
                "INSERT INTO msg(id, at, sender, queue, priority, due_at, expires_at, source,
                   destination, numbering, body) VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11)",
            )?,
            sent: prepare(
                "INSERT INTO sent(id, at, operator, status, operator_message_id, latency_ms, bind,
                   checksum) VALUES(?1,?3,?4,?5,?6,?7,?8,?9) ON CONFLICT DO NOTHING",
            )?,
            same_sent: prepare(
                "SELECT 1 FROM attempts WHERE id=?1 AND at=?2 AND operator=?3 AND status=?4
                 AND operator_message_id=?5",
            )?,
            resent: prepare(
                "INSERT INTO resent(id, attempt, at, operator, status, operator_message_id, latency_ms,
                   bind, checksum) VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9) ON CONFLICT DO NOTHING",
            )?,
            retry: prepare(
                "INSERT INTO retry(id, due_at, attempts)
                 SELECT ?1,?2,?3 WHERE NOT EXISTS(SELECT 1 FROM fin WHERE id=?1)
                 ON CONFLICT(id) DO UPDATE SET due_at=excluded.due_at, attempts=excluded.attempts",
            )?,
            unretry: prepare("DELETE FROM retry WHERE id=?1")?,
            fin: prepare(
                "INSERT INTO fin(id, at, state, error, operator, tell, done_at, checksum)
                 VALUES(?1,?2,?3,?4,?5,?6,?7,?8) ON CONFLICT(id) DO NOTHING",
            )?,
            told: prepare("INSERT INTO told(id) VALUES(?1) ON CONFLICT DO NOTHING")?,
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

    pub fn accept(&mut self, message: &Message) -> Result<(), RowError> {
        let id = key(message.id)?;
        encode_body(message, &mut self.buffer);
        let size = self.buffer.len() + message.source.len() + message.destination.len();
        check_size(size)?;
        let row = &mut self.msg;
        bind(row, 1, id)?;
        bind(row, 2, message.accepted_at)?;
        bind(row, 3, message.sender)?;
        bind(row, 4, message.queue)?;
        bind(row, 5, message.priority)?;
        bind(row, 6, message.due_at)?;
        bind(row, 7, message.expires_at)?;
        bind(row, 8, Readable(&message.source))?;
        bind(row, 9, Readable(&message.destination))?;
        bind(row, 10, numbering(message))?;
        bind(row, 11, &self.buffer)?;
        row.raw_execute()?;
        let marks = &mut self.marks;
        if message.id < marks.carry_below {
            bind(&mut self.carry, 1, id)?;
            self.carry.raw_execute()?;
        }
        marks.highest = marks.highest.max(message.id);
        let lowest = marks.lowest_accepted.unwrap_or(message.id);
        marks.lowest_accepted = Some(lowest.min(message.id));
        Ok(())
    }

    /// Appends an attempt. One whose number is taken gets the next free number (a late answer after
    /// a timeout): nothing is overwritten and no operator id is lost.
    pub fn sent(&mut self, sent: &SentRow) -> Result<(), RowError> {
        let id = key(sent.id)?;
        check_size(sent.operator_message_id.len())?;
        let written = sent.attempt <= 1 && self.put_sent(false, id, 1, sent)?;
        if !written && !self.is_repeated(id, sent)? {
            let first = sent.attempt.max(2);
            let mut attempt = first;
            while !self.put_sent(true, id, attempt, sent)? {
                attempt = attempt.saturating_add(1);
                if attempt - first >= MAX_ATTEMPT_SHIFT {
                    let reason = format!("attempt {} and the next ones are taken", sent.attempt);
                    return Err(RowError::Row(reason));
                }
            }
        }
        if sent.status == 0 {
            self.unretry(sent.id)?;
        }
        Ok(())
    }

    fn put_sent(
        &mut self,
        again: bool,
        id: i64,
        attempt: u32,
        sent: &SentRow,
    ) -> Result<bool, RowError> {
        let row = if again {
            &mut self.resent
        } else {
            &mut self.sent
        };
        bind(row, 1, id)?;
        bind(row, 2, attempt)?;
        bind(row, 3, sent.at)?;
        bind(row, 4, sent.operator)?;
        bind(row, 5, sent.status)?;
        bind(row, 6, Readable(&sent.operator_message_id))?;
        bind(row, 7, sent.latency_ms)?;
        bind(row, 8, sent.bind as i64)?;
        bind(row, 9, (sent.sum() ^ sent.attempt ^ attempt) as i32)?;
        Ok(row.raw_execute()? == 1)
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

    /// True when the row won, false when the message was final already.
    pub fn fin(&mut self, fin: &FinRow) -> Result<bool, RowError> {
        check_size(fin.error.len())?;
        let row = &mut self.fin;
        bind(row, 1, key(fin.id)?)?;
        bind(row, 2, fin.at)?;
        bind(row, 3, i32::from(fin.state))?;
        bind(row, 4, Readable(&fin.error))?;
        bind(row, 5, fin.operator)?;
        bind(row, 6, fin.tell)?;
        bind(row, 7, fin.done_at)?;
        bind(row, 8, fin.sum() as i32)?;
        let won = row.raw_execute()? == 1;
        self.unretry(fin.id)?;
        let marks = &mut self.marks;
        if won && marks.has_readers {
            marks.first_end = if marks.ended.is_empty() {
                fin.at
            } else {
                marks.first_end.min(fin.at)
            };
            marks.ended.push(fin.id);
        }
        Ok(won)
    }

    pub fn told(&mut self, id: u64) -> Result<(), RowError> {
        bind(&mut self.told, 1, key(id)?)?;
        self.told.raw_execute()?;
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

fn bind<T: ToSql>(statement: &mut Statement<'_>, index: usize, value: T) -> Result<(), RowError> {
    Ok(statement.raw_bind_parameter(index, value)?)
}

// === impl RowError ===

impl From<rusqlite::Error> for RowError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sql(error)
    }
}
