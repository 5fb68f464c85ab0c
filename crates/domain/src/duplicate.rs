//! Recently accepted submissions, to detect duplicates.
//!
//! Called by `actors/ingress/duplicates.rs`. [`key`] says when two submissions are the same; [`RecentSubmissions`] is a
//! ring of the last accepted submissions with a map over it. Guarantees that it never holds more
//! than its limit, that the oldest are dropped first, and that nothing is found after its window.
//! The caller passes the time, in milliseconds of any clock that does not step back.

use std::collections::{HashMap, VecDeque};
use std::hash::Hasher;

use siphasher::sip128::{Hasher128, SipHasher24};

/// 128 bits of a hash: long enough that different submissions are not taken for one another.
pub type DuplicateKey = u128;

/// Nodes compare keys through Redis, so all releases make the same ones.
const KEYS: (u64, u64) = (0x736d_7363_6475_7031, 0x736d_7363_6475_7032);

/// What makes two submissions the same.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SubmissionIdentity<'a> {
    /// The name of the account.
    pub sender: &'a str,
    /// source_addr, as it came.
    pub source: &'a [u8],
    /// destination_addr, as it came.
    pub destination: &'a [u8],
    pub data_coding: u8,
    /// Whether the text begins with a user data header, whose reference counts as text.
    pub udhi: bool,
    /// short_message, as it came.
    pub short_message: &'a [u8],
}

/// The key of a submission. `parameters` are the optional parameters that count, in their order:
/// references, ports and message_payload.
pub fn key<'p>(
    submission: &SubmissionIdentity<'_>,
    parameters: impl IntoIterator<Item = (u16, &'p [u8])>,
) -> DuplicateKey {
    let mut hasher = SipHasher24::new_with_keys(KEYS.0, KEYS.1);
    // Each with its length, so that octets of two fields cannot be confused.
    let mut field = |octets: &[u8]| {
        hasher.write_u64(octets.len() as u64);
        hasher.write(octets);
    };
    field(submission.sender.as_bytes());
    field(submission.source);
    field(submission.destination);
    field(&[submission.data_coding, u8::from(submission.udhi)]);
    field(submission.short_message);
    for (tag, value) in parameters {
        field(&tag.to_be_bytes());
        field(value);
    }
    hasher.finish128().as_u128()
}

/// The last accepted submissions.
#[derive(Debug)]
pub struct RecentSubmissions {
    entries: HashMap<DuplicateKey, DuplicateEntry, ahash::RandomState>,
    /// In the order of acceptance, with the number that distinguishes an entry from an older one of
    /// its key.
    order: VecDeque<(DuplicateKey, u64)>,
    next: u64,
    most: usize,
}

#[derive(Debug)]
struct DuplicateEntry {
    id: u64,
    until: i64,
    number: u64,
}

// === impl RecentSubmissions ===

impl RecentSubmissions {
    /// Room for `most` entries, taken as it is needed.
    pub fn new(most: usize) -> Self {
        Self {
            entries: HashMap::default(),
            order: VecDeque::new(),
            next: 0,
            most,
        }
    }

    /// How many entries there are.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The id of an accepted submission whose window is not over.
    pub fn find(&self, key: DuplicateKey, now: i64) -> Option<u64> {
        let entry = self.entries.get(&key)?;
        (entry.until > now).then_some(entry.id)
    }

    /// Keeps an accepted submission until the end of its window. Returns how many others were
    /// dropped before the end of their window for lack of room.
    pub fn keep(&mut self, key: DuplicateKey, id: u64, until: i64, now: i64) -> usize {
        self.forget_ended(now);
        let number = self.next;
        self.next += 1;
        self.entries
            .insert(key, DuplicateEntry { id, until, number });
        self.order.push_back((key, number));
        self.cut(now)
    }

    /// Another limit, from now on. Gives what [`Self::keep`] gives.
    pub fn resize(&mut self, most: usize, now: i64) -> usize {
        self.most = most;
        self.cut(now)
    }

    fn cut(&mut self, now: i64) -> usize {
        let mut lost = 0;
        while self.order.len() > self.most {
            let Some((key, number)) = self.order.pop_front() else {
                break;
            };
            lost += usize::from(self.remove(key, number).is_some_and(|until| until > now));
        }
        lost
    }

    fn forget_ended(&mut self, now: i64) {
        while let Some(&(key, number)) = self.order.front() {
            let entry = self.entries.get(&key);
            if entry.is_some_and(|entry| entry.number == number && entry.until > now) {
                return;
            }
            self.order.pop_front();
            self.remove(key, number);
        }
    }

