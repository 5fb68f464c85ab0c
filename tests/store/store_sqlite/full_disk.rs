//! A disk without space, and one whose fsync fails.

use super::*;

#[test]
fn below_the_floor_new_messages_are_refused_and_results_written() {
    let folder = folder();
    open(folder.path()).write(accept([id(1)])).wait().unwrap();
    let floor_mib = u64::MAX / 2;
    let options = SqliteOptions {
        min_free_mib: floor_mib,
        ..options(folder.path())
    };
    let store = SqliteStore::open(options).unwrap();
    assert_eq!(
        store.write(accept([id(2)])).wait(),
        Err(StoreError::Full { floor_mib })
    );
    assert_eq!(store.write(fin([id(1)])).wait(), Ok(Written::default()));
    assert!(store.stats().below_floor);
    assert!(active(&store).is_empty());
}

#[test]
fn results_outlive_a_full_disk() {
    let folder = folder();
    let full = Arc::new(AtomicBool::new(false));
    let theirs = Arc::clone(&full);
    let hooks = Hooks {
        before_commit: Some(Box::new(move || {
            theirs.load(Ordering::SeqCst).then_some(SQLITE_FULL)
        })),
        ..Hooks::default()
    };
    let store = SqliteStore::open_with(options(folder.path()), hooks).unwrap();
    store.write(accept((1..=3).map(id))).wait().unwrap();
    full.store(true, Ordering::SeqCst);
    let results = [store.write(fin([id(1)])), store.write(fin([id(2)]))];
    let refused = store.write(accept([id(4)])).wait();
    assert_eq!(refused, Err(StoreError::Full { floor_mib: 1 }));
    assert_eq!(
        active(&store),
        [id(1), id(2), id(3)],
        "nothing was answered or written"
    );
    let mut barrier = store.barrier();
    let early = futures_util::FutureExt::now_or_never(&mut barrier);
    assert_eq!(early, None, "results are held");
    full.store(false, Ordering::SeqCst);
    barrier.wait().unwrap();
    for mut result in results {
        let now = futures_util::FutureExt::now_or_never(&mut result);
        assert_eq!(now, Some(Ok(Written::default())));
    }
    assert_eq!(active(&store), [id(3)]);
    assert_eq!(store.write(accept([id(5)])).wait(), Ok(Written::default()));
}

#[test]
fn what_waits_for_space_is_bounded() {
    const COMMIT: usize = 8;
    let folder = folder();
    let full = Arc::new(AtomicBool::new(false));
    let theirs = Arc::clone(&full);
    let hooks = Hooks {
        before_commit: Some(Box::new(move || {
            theirs.load(Ordering::SeqCst).then_some(SQLITE_FULL)
        })),
        ..Hooks::default()
    };
    let options = SqliteOptions {
        batch_rows: COMMIT,
        ..options(folder.path())
    };
    let store = SqliteStore::open_with(options, hooks).unwrap();
    store.write(accept((1..=100).map(id))).wait().unwrap();
    assert!(!store.is_stalled());
    full.store(true, Ordering::SeqCst);
    let results: Vec<_> = (1..=100).map(|n| store.write(fin([id(n)]))).collect();
    until("it is stalled", || store.is_stalled());
    // New messages are refused at once, including those that came before the fault was detected.
    for n in 101..=110 {
        let refused = store.write(accept([id(n)])).wait();
        assert_eq!(refused, Err(StoreError::Full { floor_mib: 1 }));
    }
    // The writer has one commit; the rest is counted, and refused in the end.
    let waiting = store.stats().waiting as usize;
    assert!(waiting >= 100 - 2 * COMMIT, "{waiting} wait");
    // Work that may free space is not delayed; a barrier waits for all results.
    assert!(store.intern("a job").is_ok());
    let barrier = store.barrier();
    assert!(store.intern("another job").is_ok());
    let late = store.write(fin([id(100)]));
    full.store(false, Ordering::SeqCst);
    barrier.wait().unwrap();
    assert!(
        active(&store).is_empty(),
        "all that was pushed before the barrier is written"
    );
    assert!(late.wait().is_ok());
    for result in results {
        assert_eq!(result.wait(), Ok(Written::default()));
    }
    assert!(!store.is_stalled());
    assert!(active(&store).is_empty());
    assert_eq!(
        store.write(accept([id(111)])).wait(),
        Ok(Written::default())
    );
}

#[test]
fn a_store_that_is_closed_on_a_full_disk_refuses_what_waits() {
    let folder = folder();
    let hooks = Hooks {
        before_commit: Some(Box::new(|| Some(SQLITE_FULL))),
        ..Hooks::default()
    };
    let options = SqliteOptions {
        batch_rows: 2,
        ..options(folder.path())
    };
    let store = SqliteStore::open_with(options, hooks).unwrap();
    let results: Vec<_> = (1..=20).map(|n| store.write(fin([id(n)]))).collect();
    until("it is stalled", || store.is_stalled());
    store.close();
    for result in results {
        assert_eq!(result.wait(), Err(StoreError::Closed));
    }
}

#[test]
fn a_failed_fsync_ends_everything() {
    let folder = folder();
    let (ended, fatal) = counting_ends();
    let hooks = Hooks {
        fatal: Box::new(fatal),
        before_commit: Some(Box::new(|| Some(SQLITE_IOERR_FSYNC))),
        ..Hooks::default()
    };
    let store = SqliteStore::open_with(options(folder.path()), hooks).unwrap();
    assert_eq!(store.write(accept([id(1)])).wait(), Err(StoreError::Closed));
    assert_eq!(store.write(accept([id(2)])).wait(), Err(StoreError::Closed));
    assert_eq!(
        ended.load(Ordering::SeqCst),
        1,
        "once, and never tried again"
    );
    drop(store);
    assert!(active(&open(folder.path())).is_empty());
}
