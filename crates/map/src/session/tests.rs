//! Sessions with a scripted network: an HLR and two serving nodes that speak through dialogues of their own.

mod handsets;
mod home;
mod hostile;
mod messages;
mod screening;
mod versions;

use std::collections::VecDeque;

use ahash::AHashMap;
use smsc_sigtran::SccpAddress;
use smsc_tcap::{
    AbortCause, ApplicationContext, Component, Invoke, PAbortCause, TcapConfig, TcapDialogues,
    TcapEvent,
};

use super::*;
use crate::context::SHORT_MSG_GATEWAY;
use crate::delivery_status::{InformServiceCentreArg, ReportDeliveryStatusArg};
use crate::forward::{ForwardSmArg, ForwardSmResult, SmRpDa, SmRpOa};
use crate::operation::MapOperationCode;
use crate::routing::{RoutingInfoArg, RoutingInfoResult};
use crate::user_error::MapUserError;

const CENTRE: &str = "491710760000";
const PHONE: &str = "4917612345678";
const OTHER: &str = "4917612349999";
const MSC: &str = "491720010";
const SGSN: &str = "491720099";
const IMSI: &str = "262011234567890";

/// What a node does with a message.
#[derive(Debug, Clone, PartialEq)]
enum NodeReply {
    Delivers,
    Reports(Bytes),
    Fails(MapUserError),
    Rejects,
    Aborts,
    EndsWithout,
    Nothing,
}

/// The HLR and the nodes.
struct Network {
    tcap: TcapDialogues,
    /// The latest versions that the HLR and the nodes understand.
    hlr_version: u8,
    node_version: u8,
    /// A version that is refused comes with one that is not.
    offers: bool,
    routing: Result<RoutingInfoResult, MapUserError>,
    informs: Option<InformServiceCentreArg>,
    hlr_is_silent: bool,
    /// What nodes do, by number, one after another; then they deliver.
    replies: AHashMap<String, VecDeque<NodeReply>>,
    /// Whose unitdata come back, with which cause.
    unreachable: AHashMap<String, u8>,
    /// What is sent to these is lost.
    lost: Vec<String>,
    /// By dialogue, the number of who was called, and its version.
    dialogues: AHashMap<DialogueId, (String, u8)>,
    /// Whom dialogues were begun with, in which context, and with how many components.
    begun: Vec<(String, Option<ApplicationContext>, usize)>,
    asked: Vec<RoutingInfoArg>,
    forwarded: Vec<(String, ForwardSmArg)>,
    reported: Vec<ReportDeliveryStatusArg>,
    /// Ends and aborts of the service centre.
    ended: usize,
    /// Answers to what this network has begun.
    answers: Vec<Component>,
    aborted: Vec<smsc_tcap::TcapAbort>,
}

/// A session and its network.
struct ScriptedNetwork {
    session: MapSession<u32>,
    network: Network,
    now: Instant,
    events: Vec<MapEvent<u32>>,
    /// How many unitdata the session has got.
    got: usize,
    /// Which of them is changed on its way, and which octets become what.
    tampers: Option<(usize, Vec<(usize, u8)>)>,
}

fn own() -> SccpAddress {
    SccpAddress::of_title(GlobalTitle::international(CENTRE, 0), ssn::MSC)
}

fn node_address(number: &str) -> SccpAddress {
    SccpAddress::of_title(GlobalTitle::international(number, 0), ssn::MSC)
}

fn at(node: ServingNode, number: &str) -> ServingAddress {
    let number = TpduAddress::international(number);
    ServingAddress { node, number }
}

fn absent(diagnostic: u8) -> MapUserError {
    MapUserError::AbsentSubscriberSm {
        diagnostic: Some(diagnostic),
        additional: None,
    }
}

fn failure(cause: u8) -> MapUserError {
    MapUserError::SmDeliveryFailure {
        cause: Some(cause),
        report: None,
    }
}

