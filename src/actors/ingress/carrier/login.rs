//! The login of a client, which the relay hands to the session beside the bind: a bind has no room for a proof. Called
//! by [`super::relay`] when it has come, and by the session when it checks who binds.

use std::sync::{Arc, OnceLock};

use secrecy::{ExposeSecret as _, SecretString};

use crate::cmpp::bodies::Connect;
use crate::cmpp::proof;
use crate::config::Account;
use crate::domain::certificate::ShownCertificate;

/// What the session of a client must know that is not in its SMPP.
pub struct Relayed {
    pub login: Arc<Login>,
    /// What the client has shown, where its listener demands a certificate.
    pub certificate: Option<ShownCertificate>,
}

/// The login of a client, once it has come.
#[derive(Default)]
pub struct Login(pub(super) OnceLock<Connect>);

// === impl Login ===

impl Login {
    /// The shared secret of the account that the client has proven to know (CMPP §8.4.1.1).
    pub fn proven<'a>(&self, account: &'a Account) -> Option<&'a SecretString> {
        let connect = self.0.get()?;
        let source = &connect.source_addr.0;
        account.carrier_secrets().find(|secret| {
            let secret = secret.expose_secret().as_bytes();
            connect.authenticator_source == proof(source, secret, connect.timestamp)
        })
    }
}
