//! `[nats]`: where events of messages are published; and how servers of NATS are reached, whoever does.
//!
//! Read by the actor Export (`actors/control/export/nats.rs`); [`NatsConnection`] by `actors/runtime/nats.rs`. The addresses
//! are no secrets: who must log in has files for that.

use std::path::PathBuf;
use std::time::Duration;

use super::section::section;

section! {
    /// `[nats]`: an event for each message that has ended, published on NATS JetStream: docs/events.md. The node that does the work for all nodes publishes them. `[[event_sink]]` says more, and has several.
    pub struct Nats {
        /// Servers of one cluster, such as `["nats://nats.example:4222"]`, or `tls://…`; without any, nothing is published.
        servers: Vec<String> = Vec::new(),
        /// File with a user's JWT and seed, as `nsc` writes it.
        credentials_file: Option<PathBuf> = None,
        /// File with the authorities (PEM) that may issue the servers' certificates; without it, those that the machine trusts.
        ca_file: Option<PathBuf> = None,
        /// Subject of the events; a stream must take it in.
        subject: String = "sms.events.status".to_owned(),
        /// The servers count as unreachable when they have not acknowledged events for this time.
        timeout: Duration = Duration::from_secs(5),
    }
}

/// Servers of NATS of one cluster, and who logs in there.
#[derive(Debug, Clone, Default)]
pub struct NatsConnection {
    pub servers: Vec<String>,
    /// A user's JWT and seed.
    pub credentials_file: Option<PathBuf>,
    /// A user's name, and the file with the password.
    pub user: Option<String>,
    pub password_file: Option<PathBuf>,
    /// The file with a token.
    pub token_file: Option<PathBuf>,
    /// The authorities of the servers' certificates.
    pub ca_file: Option<PathBuf>,
    /// For connecting, and for each answer.
    pub timeout: Duration,
}

// === impl Nats ===

impl Nats {
    /// How its servers are reached.
    pub fn connection(&self) -> NatsConnection {
        NatsConnection {
            servers: self.servers.clone(),
            credentials_file: self.credentials_file.clone(),
            ca_file: self.ca_file.clone(),
            timeout: self.timeout,
            ..NatsConnection::default()
        }
    }
}
