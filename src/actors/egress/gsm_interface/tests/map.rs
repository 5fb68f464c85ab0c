//! The interface between a real queue and a signalling network that the test plays: gateways in memory, and behind each of
//! them an HLR, an MSC and an SGSN in one.

mod firewall;
mod home_routing;
mod outages;

use std::collections::HashMap;

use super::*;
use crate::actors::egress::gsm_interface::map::transport::pipes;
use crate::config::{GatewayTransport, Gsm, GsmProtocol, MapConfig, MapGateway, MapTrafficMode};
use crate::map::context::{SHORT_MSG_ALERT, SHORT_MSG_MO_RELAY};
use crate::map::user_error::MapUserError;
use crate::map::{
    AlertServiceCentreArg, ForwardSmArg, MapOperationCode, MapVersion, RoutingInfoArg,
    RoutingInfoResult, ServingAddress, ServingNode, SmRpDa, SmRpOa,
};
use crate::pb::{GatewayState, MessageState};
use crate::sigtran::m3ua::{SERVICE_SCCP, tag};
use crate::sigtran::{
    GlobalTitle, M3uaKind, M3uaMessage, PointCode, ProtocolData, SccpAddress, SccpMessage,
    next_m3ua,
};
use crate::sms::tpdu::TpduAddress;
use crate::tcap::{
    ApplicationContext, Component, DialogueId, Invoke, TcapConfig, TcapDialogues, TcapEvent,
};

/// Two gateways that no network has.
const STP_A: &str = "127.0.0.1:9";
const STP_B: &str = "127.0.0.1:10";
/// Point codes: ours is 1.2.3, that of whatever is behind the gateways 1.2.1.
const OWN: PointCode = PointCode(0x0813);
const NETWORK: PointCode = PointCode(0x0811);
const SMSC: &str = "49160000";
const HLR: &str = "49161111";
const MSC: &str = "49162222";
const NUMBER_A: &str = "49160000001";
const NUMBER_B: &str = "49160000002";
/// An SMS-SUBMIT (3GPP TS 23.040 §9.2.2.2).
const SUBMIT: &[u8] =
    b"\x11\x00\x0b\x91\x64\x07\x28\x15\x53\xf8\x00\x00\xaa\x0a\xe8\x32\x9b\xfd\x46\x97\xd9\xec\x37";

/// The other end of the connection to a gateway, and the network behind it.
struct Stp {
    pipe: DuplexStream,
    octets: BytesMut,
    dialogues: TcapDialogues,
    /// To whom each dialogue delivers.
    imsis: HashMap<DialogueId, String>,
    /// How often an HLR was asked, and told of a delivery.
    asked: usize,
    told: usize,
}

/// What the network is asked.
#[derive(Debug)]
struct AskedQuestion {
    dialogue: DialogueId,
    invoke: i8,
    question: Question,
}

#[derive(Debug, PartialEq)]
enum Question {
    /// Where a number is.
    Where(String),
    /// To deliver a message, to the subscriber with this IMSI.
    Deliver { imsi: String, id: u64, more: bool },
}

/// The IMSI of a number.
fn imsi_of(number: &str) -> String {
    format!("00101{}", &number[number.len() - 10..])
}

fn address(digits: &str, ssn: u8) -> SccpAddress {
    SccpAddress::of_title(GlobalTitle::international(digits, 0), ssn)
}

fn now() -> std::time::Instant {
    Instant::now().into_std()
}

// === impl Stp ===

impl Stp {
    /// The next connection that the interface makes to this gateway.
    fn next(gateway: &str) -> Self {
        let (near, pipe) = duplex(64 * 1024);
        pipes::add(gateway, near);
        Self {
            pipe,
            octets: BytesMut::new(),
            dialogues: TcapDialogues::new(TcapConfig::default()),
            imsis: HashMap::new(),
            asked: 0,
            told: 0,
        }
    }

