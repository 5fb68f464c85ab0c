//! What others begin: messages of handsets, subscribers that are there again, and what nobody here can answer.
//!
//! 3GPP TS 29.002 §23.2 and §23.4. The caller answers messages of handsets by [`MapSession::answer_mo`] when they are
//! durable; home routing is in `home`, and all else is answered here. Invariants: only what waits for the caller, or was
//! announced to follow, is kept, and no more of it than `max_incoming`; what comes above that is refused by congestion, so
//! that MSCs try again; a version or an operation that is not served is refused as §5.5 and Q.773 §4.2.2.6 say, as long as
//! it is not too much ([`TcapDialogues::may_refuse`](smsc_tcap::TcapDialogues::may_refuse)).

use std::time::Instant;

use bytes::Bytes;
use smsc_domain::gsm_result::RP_CONGESTION;
use smsc_firewall::BlockAnswer;
use smsc_sigtran::SccpAddress;
use smsc_tcap::{AbortCause, ApplicationContext, Component, DialogueId, Invoke, RejectProblem};

use super::home::{ForwardRecipient, invoke_of, not_served, refused};
use super::screening::Screening;
use super::{MapEvent, MapSession, MoInvoke, MoRefusal};
use crate::context::{self, MapVersion, SHORT_MSG_ALERT, SHORT_MSG_MO_RELAY};
use crate::delivery_status::AlertServiceCentreArg;
use crate::forward::{ForwardSmArg, ForwardSmResult, SmRpDa, SmRpOa};
use crate::operation::{MapOperationCode, MapTimerClass};
use crate::parameter::MalformedMap;
use crate::user_error::MapUserError;

/// A dialogue that somebody else has begun.
pub(super) struct IncomingDialogue {
    pub(super) version: MapVersion,
    /// Its context; `None` in version 1.
    pub(super) context: Option<u8>,
    /// Digits of the global title of who has begun it; empty without one.
    pub(super) calling: String,
    /// Invokes that wait for the caller.
    waiting: Vec<i8>,
    /// Answers that go with the last one.
    answers: Vec<Component>,
    /// To whom its messages go, if they are for a subscriber: what the first one says holds for those that follow.
    pub(super) recipient: Option<ForwardRecipient>,
    /// More messages follow, so it is kept open.
    pub(super) more: bool,
    /// The firewall has counted the invoke that is looked at.
    pub(super) is_counted: bool,
}

/// Most messages of one dialogue that wait at once.
const WAITING_MAX: usize = 8;

/// What becomes of an invoke.
pub(super) enum InvokeFate {
    /// The caller answers.
    Waits,
    /// It is answered.
    Answered(Component),
    /// It is not served, which is the answer.
    Unserved(Component),
    /// Nobody answers: operations without a result.
    Done,
    /// Nobody answers, because the firewall says so.
    Dropped,
    /// It is about a subscriber of somebody else: refused as the whole context is without home routing.
    NotOurs,
}

impl<T> MapSession<T> {
    /// Answers a message of a handset: with the SMS-SUBMIT-REPORT that accepts it, if there is one, or by a refusal.
    /// One whose dialogue is gone meanwhile is not answered any more.
    pub fn answer_mo(&mut self, invoke: MoInvoke, result: Result<Option<Bytes>, MoRefusal>) {
        let answer = mo_answer(invoke.invoke, invoke.version, result);
        if let Some((_, answers)) = self.answered(invoke, answer) {
            self.tcap.end(invoke.dialogue, answers);
        }
    }

    /// Does not answer an invoke that waits for the caller: whoever sent it does not hear of us.
    pub fn drop_invoke(&mut self, invoke: MoInvoke) {
        let Some(dialogue) = self.incoming.get_mut(&invoke.dialogue) else {
            return;
        };
        dialogue.waiting.retain(|id| *id != invoke.invoke);
        if !dialogue.waiting.is_empty() {
            return;
        }
        let answers = std::mem::take(&mut dialogue.answers);
        self.incoming.remove(&invoke.dialogue);
        if answers.is_empty() {
            self.tcap.abandon(invoke.dialogue);
        } else {
            self.tcap.end(invoke.dialogue, answers);
        }
    }

