//! Connections of M3UA, over TCP or SCTP: whole messages in, whole messages out.

use std::io;
use std::net::SocketAddr;

use bytes::{BufMut, Bytes, BytesMut};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream, lookup_host};

use super::gateway::LinkMessage;
use super::{MapStp, MapTransport};
use crate::network::NetworkDoor;
use smsc_sctp::{
    AssociationChange, SctpConnection, SctpEvent, SctpListener, SctpNotification, SctpOptions,
};
use smsc_sigtran::next_m3ua;

/// Octets of one read.
const READ: usize = 64 * 1024;

/// Where connections come in.
#[derive(Debug)]
pub(super) enum MapDoor {
    Tcp(TcpListener),
    Sctp(SctpListener),
    /// None do: we connect to an STP ourselves.
    Closed,
}

/// One connection.
#[derive(Debug)]
pub(super) enum MapSocket {
    Tcp { stream: TcpStream, read: BytesMut },
    Sctp(SctpConnection),
}

// === impl MapDoor ===

impl MapDoor {
    /// Listens at `HOST:PORT`.
    pub(super) async fn open(listen: &str, transport: MapTransport) -> io::Result<Self> {
        match transport {
            MapTransport::Tcp => Ok(Self::Tcp(TcpListener::bind(listen).await?)),
            MapTransport::Sctp => {
                let addresses: Vec<SocketAddr> = lookup_host(listen).await?.collect();
                let listener = SctpListener::bind(&addresses, &SctpOptions::default())?;
                Ok(Self::Sctp(listener))
            }
        }
    }

    /// The listening address, if there is one.
    pub(super) fn local_addr(&self) -> io::Result<Option<SocketAddr>> {
        match self {
            Self::Tcp(listener) => listener.local_addr().map(Some),
            Self::Sctp(listener) => Ok(Some(listener.local_addr())),
            Self::Closed => Ok(None),
        }
    }
}

impl NetworkDoor for MapDoor {
    type Socket = MapSocket;

    async fn accept(&self) -> io::Result<MapSocket> {
        Ok(match self {
            Self::Tcp(listener) => {
                let (stream, _) = listener.accept().await?;
                MapSocket::of_stream(stream)
            }
            Self::Sctp(listener) => MapSocket::Sctp(listener.accept().await?.0),
            Self::Closed => std::future::pending().await,
        })
    }
}

// === impl MapSocket ===

impl MapSocket {
    fn of_stream(stream: TcpStream) -> Self {
        // Without it, small answers wait for the acknowledgement of those before.
        let _ = stream.set_nodelay(true);
        let read = BytesMut::new();
        Self::Tcp { stream, read }
    }

    /// Connects to an STP: by SCTP to all its addresses at once, from all of ours.
    pub(super) async fn connect(stp: &MapStp, transport: MapTransport) -> io::Result<Self> {
        let mut addresses: Vec<SocketAddr> = Vec::new();
        for host in &stp.addresses {
            addresses.extend(lookup_host(host).await?);
        }
        match transport {
            MapTransport::Tcp => Ok(Self::of_stream(TcpStream::connect(&addresses[..]).await?)),
            MapTransport::Sctp => {
                let options = SctpOptions::default();
                let connect = SctpConnection::connect(&stp.local, &addresses, &options);
                Ok(Self::Sctp(connect.await?))
            }
        }
    }

    /// The next message; `None` when the connection is over. May be given up and called again.
    pub(super) async fn receive(&mut self) -> io::Result<Option<Bytes>> {
        match self {
            Self::Tcp { stream, read } => loop {
                let next = next_m3ua(read);
                let next =
                    next.map_err(|wrong| io::Error::new(io::ErrorKind::InvalidData, wrong))?;
                if next.is_some() {
                    return Ok(next);
                }
                read.reserve(READ);
                if stream.read_buf(read).await? == 0 {
                    return Ok(None);
                }
            },
            Self::Sctp(connection) => loop {
                match connection.next().await? {
                    SctpEvent::Message(message) => return Ok(Some(message.octets)),
                    SctpEvent::Closed => return Ok(None),
                    // The peer has begun anew: so does M3UA, on a connection of its own.
                    SctpEvent::Notification(SctpNotification::Association {
                        change: AssociationChange::Restarted,
                        ..
                    }) => return Ok(None),
                    SctpEvent::Notification(_) => {}
                }
            },
        }
    }

    /// Sends messages in their order.
    pub(super) async fn send(&mut self, messages: &[LinkMessage]) -> io::Result<()> {
        match self {
            Self::Tcp { stream, .. } => {
                let mut out = BytesMut::new();
                messages
                    .iter()
                    .for_each(|message| out.put_slice(&message.octets));
                stream.write_all_buf(&mut out).await
            }
            Self::Sctp(connection) => {
                for message in messages {
                    connection.send(message.stream, &message.octets).await?;
                }
                Ok(())
            }
        }
    }
}
