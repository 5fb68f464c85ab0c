//! Connections of programs whose other end the test has, on a paused clock.

use std::sync::atomic::Ordering;
use std::time::Duration;

use actix::{Actor as _, Addr};
use bytes::BytesMut;
use prost::Message as _;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream, duplex};

use super::connection::Connection;
use super::user::User;
use super::*;
use crate::actors::billing::balance::NodePurses;
use crate::actors::context::binds::BindPort;
use crate::actors::context::handlers::SessionEnd;
use crate::actors::egress::operator_session::SlotOptions;
use crate::actors::ingress::gate::Gate;
use crate::actors::ingress::ingest::{self, Ingest, Intake};
use crate::actors::routing::policy::PolicyState;
use crate::actors::runtime::link::Wire;
use crate::actors::runtime::supervise::{self, ActorSlot, Health};
use crate::actors::test_support::{self, TestNode, give_way, until};
use crate::config::Config;
use crate::pb::local::draft::Content;
use crate::pb::local::from_smsc::What as Said;
use crate::pb::local::to_smsc::What as Asked;
use crate::pb::local::{
    Delivered, Done, Draft, Found, FromPeer, FromSmsc, Hello, List, Ping, Reason, Report, Service,
    Short, Submit, ToPeer, ToSmsc, VERSION, put_frame, take_frame,
};
use crate::pb::{BindDirection, BindState};
use crate::smpp::session::BindType;

const UID: u32 = 7;
/// Longer than every time limit.
const LONG: Duration = Duration::from_secs(3_600);
const STEP: Duration = Duration::from_millis(10);

struct Scene {
    node: TestNode,
    door: Arc<LocalContext>,
    intake: Arc<Intake>,
    ingest: Addr<Ingest>,
    /// The Ingest, until it is started.
    slot: Option<ActorSlot<Ingest>>,
}

/// The other end of a connection.
struct Program {
    pipe: DuplexStream,
    octets: BytesMut,
}

// === impl Scene ===

impl Scene {
    async fn open(change: impl FnOnce(&mut Config)) -> Self {
        let node = test_support::node_with(1, None, |config| {
            config.local.users = [(UID.to_string(), "test".to_owned())].into_iter().collect();
            config.local.max_requests = 2;
            change(config);
        });
        let node = node.await;
        let policy = Arc::new(PolicyState::new(&node.context.config().policy));
        let intake = Arc::new(Intake::new(
            Arc::clone(&node.context),
            policy,
            Arc::default(),
            Arc::new(NodePurses::default()),
        ));
        let (ingest, slot) = supervise::slot(ingest::MAILBOX);
        let api = AccountApi::new(
            Arc::clone(&intake),
            Arc::new(Gate::default()),
            [ingest.clone()],
        );
        let door = LocalContext::new(Arc::clone(&node.context), api);
        Self {
            node,
            door,
            intake,
            ingest,
            slot: Some(slot),
        }
    }

    /// Submissions are carried out from now on.
    fn start_ingest(&mut self) {
        let intake = Arc::clone(&self.intake);
        let escalate: supervise::Escalate = Arc::new(|name: &str| panic!("{name} escalated"));
        self.slot.take().expect("started once").start(
            &actix::Arbiter::current(),
            Health::new("ingest"),
            escalate,
            move || Ingest::new(intake),
        );
    }

    fn connect(&self, uid: u32) -> Program {
        let (near, pipe) = duplex(64 * 1024);
        let admitted = self.door.admit(0, usize::MAX).expect("there is room");
        let user = User { uid, pid: None };
        Connection::new(Wire::Memory(near), user, admitted).start();
        Program {
            pipe,
            octets: BytesMut::new(),
        }
    }

    /// A program that was welcomed.
    async fn client(&self) -> Program {
        let mut program = self.connect(UID);
        program.ask(1, hello(VERSION)).await;
        match program.said().await {
            Some((1, Said::Welcome(welcome))) => assert_eq!(welcome.account, "test"),
            other => panic!("{other:?}"),
        }
        program
    }

    async fn all_are_gone(&self) {
        let (node, door) = (&self.node.context, &self.door);
        until("the connection is gone", || {
            node.binds.all().is_empty() && lock(&door.open).all() == 0
        })
        .await;
    }

    fn drain(&self) {
        self.node.context.draining.store(true, Ordering::Relaxed);
    }
}

fn hello(version: u32) -> Asked {
    Asked::Hello(Hello {
        version,
        program: "test".to_owned(),
        ..Hello::default()
    })
}

