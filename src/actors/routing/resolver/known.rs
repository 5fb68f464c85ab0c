//! What this node knows about numbers without a look-up: a table, and the cached answers of the last
//! look-ups.
//!
//! Ingest uses it for every message that needs an answer, so that only numbers without a recent look-up
//! wait; the resolver fills it. Answers are also shared by nodes, in Redis.

use std::collections::HashSet;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, SystemTime};

use arc_swap::ArcSwap;
use lru::LruCache;
use tokio::time::Instant;

use super::question::{ImsiQuestion, LookUpQuestion, NetworkQuestion};
use crate::actors::context::NodeContext;
use crate::actors::context::plan::Plan;
use crate::actors::context::remote_command;
use crate::actors::runtime::locks::lock;
use crate::domain::address;
use crate::pb::order::What;
use crate::pb::{ForgetLookups, Message, Refusal};
use crate::store::redis::{KnownAnswer, Redis};

/// Numbers that may wait to be looked up anew; more keep their answer until it expires.
const DOUBTED: usize = 10_000;

/// The networks of numbers.
pub type Networks = KnownAnswers<NetworkQuestion>;
/// The IMSIs of numbers.
pub type Imsis = KnownAnswers<ImsiQuestion>;

/// The table and the cache of a node for one question.
pub struct KnownAnswers<Q: LookUpQuestion> {
    table: ArcSwap<TableSource<Q::Table>>,
    cache: Mutex<Cache>,
    redis: OnceLock<Arc<Redis>>,
    /// Numbers whose answer has turned out to be wrong.
    doubted: Mutex<HashSet<Box<[u8]>>>,
}

/// A table and what it was read from.
#[derive(Default)]
struct TableSource<T> {
    file: Option<PathBuf>,
    /// Modification time of the file.
    changed: Option<SystemTime>,
    table: T,
}

/// Answers by number; the least recently used are dropped first.
struct Cache {
    answers: LruCache<Box<[u8]>, CachedAnswer>,
}

struct CachedAnswer {
    /// Empty: nobody knew anything.
    text: Arc<str>,
    until: Instant,
}

// === impl KnownAnswers ===

impl<Q: LookUpQuestion> Default for KnownAnswers<Q> {
    fn default() -> Self {
        Self {
            table: ArcSwap::default(),
            cache: Mutex::new(Cache {
                answers: LruCache::new(NonZeroUsize::MIN),
            }),
            redis: OnceLock::new(),
            doubted: Mutex::default(),
        }
    }
}

impl<Q: LookUpQuestion> KnownAnswers<Q> {
    /// Shares answers with other nodes from now on.
    pub fn share(&self, redis: Arc<Redis>) {
        let _ = self.redis.set(redis);
    }

    /// Adapts table and cache to the configuration, and reads the file if it has changed. Blocks.
    /// Returns true if the table has changed.
    ///
    /// # Errors
    /// Why the file cannot be used; the table stays as it was.
    pub fn refresh(&self, cache: usize, file: Option<&Path>) -> Result<bool, String> {
        lock(&self.cache).resize(cache);
        let before = self.table.load();
        let changed = file.and_then(modified);
        // A file that is missing for a moment, because it is being replaced, counts as unchanged.
        if before.file.as_deref() == file && (before.changed == changed || changed.is_none()) {
            return Ok(false);
        }
        let (table, lines) = match file {
            None => (Q::Table::default(), 0),
            Some(file) => read::<Q>(file)?,
        };
        tracing::info!(question = Q::NAME, lines, "table of numbers read");
        self.table.store(Arc::new(TableSource {
            file: file.map(Path::to_owned),
            changed,
            table,
        }));
        Ok(true)
    }

    /// What is known about a number without asking: an empty text when nobody knows anything, `None` when
    /// it must be looked up first.
    pub fn look(&self, plan: &Plan, destination: &[u8]) -> Option<String> {
        if Q::TABLE_FIRST
            && let Some(found) = self.in_table(destination)
        {
            return Some(found);
        }
        if !Q::has_source(&plan.config) {
            return Some(self.settle("", destination));
        }
        let answer = self.cached(destination)?;
        Some(self.settle(&answer, destination))
    }

    /// Whether what is known about a number comes from the table alone, as on every node.
    pub fn is_fixed(&self, plan: &Plan, destination: &[u8]) -> bool {
        !Q::has_source(&plan.config) || (Q::TABLE_FIRST && self.in_table(destination).is_some())
    }

