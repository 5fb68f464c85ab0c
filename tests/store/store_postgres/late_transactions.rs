//! A host that is silent, keeps what it was sent, and speaks again: what a lane was told not to be committed stays so, and a
//! single statement is not carried out when its caller has given up.

use std::time::Duration;

use super::database::Database;
use super::{accept, active, connect_lane, id, open, until};
use bytes::Bytes;
use smsc::domain::price::Purse;
use smsc::store::balance::ChargeRow;
use smsc::store::cluster::ClusterStore as _;
use smsc::store::{RemoteItem, Store, StoreError, WriteBatch, Written};

const SECOND: Duration = Duration::from_secs(1);

#[test]
fn a_transaction_that_a_silent_host_delivers_late_is_refused() {
    let charged = WriteBatch {
        charge: vec![ChargeRow {
            id: id(1),
            purse: Purse::balance(1),
            amount: 5,
            epoch: 0,
        }],
        ..accept(&[id(1)])
    };
    let handed_off = WriteBatch {
        remote_items: vec![RemoteItem {
            queue: 7,
            part: 3,
            id: id(1),
            octets: Bytes::from_static(b"one"),
        }],
        ..accept(&[id(1)])
    };
    // Messages alone are one statement, others a transaction; the charge is given back in one of its own.
    for batch in [accept(&[id(1)]), handed_off, charged] {
        late(&batch);
    }
}

fn late(batch: &WriteBatch) {
    let database = Database::migrated();
    database.query("INSERT INTO purse VALUES(1, 0, 100)");
    let (gate, url) = database.with_a_second_host();
    let store = open(&database, |options| {
        options.url = url.into();
        options.writers = 1;
        options.write_timeout = SECOND;
        options.statement_timeout = SECOND;
        options.lock_timeout = SECOND;
    });
    connect_lane(&store);
    let of_the_lane = "SELECT pid FROM pg_stat_activity
        WHERE datname = current_database() AND application_name LIKE 'smsc node%'";
    let first = database.query(of_the_lane);
    assert_eq!(first.len(), 1, "{first:?}");

    gate.shut();
    let refused = store.write(batch.clone()).wait();
    assert_eq!(refused, Err(StoreError::Undecided { waited_ms: 1_000 }));
    store.barrier().wait().expect("told by the second host");
    assert_eq!(active(&store), [0u64; 0]);

    gate.open();
    let session = format!("SELECT pid FROM pg_stat_activity WHERE pid = {}", first[0]);
    until("the first host has delivered everything", || {
        database.query(&session).is_empty().then_some(())
    });
    assert_eq!(active(&store), [0u64; 0], "{batch:?}");
    assert_eq!(database.query("SELECT count(*) FROM inbox"), ["0"]);
    let credits = "SELECT (SELECT sum(credits) FROM purse)
        + (SELECT coalesce(sum(credits), 0) FROM purse_block)";
    assert_eq!(database.query(credits), ["100"], "{batch:?}");
    let next = store.write(accept(&[id(2)])).wait();
    assert_eq!(next, Ok(Written::default()));
    assert_eq!(active(&store), [id(2)]);
}

#[test]
fn an_order_whose_sender_has_given_up_is_not_left_later() {
    let database = Database::migrated();
    let store = open(&database, |options| {
        options.statement_timeout = Duration::from_secs(60);
        options.lock_timeout = Duration::from_secs(60);
    });
    // The server has the statement, and carries it out when the test lets it.
    database.query(
        "CREATE FUNCTION hang() RETURNS trigger LANGUAGE plpgsql AS
           'BEGIN PERFORM pg_advisory_xact_lock(1); RETURN NEW; END';
         CREATE TRIGGER hang BEFORE INSERT ON orders FOR EACH ROW EXECUTE FUNCTION hang()",
    );
    let locker = database.hold("SELECT pg_advisory_xact_lock(1)");
    let ordered = store.order(vec![2], b"suspend".to_vec());
    let waiting = "SELECT pid FROM pg_stat_activity WHERE datname = current_database()
        AND wait_event_type = 'Lock' AND wait_event = 'advisory'";
    let session = until("the server has it", || {
        database.query(waiting).into_iter().next()
    });
    drop(store);
    assert_eq!(ordered.wait(), Err(StoreError::Closed));

    locker.commit();
    let session = format!("SELECT pid FROM pg_stat_activity WHERE pid = {session}");
    until("its session has ended", || {
        database.query(&session).is_empty().then_some(())
    });
    assert_eq!(database.query("SELECT count(*) FROM orders"), ["0"]);
}
