//! What `smsc salvage` says.

use std::collections::BTreeMap;

use serde::{Serialize, Serializer};

use super::new_store::NewStore;
use super::settle::SettledMessages;
use super::shapes::merge;
use super::stray::StrayPages;
use smsc_domain::{id, moment};

/// What was read of a damaged store, what was not, and what became of it.
#[derive(Debug, Clone, Default, Serialize)]
pub struct SalvageReport {
    /// Pages of the file and its log.
    pub pages: u32,
    /// Octets of a page.
    pub page_size: usize,
    /// Pages that are unreadable or overwritten.
    pub illegible_pages: u64,
    /// Pages that no tree leads to any more, and whose rows were read.
    pub stray_pages: u64,
    /// Pages with rows that were left out: of what was deleted, or nobody knows of which table.
    pub left_out_pages: u64,
    /// What is wrong with the log, if committed changes are lost with it.
    pub log: Option<String>,
    /// What was read of each table, by its name.
    pub tables: BTreeMap<String, SalvagedTable>,
    /// Messages that cannot be read and that other rows are about: each is listed (`smsc damaged`).
    pub lost_messages: u64,
    /// Messages that have not ended and of which a row is damaged: each has ended and is listed.
    pub damaged_messages: u64,
    /// Messages that may have been sent or have ended, as far as can be told: each is listed.
    pub doubtful_messages: u64,
    /// Doubtful messages wait to be sent, instead of having ended.
    pub doubtful_wait: bool,
    /// What else was mended, or cannot be.
    pub remarks: Vec<String>,
    /// What a check of the new store finds wrong.
    pub problems: Vec<String>,
}

/// A table.
#[derive(Debug, Clone, Default, Serialize)]
pub struct SalvagedTable {
    pub rows: u64,
    /// Rows that are not as they were written and were left out.
    pub damaged: u64,
    /// Between which keys rows may be missing.
    pub missing: Vec<MissingRows>,
}

/// Keys between which rows may be missing, both included.
#[derive(Debug, Clone, Default, Serialize)]
pub struct MissingRows {
    /// Ids of messages, in the tables that are about messages.
    #[serde(serialize_with = "as_text")]
    pub from: u64,
    #[serde(serialize_with = "as_text")]
    pub to: u64,
    /// The times that the ids have; `None` for none, or for no end.
    pub from_time: Option<String>,
    pub to_time: Option<String>,
}

/// As the admin API writes ids: a number of JSON has not as many digits everywhere.
fn as_text<S: Serializer>(id: &u64, to: S) -> Result<S::Ok, S::Error> {
    to.collect_str(id)
}

// === impl SalvageReport ===

impl SalvageReport {
    /// Whether every row was read, as it was written.
    pub fn is_whole(&self) -> bool {
        let is_whole = |table: &SalvagedTable| table.damaged == 0 && table.missing.is_empty();
        self.log.is_none()
            && self.illegible_pages == 0
            && self.problems.is_empty()
            && self.remarks.is_empty()
            && self.tables.values().all(is_whole)
            && self.lost_messages + self.damaged_messages + self.doubtful_messages == 0
    }

    /// Adds what was found of pages and rows.
    pub(super) fn count(&mut self, store: &NewStore, stray: StrayPages, settled: SettledMessages) {
        self.illegible_pages = stray.illegible;
        self.stray_pages = stray.taken;
        self.left_out_pages = stray.left_out;
        self.lost_messages = settled.lost;
        self.damaged_messages = settled.damaged;
        self.doubtful_messages = settled.doubtful;
        for (shape, count) in store.shapes.iter().zip(&store.counts) {
            let ranges = shape.lost.iter().map(|lost| (lost.low, lost.high));
            let missing = merge(ranges.collect());
            let is_there = count.read + count.damaged > 0 || !missing.is_empty();
            if shape.is_table() && is_there {
                let missed = |(low, high)| MissingRows::of(low, high);
                let table = SalvagedTable {
                    rows: count.read,
                    damaged: count.damaged,
                    missing: missing.into_iter().map(missed).collect(),
                };
                self.tables.insert(shape.name.clone(), table);
            }
        }
    }

    /// Notes keys of a table between which rows may be missing.
    pub(super) fn miss(&mut self, table: &str, low: i64, high: i64) {
        let table = self.tables.entry(table.to_owned()).or_default();
        table.missing.push(MissingRows::of(low, high));
    }
}

// === impl MissingRows ===

impl MissingRows {
    fn of(low: i64, high: i64) -> Self {
        let (from, to) = (low.max(0) as u64, high.max(0) as u64);
        let time = |id| moment::show(id::millis(id)).filter(|_| id::millis(id) > 0);
        Self {
            from,
            to,
            from_time: time(from),
            to_time: time(to).filter(|_| high < i64::MAX),
        }
    }
}
