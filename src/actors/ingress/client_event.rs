//! What a session with a client hears of the protocol that it speaks: SMPP or CMPP.

use bytes::Bytes;

use crate::actors::session::bound::InFlight;
use crate::cmpp::bodies::Query;
use crate::smpp::session::Event;
use crate::smpp::{DestAddress, SubmitSm};

/// An event.
// Boxing the PDU would cost an allocation for each.
#[allow(clippy::large_enum_variant)]
pub(super) enum ClientEvent {
    /// What SMPP has, or has in the same way.
    Smpp(Event<InFlight>),
    /// A CMPP_SUBMIT, to be answered on this number.
    Submit {
        sequence: u32,
        message: Box<SubmitSm>,
        /// Where it has several; else its only one is that of the message.
        recipients: Vec<DestAddress>,
        /// The text of a part that came in GBK, octet for octet.
        gbk: Option<Bytes>,
    },
    /// A CMPP_QUERY, to be answered on this number.
    CountDay { sequence: u32, query: Query },
}

impl From<Event<InFlight>> for ClientEvent {
    #[inline(always)]
    fn from(event: Event<InFlight>) -> Self {
        Self::Smpp(event)
    }
}
