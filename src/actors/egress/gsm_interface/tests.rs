//! The interface between a real queue and a core that the test plays, on a paused clock.

mod breaker;
mod map;
mod naming;
mod order;

use std::cell::RefCell;
use std::collections::VecDeque;

use bytes::Bytes;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream, duplex};

use super::gsup::NOBODY;
use super::*;
use crate::actors::billing::balance::NodePurses;
use crate::actors::context::ports::QueueKind;
use crate::actors::ingress::ingest::{self, Intake};
use crate::actors::queue::{self, Queue};
use crate::actors::routing::policy::PolicyState;
use crate::actors::test_support::{self, TestNode, until};
use crate::clock;
use crate::config::{Gsm, Retry};
use crate::gsup::message::GsupMessage;
use crate::gsup::message_type::MessageType;
use crate::gsup::session::{GsupEvent, GsupRole, GsupSession, GsupSessionConfig};
use crate::pb::Message;
use crate::pb::{Enqueue, QueueItem};
use crate::sms::tpdu::{Direction, Tpdu, TpduKind, decode};
use crate::store::WriteBatch;

const HOUR: Duration = Duration::from_secs(3600);
/// Nothing comes within this time of a paused clock.
const MOMENT: Duration = Duration::from_secs(1);
const STEP: Duration = Duration::from_millis(10);

thread_local! {
    static PIPES: RefCell<VecDeque<DuplexStream>> = const { RefCell::new(VecDeque::new()) };
}

/// What the interface is connected to next.
pub(super) fn next_pipe() -> Option<DuplexStream> {
    PIPES.with_borrow_mut(VecDeque::pop_front)
}

/// The other end of a connection, as HLR and MSC.
struct Core {
    pipe: DuplexStream,
    session: GsupSession<()>,
    out: BytesMut,
    /// Whether the name of the interface leads to it: otherwise it is not told that an IMSI is nobody's.
    is_known: bool,
}

impl Core {
    /// The next connection that the interface makes.
    fn next() -> Self {
        let (near, pipe) = duplex(64 * 1024);
        PIPES.with_borrow_mut(|pipes| pipes.push_back(near));
        let config = GsupSessionConfig {
            role: GsupRole::Server,
            name: Bytes::from_static(b"HLR"),
            ping_every: HOUR,
            patience: HOUR,
            request_timeout: HOUR,
            late: HOUR,
            window: usize::MAX,
        };
        let mut out = BytesMut::new();
        let session = GsupSession::new(config, Instant::now().into_std(), &mut out);
        Self {
            pipe,
            session,
            out,
            is_known: true,
        }
    }

    async fn event(&mut self) -> GsupEvent<()> {
        loop {
            let event = self.session.next_event(&mut self.out);
            self.pipe.write_all_buf(&mut self.out).await.expect("open");
            if let Some(event) = event {
                return event;
            }
            let mut read = BytesMut::new();
            let count = loop {
                // A paused clock runs ahead of the store, which the next message may wait for.
                let octets = self.pipe.read_buf(&mut read);
                match tokio::time::timeout(STEP, octets).await {
                    Ok(count) => break count.expect("open"),
                    Err(_) => test_support::give_way(),
                }
            };
            assert!(count > 0, "the interface has closed the connection");
            self.session.receive(&read, Instant::now().into_std());
        }
    }

    /// The next MT-forwardSM to a subscriber.
    async fn request(&mut self) -> GsupMessage {
        loop {
            let GsupEvent::Message(message) = self.event().await else {
                continue;
            };
            if message.imsi == NOBODY {
                if self.is_known {
                    self.refuse(&message, None, Some(2)).await;
                }
            } else if message.message_type == MessageType::MT_FORWARD_SM_REQUEST {
                return *message;
            }
        }
    }

    /// Whose messages came before the interface has closed the connection.
    async fn rest(&mut self) -> Vec<String> {
        let mut imsis = Vec::new();
        let mut read = BytesMut::new();
        loop {
            let count = self.pipe.read_buf(&mut read).await.unwrap_or_default();
            self.session
                .receive(&read.split(), Instant::now().into_std());
            while let Some(event) = self.session.next_event(&mut self.out) {
                if let GsupEvent::Message(message) = event {
                    imsis.push(message.imsi);
                }
            }
            if count == 0 {
                return imsis;
            }
        }
    }

    async fn expect_nothing(&mut self) {
        self.expect_nothing_for(MOMENT).await;
    }

    async fn expect_nothing_for(&mut self, time: Duration) {
        let more = tokio::time::timeout(time, self.request()).await;
        assert!(more.is_err(), "{more:?}");
    }

    async fn request_soon(&mut self) -> Option<GsupMessage> {
        tokio::time::timeout(MOMENT, self.request()).await.ok()
    }

    async fn send(&mut self, message: &GsupMessage) {
        let sent = self.session.notify(message, &mut self.out);
        assert_eq!(sent, Ok(()));
        self.pipe.write_all_buf(&mut self.out).await.expect("open");
    }

