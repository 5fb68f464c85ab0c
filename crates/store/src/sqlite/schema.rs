//! The layout of `smsc.db`, and how connections to it are opened.
//!
//! Called at open and by the readers; guarantees that a file is refused that this binary cannot use, and that the
//! linked SQLite has the WAL-reset fix. Every hot table is keyed by the ascending message id, so each insert lands on the right edge of its tree:
//! one index with random keys here would cost a factor of 3.6 in throughput.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};

use crate::{StoreError, StoreResult};

/// The layout that this binary reads and writes, in `PRAGMA user_version`.
pub const SCHEMA_VERSION: i64 = 1 + UPGRADES.len() as i64;
/// The main database, below the data folder.
pub const MAIN_FILE: &str = "smsc.db";
/// The derived database, below the data folder.
pub const INDEX_FILE: &str = "index.db";
/// First SQLite without the WAL-reset corruption race (sqlite.org/wal.html#walresetbug).
const OLDEST_SQLITE: i32 = 3_051_003;
/// How long a statement waits for a lock, should an operator's sqlite3 hold one.
const BUSY_TIMEOUT: Duration = Duration::from_secs(10);
/// Page cache of a connection that writes, KiB. Writing is at the right edge of the tables, or sorted,
/// and the operating system's cache is behind it: a larger one only grows for half an hour.
pub const WRITER_CACHE_KIB: u32 = 8 * 1024;
/// Page cache of a reader, KiB.
const READER_CACHE_KIB: u32 = 2 * 1024;
/// The WAL file is cut back to this after a checkpoint.
const WAL_LIMIT: u64 = 256 * 1024 * 1024;

