//! One connection: login, window, keep-alive, and which response is for which request. The same for CMPP, SGIP
//! and SMGP, on both sides.
//!
//! The caller hands in what it read ([`Session::receive`]), takes [`Event`]s until there is none
//! ([`Session::next_event`]), writes what was appended to `out`, and calls [`Session::on_tick`] now and then. A
//! request comes with a token of the caller that comes back with its response.
//!
//! A request of the peer that comes a second time is answered, and not passed on ([`crate::repeats`]).
//! Requests that were not answered in time are given up, not repeated: a repetition could be a duplicate, and
//! whether to risk that is the caller's decision. The window is that of `smsc_smpp`, by the number in the
//! sequence.

use std::time::{Duration, Instant};

use bytes::{Bytes, BytesMut};
use smsc_smpp::window::Window;

use crate::fields::{Malformed, Unwritable};
use crate::pdu::{BadLength, Kind, Pdu, Protocol, next_frame};
use crate::repeats::{CarrierRepeat, Repeats, SessionRepeats};

/// Settings of one session. A time of zero is off.
#[derive(Clone, Copy, Debug)]
pub struct SessionConfig {
    /// Most requests under way, at least 1.
    pub window: usize,
    /// How long to wait for a login, and for the response to ours.
    pub login: Duration,
    /// How long to wait for the response to a request.
    pub response: Duration,
    /// After how long a silence to ask whether the peer is there.
    pub probe_every: Duration,
    /// How long to wait for the response to that, each time.
    pub probe: Duration,
    /// How often to ask before giving up, at least once.
    pub probes: u32,
    /// After how long a silence to close the connection.
    pub idle: Duration,
    /// How long to wait for the response to our logout.
    pub logout: Duration,
}

/// Where a session stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// The login is under way.
    Opening,
    /// Requests may be sent.
    Open,
    /// Our logout is under way.
    Closing,
    /// Nothing more is read or sent.
    Closed,
}

/// What came in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event<S, B, T> {
    /// A login, to be answered by [`Session::answer_login`].
    Login(Pdu<S, B>),
    /// Our login was accepted.
    Opened(B),
    /// Our login was refused; the session is closed.
    Refused(B),
    /// A request, to be answered by [`Session::answer`].
    Request(Pdu<S, B>),
    /// The response to our request with this token.
    Response(T, Pdu<S, B>),
    /// A response that nobody waits for, perhaps to a request that was given up.
    Stray(Pdu<S, B>),
    /// A PDU that cannot be read.
    Malformed(Malformed),
    /// The connection is to be closed.
    Closed(Closed),
}

/// Why a connection is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Closed {
    /// Where the next PDU begins is not known.
    #[error("a PDU of {} octets", .0.0)]
    BadLength(BadLength),
    /// No login, or no response to ours, in time.
    #[error("no login in time")]
    NoLogin,
    /// Something else came before the login.
    #[error("a PDU before the login")]
    NotOpen,
    /// No response to our probes; or to a request, where the protocol has none, and nothing else either.
    #[error("it does not answer")]
    Silent,
    /// Nothing was sent for too long.
    #[error("idle for too long")]
    Idle,
    /// The peer ended the session.
    #[error("the peer ended the session")]
    ByPeer,
    /// We ended the session.
    #[error("we ended the session")]
    ByUs,
}

/// Why a request was not sent; the token comes back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotSent<T> {
    /// The session is not open.
    NotOpen(T),
    /// The window is full.
    Full(T),
    /// It cannot be written.
    Unwritable(T, Unwritable),
}

/// What became of requests as time went by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tick<T> {
    /// Requests that were not answered in time, oldest first.
    pub expired: Vec<T>,
    /// Set when the connection is to be closed.
    pub closed: Option<Closed>,
}

/// One connection.
#[derive(Debug)]
pub struct Session<P: Protocol, T> {
    config: SessionConfig,
    /// The protocol; SGIP's carries the time that goes into sequences.
    pub protocol: P,
    state: State,
    buffer: BytesMut,
    window: Window<(P::Sequence, T)>,
    repeats: SessionRepeats<P>,
    since: Instant,
    heard_at: Instant,
    probed_at: Option<Instant>,
    probed: u32,
}

type EventOf<P, T> = Event<<P as Protocol>::Sequence, <P as Protocol>::Body, T>;
type PduOf<P> = Pdu<<P as Protocol>::Sequence, <P as Protocol>::Body>;

