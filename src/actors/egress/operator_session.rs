//! One outbound bind slot: connects, binds, sends what its operator's queue grants, and brings
//! back answers, receipts and MO.
//!
//! It runs under `supervise`: a lost or refused bind stops the actor, which comes back after the
//! next pause of the operator's schedule (reset by a successful bind); a wrong password keeps it
//! down until an operator resumes it. Neither counts against the restart budget.

mod binding;
pub mod connection_test;
pub(super) mod dial;
mod life;
mod managed;
mod rest;
mod traffic;

use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use actix::{
    Actor, ActorContext, Addr, ArbiterHandle, AsyncContext, Context, Handler, StreamHandler,
    Supervised,
};
use bytes::BytesMut;
use prost::Message as _;
use tokio::time::Instant;

use crate::actors::context::NodeContext;
use crate::actors::context::binds::BindPort;
use crate::actors::context::plan::OperatorPlan;
use crate::actors::egress::carrier;
use crate::actors::egress::given::{GatewayConnectionPlace, Given};
use crate::actors::egress::upstream_protocol::UpstreamProtocol;
use crate::actors::ingress::ingest::{Accepted, Ingest};
use crate::actors::routing::rewrite;
use crate::actors::runtime::in_turn::InTurn;
use crate::actors::runtime::link::{Linked, Outbox};
use crate::actors::runtime::locks::lock;
use crate::actors::runtime::supervise::{self, AfterStop, Escalate, Health};
use crate::actors::runtime::timed_mailbox::measured;
use crate::actors::session::bound::{BoundProtocol as _, DeliveryOperation};
use crate::actors::session::core::{MAILBOX, SessionCore, TICK};
use crate::actors::session::data_sm;
use crate::actors::session::outgoing::{Prepared, Serving};
use crate::clock;
use crate::config::{OperatorProtocol, OutcomePolicy, SendAs};
use crate::content::pdu;
use crate::content::peer::shape::{self, LongForm};
use crate::pb::bind_command::Verb;
use crate::pb::local::ToSmsc;
use crate::pb::{
    BindCommand, BindDirection, BindSnapshot, BindState, DeliverBatch, OperatorReceipt,
    ReceiptReply, ReportHeld, Sent,
};
use crate::smpp::Leniency;
use crate::smpp::session::{BindType, CloseReason, Role, Session, SessionConfig};
use crate::smpp::timers::Timers;
use crate::telemetry::metrics::OperatorMeter;

/// Receipts and MO of one bind that may wait for their commit before its socket is read again.
const INTAKE: usize = 8192;
const WRITE_LIMIT: usize = 16 * 1024 * 1024;

/// What it takes to start one slot.
#[derive(Clone)]
pub struct SlotOptions {
    pub node: Arc<NodeContext>,
    pub ingest: Addr<Ingest>,
    pub operator: u32,
    /// Number of the slot, from 0; one beyond the configured count ends itself.
    pub slot: u32,
    pub bind_type: BindType,
    /// Part of a pair that stands for a transceiver.
    pub paired: bool,
    pub escalate: Escalate,
}

pub struct OperatorSession {
    options: SlotOptions,
    /// The operator's gateway has made the connection to us; the session ends with it.
    is_given: bool,
    /// That connection, until it is used.
    given: Option<Given>,
    /// It counts as long as the session is there.
    _counted: Option<GatewayConnectionPlace>,
    health: Arc<Health>,
    core: SessionCore<UpstreamProtocol>,
    /// Batches that go to their queues in the order in which they came.
    accepted: InTurn<Accepted>,
    plan: Option<Arc<OperatorPlan>>,
    /// Since when the windows are being finished, so that the bind can end.
    leaving_since: Option<Instant>,
    /// Somebody has ordered that this bind ends; whether it comes back says its port.
    departing: bool,
    /// The peer has ended the session, or we have; why. What it has asked is still answered.
    farewell: Option<String>,
    // What the current socket read brought.
    sent: Vec<Sent>,
    receipts: Vec<OperatorReceipt>,
    /// How many the last socket read with some has brought: as many are expected of the next one.
    receipts_of_a_read: usize,
    /// Failed connections since the last successful bind, or the last answer where binds alone say nothing.
    failures: u32,
    /// The operator has ended the session with messages unanswered.
    cut_off: bool,
    /// How often it was bound to at once again after that, and since when that is counted.
    hurried: (Instant, u32),
    paused: bool,
    /// The queue has been told that this bind takes no more.
    retired: bool,
    /// Whether it has a connection.
    rest: BindRest,
    /// This slot turned its transceiver into a pair; the receiver is another actor.
    paired: bool,
    /// The management service wants another kind of bind than a transceiver.
    told_kind: bool,
    /// Counts what this operator is sent, and what it sends.
    meter: OperatorMeter,
    /// Octets of the present connection that are counted already.
    octets_counted: u64,
}

