//! Finds the active messages at start: one streaming merge over the tables, in id order.
//!
//! Called by `recover()` on the caller's thread with a connection of its own, and by the upkeep to
//! find what is still active below a new low-water mark. Guarantees that memory does not grow with
//! the backlog, and that nothing active is missed: first the ids in `carry` below the mark, then
//! everything from the mark on.
//!
//! A message is active without `fin`, or with a `fin` that requires a receipt and no `told`.

use bytes::Bytes;
use rusqlite::{Connection, OptionalExtension as _, Row, Statement};

use super::in_order::{RowsInOrder, page_before};
use super::record::{Sound, key_of, read_change, read_fin, read_first, read_sent, sound};
use super::schema;
use crate::damage::{DamageLog, DamagedRow};
use crate::failed::ENDED_SESSION;
use crate::{Active, ActivePage, ChangeKind, MessageStage, SentRow, TryRow};
use smsc_domain::partition;

/// Messages of which one has a damaged row that names none of them, at most: with more, none of them is held for it.
const SUSPECTS: i64 = 100;

/// Which messages are read.
#[derive(Debug, Clone, Copy)]
pub enum MessageRange {
    /// Ids in `carry` from the first number up to the second, without it.
    Carried { from: u64, below: u64 },
    /// Ids from the first number up to the second, without it.
    Slice { from: u64, below: u64 },
}

/// A table next to `msg`, read in step with it.
struct SideTable<'s, T> {
    reading: ActiveReading<'s>,
    table: &'static str,
    rows: RowsInOrder<'s, T>,
    /// The last gap that was looked at, and whether few messages are in it.
    gap: Option<((u64, u64), bool)>,
    /// The id of a damaged row, and whether there is such a message.
    damaged: Option<(u64, bool)>,
    /// The last message that was taken for one with such a row.
    suspected: u64,
}

/// The attempts of a message as the merge needs them.
#[derive(Default)]
struct Tried {
    /// The highest number.
    attempts: u32,
    /// Numbers with an answer.
    settled: Vec<u32>,
    /// When the last answer was ESME_ROK, and the operators' ids of all such.
    handed_over: i64,
    ids: Vec<(u32, Bytes)>,
}

/// The tables of one database, and where damage is noted.
#[derive(Clone, Copy)]
pub struct ActiveReading<'c> {
    pub connection: &'c Connection,
    pub damage: &'c DamageLog,
}

/// Calls `each` for every active message, of one queue or all.
///
/// A message that owes its sender a receipt belongs to the queue of that receipt.
pub fn recover(
    reading: ActiveReading<'_>,
    queue: Option<u32>,
    each: &mut dyn FnMut(Active),
) -> rusqlite::Result<()> {
    let snapshot = reading.connection.unchecked_transaction()?;
    let mark = schema::meta(&snapshot, "low_water")?;
    let ranges = [
        MessageRange::Carried {
            from: 0,
            below: mark,
        },
        MessageRange::Slice {
            from: mark,
            below: i64::MAX as u64,
        },
    ];
    for range in ranges {
        merge(reading, range, usize::MAX, &mut |active| {
            if queue.is_none_or(|queue| queue == active.owner()) {
                each(active);
            }
        })?;
    }
    snapshot.finish()
}

/// A page of the active messages with these ids; reads `limit` messages at most, active or not.
pub fn page(
    reading: ActiveReading<'_>,
    ids: std::ops::Range<u64>,
    limit: usize,
) -> rusqlite::Result<ActivePage> {
    let snapshot = reading.connection.unchecked_transaction()?;
    let mark = schema::meta(&snapshot, "low_water")?;
    // Ids are signed numbers there.
    let (from, end) = (ids.start, ids.end.min(i64::MAX as u64));
    let (range, below) = if from < mark {
        let below = mark.min(end);
        (MessageRange::Carried { from, below }, below)
    } else {
        (MessageRange::Slice { from, below: end }, end)
    };
    let mut active = Vec::new();
    let next = merge(reading, range, limit, &mut |one| active.push(one))?;
    snapshot.finish()?;
    // After what is carried comes what follows the mark.
    let next = next.or((below < end).then_some(below));
    Ok(ActivePage { active, next })
}