fn message(msisdn: &str, more: bool) -> MtForward {
    MtForward {
        msisdn: msisdn.to_owned(),
        imsi: None,
        tpdu: Bytes::from_static(&[0x04, 0x0B, 0x91, 0x13]),
        more,
        priority: false,
    }
}

// === impl Network ===

impl Network {
    fn new() -> Self {
        Self {
            tcap: TcapDialogues::new(TcapConfig::default()),
            hlr_version: 3,
            node_version: 3,
            offers: true,
            routing: Ok(RoutingInfoResult {
                imsi: IMSI.to_owned(),
                node: Some(at(ServingNode::Msc, MSC)),
                lmsi: None,
                additional: None,
                waiting_set: None,
            }),
            informs: None,
            hlr_is_silent: false,
            replies: AHashMap::new(),
            unreachable: AHashMap::new(),
            lost: Vec::new(),
            dialogues: AHashMap::new(),
            begun: Vec::new(),
            asked: Vec::new(),
            forwarded: Vec::new(),
            reported: Vec::new(),
            ended: 0,
            answers: Vec::new(),
            aborted: Vec::new(),
        }
    }

    /// The subscriber is at two nodes.
    fn at_both(&mut self) {
        if let Ok(routing) = &mut self.routing {
            routing.additional = Some(at(ServingNode::Sgsn, SGSN));
        }
    }

    fn replies(&mut self, node: &str, replies: impl IntoIterator<Item = NodeReply>) {
        self.replies
            .insert(node.to_owned(), replies.into_iter().collect());
    }

    fn on_event(&mut self, event: TcapEvent, now: Instant) {
        match event {
            TcapEvent::Begun {
                id,
                context,
                called,
                components,
                ..
            } => {
                let number = called.digits().unwrap_or_default().to_owned();
                self.begun.push((number.clone(), context, components.len()));
                self.on_begun(id, number, context, components, now);
            }
            TcapEvent::Proceeded { id, components, .. } => {
                self.on_components(id, components, false, now);
            }
            TcapEvent::Ended { id, components, .. } => {
                self.on_components(id, components, true, now);
            }
            TcapEvent::Aborted { why, .. } => {
                self.ended += 1;
                self.aborted.push(why);
            }
            TcapEvent::Returned { .. }
            | TcapEvent::TimedOut { .. }
            | TcapEvent::IdleEnded { .. } => {}
        }
    }

    fn on_begun(
        &mut self,
        id: DialogueId,
        number: String,
        context: Option<ApplicationContext>,
        components: Vec<Component>,
        now: Instant,
    ) {
        let is_hlr = ![MSC, SGSN].contains(&&number[..]);
        let latest = if is_hlr {
            self.hlr_version
        } else {
            self.node_version
        };
        let version = context.map_or(1, |context| context.version);
        if let Some(context) = context.filter(|context| context.version > latest) {
            let version = latest;
            let cause = if latest == 1 {
                AbortCause::Provider(PAbortCause::IncorrectTransactionPortion)
            } else {
                let alternative = ApplicationContext { version, ..context };
                AbortCause::ContextNotSupported {
                    alternative: self.offers.then_some(alternative),
                }
            };
            return self.tcap.abort(id, cause);
        }
        self.dialogues.insert(id, (number, version));
        if components.is_empty() {
            let _ = self.tcap.proceed(id, Vec::new(), now);
            return;
        }
        self.on_components(id, components, false, now);
    }

    fn on_components(
        &mut self,
        id: DialogueId,
        components: Vec<Component>,
        is_end: bool,
        now: Instant,
    ) {
        self.ended += usize::from(is_end);
        for component in components {
            match component {
                Component::Invoke(invoke) => self.on_invoke(id, &invoke, now),
                answer => self.answers.push(answer),
            }
        }
    }