/// Whether a bind has a connection.
#[derive(Clone, Copy, PartialEq, Eq)]
enum BindRest {
    /// It has one, or is making one.
    Awake,
    /// It is being closed.
    Closing,
    /// It has none, because there is no work.
    Resting,
}

// === impl SlotOptions ===

impl SlotOptions {
    /// Starts the slot on an arbiter; gives its session number.
    pub fn start(self, arbiter: &ArbiterHandle) -> u64 {
        self.start_with(arbiter, None)
    }

    /// Starts a session on the connection that a gateway of the operator has made to us.
    pub fn start_given(self, arbiter: &ArbiterHandle, given: Given) {
        self.start_with(arbiter, Some(given));
    }

    fn start_with(self, arbiter: &ArbiterHandle, given: Option<Given>) -> u64 {
        let name = format!(
            "{} {} {}",
            self.node.name_of(self.operator),
            self.bind_type.name(),
            self.slot
        );
        let health = Health::new(name);
        // What is watched is kept for as long as the node runs; gateways come and go.
        if given.is_none() {
            self.node.watch(Arc::clone(&health));
        }
        let port = BindPort::new(self.node.binds.next_session(), Some(Arc::clone(&health)));
        port.owner.store(self.operator, Ordering::Relaxed);
        port.slot.store(self.slot, Ordering::Relaxed);
        let (addr, slot) = supervise::slot::<OperatorSession>(MAILBOX);
        port.listen(addr.clone().recipient());
        *lock(&port.replies) = Some(addr.recipient());
        self.node.binds.add(Arc::clone(&port));
        let escalate = Arc::clone(&self.escalate);
        let for_actor = Arc::clone(&health);
        let session = port.session;
        slot.start(arbiter, health, escalate, move || {
            OperatorSession::new(self, given, for_actor, port)
        });
        session
    }
}

// === impl OperatorSession ===

impl OperatorSession {
    fn new(
        options: SlotOptions,
        given: Option<Given>,
        health: Arc<Health>,
        port: Arc<BindPort>,
    ) -> Self {
        let plan = options.node.plan().operator(options.operator).cloned();
        let snapshot = BindSnapshot {
            session: port.session,
            name: plan
                .as_ref()
                .map_or_else(String::new, |plan| plan.config.id.clone()),
            direction: match given {
                Some(_) => BindDirection::Gateway.into(),
                None => BindDirection::Out.into(),
            },
            bind_type: options.bind_type.name().to_owned(),
            ..BindSnapshot::default()
        };
        let options_paired = options.paired;
        let meter = options.node.metrics.operator(&snapshot.name);
        let session = Session::new(session_config(plan.as_deref()), Instant::now().into_std());
        let protocol = UpstreamProtocol::Smpp(session);
        Self {
            is_given: given.is_some(),
            given,
            _counted: None,
            core: SessionCore::new(Arc::clone(&options.node), protocol, port, snapshot),
            accepted: InTurn::default(),
            options,
            health,
            plan,
            leaving_since: None,
            departing: false,
            farewell: None,
            sent: Vec::new(),
            receipts: Vec::new(),
            receipts_of_a_read: 0,
            failures: 0,
            cut_off: false,
            hurried: (Instant::now(), 0),
            paused: false,
            retired: false,
            rest: BindRest::Awake,
            paired: options_paired,
            told_kind: false,
            meter,
            octets_counted: 0,
        }
    }

