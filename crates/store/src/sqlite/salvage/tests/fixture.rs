//! What the tests of salvage need: a store with messages of each kind, and what is compared afterwards.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::LazyLock;

use bytes::Bytes;
use rusqlite::Connection;
use rusqlite::types::Value;
use tempfile::TempDir;

use super::super::{MissingRows, SalvageReport, salvage};
use crate::damage::DamageStore as _;
use crate::settings::{Edit, SettingsStore as _};
use crate::sqlite::{SqliteOptions, SqliteStore};
use crate::{ChangeKind, ChangeRow, FinRow, ParkedRow, RetryRow, SentRow, TryRow};
use crate::{Store as _, WriteBatch};
use smsc_domain::settings::{ResourceKey, ResourceKind, ResourceUpdate};
use smsc_proto::{Message, MessageState};

/// Enough for a tree of three levels.
const MESSAGES: u64 = 3_000;
pub const TABLES: [&str; 14] = [
    "msg", "sent", "resent", "fin", "told", "retry", "tries", "change", "parked", "names", "purse",
    "accounts", "opt_out", "api_keys",
];

/// Files of a store: smsc.db, its log, and the index of that.
#[derive(Clone, Default)]
pub struct StoreFiles {
    pub main: Vec<u8>,
    pub log: Vec<u8>,
    pub index: Vec<u8>,
}

pub type TableRows = BTreeMap<String, Vec<Value>>;

fn id(n: u64) -> u64 {
    ((1_700_000_000_000 + n * 7) << 20) | (n % 4096)
}

fn message(n: u64) -> Message {
    let long = match n % 500 {
        0 => 6_000,
        _ => 700 + n as usize % 90,
    };
    Message {
        id: id(n),
        sender: 1 + (n % 3) as u32,
        queue: 4 + (n % 2) as u32,
        accepted_at: (id(n) >> 20) as i64,
        expires_at: 9_000_000_000_000,
        source: Bytes::from_static(b"SENDER"),
        destination: Bytes::from(format!("4179{n:07}")),
        short_message: Bytes::from(format!("text number {n} {}", "x".repeat(long))),
        ..Message::default()
    }
}

fn sent(n: u64, attempt: u32, status: u32) -> SentRow {
    SentRow {
        id: id(n),
        attempt,
        at: 1_700_000_000_000 + n as i64,
        operator: 3,
        status,
        operator_message_id: Bytes::from(format!("theirs-{n}")),
        latency_ms: 12,
        correlation: 0,
        bind: 17,
        known_as: None,
    }
}

fn fin(n: u64, state: MessageState, tell: u32) -> FinRow {
    FinRow {
        at: 1_700_000_000_500 + n as i64,
        state,
        error: Bytes::from_static(b"000"),
        operator: 3,
        tell,
        done_at: 1_700_000_000_400,
        ..FinRow::damaged(id(n))
    }
}

/// A message of each kind, in turn.
fn add(batch: &mut WriteBatch, n: u64) {
    batch.accept.push(message(n));
    let change = |kind| ChangeRow {
        id: id(n),
        at: 5,
        kind,
        queue: 5,
        by: "alice".to_owned(),
        expires_at: 8_000_000_000_000,
        body: Bytes::new(),
    };
    match n % 8 {
        0 => batch.sent.push(sent(n, 1, 0)),
        1 => {
            batch.sent.extend([sent(n, 1, 8), sent(n, 2, 0)]);
            batch.fin.push(fin(n, MessageState::Delivered, 4));
        }
        2 => {
            batch.sent.push(sent(n, 1, 0));
            batch.fin.push(fin(n, MessageState::Undeliverable, 4));
            batch.told.push(id(n));
        }
        3 => {
            batch.sent.push(sent(n, 1, 8));
            batch.retry.push(RetryRow {
                id: id(n),
                due_at: 77,
                attempts: 1,
            });
        }
        4 => batch.tries.push(TryRow {
            id: id(n),
            attempt: 1,
            at: 5,
            operator: 3,
        }),
        5 => {
            batch.fin.push(fin(n, MessageState::Deleted, 0));
            batch.change.push(change(ChangeKind::Cancel));
        }
        6 => batch.fin.push(fin(n, MessageState::Delivered, 0)),
        _ => {}
    }
    if n.is_multiple_of(100) {
        batch.park.push(ParkedRow {
            id: id(MESSAGES + n),
            operator: 3,
            operator_message_id: Bytes::from(format!("unknown-{n}")),
            at: 5,
            receipt: Bytes::from_static(b"receipt"),
        });
    }
}

