//! An operator with `strict_order`: one message at a time, and what failed for now holds the others.

use super::*;
use crate::actors::queue::tests::again::ReadAgain;
use crate::pb::Replacement;
use crate::smpp::CommandStatus;

/// A queue in strict order, whose failed messages go again after an hour.
async fn strict() -> Fixture {
    fixture_with(|config| {
        config.operator[0].strict_order = true;
        config.retry.delays = vec![Duration::from_secs(3600)];
    })
    .await
}

impl Fixture {
    async fn settle(&self, done: &[u64], failed: Vec<Failed>) {
        self.send(SettleBatch {
            session: SESSION,
            done: done.to_vec(),
            failed,
            room: 1,
            ..SettleBatch::default()
        })
        .await;
    }

    async fn refuse_for_now(&self, id: u64) {
        let failed = Failed {
            id,
            why: Why::Status.into(),
            status: CommandStatus::ESME_RSYSERR.0,
            ..Failed::default()
        };
        self.settle(&[], vec![failed]).await;
    }

    async fn order(&self, verb: Verb, id: u64) -> Outcome {
        let command = QueueCommand {
            verb: verb.into(),
            id,
            ..QueueCommand::default()
        };
        self.send(command).await.outcome()
    }
}

#[actix::test]
async fn messages_go_one_by_one_in_the_order_of_acceptance_whatever_their_priority() {
    let fixture = strict().await;
    let low = fixture.accept(2, 0).await;
    let high = fixture.accept(2, 3).await;
    fixture.credit(10).await;
    for (at, id) in low.iter().chain(&high).enumerate() {
        assert_eq!(fixture.given(at + 1).await[at..], [*id]);
        fixture.settle(&[*id], Vec::new()).await;
    }
}

#[actix::test]
async fn what_is_refused_for_now_goes_again_before_all_others() {
    let fixture = strict().await;
    let ids = fixture.accept(3, 0).await;
    fixture.credit(10).await;
    fixture.given(1).await;
    fixture.refuse_for_now(ids[0]).await;
    assert_eq!(fixture.order(Verb::Retry, ids[0]).await, Outcome::Done);
    assert_eq!(fixture.given(2).await, [ids[0], ids[0]]);
    fixture.settle(&[ids[0]], Vec::new()).await;
    assert_eq!(fixture.given(3).await[2..], ids[1..2]);
    // One that was never sent goes again, too, and at once.
    let never_sent = Failed::not_sent(ids[1]);
    fixture.settle(&[], vec![never_sent]).await;
    assert_eq!(fixture.given(4).await[3..], ids[1..2]);
    fixture.settle(&[ids[1]], Vec::new()).await;
    assert_eq!(fixture.given(5).await[4..], ids[2..]);
}

#[actix::test]
async fn the_history_has_each_refusal_and_incidents_those_of_two_attempts() {
    let fixture = strict().await;
    let ids = fixture.accept(1, 0).await;
    fixture.credit(10).await;
    for attempt in 1..=4 {
        fixture.given(attempt).await;
        fixture.refuse_for_now(ids[0]).await;
        assert_eq!(fixture.order(Verb::Retry, ids[0]).await, Outcome::Done);
    }
    let outcomes = &fixture.context.outcomes;
    let seen = outcomes.look(clock::now_ms());
    assert_eq!(seen[0].seen.now().refused, 2);
    let told = outcomes.take_traffic().into_block(|_| true, |_| true);
    assert_eq!(told.of_operator(fixture.port.id).unwrap().refused, 4);
    assert_eq!(told.of_error("ESME_RSYSERR").unwrap().refused, 4);
}

#[actix::test]
async fn a_message_that_is_cancelled_holds_nobody_up() {
    let fixture = strict().await;
    let ids = fixture.accept(2, 0).await;
    fixture.credit(10).await;
    fixture.given(1).await;
    fixture.refuse_for_now(ids[0]).await;
    assert_eq!(fixture.order(Verb::Cancel, ids[0]).await, Outcome::Done);
    assert_eq!(fixture.given(2).await, ids);
}

#[actix::test]
async fn a_message_in_front_waits_there_after_the_store_was_read() {
    let fixture = strict().await;
    let ids = fixture.accept(3, 0).await;
    fixture.credit(10).await;
    fixture.given(1).await;
    fixture.refuse_for_now(ids[0]).await;
    let term = fixture.term(0);
    fixture.send(ReadAgain).await;
    fixture.until_read_after(term).await;
    fixture.credit(10).await;
    assert_eq!(fixture.order(Verb::Retry, ids[0]).await, Outcome::Done);
    assert_eq!(fixture.given(2).await, [ids[0], ids[0]]);
    fixture.settle(&[ids[0]], Vec::new()).await;
    assert_eq!(fixture.given(3).await[2..], ids[1..2]);
}

#[actix::test]
async fn what_a_session_had_when_the_store_was_read_goes_again_before_all_others() {
    let fixture = strict().await;
    let ids = fixture.accept(3, 0).await;
    fixture.credit(10).await;
    fixture.given(1).await;
    lock(&fixture.holds).push(ids[0]);
    let term = fixture.term(0);
    fixture.send(ReadAgain).await;
    fixture.until_read_after(term).await;
    fixture.credit(10).await;
    // The others have their bodies, and the first has none any more.
    fixture.until_read().await;
    fixture.refuse_for_now(ids[0]).await;
    tokio::time::sleep(TICK * 2).await;
    assert_eq!(fixture.order(Verb::Retry, ids[0]).await, Outcome::Done);
    assert_eq!(fixture.given(2).await, [ids[0], ids[0]]);
    fixture.settle(&[ids[0]], Vec::new()).await;
    assert_eq!(fixture.given(3).await[2..], ids[1..2]);
}

#[actix::test]
async fn a_message_that_is_replaced_keeps_its_place() {
    let fixture = strict().await;
    let ids = fixture.accept(5, 0).await;
    fixture.credit(10).await;
    fixture.given(1).await;
    // The turn of the second one comes while it is being replaced.
    for id in [ids[1], ids[3]] {
        fixture.post(QueueCommand {
            verb: Verb::Replace.into(),
            id,
            replacement: Some(Replacement {
                expires_at: clock::now_ms() + 3_600_000,
                ..Replacement::default()
            }),
            ..QueueCommand::default()
        });
    }
    for (at, id) in ids.iter().enumerate().take(5) {
        assert_eq!(fixture.given(at + 1).await[at..], [*id]);
        fixture.post(done(&[*id], 1));
    }
    for (id, count) in ids.iter().zip([0, 1, 0, 1, 0]) {
        let history = fixture.context.store.history(*id).await.expect("answered");
        assert_eq!(history.expect("known").changes.len(), count);
    }
}
