//! The connection of this node to a GSM network: brings messages to its handsets, and takes theirs.
//!
//! What the network speaks is its core (`core`); the delivery of messages, here and in most files beside it, is one for all.
//! One on each delivering node for each `[[gsm]]`; it runs under `supervise` and comes back after the pauses of its
//! configuration. While it is ready it serves the queue `gsm:NAME` as a bind serves that of an operator, so only nodes
//! whose connection is up hold partitions of it. Where `ipa_name` is the same on all nodes, the one that holds the lease
//! of that name is connected, and the others stand by. There are two custodies: what the queue has not granted is the
//! queue's; what it has granted is the interface's, is settled on its result, and goes back *in order* when the
//! connection ends.
//!
//! Invariants: of one subscriber one MT-forwardSM is under way, because an MSC answers with references of its own, and
//! the next one goes when the result of the one before is durable, so that a crash repeats one at most; each
//! request has its own time limit, because an MSC that pages in vain says nothing; what comes for a subscriber that was
//! not reached waits behind what was tried (`absent`); nothing is sent without the lease, nor before it is known that
//! answers come to this connection (`naming`).

mod absent;
mod core;
mod culprits;
mod delivery;
mod enquiry;
mod exchange;
mod faults;
mod firewall;
mod gateways;
mod gsup;
mod hlr;
mod home_routing;
mod incoming;
mod life;
mod lines;
mod log_pace;
mod map;
mod naming;
mod partly;
mod relay;
mod repeated;
mod report_pace;
mod results;
mod work;

use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use actix::{Actor, ActorContext, Addr, ArbiterHandle, AsyncContext, Context, Handler, Supervised};
use ahash::AHashSet;
use bytes::BytesMut;
use tokio::time::Instant;

use self::absent::Absent;
use self::core::NetworkCore;
use self::culprits::Culprits;
use self::exchange::HandsetSubmission;
use self::faults::Faults;
use self::lines::Lines;
use self::log_pace::LogPace;
use self::naming::Naming;
use self::partly::Partly;
use self::report_pace::ReportPace;
use self::work::Work;
use crate::actors::context::NodeContext;
use crate::actors::context::binds::BindPort;
use crate::actors::context::plan::GsmPlan;
use crate::actors::context::ports::QueuePort;
use crate::actors::ingress::ingest::{Accepted, Ingest};
use crate::actors::routing::resolver::Imsis;
use crate::actors::runtime::in_turn::InTurn;
use crate::actors::runtime::link::Linked;
use crate::actors::runtime::locks::lock;
use crate::actors::runtime::supervise::{self, AfterStop, Escalate, Health};
use crate::actors::runtime::timed_mailbox::measured;
use crate::actors::session::core::{MAILBOX, TICK};
use crate::actors::session::served_queue::ServedQueue;
use crate::map::{MtCorrelation, RoutingQuestion};
use crate::pb::bind_command::Verb;
use crate::pb::{
    BindCommand, BindDirection, BindSnapshot, BindState, DeliverBatch, ReceiptReply, ReportHeld,
    ResultCount, Sent, Submission,
};
use crate::telemetry::metrics::GsmMeter;

/// The queue is asked for so many times as much as is under way at once: of several messages to one subscriber, one is.
const AHEAD: u32 = 4;
/// Until a subscriber that gets nothing for now is tried again.
const BUSY: Duration = Duration::from_secs(2);
/// Messages of handsets that may wait for their commit before the socket is read again.
const INTAKE: usize = 4096;
/// Requests in a second that the firewall has found and that are written into the log whole.
const MIRRORED: u64 = 50;

/// What it takes to start the connection to a network.
#[derive(Clone)]
pub struct GsmOptions {
    pub node: Arc<NodeContext>,
    pub ingest: Addr<Ingest>,
    /// What is known about IMSIs now: it may be more than a message says that has waited for long.
    pub imsis: Arc<Imsis>,
    /// The interned name of the network, which is also that of its queue.
    pub gsm: u32,
    pub escalate: Escalate,
}