pub fn open(folder: &Path) -> SqliteStore {
    let options = SqliteOptions {
        min_free_mib: 1,
        search_index: false,
        wal_autocheckpoint: 1_000_000,
        ..SqliteOptions::new(folder)
    };
    SqliteStore::open(options).expect("opens")
}

fn fill_store(store: &SqliteStore) {
    for name in [
        "account:a",
        "account:b",
        "account:c",
        "operator:up",
        "operator:down",
    ] {
        store.intern(name).expect("interned");
    }
    for (version, name) in (0..).zip(["a", "b", "c"]) {
        let change = ResourceUpdate {
            key: ResourceKey::new(ResourceKind::Account, name),
            before: None,
            after: Some(format!("{{\"system_id\":\"{name}\"}}")),
        };
        let edit = Edit {
            expected: version,
            at: 5,
            who: "alice".to_owned(),
            what: "added".to_owned(),
            changes: vec![change],
        };
        store.edit_settings(edit).wait().expect("edited");
    }
    for first in (1..=MESSAGES).step_by(50) {
        let mut batch = WriteBatch::default();
        (first..first + 50).for_each(|n| add(&mut batch, n));
        store.write(batch).wait().expect("written");
    }
    // Their pages are free afterwards, with the rows still on them.
    store
        .retire(1_700_000_000_500 + 300, 10_000)
        .wait()
        .expect("retired");
}

/// A store that was closed, and one whose process was killed.
pub static FILES: LazyLock<[StoreFiles; 2]> = LazyLock::new(|| {
    let folder = tempfile::tempdir().expect("a folder");
    let store = open(folder.path());
    fill_store(&store);
    let killed = read_files(folder.path());
    drop(store);
    [read_files(folder.path()), killed]
});

pub fn read_files(folder: &Path) -> StoreFiles {
    let read = |name| std::fs::read(folder.join(name)).unwrap_or_default();
    StoreFiles {
        main: read("smsc.db"),
        log: read("smsc.db-wal"),
        index: read("smsc.db-shm"),
    }
}

/// A folder with these files; empty ones are not there.
pub fn folder_of(files: &StoreFiles) -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, octets) in [
        ("smsc.db", &files.main),
        ("smsc.db-wal", &files.log),
        ("smsc.db-shm", &files.index),
    ] {
        if !octets.is_empty() {
            std::fs::write(folder.path().join(name), octets).expect("written");
        }
    }
    folder
}

/// Text and other octets are the same, and so are no number and 0: a reader tells no difference where they pass.
fn octets(value: rusqlite::Result<Value>) -> rusqlite::Result<Value> {
    Ok(match value? {
        Value::Text(text) => Value::Blob(text.into_bytes()),
        Value::Null => Value::Integer(0),
        other => other,
    })
}

/// All rows of a table by their keys.
pub fn rows(folder: &Path, table: &str) -> TableRows {
    let store = Connection::open(folder.join("smsc.db")).expect("opens");
    let keys = match table {
        "resent" | "tries" | "change" | "purse" | "opt_out" => 2,
        _ => 1,
    };
    let mut select = store
        .prepare(&format!("SELECT * FROM {table}"))
        .expect("prepared");
    let columns = select.column_count();
    let read = select.query_map([], |row| {
        (0..columns).map(|column| octets(row.get(column))).collect()
    });
    read.expect("read")
        .map(|row: rusqlite::Result<Vec<Value>>| {
            let row = row.expect("a row");
            (format!("{:?}", &row[..keys]), row)
        })
        .collect()
}

