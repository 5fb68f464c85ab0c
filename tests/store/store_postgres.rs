//! Specific to the PostgreSQL store: fencing, interrupted commits, migrations, the hand-off table,
//! partitions, the table for other programs, and TLS.

pub mod database;
mod other_programs;

mod damaged_pages;
mod days;
mod late_transactions;
mod low_water;
mod new_rows;
mod refused;
mod reports;
mod searches;
mod side_tables;
mod tls;
mod tpdus;

use std::time::{Duration, Instant};

use crate::harness::until;
use bytes::Bytes;
use database::Database;
use prost::Message as _;
use smsc::pb::delivery::What;
use smsc::pb::{Enqueue, Message, MessageState, QueueItem};
use smsc::store::cluster::ClusterStore as _;
use smsc::store::postgres::{PgOptions, PgStore, migrate};
use smsc::store::{
    FinRow, RemoteItem, Search, SentRow, Store, StoreError, WriteBatch, Written, hand_off_octets,
};

fn open(database: &Database, change: impl FnOnce(&mut PgOptions)) -> PgStore {
    let mut options = PgOptions {
        standalone: true,
        ..PgOptions::new(database.url())
    };
    change(&mut options);
    PgStore::open(options).expect("opens")
}

fn id(n: u64) -> u64 {
    (1_700_000_000_000 + n) << 20
}

fn message(id: u64) -> Message {
    Message {
        id,
        sender: 1,
        queue: 7,
        priority: 1,
        expires_at: 9_000_000_000_000,
        destination: Bytes::from_static(b"447700900123"),
        short_message: Bytes::from_static(b"hello"),
        ..Message::default()
    }
}

fn fin(id: u64, tell: u32) -> FinRow {
    FinRow {
        id,
        at: (id >> 20) as i64 + 10,
        state: MessageState::Delivered,
        error: Bytes::from_static(b"000"),
        operator: 1,
        tell,
        done_at: 0,
        remote_item: Bytes::new(),
        remote_part: 0,
    }
}

fn sent(id: u64, theirs: &str) -> SentRow {
    SentRow {
        id,
        attempt: 1,
        at: 1_700_000_000_000,
        operator: 1,
        status: 0,
        operator_message_id: Bytes::copy_from_slice(theirs.as_bytes()),
        latency_ms: 3,
        correlation: 0,
        bind: 0,
        known_as: None,
    }
}

fn accept(ids: &[u64]) -> WriteBatch {
    WriteBatch {
        accept: ids.iter().copied().map(message).collect(),
        ..WriteBatch::default()
    }
}

/// Waits until the only lane is connected and has prepared its statements, by a write about a message that no test has:
/// such a write is not refused after `write_timeout`, as a new message is.
fn connect_lane(store: &PgStore) {
    let nobodys = WriteBatch {
        told: vec![id(900)],
        ..WriteBatch::default()
    };
    store.write(nobodys).wait().expect("connected");
}

fn active(store: &PgStore) -> Vec<u64> {
    let mut ids = Vec::new();
    store
        .recover(None, &mut |active| ids.push(active.id))
        .expect("recovers");
    ids
}

#[test]
fn a_database_without_the_schema_is_refused_and_says_what_to_run() {
    let database = Database::empty();
    let refused = PgStore::open(PgOptions::new(database.url()))
        .err()
        .expect("refused");
    let text = refused.to_string();
    assert!(
        text.contains("V1__messages") && text.contains("smsc migrate"),
        "{text}"
    );
    let applied = migrate(&PgOptions::new(database.url())).expect("migrates");
    assert_eq!(applied.first().map(String::as_str), Some("V1__messages"));
    assert_eq!(
        migrate(&PgOptions::new(database.url())),
        Ok(vec![]),
        "only once"
    );
    open(&database, |_| {});
}

#[test]
fn a_newer_schema_is_used_until_something_is_taken_away() {
    let database = Database::migrated();
    open(&database, |_| {})
        .write(accept(&[id(1)]))
        .wait()
        .unwrap();
    database.query("INSERT INTO refinery_schema_history VALUES(99, 'more', now()::text, '1')");
    assert_eq!(migrate(&PgOptions::new(database.url())), Ok(vec![]));
    let store = open(&database, |_| {});
    assert_eq!(store.write(accept(&[id(2)])).wait(), Ok(Written::default()));
    assert_eq!(active(&store), [id(1), id(2)]);
    drop(store);

    // By a release that no longer needs something that only this one and older ones use.
    database.query("INSERT INTO refinery_schema_history VALUES(100, 'less', now()::text, '1')");
    database.query("INSERT INTO meta VALUES('oldest_schema', 99)");
    for refused in [
        PgStore::open(PgOptions::new(database.url())).err(),
        migrate(&PgOptions::new(database.url())).err(),
    ] {
        let text = refused.expect("refused").to_string();
        let says = |word| text.contains(word);
        assert!(
            says("V100__less") && says("V99") && says("newer release"),
            "{text}"
        );
    }
}

