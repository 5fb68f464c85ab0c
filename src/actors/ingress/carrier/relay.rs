//! Between the client, to which this is a gateway, and the session, to which this is an ESME.
//!
//! Neither side waits for the other to read: what is to be written is kept, and the other side is not read while that
//! is much. PDUs of the client are taken one by one, and no more while the session has no room for requests: so a
//! client that sends without waiting waits in its socket.

use std::collections::VecDeque;
use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::{Bytes, BytesMut};
use secrecy::ExposeSecret as _;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::UnixStream;
use tokio::time::interval;

use super::login::Login;
use super::query::DayQuery;
use super::translate::{deliver_of, unwritable};
use crate::actors::context::NodeContext;
use crate::actors::ingress::gate::Gate;
use crate::actors::session::pair;
use crate::actors::session::server_end::{READ, TICK, WINDOW};
use crate::carrier::session::{Closed, State};
use crate::carrier::{self, Malformed, NotSent};
use crate::clock;
use crate::cmpp::bodies::{self, Deliver, QueryResp, SubmitResp, TerminateResp};
use crate::cmpp::{Body, Cmpp, Pdu, status};
use crate::smpp::session::{BindType, Event, Role, Session, SessionConfig};
use crate::smpp::timers::Timers;
use crate::smpp::{
    BindRequest, Body as Smpp, CommandId, CommandStatus, DEFAULT_MAX_PDU, Header, SubmitSm,
    encode_deliver_sm_resp, encode_empty_resp, next_frame,
};

/// How long the response to a CMPP_DELIVER is recognised; the session has given it up before.
const RECOGNISED: Duration = Duration::from_secs(300);
/// Our interface_version towards the session.
const VERSION: u8 = 0x34;
/// The command of CMPP_TERMINATE and of CMPP_SUBMIT (CMPP §8.4.2.1, §8.4.3.1).
const TERMINATE: u32 = 2;
const SUBMIT: u32 = 4;
/// A login has failed for a reason that has no status of its own.
const OTHER: u32 = 5;
/// Reports of refused recipients that may wait for room in the client's window.
pub(super) const MOST_OWED: usize = 1_000;

/// A request of the client that the session answers, by its sequence.
#[derive(Clone, Debug)]
pub(super) enum ClientRequest {
    Submit {
        sequence: u32,
        /// Who sent it, if it asks for reports.
        reports_to: Option<Bytes>,
        /// Recipients that are no numbers, beside others that are.
        wrong: Vec<Bytes>,
    },
    Cancel {
        sequence: u32,
    },
}

/// Both sessions of a connection.
pub(super) struct Relay {
    pub(super) node: Arc<NodeContext>,
    /// Limits what is logged about strangers.
    gate: Arc<Gate>,
    peer: SocketAddr,
    login: Arc<Login>,
    /// With the session of the ESME; responses come with what the client has asked for.
    pub(super) near: Session<ClientRequest>,
    pub(super) near_out: BytesMut,
    /// With the client; requests have the sequence of their deliver_sm, if there is one.
    pub(super) far: carrier::Session<Cmpp, Option<u32>>,
    pub(super) far_out: BytesMut,
    /// The CMPP_CONNECT that waits for the verdict.
    connect: Option<u32>,
    /// The enquire_link that waits for a sign of life of the client.
    enquired: Option<u32>,
    /// The CMPP_TERMINATE of the client: answered when everything before it is.
    terminate: Option<u32>,
    /// Reports of recipients that were refused beside others that were not.
    pub(super) owed: VecDeque<Deliver>,
    /// The CMPP_QUERY that is being answered.
    pub(super) query: Option<DayQuery>,
}