    /// The same network behind the next connection.
    fn anew(self, gateway: &str) -> Self {
        Self {
            dialogues: self.dialogues,
            imsis: self.imsis,
            ..Self::next(gateway)
        }
    }

    async fn message(&mut self) -> M3uaMessage {
        for _ in 0..30_000 {
            if let Some(message) = next_m3ua(&mut self.octets).expect("M3UA") {
                return M3uaMessage::decode(&message).expect("it can be read");
            }
            // A paused clock runs ahead of the store, which the next message may wait for.
            let octets = self.pipe.read_buf(&mut self.octets);
            match tokio::time::timeout(STEP, octets).await {
                Ok(count) => assert!(count.expect("open") > 0, "the interface has hung up"),
                Err(_) => test_support::give_way(),
            }
        }
        panic!("the interface sends nothing");
    }

    async fn write(&mut self, message: M3uaMessage) {
        let octets = message.encode().expect("short");
        self.pipe.write_all(&octets).await.expect("open");
    }

    /// Takes the interface, and its traffic, until it sends some.
    async fn data(&mut self) -> SccpMessage {
        loop {
            let message = self.message().await;
            let answer = match message.kind {
                M3uaKind::ASPUP => M3uaKind::ASPUP_ACK,
                M3uaKind::ASPAC => M3uaKind::ASPAC_ACK,
                M3uaKind::ASPIA => M3uaKind::ASPIA_ACK,
                M3uaKind::BEAT => M3uaKind::BEAT_ACK,
                M3uaKind::DATA => {
                    let value = &message.parameter(tag::PROTOCOL_DATA).expect("data").value;
                    let data = ProtocolData::of_value(value).expect("a label");
                    assert_eq!((data.originating, data.destination), (OWN, NETWORK));
                    return SccpMessage::decode(&data.data).expect("SCCP");
                }
                _ => continue,
            };
            let parameters = message.parameters;
            self.write(M3uaMessage {
                kind: answer,
                parameters,
            })
            .await;
        }
    }

    /// Sends what the dialogues have to send.
    async fn flush(&mut self) {
        while let Some(unitdata) = self.dialogues.next_unitdata() {
            let message = SccpMessage::unitdata(unitdata.called, unitdata.calling, unitdata.data);
            let data = ProtocolData {
                originating: NETWORK,
                destination: OWN,
                service: SERVICE_SCCP,
                network_indicator: 0,
                priority: 0,
                selection: 0,
                data: message.encode().expect("short"),
            };
            let message = M3uaMessage::new(M3uaKind::DATA).with(data.to_parameter());
            self.write(message).await;
        }
    }

    async fn event(&mut self) -> TcapEvent {
        loop {
            if let Some(event) = self.dialogues.next_event() {
                return event;
            }
            let message = self.data().await;
            let SccpMessage {
                called,
                calling,
                data,
                ..
            } = message;
            self.dialogues.received(called, calling, &data, now());
            self.flush().await;
        }
    }

    /// The next question of either kind; reports are taken.
    async fn question(&mut self) -> AskedQuestion {
        loop {
            let (dialogue, components) = match self.event().await {
                TcapEvent::Begun { id, components, .. } => (id, components),
                TcapEvent::Proceeded { id, components, .. } => (id, components),
                _ => continue,
            };
            if components.is_empty() {
                // An empty begin.
                self.dialogues
                    .proceed(dialogue, Vec::new(), now())
                    .expect("open");
                self.flush().await;
            }
            for component in components {
                let Component::Invoke(invoke) = component else {
                    panic!("{component:?}");
                };
                if let Some(question) = self.read(dialogue, &invoke).await {
                    return AskedQuestion {
                        dialogue,
                        invoke: invoke.id,
                        question,
                    };
                }
            }
        }
    }

