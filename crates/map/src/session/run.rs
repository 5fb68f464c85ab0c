//! A message on its way to a handset: the HLR is asked, a dialogue with the serving node begins, and the next message of
//! the run goes in it.
//!
//! Called by the session; [`super::answer`] takes what comes back. 3GPP TS 29.002 §23.3.2: a TC-BEGIN that would be
//! longer than a unitdata goes without the message, which follows when the other side has accepted the dialogue. Of the
//! messages of one dialogue all but the first lack their addresses (§7.6.8.1, §7.6.8.2). The first one names the IMSI.

use std::time::Instant;

use ahash::AHashMap;
use bytes::Bytes;
use smsc_sigtran::SccpAddress;
use smsc_sms::tpdu::TpduAddress;
use smsc_tcap::{ApplicationContext, Component, DialogueId, Invoke, begin_octets};

use super::answer::NodeFailure;
use super::route::SubscriberRoute;
use super::{
    Broken, DialogueOwner, FailedPart, MapEvent, MapNotSent, MapSession, MtForward, MtOutcome,
};
use crate::context::{MapVersion, SHORT_MSG_GATEWAY, SHORT_MSG_MT_RELAY};
use crate::forward::{ForwardSmArg, SmRpDa, SmRpOa};
use crate::operation::{MapOperationCode, MapTimerClass};
use crate::parameter::SIGNAL_INFO_MAX;
use crate::routing::{RoutingInfoArg, ServingAddress, ServingNode};
use smsc_domain::gsm_result::map;

/// The id of the first invoke of a dialogue.
const FIRST_INVOKE: i8 = 1;
/// Digits of an E.164 number.
const MSISDN_DIGITS: std::ops::RangeInclusive<usize> = 1..=15;

/// The messages to one subscriber that follow one another.
pub(super) struct MtRun<T> {
    pub(super) msisdn: String,
    /// The one under way.
    pub(super) message: Option<MtUnderway<T>>,
    /// What the HLR has said.
    pub(super) route: Option<SubscriberRoute>,
    /// It has said so for an earlier run.
    pub(super) is_route_remembered: bool,
    /// Which node of the route it is.
    pub(super) node: usize,
    /// The HLR has said that messages wait.
    pub(super) hlr_waits: bool,
    pub(super) dialogue: Option<RunDialogue>,
    /// When an empty TC-BEGIN, or the wait for the next message, is given up.
    pub(super) deadline: Option<Instant>,
}

/// A message under way.
pub(super) struct MtUnderway<T> {
    pub(super) forward: MtForward,
    pub(super) token: T,
    /// What the nodes that were tried have said.
    pub(super) failures: Vec<NodeFailure>,
}

/// The dialogue of a run.
#[derive(Debug, Clone, Copy)]
pub(super) struct RunDialogue {
    pub(super) id: DialogueId,
    pub(super) step: RunStep,
    pub(super) version: MapVersion,
    /// The invoke that waits, or the last one.
    pub(super) invoke: i8,
    /// A message was sent in it.
    pub(super) has_sent: bool,
    /// The other side has answered in it.
    pub(super) is_established: bool,
    /// A later version was refused.
    pub(super) fell_back: bool,
}

/// Where a run stands with its dialogue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RunStep {
    /// The HLR is asked.
    Routing,
    /// An empty TC-BEGIN is under way to the serving node.
    Opening,
    /// A message is under way to it.
    Forwarding,
    /// The dialogue waits for the next message.
    Open,
}

/// Why the next step cannot be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StepFault {
    /// There are too many dialogues.
    Full,
    /// A number or a message cannot be written.
    Unwritable,
}

// === impl StepFault ===

impl StepFault {
    pub(super) fn status(self) -> u32 {
        match self {
            Self::Full => map::MAP_NOT_SENT,
            Self::Unwritable => map::MAP_UNWRITABLE,
        }
    }
}

// === impl MtRun ===

impl<T> MtRun<T> {
    fn new(msisdn: String) -> Self {
        Self {
            msisdn,
            message: None,
            route: None,
            is_route_remembered: false,
            node: 0,
            hlr_waits: false,
            dialogue: None,
            deadline: None,
        }
    }

    /// Whether a message waits for its answer.
    pub(super) fn is_under_way(&self) -> bool {
        self.message.is_some()
    }

