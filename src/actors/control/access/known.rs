//! Secrets of the store by their hashes, kept in memory, and when they were used.
//!
//! The table is read every [`REFRESH`](super::REFRESH); the store is asked about a secret that is newer. Keeps true
//! that guesses cost the store at most [`MOST_ASKED`] questions between two readings.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use arc_swap::ArcSwap;
use rand::distr::{Alphanumeric, SampleString as _};
use sha2::{Digest as _, Sha256};
use tokio::sync::OnceCell;
use tokio::time::timeout;

use crate::actors::runtime::locks::lock;
use crate::store::StoreError;
use crate::store::access::HASH;

/// How exactly it is known when a secret was used, in milliseconds.
const USED_EVERY: i64 = 60_000;
/// 256 random bits in letters and digits.
const SIGNS: usize = 43;
/// Secrets that the store is asked about between two readings; each is asked about once.
const MOST_ASKED: usize = 64;
/// The store answers by then, or a request is told that nobody knows.
const ASKED_FOR: Duration = Duration::from_secs(2);

/// A row about a secret.
pub(super) trait Secret {
    fn name(&self) -> &str;
    fn hash(&self) -> [u8; HASH];
    /// Unix milliseconds, 0 for never.
    fn expires_at(&self) -> i64;
    /// Unix milliseconds, coarse; 0 for never.
    fn used_at(&self) -> i64;
}

/// The store did not say whether there is such a secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotSaid;

/// What the store says about a secret; those who ask at once wait for one answer.
type Said<R> = Arc<OnceCell<Option<Arc<R>>>>;

/// The secrets that this node knows.
pub(super) struct Known<R> {
    by_hash: ArcSwap<HashMap<[u8; HASH], Arc<R>>>,
    /// What the store was asked about since the table was read.
    asked: Mutex<HashMap<[u8; HASH], Said<R>>>,
    used: Mutex<HashMap<String, i64>>,
}

// === impl Known ===

impl<R> Default for Known<R> {
    fn default() -> Self {
        Self {
            by_hash: ArcSwap::default(),
            asked: Mutex::default(),
            used: Mutex::default(),
        }
    }
}

impl<R: Secret> Known<R> {
    /// The row of this secret; `None` for an unknown one and one that has ended. `ask` asks the store about a secret
    /// that is not in memory, unless it gives `None`.
    ///
    /// # Errors
    /// The store did not answer.
    pub(super) async fn find<F>(
        &self,
        secret: &[u8],
        now: i64,
        ask: impl FnOnce([u8; HASH]) -> Option<F>,
    ) -> Result<Option<Arc<R>>, NotSaid>
    where
        F: Future<Output = Result<Option<R>, StoreError>>,
    {
        // Found by its hash: how long the search takes says nothing about the secret.
        let hash = hash(secret);
        if let Some(row) = self.in_memory(&hash) {
            return Ok(good(row, now));
        }
        let Some((answer, said)) = ask(hash).zip(self.place(hash)) else {
            return Ok(None);
        };
        let answer = async move { Ok(answer.await?.map(Arc::new)) };
        match timeout(ASKED_FOR, said.get_or_try_init(|| answer)).await {
            Ok(Ok(row)) => Ok(row.clone().and_then(|row| good(row, now))),
            Ok(Err(error)) => {
                let error: StoreError = error;
                tracing::warn!(%error, "the store was asked about a new key or token");
                Err(NotSaid)
            }
            Err(_) => Err(NotSaid),
        }
    }

    /// The row with this hash, unless it has ended.
    pub(super) fn of_hash(&self, hash: &[u8; HASH], now: i64) -> Option<Arc<R>> {
        good(self.in_memory(hash)?, now)
    }

    fn in_memory(&self, hash: &[u8; HASH]) -> Option<Arc<R>> {
        let read = self.by_hash.load().get(hash).map(Arc::clone);
        read.or_else(|| lock(&self.asked).get(hash)?.get()?.clone())
    }

