//! What comes back for a message: what HLR and serving node answer, and how a dialogue ends without an answer.
//!
//! Called by the session with a run that it has taken out; each path keeps it, or tells what became of its message.
//! 3GPP TS 29.002 §23.3.2; TS 23.040 §10: of two serving nodes the other one is tried when the first one cannot bring
//! the message, unless the handset itself has refused it, or may have it.

use std::time::Instant;

use bytes::Bytes;
use smsc_domain::gsm_result::map;
use smsc_tcap::{
    Component, ComponentKind, DialogueId, Invoke, PAbortCause, RejectProblem, TcapAbort,
};

use super::run::{MtRun, RunDialogue, RunStep};
use super::{Broken, DialogueOwner, FailedPart, MapEvent, MapSession, MtOutcome};
use crate::context::{self, MapVersion, SHORT_MSG_GATEWAY, SHORT_MSG_MT_RELAY};
use crate::delivery_status::{InformServiceCentreArg, SmDeliveryOutcome};
use crate::forward::ForwardSmResult;
use crate::operation::MapOperationCode;
use crate::routing::{RoutingInfoResult, ServingNode};
use crate::session::route::SubscriberRoute;
use crate::user_error::MapUserError;

/// What a serving node has said, or why it has not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct NodeFailure {
    pub(super) node: ServingNode,
    pub(super) status: u32,
    /// What the HLR is to be told.
    pub(super) noted: Option<(SmDeliveryOutcome, Option<u8>)>,
    /// The report of the handset.
    pub(super) report: Option<Bytes>,
    /// Nobody has said that it did not arrive.
    pub(super) may_have_arrived: bool,
    /// The other node may do better.
    tries_other: bool,
}

// === impl NodeFailure ===

impl NodeFailure {
    /// The node has answered by an error.
    fn of_error(node: ServingNode, error: MapUserError) -> Self {
        let is_absence = error.is_absence();
        let noted = match &error {
            MapUserError::AbsentSubscriberSm { diagnostic, .. } => {
                Some((SmDeliveryOutcome::AbsentSubscriber, *diagnostic))
            }
            MapUserError::Other(MapUserError::UNIDENTIFIED_SUBSCRIBER) => {
                // TS 23.040 §3.3.2: unidentified via the MSC, and via the SGSN.
                let diagnostic = match node {
                    ServingNode::Msc => 9,
                    ServingNode::Sgsn => 10,
                };
                Some((SmDeliveryOutcome::AbsentSubscriber, Some(diagnostic)))
            }
            _ if is_absence => Some((SmDeliveryOutcome::AbsentSubscriber, None)),
            _ if error.is_memory_exceeded() => {
                Some((SmDeliveryOutcome::MemoryCapacityExceeded, None))
            }
            _ => None,
        };
        // What says something of the node, and not of the handset.
        let of_node = [
            MapUserError::FACILITY_NOT_SUPPORTED,
            MapUserError::SYSTEM_FAILURE,
            MapUserError::RESOURCE_LIMITATION,
        ];
        Self {
            node,
            status: error.status(),
            noted,
            tries_other: is_absence || of_node.contains(&error.code()),
            may_have_arrived: false,
            report: match error {
                MapUserError::SmDeliveryFailure { report, .. } => report,
                _ => None,
            },
        }
    }

    /// The node has not answered. What may have arrived goes to no other node: the handset would have it twice.
    fn without_answer(node: ServingNode, status: u32, may_have_arrived: bool) -> Self {
        Self {
            node,
            status,
            noted: None,
            report: None,
            may_have_arrived,
            tries_other: !may_have_arrived,
        }
    }
}

// === impl Broken ===

