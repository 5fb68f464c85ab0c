//! One connection: the handshake, the pings, and which answer is for which request.
//!
//! The caller hands in what it read ([`GsupSession::receive`]), takes [`GsupEvent`]s until there is none
//! ([`GsupSession::next_event`]), writes what was appended to `out`, and calls [`GsupSession::on_tick`] now and
//! then. A request comes with a token of the caller that comes back with its answer.
//!
//! Answers carry the subscriber and an SM-RP-MR, but an MSC answers MT-forwardSM with its own reference,
//! not with that of the request. So one MT-forwardSM per subscriber is under way at a time, and its
//! answer is taken by the subscriber. An answer that is late must not be taken for that of the next
//! request: a subscriber whose request was given up is busy for as long as it may still come.

use std::time::{Duration, Instant};

use ahash::AHashMap;
use bytes::{Bytes, BytesMut};

use crate::ccm::{ASKED, Ccm, SERIAL_NUMBER, UNIT_ID, UNIT_NAME};
use crate::ipa::{self, CCM, Frame, FrameTooLong, GSUP, OSMO, next_frame, write_frame};
use crate::message::{ElementProblem, GsupMessage, GsupWriteError, MalformedGsup};
use crate::message_type::MessageType;

/// Which end of the connection we are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GsupRole {
    /// We connect: SMSC, MSC.
    Client,
    /// We are connected to: HLR.
    Server,
}

/// Settings of one session, fixed for its life.
#[derive(Debug, Clone)]
pub struct GsupSessionConfig {
    /// Which end we are.
    pub role: GsupRole,
    /// Our IPA name: what GSUP messages to us are routed by. One connection per name.
    pub name: Bytes,
    /// After how long a silence to ask whether the peer is there.
    pub ping_every: Duration,
    /// How long the handshake, and a silence after a ping, may last.
    pub patience: Duration,
    /// How long to wait for the answer to a request. A request that the peer passes on to one that goes
    /// away is lost without a word.
    pub request_timeout: Duration,
    /// How long an answer may come after that; its subscriber is busy meanwhile.
    pub late: Duration,
    /// Most requests under way, at least 1.
    pub window: usize,
}

/// Where a session stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GsupSessionState {
    /// The handshake is under way.
    Identifying,
    /// Messages may be sent.
    Ready,
    /// Nothing more is read or sent.
    Closed,
}

/// What came in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GsupEvent<T> {
    /// The handshake is over; on the server's side with the name of the peer.
    Ready(Option<Bytes>),
    /// A request, or any other message that nobody here waits for: see
    /// [`MessageType::is_request`].
    Message(Box<GsupMessage>),
    /// The answer to a request: a result, an error, or ROUTING_ERROR.
    Answer(T, Box<GsupMessage>),
    /// A message that cannot be read, or a request that lacks something.
    Malformed(MalformedGsup),
    /// The connection is to be closed.
    Closed(GsupCloseReason),
}

/// Why a connection is closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum GsupCloseReason {
    /// Where the next frame begins is not known.
    #[error(transparent)]
    TooLong(#[from] FrameTooLong),
    /// The server does not take our name, or the client has none.
    #[error("the names were not accepted")]
    Refused,
    /// No handshake in time, or no answer to a ping.
    #[error("the peer was silent for too long")]
    Silent,
}

/// Why a request was not sent; the token comes back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum GsupNotSent<T> {
    /// The session is not ready, or closed.
    #[error("the session is not ready")]
    NotReady(T),
    /// A request about this subscriber is under way, or an answer may still come.
    #[error("a request about this subscriber is under way")]
    Busy(T),
    /// The window is full.
    #[error("the window is full")]
    Full(T),
    /// It cannot be written.
    #[error("{1}")]
    Unwritable(T, GsupWriteError),
}

/// What became of requests as time went by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GsupTick<T> {
    /// Requests that were not answered in time.
    pub expired: Vec<T>,
    /// Set when the connection is to be closed.
    pub closed: Option<GsupCloseReason>,
}

