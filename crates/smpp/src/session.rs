//! One SMPP session, either side, without socket and clock (SMPP 3.4 §2.2 - §2.9).
//!
//! The session actors feed it frames and instants, execute the [`Event`]s and flush `out`. It answers
//! requests that need no decision itself: enquire_link, malformed bodies, unknown operations and
//! requests of the wrong state. Everything else goes to the caller.
//!
//! Invariants:
//! - every request that can be answered is answered once, here or by the caller (`Event::Request`);
//! - every context given to [`Session::send`] comes back: as `Response`, as expired, or in
//!   [`Session::take_lost`]; an expired one may come once more as a late `Response`;
//! - where the caller wants that, a request expires only while the peer is known to live, so that what a peer fell
//!   silent on is lost with the session;
//! - memory is bounded by the window: as many late answers are remembered as it is wide, for five
//!   minutes;
//! - only bad framing, timers and unbind end it.

mod incoming;
mod types;

use std::time::Instant;

use bytes::BytesMut;
pub use types::{
    BindType, CloseReason, Event, Role, SendError, SessionConfig, SessionCounters, SessionState,
    Tick,
};

use super::encode::encode_empty_resp;
use super::timers::{Due, Phase, TimerWatch};
use super::window::{LateWindow, WindowEntry};
use super::{
    BindRequest, BindResp, Body, CommandId, CommandStatus, Leniency, OutbindRequest, Pdu, Tlvs, tag,
};

/// First version that knows optional parameters, sc_interface_version among them (§2.10).
const FIRST_VERSION_WITH_TLVS: u8 = 0x34;
const VERSION_5: u8 = 0x50;

/// What both sides speak, of the versions that there are: 3.4 or 5.0 (5.0 §4.1.1.7).
fn negotiated(peer: u8, ours: u8) -> u8 {
    match peer.min(ours) {
        version if version >= VERSION_5 => VERSION_5,
        _ => FIRST_VERSION_WITH_TLVS,
    }
}

/// The protocol core of one connection; `T` is the caller's context, returned with each answer.
#[derive(Debug)]
pub struct Session<T> {
    config: SessionConfig,
    state: SessionState,
    watch: TimerWatch,
    window: LateWindow<T>,
    /// The bind or unbind (either side) that waits for its answer.
    pending: Option<PendingRequest>,
    peer_version: u8,
    counters: SessionCounters,
}

#[derive(Clone, Copy, Debug)]
enum PendingRequest {
    Bind {
        sequence: u32,
        bind_type: BindType,
    },
    Unbind {
        sequence: u32,
    },
    /// The peer's, which waits for ours.
    PeerUnbind {
        sequence: u32,
    },
}

// === impl Session: calls of the owner ===

impl<T: Clone> Session<T> {
    /// A connection that was opened now.
    pub fn new(config: SessionConfig, now: Instant) -> Session<T> {
        Session {
            state: SessionState::Open,
            watch: TimerWatch::new(now),
            window: LateWindow::new(config.window, config.response_timeout),
            pending: None,
            peer_version: FIRST_VERSION_WITH_TLVS,
            counters: SessionCounters::default(),
            config,
        }
    }

    /// Client: sends a bind and waits for `Event::BindResult`. Does nothing unless open.
    pub fn bind(
        &mut self,
        now: Instant,
        bind_type: BindType,
        bind: BindRequest,
        out: &mut BytesMut,
    ) {
        if self.state != SessionState::Open {
            return;
        }
        let sequence = self.window.reserve_sequence();
        self.pending = Some(PendingRequest::Bind {
            sequence,
            bind_type,
        });
        self.state = SessionState::Binding;
        self.watch.enter(Phase::Binding, now);
        Pdu::request(sequence, bind_type.request(bind)).encode(out);
    }

    /// Server: answers `Event::Bind` with ESME_ROK. sc_interface_version goes only to peers that know
    /// optional parameters (§5.3.2.25). Does nothing if that bind does not wait.
    pub fn accept_bind(&mut self, now: Instant, sequence: u32, out: &mut BytesMut) {
        let Some(bind_type) = self.take_pending_bind(sequence) else {
            return;
        };
        let mut tlvs = Tlvs::new();
        if self.peer_version >= FIRST_VERSION_WITH_TLVS {
            let version = negotiated(self.peer_version, self.config.interface_version);
            tlvs.push(tag::SC_INTERFACE_VERSION, &[version]);
        }
        let resp = BindResp {
            system_id: self.config.system_id.clone(),
            tlvs,
        };
        Pdu::response(CommandStatus::ESME_ROK, sequence, bind_type.response(resp)).encode(out);
        self.state = SessionState::Bound(bind_type);
        self.watch.enter(Phase::Bound, now);
    }

