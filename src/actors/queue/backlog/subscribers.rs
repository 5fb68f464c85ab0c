//! Which scheduled messages wait for which subscriber, so that all of one are found when it is there again.
//!
//! Kept by the schedule once it is wanted. The lists know no numbers, so a message that is scheduled is *unread* until
//! the queue has read it from the store: also after a restart and a take-over, without any row of its own. Invariants:
//! a message that leaves the schedule is forgotten; at most [`MOST`] are known, and the others are tried when they are due;
//! who came while messages were unread gets them when they are read; who was there a moment ago gets those that come from
//! another node, or are read again.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::num::NonZeroUsize;
use std::time::Duration;

use lru::LruCache;
use tokio::time::Instant;

use crate::clock;
use crate::config::ClusterConfig;
use crate::domain::address;
use crate::pb::Message;

/// Most messages that are known, some 20 MB.
const MOST: usize = 262_144;
/// Most subscribers that wait for messages to be read, and most that are remembered as having been there lately.
const MOST_ASKED: usize = 4_096;
/// How long it is remembered at least that a subscriber was there.
const LATELY: Duration = Duration::from_secs(60);

/// A subscriber, by its IMSI or by its number. Two may have one key: then one more message is tried early.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SubscriberKey(u32);

#[derive(Debug)]
pub(super) struct Subscribers {
    is_wanted: bool,
    known: HashMap<u64, SubscriberKey, ahash::RandomState>,
    /// Known messages, to be found by subscriber: many may come back at once.
    by_key: BTreeSet<(SubscriberKey, u64)>,
    unread: BTreeSet<u64>,
    asked: HashSet<SubscriberKey>,
    /// Who was there lately, and when: an alert costs the same however many there are.
    lately: LruCache<SubscriberKey, Instant>,
    /// Messages of those who asked, until everything is read: then they go together, in order.
    found: Vec<u64>,
}

// === impl SubscriberKey ===

impl SubscriberKey {
    pub fn of_imsi(imsi: &str) -> Self {
        Self::of("imsi", imsi.as_bytes())
    }

    /// A leading plus makes no difference.
    pub fn of_number(number: &[u8]) -> Self {
        Self::of("number", address::normalise(number))
    }

    /// The recipient of a message: by its IMSI where that is known, unless its network knows subscribers `by_number` only.
    /// `None` if the message waits for a time that its sender has asked for.
    pub fn of_message(message: &Message, attempts: u16, by_number: bool) -> Option<Self> {
        if attempts == 0 && message.due_at > clock::now_ms() {
            return None;
        }
        Some(match message.imsi.as_str() {
            imsi if by_number || imsi.is_empty() => Self::of_number(&message.destination),
            imsi => Self::of_imsi(imsi),
        })
    }

    fn of(kind: &str, value: &[u8]) -> Self {
        let mut hasher = DefaultHasher::new();
        (kind, value).hash(&mut hasher);
        Self(hasher.finish() as u32)
    }
}

// === impl Subscribers ===

impl Default for Subscribers {
    fn default() -> Self {
        let most = NonZeroUsize::new(MOST_ASKED).unwrap_or(NonZeroUsize::MIN);
        Self {
            is_wanted: false,
            known: HashMap::default(),
            by_key: BTreeSet::new(),
            unread: BTreeSet::new(),
            asked: HashSet::new(),
            lately: LruCache::sparse(most),
            found: Vec::new(),
        }
    }
}

impl Subscribers {
    pub fn is_wanted(&self) -> bool {
        self.is_wanted
    }

    /// From now on; these are scheduled already.
    pub fn begin(&mut self, scheduled: impl Iterator<Item = u64>) {
        self.is_wanted = true;
        for id in scheduled {
            self.came(id);
        }
    }

    pub fn came(&mut self, id: u64) {
        let is_new = self.is_wanted && !self.known.contains_key(&id);
        if is_new && self.known.len() + self.unread.len() < MOST {
            self.unread.insert(id);
        }
    }

