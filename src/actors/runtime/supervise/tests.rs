//! Supervision under a paused clock: what survives, what counts against the budget, what escalates.

use std::sync::atomic::AtomicUsize;

use actix::{ActorContext, AsyncContext, Handler, Message, MessageResult, WrapFuture};

use super::*;

#[derive(Message)]
#[rtype(result = "u32")]
enum Ask {
    Count,
    PanicInHandler,
    PanicInFuture,
    Stop,
    StopFor(AfterStop),
    /// It is woken between the decision and the stop.
    StopWoken(AfterStop),
}

struct Counter {
    handled: u32,
    starts: Arc<AtomicUsize>,
    health: Arc<Health>,
}

impl Actor for Counter {
    type Context = Context<Self>;

    fn started(&mut self, _: &mut Self::Context) {
        self.starts.fetch_add(1, Ordering::Relaxed);
    }
}

impl Supervised for Counter {
    fn restarting(&mut self, _: &mut Self::Context) {
        self.handled = 0;
    }
}

impl Handler<Ask> for Counter {
    type Result = MessageResult<Ask>;

    fn handle(&mut self, ask: Ask, ctx: &mut Self::Context) -> Self::Result {
        self.handled += 1;
        match ask {
            Ask::Count => {}
            Ask::PanicInHandler => panic!("in the handler"),
            Ask::PanicInFuture => {
                ctx.spawn(async { panic!("in a future") }.into_actor(self));
            }
            Ask::Stop => ctx.stop(),
            Ask::StopFor(after) => {
                self.health.after_stop(after);
                ctx.stop();
            }
            Ask::StopWoken(after) => {
                let wakes = self.health.wakes();
                self.health.wake();
                self.health.after_stop_since(after, wakes);
                ctx.stop();
            }
        }
        MessageResult(self.handled)
    }
}

struct Fixture {
    addr: Addr<Counter>,
    health: Arc<Health>,
    starts: Arc<AtomicUsize>,
    escalated: Arc<AtomicUsize>,
}

fn fixture() -> Fixture {
    let (addr, slot) = slot::<Counter>(64);
    let health = Health::new("counter");
    let starts = Arc::new(AtomicUsize::new(0));
    let escalated = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&escalated);
    let escalate: Escalate = Arc::new(move |name: &str| {
        assert_eq!(name, "counter");
        counted.fetch_add(1, Ordering::Relaxed);
    });
    let (for_actor, started) = (Arc::clone(&health), Arc::clone(&starts));
    slot.start(
        &actix::Arbiter::current(),
        Arc::clone(&health),
        escalate,
        move || Counter {
            handled: 0,
            starts: started,
            health: for_actor,
        },
    );
    Fixture {
        addr,
        health,
        starts,
        escalated,
    }
}

impl Fixture {
    /// Retries until the actor is back.
    async fn count(&self) -> u32 {
        tokio::time::timeout(Duration::from_secs(30), self.addr.send(Ask::Count))
            .await
            .expect("an answer in time")
            .expect("the actor lives")
    }
}

#[actix::test]
async fn survives_a_panic_in_a_handler_with_address_and_queued_messages() {
    tokio::time::pause();
    let fixture = fixture();
    assert_eq!(fixture.count().await, 1);
    let queued = {
        let panicking = fixture.addr.send(Ask::PanicInHandler);
        let queued = fixture.addr.send(Ask::Count);
        assert!(panicking.await.is_err(), "its sender hears of the panic");
        queued
    };
    assert_eq!(
        queued.await.expect("kept in the mailbox"),
        1,
        "with fresh state"
    );
    assert_eq!(fixture.starts.load(Ordering::Relaxed), 2);
    let snapshot = fixture.health.snapshot();
    assert_eq!((snapshot.restarts, snapshot.panics), (1, 1));
    assert_eq!(snapshot.last_panic, "in the handler");
    assert!(fixture.addr.connected());
}

#[actix::test]
async fn survives_a_panic_in_a_spawned_future() {
    tokio::time::pause();
    let fixture = fixture();
    let _ = fixture.addr.send(Ask::PanicInFuture).await;
    assert_eq!(fixture.count().await, 1);
    assert_eq!(fixture.health.snapshot().last_panic, "in a future");
    assert_eq!(fixture.health.restarts(), 1);
}

#[actix::test]
async fn survives_a_stop() {
    tokio::time::pause();
    let fixture = fixture();
    assert_eq!(fixture.addr.send(Ask::Stop).await.expect("handled"), 1);
    assert_eq!(fixture.count().await, 1);
    let snapshot = fixture.health.snapshot();
    assert_eq!((snapshot.restarts, snapshot.panics), (1, 0));
}