/// The connection to one GSM network.
pub struct GsmInterface {
    options: GsmOptions,
    node: Arc<NodeContext>,
    health: Arc<Health>,
    port: Arc<BindPort>,
    snapshot: BindSnapshot,
    meter: GsmMeter,
    plan: Option<Arc<GsmPlan>>,
    core: NetworkCore,
    served: ServedQueue,
    lines: Lines<Work>,
    /// Messages whose MT-forwardSM waits for its answer.
    under_way: AHashSet<u64>,
    /// The subscribers of messages that have arrived, until that is durable: a crash may repeat one message of each.
    unwritten: HashMap<u64, String>,
    /// The core has no room for another message before something comes of it, or its next tick.
    is_full: bool,
    absent: Absent,
    culprits: Culprits,
    faults: Faults,
    /// By subscriber, what was given up and may still be answered.
    given_up: HashMap<String, GivenUp>,
    partly: Partly,
    /// What the current socket read has delivered.
    sent: Vec<Sent>,
    /// Messages of handsets of the current socket read, with their requests; and how many wait for their commit.
    submissions: Vec<(Submission, HandsetSubmission)>,
    intake: usize,
    /// Messages of the current socket read that other service centres bring for our subscribers.
    forwards: Vec<(Submission, HandsetSubmission)>,
    /// Held once by this, and once by each status report of another service centre that is here.
    relayed: Arc<()>,
    report_pace: ReportPace,
    /// Questions where our subscribers are, with the ids that are to be told; and whether other nodes are being told of some.
    /// Each waits in a dialogue, of which there are not many.
    routings: Vec<(RoutingQuestion, MtCorrelation)>,
    is_telling: bool,
    /// By subscriber, how many of its messages wait for their commit.
    storing: HashMap<String, u32>,
    /// Look-ups for messages that may be held already.
    looking: usize,
    /// Batches that go to their queues in the order in which they came.
    accepted: InTurn<Accepted>,
    /// Failed connections since the last that has lasted.
    failures: u32,
    naming: Naming,
    /// When it is to connect again.
    due_at: Option<Instant>,
    /// Since when another node has the name that all have.
    standing_by_since: Option<Instant>,
    /// Since when requests under way are waited for, so that the connection can end.
    leaving_since: Option<Instant>,
    /// It has left its queue in this tick: what that has granted meanwhile would be taken twice if it joined again at once.
    has_withdrawn: bool,
    /// When it is logged what cannot be read, what the firewall has found, what of that is mirrored, and that other nodes do not
    /// hear of ids.
    malformed: LogPace,
    found: LogPace,
    mirrored: LogPace,
    untold: LogPace,
    /// Connections over MAP that were begun: what belongs to an earlier one is not wanted.
    starts: u64,
    /// Of the tasks of signalling gateways, by address.
    gateways: HashMap<String, Arc<Health>>,
}

/// The last TPDU of a message whose answer did not come in time.
struct GivenUp {
    work: Work,
    since: Instant,
}

// === impl GsmOptions ===

impl GsmOptions {
    /// Starts the connection on an arbiter; gives its session number.
    pub fn start(self, arbiter: &ArbiterHandle) -> u64 {
        let health = Health::new(format!("{} connection", self.node.name_of(self.gsm)));
        self.node.watch(Arc::clone(&health));
        let port = BindPort::new(self.node.binds.next_session(), Some(Arc::clone(&health)));
        port.owner.store(self.gsm, Ordering::Relaxed);
        let (addr, slot) = supervise::slot::<GsmInterface>(MAILBOX);
        port.listen(addr.clone().recipient());
        *lock(&port.replies) = Some(addr.recipient());
        self.node.binds.add(Arc::clone(&port));
        let (session, escalate) = (port.session, Arc::clone(&self.escalate));
        let for_actor = Arc::clone(&health);
        slot.start(arbiter, health, escalate, move || {
            GsmInterface::new(self, for_actor, port)
        });
        session
    }
}

// === impl GsmInterface ===

impl GsmInterface {
    fn new(options: GsmOptions, health: Arc<Health>, port: Arc<BindPort>) -> Self {
        let node = Arc::clone(&options.node);
        let plan = node.plan().gsm(options.gsm).cloned();
        let core = NetworkCore::new(&node, plan.as_deref());
        let snapshot = BindSnapshot {
            session: port.session,
            name: plan
                .as_ref()
                .map_or_else(String::new, |plan| plan.config.name.clone()),
            direction: BindDirection::Gsm.into(),
            bind_type: core.protocol().to_owned(),
            queue: node.name_of(options.gsm),
            ..BindSnapshot::default()
        };
        let served = ServedQueue::new(&node, port.session, "mt_forward_sm");
        Self {
            meter: node.metrics.gsm(&snapshot.name),
            core,
            options,
            node,
            health,
            port,
            snapshot,
            plan,
            served,
            lines: Lines::default(),
            under_way: AHashSet::new(),
            unwritten: HashMap::new(),
            is_full: false,
            absent: Absent::default(),
            culprits: Culprits::default(),
            faults: Faults::default(),
            given_up: HashMap::new(),
            partly: Partly::default(),
            sent: Vec::new(),
            submissions: Vec::new(),
            intake: 0,
            forwards: Vec::new(),
            relayed: Arc::default(),
            report_pace: ReportPace::default(),
            routings: Vec::new(),
            is_telling: false,
            storing: HashMap::new(),
            looking: 0,
            accepted: InTurn::default(),
            failures: 0,
            naming: Naming::default(),
            due_at: None,
            standing_by_since: None,
            leaving_since: None,
            has_withdrawn: false,
            malformed: LogPace::default(),
            found: LogPace::default(),
            mirrored: LogPace::of(MIRRORED),
            untold: LogPace::default(),
            starts: 0,
            gateways: HashMap::new(),
        }
    }

