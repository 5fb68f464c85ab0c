//! The queue reads the store again and is compared with it: it loses nothing and doubles nothing.

use super::*;
use crate::actors::context::messages::{Compare, Missed};
use crate::actors::receipts::final_state;
use crate::actors::session::served_queue::{RequestRoom, ServedQueue};
use crate::actors::test_support::until;
use crate::pb::{Final, ResolvedBatch};
use crate::smpp::CommandStatus;

/// Makes the queue discard its lists and read the store.
pub(super) struct ReadAgain;

impl actix::Message for ReadAgain {
    type Result = ();
}

impl Handler<ReadAgain> for Queue {
    type Result = ();

    fn handle(&mut self, _: ReadAgain, ctx: &mut Self::Context) {
        self.recover_again(ctx);
    }
}

/// Reads the lists from the store again when no attempt is being noted.
struct ReadSoon;

impl actix::Message for ReadSoon {
    type Result = ();
}

impl Handler<ReadSoon> for Queue {
    type Result = ();

    fn handle(&mut self, _: ReadSoon, ctx: &mut Self::Context) {
        self.recover_when_noted(ctx);
    }
}

/// Makes the queue lose a message.
struct ForgetItem(u64);

impl actix::Message for ForgetItem {
    type Result = ();
}

impl Handler<ForgetItem> for Queue {
    type Result = ();

    fn handle(&mut self, forget: ForgetItem, _: &mut Self::Context) {
        assert!(matches!(
            self.backlog.remove(forget.0, None),
            backlog::TakenItem::Item(_)
        ));
    }
}

impl Fixture {
    /// Posts messages that the queue handles right after each other.
    #[allow(clippy::disallowed_methods, reason = "the order is what is tested")]
    pub(super) fn post<M>(&self, message: M)
    where
        M: actix::Message + Send + 'static,
        M::Result: Send,
        Queue: Handler<M>,
    {
        self.addr.do_send(message);
    }

    async fn state_of(&self, id: u64) -> Option<MessageState> {
        let history = self.context.store.history(id).await.expect("answered");
        history.expect("known").stored.fin.map(|fin| fin.state)
    }