/// Calls `each` with the id of every message of a range and whether it is active.
///
/// Stops after `limit` messages; returns the id after the last one read, `None` at the end.
pub fn each_id(
    reading: ActiveReading<'_>,
    range: MessageRange,
    limit: usize,
    each: &mut dyn FnMut(u64, bool),
) -> rusqlite::Result<Option<u64>> {
    let mut msg = (range.of(reading, "msg")?).prepare(reading.connection, "msg", "t.id")?;
    let mut fin = range.prepare(reading.connection, "fin", "t.id, t.tell")?;
    let mut told = range.prepare(reading.connection, "told", "t.id")?;
    // One that is no number may be owed: it is active rather than forgotten.
    let tell = |row: &Row<'_>| Ok(Ok(row.get::<_, u32>(1).unwrap_or(1)));
    let mut fin = SideTable::open(reading, &mut fin, range, "fin", tell)?;
    let mut told = SideTable::open(reading, &mut told, range, "told", nothing)?;
    each_row(reading, &mut msg, range, limit, nothing, |id, _| {
        let active = match fin.take(id)? {
            None => true,
            Some(Ok(0)) => false,
            Some(_) => told.take(id)?.is_none(),
        };
        each(id, active);
        Ok(())
    })
}

/// Reads no more than the id.
fn nothing(_: &Row<'_>) -> Sound<()> {
    Ok(Ok(()))
}

