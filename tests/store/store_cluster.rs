//! Guarantees for nodes that share a PostgreSQL store: two or more `PgStore`s, one database.
//!
//! Each test has its own database.

mod accounts;
mod checksums_from;
mod database;
mod hand_off;
mod idempotency;
mod outbox;
mod permits;
mod recovery;
mod step_back;
mod wake_ups;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use database::{Database, Node};
use futures_util::FutureExt;
use smsc::domain::partition;
use smsc::pb::Message;
use smsc::store::cluster::{
    ClusterStore, LeasedResource, NodeCard, Partition, ResourceHolder, View,
};
use smsc::store::postgres::{PgOptions, PgStore};
use smsc::store::{Store, StoreError, WriteBatch};

/// Shorter than any test, and never renewed.
const DEAD_SOON: Duration = Duration::from_millis(1);

fn queue(queue: u32, part: u8) -> LeasedResource {
    LeasedResource::Queue(Partition { queue, part })
}

fn id(n: u64) -> u64 {
    (1_700_000_000_000 << 20) + n
}

fn destination(n: u64) -> String {
    format!("4477009{n:05}")
}

fn part(n: u64) -> u8 {
    partition::of(destination(n).as_bytes())
}

fn view(node: &Node) -> View {
    node.store.beat(NodeCard::default()).wait().expect("lives")
}

/// Waits until a node's lease has expired.
fn wait_for_death(witness: &Node, node: u8) -> View {
    loop {
        let view = view(witness);
        let seen = view.nodes.iter().find(|seen| seen.node == node);
        if seen.expect("not buried").lives_for.is_none() {
            return view;
        }
    }
}

/// Beats until the node's card says with which history of the database all its lanes have compared.
fn wait_until_compared(store: &PgStore, card: &NodeCard, node: u8) -> View {
    let deadline = Instant::now() + Duration::from_secs(30);
    loop {
        let view = store.beat(card.clone()).wait().expect("lives");
        let me = view.nodes.iter().find(|seen| seen.node == node);
        if !me.expect("is a member").card.database.is_empty() {
            return view;
        }
        assert!(Instant::now() < deadline, "its lanes have not compared");
    }
}

fn accept(id: u64) -> WriteBatch {
    WriteBatch {
        accept: vec![Message {
            id,
            queue: 7,
            ..Message::default()
        }],
        ..WriteBatch::default()
    }
}

#[test]
fn nodes_get_numbers_and_epochs() {
    let database = Database::new();
    let (first, second, third) = (database.store(), database.store(), database.store());
    let lease = Duration::from_secs(60);
    let card = NodeCard {
        name: "host-1".into(),
        serving: vec![3, 4],
        ..NodeCard::default()
    };
    let seven = first.join(card.clone(), lease, Some(7)).expect("joins");
    let zero = second
        .join(NodeCard::default(), lease, Some(7))
        .expect("joins");
    let one = third.join(NodeCard::default(), lease, None).expect("joins");
    assert_eq!((seven.node, zero.node, one.node), (7, 0, 1));
    assert!(seven.epoch < zero.epoch && zero.epoch < one.epoch);

    let view = wait_until_compared(&first, &card, seven.node);
    let numbers: Vec<u8> = view.nodes.iter().map(|node| node.node).collect();
    assert_eq!(numbers, [0, 1, 7]);
    let me = &view.nodes[2];
    assert_eq!(me.epoch, seven.epoch);
    let said = NodeCard {
        database: me.card.database.clone(),
        ..card.clone()
    };
    assert_eq!(me.card, said);
    assert!(me.lives_for.is_some_and(|left| left <= lease));
    assert_eq!(me.dead_for, Duration::ZERO);
    assert!(me.since <= view.now);

    let again = first.join(card, lease, Some(7)).expect("joins again");
    assert_eq!(again.node, 7, "its own earlier number is free");
    assert!(again.epoch > one.epoch);
}

#[test]
fn a_dead_node_makes_room_for_whoever_wishes_its_number() {
    let database = Database::new();
    let witness = database.node();
    let dead = database.node_for(DEAD_SOON);
    wait_for_death(&witness, dead.me.node);
    let lease = Duration::from_secs(60);
    let heir = database.store();
    let me = heir
        .join(NodeCard::default(), lease, Some(dead.me.node))
        .expect("joins");
    assert_eq!(me.node, dead.me.node);
    assert!(me.epoch > dead.me.epoch);
    let beat = dead.store.beat(NodeCard::default()).wait();
    assert_eq!(beat, Err(StoreError::Fenced));
}