    pub(super) async fn wait_for(&self, id: u64, state: MessageState) {
        for _ in 0..2000 {
            if self.state_of(id).await == Some(state) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        panic!("never {state:?}: {:?}", self.state_of(id).await);
    }

    pub(super) fn refused(&self, id: u64) -> SettleBatch {
        SettleBatch {
            session: SESSION,
            failed: vec![Failed {
                id,
                why: Why::Status.into(),
                status: CommandStatus::ESME_RINVDSTADR.0,
                ..Failed::default()
            }],
            ..SettleBatch::default()
        }
    }

    fn item(&self, id: u64, term: u64) -> QueueItem {
        QueueItem {
            id,
            expires_at: i64::MAX,
            term,
            ..QueueItem::default()
        }
    }

    fn seed(&self, id: u64) -> Seed {
        Seed {
            item: Item::message(id),
            due_at: 0,
            unsure: false,
            ended: 0,
        }
    }

    async fn compare(&self, ids: &[u64]) -> Vec<u64> {
        self.until_read().await;
        let expected = ids.iter().map(|id| self.seed(*id)).collect();
        let compared = self.send(Compare { expected }).await.expect("not reading");
        compared.missing.iter().map(|seed| seed.item.id).collect()
    }

    /// The session leaves, and joins again under its number before the queue has heard of that.
    fn join_again(&self, room: u32) {
        let again = Listening {
            session: SESSION,
            queue: self.addr.clone(),
            got: Arc::clone(&self.got),
            holds: Arc::clone(&self.holds),
        };
        self.port.session_down(SESSION);
        self.port.serve(SESSION, &again.start(), room);
    }

    /// Waits until no page of bodies is being read: meanwhile nothing counts as missed.
    pub(super) async fn until_read(&self) {
        let nothing = || Compare {
            expected: Vec::new(),
        };
        while self.send(nothing()).await.is_none() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }

    /// Waits until the store has been read after this term.
    pub(super) async fn until_read_after(&self, term: u64) {
        for _ in 0..2000 {
            if self.term(0) >= term + 2 {
                return;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        panic!("never read again");
    }

    async fn missed(&self, round: u64, ids: &[u64]) -> u64 {
        let seeds = ids.iter().map(|id| self.seed(*id)).collect();
        self.send(Missed { round, seeds }).await
    }
}

#[actix::test]
async fn a_reading_waits_for_results_that_are_on_their_way() {
    let fixture = fixture().await;
    let ids = fixture.accept_and_give(3, 1).await;
    // The message ends before its result is written: an immediate reading would find it waiting.
    fixture.post(fixture.refused(ids[0]));
    fixture.post(ReadAgain);
    fixture.wait_for(ids[0], MessageState::Rejected).await;
    fixture.credit(10).await;
    assert_eq!(fixture.given(3).await[1..], ids[1..]);
    tokio::time::sleep(TICK * 2).await;
    assert_eq!(
        lock(&fixture.got).len(),
        3,
        "it ended, and did not go again"
    );
}

#[actix::test]
async fn what_is_settled_while_a_reading_is_begun_again_is_not_forgotten() {
    let fixture = fixture().await;
    let ids = fixture.accept_and_give(2, 1).await;
    fixture.post(ReadAgain);
    fixture.post(fixture.refused(ids[0]));
    fixture.post(ReadAgain);
    fixture.wait_for(ids[0], MessageState::Rejected).await;
    fixture.credit(10).await;
    assert_eq!(fixture.given(2).await[1..], ids[1..]);
    tokio::time::sleep(TICK * 2).await;
    assert_eq!(
        lock(&fixture.got).len(),
        2,
        "it ended, and did not go again"
    );
}

#[actix::test]
async fn what_is_being_noted_is_sent_before_the_lists_are_read_again() {
    let fixture = fixture_for(OutcomePolicy::Fail).await;
    let ids = fixture.accept(2, 0).await;
    lock(&fixture.holds).push(ids[0]);
    let term = fixture.term(0);
    fixture.post(Credit {
        session: SESSION,
        room: 1,
        ..Credit::default()
    });
    fixture.post(ReadSoon);
    assert_eq!(fixture.given(1).await, ids[..1]);
    fixture.until_read_after(term).await;
    tokio::time::sleep(TICK * 2).await;
    assert_eq!(fixture.state_of(ids[0]).await, None, "its session has it");
    fixture.credit(1).await;
    assert_eq!(fixture.given(2).await, ids);
}

#[actix::test]
async fn what_is_noted_for_a_session_that_ends_and_is_there_again_is_sent_once() {
    let fixture = fixture_for(OutcomePolicy::Fail).await;
    let ids = fixture.accept(1, 0).await;
    let credit = || Credit {
        session: SESSION,
        room: 1,
        ..Credit::default()
    };
    fixture.post(credit());
    fixture.post(SessionDown { session: SESSION });
    fixture.post(credit());
    assert_eq!(fixture.given(1).await, ids);
    tokio::time::sleep(TICK * 3).await;
    assert_eq!(lock(&fixture.got).len(), 1);
    assert_eq!(fixture.port.snapshot.get().in_flight, 1);
}

#[actix::test]
async fn what_ends_while_it_is_noted_leaves_its_room_to_its_session() {
    let fixture = fixture_for(OutcomePolicy::Fail).await;
    let ids = fixture.accept(1, 0).await;
    fixture.post(Credit {
        session: SESSION,
        room: 1,
        ..Credit::default()
    });
    // The answer to an earlier attempt, which came late.
    fixture.post(done(&ids, 0));
    tokio::time::pause();
    let has_room = || fixture.port.snapshot.get().room == 1;
    until("the session has its room again", has_room).await;
    assert!(lock(&fixture.got).is_empty());
}

/// What was noted, and is given back like this, goes again from lists that were read again.
async fn goes_again(failed: impl Fn(u64) -> Failed) {
    for policy in [OutcomePolicy::Fail, OutcomePolicy::Wait] {
        let fixture = fixture_for(policy).await;
        let ids = fixture.accept_and_give(1, 1).await;
        let term = fixture.term(0);
        // Without room, it is not granted before the lists are read.
        fixture.post(SettleBatch {
            session: SESSION,
            failed: vec![failed(ids[0])],
            ..SettleBatch::default()
        });
        fixture.post(ReadAgain);
        fixture.until_read_after(term).await;
        fixture.credit(1).await;
        assert_eq!(fixture.given(2).await, [ids[0], ids[0]], "{policy:?}");
        assert_eq!(fixture.state_of(ids[0]).await, None, "{policy:?}");
    }
}

#[actix::test]
async fn what_was_noted_and_not_sent_goes_again_after_the_lists_are_read() {
    goes_again(Failed::not_sent).await;
}

#[actix::test]
async fn what_was_noted_and_throttled_goes_again_after_the_lists_are_read() {
    goes_again(|id| Failed {
        id,
        why: Why::Status.into(),
        status: CommandStatus::ESME_RTHROTTLED.0,
        ..Failed::default()
    })
    .await;
}

#[actix::test]
async fn what_was_noted_and_waits_for_its_subscriber_goes_again_after_the_lists_are_read() {
    for why in [Why::Waits, Why::HeldUp] {
        goes_again(|id| Failed {
            id,
            why: why.into(),
            pause_ms: 1,
            ..Failed::default()
        })
        .await;
    }
}

#[actix::test]
async fn what_is_noted_anew_after_it_was_not_sent_counts_as_made() {
    let fixture = fixture_for(OutcomePolicy::Fail).await;
    let ids = fixture.accept_and_give(1, 1).await;
    fixture.post(SettleBatch {
        session: SESSION,
        failed: vec![Failed::not_sent(ids[0])],
        room: 1,
        ..SettleBatch::default()
    });
    assert_eq!(fixture.given(2).await, [ids[0], ids[0]]);
    fixture.post(ReadAgain);
    fixture.wait_for(ids[0], MessageState::Undeliverable).await;
}

#[actix::test]
async fn what_is_granted_before_the_queue_hears_that_its_session_has_joined_again_is_sent_once() {
    let fixture = fixture().await;
    let ids = fixture.accept_and_give(2, 1).await;
    // The last answer gives room for the other one.
    fixture.post(done(&ids[..1], 1));
    fixture.join_again(1);
    assert_eq!(fixture.given(2).await, ids);
    tokio::time::sleep(TICK * 3).await;
    assert_eq!(lock(&fixture.got).len(), 2);
    assert_eq!(fixture.waiting_and_in_flight(), (0, 1));
}

#[actix::test]
async fn what_a_session_settled_before_it_joined_again_gives_no_room_to_its_next_joining() {
    let fixture = fixture().await;
    let ids = fixture.accept_and_give(8, 1).await;
    fixture.post(done(&ids[..1], 4));
    fixture.post(done(&[], 3));
    fixture.join_again(7);
    let mut given = fixture.given(8).await;
    given.sort_unstable();
    assert_eq!(given, ids);
    tokio::time::sleep(TICK * 3).await;
    assert_eq!(lock(&fixture.got).len(), 8, "each is sent once");
    assert_eq!(fixture.waiting_and_in_flight(), (0, 7));
}

#[actix::test]
async fn what_a_session_offered_before_it_joined_again_is_not_offered_by_its_next_joining() {
    let fixture = fixture().await;
    let ids = fixture.accept(4, 0).await;
    let joined = fixture.port.session(SESSION).expect("joined").joined;
    // The queue handles all this when the session has joined again.
    fixture.post(Credit {
        session: SESSION,
        room: 2,
        joined,
        ..Credit::default()
    });
    fixture.post(SettleBatch {
        joined,
        ..done(&[], 1)
    });
    fixture.join_again(4);
    assert_eq!(fixture.given(4).await, ids);
    tokio::time::sleep(TICK * 3).await;
    assert_eq!(lock(&fixture.got).len(), 4, "each is sent once");
    assert_eq!(fixture.port.snapshot.get().room, 0);
}

#[actix::test]
async fn what_was_granted_to_a_joining_before_is_not_taken_by_the_next_one() {
    let fixture = fixture().await;
    let interface = Listening {
        session: SESSION,
        queue: fixture.addr.clone(),
        got: Arc::clone(&fixture.got),
        holds: Arc::clone(&fixture.holds),
    }
    .start();
    let mut served = ServedQueue::new(&fixture.context, SESSION, "callback");
    let join = |served: &mut ServedQueue| {
        let room = RequestRoom::default();
        served.join(Arc::clone(&fixture.port), &interface, "", room);
        let joined = fixture.port.session(SESSION).expect("joined").joined;
        DeliverBatch {
            joined,
            ..DeliverBatch::default()
        }
    };
    let earlier = join(&mut served);
    served.restart();
    let own = join(&mut served);
    assert!(served.granted(earlier).is_none());
    assert!(served.granted(own).is_some());
}

#[actix::test]
async fn a_late_hand_over_brings_nothing_that_was_read_and_everything_that_was_not() {
    let fixture = fixture().await;
    let before = fixture.term(0);
    let read = fixture.accept(2, 0).await;
    fixture.post(ReadAgain);
    fixture.until_read_after(before).await;
    let reading = before + 1;
    assert_eq!(fixture.term(0), before + 2);
    let unread = read[1] + 1;
    let rows = WriteBatch {
        accept: vec![Message {
            id: unread,
            queue: fixture.port.id,
            expires_at: i64::MAX,
            destination: bytes::Bytes::from_static(b"447700900123"),
            ..Message::default()
        }],
        ..WriteBatch::default()
    };
    fixture.context.store.write(rows).await.expect("written");
    let late = [
        // Dispatched before the reading, which has those that are still active.
        fixture.item(read[0], before),
        fixture.item(unread, before),
        // Dispatched during the reading: it may have them or not.
        fixture.item(read[1], reading),
        fixture.item(unread, reading),
    ];
    for item in late {
        fixture.send(Enqueue { items: vec![item] }).await;
    }
    fixture.credit(10).await;
    let mut given = fixture.given(3).await;
    tokio::time::sleep(TICK * 2).await;
    assert_eq!(lock(&fixture.got).len(), 3);
    given.sort_unstable();
    assert_eq!(given, [read[0], read[1], unread]);
}

#[actix::test]
async fn what_is_missed_twice_and_nowhere_is_put_back() {
    let fixture = fixture().await;
    let known = fixture.accept(3, 0).await;
    fixture.credit(1).await;
    fixture.given(1).await;
    let lost = fixture.accept(3, 0).await;
    for id in &lost {
        fixture.send(ForgetItem(*id)).await;
    }
    let all: Vec<u64> = known.iter().chain(&lost).copied().collect();
    assert_eq!(fixture.compare(&all).await, lost);
    assert_eq!(fixture.missed(1, &lost).await, 0, "the first time");
    assert_eq!(fixture.missed(1, &lost).await, 0, "in the same round");
    // One enters the queue in between, another changes in the store, the third is missed again.
    let came = fixture.item(lost[0], fixture.term(0));
    fixture.send(Enqueue { items: vec![came] }).await;
    fixture.until_read().await;
    let changed = Seed {
        due_at: 1,
        ..fixture.seed(lost[1])
    };
    let seeds = vec![fixture.seed(lost[0]), changed, fixture.seed(lost[2])];
    assert_eq!(fixture.send(Missed { round: 2, seeds }).await, 1);
    assert_eq!(fixture.context.metrics.put_back.get(), 1);
    let late = fixture.missed(4, &lost[1..2]).await;
    assert_eq!(late, 0, "not in the round before");
    fixture.credit(10).await;
    let mut given = fixture.given(5).await[1..].to_vec();
    given.sort_unstable();
    assert_eq!(given, [known[1], known[2], lost[0], lost[2]]);
}

#[actix::test]
async fn a_message_ends_once_in_a_batch() {
    let fixture = fixture().await;
    let ids = fixture.accept(2, 0).await;
    let ended = |id| Final {
        id,
        state: MessageState::Delivered.into(),
        ..Final::default()
    };
    let mut finals = vec![ended(ids[0]), ended(ids[1]), ended(ids[0])];
    let lost =
        final_state::try_write(&fixture.context, &mut WriteBatch::default(), &mut finals).await;
    assert_eq!(lost, Ok(Vec::new()), "none had ended before");
    assert_eq!(
        fixture.state_of(ids[0]).await,
        Some(MessageState::Delivered)
    );
}

#[actix::test]
async fn what_was_decided_before_the_lease_was_lost_is_not_written_after() {
    let fixture = fixture().await;
    let ids = fixture.accept(2, 0).await;
    let ended = |id| Final {
        id,
        state: MessageState::Expired.into(),
        ..Final::default()
    };
    let generation = fixture.context.local_lease.generation();
    fixture.context.local_lease.lose_everything();
    let rows = WriteBatch::default;
    final_state::write_in(
        &fixture.context,
        generation,
        rows(),
        vec![ended(ids[0])],
        Vec::new(),
    )
    .await;
    assert_eq!(fixture.state_of(ids[0]).await, None);
    // Orders of operators or ESMEs hold at any time.
    final_state::write(&fixture.context, rows(), vec![ended(ids[1])]).await;
    assert_eq!(fixture.state_of(ids[1]).await, Some(MessageState::Expired));
}

#[actix::test]
async fn an_answer_about_a_partition_that_was_given_back_moves_nothing() {
    let fixture = fixture().await;
    let ids = fixture.accept_and_give(1, 1).await;
    fixture.context.local_lease.lose_everything();
    let resolved = crate::pb::Resolved {
        message: Some(Box::new(Message {
            id: ids[0],
            destination: bytes::Bytes::from_static(b"447700900123"),
            ..Message::default()
        })),
        ..Default::default()
    };
    fixture
        .send(ResolvedBatch {
            session: SESSION,
            resolved: vec![resolved],
            room: 0,
        })
        .await;
    tokio::time::sleep(TICK * 2).await;
    let history = fixture
        .context
        .store
        .history(ids[0])
        .await
        .expect("answered");
    let history = history.expect("known");
    assert!(history.changes.is_empty() && history.stored.fin.is_none());
}

#[actix::test]
async fn counters_go_on_while_the_store_is_read() {
    let fixture = fixture().await;
    fixture.accept(2, 0).await;
    fixture.send(ReadAgain).await;
    assert_eq!(fixture.port.snapshot.get().enqueued_total, 2);
}
