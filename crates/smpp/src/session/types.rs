//! Inputs of a session ([`SessionConfig`]) and its outputs ([`Event`], [`Tick`]).

use std::time::{Duration, Instant};

use bytes::Bytes;

use crate::timers::Timers;
use crate::{
    BindRequest, BindResp, Body, CommandId, CommandStatus, DEFAULT_MAX_PDU, Leniency, Pdu,
};

/// Which end of the connection we are (SMPP 3.4 §2.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// We are the SMSC: peers bind to us.
    Server,
    /// We are the ESME: we bind to an SMSC.
    Client,
}

/// Which of the three binds (§2.2): seen from the ESME, which transmits, receives or both.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BindType {
    /// bind_transmitter.
    Transmitter,
    /// bind_receiver.
    Receiver,
    /// bind_transceiver.
    Transceiver,
}

/// The session states of §2.2, with the steps between them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionState {
    /// Connected, not bound.
    Open,
    /// A bind waits for its answer, ours or the peer's.
    Binding,
    /// BOUND_TX, BOUND_RX or BOUND_TRX.
    Bound(BindType),
    /// Our unbind waits for its answer.
    Unbinding,
    /// The peer's unbind waits for ours; nothing but answers is sent.
    Leaving,
    /// Nothing more is sent but answers.
    Closed,
}

/// Settings of one session, fixed for its life.
#[derive(Clone, Debug)]
pub struct SessionConfig {
    /// Which end we are.
    pub role: Role,
    /// Most requests of ours unanswered at a time (§2.9), at least 1.
    pub window: usize,
    /// How long to wait for an answer to our requests: response_timer (§7.2).
    pub response_timeout: Duration,
    /// All other timers.
    pub timers: Timers,
    /// Whether a request after which the peer has sent nothing at all expires only when enquire_link has shown that the
    /// peer lives. If it does not, the request is lost with the session. Needs both timers of enquire_link.
    pub asks_before_expiry: bool,
    /// Tolerated deviations of the peer.
    pub leniency: Leniency,
    /// Longest PDU accepted, in octets: what the socket loop hands to `next_frame`.
    pub max_pdu: usize,
    /// Our version, sent in bind_resp (§5.3.2.25).
    pub interface_version: u8,
    /// Our name, sent in bind_resp (§5.2.1).
    pub system_id: Bytes,
}

/// Events for the caller from a frame.
// Boxing the PDU would cost the one allocation per PDU that the codec avoids.
#[allow(clippy::large_enum_variant)]
#[derive(Clone, Debug, PartialEq)]
pub enum Event<T> {
    /// Dealt with, or to be ignored.
    Nothing,
    /// A bind request: answer with `accept_bind` or `reject_bind`.
    Bind {
        /// Pass it back with the verdict.
        sequence: u32,
        /// Which bind.
        bind_type: BindType,
        /// Who, and with which password.
        bind: BindRequest,
    },
    /// A request that is allowed in this state; the caller answers on `pdu.sequence`.
    Request(Pdu),
    /// The answer to a request of ours, generic_nack included.
    Response {
        /// The answer; an unreadable body reads as empty.
        pdu: Pdu,
        /// What was given to `send`.
        context: T,
        /// When the request was sent.
        sent_at: Instant,
        /// Whether the request had already been reported as expired.
        late: bool,
    },
    /// The answer to our bind; with ESME_ROK the session is bound.
    BindResult {
        /// The verdict.
        status: CommandStatus,
        /// The body, unless the peer answered with generic_nack.
        resp: Option<BindResp>,
    },
    /// The peer unbinds: answer everything that came before, then end with `answer_unbind`.
    Unbind,
    /// Close the connection now.
    Close(CloseReason),
    /// A request was refused here: for counting.
    Answered {
        /// What was asked.
        command_id: CommandId,
        /// What was answered.
        status: CommandStatus,
    },
}

/// Why a session ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CloseReason {
    /// No bind in time (session_init_timer).
    SessionInit,
    /// No answer to our bind in time.
    BindTimeout,
    /// No sign of life after our enquire_link.
    EnquireLinkTimeout,
    /// Nothing received for too long (inactivity_timer).
    Inactivity,
    /// Our unbind was answered.
    UnbindDone,
    /// Our unbind was not answered in time.
    UnbindTimeout,
    /// `command_length` out of bounds: where the next PDU starts is unknown.
    BadLength(u32),
}

/// Why a request was not sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SendError {
    /// As many requests are unanswered as the window allows (§2.9).
    #[error("the window is full")]
    WindowFull,
    /// Not bound, or bound in the other direction only (§2.3).
    #[error("not bound for sending")]
    NotBound,
}

/// Events for the caller from timers.
#[derive(Clone, Debug, PartialEq)]
pub struct Tick<T> {
    /// Requests whose answer did not come in time, oldest first: outcome unknown.
    pub expired: Vec<T>,
    /// The session has ended: close the connection.
    pub close: Option<CloseReason>,
}

/// What a session counts for metrics; only ever grows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SessionCounters {
    /// Responses without a matching request.
    pub unsolicited: u64,
    /// Responses to our requests whose body could not be read.
    pub unreadable_responses: u64,
    /// Responses with ESME_ROK that are of another kind than the request: they are taken as ESME_RUNKNOWNERR.
    pub other_responses: u64,
    /// Requests dropped without answer because the standard has none (outbind, alert_notification).
    pub dropped: u64,
}

// === impl BindType ===

impl BindType {
    /// As in configuration and API.
    pub const fn name(self) -> &'static str {
        match self {
            BindType::Transmitter => "transmitter",
            BindType::Receiver => "receiver",
            BindType::Transceiver => "transceiver",
        }
    }

    /// The `command_id` of a bind request of this type.
    pub const fn command_id(self) -> CommandId {
        match self {
            BindType::Transmitter => CommandId::BIND_TRANSMITTER,
            BindType::Receiver => CommandId::BIND_RECEIVER,
            BindType::Transceiver => CommandId::BIND_TRANSCEIVER,
        }
    }

    /// Whether the ESME may submit on it.
    pub const fn transmits(self) -> bool {
        matches!(self, BindType::Transmitter | BindType::Transceiver)
    }

    /// Whether the SMSC may deliver on it.
    pub const fn receives(self) -> bool {
        matches!(self, BindType::Receiver | BindType::Transceiver)
    }

    /// The body of a bind request of this type.
    pub fn request(self, bind: BindRequest) -> Body {
        match self {
            BindType::Transmitter => Body::BindTransmitter(bind),
            BindType::Receiver => Body::BindReceiver(bind),
            BindType::Transceiver => Body::BindTransceiver(bind),
        }
    }

    pub(super) fn response(self, resp: BindResp) -> Body {
        match self {
            BindType::Transmitter => Body::BindTransmitterResp(resp),
            BindType::Receiver => Body::BindReceiverResp(resp),
            BindType::Transceiver => Body::BindTransceiverResp(resp),
        }
    }
}

// === impl SessionConfig ===

impl Default for SessionConfig {
    fn default() -> SessionConfig {
        SessionConfig {
            role: Role::Server,
            window: 10,
            response_timeout: Duration::from_secs(30),
            timers: Timers::default(),
            asks_before_expiry: false,
            leniency: Leniency::default(),
            max_pdu: DEFAULT_MAX_PDU,
            interface_version: 0x34,
            system_id: Bytes::from_static(b"SMSC"),
        }
    }
}
