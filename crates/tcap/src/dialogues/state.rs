//! One dialogue: how far it is, who the peer is, which invokes wait, and what is to be rejected.
//! Q.774 §3.2, §3.3

use std::time::{Duration, Instant};

use bytes::Bytes;
use smsc_sigtran::SccpAddress;

use super::peers::{PeerKey, is_reachable, is_same_node};
use crate::component::{Component, ComponentKind, Invoke, RejectProblem};
use crate::context::{ApplicationContext, ContextName};
use crate::dialogue_pdu::{AssociateOutcome, DialoguePdu, alternative_of, diagnostic};
use crate::event::{AbortCause, TcapAbort};
use crate::message::{AbortReason, PAbortCause, TransactionId};

/// Most rejects that wait for the next message of a dialogue; more are dropped.
const REJECTS_MAX: usize = 8;

/// How far a dialogue is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DialoguePhase {
    /// We began, and the peer did not answer yet: whoever answers is the peer.
    Sent,
    /// The peer began, and does not know our transaction id yet.
    Received,
    /// Both know each other.
    Active,
}

/// One dialogue.
#[derive(Debug)]
pub(super) struct Dialogue {
    pub(super) phase: DialoguePhase,
    /// What was offered; `None` for version 1, without a dialogue portion.
    pub(super) context: Option<ApplicationContext>,
    /// Where our messages come from.
    pub(super) own: SccpAddress,
    /// Where they go.
    pub(super) peer: SccpAddress,
    /// The peer's transaction id.
    pub(super) peer_id: Option<TransactionId>,
    /// Set when the peer began it: by whom it is counted.
    pub(super) counted: Option<PeerKey>,
    pub(super) has_sent: bool,
    /// When the table looks at it next.
    pub(super) due: Instant,
    waiting: Vec<WaitingInvoke>,
    rejects: Vec<Component>,
    moved_at: Instant,
    idle_timeout: Duration,
}

/// An invoke of ours that waits for its answer.
#[derive(Debug)]
struct WaitingInvoke {
    id: i8,
    deadline: Instant,
}

/// What an answer says about the application context.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Association {
    /// Go on; with the context that was accepted, if any was named.
    Fine(Option<ApplicationContext>),
    /// The dialogue portion makes no sense here.
    Abnormal,
    /// The peer does not want it.
    Refused(TcapAbort),
}

/// A moment later; one that a clock cannot show is far away.
pub(super) fn later(now: Instant, time: Duration) -> Instant {
    const FAR: Duration = Duration::from_secs(365 * 24 * 60 * 60);
    now.checked_add(time).unwrap_or_else(|| now + FAR)
}

// === impl Dialogue ===

impl Dialogue {
    pub(super) fn new(
        phase: DialoguePhase,
        context: Option<ApplicationContext>,
        own: SccpAddress,
        peer: SccpAddress,
        idle_timeout: Duration,
        now: Instant,
    ) -> Self {
        Self {
            phase,
            context,
            own,
            peer,
            peer_id: None,
            counted: None,
            has_sent: false,
            due: later(now, idle_timeout),
            waiting: Vec::new(),
            rejects: Vec::new(),
            moved_at: now,
            idle_timeout,
        }
    }

    /// Notes that something moved, in either direction.
    pub(super) fn moved(&mut self, now: Instant) {
        self.moved_at = now;
    }

    /// When it needs a look if nothing happens until then.
    pub(super) fn next_due(&self) -> Instant {
        let deadlines = self.waiting.iter().map(|invoke| invoke.deadline);
        let idle = later(self.moved_at, self.idle_timeout);
        deadlines.min().unwrap_or(idle)
    }

    /// Whether nothing is waited for and nothing moved for too long.
    pub(super) fn is_idle(&self, now: Instant) -> bool {
        self.waiting.is_empty() && later(self.moved_at, self.idle_timeout) <= now
    }

