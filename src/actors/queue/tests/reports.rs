//! What sessions report to a queue that reads its messages again: what they hold, and their credit.

use super::again::ReadAgain;
use super::bounds::TAKING;
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

fn reports(room: u32) -> Held {
    Held {
        session: TAKING,
        ids: Vec::new(),
        room,
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
    // Posted when it joined.
    fixture.post(Credit {
        session: TAKING,
        room: 3,
        retire: false,
    });
    fixture.post(SettleBatch {
        session: TAKING,
        room: 2,
        ..SettleBatch::default()
    });
    fixture.post(reports(5));
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
