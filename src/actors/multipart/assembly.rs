//! Parts that wait for the rest of their message.
//!
//! The actor serves the queue `internal:assembly` like a session, on every delivering node, for the
//! partitions that the node owns, so that all parts for one subscriber come to one place. The parts are
//! durable in that queue; this actor only knows which of them belong together. When all parts are
//! there, one commit makes the whole durable and marks its parts as carried by it (their `sent` row
//! names the whole); from then on they end with the same state. Parts whose peer gets them written anew go on as they
//! came, if no character is cut and all fit. Parts also wait here for the first one of their text if
//! its keyword decides on the rule (`[[mo_rule]]`) that takes them; all go where that says. Invariant: no part is lost. Parts of an
//! incomplete message are passed on as they came, and after a restart the queue sends the waiting parts
//! again.

mod pass;

pub use self::pass::{Passed, move_on};

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use actix::{Actor, AsyncContext, Context, Handler, Supervised};
use bytes::Bytes;
use tokio::time::Instant;

use crate::actors::context::NodeContext;
use crate::actors::context::ports::{QueuePort, SessionPort};
use crate::actors::runtime::timed_mailbox::measured;
use crate::content;
use crate::pb::failed::Why;
use crate::pb::{DeliverBatch, Failed, Held, Message, ReportHeld, SessionDown, SettleBatch};
use crate::sms::reassemble::{Added, Assembler, Part};

const TICK: Duration = Duration::from_secs(1);

/// What parts of one message have in common: sender, both addresses, the reference and its width, and
/// the number of parts.
type Key = (u32, Bytes, Bytes, u16, bool, u8);

pub struct Assembly {
    node: Arc<NodeContext>,
    queue: Arc<QueuePort>,
    session: u64,
    waiting: Assembler<Key, Message>,
    /// Parts that are being written.
    leaving: HashMap<u64, Leaving, ahash::RandomState>,
    /// Parts that this session may hold.
    room: u32,
    joined: bool,
    /// For fingerprints, which are compared only within this process.
    hasher: ahash::RandomState,
    /// Parts wait for a duration, independent of the wall clock.
    started: Instant,
}

/// A part that is in a pending commit.
#[derive(Debug, Clone, Copy)]
struct Leaving {
    /// The session in which the commit was begun.
    session: u64,
    /// The session to which the queue has granted it again meanwhile, where it takes room.
    again: Option<u64>,
}

// === impl Assembly ===

impl Assembly {
    pub fn new(node: Arc<NodeContext>, queue: Arc<QueuePort>) -> Self {
        let (waiting, room) = empty(&node);
        Self {
            session: node.binds.next_session(),
            node,
            queue,
            waiting,
            leaving: HashMap::default(),
            room,
            joined: false,
            hasher: ahash::RandomState::new(),
            started: Instant::now(),
        }
    }

    fn join(&mut self, ctx: &mut Context<Self>) {
        let addr = ctx.address();
        let port = SessionPort::new(addr.clone().recipient(), addr.recipient());
        self.queue.serve(self.session, port, self.room);
        self.joined = true;
    }

    /// Gives everything back to the queue; without a lease, the new owners have it.
    fn leave(&mut self) {
        if !std::mem::take(&mut self.joined) {
            return;
        }
        self.queue.leave(self.session);
        self.queue.post(SessionDown {
            session: self.session,
        });
        let (waiting, room) = empty(&self.node);
        (self.waiting, self.room) = (waiting, room);
        self.session = self.node.binds.next_session();
    }

    fn may_work(&self) -> bool {
        self.node.local_lease.is_valid() && !self.node.draining.load(Ordering::Relaxed)
    }

    fn take(&mut self, message: Message, ctx: &mut Context<Self>) {
        // It was given back before its commit ended: the result of that commit counts for it.
        if let Some(leaving) = self.leaving.get_mut(&message.id) {
            leaving.again = Some(self.session);
            return;
        }
        let Some(concat) = content::part_of(&message) else {
            return match pass::is_too_long(&self.node, &message) {
                // It had to wait for its route; now it is divided for the peer.
                true => self.put_together(vec![message], ctx),
                // It came here because of an earlier configuration.
                false => self.pass(vec![message], ctx),
            };
        };
        let key = (
            message.sender,
            message.source.clone(),
            message.destination.clone(),
            concat.reference,
            concat.wide,
            concat.total,
        );
        let part = Part {
            total: concat.total,
            sequence: concat.sequence,
            fingerprint: self.fingerprint(&message),
            value: message,
        };
        match self.waiting.add(self.elapsed_ms(), key, part) {
            Added::Waiting => {}
            Added::Complete(parts) => self.put_together(parts, ctx),
            Added::Repeated(part) => self.end_repeated(vec![part], ctx),
            Added::Replaced { given_up } => self.give_up(given_up, ctx),
        }
        while self.waiting.is_over() {
            let Some(oldest) = self.waiting.evict() else {
                break;
            };
            self.give_up(oldest, ctx);
        }
    }

    fn elapsed_ms(&self) -> i64 {
        i64::try_from(self.started.elapsed().as_millis()).unwrap_or(i64::MAX)
    }

    fn put_together(&mut self, parts: Vec<Message>, ctx: &mut Context<Self>) {
        let ids = parts.iter().map(|part| part.id).collect();
        self.work(ids, pass::put_together(self.node(), parts), ctx);
    }

    fn give_up(&mut self, parts: Vec<Message>, ctx: &mut Context<Self>) {
        self.node.metrics.parts_given_up.inc_by(parts.len() as u64);
        self.pass(parts, ctx);
    }

