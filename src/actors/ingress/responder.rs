//! Answers messages of operators, and drops them, as their rules (`[[mo_rule]]`) say.
//!
//! The actor serves the queue `internal:responder` like a session, on every delivering node, for the partitions that
//! the node owns. The messages are durable in that queue. An answer is a submission of the rule's account, accepted as
//! any other one. Invariants: one commit makes the answer durable and ends the message, so that no message is
//! answered twice, and a message that was acknowledged is answered after a crash, too; what is never answered (a
//! machine, a short code, an own address) is decided before a token of the sender is taken.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use actix::{Actor, AsyncContext, Context, Handler, Supervised};

use self::answer::Job;
use super::ingest::Intake;
use crate::actors::context::NodeContext;
use crate::actors::context::ports::QueuePort;
use crate::actors::runtime::timed_mailbox::measured;
use crate::pb::{DeliverBatch, Held, ReportHeld, SettleBatch};

mod answer;

/// Batches that may wait in the mailbox; credit bounds the messages.
pub const MAILBOX: usize = 1024;
/// Messages that are being answered at once.
const WINDOW: u32 = 256;
const TICK: Duration = Duration::from_millis(250);

pub struct Responder {
    node: Arc<NodeContext>,
    intake: Arc<Intake>,
    /// Our session number at the queue.
    session: u64,
    queue: Option<Arc<QueuePort>>,
    /// Messages that are being worked on, and the session to which the queue has granted each last.
    working: HashMap<u64, u64, ahash::RandomState>,
}

// === impl Responder ===

impl Responder {
    pub fn new(node: Arc<NodeContext>, intake: Arc<Intake>) -> Self {
        Self {
            session: node.binds.next_session(),
            node,
            intake,
            queue: None,
            working: HashMap::default(),
        }
    }

    /// Begins to serve the queue as soon as it exists; ends when the node drains.
    fn tick(&mut self, ctx: &mut Context<Self>) {
        if self.node.draining.load(Ordering::Relaxed) {
            return self.leave();
        }
        if self.queue.is_some() {
            return;
        }
        let queue = self.node.plan().responder;
        let Some(port) = queue.and_then(|id| self.node.queue(id)) else {
            return;
        };
        port.serve(self.session, &ctx.address(), WINDOW);
        self.queue = Some(port);
    }

    fn leave(&mut self) {
        if let Some(queue) = self.queue.take() {
            queue.session_down(self.session);
            self.session = self.node.binds.next_session();
        }
    }

    /// Begins the work on a message. It does not run inside the actor: it is finished, and its result reported here,
    /// even if the actor restarts.
    fn take(&mut self, job: Job, ctx: &mut Context<Self>) {
        let id = job.message.id;
        // It was given back before its commit ended: the result of that commit counts for it.
        if self.working.insert(id, self.session).is_some() {
            return;
        }
        let own = ctx.address();
        let work = answer::carry_out(Arc::clone(&self.node), Arc::clone(&self.intake), job);
        actix::spawn(async move {
            let failed = work.await;
            // Room and session are set when the queue is told.
            let result = SettleBatch {
                done: failed.is_none().then_some(id).into_iter().collect(),
                failed: failed.into_iter().collect(),
                ..SettleBatch::default()
            };
            // The address is valid as long as the process.
            let _ = own.send(result).await;
        });
    }
}

// === messages ===

measured!(Responder: DeliverBatch);

impl Actor for Responder {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        ctx.set_mailbox_capacity(MAILBOX);
        ctx.run_interval(TICK, |responder, ctx| responder.tick(ctx));
        self.tick(ctx);
    }
}

impl Supervised for Responder {
    fn restarting(&mut self, _: &mut Self::Context) {
        // The queue sends everything again.
        self.leave();
    }
}

impl Handler<DeliverBatch> for Responder {
    type Result = ();

    fn handle(&mut self, batch: DeliverBatch, ctx: &mut Self::Context) {
        if self.queue.is_none() {
            // Granted before this session left; the queue has it back.
            return;
        }
        for delivery in batch.deliveries {
            let attempt = delivery.attempt;
            if let Some(message) = delivery.message {
                self.take(Job { message, attempt }, ctx);
            }
        }
    }
}

impl Handler<SettleBatch> for Responder {
    type Result = ();

    /// The work on one message has ended.
    fn handle(&mut self, result: SettleBatch, _: &mut Self::Context) {
        let ids = result.done.iter().copied();
        let ids = ids.chain(result.failed.iter().map(|failed| failed.id));
        // Messages of an ended session take no room of this one.
        let room = ids
            .filter_map(|id| self.working.remove(&id))
            .filter(|by| *by == self.session)
            .count() as u32;
        let queue = self.node.plan().responder;
        if let Some(queue) = queue.and_then(|id| self.node.queue(id)) {
            queue.post(SettleBatch {
                session: self.session,
                room,
                ..result
            });
        }
    }
}

impl Handler<ReportHeld> for Responder {
    type Result = ();

    fn handle(&mut self, ask: ReportHeld, _: &mut Self::Context) {
        // What is being worked on cannot be given back, and is settled in a moment.
        let Some(queue) = self.queue.as_ref().filter(|_| ask.give_back.is_empty()) else {
            return;
        };
        let ids: Vec<u64> = self.working.keys().copied().collect();
        queue.post(Held {
            session: self.session,
            room: WINDOW.saturating_sub(ids.len() as u32),
            ids,
            question: ask.question,
            ..Held::default()
        });
    }
}
