//! What SCCP brings: messages of dialogues, of strangers, and our own ones that came back. Q.774 §3.3.4
//!
//! What cannot be read is treated as Table 7 of Q.774 says: the sender of a Begin or a Continue gets an Abort, if its
//! transaction id can be found; a dialogue that the message belongs to is over; nobody else hears anything.

use std::time::Instant;

use bytes::Bytes;
use smsc_sigtran::SccpAddress;

use super::peers::PeerKey;
use super::state::{Association, Dialogue, DialoguePhase};
use super::{DialogueId, TcapDialogues};
use crate::component::Component;
use crate::context::ApplicationContext;
use crate::dialogue_pdu::{AssociateOutcome, DialoguePdu, diagnostic};
use crate::event::{TcapAbort, TcapEvent};
use crate::message::{
    AbortReason, MessageFault, PAbortCause, TcapMessage, TcapMessageType, TransactionId,
    UnreadableMessage, returned_ids,
};

/// From where to where a message came.
struct Route {
    called: SccpAddress,
    calling: SccpAddress,
}

// === impl TcapDialogues ===

impl TcapDialogues {
    /// Takes the user data of one message of SCCP.
    pub fn received(
        &mut self,
        called: SccpAddress,
        calling: SccpAddress,
        data: &Bytes,
        now: Instant,
    ) {
        let route = Route { called, calling };
        match TcapMessage::decode(data) {
            Ok(TcapMessage::Begin {
                origin,
                dialogue,
                components,
            }) => self.on_begin(route, origin, dialogue, components, now),
            Ok(TcapMessage::Continue {
                origin,
                destination,
                dialogue,
                components,
            }) => match self.dialogue_of(destination, &route, Some(origin)) {
                Whose::Peer(id) => {
                    self.on_continue(id, route, origin, dialogue, components, now);
                }
                Whose::Nobody => {
                    self.counts.stray += 1;
                    let cause = PAbortCause::UnrecognizedTransactionId;
                    self.abort_sender(origin, AbortReason::Provider(cause), route, now);
                }
                Whose::Stranger => self.counts.stray += 1,
            },
            Ok(TcapMessage::End {
                destination,
                dialogue,
                components,
            }) => match self.dialogue_of(destination, &route, None) {
                Whose::Peer(id) => self.on_end(id, dialogue, components),
                Whose::Nobody | Whose::Stranger => self.counts.stray += 1,
            },
            Ok(TcapMessage::Abort {
                destination,
                reason,
            }) => match self.dialogue_of(destination, &route, None) {
                Whose::Peer(id) => self.on_abort(id, reason),
                Whose::Nobody | Whose::Stranger => self.counts.stray += 1,
            },
            Ok(TcapMessage::Unidirectional) => self.counts.stray += 1,
            Err(fault) => self.on_unreadable(fault, route, now),
        }
    }

    /// Takes a message of ours that SCCP could not bring to its destination, as far as it came back, with the
    /// cause of Q.713 §3.12. What was not sent at all may be handed in as well.
    pub fn returned(&mut self, cause: u8, data: &Bytes) {
        let ids = returned_ids(data);
        let own = ids.origin.and_then(|origin| origin.number());
        let Some((id, dialogue)) = own.and_then(|id| Some((id, self.open.get(&id)?))) else {
            // An End or an Abort: nobody waits for its answer.
            return;
        };
        let is_last_sent = match ids.message_type {
            Some(TcapMessageType::Begin) => dialogue.phase == DialoguePhase::Sent,
            Some(TcapMessageType::Continue) => {
                ids.destination.is_some() && ids.destination == dialogue.peer_id
            }
            _ => false,
        };
        if is_last_sent {
            self.remove(id);
            let id = DialogueId(id);
            self.events.push_back(TcapEvent::Returned { id, cause });
        }
    }

    fn on_begin(
        &mut self,
        route: Route,
        origin: TransactionId,
        dialogue: Option<DialoguePdu>,
        components: Vec<Component>,
        now: Instant,
    ) {
        let context = match offered_context(dialogue) {
            Ok(context) => context,
            Err(refusal) => {
                self.counts.refused += 1;
                self.abort_sender(origin, AbortReason::User(Some(refusal)), route, now);
                return;
            }
        };
        let peer = PeerKey::of(&route.calling);
        let is_full = self.of_peers.all() >= self.max_incoming_for(&route.calling)
            || self.of_peers.of(&peer) >= self.config.max_incoming_of_peer;
        if is_full {
            self.counts.refused += 1;
            let cause = PAbortCause::ResourceLimitation;
            self.abort_sender(origin, AbortReason::Provider(cause), route, now);
            return;
        }
        let Route { called, calling } = route;
        let id = self.ids.next(|id| self.open.contains_key(&id));
        let own = self.config.own.as_ref().unwrap_or(&called).clone();
        let mut dialogue = Dialogue::new(
            DialoguePhase::Received,
            context,
            own,
            calling.clone(),
            self.config.incoming_idle_timeout,
            now,
        );
        dialogue.peer_id = Some(origin);
        dialogue.counted = Some(peer.clone());
        let components = dialogue.received(components);
        self.of_peers.opened(peer);
        self.insert(id, dialogue);
        self.events.push_back(TcapEvent::Begun {
            id: DialogueId(id),
            context,
            called,
            calling,
            components,
        });
    }

