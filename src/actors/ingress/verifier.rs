//! Verifies hashed passwords: one at a time per core, with a bounded queue.
//!
//! argon2id is meant to cost tens of milliseconds and megabytes. Called by the sessions of ESMEs and the HTTP API of
//! accounts for passwords that `Passwords` has not verified before. Invariants: unknown peers cannot use more than
//! the cores and their share of memory; however many origins fill the queue, one that has not failed finds a place as long
//! as others like it leave one; a hundred sessions that bind at once with one password wait for one check; and the time of an answer
//! does not tell whether an account exists.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use secrecy::{ExposeSecret, SecretString};
use tokio::sync::{Semaphore, watch};
use tokio::time::Instant;

use crate::actors::runtime::locks::lock;
use crate::domain::account::Passwords;
use crate::domain::penalty::Origin;
use crate::domain::share::FairShares;

/// Checks that may wait, per core: about two seconds.
const WAITING: usize = 64;
/// Of so many places, one is kept for origins that were not refused lately.
const KEPT: u64 = 4;
/// So many checks are remembered for how long they took.
const REMEMBERED: usize = 32;

/// A pending check: sessions with the same password and hash wait for its outcome.
type Outcome = watch::Receiver<Option<bool>>;

/// Checks passwords.
pub struct Verifier {
    passwords: Arc<Passwords>,
    cores: Arc<Semaphore>,
    /// Most checks that wait or run.
    most: u64,
    queue: Mutex<Queue>,
}

#[derive(Default)]
struct Queue {
    /// By digest of hash and password.
    checks: HashMap<[u8; 16], Outcome>,
    by_origin: FairShares<Origin>,
    /// How long the newest checks took, from the question to the answer.
    took: VecDeque<Duration>,
}

/// Where a password comes from.
#[derive(Debug, Clone, Copy)]
pub struct AskedFrom {
    pub origin: Origin,
    /// Whether somebody there was refused lately.
    pub has_failed: bool,
}

/// A check in the queue; removed when this is dropped.
struct Place<'a> {
    verifier: &'a Verifier,
    digest: [u8; 16],
    origin: Origin,
}

/// The queue is full: the password was not checked.
#[derive(Debug, PartialEq, Eq)]
pub struct Busy;

// === impl Verifier ===

impl Verifier {
    /// A verifier with as many checks at a time as there are cores.
    pub fn new(passwords: Arc<Passwords>) -> Self {
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        Self::on(passwords, cores)
    }

    fn on(passwords: Arc<Passwords>, cores: usize) -> Self {
        Self {
            passwords,
            cores: Arc::new(Semaphore::new(cores)),
            most: (cores * WAITING) as u64,
            queue: Mutex::default(),
        }
    }

    /// Whether `given` is the password of `system_id`, whose hash is `stored`.
    ///
    /// # Errors
    /// Too many checks wait already.
    pub async fn verify(
        &self,
        from: AskedFrom,
        system_id: String,
        stored: SecretString,
        given: bytes::Bytes,
    ) -> Result<bool, Busy> {
        let digest = self.passwords.digest(stored.expose_secret(), &given);
        let asked = Instant::now();
        loop {
            let (place, outcome) = match self.enter(digest, from)? {
                Entry::Own(place, outcome) => (place, outcome),
                Entry::Other(mut outcome) => {
                    let done = outcome.wait_for(Option::is_some).await;
                    if let Some(right) = done.ok().and_then(|right| *right) {
                        return Ok(right);
                    }
                    // The session that began it is gone.
                    continue;
                }
            };
            let Ok(permit) = Arc::clone(&self.cores).acquire_owned().await else {
                return Err(Busy);
            };
            let passwords = Arc::clone(&self.passwords);
            let check = tokio::task::spawn_blocking(move || {
                // Held until the check is done, even if no session waits for it any more.
                let _permit = permit;
                passwords.verify(&system_id, stored.expose_secret(), &given)
            });
            let right = check.await.unwrap_or(false);
            drop(place);
            lock(&self.queue).remember(asked.elapsed());
            let _ = outcome.send(Some(right));
            return Ok(right);
        }
    }