    /// Notes the answer to an invoke that waits. With that to the last one, its dialogue and all answers.
    pub(super) fn answered(
        &mut self,
        invoke: MoInvoke,
        answer: Component,
    ) -> Option<(IncomingDialogue, Vec<Component>)> {
        let dialogue = self.incoming.get_mut(&invoke.dialogue)?;
        let at = (dialogue.waiting.iter()).position(|id| *id == invoke.invoke)?;
        dialogue.waiting.swap_remove(at);
        dialogue.answers.push(answer);
        if !dialogue.waiting.is_empty() {
            return None;
        }
        let mut dialogue = self.incoming.remove(&invoke.dialogue)?;
        let answers = std::mem::take(&mut dialogue.answers);
        Some((dialogue, answers))
    }

    /// Somebody begins a dialogue.
    pub(super) fn on_begun(
        &mut self,
        id: DialogueId,
        context: Option<ApplicationContext>,
        calling: String,
        components: Vec<Component>,
        now: Instant,
    ) {
        if components.is_empty() && self.firewall.drops_title(&calling) {
            // There is no invoke to judge.
            return self.tcap.abandon(id);
        }
        let number = context.map(|context| context.context);
        let version = match version_of(context, self.config.home.is_some()) {
            Ok(version) => version,
            Err(alternative) => {
                if self.drops_any(&calling, number, &components, now)
                    || !self.tcap.may_refuse(id, now)
                {
                    return self.tcap.abandon(id);
                }
                let cause = AbortCause::ContextNotSupported { alternative };
                return self.tcap.abort(id, cause);
            }
        };
        let dialogue = IncomingDialogue {
            version,
            context: number,
            calling,
            waiting: Vec::new(),
            answers: Vec::new(),
            recipient: None,
            more: false,
            is_counted: true,
        };
        if components.is_empty() {
            // What is to be answered comes when the dialogue is accepted. In version 1 there is nothing to accept.
            let is_full = self.incoming.len() >= self.config.max_incoming;
            if context.is_none() || is_full || self.tcap.proceed(id, Vec::new(), now).is_err() {
                if !self.tcap.may_refuse(id, now) {
                    return self.tcap.abandon(id);
                }
                return self.tcap.abort(id, AbortCause::User);
            }
            self.incoming.insert(id, dialogue);
            return;
        }
        self.on_invokes(id, dialogue, components, false, now);
    }

    /// Somebody goes on in a dialogue, or ends it.
    pub(super) fn on_incoming(
        &mut self,
        id: DialogueId,
        components: Vec<Component>,
        is_end: bool,
        now: Instant,
    ) {
        if let Some(dialogue) = self.incoming.remove(&id) {
            self.on_invokes(id, dialogue, components, is_end, now);
        }
    }

    fn on_invokes(
        &mut self,
        id: DialogueId,
        mut dialogue: IncomingDialogue,
        components: Vec<Component>,
        is_end: bool,
        now: Instant,
    ) {
        let (mut has_unreadable, mut has_dropped) = (false, false);
        let mut unserved = 0;
        for component in components {
            match component {
                Component::Invoke(invoke) => {
                    let (calling, recipient) = (&dialogue.calling, dialogue.recipient.as_ref());
                    let verdict = self.screen(calling, dialogue.context, recipient, &invoke, now);
                    dialogue.is_counted = verdict != Screening::PassesForNow;
                    let fate = match verdict {
                        Screening::Blocked(answer) => blocked(&invoke, answer),
                        Screening::Passes | Screening::PassesForNow => {
                            self.on_invoke(id, &mut dialogue, &invoke, is_end, now)
                        }
                    };
                    if !dialogue.is_counted && !matches!(fate, InvokeFate::Waits) {
                        // The caller does not see it.
                        self.count_passed();
                    }
                    match fate {
                        InvokeFate::Waits => dialogue.waiting.push(invoke.id),
                        InvokeFate::Answered(answer) => dialogue.answers.push(answer),
                        InvokeFate::Unserved(answer) => {
                            unserved += 1;
                            dialogue.answers.push(answer);
                        }
                        InvokeFate::Done => {}
                        InvokeFate::Dropped => has_dropped = true,
                        InvokeFate::NotOurs if dialogue.context.is_none() => {
                            let problem = RejectProblem::UNRECOGNIZED_OPERATION;
                            unserved += 1;
                            dialogue.answers.push(reject(&invoke, problem));
                        }
                        // Nobody waits for anything.
                        InvokeFate::NotOurs if is_end => {}
                        InvokeFate::NotOurs => {
                            if !self.tcap.may_refuse(id, now) {
                                return self.tcap.abandon(id);
                            }
                            let cause = AbortCause::ContextNotSupported { alternative: None };
                            return self.tcap.abort(id, cause);
                        }
                    }
                }
                // Its reject goes with what is sent next.
                Component::Unreadable { .. } => has_unreadable = true,
                Component::Result { .. } | Component::Error { .. } | Component::Reject { .. } => {}
            }
        }
        if is_end {
            // Nobody waits for anything.
            return;
        }
        if !dialogue.waiting.is_empty() {
            self.incoming.insert(id, dialogue);
        } else if dialogue.answers.is_empty()
            && (has_dropped || !has_unreadable && dialogue.version == MapVersion::V1)
        {
            // alertServiceCentreWithoutResult has a prearranged end; who is dropped does not hear of us.
            self.tcap.abandon(id);
        } else if unserved == dialogue.answers.len() && !self.tcap.may_refuse(id, now) {
            // Also when all that would be said is that something cannot be read, or nothing.
            self.tcap.abandon(id);
        } else {
            self.tcap.end(id, dialogue.answers);
        }
    }

