//! Between the session, to which this is an SMSC, and the gateway, to which this is a client, or which has connected to
//! us to bring what it has.
//!
//! Neither side waits for the other to read: what is to be written is kept, and the other side is not read while that
//! is much. A message waits in [`super::pending`] until the gateway may be sent another request; what still waits there
//! when the connection ends was never sent, and is answered so.

mod silence;

use std::sync::Arc;
use std::time::Instant;

use ahash::AHashMap;
use bytes::{Bytes, BytesMut};

use super::gateway::{self, Brought, Gateway};
use super::pending::{Pending, Waiting};
use super::translate::deliver_of;
use crate::actors::context::NodeContext;
use crate::actors::context::plan::OperatorPlan;
use crate::actors::session::server_end::{self, SENDER, receipt};
use crate::carrier::session::{Closed, State};
use crate::carrier::{self, NotSent};
use crate::clock;
use crate::config::Carrier;
use crate::smpp::session::{BindType, Event, Session};
use crate::smpp::{
    Body, CommandStatus, DEFAULT_MAX_PDU, SubmitSm, encode_deliver_sm, encode_error_resp,
    encode_submit_sm_resp, next_frame,
};

/// What is brought under a sequence of the gateway.
type Came<G> = (<G as carrier::Protocol>::Sequence, <G as Gateway>::Came);

/// A request under way.
struct Flight<G: Gateway> {
    sequence: G::Sequence,
    messages: Vec<Waiting>,
}

/// Both sessions of a connection.
pub(super) struct Relay<G: Gateway> {
    protocol: G,
    /// Where the accounts are, whose messages it submits.
    pub(super) node: Arc<NodeContext>,
    pub(super) plan: Arc<OperatorPlan>,
    /// What its messages are told beside what SMPP has.
    carrier: Arc<Carrier>,
    /// With the operator's session.
    pub(super) near: Session<Came<G>>,
    pub(super) near_out: BytesMut,
    /// With the gateway, since the bind; each request has the number of its flight.
    far: Option<carrier::Session<G, u32>>,
    pub(super) far_out: BytesMut,
    pub(super) pending: Pending,
    flights: AHashMap<u32, Flight<G>>,
    /// The second that `far` numbers its requests by, since 1970.
    second: i64,
    /// Number of the last flight.
    flight: u32,
    /// The bind that waits for the login.
    bind: (u32, BindType),
    is_bound: bool,
    /// The answer to the login of a gateway that has connected to us, until our side is bound.
    welcome: Option<(G::Sequence, G::Body)>,
    /// Whether the gateway has connected to us.
    is_theirs: bool,
    /// The enquire_link of our side that waits for a sign of life of the gateway.
    enquired: Option<u32>,
    /// When there was work.
    busy_at: Instant,
    /// We have ended the connection because there is no work; some may come before the gateway has answered.
    is_retiring: bool,
    /// The connection was closed because there is no work.
    pub(super) is_asleep: bool,
}

// === impl Relay ===

impl<G: Gateway> Relay<G> {
    /// For a connection that we have made.
    pub(super) fn new(protocol: G, node: Arc<NodeContext>, plan: Arc<OperatorPlan>) -> Self {
        let system_id = Bytes::copy_from_slice(plan.config.id.as_bytes());
        let config = server_end::config(system_id);
        let now = Instant::now();
        Self {
            protocol,
            node,
            carrier: Arc::new(plan.config.carrier()),
            plan,
            near: Session::new(config, now),
            near_out: BytesMut::new(),
            far: None,
            far_out: BytesMut::new(),
            pending: Pending::default(),
            flights: AHashMap::new(),
            second: 0,
            flight: 0,
            bind: (0, BindType::Transceiver),
            is_bound: false,
            welcome: None,
            is_theirs: false,
            enquired: None,
            busy_at: now,
            is_retiring: false,
            is_asleep: false,
        }
    }

    /// For a connection that a gateway has made: its login, which is right, gets this answer when our side is bound.
    pub(super) fn of_gateway(
        session: carrier::Session<G, u32>,
        node: Arc<NodeContext>,
        plan: Arc<OperatorPlan>,
        welcome: (G::Sequence, G::Body),
    ) -> Self {
        let protocol = session.protocol;
        Self {
            far: Some(session),
            welcome: Some(welcome),
            is_theirs: true,
            ..Self::new(protocol, node, plan)
        }
    }