    /// The phone has it; as an MSC, with a reference of its own.
    async fn take(&mut self, request: &GsupMessage) {
        let name = Bytes::from_static(b"MSC");
        let answer = GsupMessage {
            reference: Some(3),
            ..request.answer(MessageType::MT_FORWARD_SM_RESULT, &name)
        };
        self.send(&answer).await;
    }

    /// The network refuses it, with an RP-cause or a GMM cause.
    async fn refuse(&mut self, request: &GsupMessage, rp_cause: Option<u8>, cause: Option<u8>) {
        let name = Bytes::from_static(b"MSC");
        let answer = GsupMessage {
            rp_cause,
            cause,
            ..request.answer(MessageType::MT_FORWARD_SM_ERROR, &name)
        };
        self.send(&answer).await;
    }

    async fn ready(&mut self, imsi: &str) {
        let alert = GsupMessage {
            reference: Some(0),
            alert_reason: Some(1),
            ..GsupMessage::new(MessageType::READY_FOR_SM_REQUEST, imsi)
        };
        self.send(&alert).await;
    }
}

struct Fixture {
    node: TestNode,
    queue: Arc<QueuePort>,
}

/// A node with the network `home`, whose connection is that to the `Core` made last.
async fn fixture(window: u32) -> Fixture {
    fixture_that(true, window).await
}

/// A node with the network `home`; without `writes` no result becomes durable.
async fn fixture_that(writes: bool, window: u32) -> Fixture {
    fixture_with(writes, |gsm| gsm.window = window).await
}

async fn fixture_with(writes: bool, adapt: impl FnOnce(&mut Gsm)) -> Fixture {
    let change = |config: &mut crate::config::Config| {
        let mut home = Gsm {
            name: "home".to_owned(),
            address: "127.0.0.1:9".to_owned(),
            smsc_address: "49160000".to_owned(),
            // The core answers only while the test waits for something of it.
            ping_interval: 10 * HOUR,
            ping_timeout: 10 * HOUR,
            retry: Some(Retry {
                delays: vec![HOUR],
                ..Retry::default()
            }),
            ..Gsm::default()
        };
        adapt(&mut home);
        config.gsm = vec![home];
    };
    let node = test_support::node_that_writes(1, None, change).await;
    let context = Arc::clone(&node.context);
    let gsm = context.plan().queue_of("gsm:home").expect("a network");
    let (addr, slot) = supervise::slot::<Queue>(queue::MAILBOX);
    let port = Arc::new(QueuePort::new(
        gsm,
        "gsm:home".to_owned(),
        QueueKind::Operator,
        addr.into(),
        Arc::clone(&context.local_lease),
        &context.metrics,
    ));
    context.add_queue(Arc::clone(&port));
    let escalate: Escalate = Arc::new(|name: &str| panic!("{name} escalated"));
    let arbiter = actix::Arbiter::current();
    let (for_queue, for_port) = (Arc::clone(&context), Arc::clone(&port));
    let health = Arc::clone(&port.health);
    slot.start(&arbiter, health, Arc::clone(&escalate), move || {
        Queue::new(for_queue, for_port, Vec::new())
    });
    GsmOptions {
        ingest: ingest_of(&context, &escalate),
        node: context,
        imsis: Arc::default(),
        gsm,
        escalate,
    }
    .start(&arbiter);
    if writes {
        node.start_correlation();
    }
    let fixture = Fixture { node, queue: port };
    tokio::time::pause();
    fixture
}

/// What takes messages of handsets.
fn ingest_of(node: &Arc<NodeContext>, escalate: &Escalate) -> Addr<Ingest> {
    let intake = Arc::new(Intake::new(
        Arc::clone(node),
        Arc::new(PolicyState::new(&node.config().policy)),
        Arc::default(),
        Arc::new(NodePurses::default()),
    ));
    let (ingest, slot) = supervise::slot::<Ingest>(ingest::MAILBOX);
    let health = Health::new("ingest");
    let arbiter = actix::Arbiter::current();
    slot.start(&arbiter, health, Arc::clone(escalate), move || {
        Ingest::new(intake)
    });
    ingest
}

impl Fixture {
    /// Makes messages to these subscribers durable, and puts them into the queue.
    async fn accept(&self, imsis: &[&str]) -> Vec<u64> {
        self.accept_for(24 * HOUR, imsis).await
    }

    /// Makes messages to these subscribers durable that expire after so long, and puts them into the queue.
    async fn accept_for(&self, life: Duration, imsis: &[&str]) -> Vec<u64> {
        let to: Vec<(&str, &str)> = imsis.iter().map(|imsi| ("49160001", *imsi)).collect();
        self.accept_all(life, &to).await
    }

