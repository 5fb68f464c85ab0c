//! A client over CMPP: what [`BoundProtocol`] asks, and what the session of an ESME asks of a client beside.
//!
//! It is to the session as SMPP's is, with its timers: what the client submits comes as the session would have it over
//! SMPP, and answers, receipts and messages of handsets go out as CMPP has them.

use std::collections::VecDeque;
use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ahash::AHashMap;
use bytes::{Bytes, BytesMut};
use secrecy::{ExposeSecret as _, SecretString};

use super::translate::{deliver_of, unwritable};
use crate::actors::ingress::client_event::ClientEvent;
use crate::actors::ingress::gate::Gate;
use crate::actors::runtime::link::keep;
use crate::actors::session::bound::{BoundProtocol, Encode, InFlight, LiveView, WITH_TLVS};
use crate::carrier::pdu::BadLength;
use crate::carrier::session::{Closed, State};
use crate::carrier::{self, Malformed, NotSent};
use crate::clock;
use crate::cmpp::bodies::{Connect, Deliver, QueryResp, TerminateResp};
use crate::cmpp::{Body, Cmpp, Pdu, proof, status};
use crate::config::Account;
use crate::pb::PduDialect;
use crate::smpp::codec::BadCommandLength;
use crate::smpp::session::{BindType, CloseReason, Event, SessionConfig, SessionState, Tick};
use crate::smpp::timers::{Due, Phase, TimerWatch, Timers};
use crate::smpp::window::{LateWindow, WindowEntry};
use crate::smpp::{
    BindRequest, Body as Smpp, CommandId, CommandStatus, Pdu as SmppPdu, SubmitSm, SubmitSmResp,
};

/// Most CMPP_DELIVERs under way, reports of refused recipients among them: more than any window of an account.
const MOST_UNDER_WAY: usize = 1 << 17;
/// The command of CMPP_TERMINATE and of CMPP_SUBMIT (CMPP §8.4.2.1, §8.4.3.1).
const TERMINATE: u32 = 2;
const SUBMIT: u32 = 4;
/// The version of a login is too high (§8.4.1.2).
const VERSION_TOO_HIGH: u32 = 4;
/// A login has failed for a reason that has no status of its own.
const OTHER: u32 = 5;

/// A CMPP_SUBMIT with several recipients that asks for reports.
#[derive(Debug)]
pub(super) struct ReportedSubmit {
    pub sender: Bytes,
    /// Recipients that are no numbers, beside others that are.
    pub wrong: Vec<Bytes>,
}

/// See the file's documentation.
pub(in crate::actors::ingress) struct CmppClient {
    /// Limits what is logged about strangers.
    gate: Arc<Gate>,
    peer: SocketAddr,
    state: SessionState,
    timers: Timers,
    watch: TimerWatch,
    pub(super) session: carrier::Session<Cmpp, ()>,
    /// Messages that wait for an answer, by the sequences of their requests.
    messages: LateWindow<InFlight>,
    /// The login, once it has come.
    connect: Option<Connect>,
    /// Its sequence, while it waits for the verdict.
    login: Option<u32>,
    /// The CMPP_TERMINATE of the client: answered when everything before it is.
    terminate: Option<u32>,
    /// Those that the session has not answered, by their sequences.
    pub(super) reported: AHashMap<u32, ReportedSubmit>,
    /// Reports of recipients that were refused beside others that were not.
    pub(super) owed: VecDeque<Deliver>,
    /// What the session has not taken yet.
    events: VecDeque<Event<InFlight>>,
}

// === impl CmppClient ===

impl CmppClient {
    /// In place of an SMPP session that is configured so.
    pub(in crate::actors::ingress) fn new(
        gate: Arc<Gate>,
        peer: SocketAddr,
        smpp: &SessionConfig,
    ) -> Self {
        let now = Instant::now();
        // All timers are those of SMPP.
        let session = carrier::SessionConfig {
            window: MOST_UNDER_WAY,
            login: Duration::ZERO,
            response: smpp.response_timeout,
            probe_every: Duration::ZERO,
            probe: Duration::ZERO,
            idle: Duration::ZERO,
            logout: Duration::ZERO,
            ..crate::cmpp::session_config()
        };
        Self {
            gate,
            peer,
            state: SessionState::Open,
            timers: smpp.timers,
            watch: TimerWatch::new(now),
            // The login is the same in both versions, and says which one it is.
            session: carrier::Session::server(session, Cmpp::V20, now),
            messages: LateWindow::new(1, smpp.response_timeout),
            connect: None,
            login: None,
            terminate: None,
            reported: AHashMap::new(),
            owed: VecDeque::new(),
            events: VecDeque::new(),
        }
    }