    /// The token of the message that waits, and whether that may have arrived.
    pub(super) fn into_lost(self) -> Option<(T, bool)> {
        let step = self.dialogue.map(|dialogue| dialogue.step);
        let message = self.message?;
        let mut failures = message.failures.iter();
        let was_sent =
            step == Some(RunStep::Forwarding) || failures.any(|failure| failure.may_have_arrived);
        Some((message.token, was_sent))
    }

    /// The node that is tried.
    pub(super) fn serving(&self) -> Option<&ServingAddress> {
        self.route.as_ref()?.nodes.get(self.node)
    }

    /// Whether other messages follow the one under way.
    fn has_more(&self) -> bool {
        self.message
            .as_ref()
            .is_some_and(|message| message.forward.more)
    }
}

// === impl MapSession ===

impl<T> MapSession<T> {
    /// Sends a message; the token comes back with what became of it.
    ///
    /// # Errors
    /// [`MapNotSent`]; then nothing was sent.
    pub fn send(
        &mut self,
        forward: MtForward,
        token: T,
        now: Instant,
    ) -> Result<(), MapNotSent<T>> {
        if !self.is_ready {
            return Err(MapNotSent::NotReady(token));
        }
        if let Some(why) = unwritable(&forward) {
            return Err(MapNotSent::Unwritable(token, why));
        }
        let mut run = match self.runs.get(&forward.msisdn) {
            Some(run) if run.is_under_way() => return Err(MapNotSent::Busy(token)),
            None if self.runs.len() >= self.config.max_dialogues => {
                return Err(MapNotSent::Full(token));
            }
            Some(_) | None => take_or_new(&mut self.runs, &forward.msisdn),
        };
        run.deadline = None;
        run.message = Some(MtUnderway {
            forward,
            token,
            failures: Vec::new(),
        });
        let step = self.step(&mut run, now);
        match (step, run.message.take()) {
            (Ok(()), message) => {
                run.message = message;
                self.put(run);
                Ok(())
            }
            (Err(fault), Some(message)) => {
                self.close(&mut run);
                Err(match fault {
                    StepFault::Full => MapNotSent::Full(message.token),
                    StepFault::Unwritable => {
                        MapNotSent::Unwritable(message.token, "the message cannot be written")
                    }
                })
            }
            // It was put there above.
            (Err(_), None) => Ok(()),
        }
    }

    /// Nothing follows for a subscriber: its dialogue is closed, at once or after the answer that it waits for.
    pub fn end_run(&mut self, msisdn: &str, now: Instant) {
        let Some(run) = self.runs.get_mut(msisdn) else {
            return;
        };
        if let Some(message) = &mut run.message {
            message.forward.more = false;
            return;
        }
        if let Some(mut run) = self.runs.remove(msisdn) {
            self.close(&mut run);
        }
        self.pump(now);
    }

    /// Keeps a run.
    pub(super) fn put(&mut self, run: MtRun<T>) {
        self.runs.insert(run.msisdn.clone(), run);
    }

    /// Does what comes next for a message, and keeps its run; or it fails.
    pub(super) fn go_on(&mut self, mut run: MtRun<T>, now: Instant) {
        match self.step(&mut run, now) {
            Ok(()) => self.put(run),
            Err(fault) => self.fail(run, fault, now),
        }
    }

    /// A message cannot go on.
    pub(super) fn fail(&mut self, mut run: MtRun<T>, fault: StepFault, now: Instant) {
        self.close(&mut run);
        let of = match &run.route {
            Some(_) => FailedPart::Forward,
            None => FailedPart::Routing,
        };
        self.finish_failed(run, fault.status(), of, None, now);
    }

    fn step(&mut self, run: &mut MtRun<T>, now: Instant) -> Result<(), StepFault> {
        if run.dialogue.is_some() {
            return self.forward_in_dialogue(run, now);
        }
        if run.route.is_none() {
            run.route = self.routes.get(&run.msisdn, now);
            run.is_route_remembered = run.route.is_some();
            run.node = 0;
        }
        let latest = self.config.latest;
        if let Some(node) = run.serving() {
            let peer = &node.number.text;
            let version = self.versions.of(SHORT_MSG_MT_RELAY, peer, latest, now);
            return self.begin_with_node(run, version, false, now);
        }
        let peer = self.hlr_key(&run.msisdn);
        let version = self.versions.of(SHORT_MSG_GATEWAY, peer, latest, now);
        self.ask_hlr(run, version, false, now)
    }

