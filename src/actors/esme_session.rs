//! One inbound bind: an ESME's connection, from accept to close (SMPP 3.4 §2.2).
//!
//! Reads a socket piece, collects its submissions into one batch for Ingest, answers after the
//! commit, and takes receipts and MO from its account's queue by credit. Whatever it is sent, it
//! answers on the same sequence number; only broken framing, timers and unbind end it.

mod binding;
mod intake;
mod life;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use actix::{
    Actor, ActorContext, ActorFutureExt, Addr, AsyncContext, Context, Handler, WrapFuture,
};
use bytes::{Bytes, BytesMut};
use secrecy::ExposeSecret;
use tokio::time::Instant;

use crate::actors::content::shape;
use crate::actors::convert;
use crate::actors::hub::Hub;
use crate::actors::ingest::{self, Ingest};
use crate::actors::link::{Linked, Outbox, Wire};
use crate::actors::listener::Admitted;
use crate::actors::outgoing::{Encode, InFlight, Prepared, Serving};
use crate::actors::plan::AccountPlan;
use crate::actors::ports::BindPort;
use crate::actors::posted::{Posted, measured};
use crate::actors::seats::{self, Seat};
use crate::clock;
use crate::pb::delivery::What;
use crate::pb::{
    Alphabet, BindSnapshot, BindState, DeliverBatch, Kind, ReportHeld, Submission, SubmitBatch,
    SubmitReply,
};
use crate::smpp::codec::next_frame;
use crate::smpp::session::{BindType, Event, Role, Session, SessionConfig, State};
use crate::smpp::timers::Timers;
use crate::smpp::{
    Bind, Body, CommandId, CommandStatus, Leniency, Pdu, encode_deliver_sm, encode_deliver_sm_resp,
    encode_error_resp, encode_submit_sm_resp,
};
use crate::telemetry::metrics::status_label;

/// Grants and answers of one session.
const MAILBOX: usize = 1024;
const TICK: Duration = Duration::from_millis(250);
/// Submissions of one session that may wait for their commit before its socket is read again.
const INTAKE: usize = 4096;
/// A refused bind may be answered before the connection is closed.
const LINGER: Duration = Duration::from_millis(500);

pub struct EsmeSession {
    hub: Arc<Hub>,
    ingest: Addr<Ingest>,
    wire: Option<Wire>,
    /// The ESME, also behind a load balancer that announces it.
    peer: SocketAddr,
    /// What its listener says about the default alphabet.
    alphabet: Option<Alphabet>,
    core: Session<InFlight>,
    outbox: Option<Outbox>,
    port: Arc<BindPort>,
    account: Option<Arc<AccountPlan>>,
    /// Among the binds of its account over all nodes, if there are others.
    seat: Option<Seat>,
    serving: Option<Serving>,
    /// Submissions that wait for their commit.
    intake: usize,
    /// Requests of this socket read, by sequence and operation.
    submissions: Vec<Submission>,
    /// Sequence numbers that came as deliver_sm and are answered so.
    as_deliver_sm: Vec<u32>,
    stalled_since: Option<Instant>,
    /// Octets written as of the last tick.
    written: u64,
    /// Since when the node drains; its queue was told that it takes no more.
    draining_since: Option<Instant>,
    snapshot: BindSnapshot,
    _admitted: Admitted,
}

// === impl EsmeSession ===

impl EsmeSession {
    pub fn new(
        hub: Arc<Hub>,
        ingest: Addr<Ingest>,
        wire: Wire,
        peer: SocketAddr,
        alphabet: Option<Alphabet>,
        admitted: Admitted,
    ) -> Self {
        let config = hub.config();
        let smpp = &config.smpp;
        let core = Session::new(
            SessionConfig {
                role: Role::Server,
                window: 1,
                response_timeout: smpp.response_timeout,
                timers: Timers {
                    session_init: smpp.session_init_timeout,
                    enquire_link: smpp.enquire_link_interval,
                    enquire_link_answer: smpp.enquire_link_timeout,
                    inactivity: smpp.inactivity_timeout,
                    ..Timers::default()
                },
                leniency: Leniency::default(),
                max_pdu: smpp.max_pdu as usize,
                interface_version: 0x34,
                system_id: Bytes::copy_from_slice(smpp.system_id.as_bytes()),
            },
            Instant::now().into_std(),
        );
        let port = BindPort::new(hub.binds.next_session(), None);
        let snapshot = BindSnapshot {
            session: port.session,
            direction: "in".to_owned(),
            state: BindState::Connecting.into(),
            peer: peer.to_string(),
            since: clock::now_ms(),
            ..BindSnapshot::default()
        };
        Self {
            hub,
            ingest,
            wire: Some(wire),
            peer,
            alphabet,
            core,
            outbox: None,
            port,
            account: None,
            seat: None,
            serving: None,
            intake: 0,
            submissions: Vec::new(),
            as_deliver_sm: Vec::new(),
            stalled_since: None,
            written: 0,
            draining_since: None,
            snapshot,
            _admitted: admitted,
        }
    }