    fn queue(&self) -> Option<Arc<QueuePort>> {
        self.node.queue(self.options.gsm)
    }

    /// Whether messages may be sent.
    fn is_ready(&self) -> bool {
        self.core.is_ready()
    }

    fn publish(&mut self) {
        self.snapshot.restarts = self.health.restarts();
        self.snapshot.name_taken = self.naming.is_taken();
        let window = self.plan.as_ref().map_or(0, |plan| plan.config.window);
        self.snapshot.window = window;
        self.snapshot.in_flight = self.under_way.len() as u32;
        self.port.snapshot.update(&self.snapshot);
    }

    /// Counts the result of an MT-forwardSM; 0 when it has arrived.
    fn count_result(&mut self, status: u32) {
        count(&mut self.snapshot.results, status);
    }

    fn state(&mut self, state: BindState) {
        self.snapshot.state = state.into();
        self.publish();
    }
}

fn count(counts: &mut Vec<ResultCount>, result: u32) {
    match counts.binary_search_by_key(&result, |one| one.result) {
        Ok(at) => counts[at].count += 1,
        Err(at) => counts.insert(at, ResultCount { result, count: 1 }),
    }
}

impl Drop for GsmInterface {
    fn drop(&mut self) {
        self.leave();
        self.node.binds.remove(self.port.session);
    }
}

measured!(GsmInterface: DeliverBatch);

impl Actor for GsmInterface {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        ctx.set_mailbox_capacity(MAILBOX);
        if self.plan.is_none() || self.node.draining.load(Ordering::Relaxed) {
            self.state(BindState::Closed);
            self.health.after_stop(AfterStop::End);
            return ctx.stop();
        }
        let wakes = self.health.wakes();
        if self.port.suspended.load(Ordering::Relaxed) {
            return self.pause(wakes, ctx);
        }
        ctx.run_interval(TICK, |interface, ctx| interface.tick(ctx));
        self.connect(ctx);
    }

    fn stopped(&mut self, _: &mut Self::Context) {
        self.leave();
    }
}

impl Supervised for GsmInterface {
    fn restarting(&mut self, _: &mut Self::Context) {
        self.leave();
        self.served.restart();
        self.accepted = InTurn::default();
        self.plan = self.node.plan().gsm(self.options.gsm).cloned();
    }
}

impl Linked for GsmInterface {
    fn on_octets(&mut self, octets: &mut BytesMut, ctx: &mut Context<Self>) {
        self.core.receive(octets, Instant::now());
        octets.clear();
        self.take_events(ctx);
    }

    fn on_finished(&mut self, ctx: &mut Context<Self>) {
        self.closed_by_hlr(None, ctx);
    }

    fn on_closed(&mut self, error: Option<io::Error>, ctx: &mut Context<Self>) {
        self.closed_by_hlr(error, ctx);
    }

    fn is_busy(&self) -> bool {
        self.intake > INTAKE || self.core.is_filling()
    }
}

impl Handler<DeliverBatch> for GsmInterface {
    type Result = ();

    fn handle(&mut self, batch: DeliverBatch, _: &mut Self::Context) {
        let Some(deliveries) = self.served.granted(batch) else {
            return;
        };
        for granted in deliveries {
            self.take(granted);
        }
        self.go_on();
    }
}

impl Handler<ReportHeld> for GsmInterface {
    type Result = ();

    fn handle(&mut self, report: ReportHeld, _: &mut Self::Context) {
        if !report.give_back.is_empty() {
            let (node, queue) = (Arc::clone(&self.node), self.options.gsm);
            self.give_back_waiting(|message| {
                let part = node.part_of(queue, &message.destination);
                report.give_back.contains(&u32::from(part))
            });
            return self.go_on();
        }
        let (ids, room) = (self.held_ids(), self.room());
        self.served.report(&report, ids, room);
    }
}

impl Handler<ReceiptReply> for GsmInterface {
    type Result = ();

    fn handle(&mut self, reply: ReceiptReply, _: &mut Self::Context) {
        for id in reply.written {
            if let Some(subscriber) = self.unwritten.remove(&id) {
                self.follow(&subscriber);
            }
        }
        self.go_on();
    }
}

impl Handler<BindCommand> for GsmInterface {
    type Result = ();

    fn handle(&mut self, command: BindCommand, ctx: &mut Self::Context) {
        // Before it is looked at whether it is suspended: who resumes it then wakes it.
        let wakes = self.health.wakes();
        match command.verb() {
            Verb::Rebind | Verb::Disconnect => {
                self.failures = 0;
                self.naming.forgive();
                self.come_back("connected anew by command", ctx);
            }
            Verb::Suspend if self.port.suspended.load(Ordering::Relaxed) => self.pause(wakes, ctx),
            // The others are for binds, or woke it already.
            Verb::Unspecified | Verb::Prove | Verb::Replace | Verb::Resume | Verb::Suspend => {}
        }
    }
}

#[cfg(test)]
mod tests;