/// One connection.
#[derive(Debug)]
pub struct GsupSession<T> {
    config: GsupSessionConfig,
    state: GsupSessionState,
    buffer: BytesMut,
    /// Requests by subscriber.
    waiting: AHashMap<String, Vec<PendingGsupRequest<T>>>,
    /// How many there are, with those that were given up.
    held: usize,
    /// When the connection was made, and when something was last read.
    opened_at: Instant,
    heard_at: Instant,
    pinged_at: Option<Instant>,
}

/// A request of ours.
#[derive(Debug)]
struct PendingGsupRequest<T> {
    request: MessageType,
    reference: Option<u8>,
    /// `None` when it was given up.
    token: Option<T>,
    deadline: Instant,
}

// === impl GsupSession ===

impl<T> GsupSession<T> {
    /// A session on a new connection. A server asks for the names of its peer at once.
    pub fn new(config: GsupSessionConfig, now: Instant, out: &mut BytesMut) -> Self {
        if config.role == GsupRole::Server {
            write_ccm(&Ccm::IdGet(ASKED.to_vec()), out);
        }
        Self {
            config,
            state: GsupSessionState::Identifying,
            buffer: BytesMut::new(),
            waiting: AHashMap::new(),
            held: 0,
            opened_at: now,
            heard_at: now,
            pinged_at: None,
        }
    }

    /// Where it stands.
    pub fn state(&self) -> GsupSessionState {
        self.state
    }

    /// Our IPA name, which answers carry as their source.
    pub fn name(&self) -> &Bytes {
        &self.config.name
    }

    /// Takes octets that were read.
    pub fn receive(&mut self, octets: &[u8], now: Instant) {
        self.buffer.extend_from_slice(octets);
        self.heard_at = now;
        self.pinged_at = None;
    }

    /// What the octets so far bring next; `None` until more are read. Answers of the handshake and to
    /// pings are appended to `out`.
    pub fn next_event(&mut self, out: &mut BytesMut) -> Option<GsupEvent<T>> {
        while self.state != GsupSessionState::Closed {
            let frame = match next_frame(&mut self.buffer, ipa::FRAME_MAX) {
                Ok(frame) => frame?,
                Err(too_long) => return Some(self.close(too_long.into())),
            };
            let event = match frame.stream {
                CCM => self.on_ccm(&frame.payload, out),
                OSMO => self.on_osmo(&frame),
                _ => None,
            };
            if event.is_some() {
                return event;
            }
        }
        None
    }

    /// Sends a request; the token comes back with its answer, or by [`Self::on_tick`].
    ///
    /// # Errors
    /// [`GsupNotSent`]; then nothing is appended to `out`.
    pub fn send(
        &mut self,
        message: &GsupMessage,
        token: T,
        now: Instant,
        out: &mut BytesMut,
    ) -> Result<(), GsupNotSent<T>> {
        if self.state != GsupSessionState::Ready {
            return Err(GsupNotSent::NotReady(token));
        }
        if self.is_busy(message) {
            return Err(GsupNotSent::Busy(token));
        }
        if self.held >= self.config.window {
            return Err(GsupNotSent::Full(token));
        }
        match message.encode() {
            Ok(octets) => write_gsup(&octets, out),
            Err(error) => return Err(GsupNotSent::Unwritable(token, error)),
        }
        let waiting = PendingGsupRequest {
            request: message.message_type,
            reference: message.reference,
            token: Some(token),
            deadline: now + self.config.request_timeout,
        };
        let of_subscriber = self.waiting.entry(message.imsi.clone()).or_default();
        of_subscriber.push(waiting);
        self.held += 1;
        Ok(())
    }