fn submit(texts: &[&str]) -> Asked {
    let draft = |text: &&str| Draft {
        to: "447700900123".to_owned(),
        from: "12345".to_owned(),
        content: Some(Content::Text((*text).to_owned())),
        ..Draft::default()
    };
    Asked::Submit(Submit {
        messages: texts.iter().map(draft).collect(),
        ..Submit::default()
    })
}

// === impl Program ===

impl Program {
    async fn ask(&mut self, number: u64, what: Asked) {
        let mut octets = BytesMut::new();
        put_frame(&ToSmsc::new(number, what), &mut octets);
        self.pipe.write_all(&octets).await.expect("it is open");
    }

    /// The next frame; `None` at the end of the connection. Waits as long as the paused clock needs.
    async fn said(&mut self) -> Option<(u64, Said)> {
        let wait = async {
            loop {
                if let Some(frame) = take_frame(&mut self.octets, 1 << 20).expect("a frame") {
                    let frame = FromSmsc::decode(frame).expect("a FromSmsc");
                    return Some((frame.request, frame.what.expect("it says something")));
                }
                // A paused clock runs ahead of the store.
                let read = self.pipe.read_buf(&mut self.octets);
                match tokio::time::timeout(STEP, read).await {
                    Ok(Ok(0)) => return None,
                    Ok(read) => drop(read.expect("it is open")),
                    Err(_) => give_way(),
                }
            }
        };
        tokio::time::timeout(LONG, wait)
            .await
            .expect("it is said in time")
    }

    /// What it is told at the end, with nothing after it.
    async fn is_parted(&mut self) -> (u64, Reason, String) {
        let (number, goodbye) = match self.said().await {
            Some((number, Said::Goodbye(goodbye))) => (number, goodbye),
            other => panic!("{other:?}"),
        };
        assert_eq!(self.said().await, None);
        (number, goodbye.reason(), goodbye.detail)
    }

    /// Nothing is said for a while.
    async fn is_silent(&mut self) {
        let more = tokio::time::timeout(Duration::from_secs(2), self.said()).await;
        assert!(more.is_err(), "{more:?}");
    }
}

// === tests ===

#[actix::test]
async fn only_a_user_with_an_account_is_welcomed() {
    let scene = Scene::open(|config| {
        let users = [("7", "test"), ("8", "gone")];
        let users = users.map(|(uid, account)| (uid.to_owned(), account.to_owned()));
        config.local.users = users.into_iter().collect();
    })
    .await;
    tokio::time::pause();
    for (uid, version, reason, words) in [
        (
            UID,
            2,
            Reason::Version,
            "speaks version 2, and this server version 1",
        ),
        // Who speaks another version learns nothing else.
        (99, 0, Reason::Version, "version 0"),
        (99, VERSION, Reason::UnknownUser, "user 99"),
        (8, VERSION, Reason::NoAccount, "account \"gone\""),
    ] {
        let mut program = scene.connect(uid);
        program.ask(5, hello(version)).await;
        let (number, said, detail) = program.is_parted().await;
        assert_eq!((number, said), (5, reason), "{detail}");
        assert!(detail.contains(words), "{detail}");
    }
    let _client = scene.client().await;
    let bind = scene.node.context.binds.all()[0].snapshot.get();
    assert_eq!(
        (&*bind.name, bind.direction()),
        ("test", BindDirection::Local)
    );
    assert_eq!(bind.peer, "uid 7, test");
}

#[actix::test]
async fn what_cannot_be_read_ends_the_connection_with_a_reason() {
    let scene = Scene::open(|config| config.local.max_frame = 1_024).await;
    tokio::time::pause();
    for (octets, reason) in [
        // A ToSmsc of 1,025 octets; it is refused by its length.
        (&b"\x81\x08"[..], Reason::TooLarge),
        (b"\xff\xff\xff\xff\xff", Reason::Malformed),
        // A field that ends behind the frame.
        (b"\x02\x12\x09", Reason::Malformed),
        // A Ping without a number.
        (b"\x02\x1a\x00", Reason::Malformed),
        // Something else than SMSC speaks: a length of 71, and a pause.
        (b"GET / HTTP/1.1\r\n\r\n", Reason::Malformed),
    ] {
        let mut program = scene.client().await;
        program.pipe.write_all(octets).await.unwrap();
        let (number, said, detail) = program.is_parted().await;
        assert_eq!((number, said), (0, reason), "{octets:02X?}: {detail}");
    }
    let mut program = scene.connect(UID);
    program.ask(1, Asked::Ping(Ping {})).await;
    let (_, said, detail) = program.is_parted().await;
    assert_eq!(said, Reason::Malformed, "{detail}");
    scene.all_are_gone().await;
}