    async fn read(&mut self, dialogue: DialogueId, invoke: &Invoke) -> Option<Question> {
        match MapOperationCode(invoke.operation) {
            MapOperationCode::SEND_ROUTING_INFO_FOR_SM => {
                self.asked += 1;
                let argument = RoutingInfoArg::decode(&invoke.parameter).expect("a question");
                assert_eq!(argument.service_centre.text, SMSC);
                Some(Question::Where(argument.msisdn.text))
            }
            MapOperationCode::MT_FORWARD_SM => {
                let argument = ForwardSmArg::decode(&invoke.parameter).expect("a message");
                let imsi = match argument.destination {
                    SmRpDa::Imsi(imsi) => imsi,
                    // The next one of a run: it is the subscriber of its dialogue.
                    SmRpDa::Absent => self.imsis[&dialogue].clone(),
                    other => panic!("{other:?}"),
                };
                self.imsis.insert(dialogue, imsi.clone());
                Some(Question::Deliver {
                    imsi,
                    id: id_in(&argument.tpdu),
                    more: argument.more,
                })
            }
            MapOperationCode::REPORT_SM_DELIVERY_STATUS => {
                self.told += 1;
                let result = Component::result(invoke.id, invoke.operation, Bytes::new());
                self.dialogues.end(dialogue, vec![result]);
                self.flush().await;
                None
            }
            other => panic!("{other}"),
        }
    }

    /// The next message to a handset; where it is, is said.
    async fn delivery(&mut self) -> AskedQuestion {
        loop {
            let asked = self.question().await;
            match &asked.question {
                Question::Where(number) => {
                    let number = number.clone();
                    self.found(&asked, &number).await;
                }
                Question::Deliver { .. } => return asked,
            }
        }
    }

    /// The gateway says whether what is behind it can be reached.
    async fn says_of_network(&mut self, kind: M3uaKind) {
        let affected = u32::to_be_bytes(NETWORK.0).to_vec();
        let affected = crate::sigtran::M3uaParameter::new(tag::AFFECTED_POINT_CODE, affected);
        self.write(M3uaMessage::new(kind).with(affected)).await;
    }

    async fn expect_nothing(&mut self) {
        let more = tokio::time::timeout(MOMENT, self.question()).await;
        assert!(more.is_err(), "{more:?}");
    }

    /// The HLR knows where a number is.
    async fn found(&mut self, asked: &AskedQuestion, number: &str) {
        let result = RoutingInfoResult {
            imsi: imsi_of(number),
            node: Some(ServingAddress {
                node: ServingNode::Msc,
                number: TpduAddress::international(MSC),
            }),
            lmsi: None,
            additional: None,
            waiting_set: None,
        };
        let parameter = result.encode(MapVersion::V3).expect("it can be written");
        let operation = MapOperationCode::SEND_ROUTING_INFO_FOR_SM.0;
        let result = Component::result(asked.invoke, operation, parameter);
        self.dialogues.end(asked.dialogue, vec![result]);
        self.flush().await;
    }

    /// The handset has it.
    async fn take(&mut self, asked: &AskedQuestion) {
        let operation = MapOperationCode::MT_FORWARD_SM.0;
        let result = vec![Component::result(asked.invoke, operation, Bytes::new())];
        match asked.question {
            Question::Deliver { more: true, .. } => {
                self.dialogues
                    .proceed(asked.dialogue, result, now())
                    .expect("open");
            }
            _ => self.dialogues.end(asked.dialogue, result),
        }
        self.flush().await;
    }

    /// The network refuses with an error of MAP.
    async fn refuse(&mut self, asked: &AskedQuestion, error: &MapUserError) {
        let parameter = error.encode(MapVersion::V3).expect("it can be written");
        let error = Component::error(asked.invoke, error.code(), parameter);
        self.dialogues.end(asked.dialogue, vec![error]);
        self.flush().await;
    }

    /// Begins a dialogue, and gives the answer.
    async fn ask(
        &mut self,
        context: u8,
        version: u8,
        from: SccpAddress,
        invoke: Invoke,
    ) -> Component {
        let dialogue = self.begin(context, version, from, invoke).await;
        self.answer_in(dialogue).await
    }

