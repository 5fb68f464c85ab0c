//! What comes before SMPP on a connection: a load balancer's PROXY header, a TLS handshake.
//!
//! Runs on the thread that will serve the session. Both have to be complete within
//! `smpp.session_init_timeout`; nothing is kept but the header, whose length is bounded.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use rustls::{AlertDescription, CertificateError, Error as TlsError, InvalidMessage};
use thiserror::Error;
use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;

use super::{Door, proxy};
use crate::actors::context::NodeContext;
use crate::actors::ingress::bind_guard::BindGuard;
use crate::actors::runtime::link::Wire;
use crate::telemetry::metrics::ReasonLabel;
use crate::tls::{self, Server};

/// Why a connection ends before its protocol begins.
#[derive(Debug, Error)]
pub(crate) enum ConnectionRefused {
    /// A probe: connected, said nothing, and went.
    #[error("closed before anything was said")]
    Silent,
    #[error("only the load balancers of `proxy_from` may connect to this listener")]
    Stranger,
    #[error(transparent)]
    Proxy(#[from] proxy::BadHeader),
    #[error("TLS: {0}")]
    Tls(String),
    #[error("nothing usable came within smpp.session_init_timeout")]
    TooLate,
}

/// The address of the ESME: the peer's, or what the load balancer at that address announces.
pub(super) async fn announced(
    door: &Door,
    socket: &mut TcpStream,
    peer: SocketAddr,
) -> Result<SocketAddr, ConnectionRefused> {
    let Some(balancers) = &door.proxy_from else {
        return Ok(peer);
    };
    if !balancers.allows(peer.ip()) {
        return Err(ConnectionRefused::Stranger);
    }
    Ok(read_header(socket).await?.unwrap_or(peer))
}

/// Brings a connection to where its protocol begins.
pub(crate) async fn enter(
    tls: Option<&Arc<Server>>,
    socket: TcpStream,
) -> Result<Wire, ConnectionRefused> {
    let Some(server) = tls else {
        return Ok(Wire::Plain(socket));
    };
    let stream = TlsAcceptor::from(server.config())
        .accept(socket)
        .await
        .map_err(refused)?;
    Ok(Wire::Tls(Box::new(stream.into())))
}

/// The address that a PROXY header announces; `None` when the load balancer speaks for itself.
async fn read_header(socket: &mut TcpStream) -> Result<Option<SocketAddr>, ConnectionRefused> {
    let mut header = Vec::with_capacity(proxy::HEAD);
    while header.len() < proxy::HEAD {
        let missing = proxy::HEAD - header.len();
        let read = (&mut *socket)
            .take(missing as u64)
            .read_buf(&mut header)
            .await;
        match read {
            Ok(count) if count > 0 => {}
            _ if header.is_empty() => return Err(ConnectionRefused::Silent),
            _ => return Err(proxy::BadHeader::CutOff.into()),
        }
        // What is no header may be shorter than one, and its sender waits for an answer.
        proxy::may_begin(&header)?;
    }
    let length = proxy::length(&header)?;
    header.resize(proxy::HEAD + length, 0);
    socket
        .read_exact(&mut header[proxy::HEAD..])
        .await
        .map_err(|_| proxy::BadHeader::CutOff)?;
    Ok(proxy::client(&header)?)
}

/// What a failed handshake means to the one who has to do something about it.
fn refused(error: io::Error) -> ConnectionRefused {
    let Some(refused) = error
        .get_ref()
        .and_then(|inner| inner.downcast_ref::<TlsError>())
    else {
        return match error.kind() {
            io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset => {
                ConnectionRefused::Tls("the client went away during the handshake".to_owned())
            }
            _ => ConnectionRefused::Tls(error.to_string()),
        };
    };
    let meaning = match refused {
        TlsError::InvalidMessage(
            InvalidMessage::InvalidContentType
            | InvalidMessage::UnknownProtocolVersion
            | InvalidMessage::MessageTooLarge
            | InvalidMessage::InvalidEmptyPayload,
        ) => "this is no TLS; does the client speak in clear to a TLS listener?",
        TlsError::NoCertificatesPresented => {
            "the client has shown no certificate, which tls_client_ca demands"
        }
        TlsError::InvalidCertificate(CertificateError::Revoked) => {
            "the client's certificate was revoked, as tls_client_crl says"
        }
        TlsError::InvalidCertificate(CertificateError::UnknownRevocationStatus) => {
            "tls_client_crl has no list of the authority of the client's certificate"
        }
        TlsError::InvalidCertificate(_) => {
            "the client's certificate cannot be accepted by tls_client_ca"
        }
        TlsError::AlertReceived(
            AlertDescription::UnknownCA
            | AlertDescription::BadCertificate
            | AlertDescription::CertificateUnknown
            | AlertDescription::CertificateExpired
            | AlertDescription::CertificateRevoked
            | AlertDescription::UnsupportedCertificate,
        ) => "the client does not accept our certificate",
        _ => return ConnectionRefused::Tls(tls::handshake_refusal(&error)),
    };
    let why = tls::handshake_refusal(&error);
    ConnectionRefused::Tls(format!("{meaning} ({why})"))
}

/// What letting a connection in brings, within the time for that; says in log and metrics why it brings nothing.
pub(crate) async fn in_time<T>(
    node: &NodeContext,
    guard: &BindGuard,
    name: &str,
    peer: SocketAddr,
    entering: impl Future<Output = Result<T, ConnectionRefused>>,
) -> Option<T> {
    let within = node.config().smpp.session_init_timeout;
    let entered = tokio::time::timeout(within, entering).await;
    let entered = entered.unwrap_or(Err(ConnectionRefused::TooLate));
    let tell = |refused: &ConnectionRefused| refused.tell(node, guard, name, peer);
    entered.inspect_err(tell).ok()
}

// === impl ConnectionRefused ===

impl ConnectionRefused {
    /// Says so in log and metrics; what strangers can cause is logged at a limited rate.
    fn tell(&self, node: &NodeContext, guard: &BindGuard, name: &str, peer: SocketAddr) {
        match self.reason() {
            None => tracing::debug!(listener = %name, %peer, "{self}"),
            Some(reason) => {
                let label = ReasonLabel { reason };
                node.metrics.connections_failed.get_or_create(&label).inc();
                if guard.may_log(peer.ip()) {
                    tracing::warn!(listener = %name, %peer, "connection refused: {self}");
                }
            }
        }
    }

    /// The label of the metric; `None` for what is nobody's fault.
    fn reason(&self) -> Option<&'static str> {
        match self {
            Self::Silent => None,
            Self::Stranger => Some("stranger"),
            Self::Proxy(_) => Some("proxy"),
            Self::Tls(_) => Some("tls"),
            Self::TooLate => Some("late"),
        }
    }
}
