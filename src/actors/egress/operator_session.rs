//! One outbound bind slot: connects, binds, sends what its operator's queue grants, and brings
//! back answers, receipts and MO.
//!
//! It runs under `supervise`: a lost or refused bind stops the actor, which comes back after the
//! next pause of the operator's schedule (reset by a successful bind); a wrong password keeps it
//! down until an operator resumes it. Neither counts against the restart budget.

mod binding;
mod dial;
mod life;
mod traffic;

use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use actix::{
    Actor, ActorContext, ActorFutureExt, Addr, ArbiterHandle, AsyncContext, Context, Handler,
    Supervised, WrapFuture,
};
use bytes::{Bytes, BytesMut};
use secrecy::ExposeSecret;
use tokio::time::Instant;

use crate::actors::context::NodeContext;
use crate::actors::context::plan::OperatorPlan;
use crate::actors::context::ports::BindPort;
use crate::actors::ingress::ingest::{self, Ingest, Submit};
use crate::actors::receipts::alert;
use crate::actors::routing::rewrite;
use crate::actors::runtime::link::{Linked, Outbox, Wire, keep};
use crate::actors::runtime::supervise::{self, AfterStop, Escalate, Health, jitter};
use crate::actors::runtime::timed_mailbox::{Timed, measured};
use crate::actors::session::data_sm;
use crate::actors::session::outgoing::{Encode, InFlight, Prepared, Serving};
use crate::clock;
use crate::config::{BindKind, SendAs};
use crate::content::pdu;
use crate::content::peer::shape;
use crate::pb::bind_command::Verb;
use crate::pb::{
    BindCommand, BindSnapshot, BindState, DeliverBatch, MessageState, OperatorReceipt,
    ReceiptBatch, ReceiptReply, ReportHeld, Sent, SentBatch, Submission, SubmitBatch, SubmitReply,
};
use crate::smpp::codec::next_frame;
use crate::smpp::session::{BindType, CloseReason, Event, Role, Session, SessionConfig, State};
use crate::smpp::timers::Timers;
use crate::smpp::{
    Bind, Body, CommandId, CommandStatus, Leniency, Pdu, SubmitRespTail, SubmitSm, encode_data_sm,
    encode_deliver_sm, encode_deliver_sm_resp, encode_error_resp, encode_message_resp,
    encode_submit_sm, receipt,
};

/// Grants and answers of one session.
const MAILBOX: usize = 1024;
const TICK: Duration = Duration::from_millis(250);
/// An operator that has unbound may take its answer before the connection is closed.
const LINGER: Duration = Duration::from_millis(500);
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
    health: Arc<Health>,
    port: Arc<BindPort>,
    plan: Option<Arc<OperatorPlan>>,
    core: Session<InFlight>,
    outbox: Option<Outbox>,
    /// Octets written as of the last tick, and since when it stands at that.
    written: u64,
    stuck_since: Option<Instant>,
    /// Since when the windows are being finished, so that the bind can end.
    leaving_since: Option<Instant>,
    /// Somebody has ordered that this bind ends; whether it comes back says its port.
    departing: bool,
    /// The peer has ended the session, or we have; why. What it has asked is still answered.
    farewell: Option<String>,
    serving: Option<Serving>,
    /// Receipts and MO that wait for their commit.
    intake: usize,
    // What one socket read brought.
    sent: Vec<Sent>,
    receipts: Vec<OperatorReceipt>,
    submissions: Vec<Submission>,
    /// Sequence numbers that came as data_sm and are answered so.
    as_data_sm: Vec<u32>,
    /// Failed connections since the last successful bind.
    failures: u32,
    paused: bool,
    /// The queue has been told that this bind takes no more.
    retired: bool,
    /// This slot turned its transceiver into a pair; the receiver is another actor.
    paired: bool,
    snapshot: BindSnapshot,
}

// === impl SlotOptions ===

impl SlotOptions {
    /// Starts the slot on an arbiter; gives its session number.
    pub fn start(self, arbiter: &ArbiterHandle) -> u64 {
        let name = format!(
            "{} {} {}",
            self.node.name_of(self.operator),
            self.bind_type.name(),
            self.slot
        );
        let health = Health::new(name);
        self.node.watch(Arc::clone(&health));
        let port = BindPort::new(self.node.binds.next_session(), Some(Arc::clone(&health)));
        port.owner.store(self.operator, Ordering::Relaxed);
        port.slot.store(self.slot, Ordering::Relaxed);
        let (addr, slot) = supervise::slot::<OperatorSession>(MAILBOX);
        port.listen(addr.clone().recipient());
        *crate::actors::runtime::locks::lock(&port.replies) = Some(addr.recipient());
        self.node.binds.add(Arc::clone(&port));
        let escalate = Arc::clone(&self.escalate);
        let for_actor = Arc::clone(&health);
        let session = port.session;
        slot.start(arbiter, health, escalate, move || {
            OperatorSession::new(self, for_actor, port)
        });
        session
    }
}