    async fn begin(
        &mut self,
        context: u8,
        version: u8,
        from: SccpAddress,
        invoke: Invoke,
    ) -> DialogueId {
        let context = Some(ApplicationContext { context, version });
        let components = vec![Component::Invoke(invoke)];
        let begun = self
            .dialogues
            .begin(context, address(SMSC, 8), from, components, now());
        self.flush().await;
        begun.expect("there is room")
    }

    /// The answer in a dialogue that was begun.
    async fn answer_in(&mut self, dialogue: DialogueId) -> Component {
        loop {
            match self.event().await {
                TcapEvent::Ended {
                    id, mut components, ..
                } if id == dialogue => {
                    return components.pop().expect("an answer");
                }
                TcapEvent::Aborted { id, why } if id == dialogue => panic!("{why:?}"),
                _ => {}
            }
        }
    }

    /// The HLR says that a number is there again.
    async fn alert(&mut self, number: &str) {
        let argument = AlertServiceCentreArg {
            msisdn: TpduAddress::international(number),
            service_centre: TpduAddress::international(SMSC),
        };
        let invoke = Invoke {
            id: 1,
            operation: MapOperationCode::ALERT_SERVICE_CENTRE.0,
            parameter: argument.encode().expect("it can be written"),
            timeout: HOUR,
        };
        let answer = self.ask(SHORT_MSG_ALERT, 2, address(HLR, 6), invoke).await;
        assert!(matches!(answer, Component::Result { .. }), "{answer:?}");
    }

    /// What a handset is answered.
    async fn submit(&mut self, number: &str) -> Component {
        let argument = ForwardSmArg {
            destination: SmRpDa::ServiceCentre(TpduAddress::international(SMSC)),
            originator: SmRpOa::Msisdn(TpduAddress::international(number)),
            tpdu: Bytes::from_static(SUBMIT),
            more: false,
            imsi: Some(imsi_of(number)),
        };
        let invoke = Invoke {
            id: 1,
            operation: MapOperationCode::FORWARD_SM.0,
            parameter: argument.encode(MapVersion::V3).expect("it can be written"),
            timeout: HOUR,
        };
        self.ask(SHORT_MSG_MO_RELAY, 3, address(MSC, 8), invoke)
            .await
    }
}

// === impl AskedQuestion ===

impl AskedQuestion {
    /// The id of a message to a handset, and whether others follow.
    fn delivers(&self) -> (u64, bool) {
        match self.question {
            Question::Deliver { id, more, .. } => (id, more),
            Question::Where(_) => panic!("{self:?}"),
        }
    }

    fn id(&self) -> u64 {
        self.delivers().0
    }
}

/// A node with the network `home` behind these gateways.
async fn over(gateways: &[&str], adapt: impl FnOnce(&mut MapConfig)) -> Fixture {
    over_and(gateways, adapt, |_| {}).await
}

/// A node with this network behind one gateway, which is connected next.
async fn through_one(adapt: impl FnOnce(&mut MapConfig)) -> (Stp, Fixture) {
    let stp = Stp::next(STP_A);
    (stp, over(&[STP_A], adapt).await)
}

/// A node whose interface to such a network is bound.
async fn bound() -> (Stp, Fixture) {
    let (mut stp, fixture) = through_one(|_| {}).await;
    stp.expect_nothing().await;
    fixture.stands(BindState::Bound).await;
    (stp, fixture)
}

/// A node with the network `home` behind these gateways, with other settings of the network.
async fn over_and(
    gateways: &[&str],
    adapt: impl FnOnce(&mut MapConfig),
    adapt_home: impl FnOnce(&mut Gsm),
) -> Fixture {
    let gateways = gateways.iter().map(|address| MapGateway {
        address: (*address).to_owned(),
        transport: GatewayTransport::Tcp,
        ..MapGateway::default()
    });
    let mut map = MapConfig {
        gateways: gateways.collect(),
        point_code: Some("1.2.3".to_owned()),
        destination: "1.2.1".to_owned(),
        beat_interval: Duration::ZERO,
        ..MapConfig::default()
    };
    adapt(&mut map);
    fixture_with(true, |home| {
        home.protocol = GsmProtocol::Map;
        home.address = String::new();
        // Those of GSUP mean nothing here.
        home.ping_interval = Gsm::default().ping_interval;
        home.ping_timeout = Gsm::default().ping_timeout;
        home.window = 10;
        home.reconnect = vec![MOMENT];
        home.map = Some(map);
        adapt_home(home);
    })
    .await
}

