//! Prepares a message for the store: as a whole, or with the parts that are sent instead.
//!
//! Ingest and the assembly actor stage accepted messages, write them in one batch with
//! [`write`](crate::actors::queue::dispatch::write), and pass on those that were written. Invariant: a
//! divided message and all its parts become durable together or not at all.

use std::sync::Arc;

use bytes::Bytes;

use crate::actors::context::NodeContext;
use crate::actors::context::declined::Declined;
use crate::actors::context::plan::Plan;
use crate::actors::context::traced;
use crate::actors::queue::dispatch::Dispatch;
use crate::actors::receipts::final_state;
use crate::actors::receipts::states;
use crate::actors::routing::rewrite;
use crate::clock;
use crate::config::LongMessages;
use crate::content::handset::{self, HandsetRefusal};
use crate::content::peer::divide;
use crate::content::peer::{self, PeerEncoding, PeerTreatment};
use crate::pb::delivery::What;
use crate::pb::{Composition, Copied, Final, Kind, Message, MessageState, QueueItem, SubmitCause};
use crate::smpp::CommandStatus;
use crate::store::{SentRow, WriteBatch};

/// How a message is refused that cannot be staged.
pub fn declined_for(refused: &HandsetRefusal) -> Declined {
    let cause = match refused {
        HandsetRefusal::Text(divide::DivideRefusal::TooLong) => SubmitCause::TooLong,
        _ => SubmitCause::Unwritable,
    };
    Declined::by(cause, CommandStatus::ESME_RSUBMITFAIL)
}

/// Whether a routed message could be staged. Changes nothing.
///
/// # Errors
/// It cannot be encoded for its peer.
pub fn check(node: &NodeContext, message: &Message) -> Result<(), HandsetRefusal> {
    let plan = node.plan();
    let Some(peer_encoding) = plan.peer_encoding_of(message.queue) else {
        return Ok(());
    };
    let way = peer::way(message, peer_encoding);
    check_for(&plan, message, peer_encoding, way)?;
    match way {
        PeerTreatment::Divide => Ok(divide::divide(message, peer_encoding, 0).map(drop)?),
        PeerTreatment::Single | PeerTreatment::Gather => Ok(()),
    }
}

/// What a peer does not take in this way. Whether a text has too many parts is seen when it is divided.
fn check_for(
    plan: &Plan,
    message: &Message,
    peer_encoding: &PeerEncoding,
    way: PeerTreatment,
) -> Result<(), HandsetRefusal> {
    if let Some(gsm) = plan.gsm(message.queue)
        && way != PeerTreatment::Gather
    {
        // One that no rule can rewrite is refused when it is its turn, as an operator would refuse it.
        if let Ok(message) = rewrite::to_handset(&gsm.rewrite_out, message) {
            handset::check(&message, &gsm.handsets)?;
        }
    }
    match way {
        PeerTreatment::Single => divide::check(message, peer_encoding)?,
        PeerTreatment::Gather => divide::check_part(message, peer_encoding)?,
        PeerTreatment::Divide => {}
    }
    Ok(())
}

/// A routed message with its id, ready to be written.
pub struct Staged {
    dispatch: Dispatch,
    /// For a divided message, the parts that go to the queue instead.
    parts: Vec<Dispatch>,
    /// For an account that gets everything on two ways, the copy for the second one.
    copy: Option<Box<Dispatch>>,
    /// For a sender that hears of it, the copy that says that it waits.
    queued: Option<Box<Dispatch>>,
}

// === impl Staged ===

impl Staged {
    /// A message as it is.
    pub fn single(node: &NodeContext, message: Box<Message>) -> Self {
        Self {
            dispatch: dispatch(node, message),
            parts: Vec::new(),
            copy: None,
            queued: None,
        }
    }

    /// A message in the form that its queue's peer wants: whole, in parts, or in the queue where it
    /// waits for the rest of its text.
    ///
    /// # Errors
    /// It cannot be encoded for that peer.
    pub fn new(node: &NodeContext, message: Box<Message>) -> Result<Self, HandsetRefusal> {
        Self::copied(node, message, None)
    }

    fn copied(
        node: &NodeContext,
        message: Box<Message>,
        numbered: Option<LongMessages>,
    ) -> Result<Self, HandsetRefusal> {
        let original = copied_to(node, &message).map(|queue| (queue, message.clone()));
        let mut staged = Self::in_its_form(node, message, numbered)?;
        let is_gathered = |one: &Self| {
            let message = one.message();
            message.is_some_and(|message| message.queue == node.plan().assembly)
        };
        if let Some((queue, message)) = original
            // The whole is copied, when it is put together.
            && !is_gathered(&staged)
        {
            // After its parts: ids ascend.
            staged.copy = Some(Box::new(copy(node, queue, *message)));
        }
        let queued = staged
            .message()
            .and_then(|message| states::queued(node, message));
        staged.queued = queued.map(|copy| {
            let copy = states::in_order(copy, true);
            Box::new(dispatch(node, Box::new(copy)))
        });
        Ok(staged)
    }