/// Calls `each` with the id and the row of every message of a range; see [`each_id`] for `limit`.
fn each_row<T>(
    reading: ActiveReading<'_>,
    msg: &mut Statement<'_>,
    range: MessageRange,
    limit: usize,
    read: fn(&Row<'_>) -> Sound<T>,
    mut each: impl FnMut(u64, Result<T, DamagedRow>) -> rusqlite::Result<()>,
) -> rusqlite::Result<Option<u64>> {
    let of = range.of(reading, "msg")?;
    let mut rows = of.query(reading, "msg", msg, read)?;
    let mut carried = reading
        .connection
        .prepare("SELECT 1 FROM carry WHERE id = ?1")?;
    let is_narrower = range.is_carried() && !of.is_carried();
    let mut seen = 0;
    while let Some((id, row)) = rows.next()? {
        if id < range.first() || is_narrower && !carried.exists([id as i64])? {
            continue;
        }
        if seen == limit {
            return Ok(Some(id));
        }
        seen += 1;
        each(id, row)?;
    }
    Ok(None)
}

/// Calls `each` for the active messages of a range. Stops after `limit` messages, active or not;
/// returns the id after the last one read, `None` at the end.
///
/// A message with a damaged row that has not ended is noted and left out, and one with a damaged end has ended.
fn merge(
    reading: ActiveReading<'_>,
    range: MessageRange,
    limit: usize,
    each: &mut dyn FnMut(Active),
) -> rusqlite::Result<Option<u64>> {
    let of = |table| range.of(reading, table);
    let prepare = |table, columns| of(table)?.prepare(reading.connection, table, columns);
    let mut msg = prepare(
        "msg",
        "t.id, t.sender, t.queue, t.priority, t.due_at, t.expires_at",
    )?;
    let mut fin = prepare("fin", "t.*")?;
    let mut told = prepare("told", "t.id")?;
    let mut retry = prepare("retry", "t.id, t.due_at, t.attempts")?;
    let mut sent = prepare("sent", "t.*")?;
    let mut resent = prepare("resent", "t.*")?;
    let mut tries = prepare("tries", "t.id, t.attempt, t.at")?;
    let mut change = prepare("change", "t.*")?;

    let mut fin = SideTable::open(reading, &mut fin, of("fin")?, "fin", read_fin)?;
    let mut told = SideTable::open(reading, &mut told, range, "told", nothing)?;
    let mut retry = SideTable::open(reading, &mut retry, range, "retry", |row| {
        let retry = |row: &Row<'_>| Ok((row.get::<_, i64>(1)?, row.get::<_, u32>(2)?));
        sound("retry", row, retry)
    })?;
    let mut sent = SideTable::open(reading, &mut sent, of("sent")?, "sent", read_first)?;
    let mut resent = SideTable::open(reading, &mut resent, of("resent")?, "resent", read_sent)?;
    let mut tries = SideTable::open(reading, &mut tries, range, "tries", |row| {
        let noted = |row: &Row<'_>| Ok((row.get::<_, u32>(1)?, row.get::<_, i64>(2)?));
        sound("tries", row, noted)
    })?;
    let mut change = SideTable::open(reading, &mut change, of("change")?, "change", read_change)?;

    // The queues of which it has ended sessions.
    let mut ended: Vec<u32> = Vec::new();
    each_row(reading, &mut msg, range, limit, read_waiting, |id, row| {
        let tell = match fin.take(id)? {
            None => None,
            Some(Ok(fin)) if fin.tell == 0 => return Ok(()),
            Some(Ok(_)) if told.take(id)?.is_some() => return Ok(()),
            Some(Ok(fin)) => Some((fin.tell, fin.at)),
            Some(Err(row)) => {
                reading.damage.note(row);
                return Ok(());
            }
        };
        let mut damaged = Vec::new();
        let mut active = row.map_err(|row| damaged.push(row)).ok();
        ended.clear();
        while let Some(row) = change.take(id)? {
            match (row, &mut active) {
                (Ok(change), Some(active)) => match change.kind {
                    ChangeKind::Retry if change.by == ENDED_SESSION => ended.push(change.queue),
                    ChangeKind::Move => active.queue = change.queue,
                    ChangeKind::Replace => active.expires_at = change.expires_at,
                    _ => {}
                },
                (row, _) => damaged.extend(row.err()),
            }
        }
        let retry = retry
            .take(id)?
            .map(|row| row.map_err(|row| reading.damage.note(row)));
        let mut tried = Tried::default();
        while let Some(row) = match sent.take(id)? {
            Some(first) => Some(first),
            None => resent.take(id)?,
        } {
            match row {
                Ok(attempt) => tried.add(attempt),
                Err(row) => damaged.push(row),
            }
        }
        let mut unsure = false;
        while let Some(noted) = tries.take(id)? {
            unsure |= !noted.is_ok_and(|(number, at)| {
                at == TryRow::NOT_MADE || tried.settled.contains(&number)
            });
        }
        let is_damaged = !damaged.is_empty() && tell.is_none();
        for row in damaged {
            reading.damage.note(row);
        }
        let Some(mut active) = active.filter(|_| !is_damaged) else {
            return Ok(());
        };
        if let Some(Ok((due_at, attempts))) = retry {
            (active.due_at, active.attempts) = (due_at, attempts);
        }
        active.attempts = active.attempts.max(tried.attempts);
        active.stage = match tell {
            Some((tell, at)) => MessageStage::Untold { tell, at },
            None if !tried.ids.is_empty() => MessageStage::Sent {
                at: tried.handed_over,
                ids: tried.ids,
            },
            None if unsure => MessageStage::OutcomeUnknown,
            None => MessageStage::Waiting,
        };
        let owner = active.owner();
        active.ended = ended.iter().filter(|queue| **queue == owner).count() as u32;
        each(active);
        Ok(())
    })
}

/// A message as it was accepted. Its checksum is looked at when it is loaded: that takes the blob.
fn read_waiting(row: &Row<'_>) -> Sound<Active> {
    sound("msg", row, |row| {
        Ok(Active {
            id: key_of(row)?,
            sender: row.get(1)?,
            queue: row.get(2)?,
            part: partition::WHOLE,
            priority: row.get(3)?,
            due_at: row.get(4)?,
            expires_at: row.get(5)?,
            attempts: 0,
            ended: 0,
            stage: MessageStage::Waiting,
        })
    })
}

// === impl ActiveReading ===

impl<'c> ActiveReading<'c> {
    pub fn new(connection: &'c Connection, damage: &'c DamageLog) -> Self {
        Self { connection, damage }
    }
}

// === impl Tried ===

impl Tried {
    fn add(&mut self, attempt: SentRow) {
        // One without an answer is as unsure as one without a row.
        if attempt.status != SentRow::NO_ANSWER {
            self.settled.push(attempt.attempt);
        }
        self.attempts = self.attempts.max(attempt.attempt);
        if attempt.status == 0 {
            self.handed_over = self.handed_over.max(attempt.at);
            (self.ids).push((attempt.operator, attempt.operator_message_id));
        }
    }
}

// === impl MessageRange ===

impl MessageRange {
    /// A table's rows of this range, in the order of its key.
    fn prepare<'c>(
        self,
        connection: &'c Connection,
        table: &str,
        columns: &str,
    ) -> rusqlite::Result<Statement<'c>> {
        let order = match table {
            "resent" | "tries" => "t.id, t.attempt",
            "change" => "t.id, t.seq",
            _ => "t.id",
        };
        connection.prepare(&match self {
            // CROSS JOIN keeps the planner from turning the loops around; EXISTS, evaluated once,
            // saves a seek per id into a table that is empty.
            Self::Carried { .. } => format!(
                "SELECT {columns} FROM carry c CROSS JOIN {table} t ON t.id = c.id
                 WHERE EXISTS(SELECT 1 FROM {table}) AND c.id >= ?1 AND c.id < ?2 ORDER BY {}",
                order.replacen("t.id", "c.id", 1)
            ),
            // Without an upper bound: a damaged id would be one too early.
            Self::Slice { .. } => {
                format!("SELECT {columns} FROM {table} t WHERE t.id >= ?1 ORDER BY {order}")
            }
        })
    }

    /// The rows of a table that are read for this range: where they are not found by their ids, all from the first one on.
    fn of(self, reading: ActiveReading<'_>, table: &str) -> rusqlite::Result<Self> {
        let (from, below) = match self {
            Self::Carried { from, below } if reading.damage.is_astray(table) => (from, below),
            other => return Ok(other),
        };
        let first = "SELECT id FROM carry WHERE id >= ?1 ORDER BY id LIMIT 1";
        let first = reading
            .connection
            .query_row(first, [from as i64], |row| row.get::<_, i64>(0))
            .optional()?;
        let from = first.map_or(below, |first| first as u64);
        Ok(Self::Slice { from, below })
    }

    fn is_carried(self) -> bool {
        matches!(self, Self::Carried { .. })
    }

    fn first(self) -> u64 {
        match self {
            Self::Carried { from, .. } | Self::Slice { from, .. } => from,
        }
    }

    /// Rows of a statement that was [prepared](Self::prepare) for this range.
    fn query<'s, T>(
        self,
        reading: ActiveReading<'s>,
        table: &'static str,
        statement: &'s mut Statement<'_>,
        read: fn(&Row<'_>) -> Sound<T>,
    ) -> rusqlite::Result<RowsInOrder<'s, T>> {
        let (rows, upto) = match self {
            Self::Carried { from, below } => {
                (statement.query([from as i64, below as i64])?, u64::MAX)
            }
            Self::Slice { from, below } => {
                let from = page_before(reading.connection, table, from as i64)?;
                (statement.query([from])?, below.saturating_sub(1))
            }
        };
        RowsInOrder::new(table, rows, read, reading.damage, upto)
    }
}