    /// The answer for a message: what a source has said, or the table if it knew nothing. Empty if that
    /// does not know it either.
    pub fn settle(&self, answer: &str, destination: &[u8]) -> String {
        if answer.is_empty() {
            self.in_table(destination).unwrap_or_default()
        } else {
            answer.to_owned()
        }
    }

    /// What the table says about a number.
    pub fn in_table(&self, destination: &[u8]) -> Option<String> {
        Q::in_table(&self.table.load().table, destination)
    }

    /// The cached answer for a number, or an empty text.
    pub fn cached(&self, destination: &[u8]) -> Option<Arc<str>> {
        lock(&self.cache).get(address::normalise(destination), Instant::now())
    }

    /// How many answers are cached, those included whose time is over.
    pub fn cached_count(&self) -> usize {
        lock(&self.cache).answers.len()
    }

    /// Caches an answer for `life`.
    pub fn keep(&self, destination: &[u8], answer: &Arc<str>, life: Duration) {
        let until = Instant::now() + life;
        lock(&self.cache).put(address::normalise(destination), Arc::clone(answer), until);
    }

    /// The answer for a number has turned out to be wrong: the resolver forgets it on all nodes and looks the number up
    /// anew, so that the next attempt finds the new one.
    pub fn doubt(&self, destination: &[u8]) {
        let mut doubted = lock(&self.doubted);
        if doubted.len() < DOUBTED {
            doubted.insert(address::normalise(destination).into());
        }
    }

    /// Takes the numbers to be looked up anew.
    pub(super) fn take_doubted(&self) -> HashSet<Box<[u8]>> {
        std::mem::take(&mut lock(&self.doubted))
    }

    /// Drops the cached answer for a number on this node, or all of them; returns how many there were.
    pub fn forget(&self, destination: Option<&[u8]>) -> usize {
        let mut cache = lock(&self.cache);
        match destination.map(address::normalise) {
            Some(number) => usize::from(cache.answers.pop(number).is_some()),
            None => {
                let count = cache.answers.len();
                cache.answers.clear();
                count
            }
        }
    }

    /// Drops the cached answer for a number, or all of them, on this node, in Redis and on the other
    /// nodes; returns how many this node had.
    ///
    /// # Errors
    /// The other nodes cannot be told.
    pub async fn forget_everywhere(
        &self,
        node: &NodeContext,
        destination: Option<&[u8]>,
    ) -> Result<usize, Refusal> {
        let count = self.forget(destination);
        self.forget_elsewhere(node, destination).await?;
        Ok(count)
    }

    /// Forgets answers in Redis and on the other nodes, all of them or those about a destination.
    pub(super) async fn forget_elsewhere(
        &self,
        node: &NodeContext,
        destination: Option<&[u8]>,
    ) -> Result<(), Refusal> {
        let number = destination.map(address::normalise);
        if let Some(redis) = self.redis.get() {
            let forgotten = match number {
                Some(number) => redis.forget_answer(Q::NAME, number).await,
                None => redis.forget_answers(Q::NAME).await,
            };
            if let Err(error) = forgotten {
                tracing::warn!(%error, question = Q::NAME, "answers are not forgotten in Redis; they expire by themselves");
            }
        }
        let order = ForgetLookups {
            question: Q::PROTO.into(),
            msisdn: String::from_utf8_lossy(number.unwrap_or_default()).into_owned(),
            ..ForgetLookups::default()
        };
        remote_command::to_others(node, What::ForgetLookups(order)).await?;
        Ok(())
    }

    /// Answers that other nodes have shared, in the order of the numbers; empty without Redis.
    pub(super) async fn shared(&self, numbers: &[Box<[u8]>]) -> Vec<Option<KnownAnswer>> {
        match self.redis.get().filter(|redis| redis.is_up()) {
            // Without Redis all numbers are looked up: slower, but otherwise the same.
            Some(redis) => redis.answers(Q::NAME, numbers).await.unwrap_or_default(),
            None => Vec::new(),
        }
    }

    /// Whether other nodes' answers can be read now.
    pub(super) fn is_shared(&self) -> bool {
        self.redis.get().is_some_and(|redis| redis.is_up())
    }

