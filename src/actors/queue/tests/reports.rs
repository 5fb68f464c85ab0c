//! What sessions report to a queue that reads its messages again: what they hold, and their credit.

use std::sync::atomic::Ordering;

use super::again::ReadAgain;
use super::bounds::TAKING;
use super::leaving::ended;
use super::*;
use crate::actors::test_support::until;
use crate::pb::ResolvedBatch;

/// A session that gives its room by what the test posts in its name.
async fn fixture_for_credit() -> Fixture {
    let fixture = fixture().await;
    fixture.port.leave(SESSION);
    fixture.takes();
    fixture
}

/// What is posted when it joins.
fn joins(room: u32) -> Credit {
    Credit {
        session: TAKING,
        room,
        ..Credit::default()
    }
}

fn gives_room(room: u32) -> SettleBatch {
    SettleBatch {
        session: TAKING,
        room,
        ..SettleBatch::default()
    }
}

fn reports(room: u32) -> Held {
    Held {
        session: TAKING,
        room,
        ..Held::default()
    }
}

fn resolves(room: u32) -> ResolvedBatch {
    ResolvedBatch {
        session: TAKING,
        room,
        ..ResolvedBatch::default()
    }
}

#[actix::test]
async fn the_report_of_a_session_that_has_joined_just_before_it_was_asked_counts() {
    let fixture = fixture_for_credit().await;
    fixture.post(ReadAgain);
    fixture.post(joins(3));
    fixture.post(gives_room(2));
    fixture.post(reports(5));
    tokio::time::sleep(TICK * 2).await;
    assert_eq!(fixture.port.snapshot.get().room, 5);
}

#[actix::test]
async fn a_report_that_answers_an_earlier_question_is_not_taken_for_that_to_the_last_one() {
    let fixture = fixture_for_credit().await;
    let term = fixture.term(0);
    fixture.post(ReadAgain);
    fixture.post(ReadAgain);
    for (question, room) in [(term + 1, 3), (term + 2, 5)] {
        fixture.post(Held {
            question,
            ..reports(room)
        });
    }
    fixture.until_read_after(term + 1).await;
    tokio::time::sleep(TICK * 2).await;
    assert_eq!(fixture.port.snapshot.get().room, 5);
}

#[actix::test]
async fn a_resolver_that_reports_too_late_has_its_credit() {
    let fixture = fixture_for_credit().await;
    fixture.store(1, 0).await;
    fixture.send(ReadAgain).await;
    tokio::time::pause();
    let has_read = || fixture.port.snapshot.get().ready_in_memory == 1;
    until("the queue waits no longer for its report", has_read).await;
    fixture.send(resolves(2)).await;
    fixture.send(reports(5)).await;
    let one = || fixture.port.snapshot.get().granted_total == 1;
    until("it is given the message", one).await;
    let is_back = || fixture.port.snapshot.get().room == 5;
    until("it has taken it", is_back).await;
}

#[actix::test]
async fn what_is_resolved_while_the_store_is_read_twice_gives_its_room_once() {
    let fixture = fixture_for_credit().await;
    let term = fixture.term(0);
    fixture.post(ReadAgain);
    fixture.post(reports(3));
    fixture.post(resolves(2));
    fixture.post(ReadAgain);
    fixture.post(reports(5));
    fixture.until_read_after(term + 1).await;
    // The queue looks again at what was resolved.
    tokio::time::sleep(TICK * 3).await;
    assert_eq!(fixture.port.snapshot.get().room, 5);
}

#[actix::test]
async fn what_a_session_reports_too_late_is_settled_by_it_though_it_was_read_as_unknown() {
    let fixture = fixture_for(OutcomePolicy::Wait).await;
    let ids = fixture.accept_and_give(1, 1).await;
    fixture.port.leave(SESSION);
    fixture.takes();
    fixture.send(ReadAgain).await;
    tokio::time::pause();
    let waits_for_receipt = || fixture.port.snapshot.get().in_flight == 1;
    until("it is read as one of unknown outcome", waits_for_receipt).await;
    tokio::time::resume();
    fixture.post(Held {
        ids: ids.clone(),
        ..reports(5)
    });
    fixture.post(fixture.taking_refused(ids[0]));
    fixture.wait_for(ids[0], MessageState::Rejected).await;
}