#[test]
fn a_wrong_url_keeps_its_password() {
    let options = PgOptions::new("postgres://smsc:hu?nter@nowhere:5432x/smsc");
    let text = PgStore::open(options.clone())
        .err()
        .expect("refused")
        .to_string();
    assert!(
        !text.contains("nter") && !format!("{options:?}").contains("nter"),
        "{text}"
    );
}

#[test]
fn nothing_is_written_outside_the_fence() {
    let database = Database::migrated();
    let stranger = open(&database, |options| options.standalone = false);
    assert_eq!(
        stranger.write(accept(&[id(1)])).wait(),
        Err(StoreError::Fenced)
    );
    let store = open(&database, |_| {});
    assert_eq!(store.write(accept(&[id(2)])).wait(), Ok(Written::default()));
    database.query("DELETE FROM lane");
    assert_eq!(
        store.write(accept(&[id(3)])).wait(),
        Err(StoreError::Fenced)
    );
    let result = WriteBatch {
        fin: vec![fin(id(2), 0)],
        ..WriteBatch::default()
    };
    assert_eq!(store.write(result).wait(), Err(StoreError::Fenced));
    assert_eq!(active(&store), [id(2)]);
}

#[test]
fn sessions_that_are_killed_lose_and_repeat_nothing() {
    let database = Database::migrated();
    let store = open(&database, |_| {});
    // In any phase of the writers: connecting, in a transaction, between two.
    let kill = || {
        database.query(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
             WHERE datname = current_database() AND pid <> pg_backend_pid()",
        );
    };
    for round in 0..30 {
        let ids: Vec<u64> = (0..200).map(|n| id(round * 200 + n)).collect();
        let accepted = store.write(accept(&ids));
        kill();
        assert_eq!(accepted.wait(), Ok(Written::default()), "round {round}");
        let finals = store.write(WriteBatch {
            fin: ids.iter().map(|id| fin(*id, 0)).collect(),
            ..WriteBatch::default()
        });
        kill();
        assert_eq!(
            finals.wait(),
            Ok(Written::default()),
            "every one won, round {round}"
        );
    }
    assert_eq!(database.query("SELECT count(*) FROM msg"), ["6000"]);
    assert_eq!(database.query("SELECT count(*) FROM fin"), ["6000"]);
    assert_eq!(store.stats().quarantined, 0);
}

#[test]
fn final_states_whose_commit_lost_its_answer_have_won() {
    let database = Database::migrated();
    let (gate, url) = database.behind_a_gate();
    let store = open(&database, |options| {
        options.url = url.into();
        options.writers = 1;
    });
    // In arbitrary order, like receipts.
    let ids = [5, 9, 1, 7, 3].map(id);
    store.write(accept(&ids)).wait().unwrap();
    let locker = database.hold("LOCK TABLE fin IN EXCLUSIVE MODE");
    // Their receipts go to one partition here, and to one of another node.
    let ended = |place: usize| FinRow {
        remote_item: match place {
            0 => Bytes::from_static(b"receipt"),
            _ => Bytes::new(),
        },
        remote_part: 13,
        ..fin(ids[place], 7)
    };
    let finals = store.write(WriteBatch {
        fin: (0..ids.len()).map(ended).collect(),
        ..WriteBatch::default()
    });
    until("the server has it all", || {
        let waiting = database.query("SELECT count(*) FROM pg_locks WHERE NOT granted");
        (waiting != ["0"]).then_some(())
    });
    gate.shut();
    drop(locker);
    until("it is committed", || {
        (database.query("SELECT count(*) FROM fin") == ["5"]).then_some(())
    });
    gate.cut();
    assert_eq!(finals.wait(), Ok(Written::default()), "every one won");
    // The same from another node comes too late, and is reported so.
    let again = store.write(WriteBatch {
        fin: vec![FinRow {
            at: 1,
            ..fin(ids[0], 7)
        }],
        ..WriteBatch::default()
    });
    assert_eq!(again.wait().unwrap().fin_lost, [ids[0]]);
}

