//! Accounts that log in over HTTP with their system_id and password, as they bind over SMPP.
//!
//! By the same [`Gate`](crate::actors::ingress::gate::Gate) as binds: a hash is verified once and remembered until
//! it changes, and refusals of both are counted and delayed together.

use std::net::IpAddr;
use std::sync::Arc;

use bytes::Bytes;

use super::AccountApi;
use crate::actors::context::plan::AccountPlan;
use crate::actors::ingress::bind_guard::BindRefusal;
use crate::actors::ingress::verifier::Busy;

/// Characters of a name in the log: more than any account has.
const LONGEST_NAME: usize = 32;

/// Why somebody is not logged in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotIn {
    /// Name, password or address are not those of an account.
    Refused,
    /// Too many passwords wait to be checked: nobody knows whether this one is right.
    Busy,
}

// === impl AccountApi ===

impl AccountApi {
    /// The account with this system_id and password, if it may come from there without a client certificate. A
    /// refusal is returned after the delay that a refused bind has.
    ///
    /// # Errors
    /// It is not logged in.
    pub async fn login(
        &self,
        peer: IpAddr,
        system_id: &str,
        password: Bytes,
    ) -> Result<Arc<AccountPlan>, NotIn> {
        let checked = match self.admissible(peer, system_id) {
            Err(why) => self.pretend(peer).await.map(|()| Err(why)),
            Ok(account) => {
                let right = self.has_password(peer, &account, password).await;
                right.map(|right| right.then_some(account).ok_or(BindRefusal::Password))
            }
        };
        match checked {
            Ok(Ok(account)) => {
                self.gate.bind_guard.forgive(peer, system_id.as_bytes());
                Ok(account)
            }
            Ok(Err(why)) => Err(self.turn_away(peer, system_id, why.text()).await),
            Err(Busy) => {
                let smpp = &self.node().config().smpp;
                tokio::time::sleep(self.gate.bind_guard.no_room(smpp, peer)).await;
                Err(NotIn::Busy)
            }
        }
    }

    /// Counts a refusal, and returns it after its delay. `why`: for the log.
    pub async fn turn_away(&self, peer: IpAddr, system_id: &str, why: &str) -> NotIn {
        let door = &self.gate.bind_guard;
        let delay = door.refuse(&self.node().config().smpp, peer, system_id.as_bytes());
        if door.may_log(peer) {
            let delay_ms = delay.as_millis() as u64;
            // HTTP does not limit what is said instead of a name.
            let system_id: String = system_id.chars().take(LONGEST_NAME).collect();
            tracing::warn!(%system_id, %peer, delay_ms, "login over HTTP refused: {why}");
        }
        tokio::time::sleep(delay).await;
        NotIn::Refused
    }

    fn admissible(&self, peer: IpAddr, system_id: &str) -> Result<Arc<AccountPlan>, BindRefusal> {
        let account = self.account(system_id).ok_or(BindRefusal::Unknown)?;
        if !account.allow.allows(peer) {
            return Err(BindRefusal::Address);
        }
        // A password alone does not open what needs a certificate beside it.
        if !account.config.certificates.is_empty() {
            return Err(BindRefusal::Certificate);
        }
        Ok(account)
    }

    async fn has_password(
        &self,
        peer: IpAddr,
        account: &AccountPlan,
        given: Bytes,
    ) -> Result<bool, Busy> {
        if let Some(known) = self.gate.knows(&account.config, &given) {
            if !known {
                self.pretend(peer).await?;
            }
            return Ok(known);
        }
        self.gate.verify(peer, &account.config, given).await
    }

    /// Takes as long as the check of a password, where none is checked: the time must not tell whether there is such an
    /// account.
    async fn pretend(&self, peer: IpAddr) -> Result<(), Busy> {
        let hash = self.node().full_plan().any_password_hash.clone();
        self.gate.pretend(peer, hash).await
    }
}
