//! What carries M3UA to a signalling gateway: messages in, messages out, whatever is below.
//!
//! The one place that knows transports, used by `gateway`. SCTP of the kernel keeps messages apart, has streams, and may go
//! several ways (RFC 4666 §1.4.7); with TCP, as Osmocom has it, messages follow one another in a stream of octets. Invariant:
//! what is dropped while it waits, because something else came first, has taken nothing and written nothing that is not
//! remembered here.

use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use bytes::{Buf, Bytes, BytesMut};
use futures_util::FutureExt as _;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpSocket, TcpStream, lookup_host};
use tokio::time::{Instant, timeout};

use crate::actors::runtime::link::tune;
use crate::config::{GatewayTransport, MapGateway, Smpp};
use crate::sctp::{
    AssociationChange, M3UA, SctpConnection, SctpEvent, SctpNotification, SctpOptions, SctpReader,
    SctpWriter,
};
use crate::sigtran::{M3uaTransmit, next_m3ua};

/// Room for what is read at a time.
const READ: usize = 16 * 1024;
/// Most messages of SCTP at a time.
const MESSAGES: usize = 64;
const CLOSED: &str = "the gateway closed the connection";

/// A connection to a gateway, in two halves.
pub(super) struct GatewayWire {
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
    Sctp {
        half: SctpReader,
        /// Why nothing follows what was given.
        ended: Option<String>,
    },
}

/// What goes.
pub(super) enum GatewayWriter {
    Stream {
        half: Box<dyn AsyncWrite + Send + Unpin>,
        octets: BytesMut,
    },
    Sctp {
        half: SctpWriter,
        messages: VecDeque<M3uaTransmit>,
    },
}

/// Gateways in memory, in the order in which tests make them.
#[cfg(test)]
pub(in super::super) mod pipes {
    use std::cell::RefCell;
    use std::collections::VecDeque;

    use tokio::io::DuplexStream;

    thread_local! {
        static GATEWAYS: RefCell<VecDeque<(String, DuplexStream)>> = const { RefCell::new(VecDeque::new()) };
    }

    pub(in super::super::super) fn add(address: &str, pipe: DuplexStream) {
        GATEWAYS.with_borrow_mut(|gateways| gateways.push_back((address.to_owned(), pipe)));
    }

    pub(super) fn next(address: &str) -> Option<DuplexStream> {
        GATEWAYS.with_borrow_mut(|gateways| {
            let at = gateways.iter().position(|(of, _)| of == address)?;
            gateways.remove(at).map(|(_, pipe)| pipe)
        })
    }
}

/// Connects to a gateway, `within` this time.
///
/// # Errors
/// Why not, for people.
pub(super) async fn dial(
    gateway: &MapGateway,
    within: Duration,
    smpp: &Smpp,
) -> Result<GatewayWire, String> {
    #[cfg(test)]
    if let Some(pipe) = pipes::next(&gateway.address) {
        return Ok(GatewayWire::of_stream(pipe, "a test".to_owned()));
    }
    let connected = match gateway.transport {
        GatewayTransport::Tcp => over_tcp(gateway, within, smpp).await,
        GatewayTransport::Sctp => over_sctp(gateway).await,
    };
    connected.map_err(|error| format!("connect: {error}"))
}

async fn over_tcp(gateway: &MapGateway, within: Duration, smpp: &Smpp) -> io::Result<GatewayWire> {
    let until = Instant::now() + within;
    let addresses: Vec<SocketAddr> = lookup_host(gateway.host_and_port()).await?.collect();
    let own = gateway.own_addresses();
    let (socket, address) = first_of(&addresses, until, |address| tcp_to(address, &own)).await?;
    tune(&socket, smpp);
    Ok(GatewayWire::of_stream(socket, address.to_string()))
}

/// Tries addresses one after another, and gives each its share of the time that is left: one that is silent does not hide
/// the others.
async fn first_of<S, F>(
    addresses: &[SocketAddr],
    until: Instant,
    connect: impl Fn(SocketAddr) -> F,
) -> io::Result<(S, SocketAddr)>
where
    F: Future<Output = io::Result<S>>,
{
    let mut failed = None;
    let left = (1..=addresses.len() as u32).rev();
    for (address, left) in addresses.iter().zip(left) {
        let share = until.saturating_duration_since(Instant::now()) / left;
        match timeout(share, connect(*address)).await {
            Ok(Ok(connected)) => return Ok((connected, *address)),
            Ok(Err(error)) => failed = Some(error),
            Err(_) => failed = Some(io::ErrorKind::TimedOut.into()),
        }
    }
    Err(failed.unwrap_or_else(no_address))
}

