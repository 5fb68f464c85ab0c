//! The low-water mark and a backlog.

use smsc::store::{FinRow, Store, WriteBatch};

use super::{Database, accept, fin, id, open};

#[test]
fn a_backlog_beyond_what_may_be_carried_costs_no_rows() {
    let database = Database::migrated();
    let store = open(&database, |options| options.carry_limit = 50);
    let ids: Vec<u64> = (1..=400).map(id).collect();
    store.write(accept(&ids)).wait().unwrap();
    let number = |sql: &str| database.query(sql)[0].clone();
    let inserted = "SELECT n_tup_ins::text FROM pg_stat_user_tables WHERE relname = 'carry'";
    let mark = "SELECT coalesce(max(value), 0)::text FROM meta WHERE key = 'low_water'";
    for _ in 0..3 {
        assert_eq!(store.advance_low_water().wait(), Ok(()), "it is no error");
    }
    assert_eq!(number("SELECT count(*)::text FROM carry"), "0");
    assert_eq!(number(mark), "0", "a backlog is read in a row");
    // Only a few are left: they are carried over, and the mark moves.
    let fins: Vec<FinRow> = ids[..380].iter().map(|id| fin(*id, 0)).collect();
    let batch = WriteBatch {
        fin: fins,
        ..WriteBatch::default()
    };
    store.write(batch).wait().unwrap();
    store.advance_low_water().wait().unwrap();
    assert_eq!(number("SELECT count(*)::text FROM carry"), "20");
    assert_ne!(number(mark), "0");
    let tries = || number(inserted).parse::<u64>().unwrap();
    // The server updates its statistics late.
    let end = std::time::Instant::now() + std::time::Duration::from_secs(60);
    while tries() == 0 {
        assert!(std::time::Instant::now() < end, "no statistics");
        std::thread::yield_now();
    }
    assert_eq!(tries(), 20, "nothing was inserted and rolled back");
}

#[test]
fn a_transaction_that_fails_leaves_no_connection_in_it() {
    let database = Database::migrated();
    // One connection, so that whoever reads next gets that of the transaction that failed.
    let store = open(&database, |options| options.readers = 1);
    store.write(accept(&[id(1)])).wait().unwrap();
    database.query("ALTER FUNCTION index_day RENAME TO index_day_away");
    assert!(store.advance_low_water().wait().is_err());
    assert_eq!(store.names().map(drop), Ok(()));
    database.query("ALTER FUNCTION index_day_away RENAME TO index_day");
    assert_eq!(store.advance_low_water().wait(), Ok(()));
}
