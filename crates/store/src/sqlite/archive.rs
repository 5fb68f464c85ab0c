//! Erases texts and numbers from finished messages.
//!
//! Runs on the upkeep thread and writes through the writer in small transactions: the only UPDATEs of `msg`,
//! and never of an active message. Guarantees that erased data is overwritten in the file and not kept in its
//! log, and that a pass over all texts continues where the one before ended, also after a restart.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

use rusqlite::Connection;

use super::index::IndexThread;
use super::reader::{ids, load, with_address};
use super::record::{MESSAGE_COLUMNS, Readable, read_message};
use super::schema::{meta, set_meta, sql_failed};
use super::upkeep::Upkeep;
use super::worker::StoreWorker;
use super::{SqliteStore, export};
use crate::archive::{
    ArchiveStore, Each, Erased, first_id, matches, without_address, without_text,
};
use crate::record::encode_again;
use crate::{Reply, StoreError, StoreResult, Stored};
use smsc_domain::address::normalise;
use smsc_proto::Message;

/// Messages changed per transaction: 2-3 ms of the writer's time.
const CHUNK: usize = 200;
/// Most messages that a pass over the texts leaves behind; beyond, it waits for them.
const MAX_LEFT: usize = 1_000_000;
/// `meta`: below this id only active messages have a text that is too old.
const TEXT_MARK: &str = "text_upto";

/// How far the texts have been erased.
#[derive(Debug, Default)]
pub struct TextPass {
    /// The next id to read; `None` until the mark is read.
    next: Option<u64>,
    /// Messages before it that were active, or ended too late.
    left: BTreeSet<u64>,
}

impl ArchiveStore for SqliteStore {
    fn export(&self, ids: Range<u64>, each: &mut Each<'_>) -> StoreResult {
        export::export(&self.reader()?, &self.shared.damage, ids, each).map_err(sql_failed)
    }

    fn erase_text(&self, before: i64, limit: usize) -> Reply<u64> {
        self.upkeep
            .ask(move |upkeep| upkeep.erase_text(before, limit))
    }

    fn erase_msisdn(&self, digits: String) -> Reply<Erased> {
        self.upkeep
            .ask(move |upkeep| upkeep.erase_msisdn(normalise(digits.as_bytes())))
    }
}

// === impl Upkeep ===

impl Upkeep {
    fn erase_text(&mut self, before: i64, limit: usize) -> StoreResult<u64> {
        let mut next = match self.texts.next {
            Some(next) => next,
            None => {
                // The mark does not reach ids that were set aside before their time has come.
                for aside in self.asides.clone() {
                    let room = MAX_LEFT - self.texts.left.len().min(MAX_LEFT);
                    let ids = self.ids(aside.first, aside.last + 1, room);
                    self.texts.left.extend(ids?);
                }
                meta(&self.reader, TEXT_MARK)?
            }
        };
        let mut erased = 0;
        while erased < limit && self.texts.left.len() < MAX_LEFT {
            let ids = self.ids(next, first_id(before), CHUNK.min(limit - erased))?;
            let Some(&last) = ids.last() else {
                break;
            };
            next = last + 1;
            erased += self.erase_texts(&ids, before, next)?;
        }
        // Once per pass: messages that it skipped as active may have ended since.
        let left: Vec<u64> = if erased < limit {
            self.texts.left.iter().copied().collect()
        } else {
            Vec::new()
        };
        for ids in left.chunks(CHUNK) {
            if erased + ids.len() > limit {
                break;
            }
            erased += self.erase_texts(ids, before, next)?;
        }
        // Once per pass.
        if (1..limit).contains(&erased) {
            self.clean_log()?;
        }
        Ok(erased as u64)
    }

    fn ids(&self, from: u64, below: u64, limit: usize) -> rusqlite::Result<Vec<u64>> {
        let sql = "SELECT id FROM msg WHERE id >= ?1 AND id < ?2 ORDER BY id LIMIT ?3";
        ids(&self.reader, sql, (from as i64, below as i64, limit as i64))
    }