// === impl SideTable ===

impl<'s, T> SideTable<'s, T> {
    fn open(
        reading: ActiveReading<'s>,
        statement: &'s mut Statement<'_>,
        range: MessageRange,
        table: &'static str,
        read: fn(&Row<'_>) -> Sound<T>,
    ) -> rusqlite::Result<Self> {
        Ok(Self {
            reading,
            table,
            rows: range.query(reading, table, statement, read)?,
            gap: None,
            damaged: None,
            suspected: 0,
        })
    }

    /// The next row of this id, if there is one left. Ids are requested in ascending order.
    ///
    /// A damaged row that names no message is of one between its neighbours: while these are few, each of them that has no
    /// row here has that one.
    fn take(&mut self, id: u64) -> rusqlite::Result<Option<Result<T, DamagedRow>>> {
        while let Some((at, is_damaged)) = self.rows.peek() {
            if is_damaged && at != id && !self.is_message(at)? {
                self.rows.leave_out()?;
            } else if at > id {
                break;
            } else if let Some((at, row)) = self.rows.next()? {
                match row {
                    row if at == id => return Ok(Some(row)),
                    // Of a message that has ended, of which nobody else says so.
                    Err(row) => self.reading.damage.note(row),
                    Ok(_) => {}
                }
            }
        }
        if self.suspected == id || !self.is_suspect(id)? {
            return Ok(None);
        }
        self.suspected = id;
        let why = "a row cannot be read that may be about this message";
        Ok(Some(Err(DamagedRow::new(self.table, id, why))))
    }

    fn is_message(&mut self, id: u64) -> rusqlite::Result<bool> {
        if let Some((_, known)) = self.damaged.filter(|(known, _)| *known == id) {
            return Ok(known);
        }
        let connection = self.reading.connection;
        let mut known = connection.prepare_cached("SELECT 1 FROM msg WHERE id = ?1")?;
        let is_there = known.exists([id as i64])?;
        self.damaged = Some((id, is_there));
        Ok(is_there)
    }

    /// Whether a row that was left out may be of this message.
    fn is_suspect(&mut self, id: u64) -> rusqlite::Result<bool> {
        let Some(gap) = self.rows.gap().filter(|gap| gap.0 < id && id < gap.1) else {
            return Ok(false);
        };
        if let Some((_, is_narrow)) = self.gap.filter(|(known, _)| *known == gap) {
            return Ok(is_narrow);
        }
        let between = (gap.0 as i64, crate::signed(gap.1), SUSPECTS + 1);
        let sql = "SELECT count(*) FROM (SELECT 1 FROM msg WHERE id > ?1 AND id < ?2 LIMIT ?3)";
        let mut few = self.reading.connection.prepare_cached(sql)?;
        let count: i64 = few.query_row(between, |row| row.get(0))?;
        self.gap = Some((gap, count <= SUSPECTS));
        Ok(count <= SUSPECTS)
    }
}