    /// Judges what somebody wants in a context that is not served; whether any of it is not to be answered.
    fn drops_any(
        &mut self,
        calling: &str,
        context: Option<u8>,
        components: &[Component],
        now: Instant,
    ) -> bool {
        let mut drops = false;
        for component in components {
            if let Component::Invoke(invoke) = component {
                let verdict = self.screen(calling, context, None, invoke, now);
                drops |= verdict == Screening::Blocked(BlockAnswer::Drop);
                if verdict == Screening::PassesForNow {
                    self.count_passed();
                }
            }
        }
        drops
    }

    fn on_invoke(
        &mut self,
        id: DialogueId,
        dialogue: &mut IncomingDialogue,
        invoke: &Invoke,
        is_end: bool,
        now: Instant,
    ) -> InvokeFate {
        let operation = MapOperationCode(invoke.operation);
        if self.config.home.is_some()
            && let Some(fate) = self.on_home_invoke(id, dialogue, invoke, is_end)
        {
            return fate;
        }
        match (operation, dialogue.context) {
            (MapOperationCode::FORWARD_SM, None | Some(SHORT_MSG_MO_RELAY)) if !is_end => {
                self.on_mo(id, dialogue, invoke)
            }
            (MapOperationCode::ALERT_SERVICE_CENTRE, None | Some(SHORT_MSG_ALERT))
            | (MapOperationCode::ALERT_WITHOUT_RESULT, None) => {
                let is_answered = operation == MapOperationCode::ALERT_SERVICE_CENTRE;
                self.on_alert(id, invoke, is_answered, now)
            }
            _ => InvokeFate::Unserved(reject(invoke, RejectProblem::UNRECOGNIZED_OPERATION)),
        }
    }

    /// The argument of an operation, or what becomes of an invocation whose argument cannot be read.
    pub(super) fn read<A>(
        &mut self,
        invoke: &Invoke,
        decode: impl FnOnce(&[u8]) -> Result<A, MalformedMap>,
    ) -> Result<A, InvokeFate> {
        decode(&invoke.parameter[..]).map_err(|malformed| {
            self.malformed(MapOperationCode(invoke.operation), &malformed);
            InvokeFate::Unserved(unreadable(invoke, &malformed))
        })
    }

    /// Whether another invoke of a dialogue may wait.
    pub(super) fn has_room(&self, dialogue: &IncomingDialogue) -> bool {
        // One that waits already has its place.
        let has_place = !dialogue.waiting.is_empty();
        let is_full = !has_place && self.incoming.len() >= self.config.max_incoming;
        !is_full && dialogue.waiting.len() < WAITING_MAX
    }

    /// A message of a handset; in version 1 also one for a handset.
    fn on_mo(
        &mut self,
        id: DialogueId,
        dialogue: &mut IncomingDialogue,
        invoke: &Invoke,
    ) -> InvokeFate {
        let argument = match self.read(invoke, ForwardSmArg::decode) {
            Ok(argument) => argument,
            Err(fate) => return fate,
        };
        let is_of_v1 = dialogue.context.is_none();
        if is_of_v1 && self.config.home.is_some() && matches!(argument.destination, SmRpDa::Imsi(_))
        {
            return self.on_forward(id, dialogue, invoke, argument);
        }
        let SmRpDa::ServiceCentre(smsc) = argument.destination else {
            // To a handset: versions 1 and 2 have one operation for both directions.
            let code = match argument.destination {
                SmRpDa::Absent => MapUserError::UNEXPECTED_DATA_VALUE,
                _ => MapUserError::FACILITY_NOT_SUPPORTED,
            };
            return not_served(invoke, code);
        };
        if !self.has_room(dialogue) {
            let refusal = MoRefusal {
                cause: RP_CONGESTION,
                report: None,
            };
            return InvokeFate::Answered(mo_answer(invoke.id, dialogue.version, Err(refusal)));
        }
        let msisdn = match argument.originator {
            SmRpOa::Msisdn(number) => Some(number.text),
            SmRpOa::ServiceCentre(_) | SmRpOa::Absent => None,
        };
        self.events.push_back(MapEvent::MoForward {
            invoke: invoke_of(id, dialogue, invoke),
            msisdn,
            imsi: argument.imsi,
            smsc: smsc.text,
            tpdu: argument.tpdu,
        });
        InvokeFate::Waits
    }