    /// Asks the HLR where the subscriber is.
    pub(super) fn ask_hlr(
        &mut self,
        run: &mut MtRun<T>,
        version: MapVersion,
        fell_back: bool,
        now: Instant,
    ) -> Result<(), StepFault> {
        let priority = (run.message.as_ref()).is_some_and(|message| message.forward.priority);
        let argument = RoutingInfoArg {
            msisdn: TpduAddress::international(&run.msisdn),
            priority,
            service_centre: self.centre.clone(),
            gprs_support: self.config.serving_nodes.contains(&ServingNode::Sgsn),
        };
        let parameter = argument.encode(version);
        let parameter = parameter.map_err(|_| StepFault::Unwritable)?;
        let operation = MapOperationCode::SEND_ROUTING_INFO_FOR_SM;
        let invoke = self.invoke(FIRST_INVOKE, operation, parameter);
        let hlr = self.hlr_address(&run.msisdn);
        let context = version.context(SHORT_MSG_GATEWAY);
        let id = self.begin(context, hlr, vec![invoke], &run.msisdn, now)?;
        run.dialogue = Some(RunDialogue {
            id,
            step: RunStep::Routing,
            version,
            invoke: FIRST_INVOKE,
            has_sent: false,
            is_established: false,
            fell_back,
        });
        Ok(())
    }

    /// Begins a dialogue with the serving node, with the message in it if there is room.
    pub(super) fn begin_with_node(
        &mut self,
        run: &mut MtRun<T>,
        version: MapVersion,
        fell_back: bool,
        now: Instant,
    ) -> Result<(), StepFault> {
        let address = run.serving().map(|node| self.node_address(node));
        let address = address.ok_or(StepFault::Unwritable)?;
        let component = self.forward_component(run, version, FIRST_INVOKE, true)?;
        let context = version.context(SHORT_MSG_MT_RELAY);
        let components = vec![component];
        // Without a dialogue portion there is nothing to accept.
        let is_empty =
            context.is_some() && begin_octets(context, &components) > self.config.most_in_begin;
        let (step, components) = if is_empty {
            (RunStep::Opening, Vec::new())
        } else {
            (RunStep::Forwarding, components)
        };
        let id = self.begin(context, address, components, &run.msisdn, now)?;
        run.deadline = is_empty.then(|| now + self.config.medium);
        run.dialogue = Some(RunDialogue {
            id,
            step,
            version,
            invoke: FIRST_INVOKE,
            has_sent: !is_empty,
            is_established: false,
            fell_back,
        });
        Ok(())
    }

    /// Sends the message in the dialogue that is open. If that is gone meanwhile, a new one begins.
    pub(super) fn forward_in_dialogue(
        &mut self,
        run: &mut MtRun<T>,
        now: Instant,
    ) -> Result<(), StepFault> {
        let Some(mut dialogue) = run.dialogue else {
            return self.step(run, now);
        };
        let is_first = !dialogue.has_sent;
        if !is_first {
            dialogue.invoke = dialogue.invoke.checked_add(1).unwrap_or(FIRST_INVOKE);
        }
        let component = self.forward_component(run, dialogue.version, dialogue.invoke, is_first)?;
        if (self.tcap.proceed(dialogue.id, vec![component], now)).is_err() {
            self.owners.remove(&dialogue.id);
            run.dialogue = None;
            return self.step(run, now);
        }
        dialogue.has_sent = true;
        dialogue.step = RunStep::Forwarding;
        run.dialogue = Some(dialogue);
        run.deadline = None;
        Ok(())
    }

    fn forward_component(
        &self,
        run: &MtRun<T>,
        version: MapVersion,
        id: i8,
        is_first: bool,
    ) -> Result<Component, StepFault> {
        let (Some(message), Some(route)) = (&run.message, &run.route) else {
            return Err(StepFault::Unwritable);
        };
        let (destination, originator) = if is_first {
            // An LMSI that the HLR gives is an option for the operator (§12.9.3) which only spares the VLR a search: the
            // IMSI would have to be in the MAP-OPEN then (§7.3.1), and a VLR that has been restarted knows it no more.
            let centre = self.centre.clone();
            (
                SmRpDa::Imsi(route.imsi.clone()),
                SmRpOa::ServiceCentre(centre),
            )
        } else {
            (SmRpDa::Absent, SmRpOa::Absent)
        };
        let argument = ForwardSmArg {
            destination,
            originator,
            tpdu: message.forward.tpdu.clone(),
            more: message.forward.more,
            imsi: None,
        };
        let parameter = argument.encode(version);
        let parameter = parameter.map_err(|_| StepFault::Unwritable)?;
        Ok(self.invoke(id, version.mt_forward(), parameter))
    }