    /// Removes an entry, unless a newer one has its key.
    fn remove(&mut self, key: DuplicateKey, number: u64) -> Option<i64> {
        let entry = self.entries.get(&key)?;
        if entry.number != number {
            return None;
        }
        self.entries.remove(&key).map(|entry| entry.until)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn submission() -> SubmissionIdentity<'static> {
        SubmissionIdentity {
            sender: "account:test",
            source: b"12345",
            destination: b"447700900001",
            short_message: b"hello",
            ..SubmissionIdentity::default()
        }
    }

    #[test]
    fn keys_stay_the_same_and_every_field_counts() {
        let reference: (u16, &[u8]) = (0x0204, &[0, 1]);
        let first = key(&submission(), [reference]);
        assert_eq!(first, key(&submission(), [reference]));
        let others = [
            SubmissionIdentity {
                sender: "account:other",
                ..submission()
            },
            SubmissionIdentity {
                source: b"1234",
                ..submission()
            },
            SubmissionIdentity {
                destination: b"447700900002",
                ..submission()
            },
            // The same octets, divided otherwise.
            SubmissionIdentity {
                source: b"1234",
                destination: b"5447700900001",
                ..submission()
            },
            SubmissionIdentity {
                data_coding: 8,
                ..submission()
            },
            SubmissionIdentity {
                udhi: true,
                ..submission()
            },
            SubmissionIdentity {
                short_message: b"hello!",
                ..submission()
            },
        ];
        for other in others {
            assert_ne!(first, key(&other, [reference]), "{other:?}");
        }
        assert_ne!(first, key(&submission(), [(0x0204, &[0, 2][..])]));
        assert_ne!(first, key(&submission(), [(0x020C, &[0, 1][..])]));
        assert_ne!(first, key(&submission(), []));
    }

    #[test]
    fn what_is_accepted_is_found_until_its_window_ends() {
        let mut recent = RecentSubmissions::new(10);
        assert_eq!(recent.keep(1, 70, 1_000, 0), 0);
        assert_eq!(recent.find(1, 999), Some(70));
        assert_eq!(recent.find(1, 1_000), None);
        assert_eq!(recent.find(2, 0), None);
        // Accepted once more after its window.
        recent.keep(1, 71, 3_000, 2_000);
        assert_eq!(recent.find(1, 2_500), Some(71));
        assert_eq!(recent.len(), 1);
    }

    #[test]
    fn the_oldest_go_first_and_are_counted_when_they_were_needed() {
        let mut recent = RecentSubmissions::new(2);
        assert_eq!(recent.keep(1, 1, 100, 0), 0);
        assert_eq!(recent.keep(2, 2, 5, 0), 0);
        assert_eq!(recent.keep(3, 3, 100, 10), 1, "1 was still needed");
        assert_eq!(recent.keep(4, 4, 100, 10), 0, "2 was not");
        assert_eq!(recent.resize(1, 10), 1);
        assert_eq!((recent.find(3, 10), recent.find(4, 10)), (None, Some(4)));
    }

    /// The last `most` acceptances, and nothing clever.
    struct Naive {
        kept: Vec<(DuplicateKey, u64, i64)>,
        most: usize,
    }

    impl Naive {
        fn keep(&mut self, key: DuplicateKey, id: u64, until: i64, now: i64) -> usize {
            self.kept.push((key, id, until));
            let mut lost = 0;
            while self.kept.len() > self.most {
                let (key, _, until) = self.kept.remove(0);
                let again = self.kept.iter().any(|(other, ..)| *other == key);
                lost += usize::from(until > now && !again);
            }
            lost
        }

        fn find(&self, key: DuplicateKey, now: i64) -> Option<u64> {
            let last = self.kept.iter().rev().find(|(own, ..)| *own == key)?;
            (last.2 > now).then_some(last.1)
        }
    }

    proptest! {
        #[test]
        fn behaves_like_a_list_of_the_last_ones(
            most in 1usize..8,
            steps in proptest::collection::vec((0u128..12, 0i64..20, 0i64..60, any::<bool>()), 1..300),
        ) {
            let mut recent = RecentSubmissions::new(most);
            let mut naive = Naive { kept: Vec::new(), most };
            let mut now = 0;
            for (id, (key, wait, window, keeps)) in (1u64..).zip(steps) {
                now += wait;
                if keeps && recent.find(key, now).is_none() {
                    let lost = recent.keep(key, id, now + window, now);
                    prop_assert_eq!(lost, naive.keep(key, id, now + window, now));
                }
                for key in 0..12 {
                    prop_assert_eq!(recent.find(key, now), naive.find(key, now));
                }
                prop_assert!(recent.len() <= most && recent.order.len() <= most);
            }
        }
    }
}