    /// The invokes that were not answered in time. Their user gets a moment to act on it.
    pub(super) fn expire(&mut self, now: Instant) -> Vec<i8> {
        let overdue = self.waiting.extract_if(.., |invoke| invoke.deadline <= now);
        let overdue: Vec<i8> = overdue.map(|invoke| invoke.id).collect();
        if !overdue.is_empty() {
            self.moved(now);
        }
        overdue
    }

    /// What is sent: the rejects that waited for a message behind what the user sends.
    pub(super) fn with_rejects(&mut self, mut components: Vec<Component>) -> Vec<Component> {
        components.append(&mut self.rejects);
        components
    }

    /// Notes that a message goes to the peer; its invokes wait from now on.
    pub(super) fn sending(&mut self, components: &[Component], now: Instant) {
        for component in components {
            if let Component::Invoke(invoke) = component {
                self.wait_for(invoke, now);
            }
        }
        self.has_sent = true;
        self.moved(now);
    }

    fn wait_for(&mut self, invoke: &Invoke, now: Instant) {
        self.waiting.retain(|waiting| waiting.id != invoke.id);
        if !invoke.timeout.is_zero() {
            self.waiting.push(WaitingInvoke {
                id: invoke.id,
                deadline: later(now, invoke.timeout),
            });
        }
    }

    /// What of the components the user gets: no answers that nobody waits for. Those are rejected, and so is
    /// what cannot be read: Q.774 §3.2.2.2.
    pub(super) fn received(&mut self, components: Vec<Component>) -> Vec<Component> {
        let is_for_user = |component: &Component| match *component {
            Component::Invoke(_) => true,
            Component::Result { id, is_last, .. } => {
                let is_awaited = self.answered(id, is_last);
                if !is_awaited {
                    self.reject(Some(id), RejectProblem::RESULT_OF_UNRECOGNIZED_ID);
                }
                is_awaited
            }
            Component::Error { id, .. } => {
                let is_awaited = self.answered(id, true);
                if !is_awaited {
                    self.reject(Some(id), RejectProblem::ERROR_OF_UNRECOGNIZED_ID);
                }
                is_awaited
            }
            Component::Reject { id, problem } => {
                // The id is that of an invoke of the peer if it rejects our answer.
                let is_of_invoke = matches!(
                    problem,
                    RejectProblem::General(_) | RejectProblem::Invoke(_)
                );
                if let Some(id) = id.filter(|_| is_of_invoke) {
                    self.answered(id, true);
                }
                true
            }
            Component::Unreadable { id, of, problem } => {
                let is_answer = matches!(of, Some(ComponentKind::Result | ComponentKind::Error));
                if let Some(id) = id.filter(|_| is_answer) {
                    self.answered(id, true);
                }
                // A Reject is never rejected.
                if of != Some(ComponentKind::Reject) {
                    self.reject(id, problem);
                }
                true
            }
        };
        components.into_iter().filter(is_for_user).collect()
    }

    /// Whether this invoke waited. It does no longer after its last answer.
    fn answered(&mut self, id: i8, is_last: bool) -> bool {
        let place = self.waiting.iter().position(|waiting| waiting.id == id);
        if let Some(place) = place.filter(|_| is_last) {
            self.waiting.swap_remove(place);
        }
        place.is_some()
    }

    fn reject(&mut self, id: Option<i8>, problem: RejectProblem) {
        if self.rejects.len() < REJECTS_MAX {
            self.rejects.push(Component::Reject { id, problem });
        }
    }

    /// Whether a message from this address, of this transaction, is one of the peer in this dialogue. The first
    /// answer may come from anywhere: the address it was sent to was translated on its way.
    pub(super) fn is_from(&self, calling: &SccpAddress, origin: Option<TransactionId>) -> bool {
        match self.phase {
            DialoguePhase::Sent => true,
            DialoguePhase::Received => false,
            DialoguePhase::Active => {
                is_same_node(&self.peer, calling)
                    && origin.is_none_or(|origin| self.peer_id == Some(origin))
            }
        }
    }

    /// Takes the address and the transaction id of the first answer.
    pub(super) fn confirmed(&mut self, calling: SccpAddress, origin: TransactionId) {
        if self.phase == DialoguePhase::Sent {
            self.phase = DialoguePhase::Active;
            self.peer_id = Some(origin);
            if is_reachable(&calling) {
                self.peer = calling;
            }
        }
    }