#[test]
fn a_stop_without_the_database_takes_one_wait_however_much_is_left() {
    let database = Database::migrated();
    let (gate, url) = database.behind_a_gate();
    let patience = Duration::from_secs(2);
    let store = open(&database, |options| {
        options.url = url.into();
        options.writers = 1;
        options.batch_rows = 1;
        options.write_timeout = patience;
        options.statement_timeout = patience;
        options.lock_timeout = patience;
    });
    connect_lane(&store);
    let ids: Vec<u64> = (0..100).map(id).collect();
    store.write(accept(&ids)).wait().unwrap();
    gate.shut();
    let finals: Vec<_> = ids
        .iter()
        .map(|id| {
            store.write(WriteBatch {
                fin: vec![fin(*id, 0)],
                ..WriteBatch::default()
            })
        })
        .collect();
    let began = Instant::now();
    store.close();
    assert!(began.elapsed() < patience * 50, "a wait for each of 100");
    for one in finals {
        assert!(matches!(one.wait(), Err(StoreError::Failed(_))));
    }
    gate.cut();
    assert_eq!(active(&open(&database, |_| {})), ids, "as before");
}

#[test]
fn a_bad_row_goes_to_the_dead_letters_alone() {
    let database = Database::migrated();
    let store = open(&database, |_| {});
    store.write(accept(&[id(1)])).wait().unwrap();
    let mut batch = accept(&[id(1), id(2)]);
    batch.fin = vec![fin(id(2), 0), fin(0, 0)];
    let written = store.write(batch).wait().unwrap();
    let rejected: Vec<_> = written
        .rejected
        .iter()
        .map(|row| (row.table, row.id))
        .collect();
    assert_eq!(rejected, [("msg", id(1)), ("fin", 0)]);
    assert_eq!(written.fin_lost, [0u64; 0]);
    assert_eq!(
        database.query("SELECT origin FROM dead ORDER BY seq"),
        ["msg", "fin"]
    );
    assert_eq!(database.query("SELECT count(*) FROM msg"), ["2"]);
}

#[test]
fn work_for_another_node_is_in_the_inbox_with_what_it_belongs_to() {
    let database = Database::migrated();
    let store = open(&database, |_| {});
    let mut batch = accept(&[id(1), id(2), id(3)]);
    let item = |id, what: What| QueueItem {
        id,
        what: what.into(),
        priority: 1,
        due_at: 5,
        message: Some(Box::new(message(id))),
        ..QueueItem::default()
    };
    let for_partition = |part, id| RemoteItem {
        queue: 7,
        part,
        id,
        octets: hand_off_octets(&item(id, What::Message)),
    };
    batch.remote_items = vec![
        for_partition(3, id(2)),
        for_partition(3, id(1)),
        for_partition(4, id(3)),
    ];
    store.write(batch).wait().unwrap();
    let handed = |id, part| FinRow {
        remote_item: hand_off_octets(&item(id, What::Receipt)),
        remote_part: part,
        ..fin(id, 4)
    };
    let finals = |rows| WriteBatch {
        fin: rows,
        ..WriteBatch::default()
    };
    store.write(finals(vec![fin(id(2), 4)])).wait().unwrap();
    let written = store
        .write(finals(vec![
            handed(id(3), 255),
            handed(id(1), 255),
            handed(id(2), 255),
            handed(id(4), 9),
        ]))
        .wait()
        .unwrap();
    assert_eq!(written.fin_lost, [id(2)], "and makes no receipt");
    let rows =
        database.query("SELECT queue, part, encode(items, 'hex') FROM inbox ORDER BY queue, part");
    let row = |queue, part, items: Vec<QueueItem>| {
        // One after the other, each with its checksum, they are an Enqueue of all.
        let octets = items
            .iter()
            .map(hand_off_octets)
            .collect::<Vec<_>>()
            .concat();
        assert_eq!(Enqueue::decode(&*octets).unwrap(), Enqueue { items });
        let hex: String = octets.iter().map(|octet| format!("{octet:02x}")).collect();
        format!("{queue}|{part}|{hex}")
    };
    let message = |n| item(id(n), What::Message);
    let receipt = |n| item(id(n), What::Receipt);
    assert_eq!(
        rows,
        [
            row(4, 9, vec![receipt(4)]),
            row(4, 255, vec![receipt(1), receipt(3)]),
            row(7, 3, vec![message(1), message(2)]),
            row(7, 4, vec![message(3)]),
        ]
    );
}