    fn write<T>(
        &mut self,
        append: impl FnOnce(&mut Session<InFlight>, &mut BytesMut) -> T,
    ) -> Option<T> {
        let outbox = self.outbox.as_ref()?;
        Some(outbox.write(|out| append(&mut self.core, out)))
    }

    fn on_event(&mut self, event: Event<InFlight>, ctx: &mut Context<Self>) {
        match event {
            Event::Nothing => {}
            Event::Bind {
                sequence,
                bind_type,
                bind,
            } => self.authenticate(sequence, bind_type, bind, ctx),
            Event::Request(pdu) => self.on_request(pdu),
            Event::Response {
                pdu,
                context,
                sent_at,
                late,
            } => self.on_response(&pdu, &context, sent_at, late),
            Event::BindResult { .. } => {}
            Event::Unbound | Event::Close(_) => self.close(),
            Event::Answered { status, .. } => {
                self.snapshot.errors_total += 1;
                self.hub
                    .metrics
                    .malformed
                    .get_or_create(&status_label(status.0))
                    .inc();
            }
        }
    }

    fn on_request(&mut self, pdu: Pdu) {
        let sequence = pdu.sequence;
        let command_id = pdu.body.command_id();
        let draining = self.hub.draining.load(std::sync::atomic::Ordering::Relaxed);
        match pdu.body {
            Body::SubmitSm(_) | Body::DeliverSm(_) if draining => {
                self.write(|_, out| {
                    encode_error_resp(out, command_id, sequence, CommandStatus::ESME_RSYSERR);
                });
            }
            Body::SubmitSm(submit) => self.submit(sequence, convert::message_of(submit, Kind::Mt)),
            // A peer SMSC submits by deliver_sm as well.
            Body::DeliverSm(deliver) => {
                let kind = ingest::kind_of(&self.hub, &deliver.destination_addr);
                self.as_deliver_sm.push(sequence);
                self.submit(sequence, convert::message_of(deliver, kind));
            }
            Body::AlertNotification(_) | Body::Outbind(_) => {}
            _ => {
                self.snapshot.errors_total += 1;
                self.write(|_, out| {
                    encode_error_resp(out, command_id, sequence, CommandStatus::ESME_RINVCMDID);
                });
            }
        }
    }

    fn on_response(
        &mut self,
        pdu: &Pdu,
        context: &InFlight,
        sent_at: std::time::Instant,
        late: bool,
    ) {
        let elapsed = sent_at.elapsed();
        self.snapshot.answered(elapsed);
        let Some(serving) = &mut self.serving else {
            return;
        };
        if pdu.status.is_ok() {
            if late {
                self.hub.metrics.late_answers.inc();
            }
            if context.what == What::Receipt {
                let waited = (clock::now_ms() - context.since).max(0) as f64 / 1000.0;
                self.hub.metrics.receipt_seconds.observe(waited);
            }
            serving.done(context, elapsed, !late);
        } else if !late {
            serving.refused(context, pdu.status.0, elapsed);
        }
    }

    fn tick(&mut self, ctx: &mut Context<Self>) {
        let now = Instant::now();
        let Some(tick) = self.write(|core, out| core.on_tick(now.into_std(), out)) else {
            return;
        };
        if let Some(serving) = &mut self.serving {
            for expired in tick.expired {
                serving.unanswered(&expired);
            }
            serving.flush();
        }
        if let Some(reason) = tick.close {
            tracing::info!(peer = %self.peer, ?reason, "session ended");
            self.close();
        }
        self.cut_off_if_stuck(now, ctx);
        self.finish_if_draining(now);
        self.keep_seat(ctx);
        self.drop_if_removed();
        self.publish();
    }

    fn publish(&mut self) {
        self.snapshot.window = self.core.config().window as u32;
        self.snapshot.in_flight = self.core.in_flight() as u32;
        self.snapshot.interface_version = u32::from(self.core.peer_version());
        self.snapshot.state = match self.core.state() {
            State::Open => BindState::Connecting,
            State::Binding => BindState::Binding,
            State::Bound(_) => BindState::Bound,
            State::Unbinding | State::Closed => BindState::Closed,
        }
        .into();
        self.port.snapshot.set(self.snapshot.clone());
    }