    /// Sends an answer, or another message that nobody answers.
    ///
    /// # Errors
    /// [`GsupNotSent`] with nothing in the place of a token.
    pub fn notify(
        &mut self,
        message: &GsupMessage,
        out: &mut BytesMut,
    ) -> Result<(), GsupNotSent<()>> {
        if self.state != GsupSessionState::Ready {
            return Err(GsupNotSent::NotReady(()));
        }
        let octets = message
            .encode()
            .map_err(|error| GsupNotSent::Unwritable((), error))?;
        write_gsup(&octets, out);
        Ok(())
    }

    /// Looks at the clock: gives up requests, pings, or closes the session.
    pub fn on_tick(&mut self, now: Instant, out: &mut BytesMut) -> GsupTick<T> {
        let mut tick = GsupTick {
            expired: self.expire(now),
            closed: None,
        };
        let since = |at: Instant| now.saturating_duration_since(at);
        let is_overdue = match (self.state, self.pinged_at) {
            (GsupSessionState::Closed, _) => false,
            (GsupSessionState::Identifying, _) => since(self.opened_at) >= self.config.patience,
            (GsupSessionState::Ready, Some(pinged_at)) => since(pinged_at) >= self.config.patience,
            (GsupSessionState::Ready, None) => {
                if since(self.heard_at) >= self.config.ping_every {
                    write_ccm(&Ccm::Ping, out);
                    self.pinged_at = Some(now);
                }
                false
            }
        };
        if is_overdue {
            self.state = GsupSessionState::Closed;
            tick.closed = Some(GsupCloseReason::Silent);
        }
        tick
    }

    /// The tokens of all requests that wait, when the connection is gone.
    pub fn take_lost(&mut self) -> Vec<T> {
        self.state = GsupSessionState::Closed;
        self.held = 0;
        let all = self.waiting.drain().flat_map(|(_, waiting)| waiting);
        all.filter_map(|waiting| waiting.token).collect()
    }

    /// Requests that are under way, with those whose late answers may still come.
    pub fn held(&self) -> usize {
        self.held
    }

    fn on_ccm(&mut self, payload: &Bytes, out: &mut BytesMut) -> Option<GsupEvent<T>> {
        // What cannot be read is ignored, as servers do.
        match (Ccm::decode(payload).ok()?, self.config.role) {
            (Ccm::Ping, _) => write_ccm(&Ccm::Pong, out),
            (Ccm::IdGet(_), GsupRole::Client) => {
                let name = self.config.name.clone();
                let unit = Bytes::from_static(b"0/0/0");
                let names = vec![
                    (UNIT_ID, unit),
                    (UNIT_NAME, name.clone()),
                    (SERIAL_NUMBER, name),
                ];
                write_ccm(&Ccm::IdResponse(names), out);
                // A server never sends this one first.
                write_ccm(&Ccm::IdAck, out);
            }
            (Ccm::IdResponse(names), GsupRole::Server)
                if self.state == GsupSessionState::Identifying =>
            {
                let name = names.into_iter().find(|(tag, _)| *tag == SERIAL_NUMBER);
                let Some((_, name)) = name.filter(|(_, name)| !name.is_empty()) else {
                    write_ccm(&Ccm::IdNack, out);
                    return Some(self.close(GsupCloseReason::Refused));
                };
                self.state = GsupSessionState::Ready;
                return Some(GsupEvent::Ready(Some(name)));
            }
            (Ccm::IdAck, GsupRole::Server) => write_ccm(&Ccm::IdAck, out),
            (Ccm::IdAck, GsupRole::Client) if self.state == GsupSessionState::Identifying => {
                self.state = GsupSessionState::Ready;
                return Some(GsupEvent::Ready(None));
            }
            (Ccm::IdNack, _) => return Some(self.close(GsupCloseReason::Refused)),
            _ => {}
        }
        None
    }

