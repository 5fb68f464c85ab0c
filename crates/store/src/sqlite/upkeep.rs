//! Keeps restarts short and the file small: the low-water mark, `carry`, and retention.
//!
//! Runs on its own thread with a reader of its own, in slices, and writes through the writer in small
//! transactions. Guarantees that every active message below the mark is in `carry`:
//!
//! 1. the writer is told where the mark is going; from then on it copies what it accepts below that
//!    into `carry` in the same transaction (ids of one batch may be committed after higher ones);
//! 2. only then are the rows read, and the active ones copied into `carry`;
//! 3. only then is the mark moved. A row in `carry` at or above the mark, or one that is no longer
//!    active, does no harm; whatever was done before a crash is done again.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use rusqlite::Connection;

use super::archive::TextPass;
use super::entries;
use super::reader;
use super::recover::{self, each_id};
use super::schema::{meta, set_meta, sql_failed};
use super::{SqliteShared, log, writer};
use crate::low_water::{IdSlice, SLICE, best};
use crate::{ActivePage, StoreResult};
use smsc_domain::id::{Aside, MAX_LEAD_MS, lowest_at};

/// Rows written per transaction.
const CHUNK: usize = 1000;
/// Messages deleted per transaction: about four rows each, 2-3 ms of the writer's time.
const RETIRE_CHUNK: usize = 400;

/// The thread's context.
pub struct Upkeep {
    pub reader: Connection,
    pub shared: Arc<SqliteShared>,
    /// Ids that were set aside: above the mark, whatever else is.
    pub asides: Vec<Aside>,
    /// Where the next retirement continues.
    pub retire_from: u64,
    /// Where the next retirement of ids that were set aside continues.
    pub retire_aside_from: u64,
    /// How far texts have been erased.
    pub texts: TextPass,
    /// The log still holds erased data, because a reader kept a snapshot for long.
    pub unclean: bool,
}

// === impl Upkeep ===

impl Upkeep {
    /// With nothing done yet.
    pub fn new(reader: Connection, shared: &Arc<SqliteShared>, asides: Vec<Aside>) -> Self {
        Self {
            reader,
            shared: Arc::clone(shared),
            asides,
            retire_from: 0,
            retire_aside_from: 0,
            texts: TextPass::default(),
            unclean: false,
        }
    }

    /// Moves the low-water mark to where a restart reads least.
    pub fn advance(&mut self) -> StoreResult {
        if self.unclean {
            self.clean_log()?;
        }
        let mark = meta(&self.reader, "low_water")?;
        self.clean_carry(mark)?;
        // Ids that were set aside are above what is accepted: the mark stays below them.
        let target = self.shared.highest.load(Ordering::Relaxed) + 1;
        if target <= mark {
            return Ok(());
        }
        self.transact(move |_, marks| {
            marks.carry_below = marks.carry_below.max(target);
            Ok(())
        })?;
        let slices = self.look(mark, target)?;
        let mut from = mark;
        for slice in &slices[..best(&slices)] {
            for chunk in self.active_ids(from, slice.end)?.chunks(CHUNK) {
                let insert = "INSERT INTO carry(id) VALUES(?1) ON CONFLICT DO NOTHING";
                self.run_each(insert, chunk.to_vec())?;
            }
            let end = slice.end;
            self.transact(move |connection, _| set_meta(connection, "low_water", end))?;
            from = end;
        }
        Ok(())
    }

