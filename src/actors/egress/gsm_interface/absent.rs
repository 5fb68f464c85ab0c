//! Subscribers that could not be reached a moment ago: what comes for them waits, in order, without being tried.
//!
//! Pure; held by the interface, and so forgotten with the process: the store knows when each message is due. Invariants:
//! of one subscriber, no message that came later is due before one that came earlier, and none is sent before those that
//! were called and have not come back yet; memory is bounded, and what is forgotten is tried when it is due.

use std::collections::{BTreeSet, HashMap};
use std::time::Duration;

use tokio::time::Instant;

/// Most subscribers that are remembered, and most messages of one of them.
const MOST: usize = 65_536;
const MOST_OF_ONE: usize = 1_024;
/// The queue's clock ticks as often as this lets pass: messages are due one after another, in order.
const STEP: Duration = Duration::from_millis(5);
/// After the last one was due, the queue has granted it by then, if it still has it.
const SLACK: Duration = Duration::from_secs(30);
/// How long a message waits behind others that are due and have not come yet.
const A_MOMENT: Duration = Duration::from_secs(1);

/// Those that could not be reached.
#[derive(Debug, Default)]
pub struct Absent {
    subscribers: HashMap<String, Waits, ahash::RandomState>,
}

#[derive(Debug)]
struct Waits {
    /// When the first message is due again.
    until: Instant,
    /// How many are due after it.
    behind: u32,
    /// Which they are, until they come back.
    ids: BTreeSet<u64>,
    /// The subscriber is there, and all of them were called.
    are_called: bool,
    /// The number of the subscriber, as the messages have it.
    msisdn: String,
}

// === impl Waits ===

impl Waits {
    /// When the last message is due.
    fn last(&self) -> Instant {
        self.until + STEP * self.behind
    }

    fn add(&mut self, id: u64) {
        if self.ids.len() < MOST_OF_ONE {
            self.ids.insert(id);
            self.are_called = false;
        }
    }
}

// === impl Absent ===

impl Absent {
    /// A message to a subscriber has failed, and is due again after `pause`.
    pub fn failed(
        &mut self,
        subscriber: &str,
        msisdn: &str,
        id: u64,
        pause: Duration,
        now: Instant,
    ) {
        if self.subscribers.len() >= MOST && !self.subscribers.contains_key(subscriber) {
            self.forget_old(now);
            if self.subscribers.len() >= MOST {
                return;
            }
        }
        let waits = self.subscribers.entry(subscriber.to_owned());
        let waits = waits.or_insert_with(|| Waits {
            until: now,
            behind: 0,
            ids: BTreeSet::new(),
            are_called: false,
            msisdn: msisdn.to_owned(),
        });
        waits.until = now + pause;
        waits.behind = 0;
        waits.add(id);
    }

    /// How long another message of a subscriber has to wait; `None` when it may be tried.
    pub fn pause(&mut self, subscriber: &str, id: u64, now: Instant) -> Option<Duration> {
        let waits = self.subscribers.get_mut(subscriber)?;
        // The first one is tried whenever it comes, for somebody may have ordered it, and so is an older one, as after a
        // restart. Others that come early were due before the first one failed again: they would overtake it.
        let is_first = waits.ids.first().is_some_and(|first| id <= *first);
        let is_due = waits.ids.contains(&id) && waits.until <= now;
        if is_first || is_due || waits.last() + SLACK <= now {
            // It is in line now, and others come behind it.
            waits.ids.remove(&id);
            if waits.ids.is_empty() {
                self.subscribers.remove(subscriber);
            }
            return None;
        }
        waits.behind = waits.behind.saturating_add(1);
        let left = waits.last().saturating_duration_since(now);
        let are_on_their_way = waits.are_called || waits.until <= now;
        waits.add(id);
        Some(match are_on_their_way {
            true => A_MOMENT + left,
            false => left,
        })
    }

    /// Whether messages wait for a subscriber that were not called yet.
    pub fn has_uncalled(&self, subscriber: &str) -> bool {
        let waits = self.subscribers.get(subscriber);
        waits.is_some_and(|waits| !waits.are_called && !waits.ids.is_empty())
    }

    /// A subscriber is there: the messages to call, in order, and its number. Others that come before them wait.
    pub fn is_there(&mut self, subscriber: &str, now: Instant) -> Option<(Vec<u64>, String)> {
        let waits = self.subscribers.get_mut(subscriber)?;
        (waits.until, waits.behind, waits.are_called) = (now, 0, true);
        let called = (waits.ids.iter().copied().collect(), waits.msisdn.clone());
        if waits.ids.is_empty() {
            self.subscribers.remove(subscriber);
        }
        Some(called)
    }

    /// A message of a subscriber does not wait any more.
    pub fn ended(&mut self, subscriber: &str, id: u64) {
        if let Some(waits) = self.subscribers.get_mut(subscriber) {
            waits.ids.remove(&id);
        }
    }

