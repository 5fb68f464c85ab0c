//! Specific to the embedded store: its files, its locks, and faults of a disk.

mod full_disk;
mod idempotency;
mod log;
mod schema;
pub mod side_tables;

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use rusqlite::Connection;
use smsc::pb::{Message, MessageState};
use smsc::store::sqlite::{
    Hooks, INDEX_FILE, MAIN_FILE, SCHEMA_VERSION, SqliteOptions, SqliteStore, fsck,
};
use smsc::store::{FinRow, RetryRow, Search, SentRow, Store, StoreError, WriteBatch, Written};

/// Makes the test binary the process that is killed.
const CHILD: &str = "SMSC_TEST_STORE_CHILD";
/// SQLite's result codes for a full disk and a failed fsync.
const SQLITE_FULL: i32 = 13;
const SQLITE_IOERR_FSYNC: i32 = 1034;

fn options(folder: &Path) -> SqliteOptions {
    SqliteOptions {
        min_free_mib: 1,
        ..SqliteOptions::new(folder)
    }
}

fn open(folder: &Path) -> SqliteStore {
    SqliteStore::open(options(folder)).expect("opens")
}

/// How often a failed fsync has ended the store, and the hook that counts it.
fn counting_ends() -> (Arc<AtomicUsize>, impl Fn(&str) + Send + Sync) {
    let ended = Arc::new(AtomicUsize::new(0));
    let theirs = Arc::clone(&ended);
    let fatal = move |reason: &str| {
        assert!(reason.contains(&SQLITE_IOERR_FSYNC.to_string()), "{reason}");
        theirs.fetch_add(1, Ordering::SeqCst);
    };
    (ended, fatal)
}

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("a folder")
}

fn id(n: u64) -> u64 {
    ((1_700_000_000_000 + n / 1000) << 20) | (n % 1000)
}

fn message(id: u64) -> Message {
    Message {
        id,
        sender: 1,
        queue: 2,
        accepted_at: (id >> 20) as i64,
        destination: Bytes::from(format!("41{}", id & 0xFFF)),
        short_message: Bytes::from_static(b"hello"),
        ..Message::default()
    }
}

fn accept(ids: impl IntoIterator<Item = u64>) -> WriteBatch {
    let accept = ids.into_iter().map(message).collect();
    WriteBatch {
        accept,
        ..WriteBatch::default()
    }
}

fn fin(ids: impl IntoIterator<Item = u64>) -> WriteBatch {
    let row = |id| FinRow {
        id,
        at: (id >> 20) as i64,
        state: MessageState::Delivered,
        error: Bytes::new(),
        operator: 1,
        tell: 0,
        done_at: 0,
        remote_item: Bytes::new(),
        remote_part: 0,
    };
    WriteBatch {
        fin: ids.into_iter().map(row).collect(),
        ..WriteBatch::default()
    }
}

fn active(store: &SqliteStore) -> Vec<u64> {
    let mut ids = Vec::new();
    store
        .recover(None, &mut |active| ids.push(active.id))
        .expect("recovers");
    ids
}

fn until(what: &str, mut done: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_secs(20);
    while !done() {
        assert!(Instant::now() < end, "waited in vain: {what}");
        std::thread::park_timeout(Duration::from_millis(5));
    }
}

#[test]
fn a_newer_schema_refuses_an_older_binary_and_is_left_alone() {
    let folder = folder();
    let path = folder.path().join(MAIN_FILE);
    let other = Connection::open(&path).unwrap();
    other
        .execute_batch("PRAGMA user_version=99; CREATE TABLE t(a)")
        .unwrap();
    drop(other);
    let before = std::fs::read(&path).unwrap();
    let error = SqliteStore::open(options(folder.path()))
        .err()
        .unwrap()
        .to_string();
    assert!(error.contains("schema version 99"), "{error}");
    assert_eq!(std::fs::read(&path).unwrap(), before);
    assert!(!fsck(&path).unwrap().is_clean());
}

