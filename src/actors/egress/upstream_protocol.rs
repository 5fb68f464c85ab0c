//! What a session with an operator speaks: SMPP, or what is there in its place, as [`UpstreamPeer`].

use std::time::Instant;

use bytes::BytesMut;

use super::operator_event::{OperatorAnswer, OperatorEvent};
use crate::actors::session::bound::BoundProtocol;
use crate::actors::session::core::CameAs;
use crate::actors::session::spoken_protocol::{SpokenProtocol, either};
use crate::pb::local::ToSmsc;
use crate::smpp::codec::BadCommandLength;
use crate::smpp::session::BindType;
use crate::smpp::{
    BindRequest, CommandStatus, SubmitRespTail, encode_deliver_sm_resp, encode_message_resp,
};

/// See the file's documentation.
pub(super) type UpstreamProtocol = SpokenProtocol<dyn UpstreamPeer + Send>;

/// What the session of an operator asks of a bind that is not over SMPP, beside what it asks of any.
pub(super) trait UpstreamPeer: BoundProtocol<Event = OperatorEvent> {
    /// Logs in, unless the operator has done so.
    fn bind(&mut self, now: Instant, bind_type: BindType, out: &mut BytesMut);

    /// The session is bound: an operator that has connected to us may bring what it has.
    fn welcome(&mut self, _now: Instant, _out: &mut BytesMut) {}

    /// Takes what a program says: that brings no octets.
    fn hear(&mut self, _frames: Vec<ToSmsc>) {}

    /// Ends the session in good order.
    fn unbind(&mut self, now: Instant, out: &mut BytesMut);

    /// Answers what was brought under this number.
    fn answer(&mut self, sequence: u32, status: CommandStatus, out: &mut BytesMut);

    /// Whether there are events that no octets bring.
    fn has_news(&self) -> bool;

    /// The session is over: the answers that it was not told of, those to what was never sent among them.
    fn last_answers(&mut self) -> Vec<OperatorAnswer> {
        Vec::new()
    }

    /// The operator sends nothing more.
    fn finish(&mut self);

    /// The connection has ended: whether the bind stays without one until there is work.
    fn sleep(&mut self) -> bool {
        false
    }

    /// Whether it sleeps, and there is work.
    fn wants_connection(&self) -> bool {
        false
    }

    /// Logs in again, on a new connection.
    fn wake(&mut self, _now: Instant, _out: &mut BytesMut) {}
}

// === impl UpstreamProtocol ===

impl UpstreamProtocol {
    /// What is there in place of SMPP.
    pub(super) fn other(&mut self) -> Option<&mut (dyn UpstreamPeer + Send + 'static)> {
        match self {
            Self::Smpp(_) => None,
            Self::Other(other) => Some(&mut **other),
        }
    }

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
            Self::Other(other) => other.bind(now, bind_type, out),
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
            Self::Other(other) => other.answer(sequence, status, out),
        }
    }

    /// Whether there are events that no octets bring.
    pub(super) fn has_news(&self) -> bool {
        matches!(self, Self::Other(other) if other.has_news())
    }
}
