//! A connection to servers of NATS. Used by whoever publishes there or reads from there.
//!
//! The client connects again by itself; what it was to send meanwhile is kept only as long as the connection is.

use std::io;
use std::path::Path;

use async_nats::{Client, ConnectOptions};

use crate::config::NatsConnection;
use crate::tls;

/// Connects and logs in.
///
/// # Errors
/// No server answers or takes the login, or a file cannot be read.
pub async fn connect(nats: &NatsConnection) -> io::Result<Client> {
    let mut options = ConnectOptions::new()
        .name("smsc")
        .connection_timeout(nats.timeout);
    if let Some(file) = &nats.credentials_file {
        options = options.credentials_file(file).await?;
    }
    if let (Some(user), Some(file)) = (&nats.user, &nats.password_file) {
        options = options.user_and_password(user.clone(), secret(file).await?);
    }
    if let Some(file) = &nats.token_file {
        options = options.token(secret(file).await?);
    }
    if let Some(file) = &nats.ca_file {
        options = options.add_root_certificates(file.clone());
    }
    let client = options.connect(&nats.servers).await;
    client.map_err(|error| io::Error::other(tls::reworded(&error.to_string())))
}

/// What a file holds, without the end of its line. Read for each connection, so that it may change.
pub(super) async fn secret(file: &Path) -> io::Result<String> {
    let text = tokio::fs::read_to_string(file).await;
    let text = text.map_err(|error| io::Error::other(format!("{}: {error}", file.display())))?;
    Ok(text.trim_end_matches(['\r', '\n']).to_owned())
}
