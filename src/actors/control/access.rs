//! Authentication over HTTP: the tokens of the admin API and the API keys of accounts, cached in memory, and
//! when they were used.
//!
//! The HTTP side calls [`Access::bearer`] for every request. The Admin actor reads the store again
//! every [`REFRESH`], so that changes of other nodes are known by then, and stores when they were used. The store is
//! asked about what is newer, so that a token opens every node as soon as it is made.
//! Invariant: a token that is not in the store, or has expired, is refused.

pub mod keys;
mod known;

use std::time::Duration;

use self::keys::KnownApiKeys;
pub use self::known::NotSaid;
use self::known::{Known, Secret, new_secret};
use crate::actors::context::NodeContext;
use crate::domain::access::AccessRole;
use crate::store::access::{HASH, TokenRow};
use crate::store::{Store, StoreError};

/// How often the tokens are read again.
pub const REFRESH: Duration = Duration::from_secs(2);
/// Prefix of every token, so that people and scanners for leaked secrets recognise it.
const PREFIX: &str = "smsc_";

/// The holder of a valid token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bearer {
    /// The name of the token.
    pub name: String,
    pub role: AccessRole,
    /// Which token of this name; `None` for the configured one, which is not in the store.
    pub hash: Option<[u8; HASH]>,
}

/// The tokens that this node knows.
#[derive(Default)]
pub struct Access {
    known: Known<TokenRow>,
    /// Who may use the HTTP API of accounts.
    pub api_keys: KnownApiKeys,
}

// === impl Access ===

impl Access {
    /// The holder of a token; `None` for an unknown or expired one. The store of `node` is asked about one that is
    /// not known yet.
    ///
    /// # Errors
    /// The store did not answer.
    pub async fn bearer<'n>(
        &self,
        token: &[u8],
        now: i64,
        node: impl FnOnce() -> Option<&'n NodeContext>,
    ) -> Result<Option<Bearer>, NotSaid> {
        let ask = |hash| Some(node()?.store.token_of(hash));
        let row = self.known.find(token, now, ask).await?;
        Ok(row.map(|row| {
            self.known.is_used(&row, now);
            Bearer {
                name: row.name.clone(),
                role: row.role,
                hash: Some(row.hash),
            }
        }))
    }

    /// Whether a token is still valid: it was neither removed nor has it expired.
    pub fn is_still_good(&self, bearer: &Bearer, now: i64) -> bool {
        let row = bearer.hash.map(|hash| self.known.of_hash(&hash, now));
        row.is_none_or(|row| row.is_some())
    }

    /// Reads tokens and API keys again, and stores when they were used.
    ///
    /// # Errors
    /// The store does not answer; what is known stays valid.
    pub async fn refresh(&self, store: &dyn Store) -> Result<(), StoreError> {
        let used = self.known.take_used();
        if !used.is_empty() {
            store.tokens_used(used).await?;
        }
        self.known.set(store.tokens().await?);
        self.api_keys.refresh(store).await
    }
}

impl Secret for TokenRow {
    fn name(&self) -> &str {
        &self.name
    }

    fn hash(&self) -> [u8; HASH] {
        self.hash
    }

    fn expires_at(&self) -> i64 {
        self.expires_at
    }

    fn used_at(&self) -> i64 {
        self.used_at
    }
}

/// A new token, as it is shown once, and its hash, as it is stored.
pub fn new_token() -> (String, [u8; HASH]) {
    new_secret(PREFIX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(name: &str, hash: [u8; HASH], expires_at: i64) -> TokenRow {
        TokenRow {
            name: name.to_owned(),
            hash,
            role: AccessRole::Operate,
            created_at: 0,
            created_by: String::new(),
            expires_at,
            used_at: 0,
        }
    }

    #[tokio::test]
    async fn a_token_opens_until_its_end() {
        let access = Access::default();
        let (token, hash) = new_token();
        let ask = async |token: &str, now| {
            let known = access.bearer(token.as_bytes(), now, || None);
            known.await.unwrap()
        };
        assert_eq!(ask(&token, 1).await, None);
        access.known.set([row("ci", hash, 1_000)]);
        let bearer = ask(&token, 999).await.unwrap();
        assert_eq!(
            (bearer.name.as_str(), bearer.role),
            ("ci", AccessRole::Operate)
        );
        assert!(access.is_still_good(&bearer, 999) && !access.is_still_good(&bearer, 1_000));
        assert_eq!(ask(&token, 1_000).await, None);
        assert_eq!(ask("smsc_another", 1).await, None);
        access.known.set([]);
        assert!(!access.is_still_good(&bearer, 1), "it was removed");
        let configured = Bearer {
            hash: None,
            ..bearer
        };
        assert!(access.is_still_good(&configured, 1));
    }

    #[test]
    fn no_two_tokens_are_the_same() {
        let (one, other) = (new_token(), new_token());
        assert_ne!(one, other);
        assert!(one.0.starts_with(PREFIX) && one.0.len() > PREFIX.len() + 40);
    }
}