#[actix::test]
async fn pauses_grow_and_a_spent_budget_escalates() {
    tokio::time::pause();
    let fixture = fixture();
    let mut pauses = Vec::new();
    for _ in 0..5 {
        let _ = fixture.addr.send(Ask::PanicInHandler).await;
        let failed = Instant::now();
        fixture.count().await;
        pauses.push(failed.elapsed());
    }
    assert!(pauses[0] < pauses[2] && pauses[2] < pauses[4], "{pauses:?}");
    assert_eq!(fixture.escalated.load(Ordering::Relaxed), 0);
    let _ = fixture.addr.send(Ask::PanicInHandler).await;
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert_eq!(fixture.escalated.load(Ordering::Relaxed), 1);
    assert!(!fixture.addr.connected(), "given up");
    assert_eq!(fixture.health.restarts(), 5);
}

#[actix::test]
async fn failures_far_apart_never_escalate() {
    tokio::time::pause();
    let fixture = fixture();
    for _ in 0..20 {
        let _ = fixture.addr.send(Ask::PanicInHandler).await;
        fixture.count().await;
        tokio::time::sleep(Duration::from_secs(11)).await;
    }
    assert_eq!(fixture.escalated.load(Ordering::Relaxed), 0);
    assert_eq!(fixture.health.restarts(), 20);
}

#[actix::test]
async fn an_expected_stop_waits_its_pause_and_never_counts() {
    tokio::time::pause();
    let fixture = fixture();
    for _ in 0..20 {
        let after = AfterStop::Again(Some(Duration::from_secs(60)));
        let _ = fixture.addr.send(Ask::StopFor(after)).await;
        let stopped = Instant::now();
        tokio::time::timeout(Duration::from_secs(90), fixture.addr.send(Ask::Count))
            .await
            .expect("back in time")
            .expect("alive");
        assert!(stopped.elapsed() >= Duration::from_secs(60));
    }
    assert_eq!(fixture.health.restarts(), 0);
    assert_eq!(fixture.escalated.load(Ordering::Relaxed), 0);
}

#[actix::test]
async fn a_paused_actor_comes_back_when_woken() {
    tokio::time::pause();
    let fixture = fixture();
    let _ = fixture
        .addr
        .send(Ask::StopFor(AfterStop::Again(None)))
        .await;
    let waiting =
        tokio::time::timeout(Duration::from_secs(3600), fixture.addr.send(Ask::Count)).await;
    assert!(waiting.is_err(), "nothing brings it back by itself");
    fixture.health.wake();
    assert_eq!(fixture.count().await, 1);
}

#[actix::test]
async fn a_wake_just_before_the_pause_ends_it() {
    tokio::time::pause();
    let fixture = fixture();
    let hour = Duration::from_secs(3600);
    for pause in [None, Some(hour)] {
        let _ = fixture
            .addr
            .send(Ask::StopWoken(AfterStop::Again(pause)))
            .await;
        let began = Instant::now();
        assert_eq!(fixture.count().await, 1);
        assert_eq!(began.elapsed(), Duration::ZERO);
    }
    // One of before means nothing.
    fixture.health.wake();
    let _ = fixture
        .addr
        .send(Ask::StopFor(AfterStop::Again(None)))
        .await;
    let waiting = tokio::time::timeout(hour, fixture.addr.send(Ask::Count)).await;
    assert!(waiting.is_err(), "it sleeps");
}

#[actix::test]
async fn an_ended_actor_stays_away() {
    tokio::time::pause();
    let fixture = fixture();
    let _ = fixture.addr.send(Ask::StopFor(AfterStop::End)).await;
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert!(!fixture.addr.connected());
    assert_eq!(fixture.escalated.load(Ordering::Relaxed), 0);
}

#[actix::test]
async fn a_task_begins_again_after_a_panic_and_after_an_end() {
    tokio::time::pause();
    let health = Health::new("task");
    let escalate: Escalate = Arc::new(|name: &str| assert_ne!(name, "task", "escalated"));
    let starts = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&starts);
    let work = async move || {
        let mut tasks: JoinSet<()> = JoinSet::new();
        match counted.fetch_add(1, Ordering::Relaxed) {
            0 => panic!("in a task"),
            1 => return,
            2 => drop(tasks.spawn_local(async { panic!("in a task of a set") })),
            _ => {}
        }
        watch_for(Duration::from_secs(3600), &mut tasks).await;
    };
    let arbiter = actix::Arbiter::current();
    start_task(&arbiter, Arc::clone(&health), escalate, work);
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(starts.load(Ordering::Relaxed), 4);
    let snapshot = health.snapshot();
    assert_eq!((snapshot.restarts, snapshot.panics), (3, 2));
    assert_eq!(snapshot.last_panic, "in a task of a set");
}

#[actix::test]
async fn a_task_that_always_panics_escalates() {
    tokio::time::pause();
    let escalated = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&escalated);
    let escalate: Escalate = Arc::new(move |_: &str| {
        counted.fetch_add(1, Ordering::Relaxed);
    });
    let arbiter = actix::Arbiter::current();
    start_task(&arbiter, Health::new("task"), escalate, async || {
        panic!("each time")
    });
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(escalated.load(Ordering::Relaxed), 1);
}
