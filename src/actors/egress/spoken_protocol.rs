//! What a session with an operator speaks: SMPP, or a protocol of carriers.

use std::time::{Duration, Instant};

use bytes::BytesMut;

use super::carrier::CarrierPeer;
use super::operator_event::{OperatorAnswer, OperatorEvent};
use crate::actors::session::bound::{BoundProtocol, Encode, InFlight, LiveView};
use crate::actors::session::core::CameAs;
use crate::pb::PduDialect;
use crate::smpp::codec::BadCommandLength;
use crate::smpp::session::{BindType, Session, SessionState, Tick};
use crate::smpp::{
    BindRequest, CommandStatus, SubmitRespTail, SubmitSm, encode_deliver_sm_resp,
    encode_message_resp,
};

/// See the file's documentation.
// There is one in each session, and the SMPP one is used for each PDU.
#[allow(clippy::large_enum_variant)]
pub(super) enum SpokenProtocol {
    Smpp(Session<InFlight>),
    Carrier(Box<dyn CarrierPeer + Send>),
}

/// Calls the same of either.
macro_rules! either {
    ($protocol:expr, $one:ident => $call:expr) => {
        match $protocol {
            SpokenProtocol::Smpp($one) => $call,
            SpokenProtocol::Carrier($one) => $call,
        }
    };
}

// === impl SpokenProtocol ===

impl SpokenProtocol {
    /// Binds, or logs in by what the configuration says.
    pub(super) fn bind(
        &mut self,
        now: Instant,
        bind_type: BindType,
        bind: BindRequest,
        out: &mut BytesMut,
    ) {
        match self {
            Self::Smpp(smpp) => smpp.bind(now, bind_type, bind, out),
            Self::Carrier(carrier) => carrier.bind(now, bind_type, out),
        }
    }

    /// The session is bound: a gateway that has connected to us may bring what it has.
    pub(super) fn welcome(&mut self, now: Instant, out: &mut BytesMut) {
        if let Self::Carrier(carrier) = self {
            carrier.welcome(now, out);
        }
    }

    pub(super) fn unbind(&mut self, now: Instant, out: &mut BytesMut) {
        either!(self, one => one.unbind(now, out));
    }

    /// Answers the operator's unbind, where that waits for everything before it.
    pub(super) fn answer_unbind(&mut self, out: &mut BytesMut) {
        if let Self::Smpp(smpp) = self {
            smpp.answer_unbind(out);
        }
    }

    /// Answers octets that cannot be divided into PDUs.
    pub(super) fn on_bad_length(&mut self, bad: BadCommandLength, out: &mut BytesMut) {
        if let Self::Smpp(smpp) = self {
            smpp.on_bad_length(bad, out);
        }
    }

    /// The operator sends nothing more.
    pub(super) fn finish(&mut self) {
        either!(self, one => one.finish());
    }

    /// Answers a receipt or a message of a handset.
    pub(super) fn acknowledge(
        &mut self,
        came_as: &mut CameAs,
        sequence: u32,
        status: CommandStatus,
        out: &mut BytesMut,
    ) {
        match self {
            // What came as data_sm is answered so.
            Self::Smpp(_) => match came_as.take(sequence) {
                Some(operation) => {
                    let tail = SubmitRespTail::default();
                    encode_message_resp(out, operation.response(), sequence, status, tail);
                }
                None => encode_deliver_sm_resp(out, sequence, status),
            },
            Self::Carrier(carrier) => carrier.answer(sequence, status, out),
        }
    }

    /// Whether there are events that no octets bring.
    pub(super) fn has_news(&self) -> bool {
        match self {
            Self::Smpp(_) => false,
            Self::Carrier(carrier) => carrier.has_news(),
        }
    }

    /// The session is over: the answers that it was not told of, those to what was never sent among them.
    pub(super) fn last_answers(&mut self) -> Vec<OperatorAnswer> {
        match self {
            Self::Smpp(_) => Vec::new(),
            Self::Carrier(carrier) => carrier.last_answers(),
        }
    }

    /// The connection has ended: whether the bind stays without one until there is work.
    pub(super) fn sleep(&mut self) -> bool {
        match self {
            Self::Smpp(_) => false,
            Self::Carrier(carrier) => carrier.sleep(),
        }
    }

    /// Whether it sleeps, and there is work.
    pub(super) fn wants_connection(&self) -> bool {
        match self {
            Self::Smpp(_) => false,
            Self::Carrier(carrier) => carrier.wants_connection(),
        }
    }

    /// Logs in again, on a new connection.
    pub(super) fn wake(&mut self, now: Instant, out: &mut BytesMut) {
        if let Self::Carrier(carrier) = self {
            carrier.wake(now, out);
        }
    }
}

impl BoundProtocol for SpokenProtocol {
    type Event = OperatorEvent;

    fn dialect(&self) -> PduDialect {
        either!(self, one => one.dialect())
    }

    fn state(&self) -> SessionState {
        either!(self, one => one.state())
    }

    fn window(&self) -> usize {
        either!(self, one => one.window())
    }

    fn response_timeout(&self) -> Duration {
        either!(self, one => one.response_timeout())
    }

    fn peer_version(&self) -> u8 {
        either!(self, one => one.peer_version())
    }

    fn room(&self) -> usize {
        either!(self, one => one.room())
    }

    fn in_flight(&self) -> usize {
        either!(self, one => one.in_flight())
    }

    fn held<'h>(&'h self) -> Box<dyn Iterator<Item = &'h InFlight> + 'h> {
        match self {
            Self::Smpp(smpp) => Box::new(smpp.held()),
            Self::Carrier(carrier) => carrier.held(),
        }
    }

    fn send(
        &mut self,
        now: Instant,
        context: InFlight,
        operation: Encode,
        pdu: &SubmitSm,
        out: &mut BytesMut,
    ) -> bool {
        match self {
            Self::Smpp(smpp) => BoundProtocol::send(smpp, now, context, operation, pdu, out),
            Self::Carrier(carrier) => carrier.send(now, context, operation, pdu, out),
        }
    }

    fn end_batch(&mut self, now: Instant, out: &mut BytesMut) {
        either!(self, one => one.end_batch(now, out));
    }

    // An event is large: each call that hands it on would copy it.
    #[inline(always)]
    fn next_event(
        &mut self,
        octets: &mut BytesMut,
        now: Instant,
        out: &mut BytesMut,
        view: LiveView<'_>,
    ) -> Result<Option<OperatorEvent>, BadCommandLength> {
        match self {
            Self::Smpp(smpp) => {
                let event = smpp.next_event(octets, now, out, view)?;
                Ok(event.map(OperatorEvent::from))
            }
            Self::Carrier(carrier) => carrier.next_event(octets, now, out, view),
        }
    }

    fn on_tick(&mut self, now: Instant, out: &mut BytesMut) -> Tick<InFlight> {
        either!(self, one => one.on_tick(now, out))
    }

    fn take_lost(&mut self) -> Vec<InFlight> {
        either!(self, one => one.take_lost())
    }
}