    /// Whether octets of the gateway may be read: before its login is answered, none have a meaning.
    pub(super) fn reads_gateway(&self) -> bool {
        self.welcome.is_none()
    }

    /// False when the connection is over.
    pub(super) fn on_tick(&mut self) -> bool {
        let now = Instant::now();
        let near = self.near.on_tick(now, &mut self.near_out);
        let far = self
            .far
            .as_mut()
            .map(|far| far.on_tick(now, &mut self.far_out));
        if let Some(far) = far {
            for expired in &far.expired {
                self.flights.remove(expired);
            }
            if let Some(closed) = far.closed {
                self.ended(closed);
                return false;
            }
        }
        self.end_if_idle(now);
        self.refuse_overdue(now);
        self.send_pending();
        near.close.is_none()
    }

    /// Ends a connection that had no work for long.
    fn end_if_idle(&mut self, now: Instant) {
        let after = self.plan.config.enquire_link_interval;
        let is_long = !after.is_zero() && now.saturating_duration_since(self.busy_at) >= after;
        if is_long
            && self.may_sleep()
            && let Some(far) = &mut self.far
            && far.state() == State::Open
        {
            self.is_retiring = true;
            far.end(now, &mut self.far_out);
        }
    }

    /// Whether the end of the connection would lose nothing, and it is made anew when there is work.
    fn may_sleep(&self) -> bool {
        G::SLEEPS
            && self.is_bound
            && !self.is_theirs
            && (self.pending.is_empty() || self.is_retiring)
            && self.flights.is_empty()
    }

    /// The gateway has closed the connection.
    pub(super) fn on_far_closed(&mut self) {
        self.is_asleep = self.may_sleep();
    }

    fn ended(&mut self, why: Closed) {
        let has_ended = matches!(why, Closed::ByUs | Closed::ByPeer | Closed::Idle);
        self.is_asleep = has_ended && self.may_sleep();
        let operator = &self.plan.config.id;
        match why {
            _ if self.is_asleep || why == Closed::ByUs => {}
            Closed::Idle | Closed::ByPeer if self.is_theirs => {
                tracing::debug!(%operator, %why, "a gateway's connection is closed");
            }
            _ => tracing::warn!(%operator, %why, "a gateway is given up"),
        }
    }

    /// Logs in again, on a new connection.
    pub(super) fn wake(&mut self) {
        self.is_asleep = false;
        self.is_retiring = false;
        self.far = None;
        self.log_in();
    }

    // --- from the session ---

    pub(super) fn on_near(&mut self, read: &mut BytesMut) -> bool {
        loop {
            let frame = match next_frame(read, DEFAULT_MAX_PDU) {
                Ok(Some(frame)) => frame,
                Ok(None) => break,
                // Where the next one begins is not known.
                Err(_) => return false,
            };
            if self.asks_gateway(&frame) {
                continue;
            }
            let event = self
                .near
                .on_frame(Instant::now(), frame, &mut self.near_out);
            match event {
                Event::Bind {
                    sequence,
                    bind_type,
                    ..
                } => {
                    self.bind = (sequence, bind_type);
                    match self.welcome.take() {
                        Some(welcome) => {
                            self.welcome(welcome);
                            // It may have said more behind its login.
                            if !self.on_far(&mut BytesMut::new()) {
                                return false;
                            }
                        }
                        None => self.log_in(),
                    }
                }
                Event::Request(pdu) => match pdu.body {
                    Body::SubmitSm(message) => self.submit(pdu.sequence, &message),
                    other => {
                        let status = CommandStatus::ESME_RINVCMDID;
                        let (command, sequence) = (other.command_id(), pdu.sequence);
                        encode_error_resp(&mut self.near_out, command, sequence, status);
                    }
                },
                Event::Response { pdu, context, .. } => self.answer(context, pdu.status),
                Event::Unbind => match &mut self.far {
                    Some(far) if far.state() == State::Open => {
                        // Nothing makes it anew.
                        self.is_bound = false;
                        far.end(Instant::now(), &mut self.far_out);
                    }
                    _ => {
                        self.near.answer_unbind(&mut self.near_out);
                        return false;
                    }
                },
                Event::Close(_) => return false,
                Event::Nothing | Event::BindResult { .. } | Event::Answered { .. } => {}
            }
        }
        self.send_pending();
        true
    }

