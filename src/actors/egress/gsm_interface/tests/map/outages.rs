//! Gateways and networks that go away for a moment or for long, and how the interface leaves them.

use super::*;
use crate::actors::context::binds::CUT_OFF;
use crate::config::OutcomePolicy;

#[actix::test]
async fn dialogues_go_on_when_the_network_is_away_for_a_moment() {
    let (mut stp, fixture) = through_one(|_| {}).await;
    fixture.accept_to(&[NUMBER_A]).await;
    let asked = stp.delivery().await;
    let mut stp = stp.anew(STP_A);
    // It is up again after the pause of the configuration.
    stp.expect_nothing().await;
    stp.expect_nothing().await;
    stp.take(&asked).await;
    fixture.empty().await;
    assert_eq!(fixture.interface().state(), BindState::Bound);
}

#[actix::test]
async fn everything_goes_back_in_order_when_no_gateway_is_left() {
    let (mut stp, fixture) = through_one(|_| {}).await;
    let ids = fixture.accept_to(&[NUMBER_A, NUMBER_A, NUMBER_B]).await;
    let first = stp.delivery().await;
    let other = stp.delivery().await;
    stp.take(&other).await;
    drop(stp);
    until("no session of the queue", || {
        fixture.queue.snapshot.get().sessions == 0
    })
    .await;
    until("the network to be away", || {
        fixture.interface().state() != BindState::Bound
    })
    .await;
    let shown = fixture.interface();
    assert!(!shown.last_error.is_empty());
    assert!(shown.reconnect_attempts > 0);
    // The first one has an unknown outcome, and is sent again.
    let mut next = Stp::next(STP_A);
    for id in &ids[..2] {
        let again = next.delivery().await;
        assert_eq!(again.id(), *id);
        next.take(&again).await;
    }
    assert_eq!(first.id(), ids[0]);
    fixture.empty().await;
    fixture.stands(BindState::Bound).await;
}

#[actix::test]
async fn an_outage_of_the_gateways_makes_no_message_suspect() {
    let (mut stp, fixture) = through_one(|_| {}).await;
    let ids = fixture.accept_to(&[NUMBER_A, NUMBER_B]).await;
    stp.delivery().await;
    stp.delivery().await;
    drop(stp);
    until("the network to be away", || {
        fixture.interface().state() != BindState::Bound
    })
    .await;
    let mut next = Stp::next(STP_A);
    // Both at once.
    let again = [next.delivery().await, next.delivery().await];
    let mut came: Vec<u64> = again.iter().map(AskedQuestion::id).collect();
    came.sort_unstable();
    assert_eq!(came, ids);
    for asked in &again {
        next.take(asked).await;
    }
    fixture.empty().await;
}

#[actix::test]
async fn what_was_not_sent_before_an_outage_has_no_unknown_outcome() {
    let mut stp = Stp::next(STP_A);
    let fails = |home: &mut Gsm| home.outcome_unknown = OutcomePolicy::Fail;
    let fixture = over_and(&[STP_A], |_| {}, fails).await;
    let ids = fixture.accept_to(&[NUMBER_A]).await;
    let asked = stp.question().await;
    assert_eq!(asked.question, Question::Where(NUMBER_A.to_owned()));
    drop(stp);
    until("the network to be away", || {
        fixture.interface().state() != BindState::Bound
    })
    .await;
    let mut next = Stp::next(STP_A);
    let again = tokio::time::timeout(MOMENT * 60, next.delivery()).await;
    let again = again.expect("it is sent");
    assert_eq!(again.id(), ids[0]);
    next.take(&again).await;
    fixture.empty().await;
}

#[actix::test]
async fn what_cannot_reach_its_destination_is_no_network_that_is_there() {
    let (mut stp, fixture) = bound().await;
    stp.says_of_network(M3uaKind::DUNA).await;
    stp.expect_nothing().await;
    for _ in 0..6 {
        stp.expect_nothing().await;
    }
    let shown = fixture.interface();
    assert_eq!(shown.state(), BindState::Binding);
    assert!(shown.last_error.contains("1.2.1"), "{}", shown.last_error);
    stp.says_of_network(M3uaKind::DAVA).await;
    stp.expect_nothing().await;
    fixture.stands(BindState::Bound).await;
}

#[actix::test]
async fn gateways_that_are_connected_in_vain_are_left_to_another_node() {
    let (mut stp, fixture) = bound().await;
    stp.says_of_network(M3uaKind::DUNA).await;
    tokio::time::sleep(Duration::from_secs(20)).await;
    assert_eq!(fixture.interface().reconnect_attempts, 0);
    tokio::time::sleep(Duration::from_secs(15)).await;
    let shown = fixture.interface();
    assert_eq!(shown.gateways[0].state(), GatewayState::Active);
    assert!(shown.reconnect_attempts >= CUT_OFF);
    stp.says_of_network(M3uaKind::DAVA).await;
    fixture.stands(BindState::Bound).await;
    assert_eq!(fixture.interface().reconnect_attempts, 0);
}

#[actix::test]
async fn who_has_left_its_queue_does_not_join_at_once() {
    let (mut stp, fixture) = bound().await;
    stp.says_of_network(M3uaKind::DUNA).await;
    // The clock goes no further than to the tick in which it leaves.
    while fixture.interface().state() == BindState::Bound {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    stp.says_of_network(M3uaKind::DAVA).await;
    for _ in 0..100 {
        tokio::task::yield_now().await;
        assert_ne!(fixture.interface().state(), BindState::Bound);
    }
    fixture.stands(BindState::Bound).await;
}

#[actix::test]
async fn what_cannot_be_sent_for_a_moment_is_sent_afterwards() {
    let (mut stp, fixture) = through_one(|_| {}).await;
    let ids = fixture.accept_to(&[NUMBER_A]).await;
    let asked = stp.question().await;
    stp.says_of_network(M3uaKind::DUNA).await;
    stp.found(&asked, NUMBER_A).await;
    stp.expect_nothing().await;
    assert_eq!(fixture.interface().state(), BindState::Bound);
    stp.says_of_network(M3uaKind::DAVA).await;
    let asked = stp.delivery().await;
    assert_eq!((asked.id(), stp.asked), (ids[0], 1));
    stp.take(&asked).await;
    fixture.empty().await;
}

#[actix::test]
async fn a_network_that_is_suspended_takes_leave_of_its_gateways() {
    let (mut stp, fixture) = bound().await;
    let port = fixture.node.context.binds.all().remove(0);
    port.suspended.store(true, Ordering::Relaxed);
    port.command(BindCommand {
        verb: Verb::Suspend.into(),
    });
    let mut heard = Vec::new();
    while heard.last() != Some(&M3uaKind::ASPDN) {
        heard.push(stp.message().await.kind);
    }
    fixture.stands(BindState::Paused).await;
    assert!(fixture.interface().gateways.is_empty());
}

#[actix::test]
async fn leave_is_taken_of_a_gateway_that_is_sending() {
    let (mut stp, fixture) = bound().await;
    let port = fixture.node.context.binds.all().remove(0);
    port.suspended.store(true, Ordering::Relaxed);
    // It is read before the interface hears the command, and told afterwards.
    stp.write(M3uaMessage::new(M3uaKind::BEAT)).await;
    port.command(BindCommand {
        verb: Verb::Suspend.into(),
    });
    let mut heard = Vec::new();
    while heard.last() != Some(&M3uaKind::ASPDN) {
        heard.push(stp.message().await.kind);
    }
    fixture.stands(BindState::Paused).await;
}
