//! The networks of numbers that this node knows without a look-up: the table of ranges, and the cached
//! answers of the last look-ups.
//!
//! Ingest uses it for every message that needs a network, so that only numbers without a recent look-up
//! wait; the resolver fills it.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use arc_swap::ArcSwap;
use lru::LruCache;
use tokio::time::Instant;

use crate::actors::context::plan::Plan;
use crate::actors::runtime::locks::lock;
use crate::config;
use crate::domain::address;
use crate::domain::network::Table;
use crate::pb::Message;

/// The table and the cache of a node.
pub struct Networks {
    table: ArcSwap<Source>,
    cache: Mutex<Cache>,
}

/// A table and what it was read from.
#[derive(Default)]
struct Source {
    file: Option<PathBuf>,
    /// Modification time of the file.
    changed: Option<SystemTime>,
    table: Table,
}

/// Answers by number; the least recently used are dropped first.
struct Cache {
    answers: LruCache<Box<[u8]>, Answer>,
}

struct Answer {
    /// Empty: not ported.
    network: Arc<str>,
    until: Instant,
}

// === impl Networks ===

impl Default for Networks {
    fn default() -> Self {
        Self {
            table: ArcSwap::default(),
            cache: Mutex::new(Cache {
                answers: LruCache::new(NonZeroUsize::MIN),
            }),
        }
    }
}

impl Networks {
    /// Adapts table and cache to the configuration, and reads the file if it has changed. Blocks.
    /// Returns true if the table has changed.
    ///
    /// # Errors
    /// Why the file cannot be used; the table stays as it was.
    pub fn refresh(&self, config: &config::Resolver) -> Result<bool, String> {
        lock(&self.cache).resize(config.cache);
        let (before, file) = (self.table.load(), &config.table);
        let changed = file.as_deref().and_then(modified);
        // A file that is missing for a moment, because it is being replaced, counts as unchanged.
        if before.file == *file && (before.changed == changed || changed.is_none()) {
            return Ok(false);
        }
        let table = match file {
            None => Table::default(),
            Some(file) => read(file)?,
        };
        tracing::info!(prefixes = table.len(), "table of networks read");
        self.table.store(Arc::new(Source {
            file: file.clone(),
            changed,
            table,
        }));
        Ok(true)
    }

    /// Sets the network of a message; false if it must be looked up first.
    pub fn tell(&self, plan: &Plan, message: &mut Message) -> bool {
        if plan.config.resolver.url.is_none() {
            message.network = self.of_range(&message.destination);
            return true;
        }
        let Some(network) = self.cached(&message.destination) else {
            return false;
        };
        message.network = self.settle(&network, &message.destination);
        true
    }

    /// The network for an answer: the network in it, or that of the range for a number that is not
    /// ported. Empty if that is unknown, too.
    pub fn settle(&self, answer: &str, destination: &[u8]) -> String {
        match answer.is_empty() {
            true => self.of_range(destination),
            false => answer.to_owned(),
        }
    }

    /// The network whose range a number is in; empty if the table has none.
    pub fn of_range(&self, destination: &[u8]) -> String {
        let source = self.table.load();
        let network = source.table.network_of(destination);
        network.unwrap_or_default().to_owned()
    }

    /// The cached answer for a number: its network, or an empty text.
    pub fn cached(&self, destination: &[u8]) -> Option<Arc<str>> {
        lock(&self.cache).get(address::normalise(destination), Instant::now())
    }

    /// Caches an answer for `life`.
    pub fn keep(&self, destination: &[u8], network: &Arc<str>, life: Duration) {
        let until = Instant::now() + life;
        lock(&self.cache).put(address::normalise(destination), Arc::clone(network), until);
    }

    /// Drops the cached answer for a number.
    pub fn forget(&self, destination: &[u8]) {
        let number = address::normalise(destination);
        lock(&self.cache).answers.pop(number);
    }
}

fn modified(file: &Path) -> Option<SystemTime> {
    std::fs::metadata(file).ok()?.modified().ok()
}

fn read(file: &Path) -> Result<Table, String> {
    let why = |error: &dyn std::fmt::Display| format!("{}: {error}", file.display());
    let text = std::fs::read_to_string(file).map_err(|error| why(&error))?;
    Table::parse(&text).map_err(|error| why(&error))
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
            return Some(Arc::clone(&answer.network));
        }
        self.answers.pop(number);
        None
    }

    fn put(&mut self, number: &[u8], network: Arc<str>, until: Instant) {
        self.answers.put(number.into(), Answer { network, until });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn configured(cache: usize, table: Option<PathBuf>) -> config::Resolver {
        config::Resolver {
            cache,
            table,
            ..config::Resolver::default()
        }
    }

    #[tokio::test(start_paused = true)]
    async fn answers_count_for_their_time_and_the_least_used_goes_first() {
        let networks = Networks::default();
        networks.refresh(&configured(2, None)).unwrap();
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
        networks.forget(b"444");
        assert_eq!(networks.cached(b"444"), None);
        tokio::time::advance(long).await;
        assert_eq!(networks.cached(b"441"), None);
    }

    #[test]
    fn a_wrong_file_leaves_the_table_as_it_was() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("networks.csv");
        let networks = Networks::default();
        let config = configured(10, Some(file.clone()));
        assert!(networks.refresh(&config).is_err(), "there is none");
        std::fs::write(&file, "44,23410\n").unwrap();
        assert_eq!(networks.refresh(&config), Ok(true));
        assert_eq!(networks.refresh(&config), Ok(false), "read once");
        assert_eq!(networks.of_range(b"447700"), "23410");
        assert_eq!(networks.settle("23415", b"447700"), "23415");
        assert_eq!(networks.settle("", b"447700"), "23410");
        std::fs::write(&file, "12x,1").unwrap();
        let later = SystemTime::UNIX_EPOCH + Duration::from_secs(4_000_000_000);
        let open = std::fs::File::options().write(true).open(&file).unwrap();
        open.set_modified(later).unwrap();
        let said = networks.refresh(&config).unwrap_err();
        assert!(said.contains("networks.csv: line 1"), "{said}");
        assert_eq!(networks.of_range(b"447700"), "23410");
        assert_eq!(networks.refresh(&configured(10, None)), Ok(true));
        assert_eq!(networks.of_range(b"447700"), "");
    }
}