impl Broken {
    /// The earlier version to try, if the other side did not understand how the dialogue has begun.
    pub(super) fn fallback(&self, version: MapVersion) -> Option<MapVersion> {
        let Self::Aborted(why) = self else {
            return None;
        };
        match why {
            TcapAbort::ContextNotSupported { alternative } => {
                context::fallback(version, *alternative)
            }
            TcapAbort::DialogueRefused { .. } => version.earlier(),
            // So says one that knows no dialogue portion (TS 29.002 §5.5).
            TcapAbort::Provider(
                PAbortCause::IncorrectTransactionPortion
                | PAbortCause::BadlyFormattedTransactionPortion
                | PAbortCause::NoCommonDialoguePortion,
            ) if version > MapVersion::V1 => Some(MapVersion::V1),
            TcapAbort::Provider(_) | TcapAbort::User { .. } => None,
        }
    }

    fn status(&self, step: RunStep) -> u32 {
        match self {
            Self::Aborted(TcapAbort::Provider(cause)) => map::of_p_abort(number_of(*cause)),
            Self::Aborted(TcapAbort::User { .. }) => map::MAP_USER_ABORT,
            Self::Aborted(TcapAbort::ContextNotSupported { .. }) => map::MAP_CONTEXT_NOT_SUPPORTED,
            Self::Aborted(TcapAbort::DialogueRefused { .. }) => map::MAP_DIALOGUE_REFUSED,
            Self::Returned(cause) => map::of_sccp(*cause),
            Self::Silent if step == RunStep::Routing => map::MAP_NO_ANSWER_OF_HLR,
            Self::Silent => map::MAP_NO_ANSWER,
        }
    }

    /// Whether a message that was sent may have arrived nevertheless.
    fn leaves_doubt(&self, dialogue: &RunDialogue) -> bool {
        match self {
            Self::Silent | Self::Aborted(TcapAbort::User { .. }) => true,
            // Of a TC-BEGIN it says that nothing of it was looked at.
            Self::Aborted(TcapAbort::Provider(_)) => dialogue.is_established,
            Self::Aborted(
                TcapAbort::ContextNotSupported { .. } | TcapAbort::DialogueRefused { .. },
            )
            | Self::Returned(_) => false,
        }
    }
}

// === impl MapSession ===

impl<T> MapSession<T> {
    /// Something has come in the dialogue of a run.
    pub(super) fn on_run(
        &mut self,
        mut run: MtRun<T>,
        id: DialogueId,
        components: Vec<Component>,
        is_end: bool,
        now: Instant,
    ) {
        let Some(dialogue) = &mut run.dialogue else {
            return self.put(run);
        };
        let is_first = !std::mem::replace(&mut dialogue.is_established, true);
        let dialogue = *dialogue;
        if is_first && dialogue.fell_back {
            self.remember_version(&run, &dialogue, now);
        }
        let answer = self.sort_components(&mut run, &dialogue, components);
        if is_end {
            run.dialogue = None;
            if dialogue.step == RunStep::Opening {
                run.deadline = None;
            }
        } else {
            let owner = DialogueOwner::Run(run.msisdn.clone());
            self.owners.insert(id, owner);
        }
        match (dialogue.step, answer) {
            (RunStep::Routing, Some(answer)) => {
                self.close(&mut run);
                self.on_route(run, &dialogue, answer, now);
            }
            (RunStep::Forwarding, Some(answer)) => self.on_forwarded(run, &dialogue, answer, now),
            // What is awaited comes later, or nothing is.
            (RunStep::Routing | RunStep::Forwarding, None) if !is_end => self.put(run),
            (RunStep::Open, _) => self.put(run),
            (RunStep::Opening, _) if !is_end => match self.forward_in_dialogue(&mut run, now) {
                Ok(()) => self.put(run),
                Err(fault) => self.fail(run, fault, now),
            },
            (RunStep::Routing, None) => {
                let status = map::MAP_ENDED_WITHOUT_ANSWER;
                self.finish_failed(run, status, FailedPart::Routing, None, now);
            }
            (RunStep::Forwarding | RunStep::Opening, _) => {
                let was_sent = dialogue.step == RunStep::Forwarding;
                self.without_answer(run, map::MAP_ENDED_WITHOUT_ANSWER, was_sent, now);
            }
        }
    }

