//! Clients that speak CMPP: an ordinary session of an ESME goes on speaking SMPP, and what is in here translates.
//!
//! ```text
//! CMPP client ⇄ relay ⇄ SMPP ⇄ pair of sockets ⇄ EsmeSession
//! ```
//!
//! Called by [`super::listener`] for each connection of a listener with `protocol = "cmpp"`. So accounts, limits,
//! policies, windows, prices, receipts and the guard against wrong passwords are those of SMPP; the relay keeps only
//! what belongs to a connection. Invariants: a CMPP_SUBMIT is answered when its message is durable; a report or a
//! message of a handset is out of its queue when the client has answered its CMPP_DELIVER; a Msg_Id is our number in
//! the form of CMPP, so nothing has to be remembered to find it again; when either side is gone, so is the other.
//!
//! | file | idea |
//! |---|---|
//! | `relay` | moves octets and events between both sides |
//! | `requests` | what the client asks for |
//! | `translate` | messages in the terms of SMPP, and the other way |
//! | `login` | who proves a secret |
//! | `numbers` | Msg_Id of our number, and back |
//! | `query` | CMPP_QUERY, from the sums of usage |

mod login;
mod numbers;
mod query;
mod relay;
mod requests;
#[cfg(test)]
mod tests;
mod translate;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use tokio::net::UnixStream;

pub use self::login::{Login, Relayed};
use crate::actors::context::NodeContext;
use crate::actors::ingress::gate::Gate;
use crate::actors::runtime::link::Wire;

/// The connection that the session of this client speaks SMPP on, where `wire` is the one to the client.
///
/// # Errors
/// There is no pair of sockets.
pub(super) fn translated(
    node: &Arc<NodeContext>,
    gate: &Arc<Gate>,
    wire: Wire,
    peer: SocketAddr,
) -> io::Result<(Wire, Relayed)> {
    let (ours, theirs) = UnixStream::pair()?;
    let relayed = Relayed {
        login: Arc::default(),
        certificate: wire.certificate(),
    };
    let relay = relay::Relay::new(
        Arc::clone(node),
        Arc::clone(gate),
        peer,
        Arc::clone(&relayed.login),
    );
    actix::spawn(async move {
        match wire {
            Wire::Plain(socket) => relay::serve(relay, theirs, socket).await,
            Wire::Tls(stream) => relay::serve(relay, theirs, stream).await,
            // Only TCP and TLS come in at a listener.
            _ => {}
        }
    });
    Ok((Wire::Local(ours), relayed))
}