    // --- what the session orders ---

    /// The shared secret of the account that the client has proven to know (CMPP §8.4.1.1).
    pub(in crate::actors::ingress) fn proven<'a>(
        &self,
        account: &'a Account,
    ) -> Option<&'a SecretString> {
        let connect = self.connect.as_ref()?;
        proven(connect, account)
    }

    pub(in crate::actors::ingress) fn accept_login(
        &mut self,
        now: Instant,
        account: &Account,
        out: &mut BytesMut,
    ) {
        if self.state != SessionState::Binding {
            return;
        }
        let secret = self.proven(account);
        let secret = secret.map_or("", |secret| secret.expose_secret());
        self.answer_login(now, status::OK, secret, out);
        self.state = SessionState::Bound(BindType::Transceiver);
        self.watch.enter(Phase::Bound, now);
    }

    pub(in crate::actors::ingress) fn reject_login(
        &mut self,
        verdict: CommandStatus,
        out: &mut BytesMut,
    ) {
        // ESME_RBINDFAIL stands for the last two: a version that is too high was answered before.
        let known = status::CONNECT
            .iter()
            .rfind(|(.., known)| *known == verdict);
        let status = known.map_or(OTHER, |(status, ..)| *status);
        self.answer_login(Instant::now(), status, "", out);
        self.finish();
    }

    fn answer_login(&mut self, now: Instant, status: u32, secret: &str, out: &mut BytesMut) {
        if let (Some(sequence), Some(connect)) = (self.login.take(), &self.connect) {
            let protocol = self.session.protocol;
            let resp = protocol.connect_resp(connect, secret.as_bytes(), status);
            // Its fields always fit.
            let _ = self.session.answer_login(sequence, resp, now, out);
        }
    }

    pub(in crate::actors::ingress) fn set_window(&mut self, window: usize) {
        self.messages = LateWindow::new(window, self.messages.timeout());
    }

    /// Ends the session in good order: no more requests, and it is over when the client has answered.
    pub(in crate::actors::ingress) fn unbind(&mut self, now: Instant, out: &mut BytesMut) {
        if matches!(self.state, SessionState::Bound(_)) {
            self.session.end(now, out);
            self.state = SessionState::Unbinding;
            self.watch.enter(Phase::Unbinding, now);
        }
    }

    pub(in crate::actors::ingress) fn answer_unbind(&mut self, out: &mut BytesMut) {
        if let Some(sequence) = self.terminate.take() {
            self.respond(sequence, Body::TerminateResp(TerminateResp {}), out);
            self.close();
        }
    }

    pub(in crate::actors::ingress) fn enquire(&mut self, now: Instant, out: &mut BytesMut) {
        if matches!(self.state, SessionState::Bound(_)) && !self.watch.is_enquiring() {
            self.session.ask(now, out);
            self.watch.enquired(now);
        }
    }

    pub(in crate::actors::ingress) fn is_enquiring(&self) -> bool {
        self.watch.is_enquiring()
    }

    /// The client sends nothing more; what it has sent can still be answered.
    pub(in crate::actors::ingress) fn finish(&mut self) {
        if self.state != SessionState::Leaving {
            self.close();
        }
    }

    pub(in crate::actors::ingress) fn has_news(&self) -> bool {
        !self.events.is_empty()
    }

    pub(in crate::actors::ingress) fn answer_query(
        &mut self,
        sequence: u32,
        resp: QueryResp,
        out: &mut BytesMut,
    ) {
        self.respond(sequence, Body::QueryResp(resp), out);
    }

    fn close(&mut self) {
        self.state = SessionState::Closed;
        self.watch.stop();
    }

    /// Sends what is owed, as far as there is room.
    pub(super) fn pay(&mut self, now: Instant, out: &mut BytesMut) {
        while MOST_UNDER_WAY - self.session.room() < self.messages.limit()
            && let Some(deliver) = self.owed.pop_front()
        {
            // What does not fit was refused for that.
            let body = Body::Deliver(Box::new(deliver));
            let _ = self.session.send(body, (), now, out);
        }
    }

    pub(super) fn respond(&mut self, sequence: u32, body: Body, out: &mut BytesMut) {
        // Fields of our answers always fit.
        let _ = self.session.answer(sequence, body, out);
    }

    /// Tells the session how a message went.
    fn settle(&mut self, context: InFlight, status: CommandStatus, sent_at: Instant, late: bool) {
        let body = Smpp::DeliverSmResp(SubmitSmResp::default());
        self.events.push_back(Event::Response {
            pdu: SmppPdu::response(status, 0, body),
            context,
            sent_at,
            late,
        });
    }

    // --- from the client ---

    fn on_frame(&mut self, frame: &Bytes, now: Instant, out: &mut BytesMut) -> Option<ClientEvent> {
        self.watch.received(now);
        let word = |at: usize| {
            frame[at..]
                .first_chunk()
                .map_or(0, |word| u32::from_be_bytes(*word))
        };
        let (command, sequence) = (word(4), word(8));
        let is_bound = matches!(self.state, SessionState::Bound(_));
        match self.state {
            SessionState::Bound(_) | SessionState::Unbinding if command == TERMINATE => {
                self.terminate = Some(sequence);
                self.state = SessionState::Leaving;
                self.watch.stop();
                return Some(ClientEvent::Smpp(Event::Unbind));
            }
            // The first one is answered behind everything before it.
            SessionState::Leaving if command == TERMINATE => return None,
            _ => {}
        }
        match self.session.on_pdu(frame, now, out)? {
            carrier::Event::Login(pdu) => Some(self.log_in(pdu, now, out)),
            carrier::Event::Request(pdu) if is_bound => self.on_request(pdu, out),
            // It may be to a message that has expired, or to a report.
            carrier::Event::Response(
                (),
                carrier::Pdu {
                    body: Body::DeliverResp(resp),
                    ..
                },
            )
            | carrier::Event::Stray(carrier::Pdu {
                body: Body::DeliverResp(resp),
                ..
            }) => {
                if let Some((entry, late)) = self.messages.answered(sequence) {
                    let status = status::smpp(&status::SUBMIT, resp.result.0);
                    self.settle(entry.item, status, entry.sent_at, late);
                }
                self.pay(now, out);
                None
            }
            carrier::Event::Malformed(why) => self.malformed(command, sequence, why, out),
            carrier::Event::Closed(why) => {
                if why == Closed::NotOpen {
                    self.disconnected(&why);
                }
                Some(self.closed())
            }
            // The response to a login that we have not sent.
            carrier::Event::Opened(_) | carrier::Event::Refused(_) => Some(self.closed()),
            // What has crossed our CMPP_TERMINATE, or comes after the client's, is submitted again elsewhere.
            carrier::Event::Request(_)
            | carrier::Event::Response(..)
            | carrier::Event::Stray(_) => None,
        }
    }

    fn closed(&mut self) -> ClientEvent {
        self.close();
        ClientEvent::Smpp(Event::Close(CloseReason::UnbindDone))
    }

    fn disconnected(&self, why: &dyn fmt::Display) {
        if self.gate.bind_guard.may_log(self.peer.ip()) {
            tracing::warn!(peer = %self.peer, %why, "a client is disconnected");
        }
    }

    fn log_in(&mut self, pdu: Pdu, now: Instant, out: &mut BytesMut) -> ClientEvent {
        let Body::Connect(connect) = pdu.body else {
            return self.closed();
        };
        self.login = Some(pdu.sequence);
        let version = Cmpp::of(connect.version);
        self.session.protocol = version.unwrap_or(Cmpp::V30);
        let bind = BindRequest {
            system_id: connect.source_addr.0.clone(),
            interface_version: WITH_TLVS,
            ..BindRequest::default()
        };
        self.connect = Some(connect);
        if version.is_none() {
            self.answer_login(now, VERSION_TOO_HIGH, "", out);
            return self.closed();
        }
        self.state = SessionState::Binding;
        ClientEvent::Smpp(Event::Bind {
            sequence: pdu.sequence,
            bind_type: BindType::Transceiver,
            bind,
        })
    }

    /// A CMPP_SUBMIT is answered whatever it is; what else cannot be read has no response that says so. Before the
    /// login it ends the connection.
    fn malformed(
        &mut self,
        command: u32,
        sequence: u32,
        why: Malformed,
        out: &mut BytesMut,
    ) -> Option<ClientEvent> {
        if self.gate.bind_guard.may_log(self.peer.ip()) {
            tracing::info!(peer = %self.peer, %why, "a client sends what cannot be read");
        }
        if self.session.state() == State::Opening {
            return Some(self.closed());
        }
        (command == SUBMIT).then(|| {
            let status = match why.field {
                "Msg_Content" => CommandStatus::ESME_RINVMSGLEN,
                _ => CommandStatus::ESME_RINVCMDLEN,
            };
            self.answer_submit(sequence, status, 0, out);
            let command_id = CommandId::SUBMIT_SM;
            ClientEvent::Smpp(Event::Answered { command_id, status })
        })
    }

    // --- time ---

    /// Whether the oldest message is overdue, and only a test of the connection can tell whether the client is there.
    fn is_overdue_in_silence(&self, now: Instant) -> bool {
        let timers = &self.timers;
        let may_ask = matches!(self.state, SessionState::Bound(_))
            && !timers.enquire_link.is_zero()
            && !timers.enquire_link_answer.is_zero();
        let is_silent = |one: &WindowEntry<InFlight>| {
            one.deadline <= now && !self.watch.has_heard_since(one.sent_at)
        };
        may_ask && self.messages.oldest().is_some_and(is_silent)
    }

    fn expire(&mut self, now: Instant, out: &mut BytesMut) -> Vec<InFlight> {
        let mut expired = Vec::new();
        if self.is_overdue_in_silence(now) {
            self.enquire(now, out);
        }
        while !self.is_overdue_in_silence(now)
            && let Some(message) = self.messages.give_up(now)
        {
            expired.push(message);
        }
        self.messages.forget(now);
        expired
    }
}

