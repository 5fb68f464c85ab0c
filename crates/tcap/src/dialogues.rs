//! The table of dialogues: those that we begin and those that peers begin, with their timers. Q.774
//!
//! The caller hands in what SCCP brings ([`TcapDialogues::received`], [`TcapDialogues::returned`]) and calls
//! [`TcapDialogues::on_tick`] now and then. After each call it takes [`TcapEvent`]s and
//! [`UnitdataRequest`]s until there are none. A dialogue is over, and its id unknown, after `end`, `abort` and
//! `abandon`, and after every event but `Begun`, `Proceeded` and `TimedOut`.
//!
//! Invariants: dialogues of ours and of peers are bounded apart, and those of one peer once more, so that no
//! stranger can keep us from sending; a message in a dialogue is taken from the address that answered first
//! only; nothing but a Begin or a Continue is ever answered, and those of no dialogue only so often (`strangers`); each answer
//! reaches the user once.

mod ids;
mod incoming;
mod peers;
mod state;
mod strangers;

use std::collections::{BTreeSet, VecDeque};
use std::time::{Duration, Instant};

use ahash::AHashMap;
use smsc_sigtran::{SccpAddress, UnitdataRequest};

use crate::component::Component;
use crate::context::ApplicationContext;
use crate::dialogue_pdu::DialoguePdu;
use crate::event::{AbortCause, TcapEvent};
use crate::message::{AbortReason, TcapMessage, TransactionId};
use ids::TransactionIds;
use peers::{DialoguesOfPeers, PeerKey};
use state::{Dialogue, DialoguePhase};
use strangers::StrangerAnswers;

/// Our transaction id, which names a dialogue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DialogueId(pub u32);

/// The bounds of a table.
#[derive(Debug, Clone)]
pub struct TcapConfig {
    /// Our address, for what we send in dialogues that peers begin. `None`: the one that they wrote to, which other nodes
    /// may share or a network translate, so that the next message of the peer may come to another node.
    pub own: Option<SccpAddress>,
    /// Most dialogues that we begin.
    pub max_dialogues: usize,
    /// Most dialogues that peers begin.
    pub max_incoming: usize,
    /// Most dialogues that one peer, by its global title or point code, begins.
    pub max_incoming_of_peer: usize,
    /// How long nothing may move in a dialogue of ours in which no invoke waits.
    pub idle_timeout: Duration,
    /// How long nothing may move in a dialogue that a peer began.
    pub incoming_idle_timeout: Duration,
}

/// As many dialogues as may be are open.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("too many dialogues are open")]
pub struct TooManyDialogues;

/// The dialogue is over, or its peer did not answer yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the dialogue is not open")]
pub struct DialogueNotOpen;

/// What became of messages that brought no event, since the table was made.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TcapCounts {
    /// Messages that could not be read.
    pub unreadable: u64,
    /// Messages of no dialogue, or of one with another peer.
    pub stray: u64,
    /// Dialogues of peers that were above a bound.
    pub refused: u64,
    /// Of all these, those that were answered by an Abort, and what [`TcapDialogues::may_refuse`] has let the user refuse: 100 of
    /// one peer in a second, and 500 of all, at most.
    pub answered: u64,
    /// Those that were not answered because there were more in their second.
    pub unanswered: u64,
}

/// The table.
#[derive(Debug)]
pub struct TcapDialogues {
    config: TcapConfig,
    ids: TransactionIds,
    open: AHashMap<u32, Dialogue>,
    of_peers: DialoguesOfPeers,
    /// When to look at which dialogue: each is in here once.
    due: BTreeSet<(Instant, u32)>,
    events: VecDeque<TcapEvent>,
    unitdata: VecDeque<UnitdataRequest>,
    counts: TcapCounts,
    strangers: StrangerAnswers,
    /// How the global titles of our own network begin, for which a part of the dialogues of peers is kept.
    own_titles: Vec<String>,
}

// === impl TcapConfig ===

impl Default for TcapConfig {
    /// What a node of a few hundred messages a second needs. A network may have few MSCs, so one peer gets a
    /// large part.
    fn default() -> Self {
        Self {
            own: None,
            max_dialogues: 10_000,
            max_incoming: 10_000,
            max_incoming_of_peer: 2_500,
            idle_timeout: Duration::from_secs(60),
            incoming_idle_timeout: Duration::from_secs(60),
        }
    }
}

// === impl TcapDialogues ===

impl TcapDialogues {
    /// An empty table.
    #[must_use]
    pub fn new(config: TcapConfig) -> Self {
        Self {
            config,
            ids: TransactionIds::new(),
            open: AHashMap::new(),
            of_peers: DialoguesOfPeers::default(),
            due: BTreeSet::new(),
            events: VecDeque::new(),
            unitdata: VecDeque::new(),
            counts: TcapCounts::default(),
            strangers: StrangerAnswers::new(),
            own_titles: Vec::new(),
        }
    }

    /// Keeps a quarter of the dialogues of peers for those whose global titles begin so: strangers may have as many titles as they
    /// like. None: for nobody.
    pub fn keep_room_for(&mut self, own_titles: Vec<String>) {
        self.own_titles = own_titles;
    }