    /// Takes the place and the time of a check, without its work, for a refusal that needs none: the time of an answer
    /// must not tell whether there is such an account. While no check was made yet, `hash` is checked in earnest.
    ///
    /// # Errors
    /// Too many checks wait already.
    pub async fn pretend(&self, from: AskedFrom, hash: Option<SecretString>) -> Result<(), Busy> {
        let Some(took) = lock(&self.queue).recent() else {
            let Some(hash) = hash else { return Ok(()) };
            let given = bytes::Bytes::copy_from_slice(&rand::random::<[u8; 8]>());
            self.verify(from, String::new(), hash, given).await?;
            return Ok(());
        };
        let _entry = self.enter(rand::random(), from)?;
        tokio::time::sleep(took).await;
        Ok(())
    }

    fn enter(&self, digest: [u8; 16], from: AskedFrom) -> Result<Entry<'_>, Busy> {
        let mut queue = lock(&self.queue);
        if let Some(outcome) = queue.checks.get(&digest) {
            return Ok(Entry::Other(outcome.clone()));
        }
        let origin = from.origin;
        let most = if from.has_failed {
            self.most - self.most / KEPT
        } else {
            self.most
        };
        if !queue.by_origin.try_take(&origin, 1, most) {
            return Err(Busy);
        }
        let (sender, outcome) = watch::channel(None);
        queue.checks.insert(digest, outcome);
        let place = Place {
            verifier: self,
            digest,
            origin,
        };
        Ok(Entry::Own(place, sender))
    }
}

// === impl Queue ===

impl Queue {
    fn remember(&mut self, took: Duration) {
        if self.took.len() == REMEMBERED {
            self.took.pop_front();
        }
        self.took.push_back(took);
    }

    /// How long one of the newest checks took, drawn by chance.
    fn recent(&self) -> Option<Duration> {
        let one = rand::random_range(0..self.took.len().max(1));
        self.took.get(one).copied()
    }
}

