//! Authentication for the admin API: the tokens of the store, cached in memory, and when they were
//! used.
//!
//! The HTTP side calls [`Access::bearer`] for every request. The Admin actor reads the tokens again
//! every [`REFRESH`], so that changes of other nodes are known by then, and stores when they were used.
//! Invariant: a token that is not in the store, or has expired, is refused.

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::Duration;

use arc_swap::ArcSwap;
use rand::distr::{Alphanumeric, SampleString as _};
use sha2::{Digest as _, Sha256};

use crate::actors::runtime::locks::lock;
use crate::domain::access::Role;
use crate::store::StoreError;
use crate::store::access::{AccessStore, HASH, TokenRow};

/// How often the tokens are read again.
pub const REFRESH: Duration = Duration::from_secs(2);
/// Precision of the stored time of use, in milliseconds.
const USED_EVERY: i64 = 60_000;
/// Prefix of every token, so that people and scanners for leaked secrets recognise it.
const PREFIX: &str = "smsc_";
/// 256 random bits in letters and digits.
const SIGNS: usize = 43;

/// The holder of a valid token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bearer {
    /// The name of the token.
    pub name: String,
    pub role: Role,
    /// Which token of this name; `None` for the configured one, which is not in the store.
    pub hash: Option<[u8; HASH]>,
}

/// The tokens that this node knows.
#[derive(Default)]
pub struct Access {
    by_hash: ArcSwap<HashMap<[u8; HASH], TokenRow>>,
    used: Mutex<HashMap<String, i64>>,
}

// === impl Access ===

impl Access {
    /// The holder of a token; `None` for an unknown or expired one.
    pub fn bearer(&self, token: &[u8], now: i64) -> Option<Bearer> {
        let known = self.by_hash.load();
        // Looked up by its hash, so the duration of the search reveals nothing about the token.
        let row = known.get(&hash(token))?;
        if row.expires_at != 0 && row.expires_at <= now {
            return None;
        }
        if now - row.used_at >= USED_EVERY {
            lock(&self.used).insert(row.name.clone(), now);
        }
        Some(Bearer {
            name: row.name.clone(),
            role: row.role,
            hash: Some(row.hash),
        })
    }

    /// Whether a token is still valid: it was neither removed nor has it expired.
    pub fn is_still_good(&self, bearer: &Bearer, now: i64) -> bool {
        let known = self.by_hash.load();
        let row = bearer.hash.map(|hash| known.get(&hash));
        row.is_none_or(|row| row.is_some_and(|row| row.expires_at == 0 || row.expires_at > now))
    }

    /// Reads the tokens again, and stores when they were used.
    ///
    /// # Errors
    /// The store does not answer; the known tokens stay valid.
    pub async fn refresh(&self, store: &(impl AccessStore + ?Sized)) -> Result<(), StoreError> {
        let used: Vec<(String, i64)> = lock(&self.used).drain().collect();
        if !used.is_empty() {
            store.tokens_used(used).await?;
        }
        let rows = store.tokens().await?;
        let by_hash = rows.into_iter().map(|row| (row.hash, row)).collect();
        self.by_hash.store(std::sync::Arc::new(by_hash));
        Ok(())
    }
}

/// A new token, which is shown once, and its hash, which is stored.
pub fn new_token() -> (String, [u8; HASH]) {
    let secret = Alphanumeric.sample_string(&mut rand::rng(), SIGNS);
    let token = format!("{PREFIX}{secret}");
    let hash = hash(token.as_bytes());
    (token, hash)
}

/// One round suffices, because 256 random bits cannot be guessed.
fn hash(token: &[u8]) -> [u8; HASH] {
    Sha256::digest(token).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(name: &str, hash: [u8; HASH], expires_at: i64) -> TokenRow {
        TokenRow {
            name: name.to_owned(),
            hash,
            role: Role::Operate,
            created_at: 0,
            created_by: String::new(),
            expires_at,
            used_at: 0,
        }
    }

    #[test]
    fn a_token_opens_until_its_end() {
        let access = Access::default();
        let (token, hash) = new_token();
        assert_eq!(access.bearer(token.as_bytes(), 1), None);
        let known = HashMap::from([(hash, row("ci", hash, 1_000))]);
        access.by_hash.store(std::sync::Arc::new(known));
        let bearer = access.bearer(token.as_bytes(), 999).unwrap();
        assert_eq!((bearer.name.as_str(), bearer.role), ("ci", Role::Operate));
        assert!(access.is_still_good(&bearer, 999) && !access.is_still_good(&bearer, 1_000));
        assert_eq!(access.bearer(token.as_bytes(), 1_000), None);
        assert_eq!(access.bearer(b"smsc_another", 1), None);
        access.by_hash.store(std::sync::Arc::default());
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
        assert!(one.0.starts_with(PREFIX) && one.0.len() == PREFIX.len() + SIGNS);
    }
}