    /// Begins a dialogue: TC-BEGIN. Without a context there is no dialogue portion: version 1. The components may
    /// be none.
    ///
    /// # Errors
    /// [`TooManyDialogues`]; then nothing is sent.
    pub fn begin(
        &mut self,
        context: Option<ApplicationContext>,
        called: SccpAddress,
        calling: SccpAddress,
        components: Vec<Component>,
        now: Instant,
    ) -> Result<DialogueId, TooManyDialogues> {
        if self.begun() >= self.config.max_dialogues {
            return Err(TooManyDialogues);
        }
        let idle_timeout = self.config.idle_timeout;
        let phase = DialoguePhase::Sent;
        let mut dialogue = Dialogue::new(phase, context, calling, called, idle_timeout, now);
        let id = self.ids.next(|id| self.open.contains_key(&id));
        dialogue.sending(&components, now);
        let begin = begin_of(id, context, components);
        self.unitdata.push_back(UnitdataRequest {
            called: dialogue.peer.clone(),
            calling: dialogue.own.clone(),
            data: begin.encode(),
            sequence: id,
            in_order: false,
            return_on_error: true,
        });
        self.insert(id, dialogue);
        Ok(DialogueId(id))
    }

    /// Goes on in a dialogue: TC-CONTINUE. In one that a peer began it accepts the context, the first time.
    ///
    /// # Errors
    /// [`DialogueNotOpen`]; then nothing is sent.
    pub fn proceed(
        &mut self,
        id: DialogueId,
        components: Vec<Component>,
        now: Instant,
    ) -> Result<(), DialogueNotOpen> {
        let dialogue = self.open.get_mut(&id.0).ok_or(DialogueNotOpen)?;
        let destination = dialogue.peer_id.ok_or(DialogueNotOpen)?;
        let in_order = dialogue.has_sent;
        dialogue.sending(&components, now);
        let message = TcapMessage::Continue {
            origin: id.0.into(),
            destination,
            dialogue: dialogue.acceptance(),
            components: dialogue.with_rejects(components),
        };
        dialogue.phase = DialoguePhase::Active;
        self.unitdata.push_back(UnitdataRequest {
            called: dialogue.peer.clone(),
            calling: dialogue.own.clone(),
            data: message.encode(),
            sequence: id.0,
            in_order,
            return_on_error: true,
        });
        self.reschedule(id.0);
        Ok(())
    }

    /// Ends a dialogue: TC-END. If the peer did not answer yet, nothing is sent, as by
    /// [`Self::abandon`].
    pub fn end(&mut self, id: DialogueId, components: Vec<Component>) {
        let Some(mut dialogue) = self.remove(id.0) else {
            return;
        };
        let Some(destination) = dialogue.peer_id else {
            return;
        };
        let message = TcapMessage::End {
            destination,
            dialogue: dialogue.acceptance(),
            components: dialogue.with_rejects(components),
        };
        self.send_last(id.0, dialogue, &message);
    }

    /// Ends a dialogue of which the peer thinks so by itself: a prearranged end. Nothing is sent.
    pub fn abandon(&mut self, id: DialogueId) {
        self.remove(id.0);
    }

    /// Aborts a dialogue: TC-U-ABORT. If the peer did not answer yet, nothing is sent: its id is not known.
    pub fn abort(&mut self, id: DialogueId, cause: AbortCause) {
        self.remove_and_abort(id.0, |dialogue| dialogue.abortion(cause));
    }

    /// Whether what the peer of a dialogue wants may be refused, by [`Self::end`] or [`Self::abort`]: strangers are not answered
    /// more often than that. If not, the dialogue is to be abandoned.
    pub fn may_refuse(&mut self, id: DialogueId, now: Instant) -> bool {
        let dialogue = self.open.get(&id.0);
        let peer = dialogue.map_or(PeerKey::Unknown, |dialogue| PeerKey::of(&dialogue.peer));
        self.answers_stranger(peer, now)
    }

    /// Looks at the clock: invokes that were not answered, dialogues in which nothing moves. The peer of the
    /// latter gets an Abort, so that it need not wait.
    pub fn on_tick(&mut self, now: Instant) {
        while let Some((at, id)) = self.due.first().copied() {
            if at > now {
                break;
            }
            self.due.pop_first();
            self.on_due(id, now);
        }
    }

    /// When [`Self::on_tick`] has something to do next, at the earliest.
    #[must_use]
    pub fn next_due(&self) -> Option<Instant> {
        self.due.first().map(|(at, _)| *at)
    }

    /// What happened next.
    pub fn next_event(&mut self) -> Option<TcapEvent> {
        self.events.pop_front()
    }

    /// What SCCP is to send next.
    pub fn next_unitdata(&mut self) -> Option<UnitdataRequest> {
        self.unitdata.pop_front()
    }

    /// How many dialogues are open that we began.
    #[must_use]
    pub fn begun(&self) -> usize {
        self.open.len() - self.of_peers.all()
    }

    /// How many dialogues are open that peers began.
    #[must_use]
    pub fn incoming(&self) -> usize {
        self.of_peers.all()
    }

