//! Checks for connections and binds of ESMEs, and for their passwords over HTTP: passwords, and delays for those
//! that fail.
//!
//! Built once by `app` for all listeners, outbind connections and their sessions, and for the HTTP API of accounts,
//! so that they share what they know of a peer.

use std::sync::Arc;

use crate::actors::ingress::bind_guard::BindGuard;
use crate::actors::ingress::verifier::Verifier;
use crate::domain::account::Passwords;

/// What sessions of ESMEs need to check a bind.
pub struct Gate {
    /// Passwords that were verified before.
    pub passwords: Arc<Passwords>,
    /// Verifies other passwords.
    pub verifier: Verifier,
    /// Delays for refused peers, and a limit on what is logged about them.
    pub bind_guard: BindGuard,
}

// === impl Gate ===

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
