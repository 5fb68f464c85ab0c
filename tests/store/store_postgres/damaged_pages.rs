//! Pages of the database that cannot be read: all that is not on them is read, and what is on them is noted.

use std::sync::Arc;
use std::time::Duration;

use smsc::store::cluster::{ClusterStore as _, LeasedResource, NodeCard, Partition};
use smsc::store::damage::{DamageStore as _, DamagedRow, PAGE};
use smsc::store::postgres::{PgOptions, PgStore, migrate};
use smsc::store::{FinRow, Store as _, WriteBatch};

use super::{accept, active, fin, id};
use crate::harness::PrivatePostgres;

const MESSAGES: u64 = 2_000;
/// Octets of a text, so that ten rows fill a page: the rows of a page are looked for one by one.
const ROW: usize = 700;

fn open(server: &PrivatePostgres) -> PgStore {
    let options = PgOptions {
        standalone: true,
        ..PgOptions::new(server.url())
    };
    PgStore::open(options).expect("opens")
}

fn ids() -> Vec<u64> {
    (0..MESSAGES).map(id).collect()
}

fn server() -> PrivatePostgres {
    let server = PrivatePostgres::start_with_checksums();
    fill(&server, ROW);
    server
}

/// Messages that wait, with texts of this size, without a day of their own.
fn fill(server: &PrivatePostgres, octets: usize) {
    migrate(&PgOptions::new(server.url())).expect("migrates");
    let mut batch = accept(&ids());
    for message in &mut batch.accept {
        message.short_message = vec![b'a'; octets].into();
    }
    open(server).write(batch).wait().unwrap();
}

/// An end that takes as much of a page as a message.
fn large_fin(id: u64) -> FinRow {
    FinRow {
        error: vec![b'0'; ROW].into(),
        ..fin(id, 9)
    }
}

/// The ids in a page of a table.
fn ids_in(server: &PrivatePostgres, table: &str, page: u64) -> Vec<u64> {
    let sql = format!("SELECT id FROM {table} WHERE (ctid::text::point)[0] = {page} ORDER BY id");
    let rows = server.rows(&sql);
    assert!(!rows.is_empty(), "page {page} of {table}");
    rows.iter().map(|row| row.get::<_, i64>(0) as u64).collect()
}

/// Which ids are missing here.
fn missing(found: &[u64]) -> Vec<u64> {
    assert!(
        found.is_sorted_by(|one, next| one < next),
        "each once, in order"
    );
    without(found)
}

fn without(some: &[u64]) -> Vec<u64> {
    let mut left = ids();
    left.retain(|id| !some.contains(id));
    left
}

/// Ids of what was noted for a table, in order; nothing was noted for another.
fn noted(store: &PgStore, table: &str) -> Vec<u64> {
    let rows = store.take_damage();
    let others: Vec<&DamagedRow> = rows.iter().filter(|row| row.table != table).collect();
    assert!(others.is_empty(), "{others:?}");
    let mut ids: Vec<u64> = rows.iter().map(|row| row.id).collect();
    ids.sort_unstable();
    ids
}

/// Reads all partitions of the queue as a node of a cluster; the ids in order.
fn take_over(server: &PrivatePostgres) -> (PgStore, Vec<u64>) {
    let store = PgStore::open(PgOptions::new(server.url())).expect("opens");
    let lease = Duration::from_secs(3600);
    store.join(NodeCard::default(), lease, None).expect("joins");
    let partitions: Vec<Partition> = (0..smsc::domain::partition::PARTITIONS)
        .map(|part| Partition { queue: 7, part })
        .collect();
    let resources: Vec<LeasedResource> = partitions
        .iter()
        .copied()
        .map(LeasedResource::Queue)
        .collect();
    store.declare(resources.clone()).wait().expect("declares");
    store.claim(resources).wait().expect("claims");
    let active = store.take_over(partitions, Arc::new(|| true)).wait();
    let mut ids: Vec<u64> = active
        .expect("takes over")
        .iter()
        .map(|one| one.id)
        .collect();
    ids.sort_unstable();
    (store, ids)
}

fn low_water(server: &PrivatePostgres) -> u64 {
    let rows = server.rows("SELECT value FROM meta WHERE key = 'low_water'");
    rows.first().map_or(0, |row| row.get::<_, i64>(0) as u64)
}

fn carried(server: &PrivatePostgres) -> Vec<u64> {
    let rows = server.rows("SELECT id FROM carry ORDER BY id");
    rows.iter().map(|row| row.get::<_, i64>(0) as u64).collect()
}

fn end(ids: &[u64]) -> WriteBatch {
    WriteBatch {
        fin: ids.iter().copied().map(FinRow::damaged).collect(),
        ..WriteBatch::default()
    }
}

