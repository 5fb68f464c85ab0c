//! What follows a message of the same subscriber, and when.

use super::*;
use crate::actors::session::bound::InFlight;
use crate::config::OutcomePolicy;
use crate::pb::MessageState;
use crate::pb::delivery::What;

/// The message of a subscriber comes when the result of the one before is written, and not before.
async fn comes_when_it_is_durable(core: &mut Core, fixture: &Fixture, second: u64) {
    core.expect_nothing().await;
    fixture.node.start_correlation();
    let request = core.request().await;
    assert_eq!(id_of(&request), second);
    core.take(&request).await;
    fixture.empty().await;
}

#[actix::test]
async fn the_next_message_waits_until_the_result_of_the_one_before_is_durable() {
    let mut core = Core::next();
    let fixture = fixture_that(false, 10).await;
    let ids = fixture.accept(&[A, A, B]).await;
    let first = core.request().await;
    let other = core.request().await;
    core.take(&first).await;
    core.take(&other).await;
    comes_when_it_is_durable(&mut core, &fixture, ids[1]).await;
}

#[actix::test]
async fn the_next_message_waits_until_a_late_answer_is_durable() {
    let mut core = Core::next();
    let fixture = fixture_that(false, 10).await;
    let ids = fixture.accept(&[A, A]).await;
    let first = core.request().await;
    fixture.scheduled(2).await;
    core.take(&first).await;
    comes_when_it_is_durable(&mut core, &fixture, ids[1]).await;
}

#[actix::test]
async fn the_next_message_waits_until_a_failure_without_an_answer_is_durable() {
    let mut core = Core::next();
    let fixture = fixture_with(true, |gsm| {
        gsm.outcome_unknown = OutcomePolicy::Fail;
        gsm.request_timeout = MOMENT;
    })
    .await;
    let ids = fixture.accept(&[A, A]).await;
    let first = core.request().await;
    core.expect_nothing_for(MOMENT * 2).await;
    // It comes too late to count, and makes way.
    core.take(&first).await;
    let second = core.request().await;
    assert_eq!(id_of(&second), ids[1]);
    let stored = fixture.node.context.store.load(vec![ids[0]]).await;
    let stored = stored.expect("it is there").remove(0).expect("it is there");
    let state = stored.fin.map(|fin| fin.state);
    assert_eq!(state, Some(MessageState::Undeliverable));
}

#[actix::test]
async fn what_expires_while_it_waits_for_its_turn_is_not_sent() {
    let mut core = Core::next();
    let fixture = fixture_with(true, |gsm| gsm.request_timeout = HOUR).await;
    fixture.accept(&[A]).await;
    let first = core.request().await;
    let late = fixture.accept_for(MOMENT * 5, &[A]).await;
    until("both with the interface", || {
        fixture.queue.snapshot.get().in_flight == 2
    })
    .await;
    core.expect_nothing_for(MOMENT * 10).await;
    core.take(&first).await;
    core.expect_nothing().await;
    fixture.empty().await;
    let stored = fixture.node.context.store.load(late).await;
    let stored = stored.expect("it is there").remove(0).expect("it is there");
    let state = stored.fin.map(|fin| fin.state);
    assert_eq!(state, Some(MessageState::Expired));
}

#[actix::test]
async fn a_new_message_does_not_overtake_those_that_were_woken() {
    const DETACHED: u8 = 10;
    let mut core = Core::next();
    let fixture = fixture(1).await;
    let old = fixture.accept(&[A, A]).await;
    let request = core.request().await;
    core.refuse(&request, None, Some(DETACHED)).await;
    fixture.scheduled(2).await;
    // The new one is in front of the queue, with its body, when those that wait are woken.
    let new = fixture.accept(&[B, B, B, B, B, A]).await;
    let mut request = core.request().await;
    core.ready(A).await;
    let mut got = Vec::new();
    for _ in 0..7 {
        if request.imsi == A {
            got.push(id_of(&request));
        }
        core.take(&request).await;
        request = core.request().await;
    }
    got.push(id_of(&request));
    core.take(&request).await;
    assert_eq!(got, [old[0], old[1], new[5]]);
    fixture.empty().await;
}

#[actix::test]
async fn what_goes_back_between_its_tpdus_does_not_begin_anew() {
    let _core = Core::next();
    let fixture = fixture(10).await;
    let node = Arc::clone(&fixture.node.context);
    let escalate: Escalate = Arc::new(|name: &str| panic!("{name} escalated"));
    let port = BindPort::new(node.binds.next_session(), None);
    let options = GsmOptions {
        ingest: ingest_of(&node, &escalate),
        node,
        imsis: Arc::default(),
        gsm: fixture.queue.id,
        escalate,
    };
    let mut interface = GsmInterface::new(options, Health::new("another"), port);
    let half_sent = |id| Work {
        context: InFlight {
            id,
            attempt: 1,
            what: What::Message,
            message: Some(Box::default()),
            receipt_expected: false,
            since: 0,
            traced: None,
        },
        subscriber: A.to_owned(),
        tpdus: vec![Bytes::new(); 2],
        arrived: 1,
        expires: 0,
        relayed: None,
    };
    interface.lines.push(A, half_sent(1));
    interface.give_back_waiting(|_| true);
    interface.lines.push(A, half_sent(2));
    interface.hold_back(&half_sent(3), MOMENT);
    let arrived = [1, 2].map(|id| interface.partly.take(&half_sent(id)));
    assert_eq!(arrived, [1, 1]);
}
