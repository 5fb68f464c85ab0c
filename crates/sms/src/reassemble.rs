//! Collects the parts of long texts until they are whole (3GPP TS 23.040 §9.2.3.24.1).
//!
//! Used by an actor per kind of traffic; the caller passes the time. A *set* is the parts of one
//! text that have arrived under one key (sender, source, destination, reference and its width).
//! Invariants: every value that was added comes back exactly once (in [`Added`], by
//! [`Assembler::expired`], [`Assembler::evict`], [`Assembler::take_oldest`] or [`Assembler::take_if`]) or is still here; after
//! `evict` gave nothing, at most `limit` parts are kept, and of finished texts no more than `limit`
//! fingerprints.

mod finished;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::hash::Hash;

use finished::Finished;

/// One part of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextPart<T> {
    /// How many parts the text has, from 1.
    pub total: u8,
    /// Which one this is, from 1 to `total`.
    pub sequence: u8,
    /// A hash of its content, to know a repetition from something else.
    pub fingerprint: u64,
    /// Who has sent it, as a number; the same for all parts under one key.
    pub holder: u32,
    /// What comes back.
    pub value: T,
}

/// What became of a part that was added.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Added<T> {
    /// Kept; others are missing.
    Waiting,
    /// The text is whole: its parts in order.
    Complete(Vec<T>),
    /// A part with this content is at this place already.
    Repeated(T),
    /// The reference was reused (another total, or other content at this place): the old parts are
    /// returned in order, the new one waits.
    Replaced {
        /// What had come of the old text.
        given_up: Vec<T>,
    },
}

/// A set that waited too long.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expired<T> {
    /// What had come of the text, in order.
    pub parts: Vec<T>,
    /// All parts repeat those of a text that was completed within the timeout: the sender did not
    /// get its acknowledgements and sent them again.
    pub repeated: bool,
}

/// The parts that wait for others.
#[derive(Debug)]
pub struct Assembler<K, T> {
    limit: usize,
    timeout_ms: i64,
    sets: HashMap<K, Set<T>, ahash::RandomState>,
    /// Keys of the sets by the moment of their first part, then in the order of arrival.
    by_age: BTreeMap<Age, K>,
    /// The keys of `by_age`, by holder.
    by_holder: BTreeSet<(u32, Age)>,
    finished: Finished<K>,
    serial: u64,
    len: usize,
}

/// When something began, and a number that makes it unique.
type Age = (i64, u64);

const OLDEST: Age = (i64::MIN, u64::MIN);
const NEWEST: Age = (i64::MAX, u64::MAX);

/// What has come of one text.
#[derive(Debug)]
struct Set<T> {
    total: u8,
    age: Age,
    holder: u32,
    /// Ascending by sequence.
    parts: Vec<KeptPart<T>>,
}

#[derive(Debug)]
struct KeptPart<T> {
    sequence: u8,
    fingerprint: u64,
    /// The text last finished under this key had it too.
    again: bool,
    value: T,
}

// === impl Assembler ===

impl<K: Eq + Hash + Clone, T> Assembler<K, T> {
    /// An empty one. `limit` is how many parts are kept; a set is given up `timeout_ms` after its
    /// first part.
    pub fn new(limit: usize, timeout_ms: i64) -> Self {
        Self {
            limit,
            timeout_ms,
            sets: HashMap::default(),
            by_age: BTreeMap::new(),
            by_holder: BTreeSet::new(),
            finished: Finished::new(limit),
            serial: 0,
            len: 0,
        }
    }

    /// Takes a part. One that is the whole text, or whose number is invalid (0, or above the total),
    /// is complete by itself and does not affect others under its key.
    ///
    /// A part that equals one of the text that was last completed under this key waits like any
    /// other: it may begin another text with the same content there. It was a repetition only if
    /// nothing else comes until the timeout ([`Expired::repeated`]).
    pub fn add(&mut self, now_ms: i64, key: K, part: TextPart<T>) -> Added<T> {
        self.finished
            .forget_until(now_ms.saturating_sub(self.timeout_ms));
        let TextPart {
            total,
            sequence,
            fingerprint,
            holder,
            value,
        } = part;
        if total <= 1 || sequence == 0 || sequence > total {
            return Added::Complete(vec![value]);
        }
        let kept = KeptPart {
            sequence,
            fingerprint,
            again: self.finished.has(&key, total, sequence, fingerprint),
            value,
        };
        let Some(set) = self.sets.get_mut(&key) else {
            self.begin(now_ms, key, total, holder, kept);
            return Added::Waiting;
        };
        match set.place(total, sequence) {
            PartPlace::Taken(there) if there == fingerprint => Added::Repeated(kept.value),
            PartPlace::Taken(_) | PartPlace::OtherTotal => {
                let given_up = self.take(&key);
                self.begin(now_ms, key, total, holder, kept);
                Added::Replaced { given_up }
            }
            PartPlace::Free(at) => {
                set.parts.insert(at, kept);
                self.len += 1;
                if set.parts.len() < usize::from(total) {
                    return Added::Waiting;
                }
                let fingerprints = set.parts.iter().map(|part| part.fingerprint).collect();
                self.serial += 1;
                let age = (now_ms, self.serial);
                self.finished.remember(key.clone(), age, fingerprints);
                Added::Complete(self.take(&key))
            }
        }
    }

