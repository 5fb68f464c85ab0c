//! The port for damage: rows that are not as they were written.
//!
//! A reader that comes upon such a row leaves it out and notes it in the [`DamageLog`] of its store. Each node takes what
//! was noted, ends the messages that are concerned and lists the rows, for people. Guarantees that nothing of a damaged
//! row is used: neither its text nor its addresses, nor whom it is from.

use std::sync::{Mutex, MutexGuard, PoisonError};

use ahash::AHashSet;

use super::cold::{ColdRow, ColdStatement, ColdTables, values};
use super::{Reply, StoreResult};
use smsc_domain::address::mask;
use smsc_proto::Message;

/// `error` of a final state that stands for one that cannot be read, or for a message that cannot.
pub const DAMAGED: &[u8] = b"damaged";
/// The reason of a row whose content is another than its checksum says.
pub const CHECKSUM: &str = "its content does not match its checksum";
/// The reason of one that has none, although all that could have written it write one.
pub const NO_CHECKSUM: &str = "it has no checksum";
/// `table` of what stands for all that cannot be found for a page of the database.
pub const PAGE: &str = "page";
/// Rows that wait to be listed at most; later ones are found again.
const MOST: usize = 10_000;
/// Rows that are said in the log between two calls of [`DamageLog::take`].
const SAID: usize = 20;
/// Rows that are known to be listed at most.
const KNOWN: usize = 100_000;

/// A row that is not as it was written.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct DamagedRow {
    /// The table that it is in.
    pub table: String,
    /// The message, as far as that is legible, or the number of the row where it is about none.
    pub id: u64,
    /// What is wrong with it.
    pub why: String,
    /// What it seems to say, numbers masked and without the text; it may be as wrong as the rest.
    pub legible: String,
}

/// A damaged row as it is listed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedDamage {
    pub row: DamagedRow,
    /// When it was found, Unix milliseconds.
    pub found_at: i64,
}

/// Which of the listed rows to show, the last ids first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DamageSearch {
    /// Only of this message or row.
    pub id: Option<u64>,
    /// Only behind this one (paging), by id and table.
    pub after: Option<(u64, String)>,
    pub limit: usize,
}

/// What was found and is not listed yet.
#[derive(Debug, Default)]
pub struct DamageLog(Mutex<Noted>);

#[derive(Debug, Default)]
struct Noted {
    waiting: Vec<DamagedRow>,
    /// Table and id of what waits or was taken.
    known: AHashSet<(String, u64)>,
    /// Tables in which something was found.
    tables: AHashSet<String>,
    /// Tables in which rows are not found by their ids.
    astray: AHashSet<&'static str>,
}

/// Damaged rows of a store. Calls never block.
pub trait DamageStore {
    /// What was found since the last call; a row that is read again is not found again.
    fn take_damage(&self) -> Vec<DamagedRow>;

    /// What was taken could not be dealt with: the next call gives it again.
    fn put_damage_back(&self, rows: Vec<DamagedRow>);

    /// Those of these messages that are stored and have not ended, whatever their rows say.
    fn unfinished(&self, ids: Vec<u64>) -> Reply<Vec<u64>>;

    /// Those of these messages that have ended and whose senders are still to be told, as their rows in `fin` say.
    fn untold(&self, ids: Vec<u64>) -> Reply<Vec<u64>>;
}

/// The list of damaged rows, for people. Calls never block.
pub trait DamageListStore {
    /// Lists rows that were found at this time (Unix ms). Those on the list stay as they are.
    fn list_damage(&self, rows: Vec<DamagedRow>, found_at: i64) -> Reply<()>;

    /// The list.
    fn listed_damage(&self, search: DamageSearch) -> Reply<Vec<ListedDamage>>;

    /// How many rows are listed.
    fn count_damage(&self) -> Reply<u64>;

    /// Takes a row, or all, off the list; returns how many. What is damaged stays so; it is listed again when a process
    /// that has not seen it yet reads it.
    fn unlist_damage(&self, row: Option<(String, u64)>) -> Reply<u64>;
}

// === impl DamagedRow ===

impl DamagedRow {
    /// A row of which nothing is legible but its key.
    pub fn new(table: &str, id: u64, why: impl Into<String>) -> Self {
        Self {
            table: table.to_owned(),
            id,
            why: why.into(),
            legible: String::new(),
        }
    }

    /// What a message seems to say that can be decoded but is not the one that was written.
    pub(crate) fn legible(message: &Message) -> String {
        let (source, destination) = (mask(&message.source), mask(&message.destination));
        format!("from {source} to {destination}")
    }

    /// Whether a message that has not ended cannot go on with it.
    pub fn ends_its_message(&self) -> bool {
        matches!(&*self.table, "msg" | "sent" | "change" | "retry" | "tries")
    }

    /// Whether nobody can be told any more what became of a message that has ended: from whom it is, or its end, is illegible.
    pub fn leaves_untold(&self) -> bool {
        matches!(&*self.table, "msg" | "fin")
    }
}