#[test]
fn a_newer_schema_is_used_until_something_is_taken_away() {
    let folder = folder();
    drop(open(folder.path()));
    let path = folder.path().join(MAIN_FILE);
    let newer = SCHEMA_VERSION + 1;
    let upgrade = |sql: &str| {
        let sql = format!("{sql}; PRAGMA user_version={newer}");
        Connection::open(&path)
            .unwrap()
            .execute_batch(&sql)
            .unwrap();
    };
    for table in [
        "msg", "sent", "fin", "told", "retry", "tries", "change", "parked", "carry", "names",
    ] {
        upgrade(&format!("ALTER TABLE {table} ADD COLUMN news TEXT"));
    }
    upgrade("CREATE TABLE news(id INTEGER PRIMARY KEY)");
    let store = open(folder.path());
    store.intern("account:test").unwrap();
    let batch = WriteBatch {
        accept: vec![message(id(1)), message(id(2))],
        sent: vec![SentRow {
            id: id(1),
            attempt: 1,
            at: 5,
            operator: 1,
            status: 0,
            operator_message_id: Bytes::from_static(b"theirs"),
            latency_ms: 3,
            correlation: 0,
            bind: 0,
            known_as: None,
        }],
        told: vec![id(1)],
        retry: vec![RetryRow {
            id: id(2),
            due_at: 5,
            attempts: 1,
        }],
        ..fin([id(1)])
    };
    store.write(batch).wait().unwrap();
    assert_eq!(store.stats().quarantined, 0);
    drop(store);
    assert!(fsck(&path).unwrap().is_clean());
    let connection = Connection::open(&path).unwrap();
    let version: i64 = connection
        .query_row("PRAGMA user_version", [], |row| row.get(0))
        .unwrap();
    assert_eq!(version, newer, "it stays what the newer release made it");
    drop(connection);

    upgrade(&format!(
        "INSERT INTO meta VALUES('oldest_schema', {newer})"
    ));
    let refused = SqliteStore::open(options(folder.path())).err();
    let text = refused.expect("refused").to_string();
    assert!(text.contains("run a newer release"), "{text}");
}

#[test]
fn a_second_process_on_the_same_folder_is_refused() {
    let folder = folder();
    let store = open(folder.path());
    let error = SqliteStore::open(options(folder.path()))
        .err()
        .unwrap()
        .to_string();
    assert!(error.contains("in use by another smsc process"), "{error}");
    drop(store);
    open(folder.path());
}

#[test]
fn a_damaged_index_is_built_again() {
    let folder = folder();
    let store = open(folder.path());
    store.write(accept((1..=200).map(id))).wait().unwrap();
    until("indexed", || store.stats().index_lag == 0);
    drop(store);
    for damage in [
        &b"this is not a database, it only looks like a file"[..],
        &[0xAA; 40_000],
    ] {
        std::fs::write(folder.path().join(INDEX_FILE), damage).unwrap();
        let store = open(folder.path());
        let search = Search {
            to: Some("4142".to_owned()),
            limit: 5,
            ..Search::default()
        };
        until("searchable", || {
            let page = store.search(search.clone()).wait().unwrap();
            page.messages.len() == 1 && store.stats().index_lag == 0
        });
        store.spill_correlations(1, vec![(1, 2)]).wait().unwrap();
        assert_eq!(
            store.find_correlations(vec![1], 0).wait(),
            Ok(vec![Some(2)])
        );
    }
}

#[test]
fn search_by_destination_names_the_setting_that_is_off() {
    let folder = folder();
    let options = SqliteOptions {
        search_index: false,
        ..options(folder.path())
    };
    let store = SqliteStore::open(options).unwrap();
    store.write(accept([id(1)])).wait().unwrap();
    let search = Search {
        to: Some("411".to_owned()),
        limit: 5,
        ..Search::default()
    };
    let error = store.search(search).wait().unwrap_err().to_string();
    assert!(error.contains("store.search_index"), "{error}");
    let page = store
        .search(Search {
            limit: 5,
            ..Search::default()
        })
        .wait()
        .unwrap();
    assert_eq!(page.messages.len(), 1);
}

