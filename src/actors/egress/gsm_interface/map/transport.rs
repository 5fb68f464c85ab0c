//! What carries M3UA to a signalling gateway: messages in, messages out, whatever is below.
//!
//! The one place that knows transports, used by `gateway`. With TCP, as Osmocom has it, messages follow one another in a
//! stream of octets; SCTP keeps them apart and has streams. Invariant: what is dropped while it waits, because something else
//! came first, has taken nothing and written nothing that is not remembered here.

use std::io;
use std::net::SocketAddr;

use bytes::{Buf, Bytes, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpSocket, TcpStream, lookup_host};

use crate::actors::runtime::link::tune;
use crate::config::{GatewayTransport, MapGateway, Smpp};
use crate::sigtran::{M3uaTransmit, next_m3ua};

/// Room for what is read at a time.
const READ: usize = 16 * 1024;
/// What is wrong with `transport = "sctp"`, and what to do.
const NO_SCTP: &str = "this build has no SCTP; write transport = \"tcp\" for a gateway that takes M3UA over TCP, as \
                       osmo-stp does, or use a build with SCTP";

/// A connection to a gateway, in two halves.
pub(super) struct GatewayConnection {
    pub(super) reader: GatewayReader,
    pub(super) writer: GatewayWriter,
    /// Address and port of the gateway.
    pub(super) peer: String,
}

/// What comes.
pub(super) enum GatewayReader {
    Stream {
        half: Box<dyn AsyncRead + Send + Unpin>,
        octets: BytesMut,
    },
}

/// What goes.
pub(super) enum GatewayWriter {
    Stream {
        half: Box<dyn AsyncWrite + Send + Unpin>,
        octets: BytesMut,
    },
}

/// Connects to a gateway.
///
/// # Errors
/// Why not, for people.
pub(super) async fn dial(gateway: &MapGateway, smpp: &Smpp) -> Result<GatewayConnection, String> {
    #[cfg(test)]
    if let Some(pipe) = super::super::tests::next_gateway(&gateway.address) {
        return Ok(GatewayConnection::of_stream(pipe, "a test".to_owned()));
    }
    match gateway.transport {
        GatewayTransport::Tcp => {
            let connected = connect(gateway).await;
            let socket = connected.map_err(|error| format!("connect: {error}"))?;
            tune(&socket, smpp);
            let peer = socket.peer_addr().map(|peer| peer.to_string());
            let peer = peer.unwrap_or_else(|_| gateway.host_and_port());
            Ok(GatewayConnection::of_stream(socket, peer))
        }
        // An association of the kernel comes here, with a reader and a writer of its own.
        GatewayTransport::Sctp => Err(NO_SCTP.to_owned()),
    }
}

/// Tries each address of the gateway, from the own address of its family if there is one.
async fn connect(gateway: &MapGateway) -> io::Result<TcpStream> {
    let mut failed = None;
    for address in lookup_host(gateway.host_and_port()).await? {
        match connect_to(address, &gateway.own_addresses()).await {
            Ok(socket) => return Ok(socket),
            Err(error) => failed = Some(error),
        }
    }
    Err(failed.unwrap_or_else(|| io::Error::other("the name has no address")))
}

async fn connect_to(address: SocketAddr, own: &[SocketAddr]) -> io::Result<TcpStream> {
    let is_alike = |one: &&SocketAddr| one.is_ipv4() == address.is_ipv4();
    let Some(own) = own.iter().find(is_alike) else {
        return TcpStream::connect(address).await;
    };
    let socket = match address {
        SocketAddr::V4(_) => TcpSocket::new_v4()?,
        SocketAddr::V6(_) => TcpSocket::new_v6()?,
    };
    // A port of ours is free again at once.
    socket.set_reuseaddr(true)?;
    socket.bind(*own)?;
    socket.connect(address).await
}

// === impl GatewayConnection ===

impl GatewayConnection {
    fn of_stream(
        stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
        peer: String,
    ) -> Self {
        let (reader, writer) = tokio::io::split(stream);
        Self {
            reader: GatewayReader::Stream {
                half: Box::new(reader),
                octets: BytesMut::new(),
            },
            writer: GatewayWriter::Stream {
                half: Box::new(writer),
                octets: BytesMut::new(),
            },
            peer,
        }
    }
}

// === impl GatewayReader ===

impl GatewayReader {
    /// The messages that have come, at least one. May be dropped while it waits.
    ///
    /// # Errors
    /// Why nothing more comes, for people.
    pub(super) async fn messages(&mut self) -> Result<Vec<Bytes>, String> {
        let Self::Stream { half, octets } = self;
        loop {
            let mut messages = Vec::new();
            let broken = loop {
                match next_m3ua(octets) {
                    Ok(Some(message)) => messages.push(message),
                    Ok(None) => break None,
                    Err(error) => break Some(error),
                }
            };
            if !messages.is_empty() {
                return Ok(messages);
            }
            if let Some(error) = broken {
                return Err(error.to_string());
            }
            if octets.is_empty() {
                // A quiet connection holds no large buffer.
                *octets = BytesMut::new();
            }
            octets.reserve(READ);
            let read = half.read_buf(octets).await;
            if read.map_err(|error| error.to_string())? == 0 {
                return Err("the gateway closed the connection".to_owned());
            }
        }
    }
}

// === impl GatewayWriter ===

impl GatewayWriter {
    /// Adds a message behind those that wait.
    pub(super) fn push(&mut self, message: &M3uaTransmit) {
        let Self::Stream { octets, .. } = self;
        octets.extend_from_slice(&message.octets);
    }

    /// Whether nothing waits.
    pub(super) fn is_empty(&self) -> bool {
        let Self::Stream { octets, .. } = self;
        octets.is_empty()
    }

    /// Writes some of what waits; how many octets that were. May be dropped while it waits.
    ///
    /// # Errors
    /// That of the connection.
    pub(super) async fn write(&mut self) -> io::Result<usize> {
        let Self::Stream { half, octets } = self;
        let written = half.write(octets).await?;
        octets.advance(written);
        if octets.is_empty() {
            *octets = BytesMut::new();
        }
        Ok(written)
    }

    /// Writes everything, and says that nothing follows.
    ///
    /// # Errors
    /// That of the connection.
    pub(super) async fn close(&mut self) -> io::Result<()> {
        while !self.is_empty() {
            self.write().await?;
        }
        let Self::Stream { half, .. } = self;
        half.shutdown().await
    }
}
