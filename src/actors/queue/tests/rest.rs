//! A queue without work does nearly nothing, and is late for nothing.

use std::sync::atomic::Ordering;

use super::*;
use crate::actors::context::target_health::Availability;
use crate::actors::queue::timer::REST;

impl Fixture {
    /// Stops the clock, when the queue has come to rest.
    async fn rest(&self) {
        self.credit(10).await;
        tokio::time::pause();
        tokio::time::sleep(REST * 3).await;
    }

    /// How many snapshots the queue makes within this time: each tick makes one.
    async fn snapshots_within(&self, time: Duration) -> usize {
        let end = Instant::now() + time;
        let (mut last, mut made) = (self.port.snapshot.get(), 0);
        while Instant::now() < end {
            tokio::time::sleep(TICK / 10).await;
            let next = self.port.snapshot.get();
            if !Arc::ptr_eq(&last, &next) {
                made += 1;
            }
            last = next;
        }
        made
    }
}

#[actix::test]
async fn a_queue_with_nothing_to_do_ticks_once_a_second() {
    let fixture = fixture().await;
    fixture.rest().await;
    let made = fixture.snapshots_within(Duration::from_secs(60)).await;
    assert!((50..=61).contains(&made), "{made} in a minute");
}

#[actix::test]
async fn what_comes_to_a_queue_at_rest_ends_that_until_it_is_gone() {
    let fixture = fixture().await;
    fixture.rest().await;
    // A clock that stands runs ahead while the store writes.
    tokio::time::resume();
    let ids = fixture.accept(1, 0).await;
    tokio::time::pause();
    assert_eq!(fixture.given(1).await, ids);
    tokio::time::sleep(TICK * 2).await;
    assert_eq!(fixture.port.snapshot.get().in_flight, 1);
    let made = fixture.snapshots_within(REST).await;
    assert!(made >= 8, "{made} in a second");
    fixture.send(done(&ids, 1)).await;
    tokio::time::sleep(REST * 3).await;
    let made = fixture.snapshots_within(Duration::from_secs(10)).await;
    assert!(made <= 11, "{made} in ten seconds");
}

#[actix::test]
async fn what_a_new_plan_changes_is_shown_by_the_next_tick() {
    let fixture = fixture().await;
    fixture.rest().await;
    // In place of what is in a plan: the queue is told only that something is new.
    fixture.port.suspended.store(true, Ordering::Relaxed);
    fixture.send(PlanChanged {}).await;
    tokio::time::sleep(TICK * 2).await;
    assert!(fixture.port.snapshot.get().suspended);
}

#[actix::test]
async fn patience_with_an_operator_ends_in_its_time() {
    const PATIENCE: Duration = Duration::from_secs(30);
    let fixture = fixture_with(|config| config.operator[0].failover_after = PATIENCE).await;
    fixture.rest().await;
    let availability = || fixture.port.target_health.availability();
    assert_eq!(availability(), Availability::Available);
    fixture.port.leave(SESSION);
    fixture.send(SessionDown { session: SESSION }).await;
    tokio::time::sleep(PATIENCE - TICK * 2).await;
    assert_eq!(availability(), Availability::Available);
    tokio::time::sleep(TICK * 4).await;
    assert_eq!(availability(), Availability::Unavailable);
}

#[actix::test]
async fn what_is_not_due_yet_goes_in_its_time_from_a_queue_that_rested() {
    let fixture = fixture().await;
    fixture.rest().await;
    let due_at = clock::now_ms() + 5_000;
    let item = QueueItem {
        id: 7,
        due_at,
        expires_at: i64::MAX,
        term: fixture.term(0),
        ..QueueItem::default()
    };
    fixture.send(Enqueue { items: vec![item] }).await;
    tokio::time::sleep(TICK * 2).await;
    assert_eq!(fixture.port.snapshot.get().scheduled, 1);
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert_eq!(fixture.port.snapshot.get().scheduled, 0);
}