#[actix::test]
async fn a_request_of_a_later_version_is_refused_and_the_connection_goes_on() {
    let scene = Scene::open(|_| {}).await;
    tokio::time::pause();
    let mut program = scene.client().await;
    // Field 200, which nobody has: number 3.
    program
        .pipe
        .write_all(b"\x05\x08\x03\xc2\x0c\x00")
        .await
        .unwrap();
    match program.said().await {
        Some((3, Said::Failure(failure))) => assert_eq!(failure.reason(), Reason::Unsupported),
        other => panic!("{other:?}"),
    }
    program.ask(4, Asked::Ping(Ping {})).await;
    assert!(matches!(program.said().await, Some((4, Said::Pong(_)))));
    program.ask(5, hello(VERSION)).await;
    match program.said().await {
        Some((5, Said::Failure(failure))) => assert_eq!(failure.reason(), Reason::Unsupported),
        other => panic!("{other:?}"),
    }
}

#[actix::test]
async fn silence_ends_a_connection() {
    // Not much longer: what a paused clock passes takes real time, too.
    let scene = Scene::open(|config| config.local.idle_timeout = Duration::from_secs(30)).await;
    tokio::time::pause();
    let local = scene.node.context.config().local.clone();
    let begun = Instant::now();
    let mut silent = scene.connect(UID);
    let (_, reason, detail) = silent.is_parted().await;
    assert_eq!(reason, Reason::Malformed);
    assert!(detail.contains("no Hello"), "{detail}");
    assert!(begun.elapsed() >= local.frame_timeout);

    let mut half = scene.client().await;
    let begun = Instant::now();
    half.pipe.write_all(b"\x05\x08").await.unwrap();
    let (_, reason, detail) = half.is_parted().await;
    assert_eq!(reason, Reason::Malformed);
    assert!(detail.contains("rest of a frame"), "{detail}");
    assert!((local.frame_timeout..local.idle_timeout).contains(&begun.elapsed()));

    let mut idle = scene.client().await;
    tokio::time::sleep(local.idle_timeout / 2).await;
    idle.ask(2, Asked::Ping(Ping {})).await;
    assert!(matches!(idle.said().await, Some((2, Said::Pong(_)))));
    let begun = Instant::now();
    let (_, reason, _) = idle.is_parted().await;
    assert_eq!(reason, Reason::Idle);
    assert!(begun.elapsed() >= local.idle_timeout - Duration::from_secs(1));
    scene.all_are_gone().await;
}

#[actix::test]
async fn no_more_is_read_than_may_be_under_way() {
    let mut scene = Scene::open(|_| {}).await;
    let mut program = scene.client().await;
    tokio::time::pause();
    for number in [2, 3, 4] {
        program.ask(number, submit(&["hello"])).await;
    }
    program.ask(5, Asked::Ping(Ping {})).await;
    program.is_silent().await;
    scene.start_ingest();
    let mut answered = Vec::new();
    for _ in 0..4 {
        let (number, said) = program.said().await.expect("it is open");
        if let Said::Submitted(submitted) = &said {
            assert!(submitted.outcomes[0].id > 0, "{said:?}");
        }
        answered.push(number);
    }
    answered.sort_unstable();
    assert_eq!(answered, [2, 3, 4, 5]);
}

#[actix::test]
async fn what_was_asked_before_the_drain_is_answered() {
    let mut scene = Scene::open(|_| {}).await;
    let mut program = scene.client().await;
    tokio::time::pause();
    program.ask(2, submit(&["hello", "you"])).await;
    program.is_silent().await;
    scene.drain();
    program.ask(3, submit(&["too late"])).await;
    program.is_silent().await;
    scene.start_ingest();
    match program.said().await {
        Some((2, Said::Submitted(submitted))) => {
            assert!(submitted.outcomes.iter().all(|one| one.id > 0));
        }
        other => panic!("{other:?}"),
    }
    let (number, reason, _) = program.is_parted().await;
    assert_eq!((number, reason), (0, Reason::Stopping));
    scene.all_are_gone().await;
}