#[test]
fn fsck_finds_planted_damage() {
    for (damage, finding) in [
        (
            "DELETE FROM msg WHERE id = (SELECT min(id) FROM fin)",
            "fin row without a message",
        ),
        (
            "INSERT INTO retry SELECT min(id), 1, 1 FROM fin",
            "still waits for a retry",
        ),
        (
            "INSERT INTO meta VALUES('low_water', (SELECT max(id) FROM msg))",
            "not carried",
        ),
        ("UPDATE fin SET state = 1", "not final"),
        ("INSERT INTO told VALUES(5)", "told row without a message"),
    ] {
        let folder = folder();
        let store = open(folder.path());
        store.write(accept((1..=50).map(id))).wait().unwrap();
        store.write(fin((1..=20).map(id))).wait().unwrap();
        drop(store);
        let report = fsck(folder.path()).unwrap();
        assert!(report.is_clean(), "{report:?}");
        assert_eq!((report.messages, report.enroute), (50, 30));
        assert_eq!(report.states.get("DELIVERED"), Some(&20));
        let path = folder.path().join(MAIN_FILE);
        Connection::open(&path)
            .unwrap()
            .execute_batch(damage)
            .unwrap();
        let report = fsck(folder.path()).unwrap();
        assert!(
            report.problems.iter().any(|text| text.contains(finding)),
            "{damage}: {report:?}"
        );
    }
}

#[test]
fn fsck_finds_broken_pages() {
    let folder = folder();
    let store = open(folder.path());
    store.write(accept((1..=2000).map(id))).wait().unwrap();
    drop(store);
    let path = folder.path().join(MAIN_FILE);
    let mut octets = std::fs::read(&path).unwrap();
    let middle = octets.len() / 2;
    octets[middle..middle + 8192].fill(0x5A);
    std::fs::write(&path, octets).unwrap();
    assert!(!fsck(folder.path()).unwrap().is_clean());
    assert!(fsck(&folder.path().join("nothing")).is_err());
}

#[test]
fn a_backup_under_load_is_sound() {
    let folder = folder();
    let store = Arc::new(open(folder.path()));
    let stop = Arc::new(AtomicBool::new(false));
    let writer = {
        let (store, stop) = (Arc::clone(&store), Arc::clone(&stop));
        std::thread::spawn(move || {
            let mut next = 0;
            while !stop.load(Ordering::Relaxed) {
                store
                    .write(accept((next..next + 100).map(id)))
                    .wait()
                    .unwrap();
                next += 100;
            }
        })
    };
    until("some rows", || store.stats().rows > 5000);
    let copy = folder.path().join("copy.db");
    store.backup(&copy).unwrap();
    stop.store(true, Ordering::Relaxed);
    writer.join().unwrap();
    let report = fsck(&copy).unwrap();
    assert!(report.is_clean() && report.messages >= 5000, "{report:?}");
    assert!(!folder.path().join("copy.db.partial").exists());
}

