//! Who may use the HTTP API of accounts: the API keys of the store, kept in memory.
//!
//! The HTTP side asks [`KnownApiKeys::bearer`] for every request; the Admin actor reads the keys again as often as the
//! tokens of the admin API, and the store is asked about a key that is newer. Keeps true that a key that is not in
//! the store, has ended, or comes from another address opens nothing.

use std::net::IpAddr;
use std::sync::Arc;

use super::known::{Known, NotSaid, Secret, new_secret};
use crate::actors::context::NodeContext;
use crate::domain::access::KeyRole;
use crate::domain::allow::{AllowList, NotANetwork};
use crate::store::access::HASH;
use crate::store::keys::ApiKeyRow;
use crate::store::{Store, StoreError};

/// What every key begins with.
const PREFIX: &str = "smsck_";

/// A key of the store, ready to be compared with.
pub struct KnownApiKey {
    row: ApiKeyRow,
    /// Whence it may be used. What cannot be read allows nobody: a newer release may know more notations.
    allow: Result<AllowList, NotANetwork>,
}

/// The keys that this node knows.
#[derive(Default)]
pub struct KnownApiKeys {
    known: Known<KnownApiKey>,
}

/// Why a key opens nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyRefusal {
    /// There is no such key, or it has ended.
    Unknown,
    /// It may not be used from there.
    Address,
    /// The store did not say whether there is such a key.
    NotSaid,
}

// === impl KnownApiKey ===

impl KnownApiKey {
    pub fn id(&self) -> &str {
        &self.row.id
    }

    /// system_id of the account.
    pub fn account(&self) -> &str {
        &self.row.account
    }

    pub fn role(&self) -> KeyRole {
        self.row.role
    }
}

impl From<ApiKeyRow> for KnownApiKey {
    fn from(row: ApiKeyRow) -> Self {
        Self {
            allow: AllowList::parse(&row.allow),
            row,
        }
    }
}

impl Secret for KnownApiKey {
    fn name(&self) -> &str {
        &self.row.id
    }

    fn hash(&self) -> [u8; HASH] {
        self.row.hash
    }

    fn expires_at(&self) -> i64 {
        self.row.expires_at
    }

    fn used_at(&self) -> i64 {
        self.row.used_at
    }
}

// === impl KnownApiKeys ===

impl KnownApiKeys {
    /// The key that this is. The store of `node` is asked about one that is not known yet.
    ///
    /// # Errors
    /// Why it opens nothing.
    pub async fn bearer<'n>(
        &self,
        secret: &[u8],
        from: Option<IpAddr>,
        now: i64,
        node: impl FnOnce() -> Option<&'n NodeContext>,
    ) -> Result<Arc<KnownApiKey>, KeyRefusal> {
        let ask = |hash| {
            let answer = node()?.store.api_key_of(hash);
            Some(async { Ok(answer.await?.map(KnownApiKey::from)) })
        };
        let key = self.known.find(secret, now, ask).await?;
        let key = key.ok_or(KeyRefusal::Unknown)?;
        let is_allowed = |allow: &AllowList| from.is_some_and(|from| allow.allows(from));
        if !key.allow.as_ref().is_ok_and(is_allowed) {
            return Err(KeyRefusal::Address);
        }
        self.known.is_used(&key, now);
        Ok(key)
    }

    /// Reads the keys again, and writes down when they were used.
    ///
    /// # Errors
    /// The store does not answer; what was known stays known.
    pub async fn refresh(&self, store: &dyn Store) -> Result<(), StoreError> {
        let used = self.known.take_used();
        if !used.is_empty() {
            store.api_keys_used(used).await?;
        }
        let rows = store.api_keys().await?;
        self.known.set(rows.into_iter().map(KnownApiKey::from));
        Ok(())
    }
}

impl From<NotSaid> for KeyRefusal {
    fn from(_: NotSaid) -> Self {
        Self::NotSaid
    }
}

/// Whether this looks like a key, known or not.
pub fn is_key(secret: &[u8]) -> bool {
    secret.starts_with(PREFIX.as_bytes())
}

/// A new key, as it is said once, and its hash, as it is kept.
pub fn new_key() -> (String, [u8; HASH]) {
    new_secret(PREFIX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(hash: [u8; HASH], allow: &[&str]) -> ApiKeyRow {
        ApiKeyRow {
            id: "k1".to_owned(),
            account: "shop".to_owned(),
            label: String::new(),
            hash,
            role: KeyRole::Send,
            allow: allow.iter().map(|one| (*one).to_owned()).collect(),
            created_at: 0,
            created_by: String::new(),
            expires_at: 1_000,
            used_at: 0,
        }
    }

    #[tokio::test]
    async fn a_key_opens_from_its_addresses_until_its_end() {
        let keys = KnownApiKeys::default();
        let (secret, hash) = new_key();
        let from = |address: &str| Some(address.parse().unwrap());
        let ask = async |address: &str, now| {
            let found = keys.bearer(secret.as_bytes(), from(address), now, || None);
            found.await.map(|key| key.account().to_owned())
        };
        assert_eq!(ask("192.0.2.1", 1).await, Err(KeyRefusal::Unknown));
        keys.known
            .set([KnownApiKey::from(row(hash, &["192.0.2.0/24"]))]);
        assert_eq!(ask("192.0.2.1", 999).await, Ok("shop".to_owned()));
        assert_eq!(ask("198.51.100.1", 999).await, Err(KeyRefusal::Address));
        assert_eq!(ask("192.0.2.1", 1_000).await, Err(KeyRefusal::Unknown));
        keys.known.set([KnownApiKey::from(row(hash, &[]))]);
        assert_eq!(ask("198.51.100.1", 999).await, Ok("shop".to_owned()));
        keys.known
            .set([KnownApiKey::from(row(hash, &["from a newer release"]))]);
        assert_eq!(ask("192.0.2.1", 999).await, Err(KeyRefusal::Address));
        let later = row(hash, &[]);
        keys.known.set([KnownApiKey::from(ApiKeyRow {
            expires_at: 0,
            ..later
        })]);
        assert!(ask("192.0.2.1", 100_000).await.is_ok());
        assert_eq!(keys.known.take_used(), [("k1".to_owned(), 100_000)]);
    }
}
