//! What a session speaks with its peer: SMPP, or another protocol in its place.
//!
//! Both sides have one: `ingress/client_protocol.rs` adds what the session of a client asks of it, and
//! `egress/upstream_protocol.rs` what that of an operator asks.

use std::time::Instant;

use bytes::BytesMut;

use super::bound::{BoundProtocol, Encode, InFlight, LiveView};
use crate::pb::PduDialect;
use crate::smpp::SubmitSm;
use crate::smpp::codec::BadCommandLength;
use crate::smpp::session::{Event, Session, SessionState, Tick};
use crate::smpp::window::LateWindow;

/// See the file's documentation.
// There is one in each session, and the SMPP one is used for each PDU.
#[allow(clippy::large_enum_variant)]
pub enum SpokenProtocol<C: ?Sized> {
    Smpp(Session<InFlight>),
    Other(Box<C>),
}

/// Calls the method of either that has this name.
macro_rules! either {
    ($protocol:expr, $one:ident => $call:expr) => {
        match $protocol {
            $crate::actors::session::spoken_protocol::SpokenProtocol::Smpp($one) => $call,
            $crate::actors::session::spoken_protocol::SpokenProtocol::Other($one) => $call,
        }
    };
}

pub(in crate::actors) use either;

impl<C> BoundProtocol for SpokenProtocol<C>
where
    C: BoundProtocol<Event: From<Event<InFlight>>> + ?Sized,
{
    type Event = C::Event;

    fn dialect(&self) -> PduDialect {
        either!(self, one => one.dialect())
    }

    fn state(&self) -> SessionState {
        either!(self, one => one.state())
    }

    fn messages(&self) -> &LateWindow<InFlight> {
        either!(self, one => one.messages())
    }

    fn peer_version(&self) -> u8 {
        either!(self, one => one.peer_version())
    }

    fn room(&self) -> usize {
        either!(self, one => one.room())
    }

    fn send(
        &mut self,
        now: Instant,
        context: InFlight,
        operation: Encode,
        pdu: &mut SubmitSm,
        out: &mut BytesMut,
    ) -> bool {
        match self {
            Self::Smpp(smpp) => BoundProtocol::send(smpp, now, context, operation, pdu, out),
            Self::Other(other) => other.send(now, context, operation, pdu, out),
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
    ) -> Result<Option<C::Event>, BadCommandLength> {
        match self {
            Self::Smpp(smpp) => {
                let event = smpp.next_event(octets, now, out, view)?;
                Ok(event.map(C::Event::from))
            }
            Self::Other(other) => other.next_event(octets, now, out, view),
        }
    }

    fn on_tick(&mut self, now: Instant, out: &mut BytesMut) -> Tick<InFlight> {
        either!(self, one => one.on_tick(now, out))
    }

    fn take_lost(&mut self) -> Vec<InFlight> {
        either!(self, one => one.take_lost())
    }
}
