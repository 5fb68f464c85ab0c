//! The connection to a peer that is a program at the local socket: a pair of sockets, as soon as a program is there.

use tokio::net::UnixStream;

use crate::actors::context::NodeContext;
use crate::actors::runtime::link::Wire;

/// Connects to the program that has this role (`operator:ID`, `gsm:NAME`); with who it is. Waits for one without an end.
///
/// # Errors
/// Why not, for people.
pub(super) async fn connect(node: &NodeContext, role: &str) -> Result<(Wire, String), String> {
    let why = |error: std::io::Error| format!("local: {error}");
    let (socket, peer) = node.handlers.connect(role).await.map_err(why)?;
    let socket = UnixStream::from_std(socket).map_err(why)?;
    Ok((Wire::Local(socket), peer))
}
