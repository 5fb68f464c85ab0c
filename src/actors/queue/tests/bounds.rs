//! The limits of a queue: attempts that a crash would repeat, and the time to find one of many
//! messages.

use super::*;
use crate::actors::context::backpressure::QueueLevel;

#[actix::test]
async fn what_is_answered_and_not_durable_is_bounded_by_windows_and_one_commit() {
    const WINDOW: usize = 3;
    const COMMIT: usize = 5;
    let fixture = fixture_with(|config| config.store.batch_rows = COMMIT).await;
    let ids = fixture.accept(40, 0).await;
    fixture.credit(WINDOW as u32).await;
    // Each attempt is answered at once; the test writes no results.
    let mut answered = 0;
    loop {
        tokio::time::sleep(TICK).await;
        let given = lock(&fixture.got).clone();
        let new = given[answered..].to_vec();
        if new.is_empty() {
            break;
        }
        answered = given.len();
        fixture.port.unwritten.add(new.len());
        fixture
            .send(SettleBatch {
                session: SESSION,
                room: new.len() as u32,
                done: new,
                ..SettleBatch::default()
            })
            .await;
    }
    assert_eq!(answered, WINDOW + COMMIT);
    // Four become durable, so four more may go, in the same order.
    drop(UnwrittenAttempts::counted_before(&fixture.port, 4));
    fixture.given(answered + 4 - 1).await;
    tokio::time::sleep(TICK * 2).await;
    assert_eq!(lock(&fixture.got)[..], ids[..answered + WINDOW.min(4)]);
    assert_eq!(
        fixture.port.snapshot.get().unwritten,
        (WINDOW + COMMIT - 4) as u64
    );
}

/// Asks a queue with so many messages, half of them scheduled, for a thousand single messages: returns the time for all,
/// and how many are left. The time is that of the fastest hundred, ten times: during the others the machine may have done
/// something else.
fn time_to_find(fixture: &Fixture, waiting: u64) -> (std::time::Duration, usize) {
    let seed = |id: u64| Seed {
        item: Item {
            priority: 1,
            ..Item::message(id)
        },
        due_at: (id % 2) as i64 * i64::MAX,
        unsure: false,
        ended: 0,
    };
    let seeds = (1..=waiting).map(seed).collect();
    let mut queue = Queue::new(
        Arc::clone(&fixture.context),
        Arc::clone(&fixture.port),
        seeds,
    );
    let step = waiting / 1000;
    let ids: Vec<u64> = (1..=1000).map(|one| one * step - one % 2).collect();
    let mut fastest = std::time::Duration::MAX;
    for hundred in ids.chunks(100) {
        let started = std::time::Instant::now();
        for &id in hundred {
            let taken = queue.backlog.remove(id, None);
            assert!(matches!(taken, backlog::TakenItem::Item(item) if item.id == id));
        }
        fastest = fastest.min(started.elapsed());
    }
    (fastest * 10, queue.len())
}

#[actix::test]
async fn one_message_is_found_as_fast_among_many_as_among_few() {
    let fixture = fixture().await;
    let (few, _) = time_to_find(&fixture, 10_000);
    let (many, left) = time_to_find(&fixture, 1_000_000);
    assert_eq!(left, 1_000_000 - 1000);
    assert!(many < few * 20, "{few:?} among few, {many:?} among many");
}

/// A session that settles at once what it is given.
struct Taking {
    queue: Addr<Queue>,
    taken: Arc<std::sync::atomic::AtomicUsize>,
}

pub(super) const TAKING: u64 = 8;

impl Actor for Taking {
    type Context = Context<Self>;
}

impl Handler<DeliverBatch> for Taking {
    type Result = ();

    fn handle(&mut self, batch: DeliverBatch, _: &mut Self::Context) {
        let done: Vec<u64> = batch.deliveries.iter().map(|one| one.id).collect();
        self.taken
            .fetch_add(done.len(), std::sync::atomic::Ordering::Relaxed);
        let settled = SettleBatch {
            session: TAKING,
            room: done.len() as u32,
            done,
            ..SettleBatch::default()
        };
        post_to(&self.queue.clone().recipient(), settled);
    }
}

measured!(Taking: DeliverBatch);

impl Handler<ReportHeld> for Taking {
    type Result = ();

    fn handle(&mut self, _: ReportHeld, _: &mut Self::Context) {}
}