#[actix::test]
async fn what_a_session_held_that_ends_while_the_store_is_read_waits_again() {
    let fixture = fixture().await;
    let ids = fixture.accept_and_give(2, 2).await;
    fixture.port.leave(SESSION);
    fixture.post(ReadAgain);
    fixture.post(Held {
        session: SESSION,
        ids,
        ..Held::default()
    });
    fixture.post(SessionDown { session: SESSION });
    let taken = fixture.takes();
    tokio::time::pause();
    let both = || taken.load(Ordering::Relaxed) == 2;
    until("another session is given both", both).await;
}

#[actix::test]
async fn a_session_that_says_too_late_what_it_holds_is_given_the_rest() {
    let fixture = fixture().await;
    let messages = fixture.store(2, 0).await;
    fixture.port.leave(SESSION);
    let taken = fixture.takes();
    fixture.send(ReadAgain).await;
    tokio::time::pause();
    let has_read = || fixture.port.snapshot.get().ready_in_memory == 2;
    until("the queue waits no longer for its report", has_read).await;
    assert_eq!(taken.load(Ordering::Relaxed), 0);
    // Its report includes this room.
    fixture.send(gives_room(2)).await;
    fixture
        .send(Held {
            ids: vec![messages[0].id],
            ..reports(5)
        })
        .await;
    let one = || taken.load(Ordering::Relaxed) == 1;
    until("it is given the other one", one).await;
    tokio::time::sleep(TICK * 2).await;
    let snapshot = fixture.port.snapshot.get();
    assert_eq!((snapshot.waiting, snapshot.in_flight), (0, 1));
    assert_eq!(snapshot.room, 5);
}

/// Lets the bodies be read of all that waits; before they are there, a session reports, and settles this.
struct WhileReading {
    report: Held,
    settled: SettleBatch,
}

impl actix::Message for WhileReading {
    type Result = ();
}

impl Handler<WhileReading> for Queue {
    type Result = ();

    fn handle(&mut self, meanwhile: WhileReading, ctx: &mut Self::Context) {
        let all = self.backlog.take_if(|_| true);
        self.backlog.push_all_front(all.into_iter());
        self.read_ahead(ctx);
        self.held_reported(meanwhile.report, ctx);
        self.settle(meanwhile.settled, ctx);
        assert!(self.backlog.is_reading());
    }
}

/// The session that was asked in vain reports this one, and settles so much.
fn while_reading(id: u64, settled: SettleBatch) -> WhileReading {
    WhileReading {
        report: Held {
            ids: vec![id],
            ..reports(0)
        },
        settled,
    }
}

impl Fixture {
    /// That session was refused this one.
    fn taking_refused(&self, id: u64) -> SettleBatch {
        SettleBatch {
            session: TAKING,
            ..self.refused(id)
        }
    }
}

/// Lets a queue wait in vain for the report of a session, and read so many messages. Another session has no room yet,
/// and the clock is paused.
async fn waits_in_vain(fixture: &Fixture, count: usize) -> Vec<u64> {
    let messages = fixture.store(count, 0).await;
    fixture.takes();
    fixture.send(ReadAgain).await;
    tokio::time::pause();
    let has_read = || fixture.port.snapshot.get().ready_in_memory > 0;
    until("the queue waits no longer for its report", has_read).await;
    messages.iter().map(|message| message.id).collect()
}

#[actix::test]
async fn what_a_session_reports_too_late_while_it_is_being_read_goes_to_nobody_else() {
    let fixture = fixture().await;
    let ids = waits_in_vain(&fixture, 2).await;
    fixture
        .send(while_reading(ids[0], SettleBatch::default()))
        .await;
    fixture.credit(2).await;
    let one = || !lock(&fixture.got).is_empty();
    until("the other one is given", one).await;
    tokio::time::sleep(TICK * 2).await;
    assert_eq!(lock(&fixture.got)[..], ids[1..]);
    assert_eq!(fixture.waiting_and_in_flight(), (0, 2));
}

