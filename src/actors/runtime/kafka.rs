//! A connection to brokers of Kafka. Used by whoever publishes there.
//!
//! The client connects again by itself, and repeats what has failed, for half of the connection's time. It writes no
//! record twice on purpose, but has no ids to have repetitions dropped by.

use std::sync::Arc;

use rskafka::BackoffConfig;
use rskafka::client::error::Error;
use rskafka::client::{Client, ClientBuilder, Credentials, SaslConfig};
use rustls::ClientConfig;

use super::nats::secret;
use crate::config::{KafkaConnection, KafkaLogin, SaslMechanism};
use crate::tls::{self, Identity, Named};

/// Connects and logs in.
///
/// # Errors
/// No broker answers or takes the login, or a file cannot be read.
pub async fn connect(kafka: &KafkaConnection) -> Result<Client, String> {
    // Pauses only, without the attempts between them: the client is to say why they failed before its caller, who waits
    // for the connection's time, can only say that it was late.
    let pauses = kafka.timeout / 2;
    let mut builder = ClientBuilder::new(kafka.servers.clone())
        .client_id("smsc")
        .backoff_config(BackoffConfig {
            max_backoff: pauses,
            deadline: Some(pauses),
            ..BackoffConfig::default()
        });
    if let Some(login) = &kafka.login {
        builder = builder.sasl_config(sasl(login).await?);
    }
    if kafka.tls {
        let for_reading = kafka.clone();
        // Files, and the authorities of the machine, are read on a thread that may wait for them.
        let read = tokio::task::spawn_blocking(move || client_config(&for_reading)).await;
        builder = builder.tls_config(Arc::new(read.map_err(|error| error.to_string())??));
    }
    builder.build().await.map_err(|error| shown(&error))
}

/// What went wrong, for people: without the names that the client's own types have.
pub fn shown(error: &Error) -> String {
    match error {
        Error::ServerError {
            protocol_error,
            request,
            ..
        } => format!("{protocol_error} ({request:?})"),
        // "all retries failed: Retry exceeded deadline. Source: …" says why behind that, once for each layer.
        error => {
            let whole = error.to_string();
            let why = whole.rsplit("Source: ").next().unwrap_or_default();
            tls::reworded(why)
        }
    }
}

async fn sasl(login: &KafkaLogin) -> Result<SaslConfig, String> {
    let password = secret(&login.password_file).await;
    let password = password.map_err(|error| error.to_string())?;
    let credentials = Credentials::new(login.user.clone(), password);
    Ok(match login.mechanism {
        SaslMechanism::Plain => SaslConfig::Plain(credentials),
        SaslMechanism::ScramSha256 => SaslConfig::ScramSha256(credentials),
        SaslMechanism::ScramSha512 => SaslConfig::ScramSha512(credentials),
    })
}

fn client_config(kafka: &KafkaConnection) -> Result<ClientConfig, String> {
    let roots = match &kafka.ca_file {
        None => tls::platform_roots(),
        Some(file) => tls::roots(&Named::new("ca_file", file))?,
    };
    let identity = match (&kafka.cert_file, &kafka.key_file) {
        (Some(cert), Some(key)) => {
            let (cert, key) = (Named::new("cert_file", cert), Named::new("key_file", key));
            Some(Identity::read(&cert, &key)?)
        }
        _ => None,
    };
    tls::client_config(roots, identity).map_err(|error| format!("key_file: {error}"))
}
