//! `smsc fsck`: reads a store without changing it, and reports whether its invariants hold.
//!
//! Called by the command line with a data folder, a running store's file or a backup. What is
//! checked: SQLite's own integrity, each row belongs to a message (or to one that was retired), no
//! final message waits for a retry, each row has the content that was written, the low-water mark and `carry` cover every active message, ids
//! and times agree, the configuration is what its history says.

use std::collections::BTreeMap;
use std::path::Path;

use rusqlite::{Connection, OpenFlags};

use super::asides;
use super::balance;
use super::damage;
use super::schema::{self, count, failed, meta};
use super::schema_check;
use super::settings;
use super::wal;
use crate::StoreResult;
use smsc_domain::id;
use smsc_host::clock;
use smsc_proto::MessageState;

/// Problems listed at most; the rest is counted.
const MAX_PROBLEMS: usize = 100;
/// An id may carry a time this far from `accepted_at` (milliseconds): clocks step, ids borrow.
const PLAUSIBLE_MS: i64 = 3_600_000;

/// What was found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FsckReport {
    /// Stored messages.
    pub messages: u64,
    /// The version of the configuration in the store; 0 for none.
    pub configuration: u64,
    /// The layout that the file has.
    pub schema: i64,
    /// Messages that are not final.
    pub enroute: u64,
    /// Final messages per state name.
    pub states: BTreeMap<String, u64>,
    /// Final messages that still owe their sender a receipt.
    pub untold: u64,
    pub parked: u64,
    pub quarantined: u64,
    /// The restart scan starts here.
    pub low_water: u64,
    /// Active messages below the mark.
    pub carried: u64,
    /// At most a hundred problems in words.
    pub problems: Vec<String>,
    /// Problems that are not listed.
    pub more_problems: u64,
    /// Worth knowing, but no damage.
    pub remarks: Vec<String>,
}

/// Checks the store in a data folder, or a database file.
pub fn fsck(path: &Path) -> StoreResult<FsckReport> {
    let path = schema::main_path(path);
    if !path.is_file() {
        return Err(failed(format!("{} is not there", path.display())));
    }
    let mut report = FsckReport::default();
    // A connection would forget what it cannot read, and what shows the damage.
    if let Err(error) = wal::unless_in_use(&path) {
        report.problem(error.to_string());
        return Ok(report);
    }
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(&path, flags)?;
    match schema::check_version(&connection, &path) {
        // A backup of another release has another version, which is no error.
        Ok(version @ 1..) => report.schema = version,
        Ok(version) => {
            report.problem(format!("schema version {version}: not a store of smsc"));
            return Ok(report);
        }
        Err(error) => {
            report.problem(error.to_string());
            return Ok(report);
        }
    }
    // Damage can make any statement fail: that is a finding, not an internal error.
    if let Err(error) = report.check_all(&connection) {
        report.problem(format!("reading stopped: {error}"));
    }
    Ok(report)
}

// === impl FsckReport ===

impl FsckReport {
    /// Whether nothing is wrong.
    pub fn is_clean(&self) -> bool {
        self.problems.is_empty() && self.more_problems == 0
    }

    fn problem(&mut self, text: String) {
        if self.problems.len() < MAX_PROBLEMS {
            self.problems.push(text);
        } else {
            self.more_problems += 1;
        }
    }

    fn check_all(&mut self, connection: &Connection) -> rusqlite::Result<()> {
        let snapshot = connection.unchecked_transaction()?;
        self.check_integrity(&snapshot)?;
        if self.schema == schema::SCHEMA_VERSION {
            let problem = schema_check::problem(&snapshot)?;
            problem
                .into_iter()
                .for_each(|what| self.problem(format!("schema: {what}")));
        }
        self.count(&snapshot)?;
        self.check_owners(&snapshot)?;
        self.check_states(&snapshot)?;
        self.check_low_water(&snapshot)?;
        self.check_times(&snapshot)?;
        self.check_settings(&snapshot)?;
        self.check_balances(&snapshot)?;
        self.check_rows(&snapshot)
    }

    /// Every row is as it was written.
    fn check_rows(&mut self, connection: &Connection) -> rusqlite::Result<()> {
        damage::each(connection, &mut |row| {
            let of = match &*row.table {
                "outbox" | "dead" => "number",
                _ => "of message",
            };
            self.problem(format!("{} row {of} {}: {}", row.table, row.id, row.why));
        })?;
        let unsealed = if self.schema < schema::WITH_DAMAGED {
            self.messages
        } else {
            damage::unsealed(connection)?
        };
        if unsealed > 0 {
            self.remarks.push(format!(
                "{unsealed} messages have no checksum: an earlier release has accepted them"
            ));
        }
        Ok(())
    }

    /// No balance is below zero, or above what was put into it.
    fn check_balances(&mut self, connection: &Connection) -> rusqlite::Result<()> {
        if !connection.table_exists(None, "purse")? {
            return Ok(());
        }
        for (account, credits, put_in) in balance::wrong_balances(connection)? {
            self.problem(format!(
                "purse: account {account} has {credits} credits, of {put_in} that were put in"
            ));
        }
        Ok(())
    }

    /// The configuration matches its history.
    fn check_settings(&mut self, connection: &Connection) -> rusqlite::Result<()> {
        if self.schema < schema::WITH_SETTINGS {
            return Ok(());
        }
        self.configuration = settings::version(connection)?;
        for problem in settings::problems(connection)? {
            self.problem(problem);
        }
        Ok(())
    }