/// The result of looking for a check in the queue.
enum Entry<'a> {
    /// A new place, and the sender for the outcome.
    Own(Place<'a>, watch::Sender<Option<bool>>),
    /// A check of the same password is pending.
    Other(Outcome),
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        let mut queue = lock(&self.verifier.queue);
        queue.checks.remove(&self.digest);
        queue.by_origin.give(&self.origin, 1);
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::net::IpAddr;
    use std::pin::Pin;
    use std::task::Poll;

    use argon2::{Algorithm, Argon2, Params, PasswordHasher, Version};

    use super::*;

    fn hash(password: &[u8]) -> SecretString {
        let params = Params::new(8, 1, 1, None).unwrap();
        let hash = Argon2::new(Algorithm::Argon2id, Version::V0x13, params)
            .hash_password(password)
            .unwrap();
        hash.to_string().into()
    }

    /// An address that was not refused, up to 127; or one that was.
    fn from(last: u8) -> AskedFrom {
        AskedFrom {
            origin: Origin::from(IpAddr::from([192, 0, 2, last])),
            has_failed: last > 127,
        }
    }

    type Check<'a> = Pin<Box<dyn Future<Output = Result<bool, Busy>> + 'a>>;

    /// Polls once whether it is done.
    async fn waits(check: &mut Check<'_>) -> bool {
        poll_fn(|cx| Poll::Ready(check.as_mut().poll(cx).is_pending())).await
    }

    async fn ask(
        verifier: &Verifier,
        last: u8,
        stored: &SecretString,
        given: &str,
    ) -> Result<bool, Busy> {
        let given = bytes::Bytes::copy_from_slice(given.as_bytes());
        verifier
            .verify(from(last), "a".to_owned(), stored.clone(), given)
            .await
    }

    #[tokio::test]
    async fn right_and_wrong() {
        let verifier = Verifier::on(Arc::new(Passwords::new()), 1);
        let stored = hash(b"secret");
        assert_eq!(ask(&verifier, 1, &stored, "secret").await, Ok(true));
        assert_eq!(ask(&verifier, 1, &stored, "wrong").await, Ok(false));
        let cached = verifier
            .passwords
            .verify_cached("a", stored.expose_secret(), b"secret");
        assert_eq!(cached, Some(true), "remembered for the next one");
        assert!(lock(&verifier.queue).checks.is_empty());
        assert_eq!(lock(&verifier.queue).by_origin.all(), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn what_needs_no_check_takes_as_long_as_one() {
        let verifier = Verifier::on(Arc::new(Passwords::new()), 1);
        let before = Instant::now();
        assert_eq!(verifier.pretend(from(1), None).await, Ok(()));
        assert_eq!(before.elapsed(), Duration::ZERO, "no account has a hash");
        assert_eq!(
            verifier.pretend(from(1), Some(hash(b"secret"))).await,
            Ok(())
        );
        assert_eq!(
            lock(&verifier.queue).took.len(),
            1,
            "the first is in earnest"
        );
        for milliseconds in 100..200 {
            let took = Duration::from_millis(milliseconds);
            lock(&verifier.queue).remember(took);
        }
        assert_eq!(lock(&verifier.queue).took.len(), REMEMBERED);
        let before = Instant::now();
        assert_eq!(verifier.pretend(from(1), None).await, Ok(()));
        let took = before.elapsed().as_millis();
        assert!((168..=200).contains(&took), "{took} ms");
        // Its place is like that of a check: a flood of unknown names is told the same as one of known names.
        let mut waiting: Vec<Check<'_>> = Vec::new();
        let refused = loop {
            let mut one: Check<'_> =
                Box::pin(async { verifier.pretend(from(200), None).await.map(|()| false) });
            match poll_fn(|cx| Poll::Ready(one.as_mut().poll(cx))).await {
                Poll::Pending => waiting.push(one),
                Poll::Ready(outcome) => break outcome,
            }
        };
        assert_eq!((refused, waiting.len()), (Err(Busy), 24));
        drop(waiting);
        assert_eq!(lock(&verifier.queue).by_origin.all(), 0);
    }

    #[tokio::test]
    async fn the_queue_has_an_end_and_nobody_has_all_of_it() {
        let verifier = Verifier::on(Arc::new(Passwords::new()), 1);
        let stored = hash(b"secret");
        // The test holds the cores, so no check runs.
        let cores = Arc::clone(&verifier.cores).acquire_owned().await.unwrap();
        let mut waiting: Vec<Check<'_>> = Vec::new();
        let mut fill = async |last: u8| {
            for number in 0.. {
                let given = format!("{last}-{number}");
                let (stored, verifier) = (&stored, &verifier);
                let mut check: Check<'_> =
                    Box::pin(async move { ask(verifier, last, stored, &given).await });
                match poll_fn(|cx| Poll::Ready(check.as_mut().poll(cx))).await {
                    Poll::Pending => waiting.push(check),
                    Poll::Ready(outcome) => {
                        assert_eq!(outcome, Err(Busy));
                        return number;
                    }
                }
            }
            0
        };
        // Those that were refused lately, in the order in which they come, and then others.
        let mut had = Vec::new();
        for last in (200..210).chain(1..10) {
            had.push(fill(last).await);
        }
        assert_eq!(had[..8], [24, 12, 6, 3, 2, 1, 0, 0]);
        assert_eq!(had[10..], [8, 4, 2, 1, 1, 0, 0, 0, 0]);
        assert_eq!(had.iter().sum::<usize>(), WAITING);
        // A password that is being checked already needs no place.
        let mut joined: Check<'_> = Box::pin(ask(&verifier, 99, &stored, "200-0"));
        assert!(waits(&mut joined).await);
        // A session that goes makes room; a session that has joined its check runs the check.
        drop(waiting.remove(0));
        waiting.push(joined);
        drop(cores);
        let outcomes = futures_util::future::join_all(waiting).await;
        assert!(outcomes.iter().all(|outcome| *outcome == Ok(false)));
        assert_eq!(ask(&verifier, 99, &stored, "secret").await, Ok(true));
        assert_eq!(lock(&verifier.queue).by_origin.all(), 0);
    }
}
