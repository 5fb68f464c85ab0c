//! How brokers of Kafka are reached, whoever does: by `[[event_sink]]` with `kind = "kafka"`.
//!
//! Used by `actors/runtime/kafka.rs`. The addresses are no secrets: who must log in has a file for that.

use std::path::PathBuf;
use std::time::Duration;

use super::section::settings;

settings! {
    /// How a user proves who it is (SASL, RFC 4422).
    pub enum SaslMechanism {
        /// The password as it is (RFC 4616).
        Plain = "PLAIN",
        /// A proof that the password is known (RFC 7677).
        ScramSha256 = "SCRAM-SHA-256",
        /// A proof that the password is known, by SHA-512.
        ScramSha512 = "SCRAM-SHA-512",
    }
}

/// Who logs in.
#[derive(Debug, Clone)]
pub struct KafkaLogin {
    pub mechanism: SaslMechanism,
    pub user: String,
    /// The file with the password.
    pub password_file: PathBuf,
}

/// Brokers of one cluster of Kafka, and who logs in there.
#[derive(Debug, Clone, Default)]
pub struct KafkaConnection {
    /// Host and port of some of the brokers; these name the others.
    pub servers: Vec<String>,
    pub login: Option<KafkaLogin>,
    pub tls: bool,
    /// The authorities of the brokers' certificates.
    pub ca_file: Option<PathBuf>,
    /// Our certificate, and its key.
    pub cert_file: Option<PathBuf>,
    pub key_file: Option<PathBuf>,
    /// For connecting, and for each answer.
    pub timeout: Duration,
}