    fn on_osmo(&mut self, frame: &Frame) -> Option<GsupEvent<T>> {
        let is_gsup = frame.payload.first() == Some(&GSUP) && frame.payload.len() > 1;
        if !is_gsup || self.state != GsupSessionState::Ready {
            return None;
        }
        let message = match GsupMessage::decode(&frame.payload.slice(1..)) {
            Ok(message) => message,
            Err(malformed) => return Some(GsupEvent::Malformed(malformed)),
        };
        if message.message_type.is_request() {
            let end = frame.payload.len() - 1;
            return Some(match message.missing() {
                None => GsupEvent::Message(Box::new(message)),
                Some(tag) => {
                    GsupEvent::Malformed(message.malformed(tag, end, ElementProblem::Missing))
                }
            });
        }
        Some(match self.take(&message) {
            Some(token) => GsupEvent::Answer(token, Box::new(message)),
            None => GsupEvent::Message(Box::new(message)),
        })
    }

    /// Whether an answer could not be told from that of a request that waits.
    fn is_busy(&self, message: &GsupMessage) -> bool {
        let is_mt = message.message_type == MessageType::MT_FORWARD_SM_REQUEST;
        let same = |waiting: &PendingGsupRequest<T>| {
            waiting.request == message.message_type
                && (is_mt || waiting.reference == message.reference)
        };
        let of_subscriber = self.waiting.get(&message.imsi);
        of_subscriber.is_some_and(|waiting| waiting.iter().any(same))
    }

    /// Whose answer this is: that of the request of the same reference, and an MT-forwardSM's whatever
    /// the reference is. ROUTING_ERROR, which repeats the reference, answers requests of any type. `None`
    /// too for a request that was given up: it waits no longer.
    fn take(&mut self, answer: &GsupMessage) -> Option<T> {
        let of_subscriber = self.waiting.get_mut(&answer.imsi)?;
        let is_routing = answer.message_type == MessageType::ROUTING_ERROR;
        let request = answer.message_type.request();
        let is_mt = request == MessageType::MT_FORWARD_SM_REQUEST;
        let place = of_subscriber.iter().position(|waiting| {
            let is_same = waiting.reference == answer.reference;
            if is_routing {
                is_same
            } else {
                waiting.request == request && (is_mt || is_same)
            }
        })?;
        let waiting = of_subscriber.swap_remove(place);
        if of_subscriber.is_empty() {
            self.waiting.remove(&answer.imsi);
        }
        self.held -= 1;
        waiting.token
    }

    fn expire(&mut self, now: Instant) -> Vec<T> {
        let mut expired = Vec::new();
        let (late, held) = (self.config.late, &mut self.held);
        self.waiting.retain(|_, of_subscriber| {
            of_subscriber.retain_mut(|waiting| {
                if waiting.deadline > now {
                    return true;
                }
                let given_up = waiting.token.take();
                let may_still_come = given_up.is_some();
                expired.extend(given_up);
                waiting.deadline = now + late;
                *held -= usize::from(!may_still_come);
                may_still_come
            });
            !of_subscriber.is_empty()
        });
        expired
    }

    fn close(&mut self, why: GsupCloseReason) -> GsupEvent<T> {
        self.state = GsupSessionState::Closed;
        GsupEvent::Closed(why)
    }
}

fn write_ccm(ccm: &Ccm, out: &mut BytesMut) {
    let written = write_frame(CCM, &[&ccm.encode()], out);
    debug_assert!(written.is_ok(), "three names of 254 octets fit a frame");
}

fn write_gsup(octets: &[u8], out: &mut BytesMut) {
    let written = write_frame(OSMO, &[&[GSUP], octets], out);
    debug_assert!(
        written.is_ok(),
        "three elements of 255 octets, and short ones"
    );
}

/// A frame with a message.
///
/// # Errors
/// The first element that the message needs and lacks, or that cannot carry its value.
pub fn frame_of(message: &GsupMessage) -> Result<BytesMut, GsupWriteError> {
    let mut out = BytesMut::new();
    write_gsup(&message.encode()?, &mut out);
    Ok(out)
}

#[cfg(test)]
mod tests;