// === impl SessionConfig ===

impl SessionConfig {
    /// What CMPP recommends: a window of 16; a minute for each response; after 3 minutes of silence up to 3 tests of the connection.
    #[must_use]
    pub fn of_cmpp() -> Self {
        let minute = Duration::from_secs(60);
        Self {
            window: 16,
            login: minute,
            response: minute,
            probe_every: 3 * minute,
            probe: minute,
            probes: 3,
            idle: Duration::ZERO,
            logout: minute,
        }
    }
}

// === impl Session ===

impl<P: Protocol, T> Session<P, T> {
    /// A session on a connection that was made to us: it waits for a login.
    pub fn server(config: SessionConfig, protocol: P, now: Instant) -> Self {
        Self {
            window: Window::new(config.window, config.response),
            repeats: SessionRepeats::new(),
            config,
            protocol,
            state: State::Opening,
            buffer: BytesMut::new(),
            since: now,
            heard_at: now,
            probed_at: None,
            probed: 0,
        }
    }

    /// A session on a connection that we made: it sends our login.
    ///
    /// # Errors
    /// The login cannot be written.
    pub fn client(
        config: SessionConfig,
        protocol: P,
        login: P::Body,
        now: Instant,
        out: &mut BytesMut,
    ) -> Result<Self, Unwritable> {
        let mut session = Self::server(config, protocol, now);
        session.write_ours(login, out)?;
        Ok(session)
    }

    /// Numbers our next request so: where sequences of several connections must differ.
    pub fn start_at(&mut self, number: u32) {
        self.window.start_at(number);
    }

    /// Remembers requests of the peer together with its other connections: where its sequences are the same on all of them.
    pub fn share(&mut self, repeats: &Repeats<P>) {
        self.repeats = SessionRepeats::sharing(repeats);
    }

    /// Where it stands.
    pub fn state(&self) -> State {
        self.state
    }

    /// How many more requests may be sent.
    pub fn room(&self) -> usize {
        match self.state {
            State::Open => self.window.room(),
            _ => 0,
        }
    }

    /// Whether no request is under way.
    pub fn is_idle(&self) -> bool {
        self.window.is_empty()
    }

    /// Takes octets that were read.
    pub fn receive(&mut self, octets: &[u8], now: Instant) {
        self.buffer.extend_from_slice(octets);
        self.hear(now);
    }

    /// What a whole PDU means, as [`next_frame`] has cut it: in place of [`Self::receive`], for who takes one at a time.
    pub fn on_pdu(
        &mut self,
        frame: &Bytes,
        now: Instant,
        out: &mut BytesMut,
    ) -> Option<EventOf<P, T>> {
        self.hear(now);
        self.on_frame(frame, now, out)
    }

    fn hear(&mut self, now: Instant) {
        self.heard_at = now;
        self.probed_at = None;
        self.probed = 0;
    }

    /// What the octets so far bring next; `None` until more are read. Responses to probes and to the peer's
    /// logout are appended to `out`.
    pub fn next_event(&mut self, now: Instant, out: &mut BytesMut) -> Option<EventOf<P, T>> {
        self.next_event_of(now, out, |_| {})
    }

    /// [`Self::next_event`], which shows each PDU before it is read. What an event has of its octets keeps all that were read
    /// together from being given back.
    pub fn next_event_of(
        &mut self,
        now: Instant,
        out: &mut BytesMut,
        mut show: impl FnMut(&Bytes),
    ) -> Option<EventOf<P, T>> {
        while self.state != State::Closed {
            let frame = match next_frame::<P>(&mut self.buffer) {
                Ok(frame) => frame?,
                Err(bad) => return Some(self.closed(Closed::BadLength(bad))),
            };
            show(&frame);
            if let Some(event) = self.on_frame(&frame, now, out) {
                return Some(event);
            }
        }
        None
    }