    /// Server: answers `Event::Bind` with an error (no body, §4.1.2). The session is open again; the
    /// caller may close it after a flush.
    pub fn reject_bind(&mut self, sequence: u32, status: CommandStatus, out: &mut BytesMut) {
        let Some(bind_type) = self.take_pending_bind(sequence) else {
            return;
        };
        encode_empty_resp(out, bind_type.command_id().response(), sequence, status);
        self.state = SessionState::Open;
    }

    /// Sends a request: `write` appends the PDU with the sequence number it is given, `context` comes
    /// back with the answer.
    ///
    /// # Errors
    /// Nothing is written when the window is full or the bind does not allow us to send.
    pub fn send(
        &mut self,
        now: Instant,
        context: T,
        out: &mut BytesMut,
        write: impl FnOnce(&mut BytesMut, u32),
    ) -> Result<u32, SendError> {
        if !self.may_send() {
            return Err(SendError::NotBound);
        }
        if self.window.room() == 0 {
            return Err(SendError::WindowFull);
        }
        let sequence = self.window.reserve_sequence();
        let begins = out.len();
        write(out, sequence);
        let command_id = command_id_at(out, begins);
        self.window.put_request(now, sequence, context, command_id);
        Ok(sequence)
    }

    /// Writes a request that is never answered (alert_notification); nothing unless bound for sending.
    pub fn notify(&mut self, out: &mut BytesMut, write: impl FnOnce(&mut BytesMut, u32)) -> bool {
        let may_send = self.may_send();
        if may_send {
            let sequence = self.window.reserve_sequence();
            write(out, sequence);
        }
        may_send
    }

    /// Server: sends outbind to the peer that we have connected to (§4.1.7). Does nothing unless
    /// open.
    pub fn outbind(&mut self, outbind: OutbindRequest, out: &mut BytesMut) {
        if self.state == SessionState::Open {
            let sequence = self.window.reserve_sequence();
            Pdu::request(sequence, Body::Outbind(outbind)).encode(out);
        }
    }

    /// Sends unbind (§4.2.1); from here on answers of the peer are taken, and its requests are not. A server
    /// passes over those that crossed the unbind: without an answer an ESME submits them again elsewhere, while
    /// a refusal may be final for it. A client refuses them. Does nothing unless bound.
    pub fn unbind(&mut self, now: Instant, out: &mut BytesMut) {
        if !matches!(self.state, SessionState::Bound(_)) {
            return;
        }
        let sequence = self.window.reserve_sequence();
        self.pending = Some(PendingRequest::Unbind { sequence });
        self.state = SessionState::Unbinding;
        self.watch.enter(Phase::Unbinding, now);
        write_bare(CommandId::UNBIND, sequence, out);
    }

    /// Answers `Event::Unbind`, once everything that came before it is answered: flush, then close. Does
    /// nothing if no unbind waits.
    pub fn answer_unbind(&mut self, out: &mut BytesMut) {
        if let Some(PendingRequest::PeerUnbind { sequence }) = self.pending {
            write_bare(CommandId::UNBIND_RESP, sequence, out);
            self.close();
        }
    }

    /// The peer sends nothing more, so our requests can no longer be answered. Its own requests,
    /// unbind included, can still be answered.
    pub fn finish(&mut self) {
        if self.state != SessionState::Leaving {
            self.close();
        }
    }

    /// Sends enquire_link before its time (§4.11.1), unless one waits for its answer already. Does
    /// nothing unless bound.
    pub fn enquire(&mut self, now: Instant, out: &mut BytesMut) {
        if matches!(self.state, SessionState::Bound(_)) && !self.watch.is_enquiring() {
            let sequence = self.window.reserve_sequence();
            write_bare(CommandId::ENQUIRE_LINK, sequence, out);
            self.watch.enquired(now);
        }
    }

    /// Whether our enquire_link is still unanswered.
    pub fn is_enquiring(&self) -> bool {
        self.watch.is_enquiring()
    }

