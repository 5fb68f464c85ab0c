//! What a signalling point tells its caller: messages to write, and what happened.

use std::collections::VecDeque;
use std::time::Instant;

use bytes::Bytes;

use crate::address::{SccpAddress, SccpAddressProblem};
use crate::m3ua::M3uaMessage;
use crate::point_code::PointCode;

/// A message to be written to a link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct M3uaTransmit {
    /// Which link.
    pub link: usize,
    /// The stream of SCTP: 0 for management, else 1 to 16. Where there are fewer streams, one of the others:
    /// `1 + (stream - 1) % (streams - 1)` keeps what must stay in order together.
    pub stream: u16,
    /// Exactly one message.
    pub octets: Bytes,
}

/// A message for us.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unitdata {
    /// Which of our addresses it was sent to.
    pub called: SccpAddress,
    /// From whom: an answer goes there.
    pub calling: SccpAddress,
    /// What.
    pub data: Bytes,
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SignallingEvent {
    /// There is a link that carries traffic, after there was none.
    Active,
    /// There is none any more: why.
    Inactive(String),
    /// A message for us.
    Unitdata(Unitdata),
    /// A message of ours came back.
    Returned {
        /// Why: see [`crate::sccp::cause`].
        cause: u8,
        /// Whom we wrote to.
        called: SccpAddress,
        /// Which of our addresses wrote.
        calling: SccpAddress,
        /// Its data; only that of the first segment where there were several.
        data: Bytes,
    },
    /// A destination that we write to cannot be reached any more.
    DestinationUnavailable(PointCode),
    /// It can be again.
    DestinationAvailable(PointCode),
    /// It is congested, 1 to 3; 0 when that is over.
    DestinationCongested(PointCode, u8),
    /// Something is wrong on a link, which stays as it is. At most one a second is told of what a peer sends.
    LinkFault {
        /// Which link.
        link: usize,
        /// What is wrong.
        why: String,
    },
    /// The transport must close the link, and connect again as it thinks fit.
    LinkToClose {
        /// Which link.
        link: usize,
        /// Why.
        why: String,
    },
}

/// Why nothing was sent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SignallingUnavailable {
    /// No link carries traffic.
    #[error("no link carries traffic")]
    Inactive,
    /// The destination cannot be reached over any link.
    #[error("{0} cannot be reached")]
    Destination(PointCode),
    /// More than what 16 segments hold.
    #[error("{0} octets are too many")]
    TooLong(usize),
    /// An address that cannot be written.
    #[error(transparent)]
    Address(#[from] SccpAddressProblem),
}

/// Where a link stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinkState {
    /// No connection.
    Closed,
    /// The gateway does not know of us yet: ASP-DOWN.
    Down,
    /// It does, and we carry no traffic: ASP-INACTIVE.
    Inactive,
    /// It carries traffic: ASP-ACTIVE.
    Active,
}

/// What is to be seen of a link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinkView {
    /// Where it stands.
    pub state: LinkState,
    /// Since when.
    pub since: Instant,
    /// What went wrong last; `None` once it is active.
    pub last_error: Option<String>,
}

/// What waits to be taken.
#[derive(Debug, Default)]
pub(crate) struct SignallingOutput {
    pub(crate) transmits: VecDeque<M3uaTransmit>,
    pub(crate) events: VecDeque<SignallingEvent>,
}

// === impl SignallingOutput ===

impl SignallingOutput {
    /// Sends a message on the stream of management.
    pub(crate) fn manage(&mut self, link: usize, message: &M3uaMessage) {
        // What is too long is the echo of what a peer sent; it gets none.
        if let Ok(octets) = message.encode() {
            self.transmits.push_back(M3uaTransmit {
                link,
                stream: 0,
                octets,
            });
        }
    }
}