    fn check_integrity(&mut self, connection: &Connection) -> rusqlite::Result<()> {
        let mut statement = connection.prepare("PRAGMA integrity_check(100)")?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let text: String = row.get(0)?;
            if text != "ok" {
                self.problem(format!("integrity: {text}"));
            }
        }
        Ok(())
    }

    fn count(&mut self, connection: &Connection) -> rusqlite::Result<()> {
        let one = |sql: &str| count(connection, sql, []);
        self.messages = one("SELECT count(*) FROM msg")?;
        self.enroute = one(
            "SELECT count(*) FROM msg m WHERE NOT EXISTS(SELECT 1 FROM fin f WHERE f.id=m.id)",
        )?;
        self.untold = one(
            "SELECT count(*) FROM fin f WHERE f.tell<>0 AND EXISTS(SELECT 1 FROM msg m WHERE m.id=f.id)
             AND NOT EXISTS(SELECT 1 FROM told t WHERE t.id=f.id)",
        )?;
        self.parked = one("SELECT count(*) FROM parked")?;
        self.quarantined = one("SELECT count(*) FROM dead")?;
        self.low_water = meta(connection, "low_water")?;
        let mut statement = connection.prepare("SELECT state, count(*) FROM fin GROUP BY state")?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let (state, count): (i32, i64) = (row.get(0)?, row.get(1)?);
            let name = MessageState::try_from(state).map_or_else(
                |_| format!("unknown {state}"),
                |state| {
                    let name = state.as_str_name();
                    name.trim_start_matches("MESSAGE_STATE_").to_owned()
                },
            );
            self.states.insert(name, count as u64);
        }
        Ok(())
    }

    /// Every row belongs to a message. Rows of retired messages may have come late.
    fn check_owners(&mut self, connection: &Connection) -> rusqlite::Result<()> {
        let retired = meta(connection, "retired_upto")? as i64;
        for table in ["sent", "resent", "fin", "told", "retry", "change", "tries"] {
            self.list(
                connection,
                &format!(
                    "SELECT DISTINCT t.id FROM {table} t WHERE t.id > ?1
                     AND NOT EXISTS(SELECT 1 FROM msg m WHERE m.id = t.id)"
                ),
                retired,
                &format!("{table} row without a message"),
            )?;
        }
        Ok(())
    }

    fn check_states(&mut self, connection: &Connection) -> rusqlite::Result<()> {
        // One final state per message: the key guarantees it, unless the tree is damaged.
        self.list(
            connection,
            "SELECT id FROM fin WHERE id > ?1 GROUP BY id HAVING count(*) > 1",
            0,
            "more than one final state",
        )?;
        self.list(
            connection,
            "SELECT id FROM fin WHERE id > ?1 AND state NOT BETWEEN 2 AND 8",
            0,
            "final row with a state that is not final",
        )?;
        self.list(
            connection,
            "SELECT r.id FROM retry r WHERE r.id > ?1
             AND EXISTS(SELECT 1 FROM fin f WHERE f.id = r.id)",
            0,
            "final message still waits for a retry",
        )
    }

    /// A restart would find every active message.
    fn check_low_water(&mut self, connection: &Connection) -> rusqlite::Result<()> {
        let mark = self.low_water as i64;
        self.carried = count(
            connection,
            "SELECT count(*) FROM carry WHERE id < ?1",
            [mark],
        )?;
        self.list(
            connection,
            "SELECT m.id FROM msg m LEFT JOIN fin f ON f.id = m.id WHERE m.id < ?1
             AND (f.id IS NULL OR (f.tell <> 0 AND NOT EXISTS(SELECT 1 FROM told t WHERE t.id = m.id)))
             AND NOT EXISTS(SELECT 1 FROM carry c WHERE c.id = m.id)",
            mark,
            "active below the low-water mark, not carried",
        )
    }

    fn check_times(&mut self, connection: &Connection) -> rusqlite::Result<()> {
        let odd = "SELECT count(*) FROM msg WHERE abs((id >> 20) - at) > ?1";
        let odd = count(connection, odd, [PLAUSIBLE_MS])?;
        if odd > 0 {
            self.remarks.push(format!(
                "{odd} messages have an id more than an hour away from their time"
            ));
        }
        if self.schema >= schema::WITH_ASIDES
            && let Err(ahead) = id::check(asides::highest_id(connection)?, clock::now_ms())
        {
            self.remarks.push(format!(
                "{ahead}; if that is right now, run `smsc repair-ids`"
            ));
        }
        let early = "SELECT count(*) FROM fin f JOIN msg m ON m.id = f.id WHERE f.at < m.at - ?1";
        let early = count(connection, early, [PLAUSIBLE_MS])?;
        if early > 0 {
            self.remarks.push(format!(
                "{early} messages were final more than an hour before they were accepted"
            ));
        }
        Ok(())
    }

    /// One problem per id that a statement returns.
    fn list(
        &mut self,
        connection: &Connection,
        sql: &str,
        bound: i64,
        what: &str,
    ) -> rusqlite::Result<()> {
        let mut statement = connection.prepare(sql)?;
        let mut rows = statement.query([bound])?;
        while let Some(row) = rows.next()? {
            let id: i64 = row.get(0)?;
            self.problem(format!("message {id}: {what}"));
        }
        Ok(())
    }
}