pub fn all(folder: &Path) -> BTreeMap<&'static str, TableRows> {
    TABLES.map(|table| (table, rows(folder, table))).into()
}

pub static BEFORE: LazyLock<BTreeMap<&'static str, TableRows>> = LazyLock::new(|| {
    let folder = folder_of(&FILES[0]);
    all(folder.path())
});

pub fn ids(rows: &TableRows) -> BTreeSet<i64> {
    let id = |row: &Vec<Value>| match row[0] {
        Value::Integer(id) => id,
        _ => 0,
    };
    rows.values().map(id).collect()
}

fn has(missing: &[MissingRows], id: i64) -> bool {
    let id = id as u64;
    missing
        .iter()
        .any(|range| range.from <= id && id <= range.to)
}

/// Compares a new store with what was written.
pub fn compare(to: &Path, report: &SalvageReport) {
    let said = serde_json::to_string(report).expect("JSON");
    assert_eq!(report.problems, Vec::<String>::new(), "{said}");
    let after = all(to);
    let damaged = ids(&rows(to, "damaged"));
    let ended = |row: &Vec<Value>| row.contains(&Value::Blob(b"damaged".to_vec()));
    for table in ["msg", "sent", "resent", "fin", "parked"] {
        for (key, row) in &after[table] {
            let is_ours = BEFORE[table].get(key) == Some(row);
            assert!(is_ours || table == "fin" && ended(row), "{table} {row:?}");
        }
    }
    let missing = &report.tables.get("msg").map_or(&[][..], |msg| &msg.missing);
    for id in ids(&BEFORE["msg"]).difference(&ids(&after["msg"])) {
        let is_named = damaged.contains(id) || has(missing, *id);
        assert!(is_named, "message {id} is gone and not named: {said}");
    }
    // What goes on is as it was: it has not ended, and every attempt is known.
    let had_ended = ids(&BEFORE["fin"]);
    let waiting: BTreeSet<i64> = (ids(&after["msg"]).difference(&ids(&after["fin"])))
        .copied()
        .collect();
    for id in &waiting {
        assert!(!had_ended.contains(id), "message {id} had ended: {said}");
    }
    // TableRows of `tries` have no checksum that would tell another id.
    for table in ["sent", "resent", "change"] {
        let of = |rows: &TableRows| -> BTreeSet<i64> {
            ids(rows).intersection(&waiting).copied().collect()
        };
        let (was, is) = (of(&BEFORE[table]), of(&after[table]));
        let other: Vec<&i64> = was.symmetric_difference(&is).collect();
        assert!(other.is_empty(), "{table} {other:?}: {said}");
    }
    let store = open(to);
    let mut active = 0;
    store.recover(None, &mut |_| active += 1).expect("recovers");
    assert_eq!(store.take_damage(), Vec::new());
}

/// Salvages a store, and compares.
pub fn salvaged(files: &StoreFiles) -> (SalvageReport, BTreeMap<&'static str, TableRows>) {
    let from = folder_of(files);
    let to = tempfile::tempdir().expect("a folder");
    let report = salvage(from.path(), to.path(), false).expect("salvaged");
    let same = read_files(from.path());
    assert!(same.main == files.main && same.log == files.log && same.index == files.index);
    let left = std::fs::read_dir(from.path()).expect("read").count();
    let there = [&files.main, &files.log, &files.index];
    assert_eq!(left, there.iter().filter(|file| !file.is_empty()).count());
    let after = all(to.path());
    compare(to.path(), &report);
    (report, after)
}

/// Whether every row is there.
pub fn assert_same(after: &BTreeMap<&'static str, TableRows>) {
    for table in TABLES {
        let missing: Vec<_> = (BEFORE[table].keys())
            .filter(|key| !after[table].contains_key(*key))
            .collect();
        assert!(missing.is_empty(), "{table}: {missing:?}");
        assert!(after[table] == BEFORE[table], "{table}");
    }
}

/// A number that the caller of the tests gives.
pub fn given(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}
