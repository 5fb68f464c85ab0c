//! The queue of one destination: an operator, or an account's receipts and MO.
//!
//! Sessions pull by credit: a session says how many more messages it can take, and the queue answers with a
//! batch for which Throttle has granted tokens. Memory holds the ids of waiting messages (16 octets each,
//! spilled to disk beyond a limit) and the bodies of those at the front; the other bodies stay in the store.
//! A message given to a session is *held* until the session settles it. The store is authoritative: a
//! restarted queue reads its waiting messages from the store and asks its sessions what they hold before it
//! grants again.
//!
//! ```text
//! who                      what comes in                          what goes out
//! Ingest, other queues     Enqueue                             →  (waits)
//! sessions                 Credit, SettleBatch, SessionDown    →  DeliverBatch to a session
//!   of the resolver        ResolvedBatch                       →  Enqueue to another queue
//!   of a GSM network       SubscriberReady                     →  DeliverBatch
//! after a restart          Held                                ←  ReportHeld to all sessions
//! store, by a count        AttemptsWritten                     →  DeliverBatch
//! Throttle                 TakenTokens                         ←  TakeTokens
//! administrators, ESMEs    QueueCommand                        →  QueueCommandReply
//! cluster                  Adopt-, Release-, DisownPartitions
//! janitor                  Compare, Missed                     →  Compared
//! Supervisor               PlanChanged                         →  (ends a rest)
//! timer                                                        →  a snapshot in the QueuePort
//! ```
//!
//! The actor holds the parts. Each has one invariant and knows neither the actor nor the other parts:
//!
//! - `backlog`: which messages wait, and in which order; each item is in one place;
//! - `in_flight`: messages that sessions hold, and attempts of unknown outcome; a message is with one
//!   session at a time, and no more attempts are unwritten than a crash may repeat;
//! - `in_order`: strict order, where an operator wants it: nothing overtakes a message that failed for now;
//! - `suspects`: what may have ended its session; it is tried alone, and so counts for itself only;
//! - `trial`: whether a suspect is to blame or its peer, where others may not pass it;
//! - `sessions`: the sessions that serve the queue; none is given more than it has room for;
//! - `tokens`: the rate; a token is used once, and before it expires;
//! - `guard`: presence, circuit breaker and pace of the operator, and what routing knows of them;
//! - `recovery`: whether the lists match the store; nothing is granted before they do;
//! - `late_holds`: what sessions have reported too late, until the lists have it; nobody else is granted it;
//! - `leaving`: partitions that go to another node as soon as no session holds a message of theirs;
//! - `timer`: when the queue ticks next, ten times a second or, while it rests, once;
//! - `under_way`: pending requests to the store; an answer for lists that were discarded is dropped.
//!
//! Credit, tokens and messages in flight are separate parts because each bounds a grant by itself, and they
//! change at different times. What the actor does with the parts is in `actions`.
//!
//! This room exports [`dispatch`], which brings items into a queue on any node, and [`seeds`], which reads
//! the active messages of queues from the store. Imports `runtime`, `context` and `receipts`.

mod actions;
mod backlog;
mod caution;
pub mod dispatch;
mod guard;
mod in_flight;
mod in_order;
mod late_holds;
mod leaving;
mod misses;
mod overlap;
mod partition_set;
mod recovery;
pub mod seeds;
mod sessions;
mod suspects;
mod timer;
mod tokens;
mod transfer_order;
mod trial;
mod under_way;
pub mod unknown;

use std::sync::Arc;

use actix::{
    Actor, ActorFutureExt, Context, Handler, MessageResult, ResponseActFuture, Supervised,
    WrapFuture,
};
use tokio::time::Instant;

pub use self::backlog::items_of;

use self::backlog::Backlog;
use self::dispatch::Dispatch;
use self::guard::{Guard, Load};
use self::in_flight::QueueInFlight;
use self::in_order::InOrder;
use self::late_holds::LateHolds;
use self::leaving::Leaving;
use self::recovery::Recovery;
use self::sessions::Sessions;
use self::suspects::Suspects;
use self::timer::QueueTimer;
use self::tokens::QueueTokens;
use self::trial::Trial;
use self::under_way::StoreRequests;
use crate::actors::context::NodeContext;
use crate::actors::context::item::{Item, Seed};
use crate::actors::context::messages::{AdoptPartitions, AttemptsWritten, Compare, Missed};
use crate::actors::context::octets::OctetShare;
use crate::actors::context::ports::{QueueKind, QueuePort};
use crate::actors::runtime::in_turn::InTurn;
use crate::actors::runtime::timed_mailbox::measured;
use crate::clock;
use crate::domain::queue_name::QueueName;
use crate::pb::{
    Credit, DisownPartitions, Enqueue, Held, PlanChanged, QueueCommand, QueueItem,
    ReleasePartitions, ResolvedBatch, SessionDown, SettleBatch, SubscriberReady,
};

/// Batches that may wait in the mailbox: enqueued messages, settlements and credits.
pub const MAILBOX: usize = 8192;

