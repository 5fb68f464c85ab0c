//! The resolver of IMSIs on a paused clock, with a real queue and store, and with sources that a test plays.

use std::cell::RefCell;

use tokio::sync::watch;

use super::*;
use crate::actors::context::plan::{IMSI, Plan};
use crate::actors::context::ports::QueueKind;
use crate::actors::queue::{self, Queue};
use crate::actors::runtime::supervise::{self, Escalate};
use crate::actors::test_support::{self, TestNode, until};
use crate::pb::{Enqueue, MessageState, QueueItem};
use crate::store::{Stored, WriteBatch};

const NUMBER: &str = "49160001";
const SUBSCRIBER: &str = "001010000000001";
/// The clock runs ahead while the store writes: what must not end by itself lasts this long.
const LONG: Duration = Duration::from_secs(30 * 86_400);
const BREAKER_PAUSE: Duration = Duration::from_secs(5);

/// How a source answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mood {
    /// It knows numbers that begin with 4916, and no others.
    Good,
    /// It knows nothing.
    Empty,
    /// It answers nothing until this changes.
    Silent,
    /// It cannot be reached.
    Away,
}

/// A source that counts what it is asked.
struct Fake {
    mood: watch::Sender<Mood>,
    asked: RefCell<Vec<String>>,
}

impl Fake {
    fn new(mood: Mood) -> Rc<Self> {
        Rc::new(Self {
            mood: watch::Sender::new(mood),
            asked: RefCell::default(),
        })
    }

    fn asked(&self) -> usize {
        self.asked.borrow().len()
    }
}

impl LookUpSource for Fake {
    fn name(&self) -> String {
        "the fake".to_owned()
    }

    fn ask(&self, number: &[u8]) -> source::LookUpAnswer {
        let number = String::from_utf8_lossy(number).into_owned();
        self.asked.borrow_mut().push(number.clone());
        let mut mood = self.mood.subscribe();
        Box::pin(async move {
            let now = *mood.wait_for(|mood| *mood != Mood::Silent).await.unwrap();
            match (now, number.strip_prefix("4916")) {
                (Mood::Away, _) => Err(source::LookupError::Status(503)),
                (Mood::Good, Some(rest)) => Ok(format!("00101{rest:0>10}")),
                _ => Ok(String::new()),
            }
        })
    }
}

struct Scene {
    node: TestNode,
    known: Arc<Imsis>,
    queue: actix::Addr<Queue>,
    port: Arc<QueuePort>,
    /// The queue of a GSM interface, to which the messages go.
    gsm: u32,
}

async fn scene(sources: Vec<Rc<dyn LookUpSource>>) -> Scene {
    let node = test_support::node_with(1, None, |config| {
        config.imsi.hlr = Some("hlr.example:4259".to_owned());
        config.imsi.breaker_failures = 3;
        config.imsi.breaker_pause = BREAKER_PAUSE;
        config.imsi.cache_for = LONG;
        config.imsi.cache_unknown_for = LONG;
        config.validity.max = LONG;
    })
    .await;
    let (store, config) = (Arc::clone(&node.context.store), node.context.config());
    let (gsm, plan) = tokio::task::spawn_blocking(move || {
        let gsm = store.intern("gsm:core").unwrap();
        (gsm, Plan::build(config, store.as_ref()).unwrap())
    })
    .await
    .unwrap();
    let id = plan.imsi_queue.unwrap();
    node.context.set_plan(Arc::new(plan));
    let (queue, slot) = supervise::slot::<Queue>(queue::MAILBOX);
    let port = Arc::new(QueuePort::new(
        id,
        IMSI.to_owned(),
        QueueKind::Internal,
        queue.clone().into(),
        Arc::clone(&node.context.local_lease),
        &node.context.metrics,
    ));
    node.context.add_queue(Arc::clone(&port));
    let escalate: Escalate = Arc::new(|name: &str| panic!("{name} escalated"));
    let (for_queue, for_port) = (Arc::clone(&node.context), Arc::clone(&port));
    slot.start(
        &actix::Arbiter::current(),
        Arc::clone(&port.health),
        escalate,
        move || Queue::new(for_queue, for_port, Vec::new()),
    );
    let known = Arc::<Imsis>::default();
    known.refresh(1_000, None).unwrap();
    let mut resolver = Resolver::<ImsiQuestion>::new(Arc::clone(&node.context), Arc::clone(&known));
    resolver.take_sources(sources);
    resolver.start();
    tokio::time::pause();
    Scene {
        node,
        known,
        queue,
        port,
        gsm,
    }
}