    fn on_invoke(&mut self, id: DialogueId, invoke: &Invoke, now: Instant) {
        let (number, version) = self.dialogues[&id].clone();
        let version = MapVersion::of(version).unwrap();
        match MapOperationCode(invoke.operation) {
            MapOperationCode::SEND_ROUTING_INFO_FOR_SM => {
                let argument = RoutingInfoArg::decode(&invoke.parameter).unwrap();
                self.asked.push(argument);
                if self.hlr_is_silent {
                    return;
                }
                let mut components = vec![match &self.routing {
                    Ok(result) => {
                        let parameter = result.encode(version).unwrap();
                        Component::result(invoke.id, invoke.operation, parameter)
                    }
                    Err(error) => error_of(invoke.id, error, version),
                }];
                components.extend(self.informs.as_ref().map(|informed| {
                    Component::Invoke(Invoke {
                        id: 1,
                        operation: MapOperationCode::INFORM_SERVICE_CENTRE.0,
                        parameter: informed.encode(version).unwrap(),
                        timeout: Duration::ZERO,
                    })
                }));
                self.tcap.end(id, components);
            }
            MapOperationCode::MT_FORWARD_SM | MapOperationCode::FORWARD_SM => {
                assert_eq!(invoke.operation, version.mt_forward().0);
                let argument = ForwardSmArg::decode(&invoke.parameter).unwrap();
                self.forwarded.push((number.clone(), argument.clone()));
                let reply = self.replies.get_mut(&number).and_then(VecDeque::pop_front);
                let reply = reply.unwrap_or(NodeReply::Delivers);
                self.reply(id, invoke, version, &argument, reply, now);
            }
            MapOperationCode::REPORT_SM_DELIVERY_STATUS => {
                let argument = ReportDeliveryStatusArg::decode(&invoke.parameter);
                self.reported.push(argument.unwrap());
                let result = Component::result(invoke.id, invoke.operation, Bytes::new());
                self.tcap.end(id, vec![result]);
            }
            other => panic!("{other} was not expected"),
        }
    }

    fn reply(
        &mut self,
        id: DialogueId,
        invoke: &Invoke,
        version: MapVersion,
        argument: &ForwardSmArg,
        reply: NodeReply,
        now: Instant,
    ) {
        let result = |tpdu| {
            let result = ForwardSmResult { tpdu };
            let parameter = result.encode(version).unwrap();
            Component::result(invoke.id, invoke.operation, parameter)
        };
        let answer = match reply {
            NodeReply::Delivers => result(None),
            NodeReply::Reports(report) => result(Some(report)),
            NodeReply::Fails(error) => error_of(invoke.id, &error, version),
            NodeReply::Rejects => Component::Reject {
                id: Some(invoke.id),
                problem: smsc_tcap::RejectProblem::UNRECOGNIZED_OPERATION,
            },
            NodeReply::Aborts => return self.tcap.abort(id, AbortCause::User),
            NodeReply::EndsWithout => return self.tcap.end(id, Vec::new()),
            NodeReply::Nothing => return,
        };
        if argument.more {
            self.tcap.proceed(id, vec![answer], now).unwrap();
        } else {
            self.tcap.end(id, vec![answer]);
        }
    }
}

fn error_of(id: i8, error: &MapUserError, version: MapVersion) -> Component {
    Component::error(id, error.code(), error.encode(version).unwrap())
}

// === impl ScriptedNetwork ===

impl ScriptedNetwork {
    fn new() -> Self {
        Self::with(|_| {})
    }

    fn with(change: impl FnOnce(&mut MapSessionConfig)) -> Self {
        let mut config = MapSessionConfig::new(CENTRE, own());
        config.route_cache = Duration::ZERO;
        change(&mut config);
        let mut session = MapSession::new(config);
        session.set_ready(true);
        Self {
            session,
            network: Network::new(),
            now: Instant::now(),
            events: Vec::new(),
            got: 0,
            tampers: None,
        }
    }

    /// What becomes of unitdata on its way to the session.
    fn tampered(&mut self, data: Bytes) -> Bytes {
        self.got += 1;
        let Some((_, changes)) = (self.tampers.as_ref()).filter(|(which, _)| *which == self.got)
        else {
            return data;
        };
        let mut data = data.to_vec();
        for (at, octet) in changes {
            let at = at % data.len();
            data[at] = *octet;
        }
        data.into()
    }