/// Connects from the own address of the same family, if there is one.
async fn tcp_to(address: SocketAddr, own: &[SocketAddr]) -> io::Result<TcpStream> {
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

/// All addresses of the name are ways to one gateway.
async fn over_sctp(gateway: &MapGateway) -> io::Result<GatewayWire> {
    let addresses: Vec<SocketAddr> = lookup_host(gateway.host_and_port()).await?.collect();
    let Some(first) = addresses.first() else {
        return Err(no_address());
    };
    let (own, options) = (gateway.own_addresses(), SctpOptions::default());
    let connected = SctpConnection::connect(&own, &addresses, &options).await?;
    let (reader, writer) = connected.split();
    Ok(GatewayWire {
        reader: GatewayReader::Sctp {
            half: reader,
            ended: None,
        },
        writer: GatewayWriter::Sctp {
            half: writer,
            messages: VecDeque::new(),
        },
        peer: first.to_string(),
    })
}

fn no_address() -> io::Error {
    io::Error::other("the name has no address")
}

// === impl GatewayWire ===

impl GatewayWire {
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
        match self {
            Self::Stream { half, octets } => from_stream(half, octets).await,
            Self::Sctp { half, ended } => from_association(half, ended).await,
        }
    }
}

async fn from_stream(
    half: &mut (impl AsyncRead + Unpin),
    octets: &mut BytesMut,
) -> Result<Vec<Bytes>, String> {
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
            return Err(CLOSED.to_owned());
        }
    }
}

async fn from_association(
    half: &mut SctpReader,
    ended: &mut Option<String>,
) -> Result<Vec<Bytes>, String> {
    let mut messages = Vec::new();
    while ended.is_none() && messages.len() < MESSAGES {
        let next = if messages.is_empty() {
            half.next().await
        } else {
            // Only what is there already.
            match half.next().now_or_never() {
                Some(next) => next,
                None => break,
            }
        };
        match next {
            // Some peers say no protocol.
            Ok(SctpEvent::Message(message)) if [0, M3UA].contains(&message.payload_protocol) => {
                messages.push(message.octets);
            }
            Ok(SctpEvent::Message(_)) => {}
            Ok(SctpEvent::Notification(change)) => *ended = end_of(&change).map(str::to_owned),
            Ok(SctpEvent::Closed) => *ended = Some(CLOSED.to_owned()),
            Err(error) => *ended = Some(error.to_string()),
        }
    }
    match ended.take() {
        Some(why) if messages.is_empty() => Err(why),
        why => {
            *ended = why;
            Ok(messages)
        }
    }
}

/// Why an association is over; M3UA begins anew where the gateway did (RFC 4666 §4.3.3).
fn end_of(change: &SctpNotification) -> Option<&'static str> {
    let SctpNotification::Association { change, .. } = change else {
        return None;
    };
    match change {
        AssociationChange::Restarted => Some("the gateway has begun the association anew"),
        AssociationChange::Lost => Some("the association is lost"),
        AssociationChange::ShutDown => Some(CLOSED),
        AssociationChange::CannotStart => Some("no association could be made"),
        AssociationChange::Up | AssociationChange::Other(_) => None,
    }
}

// === impl GatewayWriter ===

impl GatewayWriter {
    /// Adds a message behind those that wait.
    pub(super) fn push(&mut self, message: M3uaTransmit) {
        match self {
            Self::Stream { octets, .. } => octets.extend_from_slice(&message.octets),
            Self::Sctp { messages, .. } => messages.push_back(message),
        }
    }

    /// Whether nothing waits.
    pub(super) fn is_empty(&self) -> bool {
        match self {
            Self::Stream { octets, .. } => octets.is_empty(),
            Self::Sctp { messages, .. } => messages.is_empty(),
        }
    }

    /// Writes some of what waits; how many octets that were, 0 when nothing can be written any more. May be dropped while it
    /// waits.
    ///
    /// # Errors
    /// That of the connection.
    pub(super) async fn write(&mut self) -> io::Result<usize> {
        match self {
            Self::Stream { half, octets } => {
                let written = half.write(octets).await?;
                octets.advance(written);
                if octets.is_empty() {
                    *octets = BytesMut::new();
                }
                Ok(written)
            }
            Self::Sctp { half, messages } => {
                let Some(message) = messages.front() else {
                    return Ok(0);
                };
                half.send(message.stream, &message.octets).await?;
                let sent = messages.pop_front();
                Ok(sent.map_or(0, |message| message.octets.len()))
            }
        }
    }

    /// Writes everything, and says that nothing follows.
    ///
    /// # Errors
    /// That of the connection.
    pub(super) async fn close(&mut self) -> io::Result<()> {
        while !self.is_empty() {
            if self.write().await? == 0 {
                break;
            }
        }
        match self {
            Self::Stream { half, .. } => half.shutdown().await,
            Self::Sctp { half, .. } => half.shut_down(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn an_address_that_is_silent_does_not_hide_the_others() {
        const WITHIN: Duration = Duration::from_secs(9);
        let addresses = ["192.0.2.1:2905", "192.0.2.2:2905", "192.0.2.3:2905"];
        let addresses = addresses.map(|address| address.parse::<SocketAddr>().expect("an address"));
        let began = Instant::now();
        let connect = |address: SocketAddr| async move {
            if address == addresses[0] {
                std::future::pending::<()>().await;
            }
            if address == addresses[1] {
                return Err(io::Error::from(io::ErrorKind::ConnectionRefused));
            }
            Ok(address.port())
        };
        let found = first_of(&addresses, began + WITHIN, connect);
        let found = timeout(WITHIN, found).await.expect("in time");
        let found = found.expect("connected");
        assert_eq!(found, (2905, addresses[2]));
        assert_eq!(began.elapsed().as_secs(), (WITHIN / 3).as_secs());
    }
}
