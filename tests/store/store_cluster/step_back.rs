//! A database that went back in time, made by hand: rows are deleted, and numbers of lanes set back. Nodes write again what
//! they had kept, in all ways in which they can find that out.

use std::time::Duration;

use smsc::pb::MessageState;
use smsc::store::cluster::{ClusterStore, NodeCard, Partition};
use smsc::store::held::{Doubt, HeldStore};
use smsc::store::postgres::{PgOptions, PgStore};
use smsc::store::{FinRow, MessageStage, SentRow, Store, WriteBatch};

use super::database::{Database, Node, Session};
use super::{accept, destination, id, part, queue};

const LEASE: Duration = Duration::from_secs(3600);
const UP: u32 = 7;

fn sent(id: u64) -> WriteBatch {
    WriteBatch {
        sent: vec![SentRow {
            id,
            attempt: 1,
            at: 5,
            operator: UP,
            status: 0,
            operator_message_id: format!("op-{id}").into(),
            latency_ms: 1,
            correlation: 0,
            bind: 0,
            known_as: None,
        }],
        ..WriteBatch::default()
    }
}

fn ended(id: u64) -> WriteBatch {
    WriteBatch {
        fin: vec![FinRow {
            state: MessageState::Delivered,
            ..FinRow::taken_back(id, 6)
        }],
        ..WriteBatch::default()
    }
}

fn accept_for(number: u64) -> WriteBatch {
    let mut batch = accept(id(number));
    batch.accept[0].destination = destination(number).into();
    batch
}

fn write(store: &PgStore, batch: WriteBatch) {
    store.write(batch).wait().expect("writes");
}

/// Ends all connections of this database but one's own, as a failover does.
fn cut(session: &Session) {
    session.value(
        "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
         WHERE datname = current_database() AND pid <> pg_backend_pid()",
    );
}

/// What the lanes had confirmed, to be brought back.
fn lanes(session: &Session) -> String {
    session.value(
        "SELECT string_agg(format('UPDATE lane SET seq = %s WHERE node = %s AND lane = %s', seq, node, lane), ';')
         FROM lane",
    )
}

fn count(session: &Session, table: &str) -> String {
    session.value(&format!("SELECT count(*) FROM {table}"))
}

#[test]
fn a_lane_whose_number_is_behind_writes_again_what_is_missing() {
    let database = Database::new();
    let node = database.node();
    let session = database.session();
    write(&node.store, accept_for(1));
    let before = lanes(&session);
    write(&node.store, accept_for(2));
    write(&node.store, sent(id(1)));
    write(&node.store, sent(id(2)));
    write(&node.store, ended(id(2)));
    let two = id(2);
    session.run(&format!(
        "DELETE FROM msg WHERE id = {two}; DELETE FROM sent; DELETE FROM fin; {before}"
    ));
    cut(&session);
    session.wait_until("(SELECT count(*) FROM fin) = 1");
    let page = node.store.active_page(0..u64::MAX, 10).wait();
    let active = page.expect("reads").active;
    assert_eq!(active.len(), 1, "{active:?}");
    assert!(
        matches!(active[0].stage, MessageStage::Sent { .. }),
        "{active:?}"
    );
    for (table, rows) in [("msg", "2"), ("sent", "2"), ("fin", "1")] {
        assert_eq!(count(&session, table), rows, "{table}");
    }
    let stats = node.store.stats();
    assert!(stats.steps_back > 0 && stats.rewritten >= 3, "{stats:?}");
    assert_eq!(stats.forgotten, 0);
    // And goes on.
    write(&node.store, ended(id(1)));
    assert_eq!(count(&session, "fin"), "2");
    cut(&session);
    write(&node.store, accept_for(3));
    assert_eq!(
        node.store.stats().rewritten,
        stats.rewritten,
        "nothing is missing"
    );
}

#[test]
fn a_node_that_joins_anew_writes_again_what_is_missing() {
    let database = Database::new();
    let node = database.node();
    let session = database.session();
    write(&node.store, accept_for(1));
    write(&node.store, accept_for(2));
    write(&node.store, sent(id(1)));
    write(&node.store, ended(id(1)));
    // The database never knew this membership, and has only the first commit, whichever lane wrote which.
    let two = id(2);
    session.run(&format!(
        "DELETE FROM msg WHERE id = {two}; DELETE FROM sent; DELETE FROM fin; DELETE FROM lane; DELETE FROM node"
    ));
    cut(&session);
    let again = || {
        node.store
            .join(NodeCard::default(), LEASE, Some(node.me.node))
    };
    let me = again().or_else(|_| again()).expect("joins again");
    assert_ne!(me.epoch, node.me.epoch);
    let active = node
        .store
        .active_page(0..u64::MAX, 10)
        .wait()
        .expect("reads");
    let ids: Vec<u64> = active.active.iter().map(|one| one.id).collect();
    assert_eq!(ids, [id(2)]);
    for (table, rows) in [("msg", "2"), ("sent", "1"), ("fin", "1")] {
        assert_eq!(count(&session, table), rows, "{table}");
    }
    let stats = node.store.stats();
    assert_eq!((stats.rewritten, stats.forgotten), (3, 0), "{stats:?}");
}