fn only_the_page_is_left_out(mut server: PrivatePostgres) {
    let damaged = ids_in(&server, "msg_default", 3);
    server.damage_page("msg_default", 3);
    let store = open(&server);
    assert_eq!(missing(&active(&store)), damaged);
    assert_eq!(noted(&store, "msg"), damaged);
    let loaded = store.load(ids()).wait().unwrap();
    let not_loaded: Vec<u64> = (ids().into_iter().zip(&loaded))
        .filter_map(|(id, found)| found.is_none().then_some(id))
        .collect();
    assert_eq!(not_loaded, damaged);
    assert_eq!(store.history(damaged[0]).wait().unwrap(), None);
    assert!(store.history(id(0)).wait().unwrap().is_some());
    // A page of them, and what comes after it.
    let page = store.active_page(0..u64::MAX, 1_500).wait().unwrap();
    let first: Vec<u64> = page.active.iter().map(|one| one.id).collect();
    assert!(first == without(&damaged)[..1_500]);
    drop(store);

    let (node, taken) = take_over(&server);
    assert_eq!(missing(&taken), damaged);
    assert_eq!(noted(&node, "msg"), damaged);
    drop(node);

    let store = open(&server);
    store.advance_low_water().wait().unwrap();
    assert!(low_water(&server) > id(MESSAGES - 1), "it passes the page");
    assert!(missing(&carried(&server)).is_empty());
    // Again, now by what is carried.
    assert_eq!(missing(&active(&store)), damaged);
    assert_eq!(store.unfinished(ids()).wait().unwrap(), ids());
    store.write(end(&damaged)).wait().unwrap();
    assert_eq!(missing(&carried(&server)), damaged);
    assert!(store.unfinished(damaged).wait().unwrap().is_empty());
}

#[test]
fn what_is_not_on_a_damaged_page_is_read() {
    only_the_page_is_left_out(server());
}

#[test]
fn what_is_not_on_a_damaged_page_is_read_without_checksums() {
    let server = PrivatePostgres::start();
    fill(&server, ROW);
    only_the_page_is_left_out(server);
}

#[test]
fn a_message_that_was_carried_before_its_page_was_damaged_stops_no_other() {
    let mut server = server();
    let damaged = ids_in(&server, "msg_default", 3);
    open(&server).advance_low_water().wait().unwrap();
    server.damage_page("msg_default", 3);
    let (node, taken) = take_over(&server);
    assert_eq!(missing(&taken), damaged);
    assert_eq!(noted(&node, "msg"), damaged);
    node.advance_low_water().wait().unwrap();
    node.write(end(&damaged)).wait().unwrap();
    node.advance_low_water().wait().unwrap();
    assert_eq!(missing(&carried(&server)), damaged);
}

#[test]
fn the_highest_id_is_known_although_its_page_is_damaged() {
    let mut server = server();
    let last = server.rows("SELECT max((ctid::text::point)[0])::bigint FROM msg_default");
    server.damage_page("msg_default", last[0].get::<_, i64>(0) as usize);
    assert_eq!(open(&server).highest_id().unwrap(), id(MESSAGES - 1));
}

#[test]
fn a_message_whose_end_cannot_be_read_has_ended() {
    let mut server = server();
    let ended = ids();
    let batch = WriteBatch {
        fin: ended.iter().copied().map(large_fin).collect(),
        ..WriteBatch::default()
    };
    open(&server).write(batch).wait().unwrap();
    let damaged = ids_in(&server, "fin_default", 1);
    server.damage_page("fin_default", 1);
    let store = open(&server);
    assert_eq!(missing(&active(&store)), damaged, "others owe a receipt");
    assert_eq!(noted(&store, "fin"), damaged);
    assert!(store.unfinished(ids()).wait().unwrap().is_empty());
}

#[test]
fn what_an_index_does_not_find_comes_when_it_is_repaired() {
    let mut server = PrivatePostgres::start_with_checksums();
    fill(&server, 5);
    // The root of so small an index is page 3, the leaves are around it.
    server.damage_page("msg_default_pkey", 2);
    let store = open(&server);
    let not_found = missing(&active(&store));
    assert!((1..500).contains(&not_found.len()), "{}", not_found.len());
    let rows = store.take_damage();
    assert!(rows.iter().all(|row| row.table == PAGE), "{rows:?}");
    assert!(
        rows[0].why.contains("REINDEX INDEX msg_default_pkey"),
        "{rows:?}"
    );
    store.advance_low_water().wait().unwrap_err();
    assert!(low_water(&server) <= not_found[0], "it waits");
    drop(store);
    let (node, taken) = take_over(&server);
    assert_eq!(missing(&taken), not_found);
    drop(node);
    server.execute("REINDEX INDEX msg_default_pkey");
    let store = open(&server);
    assert!(missing(&active(&store)).is_empty());
    store.advance_low_water().wait().unwrap();
    assert!(missing(&active(&store)).is_empty());
    assert!(store.take_damage().is_empty());
}
