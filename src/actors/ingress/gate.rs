//! Checks for connections and binds of ESMEs, and for their passwords over HTTP: passwords, and delays for those
//! that fail.
//!
//! Built once by `app` for all listeners, outbind connections and their sessions, and for the HTTP API of accounts,
//! so that they share what they know of a peer.

use std::net::IpAddr;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::future::join_all;
use secrecy::{ExposeSecret as _, SecretString};

use crate::actors::ingress::bind_guard::BindGuard;
use crate::actors::ingress::verifier::{AskedFrom, Busy, Verifier};
use crate::config::Account;
use crate::domain::account::Passwords;
use crate::domain::penalty::Origin;

/// What sessions of ESMEs need to check a bind.
pub struct Gate {
    /// Passwords that were verified before.
    passwords: Arc<Passwords>,
    /// Verifies other passwords.
    verifier: Verifier,
    /// Delays for refused peers, and a limit on what is logged about them.
    pub bind_guard: BindGuard,
}

// === impl Gate ===

impl Gate {
    /// Whether `given` is a password of the account, where that costs little to tell; otherwise [`Gate::verify`] tells.
    pub fn knows(&self, account: &Account, given: &[u8]) -> Option<bool> {
        let name = &account.system_id;
        let mut known = Some(false);
        for stored in account.passwords() {
            let stored = stored.expose_secret();
            match self.passwords.verify_cached(name, stored, given) {
                Some(true) => return Some(true),
                Some(false) => {}
                None => known = None,
            }
        }
        known
    }

    /// Whether `given` is a password of the account.
    ///
    /// # Errors
    /// Too many checks wait already.
    pub async fn verify(
        &self,
        peer: IpAddr,
        account: &Account,
        given: Bytes,
    ) -> Result<bool, Busy> {
        let from = self.asked_from(peer);
        let checks = account.passwords().map(|stored| {
            let name = account.system_id.clone();
            (self.verifier).verify(from, name, stored.clone(), given.clone())
        });
        // At the same time: how long it takes must not tell how many there are.
        let verdicts = join_all(checks).await;
        if verdicts.contains(&Ok(true)) {
            Ok(true)
        } else {
            verdicts
                .into_iter()
                .find(Result::is_err)
                .unwrap_or(Ok(false))
        }
    }

    /// Waits as long as a check of a password would take, before a refusal that needs none. `hash`: the hash of an account.
    ///
    /// # Errors
    /// Too many checks wait already.
    pub async fn pretend(&self, peer: IpAddr, hash: Option<SecretString>) -> Result<(), Busy> {
        self.verifier.pretend(self.asked_from(peer), hash).await
    }

    fn asked_from(&self, peer: IpAddr) -> AskedFrom {
        AskedFrom {
            origin: Origin::from(peer),
            has_failed: self.bind_guard.has_failed(peer),
        }
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