#[actix::test]
async fn what_a_session_settles_of_what_is_being_read_is_settled_when_it_is_there() {
    let fixture = fixture().await;
    let ids = waits_in_vain(&fixture, 2).await;
    fixture
        .send(while_reading(ids[0], fixture.taking_refused(ids[0])))
        .await;
    tokio::time::resume();
    fixture.wait_for(ids[0], MessageState::Rejected).await;
    fixture.credit(2).await;
    assert_eq!(fixture.given(1).await, ids[1..]);
}

#[actix::test]
async fn what_a_session_settles_of_what_is_being_read_is_settled_though_the_lists_are_read_again() {
    let fixture = fixture().await;
    let ids = waits_in_vain(&fixture, 2).await;
    // The lists are discarded before the bodies are there.
    fixture.post(while_reading(ids[0], fixture.taking_refused(ids[0])));
    fixture.post(ReadAgain);
    tokio::time::resume();
    fixture.wait_for(ids[0], MessageState::Rejected).await;
    fixture.credit(2).await;
    assert_eq!(fixture.given(1).await, ids[1..]);
}

#[actix::test]
async fn what_a_session_reports_too_late_waits_if_it_ends_while_that_is_being_read() {
    let fixture = fixture().await;
    let ids = waits_in_vain(&fixture, 2).await;
    fixture
        .send(while_reading(ids[0], SettleBatch::default()))
        .await;
    fixture.send(SessionDown { session: TAKING }).await;
    fixture.credit(2).await;
    let both = || lock(&fixture.got).len() == 2;
    until("another session is given both", both).await;
    let mut given = lock(&fixture.got).clone();
    given.sort_unstable();
    assert_eq!(given, ids);
}

#[actix::test]
async fn what_a_session_reports_too_late_while_it_is_out_of_memory_goes_to_nobody_else() {
    const COUNT: usize = 100;
    let fixture = fixture_with(|config| {
        config.queue.page = 1;
        config.queue.page_mib = 1;
        config.queue.memory_items = 1;
    })
    .await;
    let ids = waits_in_vain(&fixture, COUNT).await;
    let is_spilled = || fixture.port.snapshot.get().spilled > 0;
    until("most are out of memory", is_spilled).await;
    let (last, others) = ids.split_last().expect("some");
    fixture
        .send(Held {
            ids: vec![*last],
            ..reports(0)
        })
        .await;
    goes_to_nobody_else(&fixture, *last, others.len()).await;
}

/// Another session is given the others, so many, and not this one, which is with the session that has reported it.
async fn goes_to_nobody_else(fixture: &Fixture, reported: u64, others: usize) {
    fixture.credit(2 * others as u32).await;
    let all_others = || lock(&fixture.got).len() >= others;
    until("the others are given", all_others).await;
    tokio::time::sleep(TICK * 2).await;
    let is_given = lock(&fixture.got).contains(&reported);
    assert!(!is_given, "it is with the first");
    assert_eq!(fixture.waiting_and_in_flight(), (0, others as u64 + 1));
}

/// A session reports while all that waits is being written out of memory.
struct WhileLeaving(Held);

impl actix::Message for WhileLeaving {
    type Result = ();
}

impl Handler<WhileLeaving> for Queue {
    type Result = ();

    fn handle(&mut self, WhileLeaving(report): WhileLeaving, ctx: &mut Self::Context) {
        let all = self.backlog.take_if(|_| true);
        all.into_iter()
            .for_each(|item| self.backlog.push_back(item));
        let (block, _) = self.backlog.begin_spill(1).expect("a block");
        self.held_reported(report, ctx);
        assert!(!self.backlog.end_spill(block, true), "it stays in memory");
    }
}