    /// Does what time demands: expires requests, sends enquire_link, ends the session.
    pub fn on_tick(&mut self, now: Instant, out: &mut BytesMut) -> Tick<T> {
        let mut expired = Vec::new();
        if self.is_overdue_in_silence(now) {
            self.enquire(now, out);
        }
        while !self.is_overdue_in_silence(now)
            && let Some(request) = self.window.give_up(now)
        {
            expired.push(request);
        }
        self.window.forget(now);
        let close = match self.watch.due(&self.config.timers, now) {
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

    /// The connection is gone: everything unanswered, oldest first. Outcome unknown.
    pub fn take_lost(&mut self) -> Vec<T> {
        self.window.take_all()
    }

    /// Requests that may be sent now; 0 unless bound for sending.
    pub fn room(&self) -> usize {
        if self.may_send() {
            self.window.room()
        } else {
            0
        }
    }

    /// Requests of ours that wait for an answer.
    pub fn window(&self) -> &LateWindow<T> {
        &self.window
    }

    /// The state of the session.
    pub fn state(&self) -> SessionState {
        self.state
    }

    /// The peer's version: of its bind, or of sc_interface_version in its bind_resp; 0x34 if that
    /// is missing, since many servers of 3.4 leave it out. Below 0x34 send no TLVs (§2.10).
    pub fn peer_version(&self) -> u8 {
        self.peer_version
    }

    /// Counters for metrics.
    pub fn counters(&self) -> SessionCounters {
        self.counters
    }

    /// Server: sets the window of the account that has bound. Only before anything was sent.
    pub fn set_window(&mut self, window: usize) {
        if self.window.is_empty() {
            self.config.window = window;
            self.window = LateWindow::new(window, self.config.response_timeout);
        }
    }

    /// Server: overrides the version of the account that binds. Call it before
    /// [`Self::accept_bind`].
    pub fn set_peer_version(&mut self, version: u8) {
        self.peer_version = version;
    }

    /// Server: tolerated deviations of the account that has bound.
    pub fn set_leniency(&mut self, leniency: Leniency) {
        self.config.leniency = leniency;
    }

    /// Settings given at the start.
    pub fn config(&self) -> &SessionConfig {
        &self.config
    }
}

// === impl Session: shared by both directions ===

impl<T: Clone> Session<T> {
    fn take_pending_bind(&mut self, sequence: u32) -> Option<BindType> {
        match self.pending {
            Some(PendingRequest::Bind {
                sequence: waiting,
                bind_type,
            }) if waiting == sequence => {
                self.pending = None;
                Some(bind_type)
            }
            _ => None,
        }
    }

    /// Whether the oldest request is overdue, and only enquire_link can tell whether the peer is still there.
    fn is_overdue_in_silence(&self, now: Instant) -> bool {
        let timers = &self.config.timers;
        let may_ask = self.config.asks_before_expiry
            && matches!(self.state, SessionState::Bound(_))
            && !timers.enquire_link.is_zero()
            && !timers.enquire_link_answer.is_zero();
        let is_silent =
            |one: &WindowEntry<T>| one.deadline <= now && !self.watch.has_heard_since(one.sent_at);
        may_ask && self.window.oldest().is_some_and(is_silent)
    }

    fn close(&mut self) {
        self.pending = None;
        self.state = SessionState::Closed;
        self.watch.stop();
    }

    /// Requests go from the ESME when it transmits, from the SMSC when the ESME receives (§2.3).
    fn may_send(&self) -> bool {
        match (self.state, self.config.role) {
            (SessionState::Bound(bind_type), Role::Client) => bind_type.transmits(),
            (SessionState::Bound(bind_type), Role::Server) => bind_type.receives(),
            _ => false,
        }
    }

    /// The mirror image of [`Self::may_send`]. Which operations are served is the caller's business:
    /// a peer SMSC submits by deliver_sm as well as by submit_sm. Only outbind comes before a bind.
    fn may_receive(&self, command_id: CommandId) -> bool {
        if command_id == CommandId::OUTBIND {
            return self.config.role == Role::Client && self.state == SessionState::Open;
        }
        match (self.state, self.config.role) {
            (SessionState::Bound(bind_type), Role::Client) => bind_type.receives(),
            (SessionState::Bound(bind_type), Role::Server) => bind_type.transmits(),
            _ => false,
        }
    }
}

/// Appends a PDU without a body and with ESME_ROK.
fn write_bare(command_id: CommandId, sequence: u32, out: &mut BytesMut) {
    encode_empty_resp(out, command_id, sequence, CommandStatus::ESME_ROK);
}

/// The command_id of a PDU in a buffer; 0 if none was written.
fn command_id_at(out: &[u8], begins: usize) -> u32 {
    let octets = out.get(begins + 4..begins + 8);
    octets.map_or(0, |octets| {
        u32::from_be_bytes([octets[0], octets[1], octets[2], octets[3]])
    })
}

#[cfg(test)]
mod tests;