    /// Sends a request; the token comes back with its response, or by [`Self::on_tick`].
    ///
    /// # Errors
    /// [`NotSent`]; then nothing is appended to `out`.
    pub fn send(
        &mut self,
        body: P::Body,
        token: T,
        now: Instant,
        out: &mut BytesMut,
    ) -> Result<P::Sequence, NotSent<T>> {
        if self.state != State::Open {
            return Err(NotSent::NotOpen(token));
        }
        if self.window.room() == 0 {
            return Err(NotSent::Full(token));
        }
        let number = self.window.reserve_sequence();
        let sequence = self.protocol.sequence(number);
        if let Err(error) = self.protocol.encode(&Pdu { sequence, body }, out) {
            return Err(NotSent::Unwritable(token, error));
        }
        self.window.put_request(now, number, (sequence, token), 0);
        Ok(sequence)
    }

    /// Whether a request has waited for so long, and nothing at all has come since it was sent.
    pub fn is_silent(&self, now: Instant, patience: Duration) -> bool {
        self.window.oldest().is_some_and(|request| {
            self.heard_at <= request.sent_at
                && now.saturating_duration_since(request.sent_at) >= patience
        })
    }

    /// Asks before its time whether the peer is there, unless it was asked already, or the protocol has no such request.
    pub fn ask(&mut self, now: Instant, out: &mut BytesMut) {
        if self.state == State::Open && self.probed_at.is_none() {
            self.probe(now, out);
        }
    }

    /// Answers a request.
    ///
    /// # Errors
    /// It cannot be written; then nothing is appended to `out`.
    pub fn answer(
        &mut self,
        sequence: P::Sequence,
        body: P::Body,
        out: &mut BytesMut,
    ) -> Result<(), Unwritable> {
        let pdu = Pdu { sequence, body };
        self.protocol.encode(&pdu, out)?;
        self.repeats.answered(sequence, pdu.body);
        Ok(())
    }

    /// Answers a login: the session is open, or is to be closed when `out` is written.
    ///
    /// # Errors
    /// It cannot be written; then nothing is appended to `out`.
    pub fn answer_login(
        &mut self,
        sequence: P::Sequence,
        body: P::Body,
        now: Instant,
        out: &mut BytesMut,
    ) -> Result<(), Unwritable> {
        let accepted = P::kind(&body) == Kind::LoginResponse(true);
        self.answer(sequence, body, out)?;
        self.enter(if accepted { State::Open } else { State::Closed }, now);
        Ok(())
    }

    /// Ends the session: no more requests, and it is closed when the peer has answered.
    pub fn end(&mut self, now: Instant, out: &mut BytesMut) {
        // A logout has no fields that could fail.
        if self.state == State::Open && self.write_ours(P::logout(), out).is_ok() {
            self.enter(State::Closing, now);
        }
    }

    /// Looks at the clock: gives up requests, probes, or closes the session.
    pub fn on_tick(&mut self, now: Instant, out: &mut BytesMut) -> Tick<T> {
        let expired = self.window.expire(now).into_iter();
        let expired: Vec<T> = expired.map(|(_, (_, token))| token).collect();
        let is_dead = !expired.is_empty() && self.is_dead(now);
        let closed = if is_dead {
            Some(Closed::Silent)
        } else {
            self.overdue(now)
        };
        if closed.is_some() {
            self.state = State::Closed;
        } else if self.state == State::Open && self.must_probe(now) {
            self.probe(now, out);
        }
        Tick { expired, closed }
    }

    /// The tokens of all requests that wait, oldest first, when the connection is gone.
    pub fn take_lost(&mut self) -> Vec<T> {
        self.state = State::Closed;
        let waiting = self.window.drain().into_iter();
        waiting.map(|(_, (_, token))| token).collect()
    }

    fn on_frame(
        &mut self,
        frame: &Bytes,
        now: Instant,
        out: &mut BytesMut,
    ) -> Option<EventOf<P, T>> {
        let pdu = match self.protocol.decode(frame) {
            Ok(pdu) => pdu,
            Err(malformed) => return Some(Event::Malformed(malformed)),
        };
        let kind = P::kind(&pdu.body);
        match (kind, self.state) {
            (Kind::Login, State::Opening) => Some(Event::Login(pdu)),
            (Kind::LoginResponse(true), State::Opening) => {
                self.enter(State::Open, now);
                Some(Event::Opened(pdu.body))
            }
            (Kind::LoginResponse(false), State::Opening) => {
                self.state = State::Closed;
                Some(Event::Refused(pdu.body))
            }
            (_, State::Opening) => Some(self.closed(Closed::NotOpen)),
            (Kind::Probe, _) => {
                self.reply(kind, pdu.sequence, out);
                None
            }
            (Kind::Logout, _) => {
                self.reply(kind, pdu.sequence, out);
                Some(self.closed(Closed::ByPeer))
            }
            (Kind::LogoutResponse, State::Closing) => Some(self.closed(Closed::ByUs)),
            (Kind::ProbeResponse | Kind::LogoutResponse | Kind::LoginResponse(_), _) => None,
            // A second login is answered by who knows what it says.
            (Kind::Login, _) => Some(Event::Request(pdu)),
            (Kind::Request, _) => self.on_request(pdu, frame, out),
            (Kind::Response, _) => Some(self.on_response(pdu)),
        }
    }