#[test]
fn a_resource_has_one_holder() {
    let database = Database::new();
    let nodes = [database.node(), database.node()];
    let all: Vec<LeasedResource> = (0..31)
        .map(|part| queue(5, part))
        .chain((0..32).map(|slot| LeasedResource::Bind { operator: 6, slot }))
        .chain([LeasedResource::Janitor])
        .collect();
    nodes[0]
        .store
        .declare(all.clone())
        .wait()
        .expect("declares");
    nodes[1].store.declare(all.clone()).wait().expect("twice");
    for round in 0..20 {
        // Both claim all, one after the other, from opposite ends.
        let claims: Vec<Vec<LeasedResource>> = std::thread::scope(|scope| {
            let claims = nodes.each_ref().map(|node| {
                let mut wanted = all.clone();
                if node.me.node == nodes[1].me.node {
                    wanted.reverse();
                }
                scope.spawn(move || {
                    let chunks = wanted.chunks(1 + round);
                    let claimed = chunks
                        .map(|chunk| node.store.claim(chunk.to_vec()).wait().expect("claims"));
                    claimed.flatten().collect::<Vec<_>>()
                })
            });
            claims.map(|claim| claim.join().expect("no panic")).into()
        });
        let together: BTreeSet<LeasedResource> = claims.iter().flatten().copied().collect();
        assert_eq!(claims[0].len() + claims[1].len(), 64, "none twice");
        assert_eq!(together.len(), 64, "none left");
        let held = view(&nodes[0]).held;
        assert_eq!(held.len(), 64);
        for (node, claimed) in nodes.iter().zip(claims) {
            let (number, epoch) = (node.me.node, node.me.epoch);
            assert!(
                claimed
                    .iter()
                    .all(|resource| held.contains(&ResourceHolder {
                        resource: *resource,
                        node: number,
                        epoch
                    }))
            );
            let again = node.store.claim(claimed.clone()).wait().expect("claims");
            assert_eq!(again.len(), claimed.len(), "what is mine is answered again");
            // It releases nothing that the other node holds.
            node.store.release(all.clone()).wait().expect("releases");
        }
        assert_eq!(view(&nodes[0]).held, []);
    }
    let unknown = nodes[0].store.claim(vec![queue(99, 1)]).wait();
    assert_eq!(unknown, Ok(vec![]), "never declared");
}

#[test]
fn a_living_node_is_not_buried() {
    let database = Database::new();
    let [witness, other] = [database.node(), database.node()];
    let (node, epoch) = (other.me.node, other.me.epoch);
    let bury = |epoch, margin| witness.store.bury(node, epoch, margin).wait();
    assert_eq!(bury(epoch, Duration::ZERO), Ok(false), "lives");
    let dead = database.node_for(DEAD_SOON);
    wait_for_death(&witness, dead.me.node);
    let margin = Duration::from_secs(3600);
    let early = witness.store.bury(dead.me.node, dead.me.epoch, margin);
    assert_eq!(early.wait(), Ok(false), "within the margin");
    let other_epoch = witness
        .store
        .bury(dead.me.node, dead.me.epoch + 1, Duration::ZERO);
    assert_eq!(other_epoch.wait(), Ok(false), "no such node");
}

