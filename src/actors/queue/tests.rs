//! The queue actor with a real store and sessions that only record: credit, order, restart.

mod again;
mod alerts;
mod bounds;
mod in_order;
mod leaving;
mod reports;
mod rest;

use std::sync::Mutex;
use std::time::Duration;

use actix::{Addr, Recipient};

use super::timer::TICK;
use super::*;
use crate::actors::context::addresses::post_to;
use crate::actors::context::messages::AdoptPartitions;
use crate::actors::context::ports::{SessionPort, UnwrittenAttempts};
use crate::actors::runtime::locks::lock;
use crate::actors::runtime::supervise::{self, Escalate};
use crate::actors::runtime::timed_mailbox::Timed;
use crate::actors::test_support::{self, TestNode};
use crate::config::{Config, OutcomePolicy};
use crate::pb::delivery::What;
use crate::pb::failed::Why;
use crate::pb::queue_command::Verb;
use crate::pb::queue_command_reply::Outcome;
use crate::pb::{
    DeliverBatch, DisownPartitions, Failed, Message, MessageState, ReleasePartitions, ReportHeld,
};
use crate::store::WriteBatch;

/// Makes the queue panic.
struct Explode;

impl actix::Message for Explode {
    type Result = ();
}

impl Handler<Explode> for Queue {
    type Result = ();

    fn handle(&mut self, _: Explode, _: &mut Self::Context) {
        panic!("asked to");
    }
}

/// A session that records what it is given.
struct Listening {
    session: u64,
    queue: Addr<Queue>,
    got: Arc<Mutex<Vec<u64>>>,
    /// What it reports as held.
    holds: Arc<Mutex<Vec<u64>>>,
}

impl Actor for Listening {
    type Context = Context<Self>;
}

impl Handler<DeliverBatch> for Listening {
    type Result = ();

    fn handle(&mut self, batch: DeliverBatch, _: &mut Self::Context) {
        lock(&self.got).extend(batch.deliveries.iter().map(|delivery| delivery.id));
    }
}

measured!(Listening: DeliverBatch);

impl Handler<ReportHeld> for Listening {
    type Result = ();

    fn handle(&mut self, ask: ReportHeld, _: &mut Self::Context) {
        let ids = lock(&self.holds).clone();
        post_to(
            &self.queue.clone().recipient(),
            Held {
                session: self.session,
                ids,
                question: ask.question,
                ..Held::default()
            },
        );
    }
}

struct Fixture {
    context: Arc<NodeContext>,
    addr: Addr<Queue>,
    port: Arc<QueuePort>,
    got: Arc<Mutex<Vec<u64>>>,
    holds: Arc<Mutex<Vec<u64>>>,
    node: TestNode,
}

const SESSION: u64 = 7;
/// The recipient of all messages.
const NUMBER: &str = "447700900123";

async fn fixture() -> Fixture {
    fixture_with(|_| {}).await
}

/// What becomes of messages whose outcome is unknown; attempts are noted, except with *resend*.
async fn fixture_for(policy: OutcomePolicy) -> Fixture {
    fixture_with(|config| config.operator[0].outcome_unknown = policy).await
}

async fn fixture_with(change: impl FnOnce(&mut Config)) -> Fixture {
    let node = test_support::node_with(1, None, change).await;
    let context = Arc::clone(&node.context);
    let (addr, slot) = supervise::slot::<Queue>(MAILBOX);
    let port = Arc::new(QueuePort::new(
        node.operator,
        "operator:up".to_owned(),
        QueueKind::Operator,
        addr.clone().into(),
        Arc::clone(&context.local_lease),
        &context.metrics,
    ));
    context.add_queue(Arc::clone(&port));
    let escalate: Escalate = Arc::new(|name: &str| panic!("{name} escalated"));
    let (for_queue, for_port) = (Arc::clone(&context), Arc::clone(&port));
    slot.start(
        &actix::Arbiter::current(),
        Arc::clone(&port.health),
        escalate,
        move || Queue::new(for_queue, for_port, Vec::new()),
    );
    let (got, holds) = (Arc::default(), Arc::default());
    let session = Listening {
        session: SESSION,
        queue: addr.clone(),
        got: Arc::clone(&got),
        holds: Arc::clone(&holds),
    }
    .start();
    let deliver: Recipient<Timed<DeliverBatch>> = session.clone().recipient();
    let report: Recipient<ReportHeld> = session.recipient();
    port.join(SESSION, SessionPort::new(deliver, report));
    Fixture {
        addr,
        context,
        port,
        got,
        holds,
        node,
    }
}

