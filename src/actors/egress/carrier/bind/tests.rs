//! A bind at a gateway of SGIP, or of CMPP, that the test plays: groups, what was never sent, silence, sleep.

use std::time::Duration;

use super::*;
use crate::actors::context::binds::BindPort;
use crate::actors::egress::carrier::gateway::session_of_theirs;
use crate::actors::egress::carrier::sgip_of;
use crate::actors::egress::operator_event::OperatorEvent;
use crate::actors::session::bound::{BoundProtocol as _, Encode, LiveView};
use crate::actors::test_support::{TestNode, node_with};
use crate::cmpp::bodies::MessageResp;
use crate::cmpp::{self, Cmpp};
use crate::config::{OperatorConfig, OperatorProtocol};
use crate::pb::PduDialect;
use crate::pb::delivery::What;
use crate::sgip::bodies::ResultResp;
use crate::sgip::{Body, Pdu, Sequence, Sgip};
use crate::smpp::SubmitSm;

const SECOND: Duration = Duration::from_secs(1);
/// response_timeout, and enquire_link_interval, after which a bind without work sleeps.
const TIMEOUT: Duration = Duration::from_secs(10);
const IDLE: Duration = Duration::from_secs(60);
/// Results: taken, and a wrong number.
const OK: u8 = 0;
const WRONG: u8 = 6;

struct CarrierBindScene<G: Gateway> {
    node: TestNode,
    port: Arc<BindPort>,
    bind: CarrierBind<G>,
    gateway: carrier::Session<G, ()>,
    /// To the gateway, and from it.
    out: BytesMut,
    back: BytesMut,
    now: Instant,
}

impl CarrierBindScene<Sgip> {
    /// Bound, with one request at a time.
    async fn new() -> Self {
        let mut scene = Self::of(OperatorProtocol::Sgip, sgip_of).await;
        (scene.bind).bind(scene.now, BindType::Transmitter, &mut scene.out);
        scene.let_in();
        scene.is_bound();
        scene
    }

    fn let_in(&mut self) {
        let Some(carrier::Event::Login(login)) = self.read() else {
            panic!("no login");
        };
        let resp = Body::BindResp(ResultResp::default());
        (self.gateway)
            .answer_login(login.sequence, resp, self.now, &mut self.back)
            .expect("it fits");
    }

    fn request(&mut self) -> Option<Pdu> {
        match self.read() {
            Some(carrier::Event::Request(pdu)) => Some(pdu),
            None => None,
            other => panic!("{other:?}"),
        }
    }

    /// The next Submit: its sequence and its recipients.
    fn submit(&mut self) -> (Sequence, Vec<Bytes>) {
        assert!(self.event().is_none(), "all that was said is taken");
        let pdu = self.request().expect("a Submit");
        let Body::Submit(submit) = pdu.body else {
            panic!("{:?}", pdu.body);
        };
        (pdu.sequence, submit.user_number.0)
    }

    fn answer(&mut self, sequence: Sequence, result: u8) {
        let resp = Body::SubmitResp(ResultResp::of(result));
        (self.gateway)
            .answer(sequence, resp, &mut self.back)
            .expect("it fits");
    }
}

impl<G: Gateway> CarrierBindScene<G> {
    /// An operator with one request at a time, and its gateway, before the login.
    async fn of(kind: OperatorProtocol, protocol: impl FnOnce(&OperatorConfig) -> G) -> Self {
        let node = node_with(1, None, |config| {
            let up = &mut config.operator[0];
            up.protocol = kind;
            up.password = "secret".into();
            up.response_timeout = Some(TIMEOUT);
            up.enquire_link_interval = IDLE;
            up.carrier = Some(Carrier {
                // CMPP has none.
                node: (kind == OperatorProtocol::Sgip).then_some(1),
                requests: Some(1),
                ..Carrier::default()
            });
        })
        .await;
        let plan = node.context.plan().operator(node.operator).cloned();
        let plan = plan.expect("it is configured");
        let protocol = protocol(&plan.config);
        let now = Instant::now();
        Self {
            bind: CarrierBind::new(protocol, Arc::clone(&node.context), plan),
            port: BindPort::new(1, None),
            gateway: carrier::Session::server(session_of_theirs(IDLE), protocol, now),
            out: BytesMut::new(),
            back: BytesMut::new(),
            node,
            now,
        }
    }

    fn is_bound(&mut self) {
        let event = self.event();
        assert!(matches!(event, Some(BindEvent::BindResult(status)) if status.is_ok()));
    }

    /// What the gateway reads.
    fn read(&mut self) -> Option<carrier::Event<G::Sequence, G::Body, ()>> {
        self.gateway.receive(&self.out, self.now);
        self.out.clear();
        self.gateway.next_event(self.now, &mut self.back)
    }

