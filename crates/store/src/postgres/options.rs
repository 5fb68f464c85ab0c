//! How the store is opened.

use std::path::PathBuf;
use std::time::Duration;

use secrecy::SecretString;

/// How the store is opened.
#[derive(Debug, Clone)]
pub struct PgOptions {
    /// `postgres://user:password@host/database?sslmode=require`.
    pub url: SecretString,
    /// Certificates (PEM) that the server's must descend from; without it, those that the machine trusts.
    pub ca_file: Option<PathBuf>,
    /// Connections that write.
    pub writers: usize,
    /// Connections that read what messages need.
    pub readers: usize,
    /// Connections that read for administrators.
    pub admin_readers: usize,
    /// Rows per commit, after which no further batch joins it.
    pub batch_rows: usize,
    /// A statement that takes longer fails.
    pub statement_timeout: Duration,
    /// A statement that waits longer for a lock fails.
    pub lock_timeout: Duration,
    /// New messages are refused when the database has not answered for this time.
    pub write_timeout: Duration,
    /// Keep `smpp.message_correlations` for other programs.
    pub message_correlations: bool,
    /// How long after an attempt its receipt may come.
    pub correlation_ttl: Duration,
    /// What was confirmed is kept for this time, in case the database goes back in time, in at most so many octets.
    pub rewrite_for: Duration,
    pub rewrite_octets: usize,
    /// What cannot be known after that is not sent again without an order.
    pub hold_after_step_back: bool,
    /// This process is the only one that writes: no membership of a cluster is needed.
    pub standalone: bool,
}

// === impl PgOptions ===

impl PgOptions {
    /// The defaults, for this URL.
    pub fn new(url: impl Into<SecretString>) -> Self {
        Self {
            url: url.into(),
            ca_file: None,
            writers: 2,
            readers: 4,
            admin_readers: 3,
            batch_rows: 512,
            statement_timeout: Duration::from_secs(10),
            lock_timeout: Duration::from_secs(5),
            write_timeout: Duration::from_secs(5),
            message_correlations: false,
            correlation_ttl: Duration::from_secs(72 * 3600),
            rewrite_for: Duration::from_secs(10),
            rewrite_octets: 64 * 1024 * 1024,
            hold_after_step_back: true,
            standalone: false,
        }
    }
}
