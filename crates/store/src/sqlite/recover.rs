//! Finds the active messages at start: one streaming merge over the tables, in id order.
//!
//! Called by `recover()` on the caller's thread with a connection of its own, and by the upkeep to
//! find what is still active below a new low-water mark. Guarantees that memory does not grow with
//! the backlog, and that nothing active is missed: first the ids in `carry` below the mark, then
//! everything from the mark on.
//!
//! A message is active without `fin`, or with a `fin` that requires a receipt and no `told`.

use bytes::Bytes;
use rusqlite::{Connection, Row, Rows, Statement};

use super::record::bytes_of;
use super::schema;
use crate::{Active, ActivePage, ChangeKind, SentRow, Stage};
use smsc_domain::partition;

/// Which messages are read.
#[derive(Debug, Clone, Copy)]
pub enum Range {
    /// Ids in `carry` from the first number up to the second, without it.
    Carried { from: u64, below: u64 },
    /// Ids from the first number up to the second, without it.
    Slice { from: u64, below: u64 },
}

/// Reads one row of a side table: its id and what the merge needs of it.
type Read<T> = fn(&Row<'_>) -> rusqlite::Result<T>;

/// A table next to `msg`, read in step with it.
struct Side<'s, T> {
    rows: Rows<'s>,
    read: Read<T>,
    /// The row that the cursor stands on; `None` at the end.
    id: Option<i64>,
    value: Option<T>,
}

/// An attempt as the merge needs it.
struct Attempt {
    number: u32,
    at: i64,
    operator: u32,
    status: u32,
    operator_message_id: Bytes,
}

/// Calls `each` for every active message, of one queue or all.
///
/// A message that owes its sender a receipt belongs to the queue of that receipt.
pub fn recover(
    connection: &Connection,
    queue: Option<u32>,
    each: &mut dyn FnMut(Active),
) -> rusqlite::Result<()> {
    let snapshot = connection.unchecked_transaction()?;
    let mark = schema::meta(&snapshot, "low_water")?;
    let ranges = [
        Range::Carried {
            from: 0,
            below: mark,
        },
        Range::Slice {
            from: mark,
            below: i64::MAX as u64,
        },
    ];
    for range in ranges {
        merge(&snapshot, range, usize::MAX, &mut |active| {
            let owner = match active.stage {
                Stage::Untold { tell, .. } => tell,
                _ => active.queue,
            };
            if queue.is_none_or(|queue| queue == owner) {
                each(active);
            }
        })?;
    }
    snapshot.finish()
}

/// A page of the active messages with these ids; reads `limit` messages at most, active or not.
pub fn page(
    connection: &Connection,
    ids: std::ops::Range<u64>,
    limit: usize,
) -> rusqlite::Result<ActivePage> {
    let snapshot = connection.unchecked_transaction()?;
    let mark = schema::meta(&snapshot, "low_water")?;
    // Ids are signed numbers there.
    let (from, end) = (ids.start, ids.end.min(i64::MAX as u64));
    let (range, below) = match from < mark {
        true => {
            let below = mark.min(end);
            (Range::Carried { from, below }, below)
        }
        false => (Range::Slice { from, below: end }, end),
    };
    let mut active = Vec::new();
    let next = merge(&snapshot, range, limit, &mut |one| active.push(one))?;
    snapshot.finish()?;
    // After what is carried comes what follows the mark.
    let next = next.or((below < end).then_some(below));
    Ok(ActivePage { active, next })
}

/// Calls `each` with the id of every message of a range and whether it is active.
///
/// Stops after `limit` messages; returns the id after the last one read, `None` at the end.
pub fn each_id(
    connection: &Connection,
    range: Range,
    limit: usize,
    each: &mut dyn FnMut(u64, bool),
) -> rusqlite::Result<Option<u64>> {
    let mut msg = range.prepare(connection, "msg", "t.id")?;
    let mut fin = range.prepare(connection, "fin", "t.id, t.tell")?;
    let mut told = range.prepare(connection, "told", "t.id")?;
    let mut fin = Side::open(&mut fin, range, |row| row.get::<_, u32>(1))?;
    let mut told = Side::open(&mut told, range, |_| Ok(()))?;
    each_row(&mut msg, range, limit, |id, _| {
        let active = match fin.take(id)? {
            None => true,
            Some(0) => false,
            Some(_) => told.take(id)?.is_none(),
        };
        each(id as u64, active);
        Ok(())
    })
}

