//! The login of a client, which the relay hands to the session beside the bind: a bind has no room for a proof. Called
//! by [`super::relay`] when it has come, and by the session when it checks who binds.

use std::sync::{Arc, OnceLock};

use crate::cmpp::bodies::Connect;
use crate::cmpp::proof;
use crate::domain::certificate::Shown;

/// What the session of a client must know that is not in its SMPP.
pub struct Relayed {
    pub login: Arc<Login>,
    /// What the client has shown, where its listener demands a certificate.
    pub certificate: Option<Shown>,
}

/// The login of a client, once it has come.
#[derive(Default)]
pub struct Login(pub(super) OnceLock<Connect>);

// === impl Login ===

impl Login {
    /// Whether the client has proven that it knows this secret (CMPP §8.4.1.1); nobody can prove an empty one.
    pub fn proves(&self, secret: &str) -> bool {
        let connect = self.0.get().filter(|_| !secret.is_empty());
        connect.is_some_and(|connect| {
            let source = &connect.source_addr.0;
            connect.authenticator_source == proof(source, secret.as_bytes(), connect.timestamp)
        })
    }
}
