//! What moves from the embedded store to the shared one.
//!
//! Read by [`Source`](super::sqlite::Source), written by [`Import`](super::postgres::Import), driven
//! by `smsc migrate-store`. Guarantees that a [`MovedPage`] follows exactly on the one before it, so that
//! an interrupted move continues where it stopped.

use std::collections::{BTreeMap, BTreeSet};

use super::checksum;
use super::cold::{ColdRecord, ColdRow, ColdStatement};
use super::damage::DamagedRow;
use super::opt_out::OptOutRow;
use super::outbox::{CdrRow, EventRow};
use super::settings::StoredSettings;
use super::usage::UsageRow;
use super::{FinRow, MOVED_WHOLE, StoreResult, WriteBatch};

/// The tables whose rows are counted on both sides; `sent` stands for every attempt.
pub const TABLES: [&str; OWN_TABLES.len() + MOVED_WHOLE.len()] = {
    let mut tables = [""; OWN_TABLES.len() + MOVED_WHOLE.len()];
    let mut at = 0;
    while at < tables.len() {
        tables[at] = if at < OWN_TABLES.len() {
            OWN_TABLES[at]
        } else {
            MOVED_WHOLE[at - OWN_TABLES.len()].table
        };
        at += 1;
    }
    tables
};

/// Those that are moved in ways of their own.
const OWN_TABLES: [&str; 28] = [
    "msg",
    "sent",
    "fin",
    "told",
    "retry",
    "tries",
    "change",
    "heard",
    "carry",
    "parked",
    "dead",
    "accounts",
    "operators",
    "routes",
    "lists",
    "limits",
    "policies",
    "mo_rules",
    "gsm",
    "number_ranges",
    "event_sinks",
    "nats_sources",
    "config_versions",
    "opt_out",
    "purse",
    "outbox",
    "cdr",
    "usage",
];

/// A cold table that is moved whole.
pub(crate) struct MovedTable {
    pub table: &'static str,
    /// The statement that reads it.
    pub read: fn() -> ColdStatement,
    /// The statements that write what was read.
    pub write: fn(Vec<ColdRow>) -> StoreResult<Vec<ColdStatement>>,
}

/// The mark behind the last row of a part.
pub const END: u64 = i64::MAX as u64;

smsc_domain::named! {
    /// The parts of the move, in order, each in the order of its keys.
    /// The word of one is the key in `meta` of its mark.
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
    pub enum MovePart, mark {
        /// Messages, and the rows of every table that are about them.
        #[default]
        Messages: "move_msg",
        /// Active messages below the low-water mark.
        Carry: "move_carry",
        /// Receipts that matched nothing yet.
        Parked: "move_parked",
        /// Rows that could not be written.
        Dead: "move_dead",
        /// Numbers that want no messages, by their version.
        OptOuts: "move_opt_out",
        /// Answers to requests with an Idempotency-Key. Not counted: of several rows of a key the last one is left.
        Idempotency: "move_idempotency",
        /// Events that a reader has not finished.
        Events: "move_outbox",
        /// Call detail records in the table.
        Records: "move_cdr",
        /// Sums of usage, by their days.
        Usage: "move_usage",
    }
}

/// What there is to move.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inventory {
    /// Interned names.
    pub names: Vec<(u32, String)>,
    /// Accounts, operators, routes and policy.
    pub settings: StoredSettings,
    /// The statements that write the latter with their history, balances and quotas, the tables which are moved whole, and
    /// rows of `meta`
    /// ([`FormStore`](super::forms::FormStore), [`PauseStore`](super::pauses::PauseStore),
    /// [`StreamMarkStore`](super::stream_marks::StreamMarkStore)).
    pub whole: Vec<ColdStatement>,
    /// Rows per table, in the order of [`TABLES`].
    pub rows: [u64; TABLES.len()],
    /// The highest id ever used.
    pub highest: u64,
    /// Everything active below it is in `carry`.
    pub low_water: u64,
}

/// Some rows, to be written in one transaction.
#[derive(Debug, Clone, Default)]
pub struct MovedPage {
    pub part: MovePart,
    /// Keys of the page are above this one, which is where the page before ended.
    pub after: u64,
    /// The last key of the page; [`END`] for the last page.
    pub upto: u64,
    pub rows: WriteBatch,
    pub carry: Vec<u64>,
    pub dead: Vec<DeadRow>,
    pub opt_outs: Vec<OptOutRow>,
    pub events: Vec<EventRow>,
    pub records: Vec<CdrRow>,
    pub usage: Vec<UsageRow>,
    pub left: LeftBehind,
}

/// Damaged rows of a page, which are not moved.
#[derive(Debug, Clone, Default)]
pub struct LeftBehind {
    pub rows: Vec<DamagedRow>,
    /// By how many a table of [`TABLES`] has fewer rows for that.
    pub fewer: BTreeMap<&'static str, i64>,
}

/// A row that could not be written, quarantined for inspection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeadRow {
    /// Unix milliseconds.
    pub at: i64,
    /// The table that it was for.
    pub origin: String,
    pub id: u64,
    pub reason: String,
    pub row: Vec<u8>,
}

// === impl MovedTable ===

impl MovedTable {
    pub const fn of<T: ColdRecord>() -> Self {
        Self {
            table: T::TABLE,
            read: || T::select("", Vec::new()),
            write: |rows| {
                let rows = T::all(rows)?;
                Ok(rows.iter().map(|row| row.insert("")).collect())
            },
        }
    }
}

// === impl Inventory ===

impl Inventory {
    /// Messages to move.
    pub fn messages(&self) -> u64 {
        self.rows[0]
    }
}

// === impl MovedPage ===

impl MovedPage {
    /// An empty one.
    pub fn new(part: MovePart, after: u64) -> Self {
        Self {
            part,
            after,
            upto: END,
            ..Self::default()
        }
    }
}

// === impl DeadRow ===

impl DeadRow {
    /// The checksum of all of it.
    pub fn sum(&self) -> u32 {
        let texts = [self.origin.as_bytes(), self.reason.as_bytes(), &self.row];
        checksum::sum([self.at, self.id as i64], texts)
    }
}

// === impl LeftBehind ===

impl LeftBehind {
    /// The rows of a table that are not damaged.
    pub fn sift<T>(
        &mut self,
        table: &'static str,
        read: impl IntoIterator<Item = Result<T, DamagedRow>>,
    ) -> Vec<T> {
        let mut whole = Vec::new();
        for row in read {
            match row {
                Ok(row) => whole.push(row),
                Err(row) => {
                    *self.fewer.entry(table).or_default() += 1;
                    self.rows.push(row);
                }
            }
        }
        whole
    }

    /// What cannot go on without its damaged rows ends, and what has ended by one of them stays so.
    pub fn end_messages(&mut self, rows: &mut WriteBatch) {
        let mut ended: BTreeSet<u64> = rows.fin.iter().map(|fin| fin.id).collect();
        for row in &self.rows {
            let ends = row.table == "fin" || row.ends_its_message() && row.table != "msg";
            if ends && ended.insert(row.id) {
                rows.fin.push(FinRow::damaged(row.id));
                *self.fewer.entry("fin").or_default() -= 1;
            }
        }
    }
}
