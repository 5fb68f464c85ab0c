//! The connection to a network that is a program at the local socket: a pair of sockets. A program that comes wakes the
//! interface of its role, which waits for its next attempt as with any peer.

use tokio::net::UnixStream;

use crate::actors::context::NodeContext;
use crate::actors::runtime::link::Wire;

/// Connects to the program that has this role (`gsm:NAME`); with who it is.
///
/// # Errors
/// Why not, for people.
pub(super) fn connect(node: &NodeContext, role: &str) -> Result<(Wire, String), String> {
    let (socket, peer) = node.handlers.connect(role)?;
    let socket = UnixStream::from_std(socket).map_err(|error| format!("local: {error}"))?;
    Ok((Wire::Local(socket), peer))
}