#[actix::test]
async fn a_program_that_has_closed_its_side_gets_its_answers() {
    let mut scene = Scene::open(|_| {}).await;
    scene.start_ingest();
    let mut program = scene.client().await;
    tokio::time::pause();
    program.ask(2, submit(&["hello"])).await;
    program.ask(3, Asked::List(List::default())).await;
    program.pipe.shutdown().await.unwrap();
    let mut answered = Vec::new();
    while let Some((number, _)) = program.said().await {
        answered.push(number);
    }
    answered.sort_unstable();
    assert_eq!(answered, [2, 3]);
    scene.all_are_gone().await;
}

#[actix::test]
async fn a_program_that_does_not_read_is_cut_off() {
    let scene = Scene::open(|config| config.local.max_requests = 1_000).await;
    let mut program = scene.client().await;
    tokio::time::pause();
    // More answers than the pipe takes.
    for number in 2..20_000 {
        let mut octets = BytesMut::new();
        put_frame(&ToSmsc::new(number, Asked::Ping(Ping {})), &mut octets);
        let written = tokio::time::timeout(STEP, program.pipe.write_all(&octets)).await;
        if written.is_err() {
            break;
        }
    }
    scene.all_are_gone().await;
    assert_eq!(scene.node.context.metrics.slow_readers.get(), 1);
}

const ROLE: &str = "operator:up";

impl Scene {
    /// A program may be the operator.
    async fn with_operator() -> Self {
        let scene = Self::open(|config| {
            config.local.socket = Some("smsc.sock".into());
            config.local.roles = [(UID.to_string(), ROLE.to_owned())].into_iter().collect();
            config.operator[0].address = "local".to_owned();
        });
        scene.await
    }

    /// A program whose service is up.
    async fn operator(&self) -> Program {
        let mut program = self.connect(UID);
        let hello = Hello {
            version: VERSION,
            role: ROLE.to_owned(),
            ..Hello::default()
        };
        program.ask(1, Asked::Hello(hello)).await;
        assert!(matches!(program.said().await, Some((1, Said::Welcome(_)))));
        program.ask(2, up(true)).await;
        assert_eq!(program.said().await, Some((2, done())));
        program
    }

    /// The end of a session that has the program.
    fn link(&self) -> SessionEnd {
        let linked = self.node.context.handlers.link(ROLE);
        linked.expect("a program is up").0
    }

    /// Starts the session of the operator; its number.
    fn bind(&self) -> u64 {
        let slot = SlotOptions {
            node: Arc::clone(&self.node.context),
            ingest: self.ingest.clone(),
            operator: self.node.operator,
            slot: 0,
            bind_type: BindType::Transceiver,
            paired: false,
            escalate: Arc::new(|name: &str| panic!("{name} escalated")),
        };
        slot.start(&actix::Arbiter::current())
    }

    /// Waits until the session is in this state.
    async fn is_in(&self, session: u64, state: BindState) {
        let binds = &self.node.context.binds;
        let is_it =
            |port: &Arc<BindPort>| port.session == session && port.snapshot.get().state() == state;
        until("the session has its state", || {
            binds.all().iter().any(is_it)
        })
        .await;
    }

    fn is_free(&self) -> bool {
        self.node.context.handlers.link(ROLE).is_ok()
    }
}

fn up(is_up: bool) -> Asked {
    Asked::Service(Service { is_up })
}

fn done() -> Said {
    Said::Done(Done {})
}

/// Whoever has the program says that.
async fn tell(link: &SessionEnd, frames: &[(u64, Said)]) {
    let mut octets = BytesMut::new();
    for (number, what) in frames {
        put_frame(&FromSmsc::new(*number, what.clone()), &mut octets);
    }
    link.told.send(octets.freeze()).await.expect("it is open");
}