    pub fn left(&mut self, id: u64) {
        if self.is_wanted {
            if let Some(key) = self.known.remove(&id) {
                self.by_key.remove(&(key, id));
            }
            self.unread.remove(&id);
        }
    }

    /// The first ones whose subscriber is not known yet.
    pub fn unread(&self, most: usize) -> Vec<u64> {
        self.unread.iter().take(most).copied().collect()
    }

    /// A message was read.
    pub fn read(&mut self, id: u64, key: Option<SubscriberKey>) {
        if !self.unread.remove(&id) {
            return;
        }
        if let Some(key) = key {
            self.known.insert(id, key);
            self.by_key.insert((key, id));
            if self.asked.contains(&key) {
                self.found.push(id);
            }
        }
    }

    /// Messages are to be tried: gives those that go now, in order; none before everything is read.
    pub fn ready(&mut self, ids: impl IntoIterator<Item = u64>) -> Vec<u64> {
        self.found.extend(ids);
        if !self.unread.is_empty() {
            return Vec::new();
        }
        self.asked.clear();
        let mut ready = std::mem::take(&mut self.found);
        ready.sort_unstable();
        ready.dedup();
        ready
    }

    /// Takes the place of an earlier one, whose messages are read again.
    pub fn begin_after(&mut self, earlier: &mut Self) {
        self.is_wanted = earlier.is_wanted;
        std::mem::swap(&mut self.lately, &mut earlier.lately);
    }

    /// Messages have come from the store, of another node or once more: those for subscribers who were there within `lately` are
    /// tried when they are read.
    pub fn came_from_store(&mut self, now: Instant, lately: Duration) {
        if self.unread.is_empty() {
            // Nothing is read for them: they would be asked for still when a message of theirs fails later.
            return;
        }
        // The newest ones are first.
        let newest = self.lately.iter();
        let newest = newest.take_while(|(_, at)| now.saturating_duration_since(**at) < lately);
        self.asked.extend(newest.map(|(key, _)| *key));
    }

    /// The messages of a subscriber who is there now that are known; those that are unread follow.
    pub fn of(&mut self, key: SubscriberKey, now: Instant) -> Vec<u64> {
        self.lately.put(key, now);
        if !self.unread.is_empty() && self.asked.len() < MOST_ASKED {
            self.asked.insert(key);
        }
        let known = self.by_key.range((key, 0)..=(key, u64::MAX));
        known.map(|(_, id)| *id).collect()
    }
}

