//! One inbound bind: an ESME's connection, from accept to close (SMPP 3.4 §2.2).
//!
//! Reads a socket piece, collects its submissions into one batch for Ingest, answers after the
//! commit, and takes receipts and MO from its account's queue by credit. Whatever it is sent, it
//! answers on the same sequence number; only broken framing, timers, a refused password and unbind end
//! it, and then only when everything that came before is answered.

mod binding;
mod delivery;
mod intake;
mod life;
mod multi;
mod operations;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use actix::{Actor, ActorContext, Addr, AsyncContext, Context};
use bytes::{Bytes, BytesMut};
use secrecy::{ExposeSecret, SecretString};
use tokio::time::Instant;

use self::operations::Operation;
use crate::actors::context::NodeContext;
use crate::actors::context::binds::BindPort;
use crate::actors::context::plan::AccountPlan;
use crate::actors::ingress::carrier::{self, CmppClient};
use crate::actors::ingress::client_event::ClientEvent;
use crate::actors::ingress::client_protocol::ClientProtocol;
use crate::actors::ingress::gate::Gate;
use crate::actors::ingress::ingest::{self, Accepted, Ingest};
use crate::actors::ingress::listener::Admitted;
use crate::actors::runtime::in_turn::InTurn;
use crate::actors::runtime::link::{Linked, Outbox, Wire};
use crate::actors::runtime::timed_mailbox::measured;
use crate::actors::session::bind_permits::KeptPermit;
use crate::actors::session::bound::{BoundProtocol as _, InFlight};
use crate::actors::session::core::{MAILBOX, SessionCore, TICK};
use crate::clock;
use crate::content::pdu;
use crate::domain::certificate::ShownCertificate;
use crate::pb::delivery::What;
use crate::pb::{Alphabet, BindDirection, BindSnapshot, BindState, DeliverBatch, Kind};
use crate::smpp::session::{Event, Role, Session, SessionConfig, SessionState};
use crate::smpp::timers::Timers;
use crate::smpp::{Body, CommandId, CommandStatus, Leniency, OutbindRequest, Pdu};
use crate::telemetry::metrics::status_label;

/// Submissions of one session that may wait for their commit before its socket is read again.
const INTAKE: usize = 4096;
/// Octets of PDUs that a session may send before it has bound; whoever sends more does not mean to bind.
const UNBOUND: usize = 16 * 1024;

pub struct EsmeSession {
    core: SessionCore<ClientProtocol>,
    /// Batches that go to their queues in the order in which they came.
    accepted: InTurn<Accepted>,
    gate: Arc<Gate>,
    ingest: Addr<Ingest>,
    wire: Option<Wire>,
    /// The ESME, also behind a load balancer that announces it.
    peer: SocketAddr,
    /// What it has shown, where a listener demands a certificate.
    certificate: Option<ShownCertificate>,
    /// What its listener says about the default alphabet.
    alphabet: Option<Alphabet>,
    account: Option<Arc<AccountPlan>>,
    /// Octets of PDUs that came before the bind.
    before_bind: usize,
    /// Among the binds of its account over all nodes, if there are others.
    permit: KeptPermit,
    operations: operations::Operations,
    /// submit_multi of this socket read.
    multis: Vec<multi::Multi>,
    /// We have unbound it.
    unbound: bool,
    /// Nothing more is taken; the socket is closed when everything that came is answered.
    ending: bool,
    /// Since when the node drains; its queue was told that it takes no more.
    draining_since: Option<Instant>,
    /// What is said first, on a connection that we have made.
    outbind: Option<OutbindRequest>,
    /// `None` when we have called it.
    admitted: Option<Admitted>,
}

// === impl EsmeSession ===

impl EsmeSession {
    pub fn new(
        node: Arc<NodeContext>,
        gate: Arc<Gate>,
        ingest: Addr<Ingest>,
        wire: Wire,
        peer: SocketAddr,
        alphabet: Option<Alphabet>,
        admitted: Option<Admitted>,
    ) -> Self {
        let config = node.config();
        let smpp = &config.smpp;
        let session = Session::new(
            SessionConfig {
                role: Role::Server,
                window: 1,
                response_timeout: smpp.response_timeout,
                asks_before_expiry: true,
                timers: Timers {
                    session_init: smpp.session_init_timeout,
                    enquire_link: smpp.enquire_link_interval,
                    enquire_link_answer: smpp.enquire_link_timeout,
                    inactivity: smpp.inactivity_timeout,
                    ..Timers::default()
                },
                leniency: Leniency::default(),
                max_pdu: smpp.max_pdu as usize,
                interface_version: 0x50,
                system_id: Bytes::copy_from_slice(smpp.system_id.as_bytes()),
            },
            Instant::now().into_std(),
        );
        let port = BindPort::new(node.binds.next_session(), None);
        let snapshot = BindSnapshot {
            session: port.session,
            direction: BindDirection::In.into(),
            state: BindState::Connecting.into(),
            peer: peer.to_string(),
            since: clock::now_ms(),
            ..BindSnapshot::default()
        };
        let protocol = ClientProtocol::Smpp(session);
        Self {
            core: SessionCore::new(node, protocol, port, snapshot),
            accepted: InTurn::default(),
            gate,
            ingest,
            certificate: wire.certificate(),
            wire: Some(wire),
            peer,
            alphabet,
            account: None,
            before_bind: 0,
            permit: KeptPermit::default(),
            operations: operations::Operations::default(),
            multis: Vec::new(),
            unbound: false,
            ending: false,
            draining_since: None,
            outbind: None,
            admitted,
        }
    }