    /// The place for the answer about a secret; `None` if too many were asked about.
    fn place(&self, hash: [u8; HASH]) -> Option<Said<R>> {
        let mut asked = lock(&self.asked);
        let is_full = asked.len() >= MOST_ASKED;
        match asked.get(&hash) {
            Some(said) => Some(Arc::clone(said)),
            None if is_full => None,
            None => Some(Arc::clone(asked.entry(hash).or_default())),
        }
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

    /// The table, as it was read.
    pub(super) fn set(&self, rows: impl IntoIterator<Item = R>) {
        let by_hash = rows.into_iter().map(|row| (row.hash(), Arc::new(row)));
        self.by_hash.store(Arc::new(by_hash.collect()));
        // Also what was found: it may be gone since. What came after the reading is asked about again.
        lock(&self.asked).clear();
    }
}

/// A row, unless it has ended.
fn good<R: Secret>(row: Arc<R>, now: i64) -> Option<Arc<R>> {
    (row.expires_at() == 0 || row.expires_at() > now).then_some(row)
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

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    struct Row([u8; HASH]);

    impl Secret for Row {
        fn name(&self) -> &str {
            "row"
        }

        fn hash(&self) -> [u8; HASH] {
            self.0
        }

        fn expires_at(&self) -> i64 {
            0
        }

        fn used_at(&self) -> i64 {
            0
        }
    }

    /// A store that has one secret, and counts questions.
    struct Kept {
        known: Known<Row>,
        secret: Cell<&'static str>,
        questions: Cell<usize>,
    }

    impl Kept {
        fn new(secret: &'static str) -> Self {
            Self {
                known: Known::default(),
                secret: Cell::new(secret),
                questions: Cell::new(0),
            }
        }

        async fn opens(&self, secret: &str) -> bool {
            let found = self.known.find(secret.as_bytes(), 1, |asked| {
                Some(async move {
                    self.questions.set(self.questions.get() + 1);
                    tokio::task::yield_now().await;
                    let is_it = asked == hash(self.secret.get().as_bytes());
                    Ok(is_it.then_some(Row(asked)))
                })
            });
            found.await.unwrap().is_some()
        }
    }

    #[tokio::test]
    async fn a_new_secret_opens_at_once_and_costs_one_question() {
        let store = Kept::new("new");
        let both = tokio::join!(store.opens("new"), store.opens("new"));
        assert_eq!(both, (true, true));
        assert!(store.opens("new").await);
        assert!(store.known.of_hash(&hash(b"new"), 1).is_some());
        assert_eq!(store.questions.get(), 1);
        store.known.set([Row(hash(b"new"))]);
        assert!(store.opens("new").await);
        assert_eq!(store.questions.get(), 1, "it is in the table now");
    }

    #[tokio::test]
    async fn a_secret_that_is_gone_opens_nothing_from_the_next_reading_on() {
        let store = Kept::new("new");
        assert!(store.opens("new").await);
        store.secret.set("another");
        store.known.set([]);
        assert!(!store.opens("new").await);
    }

    #[tokio::test]
    async fn guesses_cost_a_bounded_number_of_questions() {
        let store = Kept::new("new");
        for _ in 0..3 {
            assert!(!store.opens("wrong").await);
        }
        assert_eq!(store.questions.get(), 1, "what is wrong is remembered");
        for guess in 0..1_000 {
            assert!(!store.opens(&format!("guess {guess}")).await);
        }
        assert_eq!(store.questions.get(), MOST_ASKED);
        store.known.set([]);
        assert!(store.opens("new").await);
    }

    #[tokio::test(start_paused = true)]
    async fn a_store_that_is_away_has_not_said_no() {
        let known = Known::<Row>::default();
        let find = async |answer: Result<Option<Row>, StoreError>| {
            let found = known.find(b"new", 1, |_| Some(async { answer })).await;
            found.map(|row| row.is_some())
        };
        assert_eq!(find(Err(StoreError::Closed)).await, Err(NotSaid));
        let silent = known.find(b"new", 1, |_| Some(std::future::pending()));
        assert!(silent.await.is_err());
        assert_eq!(find(Ok(Some(Row(hash(b"new"))))).await, Ok(true));
    }
}