#[test]
fn a_buried_node_writes_no_more() {
    let database = Database::new();
    let witness = database.node();
    let dead = database.node_for(DEAD_SOON);
    let bind = LeasedResource::Bind {
        operator: 1,
        slot: 0,
    };
    let wanted = vec![queue(1, 0), bind];
    dead.store.declare(wanted.clone()).wait().expect("declares");
    let mine = dead.store.claim(wanted.clone()).wait();
    assert_eq!(mine, Ok(wanted.clone()));
    dead.store.write(accept(1 << 20)).wait().expect("writes");
    let seen = wait_for_death(&witness, dead.me.node);
    assert_eq!(seen.held.len(), 2, "holds until it is buried");
    let claim = || witness.store.claim(wanted.clone()).wait();
    assert_eq!(claim(), Ok(vec![]));

    // One of its write transactions is still open.
    let open = database.session();
    open.run(&format!(
        "BEGIN; UPDATE lane SET seq = seq WHERE node = {} AND lane = 0",
        dead.me.node
    ));
    let mut burial = witness
        .store
        .bury(dead.me.node, dead.me.epoch, Duration::ZERO);
    database.session().wait_until(
        "EXISTS(SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock'
           AND query LIKE 'DELETE FROM lane%' AND datname = current_database())",
    );
    assert!(
        (&mut burial).now_or_never().is_none(),
        "waits for the write"
    );
    assert_eq!(claim(), Ok(vec![]), "not before it is over");
    open.run("COMMIT");
    assert_eq!(burial.wait(), Ok(true));

    assert_eq!(claim(), Ok(wanted));
    let late = dead.store.write(accept(2 << 20)).wait();
    assert_eq!(late, Err(StoreError::Fenced));
    let late = dead.store.beat(NodeCard::default()).wait();
    assert_eq!(late, Err(StoreError::Fenced));
    let late = dead.store.claim(vec![queue(1, 0)]).wait();
    assert_eq!(late, Err(StoreError::Fenced));
    let late = dead.store.collect(10, Vec::new()).wait();
    assert_eq!(late, Err(StoreError::Fenced));
    let again = witness
        .store
        .bury(dead.me.node, dead.me.epoch, Duration::ZERO);
    assert_eq!(again.wait(), Ok(false), "gone already");

    let back = dead
        .store
        .join(NodeCard::default(), Duration::from_secs(60), None)
        .expect("joins again");
    assert!(back.epoch > dead.me.epoch);
    dead.store.write(accept(3 << 20)).wait().expect("writes");
}

#[test]
fn a_node_that_stands_still_in_a_take_over_is_buried() {
    let database = Database::new();
    let witness = database.node();
    let patient = PgOptions {
        lock_timeout: Duration::from_secs(600),
        ..PgOptions::new(database.url.clone())
    };
    let dead = PgStore::open(patient).expect("opens");
    let me = dead
        .join(NodeCard::default(), DEAD_SOON, None)
        .expect("joins");
    let partition = Partition { queue: 1, part: 0 };
    dead.declare(vec![queue(1, 0)]).wait().expect("declares");
    dead.claim(vec![queue(1, 0)]).wait().expect("claims");
    // Its take-over has begun, and goes on as little as one whose client reads no more of the result.
    let open = database.session();
    open.run("BEGIN; LOCK TABLE inbox IN ACCESS EXCLUSIVE MODE");
    let taken = dead.take_over(vec![partition], Arc::new(|| true));
    database.session().wait_until(
        "EXISTS(SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock'
           AND query LIKE 'DELETE FROM inbox%' AND datname = current_database())",
    );
    wait_for_death(&witness, me.node);
    let bury = || witness.store.bury(me.node, me.epoch, Duration::ZERO).wait();
    let error = bury().expect_err("its row is locked");
    assert!(error.to_string().contains("sessions are ended"), "{error}");
    assert_eq!(bury(), Ok(true));
    open.run("COMMIT");
    assert!(taken.wait().is_err(), "it is no member any more");
}

#[test]
fn a_node_that_leaves_frees_everything() {
    let database = Database::new();
    let [stays, leaves] = [database.node(), database.node()];
    let wanted = vec![queue(1, 0), queue(1, 1), LeasedResource::Janitor];
    leaves
        .store
        .declare(wanted.clone())
        .wait()
        .expect("declares");
    assert_eq!(
        leaves.store.claim(wanted.clone()).wait(),
        Ok(wanted.clone())
    );
    leaves.store.leave().expect("leaves");
    assert_eq!(leaves.store.leave(), Ok(()), "once is enough");
    let late = leaves.store.write(accept(1 << 20)).wait();
    assert_eq!(late, Err(StoreError::Fenced));
    let seen = view(&stays);
    assert_eq!((seen.nodes.len(), seen.held.len()), (1, 0));
    assert_eq!(stays.store.claim(wanted.clone()).wait(), Ok(wanted));
    let lanes = "SELECT count(*) FROM lane WHERE node = ".to_owned();
    let left = database
        .session()
        .value(&(lanes + &leaves.me.node.to_string()));
    assert_eq!(left, "0");
    let next = database.node();
    assert_eq!(next.me.node, leaves.me.node);
}