impl Fixture {
    async fn accept_to(&self, numbers: &[&str]) -> Vec<u64> {
        let to: Vec<(&str, &str)> = numbers.iter().map(|number| (*number, "")).collect();
        self.accept_all(24 * HOUR, &to).await
    }

    fn interface(&self) -> BindSnapshot {
        let binds = self.node.context.binds.all();
        let bind = binds.first().expect("an interface");
        bind.snapshot.get().as_ref().clone()
    }

    async fn gateways_are(&self, states: &[GatewayState]) {
        until(&format!("{states:?}"), || {
            let shown = self.interface().gateways;
            let found: Vec<GatewayState> = shown.iter().map(|gateway| gateway.state()).collect();
            found == states
        })
        .await;
    }

    async fn stands(&self, state: BindState) {
        until(&format!("{state:?}"), || self.interface().state() == state).await;
    }

    /// Waits until a message has ended, and gives its state.
    async fn end_of(&self, id: u64) -> MessageState {
        loop {
            match self.state_of(id).await {
                Some(state) => return state,
                None => test_support::give_way(),
            }
        }
    }

    async fn state_of(&self, id: u64) -> Option<MessageState> {
        let stored = self.node.context.store.load(vec![id]).await;
        let stored = stored.expect("it is there").remove(0).expect("it is there");
        stored.fin.map(|fin| fin.state)
    }
}

const ABSENT: MapUserError = MapUserError::AbsentSubscriberSm {
    diagnostic: Some(1),
    additional: None,
};

#[actix::test]
async fn a_run_goes_in_one_dialogue_after_one_question_and_others_go_on() {
    let (mut stp, fixture) = through_one(|_| {}).await;
    let ids = fixture.accept_to(&[NUMBER_A, NUMBER_A, NUMBER_B]).await;
    let first = stp.delivery().await;
    let other = stp.delivery().await;
    assert_eq!(first.delivers(), (ids[0], true));
    assert_eq!(
        other.question,
        Question::Deliver {
            imsi: imsi_of(NUMBER_B),
            id: ids[2],
            more: false
        }
    );
    stp.expect_nothing().await;
    stp.take(&first).await;
    let second = stp.delivery().await;
    assert_eq!(second.delivers(), (ids[1], false));
    assert_eq!(second.dialogue, first.dialogue);
    stp.take(&second).await;
    stp.take(&other).await;
    fixture.empty().await;
    assert_eq!((stp.asked, stp.told), (2, 0));
    let shown = fixture.interface();
    assert_eq!(
        (shown.state(), &*shown.bind_type),
        (BindState::Bound, "map")
    );
    fixture.gateways_are(&[GatewayState::Active]).await;
    until("three to be counted", || {
        fixture.interface().sent_total == 3
    })
    .await;
}

#[actix::test]
async fn who_is_absent_waits_with_its_line_until_the_hlr_says_it_is_there() {
    let (mut stp, fixture) = through_one(|_| {}).await;
    let ids = fixture.accept_to(&[NUMBER_A, NUMBER_A, NUMBER_B]).await;
    let first = stp.delivery().await;
    stp.refuse(&first, &ABSENT).await;
    let other = stp.delivery().await;
    assert_eq!(other.id(), ids[2]);
    stp.take(&other).await;
    fixture.scheduled(2).await;
    stp.expect_nothing().await;
    assert_eq!(stp.told, 1, "the HLR is to say when it is there");
    stp.alert(NUMBER_A).await;
    for id in &ids[..2] {
        let again = stp.delivery().await;
        assert_eq!(again.id(), *id);
        stp.take(&again).await;
    }
    fixture.empty().await;
}