    /// Takes out the sets whose first part is as old as the timeout, oldest first, each in order.
    pub fn expired(&mut self, now_ms: i64) -> Vec<Expired<T>> {
        let until = now_ms.saturating_sub(self.timeout_ms);
        self.finished.forget_until(until);
        let mut expired = Vec::new();
        while let Some((age, key)) = self.by_age.first_key_value() {
            if age.0 > until {
                break;
            }
            let key = key.clone();
            let set = self.sets.get(&key);
            let repeated = set.is_some_and(|set| set.parts.iter().all(|part| part.again));
            expired.push(Expired {
                parts: self.take(&key),
                repeated,
            });
        }
        expired
    }

    /// Takes out the oldest set, when more parts are kept than the limit allows.
    pub fn evict(&mut self) -> Option<Vec<T>> {
        if !self.is_over() {
            return None;
        }
        let (_, key) = self.by_age.first_key_value()?;
        let key = key.clone();
        Some(self.take(&key))
    }

    /// Takes out the oldest set of a holder.
    pub fn take_oldest(&mut self, holder: u32) -> Option<Vec<T>> {
        let theirs = (holder, OLDEST)..=(holder, NEWEST);
        let (_, age) = *self.by_holder.range(theirs).next()?;
        let key = self.by_age.get(&age)?.clone();
        Some(self.take(&key))
    }

    /// Whether more parts are kept than the limit allows.
    pub fn is_over(&self) -> bool {
        self.len > self.limit
    }

    /// Takes out every set of which at least one part fits, oldest first, each in order.
    pub fn take_if(&mut self, mut fits: impl FnMut(&T) -> bool) -> Vec<T> {
        let keys: Vec<K> = self
            .by_age
            .values()
            .filter(|key| {
                let parts = self.sets.get(key).map_or(&[][..], |set| &set.parts);
                parts.iter().any(|part| fits(&part.value))
            })
            .cloned()
            .collect();
        keys.iter().flat_map(|key| self.take(key)).collect()
    }

    /// How many parts are kept.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether no part is kept.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// How many sets they belong to.
    pub fn sets(&self) -> usize {
        self.sets.len()
    }

    /// All parts kept, the oldest set first, each in order.
    pub fn values(&self) -> impl Iterator<Item = &T> {
        self.by_age
            .values()
            .filter_map(|key| self.sets.get(key))
            .flat_map(|set| set.parts.iter().map(|part| &part.value))
    }

    fn begin(&mut self, now_ms: i64, key: K, total: u8, holder: u32, first: KeptPart<T>) {
        self.serial += 1;
        let age = (now_ms, self.serial);
        self.by_age.insert(age, key.clone());
        self.by_holder.insert((holder, age));
        self.len += 1;
        self.sets.insert(
            key,
            Set {
                total,
                age,
                holder,
                parts: vec![first],
            },
        );
    }

    fn take(&mut self, key: &K) -> Vec<T> {
        let Some(set) = self.sets.remove(key) else {
            return Vec::new();
        };
        self.by_age.remove(&set.age);
        self.by_holder.remove(&(set.holder, set.age));
        self.len -= set.parts.len();
        set.parts.into_iter().map(|part| part.value).collect()
    }
}

// === impl Set ===

/// Where a part belongs in a set.
enum PartPlace {
    /// The set is of a text with another number of parts.
    OtherTotal,
    /// Something with this fingerprint is there.
    Taken(u64),
    /// Nothing is there; this is its index.
    Free(usize),
}

impl<T> Set<T> {
    fn place(&self, total: u8, sequence: u8) -> PartPlace {
        if self.total != total {
            return PartPlace::OtherTotal;
        }
        match self
            .parts
            .binary_search_by_key(&sequence, |part| part.sequence)
        {
            Ok(at) => PartPlace::Taken(self.parts[at].fingerprint),
            Err(at) => PartPlace::Free(at),
        }
    }
}

#[cfg(test)]
mod tests;