    /// Where messages of this dialogue go; `None` when it is over.
    #[must_use]
    pub fn peer(&self, id: DialogueId) -> Option<&SccpAddress> {
        self.open.get(&id.0).map(|dialogue| &dialogue.peer)
    }

    /// What became of messages without an event.
    #[must_use]
    pub fn counts(&self) -> TcapCounts {
        self.counts
    }

    fn on_due(&mut self, id: u32, now: Instant) {
        let Some(dialogue) = self.open.get_mut(&id) else {
            return;
        };
        for invoke in dialogue.expire(now) {
            let id = DialogueId(id);
            self.events.push_back(TcapEvent::TimedOut { id, invoke });
        }
        if !dialogue.is_idle(now) {
            dialogue.due = dialogue.next_due();
            self.due.insert((dialogue.due, id));
            return;
        }
        let id = DialogueId(id);
        self.abort(id, AbortCause::User);
        self.events.push_back(TcapEvent::IdleEnded { id });
    }

    fn insert(&mut self, id: u32, mut dialogue: Dialogue) {
        dialogue.due = dialogue.next_due();
        self.due.insert((dialogue.due, id));
        self.open.insert(id, dialogue);
    }

    fn remove(&mut self, id: u32) -> Option<Dialogue> {
        let dialogue = self.open.remove(&id)?;
        self.due.remove(&(dialogue.due, id));
        if let Some(peer) = &dialogue.counted {
            self.of_peers.closed(peer);
        }
        Some(dialogue)
    }

    /// Looks at a dialogue sooner if something in it is due sooner. What is due later is seen at the look that is
    /// planned already.
    fn reschedule(&mut self, id: u32) {
        let Some(dialogue) = self.open.get_mut(&id) else {
            return;
        };
        let due = dialogue.next_due();
        if due < dialogue.due {
            self.due.remove(&(dialogue.due, id));
            self.due.insert((due, id));
            dialogue.due = due;
        }
    }

    /// Ends a dialogue with an ABORT, if its peer has said who it is.
    fn remove_and_abort(&mut self, id: u32, why: impl FnOnce(&Dialogue) -> AbortReason) {
        if let Some(dialogue) = self.remove(id)
            && let Some(destination) = dialogue.peer_id
        {
            let reason = why(&dialogue);
            let message = TcapMessage::Abort {
                destination,
                reason,
            };
            self.send_last(id, dialogue, &message);
        }
    }

    /// Sends the last message of a dialogue that was removed. Nobody waits for word of it.
    fn send_last(&mut self, id: u32, dialogue: Dialogue, message: &TcapMessage) {
        self.unitdata.push_back(UnitdataRequest {
            called: dialogue.peer,
            calling: dialogue.own,
            data: message.encode(),
            sequence: id,
            in_order: dialogue.has_sent,
            return_on_error: false,
        });
    }

    /// Most dialogues of peers while this one begins another.
    fn max_incoming_for(&self, calling: &SccpAddress) -> usize {
        let most = self.config.max_incoming;
        let title = calling.digits().unwrap_or_default();
        let mut own = self.own_titles.iter();
        if self.own_titles.is_empty() || own.any(|prefix| title.starts_with(&prefix[..])) {
            most
        } else {
            most - most / KEPT_FOR_OWN
        }
    }

    /// Whether a stranger is answered.
    fn answers_stranger(&mut self, peer: PeerKey, now: Instant) -> bool {
        let is_answered = self.strangers.take(peer, now);
        if is_answered {
            self.counts.answered += 1;
        } else {
            self.counts.unanswered += 1;
        }
        is_answered
    }

    /// Answers the sender of a message that belongs to no dialogue of ours, unless there are too many of them.
    fn abort_stranger(
        &mut self,
        destination: TransactionId,
        reason: AbortReason,
        (called, calling): (SccpAddress, SccpAddress),
        now: Instant,
    ) {
        if !self.answers_stranger(PeerKey::of(&calling), now) {
            return;
        }
        let message = TcapMessage::Abort {
            destination,
            reason,
        };
        let octets = destination.octets().iter();
        let sequence = octets.fold(0, |number, octet| number << 8 | u32::from(*octet));
        self.unitdata.push_back(UnitdataRequest {
            called: calling,
            calling: called,
            data: message.encode(),
            sequence,
            in_order: false,
            return_on_error: false,
        });
    }
}

/// This part of the dialogues of peers is kept for our own network.
const KEPT_FOR_OWN: usize = 4;

fn begin_of(
    id: u32,
    context: Option<ApplicationContext>,
    components: Vec<Component>,
) -> TcapMessage {
    let request = context.map(|context| DialoguePdu::request(context.name()));
    TcapMessage::Begin {
        origin: id.into(),
        dialogue: request,
        components,
    }
}

/// How many octets the user data of a Begin has: whether it fits one message of SCCP.
#[must_use]
pub fn begin_octets(context: Option<ApplicationContext>, components: &[Component]) -> usize {
    begin_of(0, context, components.to_vec()).encode().len()
}

#[cfg(test)]
mod tests;