#[test]
fn a_row_that_panics_costs_its_mates_nothing() {
    let folder = folder();
    let hooks = Hooks {
        before_row: Some(Box::new(|table, row| {
            assert!(!(table == "sent" && row == id(3)), "cannot encode");
        })),
        ..Hooks::default()
    };
    let store = SqliteStore::open_with(options(folder.path()), hooks).unwrap();
    store.write(accept((1..=5).map(id))).wait().unwrap();
    let retry = RetryRow {
        id: id(4),
        due_at: 9,
        attempts: 1,
    };
    store
        .write(WriteBatch {
            retry: vec![retry],
            ..WriteBatch::default()
        })
        .wait()
        .unwrap();
    let sent = |n| SentRow {
        id: id(n),
        attempt: 2,
        at: 1,
        operator: 1,
        status: 0,
        operator_message_id: Bytes::from_static(b"x"),
        latency_ms: 1,
        correlation: 0,
        bind: 0,
        known_as: None,
    };
    let write = |rows| {
        store.write(WriteBatch {
            sent: rows,
            ..WriteBatch::default()
        })
    };
    let tickets = [
        write(vec![sent(1)]),
        write(vec![sent(4), sent(3), sent(2)]),
        write(vec![sent(5)]),
    ];
    let [first, second, third] = tickets.map(|ticket| ticket.wait().unwrap());
    assert_eq!((first, third), (Written::default(), Written::default()));
    assert_eq!(
        (second.rejected[0].table, second.rejected[0].id),
        ("sent", id(3))
    );
    assert!(second.rejected[0].reason.contains("cannot encode"));
    let attempts = |n| store.history(id(n)).wait().unwrap().unwrap().attempts.len();
    assert_eq!([1, 2, 3, 4, 5].map(attempts), [1, 1, 0, 1, 1]);
    let retry = store.history(id(4)).wait().unwrap().unwrap().retry;
    assert_eq!(
        retry, None,
        "deleted though the first commit was rolled back"
    );
    let dead = Connection::open(folder.path().join(MAIN_FILE))
        .unwrap()
        .query_row("SELECT origin || ' ' || id FROM dead", [], |row| {
            row.get::<_, String>(0)
        });
    assert_eq!(dead.unwrap(), format!("sent {}", id(3)));
}

#[test]
fn commits_are_counted_in_buckets() {
    let folder = folder();
    let store = open(folder.path());
    store.write(accept((1..=100).map(id))).wait().unwrap();
    let histograms = store.stats().histograms.expect("counted");
    assert_eq!(histograms.rows.counts.iter().sum::<u64>(), 1);
    assert_eq!(histograms.rows.sum, 100.0);
    assert_eq!(
        histograms.rows.counts.len(),
        histograms.rows.bounds.len() + 1
    );
    assert!(histograms.latency_seconds.sum > 0.0);
}

#[test]
fn nothing_acknowledged_is_lost_by_a_kill() {
    if let Some(folder) = std::env::var_os(CHILD) {
        return write_until_killed(Path::new(&folder));
    }
    let folder = folder();
    let mut acknowledged = Vec::new();
    for round in 0..3_u64 {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args([
                "--exact",
                "store_sqlite::nothing_acknowledged_is_lost_by_a_kill",
                "--nocapture",
            ])
            .env(CHILD, folder.path())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        for line in lines.map_while(Result::ok) {
            let Some(first) = line.strip_prefix("durable ") else {
                continue;
            };
            acknowledged.push(first.parse::<u64>().unwrap());
            if acknowledged.len() as u64 >= (round + 1) * 60 {
                child.kill().unwrap();
            }
        }
        child.wait().unwrap();
        let store = open(folder.path());
        let ids: Vec<u64> = acknowledged
            .iter()
            .flat_map(|first| *first..first + 50)
            .collect();
        let found = store.load(ids).wait().unwrap();
        assert!(
            found
                .iter()
                .all(|stored| stored.as_ref().is_some_and(|stored| stored.fin.is_some()))
        );
        drop(store);
        let report = fsck(folder.path()).unwrap();
        assert!(report.is_clean(), "{report:?}");
    }
    assert!(acknowledged.len() >= 180, "{} batches", acknowledged.len());
}

/// Four callers write batches of fifty and their final states, and print which are durable.
fn write_until_killed(folder: &Path) {
    let store = Arc::new(open(folder));
    let start = store.highest_id().unwrap().max(id(0)) + 1;
    let threads: Vec<_> = (0..4_u64)
        .map(|lane| {
            let store = Arc::clone(&store);
            std::thread::spawn(move || {
                for round in 0.. {
                    let first = start + (round * 4 + lane) * 50;
                    drop(store.write(accept(first..first + 50)));
                    store.write(fin(first..first + 50)).wait().unwrap();
                    let mut out = std::io::stdout().lock();
                    writeln!(out, "durable {first}").unwrap();
                    out.flush().unwrap();
                }
            })
        })
        .collect();
    for thread in threads {
        let _ = thread.join();
    }
}