#[actix::test]
async fn a_session_and_its_program_hear_one_another() {
    let scene = Scene::with_operator().await;
    tokio::time::pause();
    let mut program = scene.operator().await;
    let mut link = scene.link();
    assert!(!scene.is_free(), "it serves one session");
    let to_peer = Said::ToPeer(ToPeer::default());
    let delivered = || Asked::Delivered(Delivered::default());
    // The session counts anew with each link; the numbers of the connection go on.
    tell(&link, &[(7, to_peer.clone())]).await;
    assert_eq!(program.said().await, Some((1, to_peer.clone())));
    program.ask(1, delivered()).await;
    assert_eq!(link.said.recv().await, Some(ToSmsc::new(7, delivered())));
    // Answered twice, and what nobody has asked.
    program.ask(1, delivered()).await;
    program.ask(99, Asked::Found(Found::default())).await;
    let report = || Asked::Report(Report::default());
    program.ask(3, report()).await;
    assert_eq!(link.said.recv().await, Some(ToSmsc::new(3, report())));
    program.ask(3, report()).await;
    match program.said().await {
        Some((3, Said::Failure(failure))) => assert_eq!(failure.reason(), Reason::Conflict),
        other => panic!("{other:?}"),
    }
    // What it has not brought is not answered.
    tell(&link, &[(4, done()), (3, done()), (8, to_peer.clone())]).await;
    assert_eq!(program.said().await, Some((3, done())));
    assert_eq!(program.said().await, Some((2, to_peer.clone())));
    // The session goes away, and the program may have another one.
    program.ask(5, report()).await;
    assert_eq!(link.said.recv().await, Some(ToSmsc::new(5, report())));
    drop(link);
    match program.said().await {
        Some((5, Said::Failure(failure))) => assert_eq!(failure.reason(), Reason::Unavailable),
        other => panic!("{other:?}"),
    }
    let mut link = scene.link();
    program.ask(2, delivered()).await;
    tell(&link, &[(7, to_peer.clone())]).await;
    assert_eq!(program.said().await, Some((3, to_peer)));
    // An answer of the wrong kind ends the connection, and so does a session's link.
    program.ask(3, Asked::Found(Found::default())).await;
    let (_, reason, detail) = program.is_parted().await;
    assert_eq!(reason, Reason::Malformed, "{detail}");
    assert_eq!(link.said.recv().await, None);
    scene.all_are_gone().await;
    assert!(!scene.is_free());
}

#[actix::test]
async fn a_session_sees_that_the_service_of_its_program_is_gone() {
    let scene = Scene::with_operator().await;
    tokio::time::pause();
    let mut program = scene.operator().await;
    let mut link = scene.link();
    tell(&link, &[(7, Said::ToPeer(ToPeer::default()))]).await;
    assert!(matches!(program.said().await, Some((1, Said::ToPeer(_)))));
    program.ask(3, Asked::Report(Report::default())).await;
    program.ask(4, up(false)).await;
    assert!(matches!(program.said().await, Some((3, Said::Failure(_)))));
    assert_eq!(program.said().await, Some((4, done())));
    // What was said before is heard.
    assert!(link.said.recv().await.is_some());
    assert_eq!(link.said.recv().await, None);
    // It comes too late.
    tell(&link, &[(3, done())]).await;
    program.is_silent().await;
    assert!(!scene.is_free());
    program.ask(5, up(true)).await;
    assert_eq!(program.said().await, Some((5, done())));
    let mut second = scene.link();
    drop(link);
    tell(&second, &[(7, Said::ToPeer(ToPeer::default()))]).await;
    assert!(matches!(program.said().await, Some((2, Said::ToPeer(_)))));
    drop(program);
    assert_eq!(second.said.recv().await, None);
    assert!(second.told.is_closed());
}

#[actix::test]
async fn an_operator_is_bound_while_its_program_is_up() {
    let mut scene = Scene::with_operator().await;
    scene.start_ingest();
    tokio::time::pause();
    let session = scene.bind();
    scene.is_in(session, BindState::Waiting).await;
    let mut program = scene.operator().await;
    scene.is_in(session, BindState::Bound).await;
    assert!(!scene.is_free(), "the session has it");
    let nobody = Short {
        from: "447700900123".to_owned(),
        to: "nobody's".to_owned(),
        ..Short::default()
    };
    let from_peer = FromPeer {
        message: Some(nobody),
    };
    program.ask(3, Asked::FromPeer(from_peer)).await;
    match program.said().await {
        Some((3, Said::Failure(failure))) => {
            assert_eq!(failure.reason(), Reason::Refused);
            assert_ne!(failure.code, 0, "{failure:?}");
        }
        other => panic!("{other:?}"),
    }
    program.ask(4, up(false)).await;
    assert_eq!(program.said().await, Some((4, done())));
    scene.is_in(session, BindState::Waiting).await;
    program.ask(5, up(true)).await;
    assert_eq!(program.said().await, Some((5, done())));
    scene.is_in(session, BindState::Bound).await;
    drop(program);
    scene.is_in(session, BindState::Waiting).await;
    // On the way out it unbinds, and then the program is told.
    let mut program = scene.operator().await;
    scene.is_in(session, BindState::Bound).await;
    scene.drain();
    let (_, reason, _) = program.is_parted().await;
    assert_eq!(reason, Reason::Stopping);
    scene.all_are_gone().await;
}