    /// A subscriber is there again.
    fn on_alert(
        &mut self,
        id: DialogueId,
        invoke: &Invoke,
        is_answered: bool,
        now: Instant,
    ) -> InvokeFate {
        let peer = self.tcap.peer(id).and_then(SccpAddress::digits);
        if !self.strangers.is_believed(peer.unwrap_or_default(), now) {
            // An HLR may say it again. What waits is tried when it is due.
            return if is_answered {
                refused(invoke, MapUserError::SYSTEM_FAILURE)
            } else {
                InvokeFate::Done
            };
        }
        match self.read(invoke, AlertServiceCentreArg::decode) {
            Ok(argument) => {
                let msisdn = argument.msisdn.text;
                self.routes.forget(&msisdn);
                if self.note_alert(&msisdn, now) {
                    self.events.push_back(MapEvent::SubscriberReady { msisdn });
                }
                if is_answered {
                    let result = Component::result(invoke.id, invoke.operation, Bytes::new());
                    return InvokeFate::Answered(result);
                }
            }
            Err(fate) if is_answered => return fate,
            Err(_) => {}
        }
        InvokeFate::Done
    }
}

/// The version of a dialogue that somebody begins.
///
/// # Errors
/// We do not answer it; perhaps another version of its context.
fn version_of(
    context: Option<ApplicationContext>,
    routes_home: bool,
) -> Result<MapVersion, Option<ApplicationContext>> {
    let Some(ApplicationContext { context, version }) = context else {
        return Ok(MapVersion::V1);
    };
    let latest = context::served(context, routes_home).ok_or(None)?;
    // Version 1 has no dialogue portion: one with its number is none.
    let asked = MapVersion::of(version).filter(|asked| (MapVersion::V2..=latest).contains(asked));
    asked.ok_or_else(|| latest.context(context))
}

/// What becomes of an invoke that the firewall blocks.
fn blocked(invoke: &Invoke, answer: BlockAnswer) -> InvokeFate {
    let timer = MapOperationCode(invoke.operation).timer();
    match answer {
        BlockAnswer::Drop => InvokeFate::Dropped,
        BlockAnswer::Error(_) if timer == MapTimerClass::NotAwaited => InvokeFate::Done,
        BlockAnswer::Error(code) => refused(invoke, code),
    }
}

fn reject(invoke: &Invoke, problem: RejectProblem) -> Component {
    Component::Reject {
        id: Some(invoke.id),
        problem,
    }
}

/// The answer to an invoke whose parameter cannot be read.
fn unreadable(invoke: &Invoke, malformed: &MalformedMap) -> Component {
    match malformed {
        MalformedMap::Missing(_) => {
            Component::error(invoke.id, MapUserError::DATA_MISSING, Bytes::new())
        }
        MalformedMap::Field(_) => {
            Component::error(invoke.id, MapUserError::UNEXPECTED_DATA_VALUE, Bytes::new())
        }
        MalformedMap::Ber(_) => reject(invoke, RejectProblem::MISTYPED_INVOKE_PARAMETER),
    }
}

/// The answer to a message of a handset.
fn mo_answer(id: i8, version: MapVersion, result: Result<Option<Bytes>, MoRefusal>) -> Component {
    match result {
        Ok(report) => {
            // One that cannot be written is left out: the message is accepted.
            let result = ForwardSmResult { tpdu: report }.encode(version);
            let parameter = result.unwrap_or_default();
            Component::result(id, MapOperationCode::FORWARD_SM.0, parameter)
        }
        Err(MoRefusal { cause, report }) => {
            let error = MapUserError::of_refusal(cause, report);
            let parameter = error.encode(version).unwrap_or_else(|_| {
                let error = MapUserError::of_refusal(cause, None);
                error.encode(version).unwrap_or_default()
            });
            Component::error(id, error.code(), parameter)
        }
    }
}