    /// Moves unitdata until there is none.
    fn settle(&mut self) {
        loop {
            let mut moved = false;
            while let Some(request) = self.session.next_unitdata() {
                moved = true;
                let number = request.called.digits().unwrap_or_default();
                if self.network.lost.iter().any(|lost| lost == number) {
                    continue;
                }
                if let Some(cause) = self.network.unreachable.get(number) {
                    self.session.returned(*cause, &request.data, self.now);
                    continue;
                }
                (self.network.tcap).received(
                    request.called,
                    request.calling,
                    &request.data,
                    self.now,
                );
            }
            while let Some(event) = self.network.tcap.next_event() {
                moved = true;
                self.network.on_event(event, self.now);
            }
            while let Some(request) = self.network.tcap.next_unitdata() {
                moved = true;
                let unitdata = Unitdata {
                    called: request.called,
                    calling: request.calling,
                    data: self.tampered(request.data),
                };
                self.session.received(unitdata, self.now);
            }
            while let Some(event) = self.session.next_event() {
                moved = true;
                self.events.push(event);
            }
            if !moved {
                return;
            }
        }
    }

    fn send(&mut self, forward: MtForward, token: u32) {
        let sent = self.session.send(forward, token, self.now);
        assert_eq!(sent, Ok(()));
        self.settle();
    }

    fn wait(&mut self, time: Duration) {
        self.now += time;
        self.session.on_tick(self.now);
        self.network.tcap.on_tick(self.now);
        self.settle();
    }

    /// What has become of messages since the last time.
    fn outcomes(&mut self) -> Vec<(u32, MtOutcome)> {
        let mut outcomes = Vec::new();
        self.events.retain(|event| match event {
            MapEvent::Answer(token, outcome) => {
                outcomes.push((*token, outcome.clone()));
                false
            }
            _ => true,
        });
        outcomes
    }

    /// Sends one message without others, and tells what becomes of it.
    fn outcome_of(&mut self, msisdn: &str) -> MtOutcome {
        self.send(message(msisdn, false), 1);
        let mut outcomes = self.outcomes();
        assert_eq!(outcomes.len(), 1, "{outcomes:?}");
        outcomes.remove(0).1
    }

    /// The network begins a dialogue with the service centre.
    fn begins(
        &mut self,
        context: Option<ApplicationContext>,
        from: &str,
        components: Vec<Component>,
    ) -> DialogueId {
        let (tcap, now) = (&mut self.network.tcap, self.now);
        let begun = tcap.begin(context, own(), node_address(from), components, now);
        self.settle();
        begun.unwrap()
    }
}

fn delivered() -> MtOutcome {
    MtOutcome::Delivered {
        imsi: IMSI.to_owned(),
        report: None,
    }
}

fn failed(status: u32, of: FailedPart, was_sent: bool) -> MtOutcome {
    MtOutcome::Failed {
        status,
        of,
        report: None,
        was_sent,
    }
}

fn context_of(context: u8, version: u8) -> Option<ApplicationContext> {
    Some(ApplicationContext { context, version })
}

/// A message of a handset of ours, in version 3 with its IMSI.
fn submit() -> ForwardSmArg {
    ForwardSmArg {
        destination: SmRpDa::ServiceCentre(TpduAddress::international(CENTRE)),
        originator: SmRpOa::Msisdn(TpduAddress::international(PHONE)),
        tpdu: Bytes::from_static(&[0x01, 0x00, 0x0B]),
        more: false,
        imsi: Some(IMSI.to_owned()),
    }
}

fn invoke(operation: MapOperationCode, parameter: Bytes) -> Component {
    Component::Invoke(Invoke {
        id: 1,
        operation: operation.0,
        parameter,
        timeout: Duration::from_secs(30),
    })
}