/// The secret of the account by which this login was made.
pub(super) fn proven<'a>(connect: &Connect, account: &'a Account) -> Option<&'a SecretString> {
    let source = &connect.source_addr.0;
    account.carrier_secrets().find(|secret| {
        let secret = secret.expose_secret().as_bytes();
        connect.authenticator_source == proof(source, secret, connect.timestamp)
    })
}

impl BoundProtocol for CmppClient {
    type Event = ClientEvent;

    fn dialect(&self) -> PduDialect {
        match self.session.protocol {
            Cmpp::V20 => PduDialect::Cmpp20,
            Cmpp::V30 => PduDialect::Cmpp30,
        }
    }

    fn state(&self) -> SessionState {
        self.state
    }

    fn messages(&self) -> &LateWindow<InFlight> {
        &self.messages
    }

    fn send(
        &mut self,
        now: Instant,
        context: InFlight,
        _: Encode,
        pdu: &mut SubmitSm,
        out: &mut BytesMut,
    ) -> bool {
        if self.room() == 0 {
            return false;
        }
        let Some(deliver) = deliver_of(pdu, context.id, self.session.protocol, clock::now_ms())
        else {
            // CMPP knows no such thing, as the report of a state that is not final.
            self.settle(context, CommandStatus::ESME_ROK, now, false);
            return true;
        };
        let body = Body::Deliver(Box::new(deliver));
        match self.session.send(body, (), now, out) {
            Ok(sequence) => self.messages.put_request(now, sequence, context, 0),
            Err(NotSent::Full(()) | NotSent::NotOpen(())) => return false,
            Err(NotSent::Unwritable((), why)) => {
                tracing::info!(peer = %self.peer, %why, "a message cannot be written for a client");
                self.settle(context, unwritable(why.field), now, false);
            }
        }
        true
    }

