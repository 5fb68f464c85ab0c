//! Rows of a table in the order of their ids, as far as these are in order.
//!
//! Used by readers that go through several tables in step. Guarantees ascending ids: one damaged id, which would take all
//! tables beyond the rows that follow it, is noted and left out. It is told from its neighbours by the row behind it.

use rusqlite::{Connection, OptionalExtension as _, Row, Rows};

use super::record::{Sound, key_of};
use crate::damage::{DamageLog, DamagedRow};

/// A cursor over the rows of a table, whose first column is the id.
pub struct RowsInOrder<'s, T> {
    table: &'static str,
    rows: Rows<'s>,
    read: fn(&Row<'_>) -> Sound<T>,
    damage: &'s DamageLog,
    /// Rows with higher ids are not wanted.
    upto: u64,
    /// The id of the row that was given last.
    last: u64,
    /// The next row, which is in order.
    ready: Option<NumberedRow<T>>,
    /// The one that follows it in the table.
    behind: Option<NumberedRow<T>>,
    /// The rows around the last one that was left out: it is of a message between them.
    gap: Option<(u64, u64)>,
}

/// More rows than a page has of any table.
pub const PAGE_ROWS: u32 = 500;

/// A row with its id.
pub type NumberedRow<T> = (u64, Result<T, DamagedRow>);

// === impl RowsInOrder ===

impl<'s, T> RowsInOrder<'s, T> {
    /// Rows of a statement that orders them by id.
    pub fn new(
        table: &'static str,
        rows: Rows<'s>,
        read: fn(&Row<'_>) -> Sound<T>,
        damage: &'s DamageLog,
        upto: u64,
    ) -> rusqlite::Result<Self> {
        let mut all = Self {
            table,
            rows,
            read,
            damage,
            upto,
            last: 0,
            ready: None,
            behind: None,
            gap: None,
        };
        all.behind = all.fetch(0)?;
        all.settle()?;
        Ok(all)
    }

    /// The next row of the table that is wanted, behind the one with this id.
    fn fetch(&mut self, before: u64) -> rusqlite::Result<Option<NumberedRow<T>>> {
        let mut beyond = None;
        while let Some(row) = self.rows.next()? {
            let id = key_of(row)?;
            // One may have a wrong id; behind a second one nothing is wanted.
            if id > self.upto && beyond.is_some() {
                break;
            }
            let read = (self.read)(row)?;
            // Of a damaged row it may be known which message it is of, in spite of what it says.
            let id = read.as_ref().map_or_else(|row| row.id, |_| id);
            if id > self.upto {
                beyond = Some(id);
                continue;
            }
            if let Some(wrong) = beyond {
                note_disorder(self.damage, self.table, wrong);
                self.gap = Some((before, id));
            }
            return Ok(Some((id, read)));
        }
        Ok(None)
    }

    /// Finds the next row that is in order.
    fn settle(&mut self) -> rusqlite::Result<()> {
        let mut leaves_out = false;
        while let Some(one) = self.behind.take() {
            let id = one.0;
            self.behind = self.fetch(id)?;
            // With the row before, the one behind says which of the two is wrong.
            let behind = self.behind.as_ref().map(|one| one.0);
            let is_too_high = behind.is_some_and(|behind| behind >= self.last && behind < id);
            if id >= self.last && !is_too_high {
                self.ready = Some(one);
                break;
            }
            note_disorder(self.damage, self.table, id);
            leaves_out = true;
        }
        if leaves_out {
            self.gap = Some((self.last, self.peek().map_or(u64::MAX, |(id, _)| id)));
        }
        Ok(())
    }

    /// Notes the next row, which is damaged, and leaves it out: there is no such message.
    pub fn leave_out(&mut self) -> rusqlite::Result<()> {
        if let Some((_, Err(row))) = self.ready.take() {
            self.damage.note(row);
        }
        self.settle()?;
        self.gap = Some((self.last, self.peek().map_or(u64::MAX, |(id, _)| id)));
        Ok(())
    }

    /// Between which messages the last row was that was left out.
    pub fn gap(&self) -> Option<(u64, u64)> {
        self.gap
    }

    /// The next row.
    pub fn next(&mut self) -> rusqlite::Result<Option<NumberedRow<T>>> {
        let Some(one) = self.ready.take() else {
            return Ok(None);
        };
        self.last = one.0;
        self.settle()?;
        Ok(Some(one))
    }

    /// The id of the next row, and whether it is damaged.
    pub fn peek(&self) -> Option<(u64, bool)> {
        self.ready.as_ref().map(|(id, row)| (*id, row.is_err()))
    }
}

fn note_disorder(damage: &DamageLog, table: &str, id: u64) {
    damage.note(DamagedRow::new(table, id, "its id is out of order"));
}

/// An id more than a page before this one: whoever begins there comes upon all rows from this one on, also those that a search
/// within their page does not find because one of them has a wrong id.
pub fn page_before(connection: &Connection, table: &str, id: i64) -> rusqlite::Result<i64> {
    let sql =
        format!("SELECT id FROM {table} WHERE id < ?1 ORDER BY id DESC LIMIT 1 OFFSET {PAGE_ROWS}");
    let before = connection
        .prepare_cached(&sql)?
        .query_row([id], |row| row.get::<_, i64>(0))
        .optional()?;
    // A wrong one is as good if it is lower, and one that is negative is read with the first page.
    Ok(before.unwrap_or(i64::MIN).min(id))
}
