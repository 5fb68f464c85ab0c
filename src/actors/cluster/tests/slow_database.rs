//! A database that is away, takes long to read, or is damaged; and a queue that does not answer.

use super::*;
use crate::actors::context::ports::QueuePort;
use crate::actors::queue::{self, Queue};

#[actix::test]
async fn a_reading_that_takes_long_stops_neither_hand_offs_nor_binds() {
    let (shelf, node, [_, slot]) = started(None).await;
    until("its slot", || node.has(slot)).await;
    // A partition comes, and the store takes its time to read it.
    shelf.keep_back(Call::TakeOver);
    let late = Partition { queue: 7, part: 0 };
    lock(&shelf.state)
        .held
        .insert(LeasedResource::Queue(late), ME);
    until("a reading", || shelf.is_waited_for(Call::TakeOver)).await;
    node.context.local_lease.lose(&[slot]);
    node.context.local_lease.left(&[slot]);
    until("the slot again", || node.has(slot)).await;
    for _ in 0..10 {
        lock(&shelf.state).collected = 0;
        shelf.woken(Hint::HandOff).notify_one();
        until("a hand-off", || lock(&shelf.state).collected > 0).await;
        assert_eq!(lock(&shelf.state).left_out, [late]);
        tokio::time::sleep(SOON).await;
    }
    assert!(!node.has(LeasedResource::Queue(late)));
    shelf.let_go(Call::TakeOver);
    until("it is this node's", || {
        node.has(LeasedResource::Queue(late))
    })
    .await;
    lock(&shelf.state).collected = 0;
    until("the next hand-off", || lock(&shelf.state).collected > 0).await;
    assert_eq!(lock(&shelf.state).left_out, [], "it is collected for");
}

#[actix::test]
async fn after_an_outage_the_others_have_time_to_come_back() {
    let (shelf, node, slots) = started(None).await;
    until("both", || slots.iter().all(|slot| node.has(*slot))).await;
    let cluster = node.context.config().cluster.clone();
    lock(&shelf.state).is_joined = true;
    lock(&shelf.state).is_down = true;
    let before = lock(&shelf.state).beats;
    tokio::time::sleep(cluster.lease * 2).await;
    let beats = lock(&shelf.state).beats - before;
    let tries = cluster.lease * 2 / beats as u32;
    assert!(tries < cluster.heartbeat * 3 / 4, "one in {tries:?}");
    // All leases are over; this node is the first that renews its own.
    lock(&shelf.state).is_dead = true;
    lock(&shelf.state).is_down = false;
    tokio::time::sleep(cluster.heartbeat).await;
    assert!(node.context.local_lease.is_valid(), "it is back at once");
    assert_eq!(lock(&shelf.state).buried, 0);
    lock(&shelf.state).is_dead = false;
    tokio::time::sleep(cluster.lease).await;
    assert_eq!(lock(&shelf.state).buried, 0, "the other one is back");
    lock(&shelf.state).is_dead = true;
    until("the next death", || lock(&shelf.state).buried > 0).await;
}

#[actix::test]
async fn a_reading_from_before_everything_was_lost_is_not_wanted() {
    let (shelf, node, [_, slot]) = started(None).await;
    until("its slot", || node.has(slot)).await;
    shelf.keep_back(Call::TakeOver);
    let late = LeasedResource::Queue(Partition { queue: 7, part: 0 });
    lock(&shelf.state).held.insert(late, ME);
    until("a reading", || shelf.is_waited_for(Call::TakeOver)).await;
    let is_wanted = |at: usize| (lock(&shelf.state).readings[at])();
    assert!(is_wanted(0));
    // The database is away for longer than the lease, and its answer to the first reading comes even later.
    lock(&shelf.state).is_down = true;
    until("the end of the lease", || !is_wanted(0)).await;
    lock(&shelf.state).is_down = false;
    until("another reading", || lock(&shelf.state).readings.len() > 1).await;
    assert!(!is_wanted(0) && is_wanted(1));
    shelf.let_go(Call::TakeOver);
    until("it is this node's", || node.has(late)).await;
}

#[actix::test]
async fn a_partition_with_damaged_hand_offs_is_given_back_to_be_read() {
    let (shelf, node, [_, slot]) = started(None).await;
    until("its slot", || node.has(slot)).await;
    let [damaged, sound] = [0, 1].map(|part| Partition { queue: 7, part });
    let [given_back, kept] = [damaged, sound].map(LeasedResource::Queue);
    lock(&shelf.state)
        .held
        .extend([(given_back, ME), (kept, ME)]);
    until("both", || node.has(given_back) && node.has(kept)).await;
    lock(&shelf.state).damaged = Some(damaged);
    shelf.woken(Hint::HandOff).notify_one();
    until("given back", || shelf.holder(given_back) == Some(OTHER)).await;
    assert!(node.has(kept));
    let listed = node.context.store.take_damage();
    assert_eq!(listed.len(), 1);
    assert_eq!((&*listed[0].table, listed[0].id), ("inbox", 7));
}

#[actix::test]
async fn a_partition_that_cannot_be_read_keeps_no_other_waiting() {
    let (shelf, node, [_, slot]) = started(None).await;
    until("its slot", || node.has(slot)).await;
    let [unreadable, others @ ..] =
        [0, 1, 2, 3, 4, 5].map(|part| LeasedResource::Queue(Partition { queue: 7, part }));
    {
        let mut state = lock(&shelf.state);
        state.unreadable = unreadable.partition();
        state.held.insert(unreadable, ME);
        state.held.extend(others.map(|one| (one, ME)));
    }
    // Also the one that was read together with it.
    until("all others", || others.iter().all(|one| node.has(*one))).await;
    assert!(!node.has(unreadable));
    lock(&shelf.state).unreadable = None;
    until("this one, too", || node.has(unreadable)).await;
}

#[actix::test]
async fn a_queue_that_does_not_answer_holds_up_no_other_partition() {
    let (shelf, node, [_, slot]) = started(None).await;
    until("its slot", || node.has(slot)).await;
    let context = Arc::clone(&node.context);
    let (address, not_started) = supervise::slot::<Queue>(queue::MAILBOX);
    let port = Arc::new(QueuePort::new(
        7,
        "operator:late".to_owned(),
        QueueKind::Operator,
        address.into(),
        Arc::clone(&context.local_lease),
        &context.metrics,
    ));
    context.add_queue(Arc::clone(&port));
    let [late, other] = [7, 8].map(|queue| Partition { queue, part: 0 });
    let both = [late, other].map(LeasedResource::Queue);
    lock(&shelf.state).held.extend(both.map(|one| (one, ME)));
    until("both", || both.iter().all(|one| node.has(*one))).await;
    lock(&shelf.state).repeated = Some(late);
    shelf.woken(Hint::HandOff).notify_one();
    until("others alone to be collected for", || {
        let state = lock(&shelf.state);
        state.left_out.contains(&late) && !state.left_out.contains(&other)
    })
    .await;
    let before = context.metrics.items_collected.get();
    lock(&shelf.state).repeated = Some(other);
    let collected = || context.metrics.items_collected.get() - before;
    until("what the other one has", || collected() == 1).await;
    let escalate: Escalate = Arc::new(|name: &str| panic!("{name} escalated"));
    let (for_queue, health) = (Arc::clone(&context), Arc::clone(&port.health));
    not_started.start(&actix::Arbiter::current(), health, escalate, move || {
        Queue::new(for_queue, port, Vec::new())
    });
    until("both to be collected for", || {
        let state = lock(&shelf.state);
        !state.left_out.contains(&late) && !state.left_out.contains(&other)
    })
    .await;
}