/// The actor of one destination.
pub struct Queue {
    node: Arc<NodeContext>,
    port: Arc<QueuePort>,
    backlog: Backlog,
    in_flight: QueueInFlight,
    in_order: InOrder,
    suspects: Suspects,
    trial: Trial,
    sessions: Sessions,
    tokens: QueueTokens,
    guard: Guard,
    recovery: Recovery,
    late_holds: LateHolds,
    leaving: Leaving,
    timer: QueueTimer,
    under_way: StoreRequests,
    /// The memory that its bodies may take.
    bodies: OctetShare,
    /// Messages for other queues, in order while they are written.
    passing: InTurn<Vec<Dispatch>>,
    /// Set while a purge runs: who ordered it.
    purging: Option<String>,
    counters: QueueCounters,
}

/// Counts since the process started.
#[derive(Debug, Default)]
struct QueueCounters {
    enqueued: u64,
    granted: u64,
    delivered: u64,
    failed: u64,
    retried: u64,
    expired: u64,
    /// Messages and receipts that ended because they ended sessions.
    ended_sessions: u64,
}

// === impl Queue ===

impl Queue {
    /// A queue with the messages that the store had for it when the process started.
    pub fn new(node: Arc<NodeContext>, port: Arc<QueuePort>, seeds: Vec<Seed>) -> Self {
        let mut queue = Self::empty(node, port);
        seeds.into_iter().for_each(|seed| queue.plant(seed));
        queue.publish();
        queue
    }

    /// A queue with empty lists, of which nobody knows yet.
    fn empty(node: Arc<NodeContext>, port: Arc<QueuePort>) -> Self {
        let under_way = StoreRequests::new(node.local_lease.generation());
        let plan = node.plan();
        let is_in_order = plan.is_in_order(port.id);
        let backlog = Backlog::new(port.kind != QueueKind::Account, is_in_order, &plan);
        drop(plan);
        let bodies = node.bodies.holder(port.id);
        let mut queue = Self {
            node,
            port,
            backlog,
            in_flight: QueueInFlight::default(),
            in_order: InOrder::default(),
            suspects: Suspects::default(),
            trial: Trial::default(),
            sessions: Sessions::default(),
            tokens: QueueTokens::default(),
            guard: Guard::new(),
            recovery: Recovery::default(),
            late_holds: LateHolds::default(),
            leaving: Leaving::default(),
            timer: QueueTimer::default(),
            under_way,
            bodies,
            passing: InTurn::default(),
            purging: None,
            counters: QueueCounters::default(),
        };
        if QueueName::parse(&queue.port.name).is_handsets() {
            queue.backlog.want_subscribers();
            queue.backlog.keep_places();
        }
        queue.make_room(0);
        queue
    }

    fn len(&self) -> usize {
        self.backlog.len() + self.in_flight.len()
    }

    fn is_operator(&self) -> bool {
        self.port.kind != QueueKind::Account
    }

    /// The node context, for futures that outlive a borrow of the queue.
    fn node(&self) -> Arc<NodeContext> {
        Arc::clone(&self.node)
    }

    /// Takes a durable message into the lists; keeps its body while the page has room.
    fn take_in(&mut self, queued: QueueItem, now: i64) {
        self.counters.enqueued += 1;
        let item = Item::of(&queued);
        self.recovery.came(&item);
        if queued.due_at > now {
            let longest = self.node.plan().longest_pause;
            return self.backlog.postpone(item, queued.due_at, longest);
        }
        match queued.message {
            Some(message) => {
                if let Some(line) = self.line() {
                    line.join(&message.destination, item.part, item.id);
                }
                let page = self.node.config().queue.page;
                self.backlog.accept(item, message, page);
            }
            None => self.backlog.push_back(item),
        }
    }

    fn tick(&mut self, ctx: &mut Context<Self>) {
        self.look_around(ctx);
        self.publish();
    }

    /// Does what is due, and takes in what others have changed.
    fn look_around(&mut self, ctx: &mut Context<Self>) {
        let now = clock::now_ms();
        self.backlog
            .look_after(&self.node.plan(), self.counters.granted);
        self.backlog.wake_due(now, Instant::now());
        self.recovery.look_after();
        self.hold_what_came(Vec::new(), ctx);
        self.expire(now, ctx);
        self.give_up_unsure(now, ctx);
        self.spill(ctx);
        self.tidy_room();
        self.read_subscribers(ctx);
        self.watch_target();
        self.watch_failover(ctx);
        self.watch_order(ctx);
        self.check_released(ctx);
        self.pump(ctx);
        self.tidy_line(now);
    }

    /// Updates the guard with the operator's presence, and routing with its health.
    fn watch_target(&mut self) {
        let load = Load {
            scheduled: self.backlog.scheduled_len(),
            is_busy: !self.backlog.has_empty_lists() || self.in_flight.held_len() > 0,
            granted: self.counters.granted,
        };
        self.guard.watch(&self.node, &self.port, &load);
    }
}

// === messages ===

measured!(Queue: Enqueue, Credit, SettleBatch, SessionDown, Held, ResolvedBatch);