    fn accept_bind(&mut self) {
        let now = Instant::now();
        self.is_bound = true;
        self.busy_at = now;
        self.near.accept_bind(now, self.bind.0, &mut self.near_out);
    }

    /// Our side is bound: the gateway is told that it may bring what it has.
    fn welcome(&mut self, (sequence, body): (G::Sequence, G::Body)) {
        self.accept_bind();
        if let Some(far) = &mut self.far {
            // Its fields always fit.
            let _ = far.answer_login(sequence, body, Instant::now(), &mut self.far_out);
        }
    }

    fn log_in(&mut self) {
        let operator = &self.plan.config;
        let config = gateway::session_of::<G>(operator);
        let now_ms = clock::now_ms();
        let protocol = self.protocol.at(now_ms);
        let login = protocol.login(operator, self.bind.1, now_ms);
        let out = &mut self.far_out;
        match carrier::Session::client(config, protocol, login, Instant::now(), out) {
            Ok(mut session) => {
                // Sequences that say the time must differ from those of other connections in the same second.
                if G::SLEEPS {
                    session.start_at(rand::random::<u32>() >> 1);
                }
                self.far = Some(session);
            }
            Err(why) => {
                tracing::error!(operator = %operator.id, %why, "its login cannot be written");
                let status = CommandStatus::ESME_RINVSYSID;
                self.near
                    .reject_bind(self.bind.0, status, &mut self.near_out);
            }
        }
    }

    fn submit(&mut self, sequence: u32, message: &SubmitSm) {
        let carrier = self.carrier_of(message);
        self.pending.push(Waiting::new(sequence, message, carrier));
    }

    /// What the gateway is told with a message: what its account says goes before what the operator's section says.
    fn carrier_of(&self, message: &SubmitSm) -> Arc<Carrier> {
        let sender = message.tlvs.get_uint(SENDER);
        let plan = self.node.plan();
        let account = sender.and_then(|sender| plan.account_by_id(sender));
        match account.and_then(|account| account.config.carrier.as_ref()) {
            Some(own) => Arc::new(own.over(&self.carrier)),
            None => Arc::clone(&self.carrier),
        }
    }

    fn send_pending(&mut self) {
        while !self.pending.is_empty() && self.far.as_ref().is_some_and(|far| far.room() > 0) {
            let group = self.pending.next(G::MOST_RECIPIENTS);
            let (late, group) = group.into_iter().partition(Waiting::has_expired);
            // They end in their queue.
            self.refuse(late);
            self.send(group);
        }
    }

    fn send(&mut self, group: Vec<Waiting>) {
        let (Some(far), Some(first)) = (&mut self.far, group.first()) else {
            return;
        };
        self.busy_at = Instant::now();
        let second = clock::now_ms().div_euclid(1_000);
        if second != self.second {
            self.second = second;
            far.protocol = far.protocol.at(second * 1_000);
        }
        let to = group.iter().map(|message| message.to.clone()).collect();
        let operator = &self.plan.config;
        let body = self
            .protocol
            .submit(operator, &first.carrier, &first.draft, to);
        self.flight = self.flight.wrapping_add(1);
        match far.send(body, self.flight, self.busy_at, &mut self.far_out) {
            Ok(sequence) => {
                let messages = group;
                let flight = Flight { sequence, messages };
                self.flights.insert(self.flight, flight);
            }
            Err(NotSent::Full(_) | NotSent::NotOpen(_)) => self.pending.give_back(group, false),
            // One of the recipients may be the reason.
            Err(NotSent::Unwritable(..)) if group.len() > 1 => self.pending.give_back(group, true),
            Err(NotSent::Unwritable(_, why)) => {
                tracing::info!(operator = %operator.id, %why, "a message cannot be written");
                let status = gateway::unwritable(why);
                let (out, sequence) = (&mut self.near_out, first.sequence);
                encode_submit_sm_resp(out, sequence, status, server_end::NOT_SENT);
            }
        }
    }