/// The session has delivered these, and has so much more room.
fn done(ids: &[u64], room: u32) -> SettleBatch {
    SettleBatch {
        session: SESSION,
        done: ids.to_vec(),
        room,
        ..SettleBatch::default()
    }
}

impl Fixture {
    /// Makes messages durable and puts them into the queue, as Ingest does.
    async fn accept(&self, count: usize, priority: u32) -> Vec<u64> {
        self.accept_in(0, count, priority).await
    }

    async fn accept_in(&self, part: u32, count: usize, priority: u32) -> Vec<u64> {
        let messages = self.store(count, priority).await;
        let ids = messages.iter().map(|message| message.id).collect();
        let term = self.term(part);
        let items = messages.into_iter().map(|message| QueueItem {
            id: message.id,
            priority,
            expires_at: message.expires_at,
            message: Some(Box::new(message)),
            part,
            term,
            ..QueueItem::default()
        });
        self.send(Enqueue {
            items: items.collect(),
        })
        .await;
        ids
    }

    /// Makes messages durable that no queue has.
    async fn store(&self, count: usize, priority: u32) -> Vec<Message> {
        let now = clock::now_ms();
        let messages: Vec<Message> = self
            .context
            .ids
            .take(now, count)
            .unwrap()
            .map(|id| Message {
                id,
                sender: self.node.account,
                queue: self.port.id,
                accepted_at: now,
                due_at: now,
                expires_at: now + 3_600_000,
                priority,
                destination: bytes::Bytes::from_static(NUMBER.as_bytes()),
                ..Message::default()
            })
            .collect();
        let rows = WriteBatch {
            accept: messages.clone(),
            ..WriteBatch::default()
        };
        self.context.store.write(rows).await.expect("written");
        messages
    }

    /// The current term of a partition.
    fn term(&self, part: u32) -> u64 {
        let ownership = self.context.local_lease.hold();
        ownership.term(self.port.id, part as u8).expect("owned")
    }

    async fn send<M>(&self, message: M) -> M::Result
    where
        M: actix::Message + Send + 'static,
        M::Result: Send,
        Queue: Handler<M>,
    {
        self.addr.send(message).await.expect("the queue lives")
    }

    async fn credit(&self, room: u32) {
        self.send(Credit {
            session: SESSION,
            room,
            ..Credit::default()
        })
        .await;
    }

    /// Accepts so many messages, and gives the first `room` of them to the session, which has been given none before.
    async fn accept_and_give(&self, count: usize, room: usize) -> Vec<u64> {
        let ids = self.accept(count, 0).await;
        self.credit(room as u32).await;
        assert_eq!(self.given(room).await, ids[..room]);
        ids
    }

    /// How many messages wait, and how many are under way, as the last tick has shown.
    fn waiting_and_in_flight(&self) -> (u64, u64) {
        let snapshot = self.port.snapshot.get();
        (snapshot.waiting, snapshot.in_flight)
    }