    fn tick(&mut self, ctx: &mut Context<Self>) {
        let now = Instant::now();
        if let Some(close) = self.core.tick(now) {
            if let Some(reason) = close {
                if reason == CloseReason::EnquireLinkTimeout {
                    self.meter.enquire_timeouts.inc();
                }
                self.come_back(&format!("{reason:?}"), ctx);
                return;
            }
            if let Some(why) = self.farewell.clone()
                && self.left_long_enough()
            {
                return self.come_back(&why, ctx);
            }
            if self.does_not_read(now) {
                self.core.node.metrics.slow_readers.inc();
                self.come_back("the operator does not read", ctx);
                return;
            }
        }
        if !self.core.node.local_lease.is_valid() {
            // Another node may take this slot: not even the answers are ours to wait for.
            return self.come_back("this node's lease is over", ctx);
        }
        self.take_plan();
        self.count_octets();
        if self.farewell.is_some() {
            // It ends when the last answer is written.
        } else if self.is_leaving() || self.departing {
            self.finish_windows(now, ctx);
        } else if self.retired {
            // Its queue was told that it takes no more; only a new bind takes that back.
            return self.come_back("wanted again while it was leaving", ctx);
        }
        self.take_news(ctx);
        self.publish();
    }

    fn state(&mut self, state: BindState) {
        self.core.snapshot.state = state.into();
        self.publish();
    }

    fn publish(&mut self) {
        self.core.snapshot.restarts = self.health.restarts();
        self.core.publish();
    }

    /// Gives the connection up, and back everything that is still unanswered; idempotent.
    fn leave(&mut self) {
        self.count_octets();
        self.octets_counted = 0;
        self.core.disconnect();
        self.leaving_since = None;
        self.departing = false;
        self.farewell = None;
        self.rest = BindRest::Awake;
        self.take_last_answers();
        self.core.give_back(Serving::lost);
    }
}

fn session_config(plan: Option<&OperatorPlan>) -> SessionConfig {
    let Some(plan) = plan else {
        return SessionConfig {
            role: Role::Client,
            ..SessionConfig::default()
        };
    };
    let config = &plan.config;
    SessionConfig {
        role: Role::Client,
        window: config.most_unanswered() as usize,
        response_timeout: config.response_timeout(),
        // Who has ended a session matters only where messages are sent again.
        asks_before_expiry: config.outcome_unknown == OutcomePolicy::Resend,
        timers: Timers {
            bind_answer: config.bind_timeout,
            enquire_link: config.enquire_link_interval,
            enquire_link_answer: config.enquire_link_timeout,
            // The operator may be silent for hours; enquire_link tells whether it lives.
            inactivity: Duration::ZERO,
            ..Timers::default()
        },
        leniency: Leniency::default(),
        interface_version: config.interface_version,
        ..SessionConfig::default()
    }
}

impl Drop for OperatorSession {
    fn drop(&mut self) {
        self.leave();
        self.core.node.binds.remove(self.core.port.session);
    }
}

measured!(OperatorSession: DeliverBatch);

impl Actor for OperatorSession {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        ctx.set_mailbox_capacity(MAILBOX);
        if !self.is_wanted() || self.core.node.draining.load(Ordering::Relaxed) {
            self.health.after_stop(AfterStop::End);
            ctx.stop();
            return;
        }
        if self.core.port.suspended.load(Ordering::Relaxed) {
            return self.depart(ctx);
        }
        ctx.run_interval(TICK, |session, ctx| session.tick(ctx));
        self.connect(ctx);
    }

    fn stopped(&mut self, _: &mut Self::Context) {
        self.leave();
    }
}

impl Supervised for OperatorSession {
    fn restarting(&mut self, _: &mut Self::Context) {
        self.leave();
        // A wake-up out of the paused state is a resume.
        self.paused = false;
        self.retired = false;
        self.sent.clear();
        self.receipts.clear();
        self.core.submissions.clear();
        self.core.came_as.clear();
        self.accepted = InTurn::default();
        self.plan = self.newest_plan();
    }
}

impl Linked for OperatorSession {
    fn on_octets(&mut self, octets: &mut BytesMut, ctx: &mut Context<Self>) {
        let before = octets.len();
        self.hear(octets, ctx);
        // What is left belongs to a PDU that is not complete yet.
        let read = before.saturating_sub(octets.len());
        self.meter.octets_received.inc_by(read as u64);
        self.flush(ctx);
        self.end_if_answered(ctx);
    }

    fn on_finished(&mut self, ctx: &mut Context<Self>) {
        if self.sleeps() {
            return self.go_to_rest(ctx);
        }
        self.core.protocol.finish();
        self.part("the operator closed the connection", ctx);
    }

