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
//! again. What waits and what is being written is bounded in octets.

mod pass;
mod waiting;

pub use self::pass::{CommitOutcome, move_on};

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use actix::{Actor, AsyncContext, Context, Handler, Supervised};
use tokio::time::Instant;

use self::waiting::WaitingParts;
use crate::actors::context::NodeContext;
use crate::actors::context::ports::QueuePort;
use crate::actors::runtime::timed_mailbox::measured;
use crate::content;
use crate::pb::{DeliverBatch, Failed, Held, Message, ReportHeld, SettleBatch};
use crate::sms::reassemble::{Added, TextPart};

const TICK: Duration = Duration::from_secs(1);

pub struct Assembly {
    node: Arc<NodeContext>,
    queue: Arc<QueuePort>,
    session: u64,
    waiting: WaitingParts,
    /// Parts that are being written.
    leaving: HashMap<u64, LeavingPart, ahash::RandomState>,
    /// Their octets.
    leaving_octets: u64,
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
struct LeavingPart {
    /// The session in which the commit was begun.
    session: u64,
    /// The session to which the queue has granted it again meanwhile, where it takes room.
    again: Option<u64>,
    octets: u64,
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
            leaving_octets: 0,
            room,
            joined: false,
            hasher: ahash::RandomState::new(),
            started: Instant::now(),
        }
    }

    fn join(&mut self, ctx: &mut Context<Self>) {
        self.queue.serve(self.session, &ctx.address(), self.room);
        self.joined = true;
    }

    /// Gives everything back to the queue; without a lease, the new owners have it.
    fn leave(&mut self) {
        if !std::mem::take(&mut self.joined) {
            return;
        }
        self.queue.session_down(self.session);
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
            return if pass::is_too_long(&self.node, &message) {
                // It had to wait for its route; now it is divided for the peer.
                self.put_together(vec![message], ctx)
            } else {
                // It came here because of an earlier configuration.
                self.pass(vec![message], ctx)
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
        let part = TextPart {
            total: concat.total,
            sequence: concat.sequence,
            fingerprint: self.fingerprint(&message),
            holder: message.sender,
            value: message,
        };
        match self.waiting.add(self.elapsed_ms(), key, part) {
            Added::Waiting => {}
            Added::Complete(parts) => self.put_together(parts, ctx),
            Added::Repeated(part) => self.end_repeated(vec![part], ctx),
            Added::Replaced { given_up } => self.give_up(given_up, ctx),
        }
        while let Some(oldest) = self.waiting.evict() {
            self.give_up(oldest, ctx);
        }
    }

    fn elapsed_ms(&self) -> i64 {
        i64::try_from(self.started.elapsed().as_millis()).unwrap_or(i64::MAX)
    }

    fn put_together(&mut self, parts: Vec<Message>, ctx: &mut Context<Self>) {
        self.work(parts, pass::put_together, ctx);
    }

    fn give_up(&mut self, parts: Vec<Message>, ctx: &mut Context<Self>) {
        self.node.metrics.parts_given_up.inc_by(parts.len() as u64);
        self.pass(parts, ctx);
    }

    /// Parts that are here already, or were sent before: they are not delivered twice.
    fn end_repeated(&mut self, parts: Vec<Message>, ctx: &mut Context<Self>) {
        self.node.metrics.parts_repeated.inc_by(parts.len() as u64);
        self.work(parts, pass::repeated, ctx);
    }

    /// Passes parts on as they came.
    fn pass(&mut self, parts: Vec<Message>, ctx: &mut Context<Self>) {
        let from = self.queue.id;
        self.work(parts, move |node, parts| pass::on(node, from, parts), ctx);
    }

    /// Runs work that ends in a commit, then settles these parts with their queue. It does not run
    /// inside the actor: it is finished, and its result reported here, even if the actor restarts. While as many octets
    /// are being written as may wait, because the store is slow, these parts go back to their queue instead.
    fn work<F: Future<Output = CommitOutcome> + 'static>(
        &mut self,
        parts: Vec<Message>,
        commit: impl FnOnce(Arc<NodeContext>, Vec<Message>) -> F,
        ctx: &mut Context<Self>,
    ) {
        let session = self.session;
        let mut ids = Vec::with_capacity(parts.len());
        let has_room = self.leaving_octets <= self.waiting.most();
        for part in &parts {
            let octets = if has_room { part.weight() } else { 0 };
            let leaving = LeavingPart {
                session,
                again: None,
                octets,
            };
            self.leaving_octets += octets;
            self.leaving.insert(part.id, leaving);
            ids.push(part.id);
        }
        let commit = has_room.then(|| commit(self.node(), parts));
        let own = ctx.address();
        actix::spawn(async move {
            let passed = match commit {
                Some(commit) => commit.await,
                None => pass::no_room().await,
            };
            let result = match passed {
                CommitOutcome::Done => settled(session, ids, Vec::new()),
                CommitOutcome::Not => settled(session, Vec::new(), ids),
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
            if set.repeated {
                self.end_repeated(set.parts, ctx);
            } else {
                self.give_up(set.parts, ctx);
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
    SettleBatch {
        session,
        done,
        failed: back.into_iter().map(Failed::not_sent).collect(),
        ..SettleBatch::default()
    }
}

fn empty(node: &NodeContext) -> (WaitingParts, u32) {
    let config = &node.config().content;
    // The queue may grant one part more than fits, so that it is known when to give up the oldest.
    let room = config.reassembly_parts.saturating_add(1);
    (WaitingParts::new(config), room)
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
            let leaving = self.leaving.remove(&id)?;
            self.leaving_octets -= leaving.octets;
            Some(leaving.again.unwrap_or(leaving.session))
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
        let leaving = self.leaving.keys().copied();
        let ids: Vec<u64> = self.waiting.ids().chain(leaving).collect();
        self.queue.post(Held {
            session: self.session,
            room: self.room.saturating_sub(ids.len() as u32),
            ids,
            question: ask.question,
            ..Held::default()
        });
    }
}