    fn close(&mut self) {
        if let Some(outbox) = &self.outbox {
            outbox.close();
        }
    }

    /// Settles everything that is still unanswered; idempotent.
    fn leave(&mut self) {
        if let Some(mut serving) = self.serving.take() {
            for lost in self.core.take_lost() {
                serving.unanswered(&lost);
            }
            serving.flush();
        }
        self.seat = None;
        self.hub.binds.remove(self.port.session);
    }
}

impl Drop for EsmeSession {
    fn drop(&mut self) {
        self.leave();
    }
}

measured!(EsmeSession: DeliverBatch);

impl Actor for EsmeSession {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        ctx.set_mailbox_capacity(MAILBOX);
        self.port.listen(ctx.address().recipient());
        self.hub.binds.add(Arc::clone(&self.port));
        if let Some(wire) = self.wire.take() {
            let limit = self.hub.config().smpp.write_buffer_kib * 1024;
            self.outbox = Some(wire.attach(ctx, limit));
        }
        ctx.run_interval(TICK, |session, ctx| session.tick(ctx));
        self.publish();
    }

    fn stopped(&mut self, _: &mut Self::Context) {
        self.leave();
    }
}

impl Linked for EsmeSession {
    fn on_octets(&mut self, octets: &mut BytesMut, ctx: &mut Context<Self>) {
        let now = Instant::now();
        self.port.hear(now);
        let now = now.into_std();
        let max_pdu = self.core.config().max_pdu;
        loop {
            let frame = match next_frame(octets, max_pdu) {
                Ok(Some(frame)) => frame,
                Ok(None) => break,
                Err(bad) => {
                    let hint = life::what_it_may_be(octets);
                    tracing::warn!(peer = %self.peer, length = bad.length, "session ended: bad command_length{hint}");
                    self.write(|core, out| core.on_bad_length(bad, out));
                    octets.clear();
                    self.close();
                    break;
                }
            };
            let frame = keep(frame);
            let Some(event) = self.write(|core, out| core.on_frame(now, frame, out)) else {
                return;
            };
            self.on_event(event, ctx);
            if self.core.state() == State::Binding {
                // What follows the bind waits for the verdict.
                break;
            }
        }
        self.hand_over(ctx);
        if let Some(serving) = &mut self.serving {
            serving.flush();
        }
    }

    fn on_closed(&mut self, error: Option<io::Error>, ctx: &mut Context<Self>) {
        if let Some(error) = error {
            tracing::debug!(peer = %self.peer, %error, "connection broken");
        }
        ctx.stop();
    }

    fn is_busy(&self) -> bool {
        self.intake > INTAKE
            || self.core.state() == State::Binding
            || self.outbox.as_ref().is_some_and(Outbox::is_filling)
    }
}

impl Handler<DeliverBatch> for EsmeSession {
    type Result = ();

    fn handle(&mut self, batch: DeliverBatch, _: &mut Self::Context) {
        let (Some(serving), Some(outbox)) = (&mut self.serving, &self.outbox) else {
            return;
        };
        self.snapshot.sent_total += batch.deliveries.len() as u64;
        let core = &mut self.core;
        let with_tlvs = core.peer_version() >= 0x34;
        let operation = ("deliver_sm", encode_deliver_sm as Encode);
        let account = self.account.as_ref();
        let mut changed = 0;
        outbox.write(|out| {
            let now = Instant::now().into_std();
            serving.deliver(core, batch, now, out, operation, |message| {
                let mut pdu = convert::deliver_sm_of(message);
                if let Some(account) = account {
                    changed += shape::shape(&mut pdu, message, &account.taste);
                }
                if !with_tlvs {
                    // SMPP 3.4 §2.10: no optional parameters to peers below 0x34.
                    pdu.tlvs = crate::smpp::Tlvs::default();
                }
                Prepared {
                    pdu,
                    keep_message: false,
                    receipt_expected: false,
                }
            });
        });
        self.hub.metrics.characters_changed.inc_by(changed as u64);
    }
}

impl Handler<ReportHeld> for EsmeSession {
    type Result = ();

    fn handle(&mut self, _: ReportHeld, _: &mut Self::Context) {
        if let Some(serving) = &self.serving {
            serving.report(&self.core);
        }
    }
}

/// A submission outlives the read buffer: it gets octets of its own.
pub(super) fn keep(frame: Bytes) -> Bytes {
    let command = frame.get(4..8);
    if command == Some(&CommandId::SUBMIT_SM.0.to_be_bytes()[..])
        || command == Some(&CommandId::DELIVER_SM.0.to_be_bytes()[..])
    {
        Bytes::copy_from_slice(&frame)
    } else {
        frame
    }
}