    /// The dialogue of a run is gone.
    pub(super) fn on_broken_run(&mut self, mut run: MtRun<T>, broken: &Broken, now: Instant) {
        let Some(dialogue) = run.dialogue.take() else {
            return self.put(run);
        };
        if dialogue.step == RunStep::Open {
            return self.put(run);
        }
        run.deadline = None;
        let fallback = broken.fallback(dialogue.version);
        if let Some(version) = fallback.filter(|_| !dialogue.is_established) {
            return self.begin_again(run, dialogue.step, version, now);
        }
        let status = broken.status(dialogue.step);
        if dialogue.step == RunStep::Routing {
            return self.finish_failed(run, status, FailedPart::Routing, None, now);
        }
        let was_sent = dialogue.step == RunStep::Forwarding;
        let may_have_arrived = was_sent && broken.leaves_doubt(&dialogue);
        self.without_answer(run, status, may_have_arrived, now);
    }

    /// Begins the dialogue again in an earlier version.
    fn begin_again(&mut self, mut run: MtRun<T>, step: RunStep, version: MapVersion, now: Instant) {
        let begun = if step == RunStep::Routing {
            self.ask_hlr(&mut run, version, true, now)
        } else {
            self.begin_with_node(&mut run, version, true, now)
        };
        match begun {
            Ok(()) => self.put(run),
            Err(fault) => self.fail(run, fault, now),
        }
    }

    /// The other side has accepted an earlier version.
    fn remember_version(&mut self, run: &MtRun<T>, dialogue: &RunDialogue, now: Instant) {
        let (context, peer) = match (dialogue.step, run.serving()) {
            (RunStep::Routing, _) | (_, None) => (SHORT_MSG_GATEWAY, self.hlr_key(&run.msisdn)),
            (_, Some(node)) => (SHORT_MSG_MT_RELAY, &node.number.text[..]),
        };
        self.versions.remember(context, peer, dialogue.version, now);
    }

    /// The answer to the invoke that waits; what the other side asks by itself is done.
    fn sort_components(
        &mut self,
        run: &mut MtRun<T>,
        dialogue: &RunDialogue,
        components: Vec<Component>,
    ) -> Option<Component> {
        let mut answer = None;
        for component in components {
            match component {
                Component::Invoke(invoke) => self.on_invoke_of_peer(run, dialogue, &invoke),
                Component::Result { id, .. } | Component::Error { id, .. }
                    if id != dialogue.invoke => {}
                Component::Reject { id: Some(id), .. } if id != dialogue.invoke => {}
                Component::Unreadable {
                    of: None | Some(ComponentKind::Invoke),
                    ..
                } => {
                    let why = "a component of an answer cannot be read".to_owned();
                    self.events.push_back(MapEvent::Malformed { why });
                }
                answers => answer = answer.or(Some(answers)),
            }
        }
        answer
    }

    /// An HLR tells what it has noted, beside its answer.
    fn on_invoke_of_peer(&mut self, run: &mut MtRun<T>, dialogue: &RunDialogue, invoke: &Invoke) {
        let operation = MapOperationCode(invoke.operation);
        let is_informed = operation == MapOperationCode::INFORM_SERVICE_CENTRE;
        if !is_informed || dialogue.step != RunStep::Routing {
            let why = format!("{operation} is not expected of a peer that was asked");
            return self.events.push_back(MapEvent::Malformed { why });
        }
        match InformServiceCentreArg::decode(&invoke.parameter) {
            Ok(informed) => {
                let status = informed.status.unwrap_or_default();
                let mnrf = status.not_reachable || status.not_reachable_gprs;
                run.hlr_waits |= mnrf || status.memory_exceeded;
                self.events.push_back(MapEvent::WaitingData {
                    msisdn: run.msisdn.clone(),
                    mcef: status.memory_exceeded,
                    mnrf,
                });
            }
            Err(malformed) => self.malformed(operation, &malformed),
        }
    }