/// Serves a connection until one side is gone.
pub(super) async fn serve(
    mut relay: Relay,
    near: UnixStream,
    far: impl AsyncRead + AsyncWrite + Unpin,
) {
    let (mut near_read, mut near_write) = near.into_split();
    let (mut far_read, mut far_write) = tokio::io::split(far);
    let (mut from_near, mut from_far) = (BytesMut::new(), BytesMut::new());
    let mut tick = interval(TICK);
    let mut goes_on = true;
    let mut unflushed = false;
    while goes_on {
        from_near.reserve(READ);
        // A client that does not take what it is told is not read on, so that the session closes it.
        let may_read = [relay.near_out.len(), relay.far_out.len(), from_far.len()]
            .iter()
            .all(|waits| *waits < pair::MUCH);
        if may_read {
            from_far.reserve(READ);
        }
        goes_on = tokio::select! {
            octets = near_read.read_buf(&mut from_near), if relay.far_out.len() < pair::MUCH => match octets {
                Ok(0) | Err(_) => false,
                // There may be room for what the client has sent before.
                Ok(_) => relay.on_near(&mut from_near) && relay.on_far(&mut from_far),
            },
            octets = far_read.read_buf(&mut from_far), if may_read => match octets {
                Ok(0) | Err(_) => false,
                Ok(_) => {
                    relay.is_heard();
                    relay.on_far(&mut from_far)
                }
            },
            written = near_write.write_buf(&mut relay.near_out), if !relay.near_out.is_empty() => {
                written.is_ok()
            }
            written = pair::write(&mut far_write, &mut relay.far_out, &mut unflushed),
                if unflushed || !relay.far_out.is_empty() => written.is_ok(),
            answer = super::query::answer_of(&mut relay.query) => {
                relay.queried(answer);
                relay.on_far(&mut from_far)
            }
            _ = tick.tick() => relay.on_tick(),
        };
    }
    relay.part();
    let (near_out, far_out) = (&mut relay.near_out, &mut relay.far_out);
    pair::part(&mut near_write, near_out, &mut far_write, far_out).await;
}

// === impl Relay ===

impl Relay {
    pub(super) fn new(
        node: Arc<NodeContext>,
        gate: Arc<Gate>,
        peer: SocketAddr,
        login: Arc<Login>,
    ) -> Self {
        let now = Instant::now();
        // All timers are those of the session.
        let near = SessionConfig {
            role: Role::Client,
            window: WINDOW,
            timers: Timers {
                session_init: Duration::ZERO,
                bind_answer: Duration::ZERO,
                enquire_link: Duration::ZERO,
                enquire_link_answer: Duration::ZERO,
                inactivity: Duration::ZERO,
                unbind_answer: Duration::ZERO,
            },
            interface_version: VERSION,
            ..SessionConfig::default()
        };
        let far = carrier::SessionConfig {
            window: WINDOW,
            login: Duration::ZERO,
            response: RECOGNISED,
            probe_every: Duration::ZERO,
            idle: Duration::ZERO,
            logout: node.config().smpp.enquire_link_timeout,
            ..crate::cmpp::session_config()
        };
        Self {
            node,
            gate,
            peer,
            login,
            near: Session::new(near, now),
            near_out: BytesMut::new(),
            // The login is the same in both versions, and says which one it is.
            far: carrier::Session::server(far, Cmpp::V20, now),
            far_out: BytesMut::new(),
            connect: None,
            enquired: None,
            terminate: None,
            owed: VecDeque::new(),
            query: None,
        }
    }

    /// False when the connection is over.
    fn on_tick(&mut self) -> bool {
        let tick = self.far.on_tick(Instant::now(), &mut self.far_out);
        self.pay();
        if tick.closed.is_some() {
            self.near.answer_unbind(&mut self.near_out);
        }
        tick.closed.is_none()
    }

    /// The last word to a client that has ended the session.
    fn part(&mut self) {
        if let Some(sequence) = self.terminate.take() {
            self.answer(sequence, Body::TerminateResp(TerminateResp {}));
        }
    }

    fn queried(&mut self, (sequence, resp): (u32, QueryResp)) {
        self.query = None;
        self.answer(sequence, Body::QueryResp(resp));
    }

    // --- from the session ---

    pub(super) fn on_near(&mut self, read: &mut BytesMut) -> bool {
        loop {
            let frame = match next_frame(read, DEFAULT_MAX_PDU) {
                Ok(Some(frame)) => frame,
                Ok(None) => return true,
                // Where the next one begins is not known.
                Err(_) => return false,
            };
            if !self.on_near_frame(frame) {
                return false;
            }
        }
    }