/// The first attempt of a message is in `sent`, keyed by the id alone, because a second key column
/// costs time on the hot path; further attempts are in `resent`. The view `attempts` joins them.
const DDL: &str = "
CREATE TABLE meta(key TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE names(number INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE msg(id INTEGER PRIMARY KEY, at INT, sender INT, queue INT, priority INT, due_at INT,
  expires_at INT, source TEXT, destination TEXT, numbering INT, body BLOB);
CREATE TABLE sent(id INTEGER PRIMARY KEY, at INT, operator INT, status INT,
  operator_message_id TEXT, latency_ms INT);
CREATE TABLE resent(id INT, attempt INT, at INT, operator INT, status INT,
  operator_message_id TEXT, latency_ms INT, PRIMARY KEY(id, attempt)) WITHOUT ROWID;
CREATE TABLE fin(id INTEGER PRIMARY KEY, at INT, state INT, error TEXT, operator INT, tell INT);
CREATE TABLE told(id INTEGER PRIMARY KEY);
CREATE TABLE retry(id INTEGER PRIMARY KEY, due_at INT, attempts INT);
CREATE TABLE tries(id INT, attempt INT, at INT, operator INT, PRIMARY KEY(id, attempt))
  WITHOUT ROWID;
CREATE TABLE change(id INT, seq INT, at INT, kind INT, queue INT, by TEXT, PRIMARY KEY(id, seq))
  WITHOUT ROWID;
CREATE TABLE parked(id INTEGER PRIMARY KEY, operator INT, operator_message_id TEXT, at INT,
  receipt BLOB);
CREATE TABLE carry(id INTEGER PRIMARY KEY);
CREATE TABLE dead(seq INTEGER PRIMARY KEY, at INT, origin TEXT, id INT, reason TEXT, row BLOB);
CREATE VIEW attempts AS
  SELECT id, 1 AS attempt, at, operator, status, operator_message_id, latency_ms FROM sent
  UNION ALL SELECT * FROM resent;
CREATE VIEW active AS SELECT m.id, m.at, m.sender, m.queue, m.destination,
  CASE WHEN f.id IS NOT NULL THEN 'untold' WHEN s.id IS NOT NULL THEN 'sent' ELSE 'waiting' END
    AS stage
  FROM msg m LEFT JOIN fin f ON f.id = m.id LEFT JOIN sent s ON s.id = m.id AND s.status = 0
  WHERE f.id IS NULL OR (f.tell <> 0 AND NOT EXISTS (SELECT 1 FROM told t WHERE t.id = m.id));
";

/// From each version to the next: the first one makes a store of version 1 one of version 2. What
/// was released stays as it is.
pub const UPGRADES: &[&str] = &[
    SETTINGS,
    ACCESS,
    REPLACE,
    OPT_OUT,
    BALANCE,
    BINDS,
    POLICY,
    DONE_AT,
    AUDIT_DETAIL,
    IDS_ASIDE,
    API_KEYS,
    IDEMPOTENCY,
    OUTBOX,
    MO_RULES,
    GSM,
    NUMBER_RANGES,
    EVENT_SINKS,
    NATS_SOURCES,
    HEARD,
    CHECKSUMS,
    NOTES,
    AUDIT_VERSION,
    FIN_BY_END,
    INCIDENTS,
    TRAFFIC,
    LOGINS,
];

/// Version 2: accounts, operators and routes with their history. Bodies and changes are JSON.
const SETTINGS: &str = "
CREATE TABLE accounts(name TEXT PRIMARY KEY, version INT NOT NULL, body TEXT NOT NULL)
  WITHOUT ROWID;
CREATE TABLE operators(name TEXT PRIMARY KEY, version INT NOT NULL, body TEXT NOT NULL)
  WITHOUT ROWID;
CREATE TABLE routes(name TEXT PRIMARY KEY, version INT NOT NULL, body TEXT NOT NULL)
  WITHOUT ROWID;
CREATE TABLE config_versions(version INTEGER PRIMARY KEY, at INT NOT NULL, who TEXT NOT NULL,
  what TEXT NOT NULL, changes TEXT NOT NULL);
";
/// The first version with the tables of [`SETTINGS`].
pub const WITH_SETTINGS: i64 = 2;

/// Version 3: tokens of the admin API, and its audit log, whose ids carry the time as those of messages do.
const ACCESS: &str = "
CREATE TABLE tokens(name TEXT PRIMARY KEY, hash BLOB NOT NULL UNIQUE, role TEXT NOT NULL,
  created_at INT NOT NULL, created_by TEXT NOT NULL, expires_at INT NOT NULL, used_at INT NOT NULL);
CREATE TABLE audit(id INTEGER PRIMARY KEY, token TEXT NOT NULL, role TEXT NOT NULL,
  address TEXT NOT NULL, method TEXT NOT NULL, path TEXT NOT NULL, status INT NOT NULL,
  node INT NOT NULL);
";

/// Version 4: messages that are replaced while they wait.
const REPLACE: &str = "
ALTER TABLE change ADD COLUMN expires_at INT NOT NULL DEFAULT 0;
ALTER TABLE change ADD COLUMN body BLOB;
";

/// Version 5: opt-outs. Removed ones are kept for a day.
const OPT_OUT: &str = "
CREATE TABLE opt_out(account TEXT NOT NULL, number TEXT NOT NULL, out INT NOT NULL, at INT NOT NULL,
  who TEXT NOT NULL, version INT NOT NULL UNIQUE, PRIMARY KEY(account, number)) WITHOUT ROWID;
CREATE INDEX opt_out_off ON opt_out(at) WHERE out = 0;
";

/// Version 6: balances and quotas of accounts (day 0: the balance, else days since 1970), and what was
/// put into balances.
const BALANCE: &str = "
CREATE TABLE purse(account INT NOT NULL, day INT NOT NULL, credits INT NOT NULL,
  PRIMARY KEY(account, day)) WITHOUT ROWID;
CREATE TABLE top_ups(id INTEGER PRIMARY KEY, account INT NOT NULL, amount INT NOT NULL,
  reference TEXT, by TEXT NOT NULL);
CREATE UNIQUE INDEX top_ups_by_reference ON top_ups(account, reference);
";

/// Version 7: the bind of an attempt.
const BINDS: &str = "
ALTER TABLE sent ADD COLUMN bind INT NOT NULL DEFAULT 0;
ALTER TABLE resent ADD COLUMN bind INT NOT NULL DEFAULT 0;
DROP VIEW attempts;
CREATE VIEW attempts AS
  SELECT id, 1 AS attempt, at, operator, status, operator_message_id, latency_ms, bind FROM sent
  UNION ALL SELECT * FROM resent;
";

/// Version 8: lists, limits and the policy of all accounts, beside the other resources of [`SETTINGS`].
const POLICY: &str = "
CREATE TABLE lists(name TEXT PRIMARY KEY, version INT NOT NULL, body TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE limits(name TEXT PRIMARY KEY, version INT NOT NULL, body TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE policies(name TEXT PRIMARY KEY, version INT NOT NULL, body TEXT NOT NULL)
  WITHOUT ROWID;
";

/// Version 9: when a message ended according to its operator, besides when that became known here.
const DONE_AT: &str = "
ALTER TABLE fin ADD COLUMN done_at INT NOT NULL DEFAULT 0;
";

/// Version 10: details of a request that are not in its path.
const AUDIT_DETAIL: &str = "
ALTER TABLE audit ADD COLUMN detail TEXT NOT NULL DEFAULT '';
";

/// Version 11 ([`WITH_ASIDES`]): ids that a wrong clock has left in the future, by their node number.
const IDS_ASIDE: &str = "
CREATE TABLE ids_aside(node INT NOT NULL, first INT NOT NULL, last INT NOT NULL,
  PRIMARY KEY(node, first)) WITHOUT ROWID;
";

/// The first version with the table of [`IDS_ASIDE`].
pub const WITH_ASIDES: i64 = 11;

/// Version 12: who may submit over HTTP for which account.
const API_KEYS: &str = "
CREATE TABLE api_keys(id TEXT PRIMARY KEY, account TEXT NOT NULL, label TEXT NOT NULL,
  hash BLOB NOT NULL UNIQUE, role TEXT NOT NULL, allow TEXT NOT NULL, created_at INT NOT NULL,
  created_by TEXT NOT NULL, expires_at INT NOT NULL, used_at INT NOT NULL) WITHOUT ROWID;
";

/// Version 13: answers to requests with an Idempotency-Key. Keyed by the order of writing, and without an index, as
/// the hot tables; the short columns first, because all rows are read at open.
const IDEMPOTENCY: &str = "
CREATE TABLE idempotency(id INTEGER PRIMARY KEY, account INT NOT NULL, key BLOB NOT NULL,
  at INT NOT NULL, request BLOB NOT NULL, answer BLOB NOT NULL);
";

/// Version 14: events for readers, each row with the ids of one commit (eight octets each, highest first), call detail
/// records, and sums of usage (days since 1970; kind 1 is mobile originated). Row numbers are not used again, so that a finished row is never taken for a new one; the
/// index grows in order, too, once for each reader.
const OUTBOX: &str = "
CREATE TABLE outbox(row INTEGER PRIMARY KEY AUTOINCREMENT, reader INT NOT NULL, kind INT NOT NULL,
  at INT NOT NULL, ids BLOB NOT NULL);
CREATE INDEX outbox_by_reader ON outbox(reader);
CREATE TABLE cdr(id INTEGER PRIMARY KEY, account TEXT NOT NULL, kind TEXT NOT NULL,
  sender TEXT NOT NULL, queue TEXT NOT NULL, source TEXT NOT NULL, destination TEXT NOT NULL,
  accepted_at INT NOT NULL, final_at INT NOT NULL, done_at INT, state TEXT NOT NULL,
  operator TEXT NOT NULL, attempts INT NOT NULL, data_coding INT NOT NULL, octets INT NOT NULL,
  parts INT NOT NULL, error TEXT NOT NULL, network TEXT NOT NULL, replay_of INT, price INT NOT NULL,
  currency TEXT NOT NULL, client_reference TEXT NOT NULL);
CREATE TABLE usage(day INT NOT NULL, account INT NOT NULL, operator INT NOT NULL,
  country TEXT NOT NULL, state INT NOT NULL, kind INT NOT NULL, currency TEXT NOT NULL,
  messages INT NOT NULL, parts INT NOT NULL, price INT NOT NULL,
  PRIMARY KEY(day, account, operator, country, state, kind, currency)) WITHOUT ROWID;
";

/// Version 15: rules for messages that operators bring, beside the other resources of [`SETTINGS`].
const MO_RULES: &str = "
CREATE TABLE mo_rules(name TEXT PRIMARY KEY, version INT NOT NULL, body TEXT NOT NULL) WITHOUT ROWID;
";

/// Version 16: GSM networks, beside them.
const GSM: &str = "
CREATE TABLE gsm(name TEXT PRIMARY KEY, version INT NOT NULL, body TEXT NOT NULL) WITHOUT ROWID;
";

/// Version 17: the number plan, beside them.
const NUMBER_RANGES: &str = "
CREATE TABLE number_ranges(name TEXT PRIMARY KEY, version INT NOT NULL, body TEXT NOT NULL) WITHOUT ROWID;
";

/// Version 18: event sinks, beside them, and what has happened before the end of messages (kind 2 of the outbox: encoded
/// `EarlyEvents`).
const EVENT_SINKS: &str = "
CREATE TABLE event_sinks(name TEXT PRIMARY KEY, version INT NOT NULL, body TEXT NOT NULL) WITHOUT ROWID;
ALTER TABLE outbox ADD COLUMN data BLOB;
";

/// Version 19: sources of commands, beside them.
const NATS_SOURCES: &str = "
CREATE TABLE nats_sources(name TEXT PRIMARY KEY, version INT NOT NULL, body TEXT NOT NULL) WITHOUT ROWID;
";

/// Version 20: what operators have said of messages without ending them: words of no standard (kind 0), and states that may
/// not be the last ones (kind 1), which are final at the time in `due` (0 for never, or when that is done with).
const HEARD: &str = "
CREATE TABLE heard(id INT NOT NULL, kind INT NOT NULL, at INT NOT NULL, operator INT NOT NULL,
  state INT NOT NULL, word TEXT NOT NULL, error TEXT NOT NULL, done_at INT NOT NULL,
  due INT NOT NULL, PRIMARY KEY(id, kind)) WITHOUT ROWID;
CREATE INDEX heard_due ON heard(due, id) WHERE due > 0;
";

/// Version 21: checksums of rows, NULL in those of releases before, and rows that were found damaged.
const CHECKSUMS: &str = "
ALTER TABLE sent ADD COLUMN checksum INT;
ALTER TABLE resent ADD COLUMN checksum INT;
ALTER TABLE fin ADD COLUMN checksum INT;
ALTER TABLE change ADD COLUMN checksum INT;
ALTER TABLE parked ADD COLUMN checksum INT;
ALTER TABLE outbox ADD COLUMN checksum INT;
ALTER TABLE cdr ADD COLUMN checksum INT;
ALTER TABLE dead ADD COLUMN checksum INT;
DROP VIEW attempts;
CREATE VIEW attempts AS
  SELECT id, 1 AS attempt, at, operator, status, operator_message_id, latency_ms, bind, checksum FROM sent
  UNION ALL SELECT * FROM resent;
CREATE TABLE damaged(id INT NOT NULL, origin TEXT NOT NULL, found_at INT NOT NULL, why TEXT NOT NULL,
  legible TEXT NOT NULL, PRIMARY KEY(id, origin)) WITHOUT ROWID;
";
/// The first version with the table `damaged`.
pub const WITH_DAMAGED: i64 = 21;

/// Version 22: notes on resources.
const NOTES: &str = "
CREATE TABLE notes(id INTEGER PRIMARY KEY, about TEXT NOT NULL, text TEXT NOT NULL, by TEXT NOT NULL);
CREATE INDEX notes_by_subject ON notes(about, id);
";

/// Version 23: which version of the configuration a request has made.
const AUDIT_VERSION: &str = "
ALTER TABLE audit ADD COLUMN version INT NOT NULL DEFAULT 0;
";

/// Version 24: what did not end DELIVERED (2), by when it ended. Ends come about in the order of time, so this grows at its
/// right edge; what was delivered is not in it. It has the state, so that a list of some states reads nothing else.
const FIN_BY_END: &str = "
CREATE INDEX fin_by_end ON fin(at, id, state) WHERE state <> 2;
";

/// Version 25: operators and accounts that were not well.
const INCIDENTS: &str = "
CREATE TABLE incidents(id INTEGER PRIMARY KEY, node INT NOT NULL, about TEXT NOT NULL, kind TEXT NOT NULL, text TEXT NOT NULL,
  cause TEXT NOT NULL, began_at INT NOT NULL, seen_at INT NOT NULL, ended_at INT NOT NULL,
  acknowledged_by TEXT NOT NULL, acknowledged_at INT NOT NULL);
";

/// Version 26: what was counted of messages, by the minute and by the hour.
const TRAFFIC: &str = "
CREATE TABLE traffic(step INT NOT NULL, at INT NOT NULL, node INT NOT NULL, counts BLOB NOT NULL, PRIMARY KEY(step, at, node));
";

/// Version 27: when and from where each account has bound last.
const LOGINS: &str = "
CREATE TABLE logins(account TEXT PRIMARY KEY, at INT NOT NULL, address TEXT NOT NULL, bind_type TEXT NOT NULL,
  node INT NOT NULL) WITHOUT ROWID;
";

/// Refuses a SQLite library that can corrupt a WAL database under concurrent checkpoints.
pub fn check_library() -> StoreResult {
    let version = rusqlite::version_number();
    if version < OLDEST_SQLITE {
        return Err(failed(format!(
            "SQLite {} is too old: 3.51.3 or later is needed (WAL-reset fix)",
            rusqlite::version()
        )));
    }
    Ok(())
}

/// Opens `smsc.db` for the writer, creates its tables when the file is new, and brings an older file
/// up to this binary's layout.
pub fn open_main(path: &Path, wal_autocheckpoint: u32) -> StoreResult<Connection> {
    let connection = Connection::open(path).map_err(|error| cannot_open(path, &error))?;
    prepare_main(&connection, path, wal_autocheckpoint)?;
    Ok(connection)
}

fn prepare_main(connection: &Connection, path: &Path, pages: u32) -> StoreResult {
    let sql = |error: rusqlite::Error| cannot_open(path, &error);
    connection.busy_timeout(BUSY_TIMEOUT).map_err(sql)?;
    // Before anything is written: a file that cannot be used must stay as it is.
    let version = check_version(connection, path)?;
    if version > SCHEMA_VERSION {
        tracing::warn!(
            version,
            "the store is of a newer release, which leaves this one what it needs"
        );
    }
    connection
        .execute_batch(&format!(
            "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA wal_autocheckpoint={pages};
             PRAGMA journal_size_limit={WAL_LIMIT}; PRAGMA cache_size=-{WRITER_CACHE_KIB};
             PRAGMA temp_store=MEMORY; PRAGMA foreign_keys=OFF; PRAGMA mmap_size=0;"
        ))
        .map_err(sql)?;
    let mode: String = connection
        .query_row("PRAGMA journal_mode", [], |row| row.get(0))
        .map_err(sql)?;
    if mode != "wal" {
        return Err(failed(format!(
            "{} cannot use a write-ahead log (journal mode {mode}); put data_dir on a local disk",
            path.display()
        )));
    }
    if version < SCHEMA_VERSION {
        connection
            .execute_batch(&format!(
                "BEGIN IMMEDIATE; {} PRAGMA user_version={SCHEMA_VERSION}; COMMIT;",
                upgrade(version)
            ))
            .map_err(sql)?;
    }
    Ok(())
}

/// What brings a store of this version (0: an empty file) to this binary's.
pub fn upgrade(version: i64) -> String {
    let first = if version == 0 { DDL } else { "" };
    let done = usize::try_from(version - 1).unwrap_or(0);
    let mut sql = first.to_owned();
    for step in UPGRADES.iter().skip(done) {
        sql.push_str(step);
    }
    sql
}

/// Opens `smsc.db` read-only.
pub fn open_reader(path: &Path) -> StoreResult<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection =
        Connection::open_with_flags(path, flags).map_err(|error| cannot_open(path, &error))?;
    connection
        .busy_timeout(BUSY_TIMEOUT)
        .and_then(|()| {
            connection.execute_batch(&format!(
                "PRAGMA cache_size=-{READER_CACHE_KIB}; PRAGMA temp_store=MEMORY;
                 PRAGMA mmap_size=0; PRAGMA query_only=ON;"
            ))
        })
        .map_err(|error| cannot_open(path, &error))?;
    connection.set_prepared_statement_cache_capacity(64);
    Ok(connection)
}

/// The schema version of a file, 0 for a new one; an error when this binary cannot use it: it is newer, and
/// `meta.oldest_schema`, which an upgrade sets that takes something away, is newer as well.
pub fn check_version(connection: &Connection, path: &Path) -> StoreResult<i64> {
    let sql = |error: rusqlite::Error| cannot_open(path, &error);
    let version: i64 = connection
        .query_row("PRAGMA user_version", [], |row| row.get(0))
        .map_err(sql)?;
    if version <= SCHEMA_VERSION {
        return Ok(version);
    }
    // Without that table it is nobody's store.
    let oldest = meta(connection, "oldest_schema").unwrap_or(u64::MAX);
    if i64::try_from(oldest).is_ok_and(|oldest| oldest <= SCHEMA_VERSION) {
        return Ok(version);
    }
    Err(failed(format!(
        "{} has schema version {version}, which has taken away what this release needs (it knows up to \
         {SCHEMA_VERSION}): run a newer release",
        path.display()
    )))
}

/// `smsc.db` for a data folder, or the path itself when it is a file.
pub fn main_path(path: &Path) -> PathBuf {
    if path.is_dir() {
        path.join(MAIN_FILE)
    } else {
        path.to_path_buf()
    }
}

/// A number of the `meta` table, 0 when it was never set.
pub fn meta(connection: &Connection, key: &str) -> rusqlite::Result<u64> {
    let mut statement = connection.prepare_cached("SELECT value FROM meta WHERE key = ?1")?;
    let mut rows = statement.query([key])?;
    Ok(match rows.next()? {
        Some(row) => row.get::<_, i64>(0)? as u64,
        None => 0,
    })
}

/// The number that a statement gives, such as a count.
pub fn count(
    connection: &Connection,
    sql: &str,
    parameters: impl rusqlite::Params,
) -> rusqlite::Result<u64> {
    connection.query_row(sql, parameters, |row| Ok(row.get::<_, i64>(0)? as u64))
}

/// Sets a number of the `meta` table.
pub fn set_meta(connection: &Connection, key: &str, value: u64) -> rusqlite::Result<()> {
    let sql = "INSERT INTO meta(key, value) VALUES(?1, ?2)
        ON CONFLICT(key) DO UPDATE SET value = excluded.value";
    connection
        .prepare_cached(sql)?
        .execute((key, value as i64))
        .map(drop)
}

/// All interned names.
pub fn names(connection: &Connection) -> rusqlite::Result<Vec<(u32, String)>> {
    connection
        .prepare("SELECT number, name FROM names ORDER BY number")?
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect()
}

/// A [`StoreError::Failed`] with this text.
pub fn failed(text: impl Into<String>) -> StoreError {
    StoreError::Failed(text.into())
}

/// The caller's error for a failed statement.
pub fn sql_failed(error: rusqlite::Error) -> StoreError {
    failed(error.to_string())
}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        sql_failed(error)
    }
}

fn cannot_open(path: &Path, error: &rusqlite::Error) -> StoreError {
    failed(format!("cannot open {}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_where_their_numbers_say() {
        for (version, step) in [
            (WITH_SETTINGS, SETTINGS),
            (WITH_ASIDES, IDS_ASIDE),
            (WITH_DAMAGED, CHECKSUMS),
        ] {
            // The first step makes version 2.
            assert_eq!(UPGRADES[version as usize - 2], step, "{version}");
        }
    }

    #[test]
    fn a_step_that_takes_something_away_says_who_can_live_with_it() {
        // Releases before refuse every newer schema.
        const BEFORE: usize = 14;
        for step in UPGRADES.iter().skip(BEFORE) {
            let takes = ["DROP TABLE", "DROP COLUMN", "RENAME "];
            let takes = takes.iter().any(|words| step.contains(words));
            assert!(!takes || step.contains("oldest_schema"), "{step}");
        }
    }
}