// === impl OperatorSession ===

impl OperatorSession {
    fn new(options: SlotOptions, health: Arc<Health>, port: Arc<BindPort>) -> Self {
        let plan = options.node.plan().operator(options.operator).cloned();
        let snapshot = BindSnapshot {
            session: port.session,
            name: plan
                .as_ref()
                .map_or_else(String::new, |plan| plan.config.id.clone()),
            direction: "out".to_owned(),
            bind_type: options.bind_type.name().to_owned(),
            ..BindSnapshot::default()
        };
        let options_paired = options.paired;
        Self {
            core: Session::new(session_config(plan.as_deref()), Instant::now().into_std()),
            options,
            health,
            port,
            plan,
            outbox: None,
            written: 0,
            stuck_since: None,
            leaving_since: None,
            departing: false,
            farewell: None,
            serving: None,
            intake: 0,
            sent: Vec::new(),
            receipts: Vec::new(),
            submissions: Vec::new(),
            as_data_sm: Vec::new(),
            failures: 0,
            paused: false,
            retired: false,
            paired: options_paired,
            snapshot,
        }
    }

    fn node(&self) -> &Arc<NodeContext> {
        &self.options.node
    }

    fn write<T>(
        &mut self,
        append: impl FnOnce(&mut Session<InFlight>, &mut BytesMut) -> T,
    ) -> Option<T> {
        let outbox = self.outbox.as_ref()?;
        Some(outbox.write(|out| append(&mut self.core, out)))
    }

    fn tick(&mut self, ctx: &mut Context<Self>) {
        let now = Instant::now().into_std();
        if let Some(tick) = self.write(|core, out| core.on_tick(now, out)) {
            if let Some(serving) = &mut self.serving {
                for expired in tick.expired {
                    serving.unanswered(&expired);
                }
                serving.flush();
            }
            if let Some(reason) = tick.close {
                self.come_back(&format!("{reason:?}"), ctx);
                return;
            }
            if let Some(why) = self.farewell.clone()
                && self.left_long_enough()
            {
                return self.come_back(&why, ctx);
            }
            if self.does_not_read(Instant::now()) {
                self.node().metrics.slow_readers.inc();
                self.come_back("the operator does not read", ctx);
                return;
            }
        }
        if !self.node().local_lease.is_valid() {
            // Another node may take this slot: not even the answers are ours to wait for.
            return self.come_back("this node's lease is over", ctx);
        }
        self.take_plan();
        if self.farewell.is_some() {
            // It ends when the last answer is written.
        } else if self.is_leaving() || self.departing {
            self.finish_windows(now, ctx);
        } else if self.retired {
            // Its queue was told that it takes no more; only a new bind takes that back.
            return self.come_back("wanted again while it was leaving", ctx);
        }
        self.publish();
    }

    fn state(&mut self, state: BindState) {
        self.snapshot.state = state.into();
        self.publish();
    }

    fn publish(&mut self) {
        self.snapshot.window = self.core.config().window as u32;
        self.snapshot.in_flight = self.core.in_flight() as u32;
        self.snapshot.interface_version = u32::from(self.core.peer_version());
        self.snapshot.restarts = self.health.restarts();
        self.port.snapshot.set(self.snapshot.clone());
    }

    /// Gives the connection up, and back everything that is still unanswered; idempotent.
    fn leave(&mut self) {
        if let Some(outbox) = self.outbox.take() {
            outbox.cut();
        }
        self.written = 0;
        self.stuck_since = None;
        self.leaving_since = None;
        self.departing = false;
        self.farewell = None;
        self.intake = 0;
        self.give_back();
    }

    /// Gives back everything that is still unanswered, and takes no more; idempotent.
    fn give_back(&mut self) {
        if let Some(mut serving) = self.serving.take() {
            for lost in self.core.take_lost() {
                serving.lost(&lost);
            }
            serving.flush();
        }
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
        window: config.window as usize,
        response_timeout: config.response_timeout,
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
        self.options.node.binds.remove(self.port.session);
    }
}

measured!(OperatorSession: DeliverBatch);

impl Actor for OperatorSession {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        ctx.set_mailbox_capacity(MAILBOX);
        if !self.is_wanted() || self.node().draining.load(Ordering::Relaxed) {
            self.health.after_stop(AfterStop::End);
            ctx.stop();
            return;
        }
        if self.port.suspended.load(Ordering::Relaxed) {
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
        self.submissions.clear();
        self.as_data_sm.clear();
        self.plan = self.node().plan().operator(self.options.operator).cloned();
    }
}