impl Scene {
    /// Puts a message to each of these numbers into the queue.
    async fn accept(&self, numbers: &[&str], life: Duration) -> Vec<u64> {
        let node = &self.node.context;
        let now = clock::now_ms();
        let ids = node.ids.take(now, numbers.len()).unwrap();
        let messages: Vec<Message> = ids
            .zip(numbers)
            .map(|(id, number)| Message {
                id,
                sender: self.node.account,
                queue: self.port.id,
                towards: self.gsm,
                accepted_at: now,
                expires_at: now + life.as_millis() as i64,
                destination: number.as_bytes().to_vec().into(),
                ..Message::default()
            })
            .collect();
        let ids = messages.iter().map(|message| message.id).collect();
        let rows = WriteBatch {
            accept: messages.clone(),
            ..WriteBatch::default()
        };
        node.store.write(rows).await.unwrap();
        let term = node.local_lease.hold().term(self.port.id, 0).unwrap();
        let items = messages.into_iter().map(|message| QueueItem {
            id: message.id,
            expires_at: message.expires_at,
            message: Some(Box::new(message)),
            term,
            ..QueueItem::default()
        });
        let items = items.collect();
        self.queue.send(Enqueue { items }).await.unwrap();
        ids
    }

    /// Waits until the store shows all of these messages so.
    #[expect(
        clippy::disallowed_methods,
        reason = "nothing else runs on this thread"
    )]
    async fn stored(&self, ids: &[u64], so: impl Fn(&Stored) -> bool) {
        for _ in 0..30_000 {
            let loaded = self.node.context.store.load(ids.to_vec()).await.unwrap();
            if loaded.iter().flatten().filter(|one| so(one)).count() == ids.len() {
                return;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
            std::thread::sleep(Duration::from_millis(1));
        }
        panic!("in vain");
    }

    /// Waits until these have an IMSI and are in the queue of the interface.
    async fn have_imsi(&self, ids: &[u64]) {
        let gsm = self.gsm;
        self.stored(ids, |one| one.queue == gsm && !one.message.imsi.is_empty())
            .await;
    }

    fn held(&self) -> u64 {
        self.port.held.load(Ordering::Relaxed)
    }
}

fn numbers(count: usize) -> Vec<String> {
    (0..count).map(|at| format!("4916{at:04}")).collect()
}

#[actix::test]
async fn a_thousand_messages_to_a_number_are_one_question() {
    let hlr = Fake::new(Mood::Silent);
    let scene = scene(vec![hlr.clone()]).await;
    let ids = scene.accept(&[NUMBER; 1000], LONG).await;
    until("all of them to wait for the answer", || {
        scene.held() == 1000
    })
    .await;
    assert_eq!(hlr.asked(), 1);
    hlr.mood.send_replace(Mood::Good);
    scene.have_imsi(&ids).await;
    let plus = scene.accept(&["+49160001"], LONG).await;
    scene.have_imsi(&plus).await;
    assert_eq!(*hlr.asked.borrow(), [NUMBER], "the answer is kept");
    scene
        .stored(&ids, |one| one.message.imsi == "001010000000001")
        .await;
    let history = scene.node.context.store.history(ids[0]).await.unwrap();
    let changes = history.unwrap().changes;
    assert_eq!(changes.len(), 1);
    assert_eq!(changes[0].by, "resolver: IMSI (looked up)");
    assert!(!changes[0].by.contains(SUBSCRIBER));
}

#[actix::test]
async fn an_unknown_subscriber_ends_the_message_and_is_remembered_for_a_while() {
    let hlr = Fake::new(Mood::Good);
    let scene = scene(vec![hlr.clone()]).await;
    let ended = |one: &Stored| {
        let fin = one.fin.as_ref();
        fin.is_some_and(|fin| fin.state == MessageState::Undeliverable && fin.error == "1")
    };
    for _ in 0..2 {
        let ids = scene.accept(&["33600000"], LONG).await;
        scene.stored(&ids, ended).await;
    }
    assert_eq!(hlr.asked(), 1);
    assert_eq!(scene.known.forget(Some(b"+33600000")), 1);
    let ids = scene.accept(&["33600000"], LONG).await;
    scene.stored(&ids, ended).await;
    assert_eq!(hlr.asked(), 2, "what was forgotten is asked for anew");
}