    /// An invoke with the timer of its operation.
    pub(super) fn invoke(
        &self,
        id: i8,
        operation: MapOperationCode,
        parameter: Bytes,
    ) -> Component {
        let timeout = match operation.timer() {
            MapTimerClass::Short => self.config.short,
            MapTimerClass::Medium => self.config.medium,
            MapTimerClass::Long => self.config.long,
            MapTimerClass::NotAwaited => std::time::Duration::ZERO,
        };
        Component::Invoke(Invoke {
            id,
            operation: operation.0,
            parameter,
            timeout,
        })
    }

    fn begin(
        &mut self,
        context: Option<ApplicationContext>,
        called: SccpAddress,
        components: Vec<Component>,
        msisdn: &str,
        now: Instant,
    ) -> Result<DialogueId, StepFault> {
        let calling = self.config.own.clone();
        let begun = self.tcap.begin(context, called, calling, components, now);
        let id = begun.map_err(|_| StepFault::Full)?;
        let owner = DialogueOwner::Run(msisdn.to_owned());
        self.owners.insert(id, owner);
        Ok(id)
    }

    /// Closes the dialogue of a run, if there is one.
    pub(super) fn close(&mut self, run: &mut MtRun<T>) {
        if let Some(dialogue) = run.dialogue.take() {
            self.owners.remove(&dialogue.id);
            self.tcap.end(dialogue.id, Vec::new());
        }
        run.deadline = None;
    }

    /// Tells what became of the message, and keeps the run if others follow.
    pub(super) fn finish(&mut self, mut run: MtRun<T>, outcome: MtOutcome, now: Instant) {
        let has_more = run.has_more();
        if let Some(message) = run.message.take() {
            self.events
                .push_back(MapEvent::Answer(message.token, outcome));
        }
        if !has_more {
            return self.close(&mut run);
        }
        if let Some(dialogue) = &mut run.dialogue {
            dialogue.step = RunStep::Open;
        }
        run.deadline = Some(now + self.config.short);
        self.put(run);
    }

    /// Tells that the message has failed. After a failure of the HLR nothing of the run can be sent.
    pub(super) fn finish_failed(
        &mut self,
        mut run: MtRun<T>,
        status: u32,
        of: FailedPart,
        report: Option<Bytes>,
        now: Instant,
    ) {
        if let Some(message) = &mut run.message
            && of == FailedPart::Routing
        {
            message.forward.more = false;
        }
        let was_sent = run.message.as_ref().is_some_and(|message| {
            let mut failures = message.failures.iter();
            failures.any(|failure| failure.may_have_arrived)
        });
        let outcome = MtOutcome::Failed {
            status,
            of,
            report,
            was_sent,
        };
        self.finish(run, outcome, now);
    }

    /// Ends runs whose next message does not come, and empty dialogues that nobody accepts.
    pub(super) fn give_up_overdue_runs(&mut self, now: Instant) {
        let is_overdue = |run: &MtRun<T>| run.deadline.is_some_and(|at| at <= now);
        let overdue = self.runs.values().filter(|run| is_overdue(run));
        let overdue: Vec<String> = overdue.map(|run| run.msisdn.clone()).collect();
        for msisdn in overdue {
            let Some(mut run) = self.runs.remove(&msisdn) else {
                continue;
            };
            if !run.is_under_way() {
                self.close(&mut run);
                continue;
            }
            run.deadline = None;
            if let Some(dialogue) = &run.dialogue {
                self.owners.remove(&dialogue.id);
                self.tcap.abort(dialogue.id, smsc_tcap::AbortCause::User);
            }
            self.on_broken_run(run, &Broken::Silent, now);
        }
    }
}

fn take_or_new<T>(runs: &mut AHashMap<String, MtRun<T>>, msisdn: &str) -> MtRun<T> {
    runs.remove(msisdn)
        .unwrap_or_else(|| MtRun::new(msisdn.to_owned()))
}

/// Why a message can never be written.
fn unwritable(forward: &MtForward) -> Option<&'static str> {
    let msisdn = &forward.msisdn;
    if !MSISDN_DIGITS.contains(&msisdn.len()) || !msisdn.bytes().all(|o| o.is_ascii_digit()) {
        return Some("the number has no digits, too many, or other characters");
    }
    if forward.tpdu.is_empty() || forward.tpdu.len() > SIGNAL_INFO_MAX {
        return Some("a TPDU has 1 to 200 octets");
    }
    None
}