impl Linked for OperatorSession {
    fn on_octets(&mut self, octets: &mut BytesMut, ctx: &mut Context<Self>) {
        let now = Instant::now().into_std();
        let max_pdu = self.core.config().max_pdu;
        loop {
            let frame = match next_frame(octets, max_pdu) {
                Ok(Some(frame)) => frame,
                Ok(None) => break,
                Err(bad) => {
                    let why = format!("bad command_length {}", bad.length);
                    self.write(|core, out| core.on_bad_length(bad, out));
                    octets.clear();
                    self.flush(ctx);
                    return self.part(why, ctx);
                }
            };
            let frame = keep(frame);
            let Some(event) = self.write(|core, out| core.on_frame(now, frame, out)) else {
                return;
            };
            self.on_event(event, ctx);
            if self.core.state() == State::Closed {
                octets.clear();
                break;
            }
        }
        self.flush(ctx);
        self.end_if_answered(ctx);
    }

    fn on_finished(&mut self, ctx: &mut Context<Self>) {
        self.core.finish();
        self.part("the operator closed the connection", ctx);
    }

    fn on_closed(&mut self, error: Option<io::Error>, ctx: &mut Context<Self>) {
        if self.outbox.is_none() {
            return;
        }
        let why = match (self.farewell.take(), error) {
            (Some(why), _) => why,
            (None, Some(error)) => error.to_string(),
            (None, None) => "the operator closed the connection".to_owned(),
        };
        self.come_back(&why, ctx);
    }

    fn is_busy(&self) -> bool {
        self.intake > INTAKE || self.outbox.as_ref().is_some_and(Outbox::is_filling)
    }
}

impl Handler<DeliverBatch> for OperatorSession {
    type Result = ();

    fn handle(&mut self, batch: DeliverBatch, _: &mut Self::Context) {
        let (Some(serving), Some(outbox), Some(plan)) =
            (&mut self.serving, &self.outbox, &self.plan)
        else {
            // The session has left the queue; what it was granted has been given back by SessionDown.
            return;
        };
        self.snapshot.sent_total += batch.deliveries.len() as u64;
        let core = &mut self.core;
        let with_tlvs = core.peer_version() >= 0x34;
        let send_as = plan.send_as(core.peer_version());
        let operation = match send_as {
            SendAs::SubmitSm => ("submit_sm", encode_submit_sm as Encode),
            SendAs::DeliverSm => ("deliver_sm", encode_deliver_sm as Encode),
            SendAs::DataSm => ("data_sm", encode_data_sm as Encode),
        };
        let mut changed = 0;
        outbox.write(|out| {
            let now = Instant::now().into_std();
            let prepare = |message: &crate::pb::Message, _| {
                let (registered, receipt_expected) = plan.registered_delivery(message);
                let mut pdu = match send_as {
                    SendAs::DeliverSm => pdu::deliver_sm_of(message),
                    _ => pdu::submit_sm_of(message, registered),
                };
                pdu.registered_delivery = registered;
                changed += shape::shape(&mut pdu, message, &plan.peer_encoding);
                if send_as == SendAs::DataSm {
                    data_sm::prepare(&mut pdu, message);
                }
                let fits = with_tlvs || data_sm::without_tlvs(&mut pdu);
                let unfit = (!fits).then_some(CommandStatus::ESME_RINVMSGLEN);
                let rewritten = rewrite::outgoing(&plan.rewrite_out, &mut pdu);
                Prepared {
                    pdu,
                    keep_message: true,
                    receipt_expected,
                    refused: rewritten.err().or(unfit),
                }
            };
            serving.deliver(core, batch, now, out, operation, prepare);
        });
        self.options
            .node
            .metrics
            .characters_changed
            .inc_by(changed as u64);
    }
}

impl Handler<ReceiptReply> for OperatorSession {
    type Result = ();

    fn handle(&mut self, reply: ReceiptReply, ctx: &mut Self::Context) {
        self.intake = self.intake.saturating_sub(reply.results.len());
        let Some(outbox) = &self.outbox else { return };
        outbox.write(|out| {
            for result in reply.results {
                let status = CommandStatus(result.status);
                traffic::acknowledge(&mut self.as_data_sm, out, result.sequence, status);
            }
        });
        outbox.resume();
        self.end_if_answered(ctx);
    }
}

impl Handler<ReportHeld> for OperatorSession {
    type Result = ();

    fn handle(&mut self, _: ReportHeld, _: &mut Self::Context) {
        if let Some(serving) = &self.serving {
            serving.report(&self.core);
        }
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
            Verb::Suspend if !self.port.suspended.load(Ordering::Relaxed) => {}
            Verb::Rebind | Verb::Suspend => self.end_by_order(ctx),
        }
    }
}