#[actix::test]
async fn what_has_an_imsi_is_found_by_the_number_of_an_alert() {
    const EQUIPMENT_PROTOCOL_ERROR: u8 = 1;
    let (mut stp, fixture) = through_one(|_| {}).await;
    // As after a failover from a network over GSUP.
    let imsi = imsi_of(NUMBER_A);
    let ids = fixture.accept_all(24 * HOUR, &[(NUMBER_A, &imsi)]).await;
    let first = stp.delivery().await;
    let error = MapUserError::SmDeliveryFailure {
        cause: Some(EQUIPMENT_PROTOCOL_ERROR),
        report: None,
    };
    stp.refuse(&first, &error).await;
    fixture.scheduled(1).await;
    // The interface itself does not remember who was not absent: the queue finds it.
    let began = Instant::now();
    stp.alert(NUMBER_A).await;
    let again = stp.delivery().await;
    assert_eq!(again.id(), ids[0]);
    // Long before it is due.
    assert!(began.elapsed() < HOUR / 2, "{:?}", began.elapsed());
    stp.take(&again).await;
    fixture.empty().await;
}

#[actix::test]
async fn an_unknown_number_ends_what_waits_for_it() {
    let (mut stp, fixture) = through_one(|_| {}).await;
    let ids = fixture.accept_to(&[NUMBER_A, NUMBER_A, NUMBER_B]).await;
    let unknown = MapUserError::Other(MapUserError::UNKNOWN_SUBSCRIBER);
    let first = stp.question().await;
    assert_eq!(first.question, Question::Where(NUMBER_A.to_owned()));
    stp.refuse(&first, &unknown).await;
    let other = stp.delivery().await;
    stp.take(&other).await;
    fixture.empty().await;
    assert_eq!(stp.asked, 2, "once for each number");
    for id in &ids[..2] {
        assert_eq!(fixture.end_of(*id).await, MessageState::Undeliverable);
    }
}

#[actix::test]
async fn an_hlr_that_says_nothing_holds_the_line_up() {
    let (mut stp, fixture) = through_one(|map| map.timer_medium = MOMENT).await;
    fixture.accept_to(&[NUMBER_A, NUMBER_A]).await;
    let asked = stp.question().await;
    assert_eq!(asked.question, Question::Where(NUMBER_A.to_owned()));
    fixture.scheduled(2).await;
    stp.expect_nothing().await;
    assert_eq!(stp.asked, 1);
}

#[actix::test]
async fn after_a_message_that_is_refused_for_good_the_next_one_is_tried() {
    const INCOMPATIBLE_TERMINAL: u8 = 28;
    let (mut stp, fixture) = through_one(|_| {}).await;
    let ids = fixture.accept_to(&[NUMBER_A, NUMBER_A]).await;
    let first = stp.delivery().await;
    stp.refuse(&first, &MapUserError::Other(INCOMPATIBLE_TERMINAL))
        .await;
    let second = stp.delivery().await;
    assert_eq!(second.id(), ids[1]);
    stp.take(&second).await;
    fixture.empty().await;
    assert_eq!(fixture.end_of(ids[0]).await, MessageState::Undeliverable);
}