#[test]
fn a_node_that_was_taken_for_dead_writes_nothing_again() {
    let database = Database::new();
    let [witness, node] = [database.node(), database.node()];
    let session = database.session();
    write(&node.store, accept_for(1));
    write(&node.store, sent(id(1)));
    session.run(&format!(
        "UPDATE node SET lease_until = now() - interval '1 hour' WHERE node = {}",
        node.me.node
    ));
    let buried = witness
        .store
        .bury(node.me.node, node.me.epoch, Duration::ZERO);
    assert_eq!(buried.wait(), Ok(true));
    let me = node.store.join(NodeCard::default(), LEASE, None);
    me.expect("joins again");
    node.store
        .active_page(0..u64::MAX, 10)
        .wait()
        .expect("reads");
    let stats = node.store.stats();
    assert_eq!((stats.steps_back, stats.rewritten), (0, 0));
    assert_eq!(count(&session, "doubtful"), "0");
}

/// A node that has kept nothing.
fn forgetful(database: &Database) -> Node {
    let store = PgStore::open(PgOptions {
        rewrite_octets: 0,
        ..PgOptions::new(database.url.clone())
    });
    let store = store.expect("opens");
    let me = store.join(NodeCard::default(), LEASE, None).expect("joins");
    Node { store, me }
}

#[test]
fn what_a_node_has_forgotten_is_held_by_whoever_reads_it() {
    let database = Database::new();
    let node = forgetful(&database);
    let session = database.session();
    let mine = Partition {
        queue: UP,
        part: part(1),
    };
    let resource = vec![queue(UP, part(1))];
    node.store
        .declare(resource.clone())
        .wait()
        .expect("declares");
    node.store.claim(resource).wait().expect("claims");
    write(&node.store, accept_for(1));
    let before = lanes(&session);
    write(&node.store, sent(id(1)));
    session.run(&format!("DELETE FROM sent; {before}"));
    cut(&session);
    session.wait_until("EXISTS(SELECT FROM doubtful)");
    let doubts = node.store.doubts().wait().expect("reads");
    assert!(
        matches!(doubts[..], [Doubt { partition, below }] if partition == mine && below > id(1)),
        "{doubts:?}"
    );
    assert_eq!(node.store.stats().forgotten, 1);
    let active = node.take_over(vec![mine]).expect("reads");
    assert_eq!(active, [], "it may have been sent");
    let held = node.store.held(0, 10).wait().expect("reads");
    let ids: Vec<u64> = held.iter().map(|one| one.id).collect();
    assert_eq!(ids, [id(1)]);
    let counts = node.store.count_held().wait().expect("counts");
    assert_eq!((counts.messages, counts.partitions), (1, 0));
    // What is held is in no reading, until it is released.
    let read = || {
        node.store
            .active_page(0..u64::MAX, 10)
            .wait()
            .expect("reads")
    };
    assert_eq!(read().active, []);
    assert_eq!(node.store.release_held(Some(id(2)), 1).wait(), Ok(vec![]));
    assert_eq!(node.store.release_held(None, 10).wait(), Ok(vec![id(1)]));
    assert_eq!(read().active.len(), 1);
    // It is held no longer when it ends.
    node.store.hold(vec![id(1)]).wait().expect("holds");
    write(&node.store, ended(id(1)));
    let counts = node.store.count_held().wait().expect("counts");
    assert_eq!(counts.messages, 0);
}

#[test]
fn names_keep_their_numbers() {
    let database = Database::new();
    let node = database.node();
    let session = database.session();
    write(&node.store, accept_for(1));
    let before = lanes(&session);
    let number = node.store.intern("operator:new").expect("interns");
    write(&node.store, accept_for(2));
    session.run(&format!(
        "DELETE FROM names WHERE number = {number}; DELETE FROM msg WHERE id = {}; {before}",
        id(2)
    ));
    cut(&session);
    session.wait_until("(SELECT count(*) FROM msg) = 2");
    assert_eq!(node.store.intern("operator:new"), Ok(number));
    let other = node.store.intern("operator:other").expect("interns");
    assert_ne!(other, number);
}
