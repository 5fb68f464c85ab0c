//! Checkpoints of the write-ahead log run beside the commits.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use rusqlite::Connection;
use smsc::store::sqlite::{Hooks, MAIN_FILE, SqliteOptions, SqliteStore};
use smsc::store::{Store, StoreError};

use super::{SQLITE_FULL, SQLITE_IOERR_FSYNC, accept, active, counting_ends, folder, id, options};

/// The log is checkpointed at this many pages.
const PAGES: u32 = 50;
const PAGE: u64 = 4096;
const PATIENCE: Duration = Duration::from_secs(60);

fn short_log(folder: &std::path::Path) -> SqliteOptions {
    SqliteOptions {
        wal_autocheckpoint: PAGES,
        ..options(folder)
    }
}

/// A gate that every checkpoint has to pass.
#[derive(Default)]
struct Door {
    shut: Mutex<bool>,
    wake: Condvar,
    waiting: AtomicBool,
}

impl Door {
    fn pass(&self) -> Option<i32> {
        let mut shut = self.shut.lock().unwrap();
        while *shut {
            self.waiting.store(true, Ordering::SeqCst);
            shut = self.wake.wait(shut).unwrap();
        }
        None
    }

    fn set(&self, shut: bool) {
        *self.shut.lock().unwrap() = shut;
        self.wake.notify_all();
    }
}

fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < end, "waited in vain: {what}");
        std::thread::yield_now();
    }
}

/// Writes a hundred messages each time it is called, from this number on.
fn commits(store: &SqliteStore, mut next: u64) -> impl FnMut() {
    move || {
        store
            .write(accept((next..next + 100).map(id)))
            .wait()
            .unwrap();
        next += 100;
    }
}

fn log_size(folder: &std::path::Path) -> u64 {
    let log = folder.join(format!("{MAIN_FILE}-wal"));
    std::fs::metadata(log).map_or(0, |file| file.len())
}

#[test]
fn no_commit_waits_until_the_log_is_in_the_database() {
    let folder = folder();
    let door = Arc::new(Door::default());
    let theirs = Arc::clone(&door);
    let hooks = Hooks {
        before_checkpoint: Some(Box::new(move || theirs.pass())),
        ..Hooks::default()
    };
    let store = SqliteStore::open_with(short_log(folder.path()), hooks).unwrap();
    door.set(true);
    let mut commit = commits(&store, 1);
    // Many times longer than its limit, but not so long that the writer has to checkpoint.
    until("the log to be brought in", || {
        commit();
        door.waiting.load(Ordering::SeqCst)
    });
    for _ in 0..20 {
        commit();
    }
    door.set(false);
    store.close();
}

#[test]
fn the_log_is_bounded_while_commits_go_on() {
    let folder = folder();
    let store = SqliteStore::open(short_log(folder.path())).unwrap();
    let empty = std::fs::metadata(folder.path().join(MAIN_FILE))
        .unwrap()
        .len();
    let mut longest = 0;
    for turn in 0..600_u64 {
        let first = turn * 100 + 1;
        store
            .write(accept((first..first + 100).map(id)))
            .wait()
            .unwrap();
        longest = longest.max(log_size(folder.path()));
    }
    // A page in the log has a header; one commit may exceed the limit.
    let bound = u64::from(PAGES) * 16 * (PAGE + 24) + 100 * PAGE;
    assert!(longest <= bound, "{longest} octets, at most {bound}");
    let full = std::fs::metadata(folder.path().join(MAIN_FILE))
        .unwrap()
        .len();
    assert!(full > empty + 100 * PAGE, "nothing came into the database");
}

#[test]
fn a_reader_that_keeps_the_log_keeps_no_commit() {
    let folder = folder();
    let store = SqliteStore::open(short_log(folder.path())).unwrap();
    store.write(accept([id(1)])).wait().unwrap();
    let reader = Connection::open(folder.path().join(MAIN_FILE)).unwrap();
    reader.execute_batch("BEGIN; SELECT * FROM msg").unwrap();
    let mut commit = commits(&store, 2);
    until("the log to be long", || {
        commit();
        log_size(folder.path()) > u64::from(PAGES) * PAGE * 40
    });
    reader.execute_batch("COMMIT").unwrap();
    // It starts again: its file stays, and is written from its start.
    let size = log_size(folder.path());
    for _ in 0..50 {
        commit();
    }
    until("the log to begin anew", || {
        let before = log_size(folder.path());
        commit();
        log_size(folder.path()) == before
    });
    assert!(log_size(folder.path()) <= size + 60 * 20 * PAGE);
}

#[test]
fn a_failed_fsync_of_the_database_ends_everything() {
    let folder = folder();
    let (ended, fatal) = counting_ends();
    let hooks = Hooks {
        fatal: Box::new(fatal),
        before_checkpoint: Some(Box::new(|| Some(SQLITE_IOERR_FSYNC))),
        ..Hooks::default()
    };
    let store = SqliteStore::open_with(short_log(folder.path()), hooks).unwrap();
    let mut written = 0;
    let end = Instant::now() + PATIENCE;
    let refused = loop {
        assert!(Instant::now() < end, "it goes on");
        let ids = written + 1..=written + 100;
        match store.write(accept(ids.map(id))).wait() {
            Ok(_) => written += 100,
            Err(error) => break error,
        }
    };
    assert_eq!(refused, StoreError::Closed);
    assert_eq!(ended.load(Ordering::SeqCst), 1, "once");
    drop(store);
    // Acknowledged commits are in the log.
    let store = SqliteStore::open(options(folder.path())).unwrap();
    assert!(active(&store).len() as u64 >= written);
}

#[test]
fn a_full_disk_leaves_it_in_the_log_until_there_is_room() {
    let folder = folder();
    let (full, tried) = (
        Arc::new(AtomicBool::new(true)),
        Arc::new(AtomicUsize::new(0)),
    );
    let (is_full, tries) = (Arc::clone(&full), Arc::clone(&tried));
    let hooks = Hooks {
        fatal: Box::new(|reason| panic!("{reason}")),
        before_checkpoint: Some(Box::new(move || {
            tries.fetch_add(1, Ordering::SeqCst);
            is_full.load(Ordering::SeqCst).then_some(SQLITE_FULL)
        })),
        ..Hooks::default()
    };
    let store = SqliteStore::open_with(short_log(folder.path()), hooks).unwrap();
    let main = folder.path().join(MAIN_FILE);
    let mut commit = commits(&store, 1);
    until("it to be tried", || {
        commit();
        tried.load(Ordering::SeqCst) > 0
    });
    let size = std::fs::metadata(&main).unwrap().len();
    full.store(false, Ordering::SeqCst);
    until("the log to be in the database", || {
        commit();
        std::fs::metadata(&main).unwrap().len() > size
    });
}