/// How long it is remembered that a subscriber was there. A network says so once, perhaps while nobody has the messages of a node
/// that has died: until its lease is over, and as long again until another node has read them.
pub fn remembered_for(cluster: &ClusterConfig) -> Duration {
    let dead_after = cluster.lease.saturating_add(cluster.margin);
    dead_after.saturating_mul(2).max(LATELY)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_of_a_subscriber_are_found_until_they_leave() {
        let mut subscribers = Subscribers::default();
        subscribers.came(1);
        assert!(subscribers.unread(9).is_empty(), "nobody wants it");
        subscribers.begin([1, 2, 3].into_iter());
        let (alice, bob) = (
            SubscriberKey::of_number(b"+4470"),
            SubscriberKey::of_number(b"4471"),
        );
        assert_eq!(alice, SubscriberKey::of_number(b"4470"));
        assert_ne!(SubscriberKey::of_imsi("4470"), alice);
        assert_eq!(subscribers.unread(2), [1, 2]);
        subscribers.read(1, Some(alice));
        subscribers.read(2, Some(bob));
        let now = Instant::now();
        assert_eq!(subscribers.of(alice, now), [1]);
        assert!(subscribers.ready([1]).is_empty(), "3 may come before it");
        subscribers.read(3, Some(alice));
        assert_eq!(subscribers.ready([]), [1, 3], "it came meanwhile");
        subscribers.came(4);
        subscribers.read(4, Some(alice));
        assert!(subscribers.ready([]).is_empty(), "that was before");
        subscribers.left(1);
        assert_eq!(subscribers.of(alice, now), [3, 4]);
        subscribers.left(5);
        subscribers.came(6);
        subscribers.left(6);
        subscribers.read(6, Some(alice));
        assert_eq!(subscribers.of(alice, now).len(), 2);
    }

    #[test]
    fn messages_of_another_node_are_for_whoever_was_there_lately() {
        let (alice, bob) = (
            SubscriberKey::of_number(b"4470"),
            SubscriberKey::of_number(b"4471"),
        );
        let mut subscribers = Subscribers::default();
        subscribers.begin([].into_iter());
        let now = Instant::now();
        assert!(subscribers.of(alice, now).is_empty());
        let come = |subscribers: &mut Subscribers, ids: [u64; 2], after: Duration| {
            ids.iter().for_each(|id| subscribers.came(*id));
            subscribers.came_from_store(now + after, LATELY);
            subscribers.read(ids[0], Some(alice));
            subscribers.read(ids[1], Some(bob));
            subscribers.ready([])
        };
        assert_eq!(come(&mut subscribers, [1, 2], LATELY / 2), [1]);
        // What fails again waits for the next time.
        subscribers.came(3);
        subscribers.read(3, Some(alice));
        assert!(subscribers.ready([]).is_empty());
        assert!(come(&mut subscribers, [4, 5], LATELY).is_empty());
        // What comes with nothing to be read leaves nobody behind whose next failure is tried at once.
        subscribers.of(alice, now + LATELY);
        subscribers.came_from_store(now + LATELY, LATELY);
        subscribers.came(6);
        subscribers.read(6, Some(alice));
        assert!(subscribers.ready([]).is_empty());
    }

    #[test]
    fn who_was_there_lately_gets_what_is_read_again() {
        let alice = SubscriberKey::of_number(b"4470");
        let mut before = Subscribers::default();
        before.begin([1].into_iter());
        let now = Instant::now();
        before.of(alice, now);
        let mut after = Subscribers::default();
        after.begin_after(&mut before);
        after.came(1);
        after.came_from_store(now, LATELY);
        after.read(1, Some(alice));
        assert_eq!(after.ready([]), [1]);
    }

    #[test]
    fn a_subscriber_is_remembered_for_longer_than_a_take_over_takes() {
        let of = |seconds| {
            remembered_for(&ClusterConfig {
                lease: Duration::from_secs(seconds),
                margin: Duration::from_secs(2),
                ..ClusterConfig::default()
            })
        };
        assert_eq!(of(10), LATELY);
        assert_eq!(of(60), Duration::from_secs(124));
        assert_eq!(of(u64::MAX), Duration::MAX);
    }

    #[test]
    fn memory_is_bounded() {
        let mut subscribers = Subscribers::default();
        subscribers.begin(0..MOST as u64 + 10);
        assert_eq!(subscribers.unread(usize::MAX).len(), MOST);
        for asked in 0..2 * MOST_ASKED {
            subscribers.of(SubscriberKey::of_imsi(&asked.to_string()), Instant::now());
        }
        assert_eq!(subscribers.asked.len(), MOST_ASKED);
        assert_eq!(subscribers.lately.len(), MOST_ASKED);
    }

    #[test]
    fn a_time_that_the_sender_wants_is_kept() {
        let later = Message {
            destination: (&b"4470"[..]).into(),
            due_at: clock::now_ms() + 60_000,
            ..Message::default()
        };
        assert_eq!(SubscriberKey::of_message(&later, 0, false), None);
        assert_eq!(
            SubscriberKey::of_message(&later, 1, false),
            Some(SubscriberKey::of_number(b"4470"))
        );
        let reachable = Message {
            imsi: "00101".to_owned(),
            due_at: 0,
            ..later
        };
        assert_eq!(
            SubscriberKey::of_message(&reachable, 0, false),
            Some(SubscriberKey::of_imsi("00101"))
        );
        assert_eq!(
            SubscriberKey::of_message(&reachable, 0, true),
            Some(SubscriberKey::of_number(b"4470")),
            "alerts of MAP name the number"
        );
    }
}
