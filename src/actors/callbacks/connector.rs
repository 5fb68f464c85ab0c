//! Connections for callbacks: to addresses that may be reached, and to no others.
//!
//! Used by the HTTP client for each new connection. The name is resolved here and each address is looked at before
//! it is dialled, so that it does not matter what the name resolved to when the URL was configured, nor what it
//! resolves to the next time.

use std::future::Future;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use hyper::Uri;
use hyper_util::client::legacy::connect::{Connected, Connection};
use hyper_util::rt::TokioIo;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, lookup_host};
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tower_service::Service;

use crate::domain::callback::reach::Reach;
use crate::domain::callback::target::{CallbackTarget, NotATarget};
use crate::tls;

/// Time for one address to take the connection.
const CONNECT: Duration = Duration::from_secs(5);

/// Why there is no connection.
#[derive(Debug, thiserror::Error)]
pub enum DialError {
    #[error("{0} is not a public address")]
    Forbidden(IpAddr),
    #[error("the name cannot be resolved: {0}")]
    Unresolved(io::Error),
    #[error("the name has no address")]
    NoAddress,
    #[error("{0}: {1}")]
    Refused(SocketAddr, io::Error),
    #[error("TLS: {}", tls::handshake_refusal(.0))]
    Tls(io::Error),
    /// Without TLS, and not to a host of `callback_allow_private`; or no URL at all.
    #[error("{0}")]
    Target(NotATarget),
}

/// Dials the targets of one account.
#[derive(Clone)]
pub struct CallbackConnector(Arc<CallbackRoute>);

/// By which rules.
pub struct CallbackRoute {
    pub reach: Reach,
    /// `None` if nothing is called by HTTPS.
    pub tls: Option<TlsConnector>,
}

/// A connection, plain or by TLS.
pub type CallbackConnection = TokioIo<Box<dyn CallbackStream>>;

/// What HTTP needs of a connection.
pub trait CallbackStream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> CallbackStream for T {}

// === impl CallbackConnector ===

impl CallbackConnector {
    pub fn new(route: CallbackRoute) -> Self {
        Self(Arc::new(route))
    }
}

impl Service<Uri> for CallbackConnector {
    type Response = CallbackConnection;
    type Error = DialError;
    type Future = Pin<Box<dyn Future<Output = Result<CallbackConnection, DialError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), DialError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let route = Arc::clone(&self.0);
        Box::pin(async move {
            let target = CallbackTarget::parse(&uri.to_string()).map_err(DialError::Target)?;
            route.connect(&target).await
        })
    }
}

// === impl CallbackRoute ===

impl CallbackRoute {
    async fn connect(&self, target: &CallbackTarget) -> Result<CallbackConnection, DialError> {
        if !target.is_https() && !self.reach.lists(target.host()) {
            return Err(DialError::Target(NotATarget::Scheme));
        }
        let socket = self.dial(self.addresses(target).await?).await?;
        let octets: Box<dyn CallbackStream> = match (&self.tls, target.is_https()) {
            (_, false) => Box::new(socket),
            (None, true) => return Err(DialError::Tls(io::ErrorKind::Unsupported.into())),
            (Some(tls), true) => {
                let invalid = |error| DialError::Tls(io::Error::other(error));
                let name = ServerName::try_from(target.host().to_owned()).map_err(invalid)?;
                Box::new(tls.connect(name, socket).await.map_err(DialError::Tls)?)
            }
        };
        Ok(TokioIo::new(octets))
    }

    /// The addresses of the target that may be dialled; at least one.
    async fn addresses(&self, target: &CallbackTarget) -> Result<Vec<SocketAddr>, DialError> {
        let (host, port) = (target.host(), target.port());
        let found: Vec<SocketAddr> = match target.address() {
            Some(address) => vec![SocketAddr::new(address, port)],
            None => lookup_host((host, port))
                .await
                .map_err(DialError::Unresolved)?
                .collect(),
        };
        self.reachable(host, found)
    }