    fn on_closed(&mut self, error: Option<io::Error>, ctx: &mut Context<Self>) {
        if self.core.outbox.is_none() {
            return;
        }
        if self.farewell.is_none() && self.sleeps() {
            return self.lie_down(ctx);
        }
        let why = match (self.farewell.take(), error) {
            (Some(why), _) => why,
            (None, Some(error)) => error.to_string(),
            (None, None) => "the operator closed the connection".to_owned(),
        };
        self.come_back(&why, ctx);
    }

    fn is_busy(&self) -> bool {
        self.core.has_enough(INTAKE) || self.core.outbox.as_ref().is_some_and(Outbox::is_filling)
    }
}

/// What a program says that has this operator as its role.
impl StreamHandler<Vec<ToSmsc>> for OperatorSession {
    fn handle(&mut self, frames: Vec<ToSmsc>, ctx: &mut Self::Context) {
        let read: usize = frames.iter().map(ToSmsc::encoded_len).sum();
        self.meter.octets_received.inc_by(read as u64);
        if let Some(program) = self.core.protocol.other() {
            program.hear(frames);
        }
        self.take_news(ctx);
    }

    /// It is gone, or its service.
    fn finished(&mut self, ctx: &mut Self::Context) {
        self.on_finished(ctx);
    }
}

impl Handler<DeliverBatch> for OperatorSession {
    type Result = ();

    fn handle(&mut self, batch: DeliverBatch, ctx: &mut Self::Context) {
        let Some(plan) = &self.plan else { return };
        let send_as = plan.send_as(self.core.protocol.peer_version());
        let operation = match send_as {
            SendAs::SubmitSm => DeliveryOperation::SUBMIT_SM,
            SendAs::DeliverSm => DeliveryOperation::DELIVER_SM,
            SendAs::DataSm => DeliveryOperation::DATA_SM,
        };
        let meter = &self.meter;
        let now = clock::now_ms();
        self.core.deliver(batch, operation, |message, _| {
            let (registered, receipt_expected) = plan.registered_delivery(message);
            let mut pdu = match send_as {
                SendAs::DeliverSm => pdu::deliver_sm_of(message),
                _ => pdu::submit_sm_of(message, registered, now),
            };
            pdu.registered_delivery = registered;
            let characters_changed = shape::shape(&mut pdu, message, &plan.peer_encoding);
            if send_as == SendAs::DataSm {
                data_sm::prepare(&mut pdu, message);
            }
            if plan.config.protocol != OperatorProtocol::Smpp {
                pdu.validity_period = carrier::validity(message, now);
            }
            match shape::long_form(&pdu) {
                Some(LongForm::Parts) => {
                    meter.parts.inc();
                }
                Some(LongForm::Payload) => {
                    meter.payloads.inc();
                }
                None => {}
            }
            let rewritten = rewrite::outgoing(&plan.rewrite_out, &mut pdu);
            Prepared {
                pdu,
                keep_message: true,
                receipt_expected,
                characters_changed,
                refused: rewritten.err(),
            }
        });
        self.take_news(ctx);
        self.wake(ctx);
    }
}

impl Handler<ReceiptReply> for OperatorSession {
    type Result = ();

    fn handle(&mut self, reply: ReceiptReply, ctx: &mut Self::Context) {
        self.core.intake = self.core.intake.saturating_sub(reply.results.len());
        self.acknowledge(reply.results.iter().map(|one| (one.sequence, one.status)));
        self.end_if_answered(ctx);
    }
}

impl Handler<ReportHeld> for OperatorSession {
    type Result = ();

    fn handle(&mut self, ask: ReportHeld, _: &mut Self::Context) {
        self.core.report(&ask);
    }
}

impl Handler<BindCommand> for OperatorSession {
    type Result = ();

    fn handle(&mut self, command: BindCommand, ctx: &mut Self::Context) {
        match command.verb() {
            // The last two are for inbound binds.
            Verb::Unspecified | Verb::Prove | Verb::Replace => {}
            // A session that waits or is paused was woken by this command already; one that is
            // ending looks at its port when it has ended.
            Verb::Resume => {}
            // Resumed before this was read.
            Verb::Suspend if !self.core.port.suspended.load(Ordering::Relaxed) => {}
            Verb::Rebind | Verb::Suspend | Verb::Disconnect => self.end_by_order(ctx),
        }
    }
}