#[test]
fn a_barrier_waits_for_what_was_asked_before() {
    let database = Database::migrated();
    let store = open(&database, |_| {});
    let tickets: Vec<_> = (1..=100).map(|n| store.write(accept(&[id(n)]))).collect();
    store.barrier().wait().unwrap();
    assert_eq!(database.query("SELECT count(*) FROM msg"), ["100"]);
    drop(tickets);
    store.barrier().wait().unwrap();
}

/// A search walks 500,000 rows per request, and returns where the next request begins.
#[test]
fn what_is_below_more_than_a_request_walks_is_found() {
    let database = Database::migrated();
    let store = open(&database, |_| {});
    store.write(accept(&[id(1)])).wait().unwrap();
    let rejected = FinRow {
        state: MessageState::Rejected,
        ..fin(id(1), 0)
    };
    let rows = WriteBatch {
        fin: vec![rejected],
        ..WriteBatch::default()
    };
    store.write(rows).wait().unwrap();
    let above = id(2);
    database.query(&format!(
        "WITH newer AS (SELECT {above} + n AS id FROM generate_series(0, 499999) n),
           accepted AS (INSERT INTO msg(id, at, sender, queue, part, priority, due_at, expires_at,
               source, destination, numbering, payload_kind, body)
             SELECT id, 0, 1, 7, 13, 0, 0, 0, 'ACME', '447700900123', 0, 1, '' FROM newer)
         INSERT INTO fin SELECT id, 0, 2, '', 0, 0 FROM newer"
    ));
    for sender in [None, Some(1)] {
        let mut wanted = Search {
            state: Some(MessageState::Rejected),
            sender,
            limit: 10,
            ..Search::default()
        };
        let empty = store.search(wanted.clone()).wait().unwrap();
        assert_eq!((empty.messages.len(), empty.next_before), (0, Some(above)));
        wanted.before = empty.next_before;
        let last = store.search(wanted).wait().unwrap();
        assert_eq!((last.messages.len(), last.next_before), (1, None));
        assert_eq!(last.messages[0].message.id, id(1));
    }
}

#[test]
fn the_mark_waits_for_a_commit_that_is_late() {
    let database = Database::migrated();
    let store = open(&database, |_| {});
    store.write(accept(&[id(5)])).wait().unwrap();
    let done = WriteBatch {
        fin: vec![fin(id(5), 0)],
        ..WriteBatch::default()
    };
    store.write(done).wait().unwrap();
    store.advance_low_water().wait().unwrap();
    let marks = database.query("SELECT value FROM meta WHERE key = 'low_water'");
    assert_eq!(marks, [(id(5) + 1).to_string()]);
    // Accepted below the mark, as by a slow transaction.
    store.write(accept(&[id(3)])).wait().unwrap();
    assert_eq!(active(&store), [id(3)]);
    assert_eq!(database.query("SELECT id FROM carry"), [id(3).to_string()]);
}

#[test]
fn new_messages_are_refused_and_results_wait_while_the_database_is_away() {
    let database = Database::migrated();
    let store = open(&database, |options| {
        options.writers = 1;
        // The message never shares a transaction with the result: it is certain that it is not written.
        options.batch_rows = 1;
        options.write_timeout = Duration::from_secs(3);
    });
    connect_lane(&store);
    store.write(accept(&[id(1)])).wait().unwrap();
    let other = Database::empty();
    let name = database.url().rsplit('/').next().unwrap().to_owned();
    other.query(&format!("ALTER DATABASE {name} ALLOW_CONNECTIONS false"));
    // Returns when they have ended: the result uses a closed connection.
    let kill = format!(
        "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE datname = '{name}'"
    );
    other.query(&kill);
    let result = store.write(WriteBatch {
        fin: vec![fin(id(1), 0)],
        ..WriteBatch::default()
    });
    let refused = store.write(accept(&[id(2)])).wait();
    assert!(matches!(refused, Err(StoreError::Failed(_))), "{refused:?}");
    other.query(&format!("ALTER DATABASE {name} ALLOW_CONNECTIONS true"));
    assert_eq!(result.wait(), Ok(Written::default()));
    assert_eq!(store.write(accept(&[id(3)])).wait(), Ok(Written::default()));
}