impl Fixture {
    /// Lets such a session serve the queue; it never says what it holds. Returns how many messages it has settled.
    pub(super) fn takes(&self) -> Arc<std::sync::atomic::AtomicUsize> {
        let taken: Arc<std::sync::atomic::AtomicUsize> = Arc::default();
        let session = Taking {
            queue: self.addr.clone(),
            taken: Arc::clone(&taken),
        };
        self.port.serve(TAKING, &session.start(), 1_000);
        taken
    }
}

/// How long messages of this many accounts in turns take through the actor.
async fn time_through(fixture: &Fixture, accounts: u32) -> std::time::Duration {
    const BATCHES: u64 = 400;
    const BATCH: u64 = 100;
    let taken = fixture.takes();
    let message = |id: u64| Message {
        id,
        sender: 1 + (id % u64::from(accounts)) as u32,
        ..Message::default()
    };
    let item = |id: u64| QueueItem {
        id,
        expires_at: i64::MAX,
        message: Some(Box::new(message(id))),
        term: fixture.term(0),
        ..QueueItem::default()
    };
    let batches: Vec<Enqueue> = (0..BATCHES)
        .map(|batch| Enqueue {
            items: (batch * BATCH..(batch + 1) * BATCH)
                .map(|id| item(id + 1))
                .collect(),
        })
        .collect();
    let started = std::time::Instant::now();
    for batch in batches {
        fixture.send(batch).await;
    }
    while taken.load(std::sync::atomic::Ordering::Relaxed) < (BATCHES * BATCH) as usize {
        tokio::task::yield_now().await;
    }
    let took = started.elapsed();
    fixture.port.leave(TAKING);
    fixture.send(SessionDown { session: TAKING }).await;
    took
}

#[actix::test]
async fn a_thousand_accounts_go_through_nearly_as_fast_as_one() {
    let fixture = fixture().await;
    let (mut one, mut many) = (Duration::MAX, Duration::MAX);
    for _ in 0..7 {
        one = one.min(time_through(&fixture, 1).await);
        many = many.min(time_through(&fixture, 1_000).await);
    }
    let ratio = many.as_secs_f64() / one.as_secs_f64();
    println!(
        "40,000 messages through the actor: {one:?} of one account, {many:?} of a thousand: {ratio:.3}"
    );
    // The overhead is a few hundredths of the cost of the queue on a quiet machine; noise is larger.
    assert!(ratio < 2.0, "{ratio}");
}

/// Whether a message that a clock which was an hour ahead has written waits for so many milliseconds only; it has ended so
/// many sessions.
async fn waits_for(fixture: &Fixture, ended: u8, milliseconds: u64) {
    let in_an_hour = Seed {
        item: Item {
            id: 7,
            expires: u32::MAX,
            attempts: 1,
            priority: 1,
            what: What::Message,
            part: 0,
            sender: 0,
        },
        due_at: clock::now_ms() + 3_600_000,
        unsure: false,
        ended,
    };
    let seeds = vec![in_an_hour];
    let mut queue = Queue::new(
        Arc::clone(&fixture.context),
        Arc::clone(&fixture.port),
        seeds,
    );
    let (now, began) = (clock::now_ms(), Instant::now());
    let waits_after = |queue: &mut Queue, ms| {
        let at = began + Duration::from_millis(ms);
        queue.backlog.wake_due(now, at);
        !queue.backlog.has_empty_lists()
    };
    assert!(!waits_after(&mut queue, milliseconds - 500));
    assert!(waits_after(&mut queue, milliseconds + 500));
    let taken = queue.backlog.remove(7, None);
    assert!(matches!(taken, backlog::TakenItem::Item(item) if item.id == 7));
}

#[actix::test]
async fn no_pause_is_longer_than_those_that_are_configured() {
    let fixture = fixture_with(|config| {
        config.retry.delays = vec![Duration::from_secs(2)];
        let account = &mut config.account[0];
        account.callback_url = Some("https://example.com/".to_owned());
    })
    .await;
    waits_for(&fixture, 0, 2_000).await;
    // Who has ended two sessions waits for longer, as it did before.
    waits_for(&fixture, 2, 15_000).await;
}

#[actix::test]
async fn a_queue_that_is_slow_lets_in_what_waits_for_room() {
    let fixture = fixture().await;
    let backpressure = &fixture.port.backpressure;
    backpressure.steer(QueueLevel {
        waiting: 2,
        page: 1,
        granted: 0,
        is_fast: true,
    });
    assert!(backpressure.must_wait());
    test_support::until("the queue to let everything in", || {
        !backpressure.must_wait()
    })
    .await;
}
