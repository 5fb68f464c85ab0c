//! Takes associations that others make.
//!
//! Used by the simulated core network, which plays a signalling gateway, and by tests.

use std::io;
use std::net::SocketAddr;

use socket2::Socket;
use tokio::io::unix::AsyncFd;

use super::connection::{SctpConnection, configure};
use super::options::{SctpOption, SctpOptions};
use super::{address, open, system};

/// Associations that wait to be taken.
const BACKLOG: i32 = 128;

/// A socket that listens on one port of one or several addresses.
#[derive(Debug)]
pub struct SctpListener {
    socket: AsyncFd<Socket>,
    options: SctpOptions,
    address: SocketAddr,
}

// === impl SctpListener ===

impl SctpListener {
    /// Listens on these addresses, of which all have the same port; port 0 of the first is a free one.
    ///
    /// # Errors
    /// The kernel has no SCTP (kind `Unsupported`), an address is not there, or the port is taken.
    pub fn bind(addresses: &[SocketAddr], options: &SctpOptions) -> io::Result<Self> {
        let socket = open(address::domain_of(addresses))?;
        configure(&socket, options)?;
        // Otherwise a restart fails while associations of before are being shut down.
        socket.set_reuse_address(true)?;
        let list = address::packed(addresses);
        system::set(&socket, SctpOption::BindAddresses, &list)?;
        socket.listen(BACKLOG)?;
        let address = socket.local_addr()?.as_socket();
        let nothing = || io::Error::other("the socket has no address");
        Ok(Self {
            socket: system::register(socket)?,
            options: options.clone(),
            address: address.ok_or_else(nothing)?,
        })
    }

    /// One of the addresses, with the actual port.
    pub fn local_addr(&self) -> SocketAddr {
        self.address
    }

    /// The next association, and an address of who has made it.
    ///
    /// # Errors
    /// There are no file descriptors left, or the association has ended meanwhile; the next one may succeed.
    pub async fn accept(&self) -> io::Result<(SctpConnection, SocketAddr)> {
        loop {
            let mut ready = self.socket.readable().await?;
            let Ok(accepted) = ready.try_io(|socket| socket.get_ref().accept()) else {
                continue;
            };
            let (socket, peer) = accepted?;
            socket.set_nonblocking(true)?;
            let unknown = || io::Error::other("the peer has no address");
            let peer = peer.as_socket().ok_or_else(unknown)?;
            return Ok((SctpConnection::accepted(socket, &self.options)?, peer));
        }
    }
}