    /// Those of an answer that may be dialled: each answer is looked at, whatever the one before was.
    fn reachable(&self, host: &str, found: Vec<SocketAddr>) -> Result<Vec<SocketAddr>, DialError> {
        let first = found.first().map(SocketAddr::ip);
        let may_dial = |address: &SocketAddr| self.reach.may_dial(host, address.ip());
        let reachable: Vec<_> = found.into_iter().filter(may_dial).collect();
        match (first, reachable.is_empty()) {
            (None, _) => Err(DialError::NoAddress),
            (Some(first), true) => Err(DialError::Forbidden(first)),
            (Some(_), false) => Ok(reachable),
        }
    }

    /// Connects to the first address that takes the connection.
    async fn dial(&self, addresses: Vec<SocketAddr>) -> Result<TcpStream, DialError> {
        let mut refused = DialError::NoAddress;
        for address in addresses {
            let connected = timeout(CONNECT, TcpStream::connect(address)).await;
            match connected.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into())) {
                Ok(socket) => {
                    // A socket that refuses it works without it.
                    let _ = socket.set_nodelay(true);
                    return Ok(socket);
                }
                Err(error) => refused = DialError::Refused(address, error),
            }
        }
        Err(refused)
    }
}

// === impl CallbackStream ===

impl Connection for Box<dyn CallbackStream> {
    fn connected(&self) -> Connected {
        Connected::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn connect(url: &str, allowed: &[&str]) -> Result<CallbackConnection, DialError> {
        let route = CallbackRoute {
            reach: Reach::parse(allowed).unwrap(),
            tls: None,
        };
        route.connect(&CallbackTarget::parse(url).unwrap()).await
    }

    #[actix::test]
    async fn what_is_dialled_is_looked_at_and_not_the_name() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        for host in ["127.0.0.1", "localhost", "2130706433", "0177.0.0.1"] {
            let refused = connect(&format!("https://{host}:{port}/"), &[]).await;
            let error = refused.err().expect(host);
            assert!(
                matches!(error, DialError::Forbidden(address) if address.is_loopback()),
                "{host}: {error}"
            );
        }
        for (host, allowed) in [
            ("127.0.0.1", "127.0.0.0/8"),
            ("localhost", "127.0.0.1"),
            ("localhost", "localhost"),
        ] {
            let url = format!("http://{host}:{port}/");
            let connected = connect(&url, &[allowed, host]).await;
            assert!(connected.is_ok(), "{host} {allowed}");
            let plain = connect(&url, &[]).await.err();
            assert!(matches!(plain, Some(DialError::Target(_))), "{plain:?}");
        }
    }

    #[test]
    fn a_name_that_resolves_to_something_else_the_next_time_is_looked_at_again() {
        let route = CallbackRoute {
            reach: Reach::parse(&["10.1.0.0/16"]).unwrap(),
            tls: None,
        };
        let at = |address: &str| SocketAddr::new(address.parse().unwrap(), 443);
        let ask = |found: &[&str]| {
            route.reachable("hooks.example", found.iter().map(|one| at(one)).collect())
        };
        assert_eq!(ask(&["8.8.8.8"]).unwrap(), [at("8.8.8.8")]);
        let private = ask(&["169.254.169.254"]).err();
        assert!(
            matches!(private, Some(DialError::Forbidden(_))),
            "{private:?}"
        );
        // Of several, those alone that may be.
        let some = ask(&["127.0.0.1", "10.1.2.3", "::1", "8.8.8.8"]).unwrap();
        assert_eq!(some, [at("10.1.2.3"), at("8.8.8.8")]);
        assert!(matches!(ask(&[]), Err(DialError::NoAddress)));
    }

    #[actix::test]
    async fn who_does_not_listen_refuses() {
        let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = free.local_addr().unwrap();
        drop(free);
        let refused = connect(&format!("http://{address}/"), &["127.0.0.1"]).await;
        let error = refused.err().expect("nobody listens");
        assert!(matches!(error, DialError::Refused(at, _) if at == address));
    }
}