impl Actor for Queue {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        ctx.set_mailbox_capacity(MAILBOX);
        self.set_timer(false, ctx);
        self.begin_recovery(ctx);
    }
}

impl Supervised for Queue {
    fn restarting(&mut self, _: &mut Self::Context) {
        let mut before = self.renew();
        self.under_way.drop_writes();
        self.pass_on_rest();
        self.want_recovery(&mut before);
    }
}

impl Handler<Enqueue> for Queue {
    type Result = ();

    fn handle(&mut self, batch: Enqueue, ctx: &mut Self::Context) {
        self.stir(ctx);
        let now = clock::now_ms();
        self.make_room(batch.items.len());
        let local_lease = Arc::clone(&self.node.local_lease);
        let ownership = local_lease.hold();
        for item in batch.items {
            let term = ownership.term(self.port.id, item.part as u8);
            if !self.recovery.is_news(&item, term) {
                continue;
            }
            if let Some(message) = &item.message {
                // The message was moved here after an attempt in another queue.
                self.trace_wait(item.attempts as u16, item.what(), message, ctx);
            }
            if self.recovery.is_running() {
                self.take_in(item, now);
            } else {
                self.recovery.keep(item);
            }
        }
        drop(ownership);
        self.pump(ctx);
    }
}

impl Handler<Credit> for Queue {
    type Result = ();

    fn handle(&mut self, credit: Credit, ctx: &mut Self::Context) {
        self.stir(ctx);
        if credit.retire {
            return self.sessions.remove(credit.session);
        }
        self.sessions
            .add_room(&self.port, credit.session, credit.joined, credit.room);
        self.watch_target();
        self.pump(ctx);
    }
}

impl Handler<AttemptsWritten> for Queue {
    type Result = ();

    fn handle(&mut self, _: AttemptsWritten, ctx: &mut Self::Context) {
        self.stir(ctx);
        self.pump(ctx);
    }
}

impl Handler<SettleBatch> for Queue {
    type Result = ();

    fn handle(&mut self, batch: SettleBatch, ctx: &mut Self::Context) {
        self.stir(ctx);
        let Some(batch) = self.recovery.settled(batch) else {
            return;
        };
        self.settle(batch, ctx);
        self.check_released(ctx);
        self.pump(ctx);
    }
}

impl Handler<SubscriberReady> for Queue {
    type Result = ();

    fn handle(&mut self, ready: SubscriberReady, ctx: &mut Self::Context) {
        self.stir(ctx);
        self.subscriber_ready(ready, ctx);
    }
}

impl Handler<SessionDown> for Queue {
    type Result = ();

    fn handle(&mut self, down: SessionDown, ctx: &mut Self::Context) {
        self.stir(ctx);
        self.session_down(down.session, ctx);
        self.check_released(ctx);
    }
}

impl Handler<Held> for Queue {
    type Result = ();

    fn handle(&mut self, held: Held, ctx: &mut Self::Context) {
        self.stir(ctx);
        self.held_reported(held, ctx);
    }
}

impl Handler<ResolvedBatch> for Queue {
    type Result = ();

    fn handle(&mut self, batch: ResolvedBatch, ctx: &mut Self::Context) {
        self.stir(ctx);
        self.resolved(batch, ctx);
    }
}

impl Handler<QueueCommand> for Queue {
    type Result = MessageResult<QueueCommand>;

    fn handle(&mut self, command: QueueCommand, ctx: &mut Self::Context) -> Self::Result {
        self.stir(ctx);
        let reply = self.command(&command, ctx);
        self.publish();
        MessageResult(reply)
    }
}

impl Handler<AdoptPartitions> for Queue {
    type Result = ();

    fn handle(&mut self, adopted: AdoptPartitions, ctx: &mut Self::Context) {
        self.stir(ctx);
        self.adopt(adopted, ctx);
    }
}

impl Handler<ReleasePartitions> for Queue {
    type Result = ResponseActFuture<Self, ()>;

    fn handle(&mut self, release: ReleasePartitions, ctx: &mut Self::Context) -> Self::Result {
        self.stir(ctx);
        let released = self.release(release, ctx);
        Box::pin(released.into_actor(self).map(|_, _, _| ()))
    }
}

impl Handler<DisownPartitions> for Queue {
    type Result = ();

    fn handle(&mut self, _: DisownPartitions, ctx: &mut Self::Context) {
        self.stir(ctx);
        self.disown();
    }
}

impl Handler<PlanChanged> for Queue {
    type Result = ();

    fn handle(&mut self, _: PlanChanged, ctx: &mut Self::Context) {
        self.stir(ctx);
    }
}

impl Handler<Compare> for Queue {
    type Result = MessageResult<Compare>;

    fn handle(&mut self, compare: Compare, _: &mut Self::Context) -> Self::Result {
        MessageResult(self.compare(compare.expected))
    }
}

impl Handler<Missed> for Queue {
    type Result = u64;

    fn handle(&mut self, missed: Missed, ctx: &mut Self::Context) -> u64 {
        self.stir(ctx);
        self.missed(missed, ctx)
    }
}

#[cfg(test)]
mod tests;