    fn on_near_frame(&mut self, frame: Bytes) -> bool {
        match Header::parse(&frame) {
            Some(header) if header.command_id == CommandId::ENQUIRE_LINK => {
                self.probe(header.sequence);
                return true;
            }
            // A client that has ended the session takes nothing more: without an answer the session keeps it.
            Some(header) if self.terminate.is_some() && !header.command_id.is_response() => {
                return true;
            }
            _ => {}
        }
        let now = Instant::now();
        match self.near.on_frame(now, frame, &mut self.near_out) {
            Event::BindResult { status, .. } => return self.bound(status),
            Event::Request(pdu) => {
                if let Smpp::DeliverSm(message) = pdu.body {
                    self.deliver(pdu.sequence, &message);
                }
            }
            Event::Response { pdu, context, .. } => self.answered(context, &pdu),
            Event::Unbind if self.far.state() == State::Open => {
                self.far.end(now, &mut self.far_out);
            }
            Event::Unbind | Event::Close(_) => return false,
            Event::Nothing | Event::Bind { .. } | Event::Answered { .. } => {}
        }
        true
    }

    /// The session asks whether the client is there; it is, when it says anything.
    fn probe(&mut self, sequence: u32) {
        self.enquired = Some(sequence);
        match self.far.state() {
            State::Open => self.answer(sequence, Body::ActiveTest(bodies::ActiveTest {})),
            _ => self.is_heard(),
        }
    }

    /// The verdict about the login.
    fn bound(&mut self, verdict: CommandStatus) -> bool {
        let (Some(sequence), Some(connect)) = (self.connect.take(), self.login.0.get()) else {
            return false;
        };
        let plan = self.node.full_plan();
        let account = plan.account(&self.source());
        let secret = account.and_then(|one| self.login.proven(&one.config));
        let secret = secret.map_or("", |secret| secret.expose_secret());
        let status = match verdict {
            CommandStatus::ESME_ROK => status::OK,
            CommandStatus::ESME_RBINDFAIL => OTHER,
            other => {
                let known = status::CONNECT.iter().find(|(.., known)| *known == other);
                known.map_or(OTHER, |(status, ..)| *status)
            }
        };
        let resp = (self.far.protocol).connect_resp(connect, secret.as_bytes(), status);
        let now = Instant::now();
        // Its fields always fit.
        let _ = (self.far).answer_login(sequence, resp, now, &mut self.far_out);
        status == status::OK
    }

    fn deliver(&mut self, sequence: u32, message: &SubmitSm) {
        let Some(deliver) = deliver_of(message, self.far.protocol, clock::now_ms()) else {
            // CMPP knows no such thing, as the report of a state that is not final.
            let status = CommandStatus::ESME_ROK;
            return encode_deliver_sm_resp(&mut self.near_out, sequence, status);
        };
        let body = Body::Deliver(Box::new(deliver));
        let now = Instant::now();
        let status = match (self.far).send(body, Some(sequence), now, &mut self.far_out) {
            Ok(_) => return,
            // The session keeps it when the pair is closed.
            Err(NotSent::NotOpen(_)) => return,
            Err(NotSent::Full(_)) => CommandStatus::ESME_RMSGQFUL,
            Err(NotSent::Unwritable(_, why)) => {
                tracing::info!(peer = %self.peer, %why, "a message cannot be written for a client");
                unwritable(why.field)
            }
        };
        encode_deliver_sm_resp(&mut self.near_out, sequence, status);
    }

    // --- from the client ---

    /// Octets have come.
    fn is_heard(&mut self) {
        if let Some(sequence) = self.enquired.take() {
            let command = CommandId::ENQUIRE_LINK_RESP;
            let status = CommandStatus::ESME_ROK;
            encode_empty_resp(&mut self.near_out, command, sequence, status);
        }
    }

    /// Whether the next PDU of the client may be taken.
    fn has_room(&self) -> bool {
        let waits = self.connect.is_some() || self.terminate.is_some() || self.query.is_some();
        let is_full = self.far.state() == State::Open && self.near.room() == 0;
        !waits && !is_full
    }

    pub(super) fn on_far(&mut self, read: &mut BytesMut) -> bool {
        while self.has_room() {
            let frame = match carrier::next_frame::<Cmpp>(read) {
                Ok(Some(frame)) => frame,
                Ok(None) => return true,
                Err(why) => {
                    self.disconnected(&why);
                    return false;
                }
            };
            if !self.on_far_frame(&frame) {
                return false;
            }
        }
        true
    }