    /// Erases the texts of those that may lose them, and moves the mark.
    fn erase_texts(&mut self, ids: &[u64], before: i64, next: u64) -> StoreResult<usize> {
        let mut bare = Vec::new();
        let loaded = load(&self.reader, &self.shared.damage, ids)?;
        for (&id, stored) in ids.iter().zip(loaded) {
            self.texts.left.remove(&id);
            // A message that is gone has no text.
            let Some(mut stored) = stored else { continue };
            let old = stored.fin.as_ref().is_some_and(|fin| fin.at < before);
            if !old || self.is_active(&stored)? {
                self.texts.left.insert(id);
                continue;
            }
            if without_text(&mut stored.message) {
                bare.push(stored.message);
            }
        }
        let erased = bare.len();
        let mark = self
            .texts
            .left
            .first()
            .map_or(next, |first| next.min(*first));
        self.texts.next = Some(next);
        if erased > 0 {
            self.transact(move |connection, _| {
                rewrite(connection, &bare)?;
                set_meta(connection, TEXT_MARK, mark)
            })?;
        }
        Ok(erased)
    }

    fn is_active(&self, stored: &Stored) -> rusqlite::Result<bool> {
        match &stored.fin {
            None => Ok(true),
            Some(fin) if fin.tell == 0 => Ok(false),
            Some(fin) => {
                let mut told = self
                    .reader
                    .prepare_cached("SELECT 1 FROM told WHERE id = ?1")?;
                Ok(!told.exists([fin.id as i64])?)
            }
        }
    }

    fn erase_msisdn(&mut self, digits: &[u8]) -> StoreResult<Erased> {
        let index = self.shared.index_slot().clone().ok_or(StoreError::Closed)?;
        let mut erased = Erased::default();
        let mut after = 0;
        if let Some(upto) = index.ask(IndexThread::catch_up).wait()? {
            loop {
                let address = digits.to_vec();
                let mut ids = index
                    .ask(move |index| index.of_address(&address, after, CHUNK))
                    .wait()?;
                ids.retain(|id| *id <= upto);
                let Some(&last) = ids.last() else { break };
                self.erase_address(&index, &ids, digits, &mut erased)?;
                after = last;
            }
            after = upto;
        }
        // Messages that are not in the index, or all when there is none.
        loop {
            let (ids, last) = with_address(&self.reader, "msg", digits, after)?;
            for ids in ids.chunks(CHUNK) {
                self.erase_address(&index, ids, digits, &mut erased)?;
            }
            match last {
                Some(last) => after = last,
                None => break,
            }
        }
        self.clean_log()?;
        index.ask(IndexThread::clean_log).wait()?;
        Ok(erased)
    }

    fn erase_address(
        &self,
        index: &Arc<StoreWorker<IndexThread>>,
        ids: &[u64],
        digits: &[u8],
        erased: &mut Erased,
    ) -> StoreResult {
        let mut changed = Vec::new();
        for stored in load(&self.reader, &self.shared.damage, ids)? {
            let Some(mut stored) = stored.filter(|stored| matches(&stored.message, digits)) else {
                continue;
            };
            if self.is_active(&stored)? {
                erased.active += 1;
                continue;
            }
            without_address(&mut stored.message, digits);
            changed.push(stored.message);
        }
        if changed.is_empty() {
            return Ok(());
        }
        erased.erased += changed.len() as u64;
        let ids: Vec<u64> = changed.iter().map(|message| message.id).collect();
        self.transact(move |connection, _| rewrite(connection, &changed))?;
        let address = digits.to_vec();
        index
            .ask(move |index| index.forget_address(&address, &ids))
            .wait()
    }
}

/// Writes messages over their old rows, whose octets do not stay behind in the file.
fn rewrite(connection: &Connection, messages: &[Message]) -> rusqlite::Result<()> {
    connection.pragma_update(None, "secure_delete", true)?;
    let result = rewrite_each(connection, messages);
    connection.pragma_update(None, "secure_delete", false)?;
    result
}

fn rewrite_each(connection: &Connection, messages: &[Message]) -> rusqlite::Result<()> {
    let mut update = connection
        .prepare_cached("UPDATE msg SET source = ?2, destination = ?3, body = ?4 WHERE id = ?1")?;
    let sql = "UPDATE change SET body = x'' WHERE id = ?1 AND kind IN (1, 4) AND body <> x''";
    let mut replaced = connection.prepare_cached(sql)?;
    let by_id = format!("SELECT {MESSAGE_COLUMNS} FROM msg t WHERE t.id = ?1");
    let mut row = connection.prepare_cached(&by_id)?;
    let mut body = Vec::new();
    for message in messages {
        // One that was damaged a moment ago is left to those who read it.
        let Ok(row) = row.query_one([message.id as i64], read_message)? else {
            continue;
        };
        // The message is as the last replacement made it: its content is erased as well.
        replaced.execute([message.id as i64])?;
        encode_again(message, row, &mut body);
        update.execute((
            message.id as i64,
            Readable(&message.source),
            Readable(&message.destination),
            &body,
        ))?;
    }
    Ok(())
}