/// Calls `each` with the id and the row of every message of a range; see [`each_id`] for `limit`.
fn each_row(
    msg: &mut Statement<'_>,
    range: Range,
    limit: usize,
    mut each: impl FnMut(i64, &Row<'_>) -> rusqlite::Result<()>,
) -> rusqlite::Result<Option<u64>> {
    let mut rows = msg.query(range.bounds())?;
    let mut seen = 0;
    while let Some(row) = rows.next()? {
        let id: i64 = row.get(0)?;
        if seen == limit {
            return Ok(Some(id as u64));
        }
        seen += 1;
        each(id, row)?;
    }
    Ok(None)
}

/// Calls `each` for the active messages of a range. Stops after `limit` messages, active or not;
/// returns the id after the last one read, `None` at the end.
fn merge(
    connection: &Connection,
    range: Range,
    limit: usize,
    each: &mut dyn FnMut(Active),
) -> rusqlite::Result<Option<u64>> {
    let prepare = |table, columns| range.prepare(connection, table, columns);
    let mut msg = prepare(
        "msg",
        "t.id, t.sender, t.queue, t.priority, t.due_at, t.expires_at",
    )?;
    let mut fin = prepare("fin", "t.id, t.tell, t.at")?;
    let mut told = prepare("told", "t.id")?;
    let mut retry = prepare("retry", "t.id, t.due_at, t.attempts")?;
    let mut sent = prepare(
        "sent",
        "t.id, 1, t.at, t.operator, t.status, t.operator_message_id",
    )?;
    let mut resent = prepare(
        "resent",
        "t.id, t.attempt, t.at, t.operator, t.status, t.operator_message_id",
    )?;
    let mut tries = prepare("tries", "t.id, t.attempt")?;
    let mut change = prepare(
        "change",
        "t.id, t.kind, t.queue, t.expires_at, ifnull(t.by = 'ended the session', 0)",
    )?;

    let mut fin = Side::open(&mut fin, range, |row| {
        Ok((row.get::<_, u32>(1)?, row.get::<_, i64>(2)?))
    })?;
    let mut told = Side::open(&mut told, range, |_| Ok(()))?;
    let mut retry = Side::open(&mut retry, range, |row| {
        Ok((row.get::<_, i64>(1)?, row.get::<_, u32>(2)?))
    })?;
    let mut sent = Side::open(&mut sent, range, read_attempt)?;
    let mut resent = Side::open(&mut resent, range, read_attempt)?;
    let mut tries = Side::open(&mut tries, range, |row| row.get::<_, u32>(1))?;
    let mut change = Side::open(&mut change, range, |row| {
        Ok((
            row.get::<_, i64>(1)?,
            row.get::<_, u32>(2)?,
            row.get::<_, i64>(3)?,
            row.get::<_, bool>(4)?,
        ))
    })?;

    let mut settled: Vec<u32> = Vec::new();
    // The queues of which it has ended sessions.
    let mut ended: Vec<u32> = Vec::new();
    each_row(&mut msg, range, limit, |id, row| {
        let tell = match fin.take(id)? {
            Some((0, _)) => return Ok(()),
            Some(_) if told.take(id)?.is_some() => return Ok(()),
            tell => tell,
        };
        let mut active = read_waiting(row)?;
        ended.clear();
        while let Some((kind, queue, expires_at, has_ended)) = change.take(id)? {
            if kind == ChangeKind::Retry as i64 && has_ended {
                ended.push(queue);
            } else if kind == ChangeKind::Move as i64 {
                active.queue = queue;
            } else if kind == ChangeKind::Replace as i64 {
                active.expires_at = expires_at;
            }
        }
        if let Some((due_at, attempts)) = retry.take(id)? {
            (active.due_at, active.attempts) = (due_at, attempts);
        }
        settled.clear();
        let mut ids = Vec::new();
        let mut handed_over = i64::MIN;
        while let Some(attempt) = match sent.take(id)? {
            Some(first) => Some(first),
            None => resent.take(id)?,
        } {
            // One without an answer is as unsure as one without a row.
            if attempt.status != SentRow::NO_ANSWER {
                settled.push(attempt.number);
            }
            active.attempts = active.attempts.max(attempt.number);
            if attempt.status == 0 {
                handed_over = handed_over.max(attempt.at);
                ids.push((attempt.operator, attempt.operator_message_id));
            }
        }
        let mut unsure = false;
        while let Some(number) = tries.take(id)? {
            unsure |= !settled.contains(&number);
        }
        let owner = tell.map_or(active.queue, |(tell, _)| tell);
        active.ended = ended.iter().filter(|queue| **queue == owner).count() as u32;
        active.stage = match tell {
            Some((tell, at)) => Stage::Untold { tell, at },
            None if !ids.is_empty() => Stage::Sent {
                at: handed_over,
                ids,
            },
            None if unsure => Stage::OutcomeUnknown,
            None => Stage::Waiting,
        };
        each(active);
        Ok(())
    })
}

/// A message as it was accepted.
fn read_waiting(row: &Row<'_>) -> rusqlite::Result<Active> {
    Ok(Active {
        id: row.get::<_, i64>(0)? as u64,
        sender: row.get(1)?,
        queue: row.get(2)?,
        part: partition::WHOLE,
        priority: row.get(3)?,
        due_at: row.get(4)?,
        expires_at: row.get(5)?,
        attempts: 0,
        ended: 0,
        stage: Stage::Waiting,
    })
}

fn read_attempt(row: &Row<'_>) -> rusqlite::Result<Attempt> {
    let status = row.get(4)?;
    Ok(Attempt {
        number: row.get(1)?,
        at: row.get(2)?,
        operator: row.get(3)?,
        status,
        operator_message_id: if status == 0 {
            bytes_of(row.get_ref(5)?)
        } else {
            Bytes::new()
        },
    })
}

// === impl Range ===

impl Range {
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
            Self::Slice { .. } => format!(
                "SELECT {columns} FROM {table} t WHERE t.id >= ?1 AND t.id < ?2 ORDER BY {order}"
            ),
        })
    }

    fn bounds(self) -> [i64; 2] {
        match self {
            Self::Carried { from, below } => [from as i64, below as i64],
            Self::Slice { from, below } => [from as i64, below as i64],
        }
    }
}

// === impl Side ===

impl<'s, T> Side<'s, T> {
    fn open(
        statement: &'s mut Statement<'_>,
        range: Range,
        read: Read<T>,
    ) -> rusqlite::Result<Self> {
        let mut side = Self {
            rows: statement.query(range.bounds())?,
            read,
            id: None,
            value: None,
        };
        side.advance(i64::MIN)?;
        Ok(side)
    }

    /// Moves to the next row with an id of at least `wanted`.
    fn advance(&mut self, wanted: i64) -> rusqlite::Result<()> {
        loop {
            let Some(row) = self.rows.next()? else {
                (self.id, self.value) = (None, None);
                return Ok(());
            };
            let id: i64 = row.get(0)?;
            if id >= wanted {
                self.value = Some((self.read)(row)?);
                self.id = Some(id);
                return Ok(());
            }
        }
    }

    /// The next row of this id, if there is one left. Ids are requested in ascending order.
    fn take(&mut self, id: i64) -> rusqlite::Result<Option<T>> {
        if self.id.is_some_and(|at| at < id) {
            self.advance(id)?;
        }
        if self.id != Some(id) {
            return Ok(None);
        }
        let value = self.value.take();
        self.advance(i64::MIN)?;
        Ok(value)
    }
}