    fn event(&mut self) -> Option<BindEvent> {
        let view = LiveView {
            node: &self.node.context,
            port: &self.port,
            dialect: PduDialect::Sgip,
        };
        let (back, out) = (&mut self.back, &mut self.out);
        let event = self.bind.next_event(back, self.now, out, view);
        match event.expect("SGIP has no such error")? {
            OperatorEvent::Bind(event) => Some(event),
            _ => panic!("that is SMPP's"),
        }
    }

    /// The id, the status, and whether it is late and never sent.
    fn answered(&mut self) -> (u64, CommandStatus, bool, bool) {
        match self.event() {
            Some(BindEvent::Answered(one)) => (one.context.id, one.status, one.late, one.unsent),
            _ => panic!("no answer"),
        }
    }

    fn send(&mut self, messages: &[(u64, &str, &str)]) {
        for (id, to, text) in messages {
            let context = InFlight {
                id: *id,
                attempt: 1,
                what: What::Message,
                message: None,
                receipt_expected: false,
                since: 0,
                traced: None,
            };
            let mut pdu = SubmitSm {
                destination_addr: (*to).to_owned().into(),
                short_message: (*text).to_owned().into(),
                ..SubmitSm::default()
            };
            let encode: Encode = |_, _, _| panic!("nothing here is SMPP");
            assert!((self.bind).send(self.now, context, encode, &mut pdu, &mut self.out));
        }
        self.bind.end_batch(self.now, &mut self.out);
    }

    /// So much later; what has expired meanwhile.
    fn later(&mut self, after: Duration) -> Vec<u64> {
        self.now += after;
        let tick = self.bind.on_tick(self.now, &mut self.out);
        tick.expired.iter().map(|one| one.id).collect()
    }
}

#[actix::test]
async fn a_refused_group_goes_one_by_one_and_each_has_one_answer() {
    let mut scene = CarrierBindScene::new().await;
    scene.send(&[(1, "1", "x"), (2, "2", "y"), (3, "3", "y"), (4, "4", "y")]);
    assert_eq!(scene.bind.in_flight(), 4);
    let (first, _) = scene.submit();
    assert!(scene.request().is_none(), "one request at a time");
    scene.answer(first, OK);
    assert_eq!(scene.answered(), (1, CommandStatus::ESME_ROK, false, false));
    let (group, numbers) = scene.submit();
    assert_eq!(numbers, ["2", "3", "4"]);
    scene.answer(group, WRONG);
    for (id, number, result) in [(2, "2", OK), (3, "3", WRONG), (4, "4", OK)] {
        if id == 2 {
            assert!(scene.event().is_none(), "nothing is settled yet");
        }
        let (sequence, numbers) = scene.submit();
        assert_eq!(numbers, [number]);
        scene.answer(sequence, result);
        let (answered, status, ..) = scene.answered();
        assert_eq!((answered, status.is_ok()), (id, result == OK));
    }
    assert_eq!(scene.bind.in_flight(), 0);
}

#[actix::test]
async fn what_was_never_sent_is_told_apart_from_what_was_lost() {
    let mut scene = CarrierBindScene::new().await;
    scene.send(&[(1, "1", "x"), (2, "2", "y")]);
    let unsent = scene.bind.last_answers();
    let unsent: Vec<u64> = unsent.iter().map(|one| one.context.id).collect();
    let lost = scene.bind.take_lost();
    let lost: Vec<u64> = lost.iter().map(|one| one.id).collect();
    assert_eq!((unsent, lost), (vec![2], vec![1]));
}

#[actix::test]
async fn what_waits_for_a_slow_gateway_goes_back_and_a_late_answer_is_told() {
    let mut scene = CarrierBindScene::new().await;
    scene.send(&[(1, "1", "x")]);
    let (first, _) = scene.submit();
    scene.now += SECOND;
    // It says something, but no answer.
    let other = Body::SubmitResp(ResultResp::default());
    let nobodys = Sequence {
        counter: u32::MAX,
        ..first
    };
    (scene.gateway)
        .answer(nobodys, other, &mut scene.back)
        .expect("it fits");
    assert!(scene.event().is_none());
    scene.send(&[(2, "2", "y")]);
    assert!(scene.later(TIMEOUT / 2).is_empty());
    let unsent = (2, CommandStatus::ESME_RMSGQFUL, false, true);
    assert_eq!(scene.answered(), unsent);
    assert_eq!(scene.later(TIMEOUT / 2), [1]);
    scene.answer(first, OK);
    assert_eq!(scene.answered(), (1, CommandStatus::ESME_ROK, true, false));
}