    /// Gives an answer to the other nodes, and to this one after a restart.
    pub(super) async fn share_answer(&self, number: &[u8], answer: &str, life: Duration) {
        if let Some(redis) = self.redis.get() {
            // The client has logged that Redis is unreachable.
            let _ = redis.keep_answer(Q::NAME, number, answer, life).await;
        }
    }
}

impl Networks {
    /// Sets the network of a message; false if it must be looked up first.
    pub fn tell(&self, plan: &Plan, message: &mut Message) -> bool {
        match self.look(plan, &message.destination) {
            Some(network) => {
                message.network = network;
                true
            }
            None => false,
        }
    }
}

impl Imsis {
    /// Sets the IMSI of a message; false if it is not known and the message has to wait for it, or to end
    /// because nobody has the number.
    pub fn tell(&self, plan: &Plan, message: &mut Message) -> bool {
        message.imsi = self.look(plan, &message.destination).unwrap_or_default();
        !message.imsi.is_empty()
    }
}

fn modified(file: &Path) -> Option<SystemTime> {
    std::fs::metadata(file).ok()?.modified().ok()
}

fn read<Q: LookUpQuestion>(file: &Path) -> Result<(Q::Table, usize), String> {
    let why = |error: &dyn std::fmt::Display| format!("{}: {error}", file.display());
    let text = std::fs::read_to_string(file).map_err(|error| why(&error))?;
    Q::read(&text).map_err(|error| why(&error))
}

// === impl Cache ===

impl Cache {
    fn resize(&mut self, most: usize) {
        let most = NonZeroUsize::new(most).unwrap_or(NonZeroUsize::MIN);
        if self.answers.cap() != most {
            self.answers.resize(most);
        }
    }

    fn get(&mut self, number: &[u8], now: Instant) -> Option<Arc<str>> {
        let answer = self.answers.get(number)?;
        if answer.until > now {
            return Some(Arc::clone(&answer.text));
        }
        self.answers.pop(number);
        None
    }

    fn put(&mut self, number: &[u8], text: Arc<str>, until: Instant) {
        self.answers
            .put(number.into(), CachedAnswer { text, until });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn answers_count_for_their_time_and_the_least_used_goes_first() {
        let networks = Networks::default();
        networks.refresh(2, None).unwrap();
        let (short, long) = (Duration::from_secs(5), Duration::from_secs(60));
        let network: Arc<str> = "23415".into();
        networks.keep(b"+441", &network, long);
        networks.keep(b"442", &"".into(), short);
        assert_eq!(networks.cached(b"441").as_deref(), Some("23415"));
        assert_eq!(networks.cached(b"442").as_deref(), Some(""));
        tokio::time::advance(short).await;
        assert_eq!(networks.cached(b"442"), None);
        networks.keep(b"443", &network, long);
        assert!(networks.cached(b"441").is_some());
        networks.keep(b"444", &network, long);
        assert_eq!(networks.cached(b"443"), None, "used least");
        assert_eq!(networks.forget(Some(b"+444")), 1);
        assert_eq!(networks.cached(b"444"), None);
        tokio::time::advance(long).await;
        assert_eq!(networks.cached(b"441"), None);
        networks.keep(b"445", &network, long);
        assert_eq!((networks.forget(None), networks.cached_count()), (1, 0));
    }

    #[test]
    fn a_wrong_file_leaves_the_table_as_it_was() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("networks.csv");
        let networks = Networks::default();
        let refresh = || networks.refresh(10, Some(&file));
        assert!(refresh().is_err(), "there is none");
        std::fs::write(&file, "44,23410\n").unwrap();
        assert_eq!(refresh(), Ok(true));
        assert_eq!(refresh(), Ok(false), "read once");
        assert_eq!(networks.in_table(b"447700").as_deref(), Some("23410"));
        assert_eq!(networks.settle("23415", b"447700"), "23415");
        assert_eq!(networks.settle("", b"447700"), "23410");
        std::fs::write(&file, "12x,1").unwrap();
        let later = SystemTime::UNIX_EPOCH + Duration::from_secs(4_000_000_000);
        let open = std::fs::File::options().write(true).open(&file).unwrap();
        open.set_modified(later).unwrap();
        let said = refresh().unwrap_err();
        assert!(said.contains("networks.csv: line 1"), "{said}");
        assert_eq!(networks.in_table(b"447700").as_deref(), Some("23410"));
        assert_eq!(networks.refresh(10, None), Ok(true));
        assert_eq!(networks.in_table(b"447700"), None);
    }
}
