//! SCTP (RFC 9260) by the kernel, for tokio: an association that gives whole messages and takes messages for a stream, over
//! several addresses of both sides. The sockets are those of RFC 6458 §4, one association each.
//!
//! Used for M3UA to signalling gateways, by the SMSC and by the simulated core network. The payload protocol is whatever
//! [`SctpOptions::payload_protocol`] says; for M3UA that is [`M3UA`].
//!
//! ```text
//! SctpOptions ─→ SctpConnection::connect ─→ ┬ SctpReader: Message | Notification | Closed
//!                SctpListener::accept    ─→ ┘ SctpWriter: send(stream, message), shut_down
//! ```
//!
//! | file | idea |
//! |---|---|
//! | `options` | what may be set, and its octets |
//! | `address` | addresses as the kernel reads and writes them |
//! | `notification` | what the kernel tells of an association |
//! | `system` | the system calls that are not safe: all `unsafe` of the workspace |
//! | `connection` | associations: connected, read, written |
//! | `listener` | who comes |
//!
//! Invariants: nothing that the kernel or a peer sends makes this crate panic, or keep more than [`MESSAGE_MAX`] octets; every
//! structure of the kernel is read and written octet by octet, by its documented offsets.

mod address;
mod connection;
mod listener;
mod notification;
mod options;
mod path;
mod system;

use std::io;

pub use connection::{SctpConnection, SctpReader, SctpWriter};
pub use listener::SctpListener;
pub use notification::{AssociationChange, PathChange, SctpNotification};
pub use options::SctpOptions;
pub use path::{PathState, SctpPath};

use bytes::Bytes;
use socket2::{Domain, Protocol, Socket, Type};

/// The payload protocol identifier of M3UA (RFC 4666 §1.4.3).
pub const M3UA: u32 = 3;

/// Octets of the longest message that is taken from a peer; a longer one ends the association.
pub const MESSAGE_MAX: usize = 64 * 1024;

/// What comes from an association.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SctpEvent {
    /// A whole message of the peer.
    Message(SctpMessage),
    /// The association or a path of it has changed.
    Notification(SctpNotification),
    /// The association is over: shut down by one side. Nothing more comes.
    Closed,
}

/// A whole message of a peer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SctpMessage {
    /// The stream that it came on.
    pub stream: u16,
    /// Its payload protocol identifier: [`M3UA`], or 0 of a peer that says none.
    pub payload_protocol: u32,
    pub octets: Bytes,
}

/// Whether this kernel has SCTP, perhaps after loading its module.
pub fn is_supported() -> bool {
    open(Domain::IPV4).is_ok()
}

/// A socket of one association that does not block.
///
/// # Errors
/// The kernel has no SCTP: kind `Unsupported`, with what to do. Otherwise that of the system call.
fn open(domain: Domain) -> io::Result<Socket> {
    let socket = Socket::new(domain, Type::STREAM, Some(Protocol::SCTP)).map_err(named)?;
    socket.set_nonblocking(true)?;
    Ok(socket)
}

/// Says what to do when a kernel has no SCTP, which its own error does not.
fn named(error: io::Error) -> io::Error {
    match error.raw_os_error() {
        // Which of the two depends on the type of the socket.
        Some(libc::EPROTONOSUPPORT | libc::ESOCKTNOSUPPORT) => {
            io::Error::new(io::ErrorKind::Unsupported, NOT_THERE)
        }
        _ => error,
    }
}

/// What is said on a kernel without SCTP.
pub const NOT_THERE: &str =
    "this kernel has no SCTP: load the module sctp (modprobe sctp) or use transport = \"tcp\"";

#[cfg(test)]
mod tests;