    fn on_far_frame(&mut self, frame: &Bytes) -> bool {
        let word = |at: usize| {
            frame[at..]
                .first_chunk()
                .map_or(0, |word| u32::from_be_bytes(*word))
        };
        let (command, sequence) = (word(4), word(8));
        let now = Instant::now();
        if command == TERMINATE && self.far.state() == State::Open {
            self.terminate = Some(sequence);
            self.near.unbind(now, &mut self.near_out);
            return true;
        }
        self.far.receive(frame, now);
        match self.far.next_event(now, &mut self.far_out) {
            None | Some(carrier::Event::Stray(_)) => {}
            Some(carrier::Event::Login(pdu)) => return self.log_in(pdu),
            Some(carrier::Event::Request(pdu)) => self.asked(pdu),
            Some(carrier::Event::Response(deliver, body)) => self.delivered(deliver, &body),
            Some(carrier::Event::Malformed(why)) => return self.malformed(command, sequence, why),
            Some(carrier::Event::Closed(why)) => {
                if why == Closed::NotOpen {
                    self.disconnected(&why);
                }
                self.near.answer_unbind(&mut self.near_out);
                return false;
            }
            // The response to a login that we have not sent.
            Some(carrier::Event::Opened(_) | carrier::Event::Refused(_)) => return false,
        }
        true
    }

    fn disconnected(&self, why: &dyn fmt::Display) {
        if self.gate.bind_guard.may_log(self.peer.ip()) {
            tracing::warn!(peer = %self.peer, %why, "a client is disconnected");
        }
    }

    fn log_in(&mut self, pdu: Pdu) -> bool {
        let Body::Connect(connect) = pdu.body else {
            return false;
        };
        let now = Instant::now();
        let Some(version) = Cmpp::of(connect.version) else {
            let highest = Cmpp::V30;
            // The statuses of CMPP §8.4.1.2: the version is too high.
            let resp = highest.connect_resp(&connect, &[], 4);
            self.far.protocol = highest;
            let _ = (self.far).answer_login(pdu.sequence, resp, now, &mut self.far_out);
            return false;
        };
        self.far.protocol = version;
        self.connect = Some(pdu.sequence);
        let bind = BindRequest {
            system_id: connect.source_addr.0.clone(),
            interface_version: VERSION,
            ..BindRequest::default()
        };
        // There is one login for each connection.
        let _ = self.login.0.set(connect);
        let out = &mut self.near_out;
        self.near.bind(now, BindType::Transceiver, bind, out);
        true
    }

    /// The client has answered a CMPP_DELIVER.
    fn delivered(&mut self, deliver: Option<u32>, body: &Body) {
        if let (Some(sequence), Body::DeliverResp(resp)) = (deliver, body) {
            let status = status::smpp(&status::SUBMIT, resp.result.0);
            encode_deliver_sm_resp(&mut self.near_out, sequence, status);
        }
        self.pay();
    }

    /// A CMPP_SUBMIT is answered whatever it is; what else cannot be read has no response that says so. Before the
    /// login it ends the connection.
    fn malformed(&mut self, command: u32, sequence: u32, why: Malformed) -> bool {
        if self.gate.bind_guard.may_log(self.peer.ip()) {
            tracing::info!(peer = %self.peer, %why, "a client sends what cannot be read");
        }
        if command == SUBMIT && self.far.state() != State::Opening {
            let resp = SubmitResp {
                msg_id: 0,
                result: carrier::fields::Widened(match why.field {
                    "Msg_Content" => 4,
                    _ => 1,
                }),
            };
            self.answer(sequence, Body::SubmitResp(resp));
        }
        self.far.state() != State::Opening
    }

    /// Sends what is owed, as far as there is room.
    pub(super) fn pay(&mut self) {
        let now = Instant::now();
        while self.far.room() > 0
            && let Some(deliver) = self.owed.pop_front()
        {
            // What does not fit was refused for that.
            let _ = (self.far).send(
                Body::Deliver(Box::new(deliver)),
                None,
                now,
                &mut self.far_out,
            );
        }
    }

    /// The account that has logged in.
    pub(super) fn source(&self) -> String {
        let connect = self.login.0.get();
        connect.map_or_else(String::new, |connect| {
            String::from_utf8_lossy(&connect.source_addr.0).into_owned()
        })
    }

    pub(super) fn answer(&mut self, sequence: u32, body: Body) {
        // Fields of our answers always fit.
        let _ = self.far.answer(sequence, body, &mut self.far_out);
    }
}
