//! Partitions that go to another node, and come back.

use std::pin::Pin;

use actix::prelude::Request;

use super::again::ReadAgain;
use super::*;
use crate::actors::receipts::final_state;
use crate::actors::test_support::until;
use crate::pb::Final;

type Release = Pin<Box<Request<Queue, ReleasePartitions>>>;

/// Asks to release partition 1, which something holds.
fn begin_release(fixture: &Fixture) -> Release {
    let mut release = Box::pin(fixture.addr.send(ReleasePartitions { parts: vec![1] }));
    assert!(is_pending(&mut release));
    release
}

fn is_pending(release: &mut Release) -> bool {
    futures_util::FutureExt::now_or_never(release).is_none()
}

/// Waits for the answer; far less long than the cluster does.
async fn released(release: Release) {
    let answer = tokio::time::timeout(Duration::from_secs(10), release).await;
    answer.expect("something holds it").expect("released");
}

/// What has ended its session, with all that was unanswered.
pub(super) fn ended(ids: &[u64]) -> SettleBatch {
    let failed = ids.iter().map(|id| Failed {
        id: *id,
        why: Why::Unknown.into(),
        ended: true,
        ..Failed::default()
    });
    SettleBatch {
        session: SESSION,
        failed: failed.collect(),
        room: 10,
        ..SettleBatch::default()
    }
}

/// A session that sends nothing yet, and gives back what it is asked for.
struct Holding {
    queue: Addr<Queue>,
    holds: Arc<Mutex<Vec<u64>>>,
}

const HOLDING: u64 = 9;

impl Actor for Holding {
    type Context = Context<Self>;
}

impl Handler<DeliverBatch> for Holding {
    type Result = ();

    fn handle(&mut self, batch: DeliverBatch, _: &mut Self::Context) {
        lock(&self.holds).extend(batch.deliveries.iter().map(|delivery| delivery.id));
    }
}

measured!(Holding: DeliverBatch);

impl Handler<ReportHeld> for Holding {
    type Result = ();

    fn handle(&mut self, ask: ReportHeld, _: &mut Self::Context) {
        assert_eq!(ask.give_back, [1]);
        let failed = lock(&self.holds).drain(..).map(Failed::not_sent).collect();
        let back = SettleBatch {
            session: HOLDING,
            failed,
            ..SettleBatch::default()
        };
        post_to(&self.queue.clone().recipient(), back);
    }
}

/// Lets such a session serve the queue, and hold two messages of partition 1; returns what it holds.
async fn holding(fixture: &Fixture) -> Arc<Mutex<Vec<u64>>> {
    let holds: Arc<Mutex<Vec<u64>>> = Arc::default();
    let session = Holding {
        queue: fixture.addr.clone(),
        holds: Arc::clone(&holds),
    };
    fixture.port.serve(HOLDING, &session.start(), 2);
    let ids = fixture.accept_in(1, 2, 0).await;
    until("it has both", || lock(&holds).len() == 2).await;
    assert_eq!(*lock(&holds), ids);
    holds
}

#[actix::test]
async fn a_session_gives_back_what_it_holds_of_a_partition_that_leaves() {
    let fixture = fixture().await;
    holding(&fixture).await;
    released(begin_release(&fixture)).await;
}

#[actix::test]
async fn an_attempt_that_is_noted_is_not_asked_back_for_another_node() {
    let fixture = fixture_for(OutcomePolicy::Fail).await;
    let holds = holding(&fixture).await;
    let leaving = lock(&holds).clone();
    let mut release = begin_release(&fixture);
    tokio::time::sleep(TICK * 2).await;
    assert!(is_pending(&mut release));
    assert_eq!(*lock(&holds), leaving);
    fixture
        .send(SettleBatch {
            session: HOLDING,
            ..done(&leaving, 0)
        })
        .await;
    released(release).await;
}

#[actix::test]
async fn what_ended_its_session_does_not_hold_its_partition() {
    let fixture = fixture().await;
    let leaving = fixture.accept_in(1, 3, 0).await;
    fixture.credit(3).await;
    assert_eq!(fixture.given(3).await, leaving);
    let release = begin_release(&fixture);
    fixture.send(ended(&leaving)).await;
    released(release).await;
    tokio::time::sleep(TICK * 2).await;
    assert_eq!(fixture.waiting_and_in_flight(), (0, 0));
}