    fn on_continue(
        &mut self,
        id: u32,
        route: Route,
        origin: TransactionId,
        pdu: Option<DialoguePdu>,
        components: Vec<Component>,
        now: Instant,
    ) {
        let Some(dialogue) = self.open.get_mut(&id) else {
            return;
        };
        let association = dialogue.associated(pdu);
        dialogue.confirmed(route.calling, origin);
        dialogue.moved(now);
        let why = match association {
            Association::Fine(accepted) => {
                let components = dialogue.received(components);
                self.reschedule(id);
                self.events.push_back(TcapEvent::Proceeded {
                    id: DialogueId(id),
                    components,
                    accepted,
                });
                return;
            }
            Association::Abnormal => TcapAbort::Provider(PAbortCause::AbnormalDialogue),
            Association::Refused(why) => why,
        };
        // The peer takes the dialogue for open.
        let abnormal = AbortReason::User(Some(DialoguePdu::abort(false)));
        self.remove_and_abort(id, |_| abnormal);
        let id = DialogueId(id);
        self.events.push_back(TcapEvent::Aborted { id, why });
    }

    fn on_end(&mut self, id: u32, pdu: Option<DialoguePdu>, components: Vec<Component>) {
        let Some(mut dialogue) = self.remove(id) else {
            return;
        };
        let id = DialogueId(id);
        self.events.push_back(match dialogue.associated(pdu) {
            Association::Fine(accepted) => TcapEvent::Ended {
                id,
                components: dialogue.received(components),
                accepted,
            },
            Association::Abnormal => TcapEvent::Aborted {
                id,
                why: TcapAbort::Provider(PAbortCause::AbnormalDialogue),
            },
            Association::Refused(why) => TcapEvent::Aborted { id, why },
        });
    }

    fn on_abort(&mut self, id: u32, reason: AbortReason) {
        if let Some(dialogue) = self.remove(id) {
            let why = dialogue.aborted(reason);
            let id = DialogueId(id);
            self.events.push_back(TcapEvent::Aborted { id, why });
        }
    }

    fn on_unreadable(&mut self, fault: UnreadableMessage, route: Route, now: Instant) {
        self.counts.unreadable += 1;
        let is_answered = matches!(
            fault.message_type,
            None | Some(TcapMessageType::Begin | TcapMessageType::Continue)
        );
        let sender = fault.origin.filter(|_| is_answered);
        let is_of_dialogue = !matches!(
            fault.message_type,
            Some(TcapMessageType::Begin | TcapMessageType::Unidirectional)
        );
        let destination = fault.destination.filter(|_| is_of_dialogue);
        let whose = destination.map(|to| self.dialogue_of(to, &route, fault.origin));
        let (reason, why) = match fault.why {
            MessageFault::Transaction(cause) => (AbortReason::Provider(cause), cause),
            MessageFault::Dialogue => (
                AbortReason::User(Some(DialoguePdu::abort(false))),
                PAbortCause::AbnormalDialogue,
            ),
        };
        match whose {
            // Not from the peer: no reason to give up, nor to say anything.
            Some(Whose::Stranger) => return,
            Some(Whose::Peer(id)) => {
                self.remove(id);
                let (id, why) = (DialogueId(id), TcapAbort::Provider(why));
                self.events.push_back(TcapEvent::Aborted { id, why });
            }
            Some(Whose::Nobody) | None => {}
        }
        if let Some(origin) = sender {
            self.abort_sender(origin, reason, route, now);
        }
    }

    /// Whose message this is that names `destination`.
    fn dialogue_of(
        &self,
        destination: TransactionId,
        route: &Route,
        origin: Option<TransactionId>,
    ) -> Whose {
        let found = destination
            .number()
            .and_then(|id| Some((id, self.open.get(&id)?)));
        match found {
            None => Whose::Nobody,
            Some((id, dialogue)) if dialogue.is_from(&route.calling, origin) => Whose::Peer(id),
            Some(_) => Whose::Stranger,
        }
    }

    fn abort_sender(
        &mut self,
        origin: TransactionId,
        reason: AbortReason,
        route: Route,
        now: Instant,
    ) {
        self.abort_stranger(origin, reason, (route.called, route.calling), now);
    }
}

/// The context that a Begin offers, or what refuses it. Q.774 §3.2.3
fn offered_context(
    dialogue: Option<DialoguePdu>,
) -> Result<Option<ApplicationContext>, DialoguePdu> {
    match dialogue {
        None => Ok(None),
        Some(DialoguePdu::Request {
            context,
            has_version_1: false,
        }) => {
            let outcome = AssociateOutcome::RefusedByProvider(diagnostic::NO_COMMON_PORTION);
            Err(DialoguePdu::refuse(context, outcome))
        }
        Some(DialoguePdu::Request { context, .. }) => match context.known() {
            Some(known) => Ok(Some(known)),
            None => {
                let diagnostic = diagnostic::CONTEXT_NOT_SUPPORTED;
                let outcome = AssociateOutcome::RefusedByUser(diagnostic);
                Err(DialoguePdu::refuse(context, outcome))
            }
        },
        Some(DialoguePdu::Response { .. } | DialoguePdu::Abort { .. }) => {
            Err(DialoguePdu::abort(false))
        }
    }
}

/// From whom a message is that names a transaction id of ours.
enum Whose {
    /// From the peer of this dialogue.
    Peer(u32),
    /// There is no such dialogue.
    Nobody,
    /// There is one, with another peer.
    Stranger,
}