    /// How many subscribers are remembered.
    pub fn len(&self) -> usize {
        self.subscribers.len()
    }

    /// Forgets those whose messages are all due.
    pub fn forget_old(&mut self, now: Instant) {
        self.subscribers
            .retain(|_, waits| waits.last() + SLACK > now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: Duration = Duration::from_secs(60);

    #[test]
    fn what_comes_later_is_due_later() {
        let (mut absent, now) = (Absent::default(), Instant::now());
        assert_eq!(absent.pause("1", 7, now), None, "nobody knows it");
        absent.failed("1", "49", 7, MINUTE, now);
        let pauses: Vec<Duration> = (8..11)
            .map(|id| absent.pause("1", id, now).unwrap())
            .collect();
        assert!(pauses.is_sorted() && pauses[0] > MINUTE, "{pauses:?}");
        let later = now + MINUTE / 2;
        let pause = absent.pause("1", 11, later).unwrap();
        assert!(later + pause > now + pauses[2], "{pause:?}");
        assert_eq!(absent.pause("2", 12, now), None, "another one");
    }

    #[test]
    fn who_is_due_is_tried_and_who_comes_meanwhile_waits() {
        let (mut absent, now) = (Absent::default(), Instant::now());
        absent.failed("1", "49", 7, MINUTE, now);
        let last = now + absent.pause("1", 8, now).unwrap();
        assert_eq!(absent.pause("1", 7, now + MINUTE), None);
        assert!(
            absent.pause("1", 9, now + MINUTE).is_some(),
            "8 comes first"
        );
        assert_eq!(absent.pause("1", 8, last), None);
        assert_eq!(absent.pause("1", 10, last + SLACK * 2), None);
    }

    #[test]
    fn nobody_overtakes_the_first_one_when_it_fails_again() {
        let (mut absent, now) = (Absent::default(), Instant::now());
        absent.failed("1", "49", 7, MINUTE, now);
        let second = now + absent.pause("1", 8, now).unwrap();
        absent.failed("1", "49", 7, MINUTE, now + MINUTE);
        let pause = absent.pause("1", 8, second).unwrap();
        assert!(second + pause > now + MINUTE * 2);
        assert_eq!(absent.pause("1", 7, second), None, "somebody orders it");
    }

    #[test]
    fn an_older_one_is_never_put_behind_a_newer_one() {
        let (mut absent, now) = (Absent::default(), Instant::now());
        absent.failed("1", "49", 7, MINUTE, now);
        assert_eq!(absent.pause("1", 6, now), None);
        absent.failed("1", "49", 6, MINUTE, now);
        assert!(absent.pause("1", 7, now).is_some());
    }

    #[test]
    fn a_subscriber_that_is_there_has_its_messages_in_order() {
        let (mut absent, now) = (Absent::default(), Instant::now());
        absent.failed("1", "49", 9, MINUTE, now);
        absent.pause("1", 12, now);
        absent.pause("1", 10, now);
        absent.ended("1", 12);
        assert!(absent.has_uncalled("1"));
        let there = absent.is_there("1", now);
        assert_eq!(there, Some((vec![9, 10], "49".to_owned())));
        assert!(!absent.has_uncalled("1"));
        assert_eq!(absent.is_there("2", now), None);
    }

    #[test]
    fn nobody_overtakes_those_who_are_called() {
        let (mut absent, now) = (Absent::default(), Instant::now());
        absent.failed("1", "49", 7, MINUTE, now);
        absent.pause("1", 8, now);
        absent.is_there("1", now);
        assert_eq!(absent.pause("1", 9, now), Some(A_MOMENT + STEP));
        assert!(absent.has_uncalled("1"), "9 is called when 7 has arrived");
        assert_eq!(absent.pause("1", 7, now), None);
        assert!(absent.pause("1", 10, now).is_some(), "8 has not come yet");
        for id in [8, 9, 10] {
            assert_eq!(absent.pause("1", id, now + A_MOMENT), None);
        }
        assert_eq!(absent.len(), 0, "all are in line");
        assert_eq!(absent.pause("1", 11, now), None);
    }

    #[test]
    fn memory_is_bounded() {
        let (mut absent, now) = (Absent::default(), Instant::now());
        for subscriber in 0..=MOST {
            absent.failed(&subscriber.to_string(), "", 1, MINUTE, now);
        }
        assert_eq!(absent.len(), MOST);
        for id in 2..2 * MOST_OF_ONE as u64 {
            absent.pause("0", id, now);
        }
        assert_eq!(absent.is_there("0", now).unwrap().0.len(), MOST_OF_ONE);
        absent.forget_old(now + MINUTE + SLACK);
        assert_eq!(absent.len(), 0);
    }
}