    /// The whole of parts that were numbered this way. A peer that gets parts as they come gets its parts numbered so.
    ///
    /// # Errors
    /// It cannot be encoded for that peer.
    pub fn joined(
        node: &NodeContext,
        message: Box<Message>,
        numbered: LongMessages,
    ) -> Result<Self, HandsetRefusal> {
        Self::copied(node, message, Some(numbered))
    }

    /// Adds a copy for the second way of its account, if it has one.
    pub fn with_copy(mut self, node: &NodeContext) -> Self {
        let message = self.message();
        let copied = message.and_then(|message| Some((copied_to(node, message)?, message.clone())));
        self.copy = copied.map(|(queue, message)| Box::new(copy(node, queue, message)));
        self
    }

    /// The copy that says that it waits, as the store keeps it.
    fn queued(&self) -> Option<Message> {
        let copy = self.queued.as_deref().and_then(Dispatch::message)?;
        Some(states::in_order(copy.clone(), false))
    }

    /// The copy of it.
    pub fn copy(&self) -> Option<&Message> {
        self.copy.as_deref().and_then(Dispatch::message)
    }

    fn in_its_form(
        node: &NodeContext,
        mut message: Box<Message>,
        numbered: Option<LongMessages>,
    ) -> Result<Self, HandsetRefusal> {
        let plan = node.plan();
        let Some(peer_encoding) = plan.peer_encoding_of(message.queue) else {
            return Ok(Self::single(node, message));
        };
        let anew = numbered.filter(|_| peer_encoding.long == LongMessages::AsIs);
        let anew = anew.map(|long| PeerEncoding {
            long,
            ..peer_encoding.clone()
        });
        let peer_encoding = anew.as_ref().unwrap_or(peer_encoding);
        let way = peer::way(&message, peer_encoding);
        peer::note(&mut message, way, peer_encoding);
        check_for(&plan, &message, peer_encoding, way)?;
        match way {
            PeerTreatment::Single => {}
            PeerTreatment::Gather => message.queue = plan.assembly,
            PeerTreatment::Divide => {
                let now = clock::now_ms();
                let reference = node.reference(&message.source, &message.destination, now);
                let (parts, changed) = divide::divide(&message, peer_encoding, reference)?;
                node.metrics.characters_changed.inc_by(changed as u64);
                let ids: Vec<u64> = node.ids.take_anyway(now, parts.len()).collect();
                node.metrics.divided.inc();
                node.reserve_parts(message.sender, parts.len() as u64);
                let trace_context = traced::below_submission(&message);
                let part = |(part, id): (Message, &u64)| {
                    Box::new(Message {
                        id: *id,
                        trace_context: trace_context.clone(),
                        ..part
                    })
                };
                let parts = parts.into_iter().zip(&ids).map(part);
                let parts = parts.map(|part| dispatch(node, part)).collect();
                let composition: Composition = *message.composition.take().unwrap_or_default();
                message.composition = Some(Box::new(Composition {
                    sent_as: ids,
                    ..composition
                }));
                return Ok(Self {
                    dispatch: dispatch(node, message),
                    parts,
                    copy: None,
                    queued: None,
                });
            }
        }
        Ok(Self::single(node, message))
    }

    pub fn id(&self) -> u64 {
        self.dispatch.id()
    }

    /// The message itself.
    pub fn message(&self) -> Option<&Message> {
        self.dispatch.message()
    }

    /// Writes down what the message costs its sender.
    pub fn set_price(&mut self, price: impl FnOnce(&Message) -> u64) {
        if let Some(message) = self.dispatch.message_mut() {
            message.price = price(message);
        }
    }

    /// The parts that are sent instead of it.
    pub fn parts(&self) -> impl Iterator<Item = &Message> {
        self.parts.iter().filter_map(Dispatch::message)
    }

    /// Its id, those of its parts, and those of its copies.
    pub fn ids(&self) -> impl Iterator<Item = u64> {
        self.counted()
            .chain(self.queued.as_deref().map(Dispatch::id))
    }

    /// The ids that count for its sender: its own, those of its parts, and those of its copies.
    pub fn counted(&self) -> impl Iterator<Item = u64> {
        let more = self.parts.iter().chain(self.copy.as_deref());
        std::iter::once(self.id()).chain(more.map(Dispatch::id))
    }

