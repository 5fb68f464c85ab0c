//! Dialling an operator: TCP, and TLS over it where the operator is configured so.
//!
//! Certificates are read at each connect, so that a new file is in force with the next bind and the
//! binds there are stay.

use std::sync::Arc;

use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use crate::actors::context::NodeContext;
use crate::actors::runtime::link::{Wire, tune};
use crate::config::OperatorConfig;
use crate::tls::{self, Identity, Named};

/// Connects; answers with the connection and the operator's address. Has no time limit of its own.
///
/// # Errors
/// Why not, for people.
pub(in crate::actors::egress) async fn dial(
    node: &NodeContext,
    operator: &OperatorConfig,
) -> Result<(Wire, String), String> {
    let socket = TcpStream::connect(&operator.address)
        .await
        .map_err(|error| format!("connect: {error}"))?;
    tune(&socket, &node.config().smpp);
    let peer = socket
        .peer_addr()
        .map_or_else(|_| operator.address.clone(), |peer| peer.to_string());
    let certificate = format!("operator:{}", operator.id);
    if !operator.tls {
        node.certificates.show(certificate, None);
        return Ok((Wire::Plain(socket), peer));
    }
    let (config, expires_at) = client_config(operator).await?;
    node.certificates.show(certificate, expires_at);
    let wire = handshake(operator, config, socket).await?;
    Ok((wire, peer))
}

/// How this operator is dialled by TLS, and when the certificate ends that it is shown.
///
/// # Errors
/// Which file cannot be used, and why.
pub(super) async fn client_config(
    operator: &OperatorConfig,
) -> Result<(ClientConfig, Option<i64>), String> {
    let for_reading = operator.clone();
    // Files, and the authorities of the machine, are read on a thread that may wait for them.
    let read = tokio::task::spawn_blocking(move || read(&for_reading)).await;
    read.map_err(|error| format!("TLS: {error}"))?
}

/// Makes a connection one of TLS.
///
/// # Errors
/// Why not, for people.
pub(super) async fn handshake(
    operator: &OperatorConfig,
    config: ClientConfig,
    socket: TcpStream,
) -> Result<Wire, String> {
    let name = server_name(operator)?;
    let stream = TlsConnector::from(Arc::new(config))
        .connect(name.clone(), socket)
        .await
        .map_err(|error| {
            let why = tls::handshake_refusal(&error);
            format!("TLS with {}: {why}", name.to_str())
        })?;
    Ok(Wire::Tls(Box::new(stream.into())))
}

/// What [`client_config`] gives.
fn read(operator: &OperatorConfig) -> Result<(ClientConfig, Option<i64>), String> {
    let named =
        |setting: &str, file| Named::new(format!("operator {}: {setting}", operator.id), file);
    let roots = match &operator.tls_ca_file {
        None => tls::platform_roots(),
        Some(file) => tls::roots(&named("tls_ca_file", file))?,
    };
    let identity = match (&operator.tls_cert, &operator.tls_key) {
        (Some(cert), Some(key)) => Some(Identity::read(
            &named("tls_cert", cert),
            &named("tls_key", key),
        )?),
        _ => None,
    };
    let expires_at = identity.as_ref().and_then(Identity::expires_at);
    let config = tls::client_config(roots, identity)
        .map_err(|error| format!("operator {}: tls_key: {error}", operator.id))?;
    Ok((config, expires_at))
}

/// Whom the certificate must be for.
fn server_name(operator: &OperatorConfig) -> Result<ServerName<'static>, String> {
    let host = || {
        let (host, _) = operator.address.rsplit_once(':')?;
        Some(host.trim_matches(['[', ']']))
    };
    let name = operator.tls_name.as_deref().or_else(host);
    let name = name.unwrap_or_default().to_owned();
    ServerName::try_from(name.clone())
        .map_err(|_| format!("TLS: no certificate can be for {name:?}; set tls_name"))
}