    /// A session with a client that speaks CMPP.
    pub fn over_cmpp(mut self) -> Self {
        if let ClientProtocol::Smpp(smpp) = &self.core.protocol {
            let client = CmppClient::new(Arc::clone(&self.gate), self.peer, smpp.config());
            self.core.protocol = ClientProtocol::Other(Box::new(client));
        }
        self.alphabet = Some(Alphabet::Ascii);
        self
    }

    /// A session on a connection that we have made: it begins with outbind.
    pub fn calling(
        node: Arc<NodeContext>,
        gate: Arc<Gate>,
        ingest: Addr<Ingest>,
        socket: tokio::net::TcpStream,
        peer: SocketAddr,
        password: SecretString,
    ) -> Self {
        let system_id = Bytes::copy_from_slice(node.config().smpp.system_id.as_bytes());
        let password = Bytes::copy_from_slice(password.expose_secret().as_bytes());
        let mut session = Self::new(node, gate, ingest, Wire::Plain(socket), peer, None, None);
        session.outbind = Some(OutbindRequest {
            system_id,
            password,
        });
        session
    }

    fn on_event(&mut self, event: ClientEvent, ctx: &mut Context<Self>) {
        match event {
            ClientEvent::Smpp(event) => self.on_smpp_event(event, ctx),
            ClientEvent::Submit {
                sequence,
                message,
                recipients,
                gbk,
            } => {
                let message = self.carried(*message, gbk);
                if recipients.is_empty() {
                    self.core.submit(sequence, message);
                } else {
                    self.submit_to_each(sequence, recipients, &message);
                }
            }
            ClientEvent::CountDay { sequence, query } => {
                let node = Arc::clone(&self.core.node);
                let day = carrier::day_of(node, self.core.snapshot.name.clone(), query);
                self.operate(sequence, Operation::CountDay(Box::pin(day)));
            }
        }
    }