    /// What the HLR has answered.
    fn on_route(
        &mut self,
        mut run: MtRun<T>,
        dialogue: &RunDialogue,
        answer: Component,
        now: Instant,
    ) {
        let status = match answer {
            Component::Result { parameter, .. } => match self.route_of(&run, &parameter) {
                Ok(route) => {
                    self.routes.remember(&run.msisdn, &route, now);
                    run.route = Some(route);
                    run.is_route_remembered = false;
                    run.node = 0;
                    return self.go_on(run, now);
                }
                Err(status) => status,
            },
            Component::Error {
                code, parameter, ..
            } => MapUserError::decode(code, &parameter).status(),
            Component::Reject { problem, .. } => {
                if let Some(version) = earlier_for(problem, dialogue) {
                    return self.begin_again(run, RunStep::Routing, version, now);
                }
                map::MAP_REJECTED
            }
            Component::Unreadable { .. } | Component::Invoke(_) => map::MAP_UNREADABLE_ANSWER,
        };
        self.finish_failed(run, status, FailedPart::Routing, None, now);
    }

    fn route_of(&mut self, run: &MtRun<T>, parameter: &Bytes) -> Result<SubscriberRoute, u32> {
        let operation = MapOperationCode::SEND_ROUTING_INFO_FOR_SM;
        let result = RoutingInfoResult::decode(parameter).map_err(|malformed| {
            self.malformed(operation, &malformed);
            map::MAP_UNREADABLE_ANSWER
        })?;
        let mut route = SubscriberRoute::of(&result, &self.config.serving_nodes)
            .ok_or(map::MAP_NO_SERVING_NODE)?;
        route.waits = run.hlr_waits;
        Ok(route)
    }

    /// What the serving node has answered.
    fn on_forwarded(
        &mut self,
        run: MtRun<T>,
        dialogue: &RunDialogue,
        answer: Component,
        now: Instant,
    ) {
        let Some(node) = run.serving().map(|node| node.node) else {
            return self.fail(run, super::run::StepFault::Unwritable, now);
        };
        let failure = match answer {
            Component::Result { parameter, .. } => {
                let result = ForwardSmResult::decode(&parameter).unwrap_or_else(|malformed| {
                    self.malformed(dialogue.version.mt_forward(), &malformed);
                    ForwardSmResult::default()
                });
                return self.arrived(run, result.tpdu, now);
            }
            // Whatever it says, it is no error.
            Component::Unreadable {
                of: Some(ComponentKind::Result),
                ..
            } => return self.arrived(run, None, now),
            Component::Error {
                code, parameter, ..
            } => NodeFailure::of_error(node, MapUserError::decode(code, &parameter)),
            Component::Reject { problem, .. } => {
                if let Some(version) = earlier_for(problem, dialogue) {
                    let mut run = run;
                    self.close(&mut run);
                    return self.begin_again(run, RunStep::Forwarding, version, now);
                }
                NodeFailure::without_answer(node, map::MAP_REJECTED, false)
            }
            Component::Unreadable { .. } | Component::Invoke(_) => {
                NodeFailure::without_answer(node, map::MAP_UNREADABLE_ANSWER, false)
            }
        };
        self.failed_at(run, failure, now);
    }

    /// The handset has the message.
    fn arrived(&mut self, run: MtRun<T>, report: Option<Bytes>, now: Instant) {
        let was_alerted = self.alerted.remove(&run.msisdn).is_some();
        if let Some(route) = &run.route
            && (route.waits || was_alerted)
            && let Some(node) = run.serving()
        {
            let noted = [(node.node, SmDeliveryOutcome::SuccessfulTransfer, None)];
            self.report(&run.msisdn, &noted, now);
            self.routes.forget(&run.msisdn);
        }
        let mut run = run;
        let imsi = run.route.as_mut().map(|route| {
            route.waits = false;
            route.imsi.clone()
        });
        let outcome = MtOutcome::Delivered {
            imsi: imsi.unwrap_or_default(),
            report,
        };
        self.finish(run, outcome, now);
    }

