//! What connections and binds of ESMEs pass: checks of passwords, and penalties for who fails them.
//!
//! Built once by `app` for all listeners, outbind connections and their sessions, so that what one of them
//! has seen of a peer counts for all.

use std::sync::Arc;

use crate::actors::ingress::bind_guard::BindGuard;
use crate::actors::ingress::verifier::Verifier;
use crate::domain::account::Passwords;

/// What the sessions of ESMEs are let in by.
pub struct Gate {
    /// What is known of passwords without a check.
    pub passwords: Arc<Passwords>,
    /// Checks the others.
    pub verifier: Verifier,
    /// Delays for who was refused, and a limit of what is logged about it.
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