    fn on_smpp_event(&mut self, event: Event<InFlight>, ctx: &mut Context<Self>) {
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
            Event::Unbind => {
                if let Some(serving) = &self.core.serving {
                    serving.retire();
                }
            }
            Event::Close(_) => self.end(),
            Event::Answered { status, .. } => {
                self.core.snapshot.errors_total += 1;
                let malformed = &self.core.node.metrics.malformed;
                malformed.get_or_create(&status_label(status.0)).inc();
            }
        }
    }

    /// Takes the events of what was read; false when what follows has to wait.
    fn take_events(&mut self, octets: &mut BytesMut, ctx: &mut Context<Self>) -> bool {
        let now = Instant::now();
        loop {
            let before = octets.len();
            let event = match self.core.next_event(octets, now) {
                Ok(Some(event)) => event,
                Ok(None) => return true,
                Err(bad) => {
                    let hint = life::what_it_may_be(octets);
                    if self.gate.bind_guard.may_log(self.peer.ip()) {
                        tracing::warn!(peer = %self.peer, length = bad.length, "session ended: bad command_length{hint}");
                    }
                    self.core.write(|smpp, out| smpp.on_bad_length(bad, out));
                    self.end();
                    return true;
                }
            };
            self.on_event(event, ctx);
            if self.account.is_none() && self.has_said_enough(before - octets.len()) {
                octets.clear();
                return true;
            }
            // What follows a bind waits for the verdict; what follows an order about others, for that.
            if self.core.protocol.state() == SessionState::Binding || self.operations.is_full() {
                return false;
            }
        }
    }

    /// Takes events that no octets have brought.
    fn take_news(&mut self, ctx: &mut Context<Self>) {
        while self.core.protocol.has_news()
            && let Ok(Some(event)) = self.core.next_event(&mut BytesMut::new(), Instant::now())
        {
            self.on_event(event, ctx);
        }
        if let Some(serving) = &mut self.core.serving {
            serving.flush();
        }
    }

    fn on_request(&mut self, pdu: Pdu) {
        let sequence = pdu.sequence;
        let command_id = pdu.body.command_id();
        match pdu.body {
            Body::SubmitSm(submit) => {
                let replaces = submit.replace_if_present_flag == 1;
                let message = self.wished(pdu::message_of(submit, Kind::Mt));
                if replaces {
                    self.operate(sequence, Operation::SubmitOver(Box::new(message)));
                } else {
                    self.core.submit(sequence, message);
                }
            }
            Body::SubmitMulti(multi) => self.submit_multi(sequence, multi),
            Body::DataSm(data) => {
                if let Some(submit) = self.core.take_data_sm(sequence, data) {
                    let message = self.wished(pdu::message_of(submit, Kind::Mt));
                    self.core.submit(sequence, message);
                }
            }
            Body::QuerySm(query) => self.operate(sequence, Operation::Query(query)),
            Body::CancelSm(cancel) => self.operate(sequence, Operation::Cancel(cancel)),
            Body::ReplaceSm(replace) => self.operate(sequence, Operation::Replace(replace)),
            // A peer SMSC submits by deliver_sm as well.
            Body::DeliverSm(deliver) => {
                let sender = self.account.as_ref().map_or(0, |account| account.id);
                let kind = ingest::kind_of(&self.core.node, sender, &deliver);
                self.core.came_as.note(sequence, CommandId::DELIVER_SM);
                let message = self.wished(pdu::message_of(deliver, kind));
                self.core.submit(sequence, message);
            }
            Body::AlertNotification(_) | Body::Outbind(_) => {}
            _ => {
                let status = self.refusal_of(command_id);
                self.core.refuse(command_id, sequence, status);
            }
        }
    }

    /// The answer to an operation that is not served: cell broadcast has statuses of its own for peers
    /// that know it (5.0 §4.4, §4.6).
    fn refusal_of(&self, command_id: CommandId) -> CommandStatus {
        if self.core.protocol.peer_version() < 0x50 {
            return CommandStatus::ESME_RINVCMDID;
        }
        match command_id {
            CommandId::BROADCAST_SM => CommandStatus::ESME_RBCASTFAIL,
            CommandId::QUERY_BROADCAST_SM => CommandStatus::ESME_RBCASTQUERYFAIL,
            CommandId::CANCEL_BROADCAST_SM => CommandStatus::ESME_RBCASTCANCELFAIL,
            _ => CommandStatus::ESME_RINVCMDID,
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
        self.core.snapshot.answered(elapsed);
        let Some(serving) = &mut self.core.serving else {
            return;
        };
        if pdu.status.is_ok() {
            if late {
                self.core.node.metrics.late_answers.inc();
            }
            if context.what == What::Receipt {
                let waited = (clock::now_ms() - context.since).max(0) as f64 / 1000.0;
                let receipt_seconds = &self.core.node.metrics.receipt_seconds;
                receipt_seconds.observe(waited, context.trace_id());
            }
            serving.done(context, elapsed, !late);
        } else if !late {
            serving.refused(context, pdu.status.0, elapsed);
        }
    }

    fn tick(&mut self, ctx: &mut Context<Self>) {
        let now = Instant::now();
        let Some(close) = self.core.tick(now) else {
            return;
        };
        if let Some(reason) = close {
            tracing::info!(peer = %self.peer, ?reason, "session ended");
            self.end();
        }
        self.cut_off_if_stuck(now, ctx);
        self.finish_if_draining(now);
        self.keep_permit(now);
        self.drop_if_removed();
        self.publish();
    }

    fn publish(&mut self) {
        self.core.snapshot.state = match self.core.protocol.state() {
            SessionState::Open => BindState::Connecting,
            SessionState::Binding => BindState::Binding,
            SessionState::Bound(_) => BindState::Bound,
            SessionState::Unbinding | SessionState::Leaving | SessionState::Closed => {
                BindState::Closed
            }
        }
        .into();
        self.core.publish();
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
        self.core.port.listen(ctx.address().recipient());
        self.core.node.binds.add(Arc::clone(&self.core.port));
        if let Some(wire) = self.wire.take() {
            let limit = self.core.node.config().smpp.write_buffer_kib * 1024;
            self.core.outbox = Some(wire.attach(ctx, limit));
        }
        if let Some(outbind) = self.outbind.take() {
            self.core.write(|smpp, out| smpp.outbind(outbind, out));
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
        self.core.port.hear(Instant::now());
        loop {
            let is_all = self.take_events(octets, ctx);
            self.flush(ctx);
            self.go_on(ctx);
            // What has made room for more has begun here: nobody else says that there is some.
            if is_all || self.is_busy() {
                break;
            }
        }
        if let Some(serving) = &mut self.core.serving {
            serving.flush();
        }
    }

    /// Its half of the connection is closed; ours is, when everything is answered.
    fn on_finished(&mut self, _: &mut Context<Self>) {
        self.cut_off();
        self.core.protocol.finish();
        self.end();
    }

    fn on_closed(&mut self, error: Option<io::Error>, ctx: &mut Context<Self>) {
        if let Some(error) = error {
            tracing::debug!(peer = %self.peer, %error, "connection broken");
        }
        self.cut_off();
        ctx.stop();
    }

    fn is_busy(&self) -> bool {
        self.core.has_enough(INTAKE)
            || self.core.protocol.state() == SessionState::Binding
            || self.operations.is_full()
            || self.is_about_to_unbind()
            || self.before_bind > UNBOUND
            || self.core.outbox.as_ref().is_some_and(Outbox::is_filling)
    }

    fn is_strange(&self) -> bool {
        self.account.is_none()
    }
}