    /// Makes messages to these numbers durable, each with an IMSI, and puts them into the queue.
    async fn accept_all(&self, life: Duration, to: &[(&str, &str)]) -> Vec<u64> {
        let context = &self.node.context;
        let now = clock::now_ms();
        let ids = context.ids.take(now, to.len()).expect("ids");
        let messages: Vec<Message> = ids
            .zip(to)
            .map(|(id, (number, imsi))| Message {
                id,
                sender: self.node.account,
                queue: self.queue.id,
                accepted_at: now,
                due_at: now,
                expires_at: now + life.as_millis() as i64,
                source: Bytes::from_static(b"12345"),
                destination: Bytes::copy_from_slice(number.as_bytes()),
                short_message: Bytes::from(format!("{id}")),
                imsi: (*imsi).to_owned(),
                ..Message::default()
            })
            .collect();
        let rows = WriteBatch {
            accept: messages.clone(),
            ..WriteBatch::default()
        };
        // A paused clock would run far ahead of the store.
        tokio::time::resume();
        context.store.write(rows).await.expect("written");
        tokio::time::pause();
        let ids = messages.iter().map(|message| message.id).collect();
        let items = messages.into_iter().map(|message| QueueItem {
            id: message.id,
            expires_at: message.expires_at,
            part: context.part_of(self.queue.id, &message.destination).into(),
            message: Some(Box::new(message)),
            ..QueueItem::default()
        });
        let items = items.collect();
        self.queue.post(Enqueue { items });
        ids
    }

    async fn scheduled(&self, count: u64) {
        let snapshot = || self.queue.snapshot.get();
        until("messages for later", || snapshot().scheduled == count).await;
    }

    async fn empty(&self) {
        until("an empty queue", || {
            self.queue.depth.load(Ordering::Relaxed) == 0
        })
        .await;
    }
}

const A: &str = "001010000000001";
const B: &str = "001010000000002";

/// The text of a request: the id of its message.
fn id_of(request: &GsupMessage) -> u64 {
    id_in(&request.user_information.clone().expect("a TPDU"))
}

fn id_in(tpdu: &Bytes) -> u64 {
    let kind = TpduKind::guess(Direction::ToPhone, tpdu).expect("a TPDU");
    match decode(kind, tpdu).expect("it can be read") {
        Tpdu::Deliver(deliver) => {
            let text = deliver.user_data.text(deliver.data_coding);
            text.expect("a text").parse().expect("an id")
        }
        Tpdu::StatusReport(report) => report.message_reference.into(),
        other => panic!("{other:?}"),
    }
}

#[actix::test]
async fn a_subscriber_has_one_message_under_way_and_others_go_on() {
    let mut core = Core::next();
    let fixture = fixture(10).await;
    let ids = fixture.accept(&[A, A, B]).await;
    let first = core.request().await;
    assert_eq!((id_of(&first), first.more_messages), (ids[0], Some(true)));
    let other = core.request().await;
    assert_eq!((id_of(&other), other.imsi.as_str()), (ids[2], B));
    core.expect_nothing().await;
    core.take(&first).await;
    let second = core.request().await;
    assert_eq!(
        (id_of(&second), second.more_messages),
        (ids[1], Some(false))
    );
    core.take(&second).await;
    core.take(&other).await;
    fixture.empty().await;
}

#[actix::test]
async fn who_does_not_answer_waits_with_its_line_until_it_is_there() {
    let mut core = Core::next();
    let fixture = fixture(10).await;
    let ids = fixture.accept(&[A, A, B]).await;
    core.request().await;
    let other = core.request().await;
    core.take(&other).await;
    fixture.scheduled(2).await;
    core.expect_nothing().await;
    core.ready(A).await;
    // Not before the answer to the first request can no longer come.
    let again = core.request().await;
    assert_eq!(id_of(&again), ids[0]);
    core.take(&again).await;
    let last = core.request().await;
    assert_eq!(id_of(&last), ids[1]);
    core.take(&last).await;
    fixture.empty().await;
}

#[actix::test]
async fn an_answer_that_comes_late_still_counts() {
    let mut core = Core::next();
    let fixture = fixture(10).await;
    fixture.accept(&[A]).await;
    let request = core.request().await;
    fixture.scheduled(1).await;
    core.take(&request).await;
    fixture.empty().await;
}

#[actix::test]
async fn everything_goes_back_in_order_when_the_connection_ends() {
    let mut core = Core::next();
    let fixture = fixture(1).await;
    let ids = fixture.accept(&[A, B, A, B]).await;
    core.request().await;
    let mut next = Core::next();
    drop(core);
    // The first one has an unknown outcome, and is sent again.
    for id in [ids[0], ids[2], ids[1], ids[3]] {
        let request = next.request().await;
        assert_eq!(id_of(&request), id);
        next.take(&request).await;
    }
    fixture.empty().await;
}

#[actix::test]
async fn what_the_queue_has_not_granted_does_not_overtake_what_goes_back() {
    let mut core = Core::next();
    let fixture = fixture(1).await;
    let ids = fixture.accept(&[A; 20]).await;
    core.request().await;
    let mut next = Core::next();
    drop(core);
    for id in ids {
        let request = next.request().await;
        assert_eq!(id_of(&request), id);
        next.take(&request).await;
    }
    fixture.empty().await;
}

#[actix::test]
async fn a_message_without_an_imsi_is_not_lost() {
    let mut core = Core::next();
    let fixture = fixture(10).await;
    fixture.accept(&[""]).await;
    core.expect_nothing().await;
    fixture.scheduled(1).await;
}