    fn reading(&self) -> recover::ActiveReading<'_> {
        recover::ActiveReading::new(&self.reader, &self.shared.damage)
    }

    /// See [`recover::page`].
    pub fn active_page(&self, ids: std::ops::Range<u64>, limit: usize) -> StoreResult<ActivePage> {
        recover::page(self.reading(), ids, limit).map_err(sql_failed)
    }

    /// Counts from the mark to the target, slice by slice.
    fn look(&self, mark: u64, target: u64) -> StoreResult<Vec<IdSlice>> {
        let mut slices = Vec::new();
        let mut from = mark;
        while from < target {
            let (mut messages, mut active) = (0, 0);
            let range = recover::MessageRange::Slice {
                from,
                below: target,
            };
            let next = each_id(self.reading(), range, SLICE, &mut |_, is_active| {
                messages += 1;
                active += usize::from(is_active);
            })?;
            from = next.unwrap_or(target);
            slices.push(IdSlice {
                end: from,
                messages,
                active,
            });
        }
        Ok(slices)
    }

    fn active_ids(&self, from: u64, below: u64) -> StoreResult<Vec<u64>> {
        let mut active = Vec::new();
        let range = recover::MessageRange::Slice { from, below };
        each_id(self.reading(), range, usize::MAX, &mut |id, is_active| {
            if is_active {
                active.push(id);
            }
        })?;
        Ok(active)
    }

    /// Deletes what is no longer active from `carry`.
    fn clean_carry(&self, mark: u64) -> StoreResult {
        let mut next = Some(0);
        while let Some(from) = next {
            let mut gone = Vec::new();
            let range = recover::MessageRange::Carried { from, below: mark };
            next = each_id(self.reading(), range, SLICE, &mut |id, active| {
                if !active {
                    gone.push(id);
                }
            })?;
            for chunk in gone.chunks(CHUNK) {
                self.run_each("DELETE FROM carry WHERE id = ?1", chunk.to_vec())?;
            }
        }
        Ok(())
    }

    /// Runs a statement about each of these messages.
    fn run_each(&self, sql: &'static str, ids: Vec<u64>) -> StoreResult {
        self.transact(move |connection, _| {
            let mut statement = connection.prepare_cached(sql)?;
            ids.iter()
                .try_for_each(|id| statement.execute([*id as i64]).map(drop))
        })
    }

    /// Deletes messages that were final before `before` and owe no receipt.
    pub fn retire(&mut self, before: i64, limit: usize) -> StoreResult<u64> {
        let mut deleted = 0;
        while (deleted as usize) < limit {
            let room = RETIRE_CHUNK.min(limit - deleted as usize);
            let ids = self.finished(before, room)?;
            let Some(&last) = ids.last() else {
                // Skipped rows are read again from the start, next time.
                (self.retire_from, self.retire_aside_from) = (0, 0);
                break;
            };
            let forgotten = entries::read_each(&self.reader, &ids)?;
            let count = self.delete(ids)?;
            self.shared.forget(forgotten);
            if self.asides.iter().any(|aside| aside.contains(last)) {
                self.retire_aside_from = last;
            } else {
                self.retire_from = last;
            }
            deleted += count;
        }
        Ok(deleted)
    }

    fn finished(&self, before: i64, limit: usize) -> rusqlite::Result<Vec<u64>> {
        // A message is not final before it was accepted, so its id bounds the walk.
        let below = lowest_at(before.saturating_add(MAX_LEAD_MS)).min(i64::MAX as u64);
        let mut found = self.finished_in(self.retire_from..below, before, limit)?;
        for aside in &self.asides {
            if !found.is_empty() {
                break;
            }
            let from = self.retire_aside_from.max(aside.first - 1);
            found = self.finished_in(from..aside.last + 1, before, limit)?;
        }
        Ok(found)
    }

    /// Those with ids after the first up to the second, without it.
    fn finished_in(
        &self,
        ids: Range<u64>,
        before: i64,
        limit: usize,
    ) -> rusqlite::Result<Vec<u64>> {
        let sql = "SELECT f.id FROM fin f WHERE f.id > ?1 AND f.id < ?2 AND f.at < ?3
             AND (f.tell = 0 OR EXISTS(SELECT 1 FROM told t WHERE t.id = f.id))
             ORDER BY f.id LIMIT ?4";
        let bounds = (ids.start as i64, ids.end as i64, before, limit as i64);
        reader::ids(&self.reader, sql, bounds)
    }

    /// Deletes all rows of these messages, ascending.
    fn delete(&self, ids: Vec<u64>) -> StoreResult<u64> {
        self.transact(move |connection, marks| {
            let runs = runs(connection, &ids)?;
            let mut messages = 0;
            for table in [
                "msg", "sent", "resent", "fin", "told", "retry", "change", "tries", "heard",
                "carry",
            ] {
                let sql = format!("DELETE FROM {table} WHERE id >= ?1 AND id <= ?2");
                let mut delete = connection.prepare_cached(&sql)?;
                for (first, last) in &runs {
                    let count = delete.execute([*first as i64, *last as i64])?;
                    messages += if table == "msg" { count as u64 } else { 0 };
                }
            }
            marks.deleted = true;
            let upto = ids.last().copied().unwrap_or(0);
            if upto > meta(connection, "retired_upto")? {
                set_meta(connection, "retired_upto", upto)?;
            }
            Ok(messages)
        })
    }

    /// After an erasure: no erased data may remain in the log. If this is not possible now, a later
    /// pass does it.
    pub fn clean_log(&mut self) -> StoreResult {
        let is_clean = log::empty(&self.shared.main_path())?;
        if !is_clean && !self.unclean {
            tracing::warn!(
                "the log keeps what was erased until a long reader, such as an export, ends"
            );
        }
        self.unclean = !is_clean;
        Ok(())
    }

    pub fn transact<T: Send + 'static>(
        &self,
        job: impl FnOnce(&Connection, &mut super::rows::Marks) -> rusqlite::Result<T> + Send + 'static,
    ) -> StoreResult<T> {
        writer::transact(&self.shared, job).wait()
    }
}

/// Ranges of ids that hold none but these messages: one statement deletes a range, where a statement
/// per message would take the writer several times as long.
fn runs(connection: &Connection, ids: &[u64]) -> rusqlite::Result<Vec<(u64, u64)>> {
    let (Some(&first), Some(&last)) = (ids.first(), ids.last()) else {
        return Ok(Vec::new());
    };
    let mut statement =
        connection.prepare_cached("SELECT id FROM msg WHERE id >= ?1 AND id <= ?2 ORDER BY id")?;
    let mut rows = statement.query([first as i64, last as i64])?;
    let mut runs: Vec<(u64, u64)> = Vec::new();
    let mut left = ids.iter().copied().peekable();
    let mut broken = true;
    let mut take = |id: u64, broken: &mut bool| match runs.last_mut() {
        Some(run) if !*broken => run.1 = id,
        _ => {
            runs.push((id, id));
            *broken = false;
        }
    };
    while let Some(row) = rows.next()? {
        let id = row.get::<_, i64>(0)? as u64;
        // Rows of a message that is gone already may be among the ids.
        while let Some(gone) = left.next_if(|ours| *ours < id) {
            take(gone, &mut broken);
        }
        if left.next_if_eq(&id).is_some() {
            take(id, &mut broken);
        } else {
            broken = true;
        }
    }
    for gone in left {
        take(gone, &mut broken);
    }
    Ok(runs)
}
