//! The low-water mark, and what is carried over it.

use smsc::store::{ChangeKind, ChangeRow, FinRow, Store, WriteBatch};

use super::{Database, accept, active, fin, id, open};

/// The rows of `carry`: id, queue, partition.
fn carried(database: &Database) -> Vec<String> {
    database.query("SELECT (id >> 20) - 1700000000000, queue, part FROM carry ORDER BY id")
}

fn fins(rows: impl IntoIterator<Item = FinRow>) -> WriteBatch {
    WriteBatch {
        fin: rows.into_iter().collect(),
        ..WriteBatch::default()
    }
}

#[test]
fn the_mark_moves_however_many_messages_are_active() {
    let database = Database::migrated();
    let store = open(&database, |_| {});
    let ids: Vec<u64> = (1..=400).map(id).collect();
    store.write(accept(&ids)).wait().unwrap();
    store.advance_low_water().wait().unwrap();
    let mark = database.query("SELECT value FROM meta WHERE key = 'low_water'");
    assert_eq!(mark, [(id(400) + 1).to_string()]);
    assert_eq!(database.query("SELECT count(*) FROM carry"), ["400"]);
    assert_eq!(active(&store), ids);
}

#[test]
fn a_carried_message_is_with_whoever_continues_it() {
    let database = Database::migrated();
    let store = open(&database, |_| {});
    store
        .write(accept(&[1, 2, 3, 4, 5].map(id)))
        .wait()
        .unwrap();
    store.advance_low_water().wait().unwrap();
    let part = database.query("SELECT DISTINCT part FROM msg")[0].clone();
    let row = |n: u64, queue: u32| format!("{n}|{queue}|{part}");
    assert_eq!(carried(&database), [1, 2, 3, 4, 5].map(|n| row(n, 7)));
    let move_to = |n: u64, queue| ChangeRow {
        id: id(n),
        at: 1,
        kind: ChangeKind::Move,
        queue,
        by: "test".to_owned(),
        expires_at: 0,
        body: Vec::new().into(),
    };
    let batch = WriteBatch {
        fin: vec![fin(id(1), 0), fin(id(2), 4), fin(id(3), 4)],
        told: vec![id(3)],
        // The last one counts, and none of a message that has ended.
        change: vec![move_to(4, 8), move_to(4, 9), move_to(2, 8)],
        ..WriteBatch::default()
    };
    store.write(batch).wait().unwrap();
    let wanted = [row(2, 4), row(4, 9), row(5, 7)];
    assert_eq!(carried(&database), wanted);
    // Rows of a build that knew no owners, and of messages that have ended, are put right.
    database.query(&format!(
        "UPDATE carry SET queue = NULL, part = NULL; INSERT INTO carry VALUES({})",
        id(1)
    ));
    assert_eq!(active(&store), [2, 4, 5].map(id));
    store.advance_low_water().wait().unwrap();
    assert_eq!(carried(&database), wanted);
    // And receipts of a build that knew no parts of them.
    database.query("UPDATE carry SET part = 255, ended = false WHERE queue = 4");
    store.advance_low_water().wait().unwrap();
    assert_eq!(carried(&database), wanted);
    // What comes late below the mark is carried at once.
    store.write(accept(&[id(3) + 1])).wait().unwrap();
    assert_eq!(carried(&database)[1], row(3, 7));
}

/// The transaction that ends the message has begun before the mark moves, and is committed after it.
#[test]
fn a_message_that_ends_while_it_is_carried_is_not_carried_for_ever() {
    let database = Database::migrated();
    let store = open(&database, |options| options.writers = 1);
    store.write(accept(&[1, 2].map(id))).wait().unwrap();
    let one = format!("INSERT INTO told VALUES({})", id(1));
    store
        .write(fins([fin(id(1), 4), fin(id(2), 4)]))
        .wait()
        .unwrap();
    let late = database.hold(&one);
    store.advance_low_water().wait().unwrap();
    late.commit();
    let part = database.query("SELECT DISTINCT part FROM msg")[0].clone();
    let [ended, waits] = [1, 2].map(|n| format!("{n}|4|{part}"));
    assert_eq!(
        carried(&database),
        [ended, waits.clone()],
        "it was not seen yet"
    );
    store.advance_low_water().wait().unwrap();
    assert_eq!(carried(&database), [waits]);
}

#[test]
fn a_transaction_that_fails_leaves_no_connection_in_it() {
    let database = Database::migrated();
    let store = open(&database, |_| {});
    store.write(accept(&[id(1)])).wait().unwrap();
    database.query("ALTER TABLE carry RENAME TO away");
    assert!(store.advance_low_water().wait().is_err());
    // Of the same connections, more often than there are.
    for _ in 0..3 {
        assert_eq!(store.tend_days().wait(), Ok(()));
    }
    database.query("ALTER TABLE away RENAME TO carry");
    assert_eq!(store.advance_low_water().wait(), Ok(()));
}