#[actix::test]
async fn while_nobody_can_be_asked_messages_wait_in_their_queue() {
    const COUNT: usize = 50;
    let hlr = Fake::new(Mood::Away);
    let scene = scene(vec![hlr.clone()]).await;
    let all = numbers(COUNT);
    let all: Vec<&str> = all.iter().map(String::as_str).collect();
    let ids = scene.accept(&all, LONG).await;
    let waiting = || scene.port.snapshot.get().waiting;
    until("all but one to be back", || {
        scene.held() == 1 && waiting() == COUNT as u64 - 1
    })
    .await;
    assert_eq!(scene.node.context.metrics.imsi_away.get(), 1);
    // One question at a time tries whether it is back.
    let before = hlr.asked();
    for _ in 0..20 {
        tokio::time::advance(BREAKER_PAUSE / 2).await;
        tokio::task::yield_now().await;
    }
    let asked = hlr.asked() - before;
    assert!((1..=20).contains(&asked), "{asked}");
    hlr.mood.send_replace(Mood::Good);
    scene.have_imsi(&ids).await;
    until("it to count as there", || {
        scene.node.context.metrics.imsi_away.get() == 0
    })
    .await;
}

#[actix::test]
async fn a_message_that_waits_for_its_answer_expires_in_time() {
    let hlr = Fake::new(Mood::Away);
    let scene = scene(vec![hlr.clone()]).await;
    let ids = scene.accept(&[NUMBER], Duration::from_secs(20)).await;
    scene
        .stored(&ids, |one| {
            let fin = one.fin.as_ref();
            fin.is_some_and(|fin| fin.state == MessageState::Expired)
        })
        .await;
    assert!(hlr.asked() > 0);
}

#[actix::test]
async fn the_next_source_is_asked_and_unreachable_is_not_unknown() {
    let (first, second) = (Fake::new(Mood::Away), Fake::new(Mood::Good));
    let scene = scene(vec![first.clone(), second.clone()]).await;
    let ids = scene.accept(&[NUMBER], LONG).await;
    scene.have_imsi(&ids).await;
    assert_eq!((first.asked(), second.asked()), (1, 1));

    first.mood.send_replace(Mood::Empty);
    let ids = scene.accept(&["49160002"], LONG).await;
    scene.have_imsi(&ids).await;

    // The second one knows nothing about it, and the first one may.
    first.mood.send_replace(Mood::Away);
    second.mood.send_replace(Mood::Empty);
    let ids = scene.accept(&["49160003"], LONG).await;
    let before = second.asked();
    until("it to be asked for again", || second.asked() > before + 2).await;
    scene.stored(&ids, |one| one.fin.is_none()).await;
    first.mood.send_replace(Mood::Good);
    scene.have_imsi(&ids).await;
}

#[actix::test]
async fn a_number_whose_imsi_is_doubted_is_looked_up_anew() {
    let hlr = Fake::new(Mood::Good);
    let scene = scene(vec![hlr.clone()]).await;
    let ids = scene.accept(&[NUMBER], LONG).await;
    scene.have_imsi(&ids).await;
    let before = scene.known.cached(NUMBER.as_bytes());
    assert_eq!(before.as_deref(), Some(SUBSCRIBER));
    hlr.mood.send_replace(Mood::Empty);
    scene.known.doubt(b"+49160001");
    until("the new answer", || {
        scene.known.cached(NUMBER.as_bytes()).as_deref() == Some("")
    })
    .await;
    assert_eq!(hlr.asked(), 2);
    // While nobody answers, the old one is not used either, and nobody asks again and again.
    hlr.mood.send_replace(Mood::Away);
    scene.known.doubt(NUMBER.as_bytes());
    until("the question", || hlr.asked() == 3).await;
    assert_eq!(scene.known.cached(NUMBER.as_bytes()), None);
}
