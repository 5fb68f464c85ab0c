//! How servers of NATS are reached, whoever does.
//!
//! Used by `actors/runtime/nats.rs`. The addresses are no secrets: who must log in has files for that.

use std::path::PathBuf;
use std::time::Duration;

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