    /// Waits until the session has been given `count` messages, and returns them.
    async fn given(&self, count: usize) -> Vec<u64> {
        for _ in 0..2000 {
            if lock(&self.got).len() >= count {
                break;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        lock(&self.got).clone()
    }
}

#[actix::test]
async fn a_session_gets_what_it_has_credit_for_and_no_more() {
    let fixture = fixture().await;
    let ids = fixture.accept_and_give(10, 3).await;
    fixture.send(done(&ids[..2], 2)).await;
    assert_eq!(fixture.given(5).await, ids[..5]);
}

#[actix::test]
async fn higher_priorities_go_first_and_what_was_not_sent_goes_again() {
    let fixture = fixture().await;
    let low = fixture.accept(3, 0).await;
    let high = fixture.accept(2, 3).await;
    fixture.credit(3).await;
    assert_eq!(fixture.given(3).await, [high[0], high[1], low[0]]);
    fixture
        .send(SettleBatch {
            session: SESSION,
            done: high.clone(),
            failed: vec![Failed::not_sent(low[0])],
            room: 3,
            ..SettleBatch::default()
        })
        .await;
    let again = fixture.given(6).await;
    let mut rest = again[3..].to_vec();
    rest.sort_unstable();
    assert_eq!(rest, low, "none is lost, none comes twice");
}

#[actix::test]
async fn a_pause_begins_when_the_session_knew_of_it_not_when_the_queue_hears_of_it() {
    let fixture = fixture().await;
    let ids = fixture.accept_and_give(2, 2).await;
    let now = crate::clock::now_ms();
    for (id, at, pause_ms) in [(ids[1], now, 5_000), (ids[0], now - 3_000, 7_500)] {
        let waits = Failed {
            id,
            why: Why::Waits.into(),
            pause_ms,
            at,
            ..Failed::default()
        };
        fixture
            .send(SettleBatch {
                session: SESSION,
                failed: vec![waits],
                room: 1,
                ..SettleBatch::default()
            })
            .await;
    }
    assert_eq!(
        fixture.given(4).await[2..],
        ids,
        "in the order in which they are due"
    );
}

#[actix::test]
async fn a_restarted_queue_grants_what_nobody_holds_and_nothing_else() {
    let fixture = fixture().await;
    let ids = fixture.accept(6, 1).await;
    fixture.credit(2).await;
    assert_eq!(fixture.given(2).await, ids[..2]);
    lock(&fixture.holds).extend(&ids[..2]);

    let exploded = fixture.addr.send(Explode).await;
    assert!(exploded.is_err());
    // These come while the queue is down or reading: it must neither lose nor double them.
    let late = fixture.accept(2, 1).await;
    fixture.credit(10).await;
    let given = fixture.given(8).await;
    let mut after = given[2..].to_vec();
    after.sort_unstable();
    let expected: Vec<u64> = ids[2..].iter().chain(&late).copied().collect();
    assert_eq!(after, expected);
    assert_eq!(fixture.port.health.restarts(), 1);
}

#[actix::test]
async fn a_cancelled_message_is_final_and_never_granted() {
    let fixture = fixture().await;
    let ids = fixture.accept(3, 0).await;
    let cancel = |id: u64| QueueCommand {
        verb: Verb::Cancel.into(),
        id,
        by: "a test".to_owned(),
        ..QueueCommand::default()
    };
    let reply = fixture.send(cancel(ids[1])).await;
    assert_eq!(reply.outcome(), Outcome::Done);
    fixture.credit(10).await;
    assert_eq!(fixture.given(2).await, [ids[0], ids[2]]);
    assert_eq!(
        fixture.send(cancel(ids[0])).await.outcome(),
        Outcome::InFlight
    );
    for _ in 0..2000 {
        let history = fixture
            .context
            .store
            .history(ids[1])
            .await
            .expect("answered");
        if let Some(fin) = history.expect("known").stored.fin {
            assert_eq!(fin.state, MessageState::Deleted);
            return;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    panic!("never final");
}

#[actix::test]
async fn a_session_that_is_gone_gives_back_what_it_never_sent() {
    let fixture = fixture().await;
    fixture.accept_and_give(4, 2).await;
    fixture.port.leave(SESSION);
    fixture.send(SessionDown { session: SESSION }).await;
    tokio::time::sleep(TICK * 2).await;
    assert_eq!(fixture.waiting_and_in_flight(), (4, 0));
}

#[actix::test]
async fn a_session_that_retires_keeps_what_it_has_and_gets_no_more() {
    let fixture = fixture().await;
    let ids = fixture.accept_and_give(4, 2).await;
    fixture.port.retire(SESSION);
    fixture
        .send(Credit {
            session: SESSION,
            retire: true,
            ..Credit::default()
        })
        .await;
    fixture.send(done(&ids[..2], 2)).await;
    tokio::time::sleep(TICK * 2).await;
    assert_eq!(lock(&fixture.got).len(), 2);
    assert!(!fixture.port.is_bound());
    assert_eq!(fixture.waiting_and_in_flight(), (2, 0));
}

#[actix::test]
async fn without_a_lease_nothing_is_granted_and_everything_forgotten() {
    let fixture = fixture().await;
    fixture.accept(3, 0).await;
    fixture.send(DisownPartitions {}).await;
    fixture.credit(10).await;
    tokio::time::sleep(TICK * 2).await;
    assert!(lock(&fixture.got).is_empty());
    assert_eq!(fixture.port.snapshot.get().waiting, 0);
}