    /// The session has answered what the gateway has brought.
    fn answer(&mut self, (sequence, came): Came<G>, status: CommandStatus) {
        if let Some(far) = &mut self.far {
            // Its fields always fit.
            let _ = far.answer(sequence, G::answer(came, status), &mut self.far_out);
        }
    }

    // --- from the gateway ---

    pub(super) fn on_far(&mut self, read: &mut BytesMut) -> bool {
        let now = Instant::now();
        let Some(far) = &mut self.far else {
            // Nothing may come before our login.
            return false;
        };
        if !read.is_empty() {
            far.receive(read, now);
            read.clear();
            self.is_heard();
        }
        while let Some(event) = self
            .far
            .as_mut()
            .and_then(|far| far.next_event(now, &mut self.far_out))
        {
            match event {
                carrier::Event::Opened(_) if self.is_bound => {}
                carrier::Event::Opened(_) => self.accept_bind(),
                carrier::Event::Refused(body) => {
                    let status = G::refused(&body);
                    if self.is_bound {
                        tracing::warn!(operator = %self.plan.config.id, %status, "a gateway refuses a further login");
                    } else {
                        let bind = self.bind.0;
                        self.near.reject_bind(bind, status, &mut self.near_out);
                    }
                    return false;
                }
                carrier::Event::Request(pdu) => self.on_request(pdu.sequence, &pdu.body),
                carrier::Event::Response(flight, body) => self.submitted(flight, &body),
                carrier::Event::Malformed(why) => {
                    // It would bring the same again on the next connection.
                    tracing::warn!(operator = %self.plan.config.id, %why, "a gateway sends what cannot be read");
                }
                carrier::Event::Closed(why) => {
                    self.ended(why);
                    if !self.is_asleep {
                        self.near.answer_unbind(&mut self.near_out);
                    }
                    return false;
                }
                carrier::Event::Stray(_) | carrier::Event::Login(_) => {}
            }
        }
        self.send_pending();
        true
    }

    fn submitted(&mut self, flight: u32, body: &G::Body) {
        let Some(Flight { sequence, messages }) = self.flights.remove(&flight) else {
            return;
        };
        self.busy_at = Instant::now();
        let results: Option<Vec<(String, CommandStatus)>> = messages
            .iter()
            .map(|message| G::submitted(sequence, body, &message.to))
            .collect();
        let Some(results) = results else {
            return;
        };
        // A result is for the whole request: each message gets its own one if it goes alone.
        let is_about_one = |status: &CommandStatus| {
            !matches!(
                *status,
                CommandStatus::ESME_ROK
                    | CommandStatus::ESME_RTHROTTLED
                    | CommandStatus::ESME_RMSGQFUL
            )
        };
        if messages.len() > 1 && results.iter().any(|(_, status)| is_about_one(status)) {
            return self.pending.give_back(messages, true);
        }
        for (message, (id, status)) in messages.iter().zip(results) {
            let id = if status.is_ok() { id } else { String::new() };
            let (out, sequence) = (&mut self.near_out, message.sequence);
            encode_submit_sm_resp(out, sequence, status, id.as_bytes());
        }
    }

    fn on_request(&mut self, sequence: G::Sequence, body: &G::Body) {
        let Some((came, brought)) = self.protocol.brought(body) else {
            tracing::debug!(operator = %self.plan.config.id, "a gateway asks for what a client does not do");
            return;
        };
        self.busy_at = Instant::now();
        let deliver = match brought {
            Brought::Nothing => {
                tracing::warn!(operator = %self.plan.config.id, "a report that cannot be read is dropped");
                return self.answer((sequence, came), CommandStatus::ESME_ROK);
            }
            Brought::Noted => return self.answer((sequence, came), CommandStatus::ESME_ROK),
            Brought::Report {
                id,
                outcome,
                error,
                number,
            } => receipt(&id, outcome as u8, error, number, clock::now_ms()),
            Brought::Message(message) => deliver_of(message),
        };
        let write = |out: &mut BytesMut, sequence| encode_deliver_sm(out, sequence, &deliver);
        let now = Instant::now();
        let sent = self
            .near
            .send(now, (sequence, came), &mut self.near_out, write);
        if sent.is_err() {
            // Too much is under way, or the session is ending: the gateway brings it again.
            self.answer((sequence, came), CommandStatus::ESME_RMSGQFUL);
        }
    }
}
