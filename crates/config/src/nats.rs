//! `[nats]`: where events of messages are published. Read by the actor Export (`actors/control/export/nats.rs`).
//!
//! The addresses are no secrets: whoever must log in has a credentials file.

use std::path::PathBuf;
use std::time::Duration;

use super::section::section;

section! {
    /// `[nats]`: an event for each message that has ended, published on NATS JetStream: docs/events.md. The node that does the work for all nodes publishes them.
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