#[actix::test]
async fn what_a_gateway_falls_silent_on_is_lost_with_the_bind() {
    let mut scene = CarrierBindScene::new().await;
    scene.now += SECOND;
    scene.send(&[(1, "1", "x"), (2, "2", "y")]);
    assert!(scene.later(TIMEOUT + SECOND).is_empty());
    assert!(scene.event().is_none(), "it may still be there");
    assert!(scene.later(TIMEOUT).is_empty());
    let ended = scene.event();
    assert!(matches!(ended, Some(BindEvent::Ended(why)) if why == "it does not answer"));
    assert_eq!((scene.bind.room(), scene.bind.in_flight()), (0, 2));
}

#[actix::test]
async fn what_comes_after_a_cut_waits_for_another_connection() {
    let mut scene = CarrierBindScene::new().await;
    assert!(scene.bind.sleep(), "it has no work");
    scene.send(&[(1, "1", "x")]);
    assert!(scene.out.is_empty() && scene.bind.wants_connection());
    assert_eq!(scene.bind.in_flight(), 1);
}

#[actix::test]
async fn a_gateway_that_speaks_again_is_sent_nothing_overdue() {
    let mut scene = CarrierBindScene::new().await;
    scene.now += SECOND;
    scene.send(&[(1, "1", "x"), (2, "2", "y")]);
    let (first, _) = scene.submit();
    assert!(scene.later(TIMEOUT + SECOND).is_empty());
    scene.answer(first, OK);
    let (one, two) = (scene.answered(), scene.answered());
    let mut both = [(one.0, one.3), (two.0, two.3)];
    both.sort_unstable();
    assert_eq!(both, [(1, false), (2, true)]);
    assert!(scene.event().is_none() && scene.request().is_none());
}

#[actix::test]
async fn a_bind_without_work_sleeps_and_wakes() {
    let mut scene = CarrierBindScene::new().await;
    scene.later(IDLE + SECOND);
    let read = scene.read();
    assert_eq!(read, Some(carrier::Event::Closed(Closed::ByPeer)));
    // What comes before the response is kept.
    scene.send(&[(1, "1", "x")]);
    assert!(matches!(scene.event(), Some(BindEvent::Asleep)));
    assert!(scene.bind.sleep() && scene.bind.wants_connection());
    assert_eq!(
        scene.bind.state(),
        SessionState::Bound(BindType::Transmitter)
    );
    let protocol = scene.gateway.protocol;
    scene.gateway = carrier::Session::server(session_of_theirs(IDLE), protocol, scene.now);
    scene.bind.wake(scene.now, &mut scene.out);
    scene.let_in();
    assert!(
        scene.event().is_none(),
        "the session knows that it is bound"
    );
    assert_eq!(scene.submit().1, ["1"]);
}

#[actix::test]
async fn what_goes_alone_is_sent_at_once_unless_it_has_expired() {
    let mut scene = CarrierBindScene::of(OperatorProtocol::Cmpp, |_| Cmpp::V20).await;
    (scene.bind).bind(scene.now, BindType::Transceiver, &mut scene.out);
    let Some(carrier::Event::Login(login)) = scene.read() else {
        panic!("no login");
    };
    let cmpp::Body::Connect(connect) = &login.body else {
        panic!("{:?}", login.body);
    };
    let resp = Cmpp::V20.connect_resp(connect, b"secret", cmpp::status::OK);
    (scene.gateway)
        .answer_login(login.sequence, resp, scene.now, &mut scene.back)
        .expect("it fits");
    scene.is_bound();

    let encode: Encode = |_, _, _| panic!("nothing here is SMPP");
    let submit = |scene: &mut CarrierBindScene<Cmpp>, id, validity: &'static str| {
        let context = InFlight {
            id,
            ..InFlight::default()
        };
        let mut pdu = SubmitSm {
            destination_addr: "13800138000".into(),
            validity_period: validity.into(),
            ..SubmitSm::default()
        };
        assert!((scene.bind).send(scene.now, context, encode, &mut pdu, &mut scene.out));
    };
    submit(&mut scene, 1, "");
    let Some(carrier::Event::Request(first)) = scene.read() else {
        panic!("it waits for nobody");
    };
    // The one request is under way.
    submit(&mut scene, 2, "200101000000000+");
    submit(&mut scene, 3, "");
    scene.bind.end_batch(scene.now, &mut scene.out);
    assert!(scene.read().is_none());
    let answer = cmpp::Body::SubmitResp(MessageResp {
        msg_id: 7,
        ..MessageResp::default()
    });
    (scene.gateway)
        .answer(first.sequence, answer, &mut scene.back)
        .expect("it fits");
    let (id, status, ..) = scene.answered();
    assert_eq!((id, status), (1, CommandStatus::ESME_ROK));
    assert!(scene.event().is_some_and(|event| {
        matches!(event, BindEvent::Answered(two) if two.context.id == 2 && two.unsent)
    }));
    assert!(matches!(scene.read(), Some(carrier::Event::Request(_))));
}