    fn next_event(
        &mut self,
        octets: &mut BytesMut,
        now: Instant,
        out: &mut BytesMut,
        view: LiveView<'_>,
    ) -> Result<Option<ClientEvent>, BadCommandLength> {
        loop {
            if let Some(event) = self.events.pop_front() {
                return Ok(Some(ClientEvent::Smpp(event)));
            }
            if self.state == SessionState::Closed {
                // The session is over: what the client still sends means nothing.
                octets.clear();
                return Ok(None);
            }
            let frame = match carrier::next_frame::<Cmpp>(octets) {
                Ok(Some(frame)) => keep(frame),
                Ok(None) => return Ok(None),
                Err(BadLength(length)) => {
                    let header = None;
                    return Err(BadCommandLength { length, header });
                }
            };
            view.see(false, &frame);
            if let Some(event) = self.on_frame(&frame, now, out) {
                return Ok(Some(event));
            }
        }
    }

    fn on_tick(&mut self, now: Instant, out: &mut BytesMut) -> Tick<InFlight> {
        // What it gives up, the session has given up before.
        self.session.on_tick(now, out);
        self.pay(now, out);
        let expired = self.expire(now, out);
        let close = match self.watch.due(&self.timers, now) {
            Due::Nothing => None,
            Due::EnquireLink => {
                self.enquire(now, out);
                None
            }
            Due::Close(reason) => {
                self.close();
                Some(reason)
            }
        };
        Tick { expired, close }
    }

    fn take_lost(&mut self) -> Vec<InFlight> {
        self.messages.take_all()
    }
}
