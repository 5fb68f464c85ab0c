//! What a bound session needs of the protocol that its peer speaks, without socket and clock: messages go out under their
//! contexts, octets come in, and events go to the session.
//!
//! [`super::core`] does with it what all sessions do: credit, settling, the live view, limits. SMPP itself is one; those of
//! carriers are in `egress/carrier`, that of local programs in `egress/program_bind.rs`. Invariants: a context that was given to
//! [`BoundProtocol::send`] comes back, as an event, as expired, or in [`BoundProtocol::take_lost`]; room is counted in messages,
//! however many of them share a request.

use std::time::Instant;

use bytes::BytesMut;

use crate::actors::context::NodeContext;
use crate::actors::context::binds::BindPort;
use crate::actors::context::traced::TracedAttempt;
use crate::actors::runtime::link::keep;
use crate::domain::trace::TraceId;
use crate::pb::delivery::What;
use crate::pb::{Message, PduDialect};
use crate::smpp::codec::{BadCommandLength, next_frame};
use crate::smpp::session::{Event, Session, SessionState, Tick};
use crate::smpp::window::LateWindow;
use crate::smpp::{SubmitSm, encode_data_sm, encode_deliver_sm, encode_submit_sm};

/// First version of SMPP with optional parameters and alert_notification.
pub const WITH_TLVS: u8 = 0x34;

/// Appends one request with its sequence number.
pub type Encode = fn(&mut BytesMut, u32, &SubmitSm);

/// An operation of SMPP that carries a message to a peer, and how its requests are written.
#[derive(Clone, Copy)]
pub struct DeliveryOperation {
    pub name: &'static str,
    pub encode: Encode,
}

/// The context of one request in the window.
#[derive(Debug, Clone, Default)]
pub struct InFlight {
    pub id: u64,
    pub attempt: u32,
    pub what: What,
    /// Kept when it is needed after the answer.
    pub message: Option<Box<Message>>,
    pub receipt_expected: bool,
    /// Since when a receipt waited to be delivered: the final state (Unix milliseconds).
    pub since: i64,
    /// Present when the message is traced or watched.
    pub traced: Option<Box<TracedAttempt>>,
}

impl InFlight {
    /// The trace of the attempt, if there is one.
    pub fn trace_id(&self) -> Option<TraceId> {
        self.traced.as_ref().and_then(|attempt| attempt.trace_id())
    }
}

/// Where PDUs of a bind are shown to those who watch it.
#[derive(Clone, Copy)]
pub struct LiveView<'v> {
    pub node: &'v NodeContext,
    pub port: &'v BindPort,
    pub dialect: PduDialect,
}

/// See the file's documentation.
pub trait BoundProtocol {
    /// What comes in.
    type Event;

    /// What its PDUs are written in.
    fn dialect(&self) -> PduDialect;

    fn state(&self) -> SessionState;

    /// Messages that wait for an answer, sent or not.
    fn messages(&self) -> &LateWindow<InFlight>;

    /// The peer's version of SMPP, or the one that says what it can be given.
    fn peer_version(&self) -> u8 {
        WITH_TLVS
    }

    /// Messages that may be sent now.
    fn room(&self) -> usize {
        match self.state() {
            SessionState::Bound(bind_type) if bind_type.transmits() => self.messages().room(),
            _ => 0,
        }
    }

    /// How many were given and are not settled.
    fn in_flight(&self) -> usize {
        self.messages().len()
    }

    /// Sends a message, in SMPP by this operation; false if it cannot be sent now. What it keeps of the PDU it may take out.
    fn send(
        &mut self,
        now: Instant,
        context: InFlight,
        operation: Encode,
        pdu: &mut SubmitSm,
        out: &mut BytesMut,
    ) -> bool;

    /// A batch was sent: what waited for its end goes out.
    fn end_batch(&mut self, _now: Instant, _out: &mut BytesMut) {}

    /// The next event of what was read; `None` until more is read.
    ///
    /// # Errors
    /// A command_length that cannot be: the octets cannot be divided into PDUs any more.
    fn next_event(
        &mut self,
        octets: &mut BytesMut,
        now: Instant,
        out: &mut BytesMut,
        view: LiveView<'_>,
    ) -> Result<Option<Self::Event>, BadCommandLength>;

    /// Does what time demands.
    fn on_tick(&mut self, now: Instant, out: &mut BytesMut) -> Tick<InFlight>;

    /// The connection is gone: everything unanswered, oldest first. Outcome unknown.
    fn take_lost(&mut self) -> Vec<InFlight>;
}

// === impl DeliveryOperation ===

impl DeliveryOperation {
    pub const SUBMIT_SM: Self = Self {
        name: "submit_sm",
        encode: encode_submit_sm,
    };
    pub const DELIVER_SM: Self = Self {
        name: "deliver_sm",
        encode: encode_deliver_sm,
    };
    pub const DATA_SM: Self = Self {
        name: "data_sm",
        encode: encode_data_sm,
    };
}

// === impl LiveView ===

impl LiveView<'_> {
    /// Shows PDUs, which we have written if `out`.
    pub fn see(&self, out: bool, octets: &[u8]) {
        let (session, node) = (self.port.session, self.node.ids.node());
        (self.node.watches).see_pdus(session, node, self.dialect, out, octets);
    }
}

impl BoundProtocol for Session<InFlight> {
    type Event = Event<InFlight>;

    fn dialect(&self) -> PduDialect {
        PduDialect::Smpp
    }

    fn state(&self) -> SessionState {
        Session::state(self)
    }

    fn messages(&self) -> &LateWindow<InFlight> {
        self.window()
    }

    fn peer_version(&self) -> u8 {
        Session::peer_version(self)
    }

    fn room(&self) -> usize {
        Session::room(self)
    }

    fn send(
        &mut self,
        now: Instant,
        context: InFlight,
        operation: Encode,
        pdu: &mut SubmitSm,
        out: &mut BytesMut,
    ) -> bool {
        let sent = Session::send(self, now, context, out, |out, sequence| {
            operation(out, sequence, pdu);
        });
        sent.is_ok()
    }

    // An event is large: each call that hands it on would copy it.
    #[inline(always)]
    fn next_event(
        &mut self,
        octets: &mut BytesMut,
        now: Instant,
        out: &mut BytesMut,
        view: LiveView<'_>,
    ) -> Result<Option<Event<InFlight>>, BadCommandLength> {
        if Session::state(self) == SessionState::Closed {
            // The session is over: what the peer still sends means nothing.
            octets.clear();
            return Ok(None);
        }
        let Some(frame) = next_frame(octets, self.config().max_pdu)? else {
            return Ok(None);
        };
        let frame = keep(frame);
        view.see(false, &frame);
        Ok(Some(self.on_frame(now, frame, out)))
    }

    fn on_tick(&mut self, now: Instant, out: &mut BytesMut) -> Tick<InFlight> {
        Session::on_tick(self, now, out)
    }

    fn take_lost(&mut self) -> Vec<InFlight> {
        Session::take_lost(self)
    }
}