    /// Parts that are here already, or were sent before: they are not delivered twice.
    fn end_repeated(&mut self, parts: Vec<Message>, ctx: &mut Context<Self>) {
        self.node.metrics.parts_repeated.inc_by(parts.len() as u64);
        let ids = parts.iter().map(|part| part.id).collect();
        self.work(ids, pass::repeated(self.node(), parts), ctx);
    }

    /// Passes parts on as they came.
    fn pass(&mut self, parts: Vec<Message>, ctx: &mut Context<Self>) {
        let ids = parts.iter().map(|part| part.id).collect();
        self.work(ids, pass::on(self.node(), self.queue.id, parts), ctx);
    }

    /// Runs work that ends in a commit, then settles these parts with their queue. It does not run
    /// inside the actor: it is finished, and its result reported here, even if the actor restarts.
    fn work(
        &mut self,
        ids: Vec<u64>,
        commit: impl Future<Output = Passed> + 'static,
        ctx: &mut Context<Self>,
    ) {
        let (session, again) = (self.session, None);
        let leaving = Leaving { session, again };
        self.leaving.extend(ids.iter().map(|id| (*id, leaving)));
        let own = ctx.address();
        actix::spawn(async move {
            let result = match commit.await {
                Passed::Done => settled(session, ids, Vec::new()),
                Passed::Not => settled(session, Vec::new(), ids),
            };
            // The address is valid as long as the process.
            let _ = own.send(result).await;
        });
    }

    /// Settles with the queue, for the session that holds the parts now.
    fn settle(&mut self, done: Vec<u64>, back: Vec<u64>) {
        let room = (done.len() + back.len()) as u32;
        self.queue.post(SettleBatch {
            room,
            ..settled(self.session, done, back)
        });
    }

    fn tick(&mut self, ctx: &mut Context<Self>) {
        if !self.may_work() {
            return self.leave();
        }
        if !self.joined {
            return self.join(ctx);
        }
        for set in self.waiting.expired(self.elapsed_ms()) {
            match set.repeated {
                true => self.end_repeated(set.parts, ctx),
                false => self.give_up(set.parts, ctx),
            }
        }
    }

    fn node(&self) -> Arc<NodeContext> {
        Arc::clone(&self.node)
    }

    /// A hash of the content of a part, to recognise a repeated one.
    fn fingerprint(&self, message: &Message) -> u64 {
        let said = (&message.short_message, &message.tlvs, message.data_coding);
        self.hasher.hash_one(said)
    }
}

/// The result of a commit, for parts that are done or must come again.
fn settled(session: u64, done: Vec<u64>, back: Vec<u64>) -> SettleBatch {
    let give_back = |id| Failed {
        id,
        why: Why::NotSent.into(),
        ..Failed::default()
    };
    SettleBatch {
        session,
        done,
        failed: back.into_iter().map(give_back).collect(),
        room: 0,
    }
}

fn empty(node: &NodeContext) -> (Assembler<Key, Message>, u32) {
    let config = &node.config().content;
    let timeout = i64::try_from(config.reassembly_timeout.as_millis()).unwrap_or(i64::MAX);
    let limit = config.reassembly_parts;
    // The queue may grant one part more than fits, so that the assembler knows when to give up the
    // oldest.
    let room = limit.saturating_add(1);
    (Assembler::new(limit as usize, timeout), room)
}

impl Drop for Assembly {
    fn drop(&mut self) {
        self.leave();
    }
}

// === messages ===

measured!(Assembly: DeliverBatch);

impl Actor for Assembly {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        ctx.run_interval(TICK, |assembly, ctx| assembly.tick(ctx));
        self.tick(ctx);
    }
}

impl Supervised for Assembly {
    fn restarting(&mut self, _: &mut Self::Context) {
        // The queue sends everything again.
        self.leave();
    }
}

impl Handler<DeliverBatch> for Assembly {
    type Result = ();

    fn handle(&mut self, batch: DeliverBatch, ctx: &mut Self::Context) {
        if !self.joined {
            // Granted before this session left; the queue has it back.
            return;
        }
        for message in batch.deliveries.into_iter().filter_map(|one| one.message) {
            self.take(*message, ctx);
        }
    }
}

impl Handler<SettleBatch> for Assembly {
    type Result = ();

    /// A commit of [`Assembly::work`] has ended.
    fn handle(&mut self, result: SettleBatch, _: &mut Self::Context) {
        let ids = result.done.iter().copied();
        let ids = ids.chain(result.failed.iter().map(|failed| failed.id));
        let held = |id: u64| {
            self.leaving
                .remove(&id)
                .map(|it| it.again.unwrap_or(it.session))
        };
        // Parts of an ended session take no room of this one.
        let room = ids
            .filter_map(held)
            .filter(|by| *by == self.session)
            .count() as u32;
        self.queue.post(SettleBatch {
            session: self.session,
            room,
            ..result
        });
    }
}

impl Handler<ReportHeld> for Assembly {
    type Result = ();

    /// Gives back the parts of leaving partitions; otherwise reports what is here.
    fn handle(&mut self, ask: ReportHeld, _: &mut Self::Context) {
        if !ask.give_back.is_empty() {
            let (node, queue) = (self.node(), self.queue.id);
            let goes = |part: &Message| {
                let part = node.part_of(queue, &part.destination);
                ask.give_back.contains(&u32::from(part))
            };
            let back: Vec<u64> = self
                .waiting
                .take_if(goes)
                .into_iter()
                .map(|part| part.id)
                .collect();
            return self.settle(Vec::new(), back);
        }
        let ids: Vec<u64> = self
            .waiting
            .values()
            .map(|part| part.id)
            .chain(self.leaving.keys().copied())
            .collect();
        self.queue.post(Held {
            session: self.session,
            room: self.room.saturating_sub(ids.len() as u32),
            ids,
        });
    }
}