    /// What the dialogue portion of an answer says. None at all is taken as well: a peer that leaves it out
    /// has carried out what was asked all the same.
    pub(super) fn associated(&self, dialogue: Option<DialoguePdu>) -> Association {
        let is_first = self.phase == DialoguePhase::Sent;
        match dialogue {
            None => Association::Fine(None),
            Some(DialoguePdu::Response {
                context,
                outcome,
                information,
            }) => match (self.context, outcome) {
                (None, _) => Association::Abnormal,
                // Said again; it changes nothing.
                (Some(_), AssociateOutcome::Accepted) if !is_first => Association::Fine(None),
                (Some(_), AssociateOutcome::Accepted) => match context.known() {
                    Some(context) => Association::Fine(Some(context)),
                    None => Association::Abnormal,
                },
                (Some(_), _) if !is_first => Association::Abnormal,
                (Some(offered), _) => {
                    let alternative = alternative_of(offered, &context, &information);
                    Association::Refused(refusal_of(outcome, alternative, information))
                }
            },
            Some(DialoguePdu::Request { .. } | DialoguePdu::Abort { .. }) => Association::Abnormal,
        }
    }

    /// Why the peer aborted.
    pub(super) fn aborted(&self, reason: AbortReason) -> TcapAbort {
        match reason {
            AbortReason::Provider(cause) => TcapAbort::Provider(cause),
            AbortReason::User(Some(DialoguePdu::Abort {
                is_by_user: false, ..
            })) => TcapAbort::Provider(PAbortCause::AbnormalDialogue),
            AbortReason::User(Some(DialoguePdu::Abort { information, .. })) => {
                TcapAbort::User { information }
            }
            AbortReason::User(pdu) => match self.associated(pdu) {
                Association::Refused(refusal) => refusal,
                Association::Fine(_) | Association::Abnormal => TcapAbort::User {
                    information: Bytes::new(),
                },
            },
        }
    }

    /// The dialogue portion of our next message: the AARE of the first answer.
    pub(super) fn acceptance(&self) -> Option<DialoguePdu> {
        let context = self
            .context
            .filter(|_| self.phase == DialoguePhase::Received)?;
        Some(DialoguePdu::accept(context.name()))
    }

    /// What an Abort of ours says.
    pub(super) fn abortion(&self, cause: AbortCause) -> AbortReason {
        let refuse = |context: ContextName, diagnostic| {
            let outcome = AssociateOutcome::RefusedByUser(diagnostic);
            AbortReason::User(Some(DialoguePdu::refuse(context, outcome)))
        };
        let may_refuse = self.phase == DialoguePhase::Received;
        match (cause, self.context) {
            (AbortCause::Provider(cause), _) => AbortReason::Provider(cause),
            (AbortCause::ContextNotSupported { alternative }, Some(context)) if may_refuse => {
                let name = alternative.unwrap_or(context).name();
                refuse(name, diagnostic::CONTEXT_NOT_SUPPORTED)
            }
            (AbortCause::Refused, Some(context)) if may_refuse => {
                refuse(context.name(), diagnostic::NO_REASON)
            }
            (_, Some(_)) => AbortReason::User(Some(DialoguePdu::abort(true))),
            (_, None) => AbortReason::User(None),
        }
    }
}

fn refusal_of(
    outcome: AssociateOutcome,
    alternative: Option<ApplicationContext>,
    information: Bytes,
) -> TcapAbort {
    match outcome {
        AssociateOutcome::RefusedByUser(diagnostic::CONTEXT_NOT_SUPPORTED) => {
            TcapAbort::ContextNotSupported { alternative }
        }
        AssociateOutcome::RefusedByProvider(diagnostic::NO_COMMON_PORTION) => {
            TcapAbort::Provider(PAbortCause::NoCommonDialoguePortion)
        }
        _ => TcapAbort::DialogueRefused { information },
    }
}
