//! Secrets of the store by their hashes, kept in memory, and when they were used.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use arc_swap::ArcSwap;
use rand::distr::{Alphanumeric, SampleString as _};
use sha2::{Digest as _, Sha256};

use crate::actors::runtime::locks::lock;
use crate::store::access::HASH;

/// How exactly it is known when a secret was used, in milliseconds.
const USED_EVERY: i64 = 60_000;
/// 256 random bits in letters and digits.
const SIGNS: usize = 43;

/// A row about a secret.
pub(super) trait Secret {
    fn name(&self) -> &str;
    fn hash(&self) -> [u8; HASH];
    /// Unix milliseconds, 0 for never.
    fn expires_at(&self) -> i64;
    /// Unix milliseconds, coarse; 0 for never.
    fn used_at(&self) -> i64;
}

/// The secrets that this node knows.
pub(super) struct Known<R> {
    by_hash: ArcSwap<HashMap<[u8; HASH], Arc<R>>>,
    used: Mutex<HashMap<String, i64>>,
}

// === impl Known ===

impl<R> Default for Known<R> {
    fn default() -> Self {
        Self {
            by_hash: ArcSwap::default(),
            used: Mutex::default(),
        }
    }
}

impl<R: Secret> Known<R> {
    /// The row of this secret; `None` for an unknown one and one that has ended.
    pub(super) fn find(&self, secret: &[u8], now: i64) -> Option<Arc<R>> {
        // Found by its hash: how long the search takes says nothing about the secret.
        self.of_hash(&hash(secret), now)
    }

    /// The row with this hash, unless it has ended.
    pub(super) fn of_hash(&self, hash: &[u8; HASH], now: i64) -> Option<Arc<R>> {
        let row = Arc::clone(self.by_hash.load().get(hash)?);
        (row.expires_at() == 0 || row.expires_at() > now).then_some(row)
    }

    /// Notes that a secret is used.
    pub(super) fn is_used(&self, row: &R, now: i64) {
        if now - row.used_at() >= USED_EVERY {
            lock(&self.used).insert(row.name().to_owned(), now);
        }
    }

    /// When secrets were used, by their names, since the last call.
    pub(super) fn take_used(&self) -> Vec<(String, i64)> {
        lock(&self.used).drain().collect()
    }

    pub(super) fn set(&self, rows: impl IntoIterator<Item = R>) {
        let by_hash = rows.into_iter().map(|row| (row.hash(), Arc::new(row)));
        self.by_hash.store(Arc::new(by_hash.collect()));
    }
}

/// A new secret, as it is said once, and its hash, as it is kept. People and scanners for leaked secrets know it
/// by its prefix.
pub(super) fn new_secret(prefix: &str) -> (String, [u8; HASH]) {
    let random = Alphanumeric.sample_string(&mut rand::rng(), SIGNS);
    let secret = format!("{prefix}{random}");
    let hash = hash(secret.as_bytes());
    (secret, hash)
}

/// One round is enough: there is nothing to guess about 256 random bits.
fn hash(secret: &[u8]) -> [u8; HASH] {
    Sha256::digest(secret).into()
}