#[actix::test]
async fn what_a_session_reports_too_late_while_it_is_written_out_of_memory_goes_to_nobody_else() {
    let fixture = fixture().await;
    let ids = waits_in_vain(&fixture, 100).await;
    let (last, others) = ids.split_last().expect("some");
    let report = Held {
        ids: vec![*last],
        ..reports(0)
    };
    fixture.send(WhileLeaving(report)).await;
    goes_to_nobody_else(&fixture, *last, others.len()).await;
}

#[actix::test]
async fn what_a_session_settles_of_a_block_that_is_gone_is_settled() {
    let fixture = fixture_with(|config| {
        config.queue.page = 1;
        config.queue.page_mib = 1;
        config.queue.memory_items = 1;
    })
    .await;
    let ids = waits_in_vain(&fixture, 100).await;
    let is_spilled = || fixture.port.snapshot.get().spilled > 0;
    until("most are out of memory", is_spilled).await;
    let last = ids[ids.len() - 1];
    let store = &fixture.context.store;
    let gone = store.forget_blocks(fixture.port.id, 0..1_000_000);
    gone.await.expect("the store answers");
    fixture.post(Held {
        ids: vec![last],
        ..reports(0)
    });
    fixture.post(fixture.taking_refused(last));
    tokio::time::resume();
    fixture.wait_for(last, MessageState::Rejected).await;
}

#[actix::test]
async fn a_session_that_joins_again_while_the_store_is_read_has_its_credit_once() {
    let fixture = fixture_for_credit().await;
    fixture.post(ReadAgain);
    fixture.post(joins(3));
    fixture.post(reports(3));
    tokio::time::sleep(TICK * 2).await;
    assert_eq!(fixture.port.snapshot.get().room, 3);
}

#[actix::test]
async fn what_is_resolved_before_its_session_reports_gives_no_room_beside_the_report() {
    let fixture = fixture_for_credit().await;
    let term = fixture.term(0);
    fixture.post(ReadAgain);
    fixture.post(resolves(2));
    fixture.post(reports(3));
    fixture.until_read_after(term).await;
    // The queue looks again at what was resolved.
    tokio::time::sleep(TICK * 3).await;
    assert_eq!(fixture.port.snapshot.get().room, 3);
}

#[actix::test]
async fn a_lease_that_ends_while_the_store_is_read_takes_no_credit_from_sessions() {
    let fixture = fixture_for_credit().await;
    for is_in_time in [true, false] {
        fixture.post(ReadAgain);
        if is_in_time {
            fixture.post(reports(3));
            fixture.post(gives_room(1));
        }
        fixture.post(DisownPartitions {});
        if !is_in_time {
            fixture.post(reports(3));
            fixture.post(gives_room(1));
        }
        tokio::time::sleep(TICK * 2).await;
        assert_eq!(fixture.port.snapshot.get().room, 4, "in time: {is_in_time}");
    }
}

/// What has ended its session, with all that was unanswered: nothing of it is granted again before the session has room.
fn ended_without_room(ids: &[u64]) -> SettleBatch {
    SettleBatch {
        room: 0,
        ..ended(ids)
    }
}

#[actix::test]
async fn a_suspect_that_is_answered_late_is_not_tried() {
    let fixture = fixture().await;
    let ids = fixture.accept_and_give(2, 2).await;
    fixture.send(ended_without_room(&ids)).await;
    fixture.send(done(&ids[..1], 0)).await;
    fixture.credit(2).await;
    assert_eq!(fixture.given(3).await[2..], ids[1..]);
    tokio::time::sleep(TICK * 3).await;
    assert_eq!(lock(&fixture.got).len(), 3);
    assert_eq!(fixture.waiting_and_in_flight(), (0, 1));
}

#[actix::test]
async fn a_lease_that_ends_takes_suspects_with_it() {
    let fixture = fixture().await;
    let ids = fixture.accept_and_give(2, 2).await;
    fixture.send(ended_without_room(&ids)).await;
    tokio::time::sleep(TICK * 2).await;
    assert_eq!(fixture.port.snapshot.get().suspects, 2);
    fixture.send(DisownPartitions {}).await;
    tokio::time::sleep(TICK * 2).await;
    assert_eq!(fixture.port.snapshot.get().suspects, 0);
}