#[actix::test]
async fn in_strict_order_what_is_on_trial_does_not_hold_its_partition() {
    let fixture = fixture_with(|config| {
        config.operator[0].strict_order = true;
        config.operator[0].suspect_attempts = 1;
        config.operator[0].suspect_pause = Duration::from_secs(3600);
    })
    .await;
    let leaving = fixture.accept_in(1, 2, 0).await;
    fixture.credit(2).await;
    assert_eq!(fixture.given(1).await, leaving[..1]);
    let release = begin_release(&fixture);
    fixture.send(ended(&leaving[..1])).await;
    released(release).await;
}

#[actix::test]
async fn a_partition_waits_for_what_a_session_holds_of_it_though_the_lists_are_read_again() {
    let fixture = fixture().await;
    let leaving = fixture.accept_in(1, 1, 0).await;
    fixture.credit(1).await;
    assert_eq!(fixture.given(1).await, leaving);
    lock(&fixture.holds).extend(&leaving);
    // This store is read as a whole: the message ends, so that nothing of the partition is read.
    let ended = Final {
        id: leaving[0],
        state: MessageState::Deleted.into(),
        ..Final::default()
    };
    final_state::write(&fixture.context, WriteBatch::default(), vec![ended]).await;
    fixture.context.local_lease.lose_everything();
    fixture.send(ReadAgain).await;
    let mut release = begin_release(&fixture);
    fixture.until_read().await;
    tokio::time::sleep(TICK * 2).await;
    assert!(is_pending(&mut release));
    fixture.send(done(&leaving, 0)).await;
    released(release).await;
}

#[actix::test]
async fn what_comes_back_when_the_lease_has_ended_does_not_wait_here() {
    let fixture = fixture().await;
    fixture.accept_and_give(2, 2).await;
    fixture.context.local_lease.lose_everything();
    fixture.port.leave(SESSION);
    fixture.send(SessionDown { session: SESSION }).await;
    tokio::time::sleep(TICK * 2).await;
    assert_eq!(fixture.waiting_and_in_flight(), (0, 0));
}

#[actix::test]
async fn what_is_being_noted_when_the_lease_ends_leaves_its_room_to_its_session() {
    let fixture = fixture_for(OutcomePolicy::Fail).await;
    fixture.accept(1, 0).await;
    fixture.post(Credit {
        session: SESSION,
        room: 1,
        ..Credit::default()
    });
    fixture.post(DisownPartitions {});
    tokio::time::pause();
    let has_room = || fixture.port.snapshot.get().room == 1;
    until("the session has its room again", has_room).await;
    assert!(lock(&fixture.got).is_empty());
}

#[actix::test]
async fn a_partition_leaves_when_nothing_of_it_is_under_way() {
    let fixture = fixture().await;
    let leaving = fixture.accept_in(1, 3, 0).await;
    let staying = fixture.accept_in(2, 2, 0).await;
    fixture.credit(1).await;
    assert_eq!(fixture.given(1).await, leaving[..1]);

    let mut release = begin_release(&fixture);
    fixture.credit(10).await;
    // The rest of the leaving partition is not granted any more; the other partition is.
    assert_eq!(fixture.given(3).await[1..], staying);
    assert!(is_pending(&mut release));

    fixture.send(done(&leaving[..1], 0)).await;
    released(release).await;

    // The partition comes back with what the store has.
    let before = fixture.term(1);
    fixture.context.local_lease.begin_term(fixture.port.id);
    let seeds = leaving[1..].iter().map(|id| Seed {
        item: Item {
            part: 1,
            ..Item::message(*id)
        },
        due_at: 0,
        unsure: false,
        ended: 0,
    });
    let parts = vec![1];
    fixture
        .send(AdoptPartitions {
            parts,
            seeds: seeds.collect(),
        })
        .await;
    // A dispatch that was under way meanwhile brings nothing twice.
    let late = QueueItem {
        id: leaving[1],
        expires_at: i64::MAX,
        part: 1,
        term: before,
        ..QueueItem::default()
    };
    fixture.send(Enqueue { items: vec![late] }).await;
    assert_eq!(fixture.given(5).await[3..], leaving[1..]);
    tokio::time::sleep(TICK * 2).await;
    assert_eq!(lock(&fixture.got).len(), 5);

    // A message that was in another queue meanwhile and comes back is not a duplicate.
    fixture.send(done(&[leaving[1]], 1)).await;
    let back = QueueItem {
        id: leaving[1],
        expires_at: i64::MAX,
        part: 1,
        term: fixture.term(1),
        ..QueueItem::default()
    };
    fixture.send(Enqueue { items: vec![back] }).await;
    assert_eq!(fixture.given(6).await[5..], leaving[1..2]);
}
