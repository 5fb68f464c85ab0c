//! Messages that one node accepts and another delivers: each is seen once.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use bytes::Bytes;
use smsc::domain::partition::PARTITIONS;
use smsc::pb::{Message, QueueItem};
use smsc::store::cluster::{
    ClusterStore, DamagedItems, Handed, LeasedResource, MOST_COLLECTED_OCTETS, Partition,
};
use smsc::store::{MessageStage, RemoteItem, Store, WriteBatch, hand_off_octets};

use super::database::{Database, Node, Session};
use super::{destination, id, part, queue};

const QUEUE: u32 = 7;

fn item(n: u64) -> RemoteItem {
    RemoteItem {
        queue: QUEUE,
        part: part(n),
        id: id(n),
        octets: hand_off_octets(&QueueItem {
            id: id(n),
            ..QueueItem::default()
        }),
    }
}

/// New messages whose partitions another node owns.
fn batch(numbers: impl Iterator<Item = u64> + Clone) -> WriteBatch {
    let message = |n| Message {
        id: id(n),
        queue: QUEUE,
        priority: 1,
        expires_at: 9_000_000_000_000,
        destination: Bytes::from(destination(n)),
        ..Message::default()
    };
    WriteBatch {
        accept: numbers.clone().map(message).collect(),
        remote_items: numbers.map(item).collect(),
        ..WriteBatch::default()
    }
}

/// Inserts with SQL what [`batch`] writes for one number, so that the transaction can be held open.
fn insert(session: &Session, n: u64) {
    let (id, part, destination) = (id(n), part(n), destination(n));
    let octets = item(n).octets;
    let items: String = octets.iter().map(|octet| format!("{octet:02x}")).collect();
    session.run(&format!(
        "INSERT INTO msg VALUES({id}, 0, 0, {QUEUE}, {part}, 1, 0, 9000000000000, '', '{destination}',
           0, 1, '');
         INSERT INTO inbox(queue, part, items) VALUES({QUEUE}, {part}, '\\x{items}')"
    ));
}

fn declare(node: &Node) {
    let all = (0..PARTITIONS).map(|part| queue(QUEUE, part)).collect();
    node.store.declare(all).wait().expect("declares");
}

/// Claims partitions and reads their active messages.
fn take_over(node: &Node, parts: impl Iterator<Item = u8>, seen: &mut BTreeMap<u64, usize>) {
    let wanted: Vec<LeasedResource> = parts.map(|part| queue(QUEUE, part)).collect();
    let claimed = node.store.claim(wanted.clone()).wait();
    assert_eq!(claimed.as_ref(), Ok(&wanted));
    let partitions = wanted.iter().map(|resource| match resource {
        LeasedResource::Queue(partition) => *partition,
        other => panic!("not asked for: {other:?}"),
    });
    let active = node.take_over(partitions.collect());
    let active = active.expect("takes over");
    assert!(active.is_sorted_by_key(|active| active.id));
    for active in active {
        assert_eq!(active.stage, MessageStage::Waiting);
        assert!(wanted.contains(&queue(active.queue, active.part)));
        *seen.entry(active.id).or_default() += 1;
    }
}

fn collect(node: &Node, limit: usize, seen: &mut BTreeMap<u64, usize>) -> usize {
    let rows = node
        .store
        .collect(limit, Vec::new())
        .wait()
        .expect("collects");
    assert!(rows.len() <= limit);
    let length = rows.len();
    count(rows, seen);
    length
}

fn count(rows: Vec<Handed>, seen: &mut BTreeMap<u64, usize>) {
    for row in rows {
        assert_eq!(row.partition.queue, QUEUE);
        let items = row.into_items().expect("sound");
        assert!(items.is_sorted_by_key(|item| item.id));
        for item in items {
            *seen.entry(item.id).or_default() += 1;
        }
    }
}

#[test]
fn every_message_is_seen_once_while_partitions_are_taken_over() {
    const ROUNDS: u64 = 3;
    const MESSAGES: u64 = 4000;
    let database = Database::new();
    for round in 0..ROUNDS {
        let [owner, accepting] = [database.node(), database.node()];
        declare(&owner);
        let first = round * 10_000;
        let done = AtomicBool::new(false);
        let mut seen = BTreeMap::new();
        // Old ids that become visible late: after later ones were read.
        let slow = database.session();
        slow.run("BEGIN");
        (first..first + 50).for_each(|n| insert(&slow, n));
        std::thread::scope(|scope| {
            let (accepting, done) = (&accepting, &done);
            scope.spawn(move || {
                let numbers: Vec<u64> = (first + 50..first + MESSAGES).collect();
                for numbers in numbers.chunks(7) {
                    let written = accepting.store.write(batch(numbers.iter().copied()));
                    written.wait().expect("writes");
                }
                done.store(true, Ordering::Release);
            });
            for group in 0..8 {
                take_over(&owner, group * 4..group * 4 + 4, &mut seen);
                collect(&owner, 100, &mut seen);
            }
            while !done.load(Ordering::Acquire) {
                collect(&owner, 1000, &mut seen);
            }
        });
        while collect(&owner, 64, &mut seen) > 0 {}
        assert_eq!(seen.len() as u64, MESSAGES - 50);
        slow.run("SELECT pg_sleep(1); COMMIT");
        while collect(&owner, 64, &mut seen) > 0 {}

        let numbers: Vec<u64> = seen.keys().map(|seen| seen - id(0)).collect();
        assert_eq!(numbers, (first..first + MESSAGES).collect::<Vec<_>>());
        let twice = seen.iter().find(|(_, times)| **times != 1);
        assert_eq!(twice, None, "each is seen once");

        owner.store.leave().expect("leaves");
        accepting.store.leave().expect("leaves");
        // The nodes of the next round find nothing of this one.
        database.session().run("TRUNCATE msg");
    }
}