    /// A request that came before is not passed on.
    fn on_request(
        &mut self,
        pdu: PduOf<P>,
        frame: &Bytes,
        out: &mut BytesMut,
    ) -> Option<EventOf<P, T>> {
        let Some(refusal) = P::refuse_sequence(&pdu.body) else {
            return Some(Event::Request(pdu));
        };
        let sequence = pdu.sequence;
        let body = match self.repeats.come(sequence, frame) {
            CarrierRepeat::New => return Some(Event::Request(pdu)),
            // The response to come is for both.
            CarrierRepeat::UnderWay => return None,
            CarrierRepeat::Answered(body) => body,
            CarrierRepeat::Another => refusal,
        };
        // It was written before, or has no fields that could fail.
        let _ = self.protocol.encode(&Pdu { sequence, body }, out);
        None
    }

    fn on_response(&mut self, pdu: PduOf<P>) -> EventOf<P, T> {
        let number = P::number(pdu.sequence);
        let is_ours = (self.window.get(number)).is_some_and(|entry| entry.item.0 == pdu.sequence);
        let entry = is_ours.then(|| self.window.take(number)).flatten();
        match entry {
            Some(entry) => Event::Response(entry.item.1, pdu),
            None => Event::Stray(pdu),
        }
    }

    fn overdue(&self, now: Instant) -> Option<Closed> {
        let is_over = |since: Instant, wait: Duration| {
            !wait.is_zero() && now.saturating_duration_since(since) >= wait
        };
        let config = &self.config;
        match self.state {
            State::Opening => is_over(self.since, config.login).then_some(Closed::NoLogin),
            State::Closing => is_over(self.since, config.logout).then_some(Closed::ByUs),
            State::Closed => None,
            State::Open => {
                let silent = self.probed >= config.probes.max(1)
                    && self.probed_at.is_some_and(|at| is_over(at, config.probe));
                let idle = is_over(self.heard_at, config.idle);
                match (silent, idle) {
                    (true, _) => Some(Closed::Silent),
                    (_, true) => Some(Closed::Idle),
                    _ => None,
                }
            }
        }
    }

    /// Whether a peer that has left a request unanswered is gone: where there are no probes, nothing else would show it.
    fn is_dead(&self, now: Instant) -> bool {
        P::probe().is_none() && now.saturating_duration_since(self.heard_at) >= self.config.response
    }

    fn must_probe(&self, now: Instant) -> bool {
        let (since, wait) = match self.probed_at {
            Some(at) => (at, self.config.probe),
            None => (self.heard_at, self.config.probe_every),
        };
        !wait.is_zero() && now.saturating_duration_since(since) >= wait
    }

    fn probe(&mut self, now: Instant, out: &mut BytesMut) {
        if let Some(probe) = P::probe()
            && self.write_ours(probe, out).is_ok()
        {
            self.probed_at = Some(now);
            self.probed += 1;
        }
    }

    fn reply(&mut self, kind: Kind, sequence: P::Sequence, out: &mut BytesMut) {
        if let Some(body) = P::reply(kind) {
            // A reply has no fields that could fail.
            let _ = self.protocol.encode(&Pdu { sequence, body }, out);
        }
    }

    fn write_ours(&mut self, body: P::Body, out: &mut BytesMut) -> Result<(), Unwritable> {
        let sequence = self.protocol.sequence(self.window.reserve_sequence());
        self.protocol.encode(&Pdu { sequence, body }, out)
    }

    fn enter(&mut self, state: State, now: Instant) {
        self.state = state;
        self.since = now;
    }

    fn closed(&mut self, why: Closed) -> EventOf<P, T> {
        self.state = State::Closed;
        Event::Closed(why)
    }
}