    fn without_answer(&mut self, run: MtRun<T>, status: u32, may_have_arrived: bool, now: Instant) {
        match run.serving().map(|node| node.node) {
            Some(node) => {
                let failure = NodeFailure::without_answer(node, status, may_have_arrived);
                self.failed_at(run, failure, now);
            }
            None => self.finish_failed(run, status, FailedPart::Forward, None, now),
        }
    }

    /// One node has failed: the other one is tried, or the message has failed.
    fn failed_at(&mut self, mut run: MtRun<T>, failure: NodeFailure, now: Instant) {
        let tries_other = failure.tries_other;
        // The subscriber may be elsewhere.
        let doubts_route = tries_other || failure.may_have_arrived;
        let nodes = run.route.as_ref().map_or(0, |route| route.nodes.len());
        let Some(message) = &mut run.message else {
            return self.put(run);
        };
        if tries_other && run.is_route_remembered {
            // Nothing has arrived, and the subscriber may have moved: that counts once the HLR has been asked.
            self.routes.forget(&run.msisdn);
            self.close(&mut run);
            run.route = None;
            return self.go_on(run, now);
        }
        message.failures.push(failure);
        if doubts_route {
            self.routes.forget(&run.msisdn);
        }
        if tries_other && message.failures.len() < nodes {
            self.close(&mut run);
            run.node = (run.node + 1) % nodes;
            return self.go_on(run, now);
        }
        let failures = message.failures.clone();
        let status = status_of(&failures);
        let report = failures.iter().find_map(|failure| failure.report.clone());
        let noted: Vec<_> = (failures.iter())
            .filter_map(|failure| {
                let (outcome, diagnostic) = failure.noted?;
                Some((failure.node, outcome, diagnostic))
            })
            .collect();
        if !noted.is_empty() {
            self.report(&run.msisdn, &noted, now);
        }
        if doubts_route {
            // The next message of the run asks again.
            self.close(&mut run);
            run.route = None;
        }
        self.finish_failed(run, status, FailedPart::Forward, report, now);
    }

    /// Tells of something that cannot be read.
    pub(super) fn malformed(
        &mut self,
        operation: MapOperationCode,
        why: &crate::parameter::MalformedMap,
    ) {
        let why = format!("{operation}: {why}");
        self.events.push_back(MapEvent::Malformed { why });
    }
}

/// What a message gets that has failed at all nodes: what says that the subscriber is to be waited for, otherwise the
/// last.
fn status_of(failures: &[NodeFailure]) -> u32 {
    use smsc_domain::gsm_result::waits_for_subscriber;
    let waits = |failure: &&NodeFailure| waits_for_subscriber(failure.status);
    let failure = failures.iter().find(waits).or(failures.last());
    failure.map_or(map::MAP_NO_ANSWER, |failure| failure.status)
}

/// The earlier version to try, if the other side has accepted the dialogue and does not know its operation.
fn earlier_for(problem: RejectProblem, dialogue: &RunDialogue) -> Option<MapVersion> {
    let is_unknown = problem == RejectProblem::UNRECOGNIZED_OPERATION;
    let is_first = dialogue.invoke == 1;
    dialogue
        .version
        .earlier()
        .filter(|_| is_unknown && is_first)
}

/// The number of a P-Abort cause (Q.773 §4.2.1.5); those of the dialogue portion are beside those of the standard.
fn number_of(cause: PAbortCause) -> u8 {
    match cause {
        PAbortCause::AbnormalDialogue => 0x81,
        PAbortCause::NoCommonDialoguePortion => 0x82,
        standard => standard.number(),
    }
}