#[test]
fn taking_over_again_or_elsewhere_is_as_of_one_moment_too() {
    let database = Database::new();
    let [one, two] = [database.node(), database.node()];
    declare(&one);
    let written = one.store.write(batch(0..500));
    written.wait().expect("writes");
    for (node, other) in [(&one, &two), (&two, &one), (&one, &two)] {
        let mut seen = BTreeMap::new();
        take_over(node, 0..PARTITIONS, &mut seen);
        assert_eq!(collect(node, 1000, &mut seen), 0, "all was in the answer");
        assert_eq!(seen.len(), 500);
        let late = other.store.write(batch(500..510));
        late.wait().expect("writes");
        assert_eq!(collect(other, 1000, &mut BTreeMap::new()), 0, "not its own");
        // While the item waits in the hand-off table, the same node reads everything again.
        let mut again = BTreeMap::new();
        take_over(node, 0..PARTITIONS, &mut again);
        assert_eq!(again.len(), 510);
        assert_eq!(collect(node, 1000, &mut again), 0);
        let mine = (0..PARTITIONS).map(|part| queue(QUEUE, part)).collect();
        node.store.release(mine).wait().expect("releases");
        database
            .session()
            .run(&format!("DELETE FROM msg WHERE id >= {}", id(500)));
    }
}

#[test]
fn a_partition_is_not_collected_for_before_it_is_taken_over() {
    let database = Database::new();
    let node = database.node();
    declare(&node);
    node.store.write(batch(0..10)).wait().expect("writes");
    let mine = (0..PARTITIONS).map(|part| queue(QUEUE, part)).collect();
    node.store.claim(mine).wait().expect("claims");
    let mut seen = BTreeMap::new();
    assert_eq!(collect(&node, 100, &mut seen), 0);
    take_over(&node, 0..PARTITIONS, &mut seen);
    assert_eq!(seen.len(), 10);
    let foreign = vec![Partition {
        queue: QUEUE + 1,
        part: 0,
    }];
    let refused = node.take_over(foreign);
    assert!(refused.is_err(), "does not hold it: {refused:?}");
}

/// A node reads its partitions, loses its lease while the database is away, regains it, and reads them again. Then the
/// database executes the first reading.
#[test]
fn a_reading_that_nobody_waits_for_takes_nothing() {
    let database = Database::new();
    let node = database.node();
    declare(&node);
    let mut seen = BTreeMap::new();
    take_over(&node, 0..PARTITIONS, &mut seen);
    let all = || -> Vec<Partition> {
        let parts = 0..PARTITIONS;
        parts.map(|part| Partition { queue: QUEUE, part }).collect()
    };
    node.store.write(batch(0..10)).wait().expect("writes");
    let late = node.store.take_over(all(), Arc::new(|| false)).wait();
    assert!(late.is_err(), "nobody has its result: {late:?}");
    collect(&node, 100, &mut seen);
    assert_eq!(seen.len(), 10, "it has taken rows that no queue gets");
    // The lease ends between its first statement and its last.
    node.store.write(batch(10..20)).wait().expect("writes");
    let asked = AtomicUsize::new(0);
    let is_wanted = Arc::new(move || asked.fetch_add(1, Ordering::Relaxed) == 0);
    let late = node.store.take_over(all(), is_wanted).wait();
    assert!(late.is_err(), "nobody has its result: {late:?}");
    let session = database.session();
    let rows = || session.value("SELECT count(*) FROM inbox");
    assert_ne!(rows(), "0", "they wait for the next reading");
    take_over(&node, 0..PARTITIONS, &mut seen);
    assert_eq!(seen.len(), 20);
    assert_eq!(rows(), "0");
}

#[test]
fn partitions_that_are_being_read_are_left_out() {
    let database = Database::new();
    let node = database.node();
    declare(&node);
    take_over(&node, 0..PARTITIONS, &mut BTreeMap::new());
    node.store.write(batch(0..100)).wait().expect("writes");
    let read: Vec<Partition> = (0..8)
        .map(|part| Partition { queue: QUEUE, part })
        .collect();
    let is_read = |n: &u64| part(*n) < 8;
    let rows = node.store.collect(1000, read).wait().expect("collects");
    let mut seen = BTreeMap::new();
    count(rows, &mut seen);
    let numbers = |seen: &BTreeMap<u64, usize>| -> Vec<u64> {
        seen.keys().map(|seen| seen - id(0)).collect()
    };
    assert_eq!(
        numbers(&seen),
        (0..100).filter(|n| !is_read(n)).collect::<Vec<_>>()
    );
    let mut rest = BTreeMap::new();
    collect(&node, 1000, &mut rest);
    assert_eq!(numbers(&rest), (0..100).filter(is_read).collect::<Vec<_>>());
}