// === impl ListedDamage ===

impl ListedDamage {
    /// The statement that lists one, unless it is listed.
    pub(crate) fn insert(row: &DamagedRow, found_at: i64) -> ColdStatement {
        // Whatever is legible may hold a NUL, which no text of PostgreSQL may.
        let text = |text: &str| text.replace('\0', "?");
        ColdStatement::new(
            "INSERT INTO damaged(id, origin, found_at, why, legible) VALUES($1, $2, $3, $4, $5)
             ON CONFLICT DO NOTHING",
            values![
                row.id as i64,
                row.table,
                found_at,
                text(&row.why),
                text(&row.legible)
            ],
        )
    }

    fn read(mut row: ColdRow) -> StoreResult<Self> {
        Ok(Self {
            row: DamagedRow {
                id: row.take("damaged.id")?,
                table: row.take("damaged.origin")?,
                why: row.take("damaged.why")?,
                legible: row.take("damaged.legible")?,
            },
            found_at: row.take("damaged.found_at")?,
        })
    }
}

impl<S: ColdTables> DamageListStore for S {
    fn list_damage(&self, rows: Vec<DamagedRow>, found_at: i64) -> Reply<()> {
        let inserts = rows.iter().map(|row| ListedDamage::insert(row, found_at));
        self.change(inserts.collect(), |_| Ok(()))
    }

    fn listed_damage(&self, search: DamageSearch) -> Reply<Vec<ListedDamage>> {
        let (below, table) = match search.after {
            Some((id, table)) => (id as i64, table),
            None => (i64::MAX, String::new()),
        };
        let id = search.id.map(|id| id as i64);
        let list = ColdStatement::new(
            "SELECT id, origin, why, legible, found_at FROM damaged
             WHERE (CAST($1 AS bigint) IS NULL OR id = $1) AND (id < $2 OR id = $2 AND origin > $3)
             ORDER BY id DESC, origin LIMIT $4",
            values![id, below, table, search.limit],
        );
        self.select(list, |rows| {
            rows.into_iter().map(ListedDamage::read).collect()
        })
    }

    fn count_damage(&self) -> Reply<u64> {
        let count = ColdStatement::new("SELECT count(*) FROM damaged", Vec::new());
        self.select(count, |rows| {
            let mut rows = rows.into_iter();
            rows.next()
                .map_or(Ok(0), |mut row| row.take("the count of damaged rows"))
        })
    }

    fn unlist_damage(&self, row: Option<(String, u64)>) -> Reply<u64> {
        let delete = match row {
            None => ColdStatement::new("DELETE FROM damaged", Vec::new()),
            Some((table, id)) => ColdStatement::new(
                "DELETE FROM damaged WHERE id = $1 AND origin = $2",
                values![id as i64, table],
            ),
        };
        self.change(vec![delete], |done| Ok(done.rows))
    }
}

// === impl DamageLog ===

impl DamageLog {
    /// Notes a row, once.
    pub fn note(&self, row: DamagedRow) {
        let mut noted = self.lock();
        if !noted.tables.contains(&row.table) {
            noted.tables.insert(row.table.clone());
        }
        if noted.waiting.len() >= MOST {
            return;
        }
        // Then some are listed again, which changes nothing.
        if noted.known.len() >= KNOWN {
            noted.known.clear();
        }
        if noted.known.insert((row.table.clone(), row.id)) {
            if noted.waiting.len() < SAID {
                tracing::error!(
                    table = row.table,
                    id = row.id,
                    why = row.why,
                    "a row of the store is damaged and is not used: see `smsc damaged`"
                );
            }
            noted.waiting.push(row);
        }
    }

    /// Whether something was found in this table since the store was opened.
    pub fn is_in(&self, table: &str) -> bool {
        self.lock().tables.contains(table)
    }

    /// Rows of this table are not found by their ids from now on.
    pub fn leads_astray(&self, table: &'static str) {
        self.lock().astray.insert(table);
    }

    /// Whether rows of this table may not be found by their ids.
    pub fn is_astray(&self, table: &str) -> bool {
        self.lock().astray.contains(table)
    }

    /// A row that may be damaged: itself if it is not, otherwise it is noted.
    pub fn sift<T>(&self, read: Result<T, DamagedRow>) -> Option<T> {
        read.map_err(|row| self.note(row)).ok()
    }

    pub fn take(&self) -> Vec<DamagedRow> {
        let taken = std::mem::take(&mut self.lock().waiting);
        if let Some(more) = taken.len().checked_sub(SAID).filter(|more| *more > 0) {
            tracing::error!(more, "further rows of the store are damaged");
        }
        taken
    }

    pub fn put_back(&self, rows: Vec<DamagedRow>) {
        self.lock().waiting.extend(rows);
    }

    fn lock(&self) -> MutexGuard<'_, Noted> {
        // It is valid between any two statements, so a poisoned lock can be used.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
