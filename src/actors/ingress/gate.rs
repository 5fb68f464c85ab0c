//! Checks for connections and binds of ESMEs, and for their passwords over HTTP: passwords, and delays for those
//! that fail.
//!
//! Built once by `app` for all listeners, outbind connections and their sessions, and for the HTTP API of accounts,
//! so that they share what they know of a peer.

use std::net::IpAddr;
use std::sync::Arc;

use bytes::Bytes;
use secrecy::SecretString;

use crate::actors::ingress::bind_guard::BindGuard;
use crate::actors::ingress::verifier::{AskedFrom, Busy, Verifier};
use crate::domain::account::Passwords;
use crate::domain::penalty::Origin;

/// What sessions of ESMEs need to check a bind.
pub struct Gate {
    /// Passwords that were verified before.
    pub passwords: Arc<Passwords>,
    /// Verifies other passwords.
    verifier: Verifier,
    /// Delays for refused peers, and a limit on what is logged about them.
    pub bind_guard: BindGuard,
}

// === impl Gate ===

impl Gate {
    /// Whether `given` is the password of `system_id`, whose hash is `stored`.
    ///
    /// # Errors
    /// Too many checks wait already.
    pub async fn verify(
        &self,
        peer: IpAddr,
        system_id: String,
        stored: SecretString,
        given: Bytes,
    ) -> Result<bool, Busy> {
        let from = AskedFrom {
            origin: Origin::from(peer),
            has_failed: self.bind_guard.has_failed(peer),
        };
        self.verifier.verify(from, system_id, stored, given).await
    }
}

impl Default for Gate {
    fn default() -> Self {
        let passwords = Arc::new(Passwords::new());
        Self {
            verifier: Verifier::new(Arc::clone(&passwords)),
            passwords,
            bind_guard: BindGuard::default(),
        }
    }
}