#[actix::test]
async fn a_gateway_that_is_lost_costs_nothing_while_there_is_another() {
    let (mut first, mut second) = (Stp::next(STP_A), Stp::next(STP_B));
    let by_turns = |map: &mut MapConfig| map.traffic_mode = MapTrafficMode::Override;
    let fixture = over(&[STP_A, STP_B], by_turns).await;
    first.expect_nothing().await;
    second.expect_nothing().await;
    let ids = fixture.accept_to(&[NUMBER_A]).await;
    let asked = first.delivery().await;
    assert_eq!(asked.id(), ids[0]);
    first.take(&asked).await;
    fixture.empty().await;
    fixture
        .gateways_are(&[GatewayState::Active, GatewayState::Standby])
        .await;
    drop(first);
    // What is written to it before that is seen would be lost with it.
    until("the end of the first one to be seen", || {
        fixture.interface().gateways[0].state() != GatewayState::Active
    })
    .await;
    let ids = fixture.accept_to(&[NUMBER_B]).await;
    let asked = second.delivery().await;
    assert_eq!(asked.id(), ids[0]);
    second.take(&asked).await;
    fixture.empty().await;
    until("the other one to be active", || {
        let shown = fixture.interface();
        shown.gateways[1].state() == GatewayState::Active
    })
    .await;
    let shown = fixture.interface();
    assert_eq!(shown.state(), BindState::Bound);
    assert!(!shown.gateways[0].last_error.is_empty(), "{shown:?}");
}

#[actix::test]
async fn a_handset_without_an_account_is_refused_in_the_words_of_map() {
    /// SM-EnumeratedDeliveryFailureCause (3GPP TS 29.002 §17.7.6).
    const NOT_SC_SUBSCRIBER: u8 = 6;
    let (mut stp, fixture) = through_one(|_| {}).await;
    stp.expect_nothing().await;
    let answer = stp.submit(NUMBER_A).await;
    let Component::Error {
        code, parameter, ..
    } = answer
    else {
        panic!("{answer:?}");
    };
    let MapUserError::SmDeliveryFailure { cause, .. } = MapUserError::decode(code, &parameter)
    else {
        panic!("error {code}");
    };
    assert_eq!(cause, Some(NOT_SC_SUBSCRIBER));
    until("it to be counted", || {
        let counted = fixture.interface().submissions;
        counted.iter().any(|one| (one.result, one.count) == (50, 1))
    })
    .await;
}

#[actix::test]
async fn what_is_no_international_number_is_not_asked_for() {
    let (mut stp, fixture) = through_one(|_| {}).await;
    let ids = fixture.accept_to(&["ACME", "4916000000012345"]).await;
    stp.expect_nothing().await;
    fixture.empty().await;
    assert_eq!(stp.asked, 0);
    for id in ids {
        assert_eq!(fixture.end_of(id).await, MessageState::Undeliverable);
    }
}

#[actix::test]
async fn a_message_that_is_refused_for_now_holds_up_no_other_of_its_run() {
    const EQUIPMENT_PROTOCOL_ERROR: u8 = 1;
    let (mut stp, fixture) = through_one(|_| {}).await;
    let ids = fixture.accept_to(&[NUMBER_A, NUMBER_A]).await;
    let first = stp.delivery().await;
    let error = MapUserError::SmDeliveryFailure {
        cause: Some(EQUIPMENT_PROTOCOL_ERROR),
        report: None,
    };
    stp.refuse(&first, &error).await;
    let second = stp.delivery().await;
    assert_eq!(second.id(), ids[1]);
    stp.take(&second).await;
    fixture.scheduled(1).await;
    assert_eq!(fixture.state_of(ids[0]).await, None);
}

#[actix::test]
async fn nobody_passes_a_message_that_may_have_arrived() {
    let (mut stp, fixture) = through_one(|map| map.timer_long = MOMENT).await;
    let ids = fixture.accept_to(&[NUMBER_A, NUMBER_A]).await;
    let first = stp.delivery().await;
    assert_eq!(first.id(), ids[0]);
    fixture.scheduled(2).await;
    stp.expect_nothing().await;
}

#[actix::test]
async fn more_subscribers_than_dialogues_take_turns() {
    let (mut stp, fixture) = through_one(|map| map.max_dialogues = 1).await;
    let ids = fixture.accept_to(&[NUMBER_A, NUMBER_B]).await;
    for id in ids {
        let asked = stp.delivery().await;
        assert_eq!(asked.id(), id);
        stp.expect_nothing().await;
        stp.take(&asked).await;
    }
    fixture.empty().await;
}