    /// The store has accepted only some of its rows: the rest ends REJECTED and is not passed on.
    pub fn give_up(&self, node: &Arc<NodeContext>, rejected: &[u64]) {
        let now = clock::now_ms();
        let is_lost = |id: &u64| rejected.contains(id);
        let written: Vec<u64> = self.ids().filter(|id| !is_lost(id)).collect();
        let sender = self.message().map_or(0, |message| message.sender);
        let lost = self.counted().filter(is_lost);
        lost.for_each(|_| node.release(sender));
        if let Some(copy) = self.queued().filter(|copy| !is_lost(&copy.id)) {
            node.reserve_parts(copy.sender, 1);
        }
        if written.is_empty() {
            return;
        }
        let rejected = |id| Final {
            id,
            state: MessageState::Rejected.into(),
            at: now,
            ..Final::default()
        };
        let finals = written.into_iter().map(rejected).collect();
        let node = Arc::clone(node);
        actix::spawn(async move { final_state::write(&node, WriteBatch::default(), finals).await });
    }

    /// The dispatches to queues.
    pub fn dispatches_mut(&mut self) -> impl Iterator<Item = &mut Dispatch> {
        let own = if self.parts.is_empty() {
            std::slice::from_mut(&mut self.dispatch).iter_mut()
        } else {
            self.parts.iter_mut()
        };
        own.chain(self.copy.as_deref_mut())
            .chain(self.queued.as_deref_mut())
    }

    /// How many dispatches go to queues.
    pub fn dispatches(&self) -> usize {
        self.parts.len().max(1)
            + usize::from(self.copy.is_some())
            + usize::from(self.queued.is_some())
    }

    /// The dispatches to queues, to be passed on.
    pub fn into_dispatches(self, node: &NodeContext) -> impl Iterator<Item = Dispatch> + use<> {
        if let Some(copy) = self.queued.as_deref().and_then(Dispatch::message) {
            node.reserve_parts(copy.sender, 1);
        }
        let whole = self.parts.is_empty().then_some(self.dispatch);
        let copies = [self.copy, self.queued].into_iter().flatten();
        let copies = copies.map(|copy| *copy);
        whole.into_iter().chain(self.parts).chain(copies)
    }
}

/// All rows that must be durable before these messages are acknowledged. `divided` is the id that
/// stands for the parts of a divided message.
pub fn rows<'s>(
    staged: impl Iterator<Item = &'s Staged> + Clone,
    divided: u32,
    now: i64,
) -> WriteBatch {
    let mut batch = WriteBatch::default();
    batch.accept.reserve(staged.size_hint().0);
    let wholes = staged.clone().filter_map(Staged::message);
    batch.accept.extend(wholes.cloned());
    // Parts have higher ids than all wholes: ids must ascend.
    let has_more =
        |one: &&Staged| !one.parts.is_empty() || one.copy.is_some() || one.queued.is_some();
    for whole in staged.filter(has_more) {
        if !whole.parts.is_empty() {
            // Its parts carry it, like an operator that has accepted it.
            let row = handed_to(whole.id(), divided, Bytes::new(), now);
            batch.sent.push(row);
        }
        batch.accept.extend(whole.parts().cloned());
        batch.accept.extend(whole.copy().cloned());
        batch.accept.extend(whole.queued());
    }
    batch
}

/// The row of a message that other messages carry from now on: `theirs` names them.
pub fn handed_to(id: u64, carrier: u32, theirs: Bytes, now: i64) -> SentRow {
    SentRow {
        id,
        attempt: 1,
        at: now,
        operator: carrier,
        status: 0,
        operator_message_id: theirs,
        latency_ms: 0,
        bind: 0,
        correlation: 0,
        known_as: None,
    }
}

/// The queue for the copy of a message, if its account gets everything on two ways.
fn copied_to(node: &NodeContext, message: &Message) -> Option<u32> {
    let queue = node.plan().copies_of(message.queue)?;
    (message.kind() == Kind::Mo && message.copied.is_none()).then_some(queue)
}

/// A message a second time, for this queue.
fn copy(node: &NodeContext, queue: u32, message: Message) -> Dispatch {
    let id = node.ids.take_anyway(clock::now_ms(), 1).next();
    node.reserve_parts(message.sender, 1);
    let copied = Copied {
        of: message.id,
        receipt: false,
        report: None,
    };
    let copy = Message {
        // There is always one.
        id: id.unwrap_or_default(),
        queue,
        copied: Some(Box::new(copied)),
        trace_context: traced::below_submission(&message),
        composition: None,
        ..message
    };
    dispatch(node, Box::new(copy))
}

fn dispatch(node: &NodeContext, message: Box<Message>) -> Dispatch {
    let item = QueueItem {
        id: message.id,
        what: What::Message.into(),
        priority: message.priority,
        due_at: message.due_at,
        expires_at: message.expires_at,
        ..QueueItem::default()
    };
    Dispatch::new(node, message.queue, message, item)
}