#[test]
fn what_is_collected_at_a_time_is_bounded_in_octets() {
    let database = Database::new();
    let node = database.node();
    declare(&node);
    take_over(&node, 0..PARTITIONS, &mut BTreeMap::new());
    const ROWS: usize = 40;
    let lengths = || {
        let rows = node.store.collect(1000, Vec::new()).wait();
        let rows = rows.expect("collects");
        rows.iter().map(Handed::octets).collect::<Vec<_>>()
    };
    database.session().run(&format!(
        "INSERT INTO inbox (queue, part, items)
         SELECT {QUEUE}, n % {PARTITIONS}, convert_to(repeat('x', 1000000), 'UTF8')
         FROM generate_series(1, {ROWS}) n"
    ));
    let mut taken = Vec::new();
    for rest in [ROWS - 17, ROWS - 34, 0] {
        let lengths = lengths();
        let all_but_last = &lengths[..lengths.len() - 1];
        assert!(all_but_last.iter().sum::<usize>() < MOST_COLLECTED_OCTETS);
        taken.extend(lengths);
        assert_eq!(taken.len(), ROWS - rest);
    }
    assert_eq!(lengths(), Vec::<usize>::new());
}

#[test]
fn what_is_collected_survives_a_commit_that_is_cut_off() {
    for committed in [false, true] {
        let database = Database::new();
        let node = database.node();
        declare(&node);
        take_over(&node, 0..PARTITIONS, &mut BTreeMap::new());
        node.store.write(batch(0..10)).wait().expect("writes");
        // The commit waits for a lock, and its session ends meanwhile.
        let session = database.session();
        session.run(
            "CREATE FUNCTION hang() RETURNS trigger LANGUAGE plpgsql AS
               'BEGIN PERFORM pg_advisory_xact_lock(1); RETURN NULL; END';
             CREATE CONSTRAINT TRIGGER hang AFTER DELETE ON inbox DEFERRABLE INITIALLY DEFERRED
               FOR EACH ROW EXECUTE FUNCTION hang();
             SELECT pg_advisory_lock(1)",
        );
        let cut = node.store.collect(6, Vec::new());
        let waiting = "FROM pg_stat_activity WHERE datname = current_database()
                       AND wait_event_type = 'Lock' AND wait_event = 'advisory'";
        session.wait_until(&format!("EXISTS(SELECT 1 {waiting})"));
        session.run(&format!("SELECT pg_terminate_backend(pid) {waiting}"));
        assert!(cut.wait().is_err());
        session.run("DROP TRIGGER hang ON inbox; SELECT pg_advisory_unlock(1)");
        if committed {
            // As if the server had committed before the session ended.
            session
                .run("DELETE FROM inbox WHERE seq IN (SELECT seq FROM inbox ORDER BY seq LIMIT 6)");
        }
        // Other pooled connections may notice only now that they were closed as well.
        let first = loop {
            if let Ok(items) = node.store.collect(100, Vec::new()).wait() {
                break items;
            }
        };
        let mut seen = BTreeMap::new();
        count(first, &mut seen);
        while collect(&node, 100, &mut seen) > 0 {}
        let numbers: Vec<u64> = seen.keys().map(|seen| seen - id(0)).collect();
        assert_eq!(numbers, (0..10).collect::<Vec<_>>(), "{committed}");
        assert!(seen.values().all(|times| *times == 1));
        assert_eq!(session.value("SELECT count(*) FROM inbox"), "0");
    }
}

#[test]
fn damaged_hand_offs_are_not_used_and_their_messages_are_in_the_tables() {
    let database = Database::new();
    let [owner, accepting] = [database.node(), database.node()];
    declare(&owner);
    let mut seen = BTreeMap::new();
    take_over(&owner, 0..PARTITIONS, &mut seen);
    accepting.store.write(batch(0..1)).wait().expect("writes");
    let session = database.session();
    session.run("UPDATE inbox SET items = set_byte(items, 4, get_byte(items, 4) # 1)");
    let rows = owner
        .store
        .collect(10, Vec::new())
        .wait()
        .expect("collects");
    let [row] = <[Handed; 1]>::try_from(rows).expect("one row");
    let partition = row.partition;
    assert_eq!(row.into_items(), Err(DamagedItems(partition)));
    let lost = vec![LeasedResource::Queue(partition)];
    owner.store.release(lost).wait().expect("releases");
    take_over(&owner, std::iter::once(partition.part), &mut seen);
    assert_eq!(seen, BTreeMap::from([(id(0), 1)]));
}
