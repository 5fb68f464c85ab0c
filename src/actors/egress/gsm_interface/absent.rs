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
/// How long others wait for one that is due and does not come.
const MISSING: Duration = Duration::from_secs(10);
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
    /// Those that have not come again.
    ids: BTreeSet<u64>,
    /// The number of the subscriber, as the messages have it.
    msisdn: String,
    /// The subscriber is there since: the queue was told.
    is_there: bool,
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
            msisdn: msisdn.to_owned(),
            is_there: false,
        });
        waits.is_there = false;
        waits.until = now + pause;
        waits.behind = 0;
        waits.add(id);
    }

    /// How long another message of a subscriber has to wait; `None` when it may be tried, and is not waited for any more.
    pub fn pause(&mut self, subscriber: &str, id: u64, now: Instant) -> Option<Duration> {
        let waits = self.subscribers.get_mut(subscriber)?;
        // The first one is tried whenever it comes, for somebody may have ordered it, and so is an older one, as after a
        // restart. Others would overtake it: those that are due, because it has failed again, and new ones, which a queue
        // may grant before it.
        let is_first = waits.ids.first().is_none_or(|first| id <= *first);
        // One that does not come any more was cancelled, or has expired.
        let is_overdue = waits.ids.contains(&id) && waits.until + MISSING <= now;
        if is_first || is_overdue || waits.last() + SLACK <= now {
            // It is in line now, and others come behind it.
            waits.ids.remove(&id);
            if waits.ids.is_empty() {
                self.subscribers.remove(subscriber);
            }
            return None;
        }
        waits.behind = waits.behind.saturating_add(1);
        waits.add(id);
        let left = waits.last().saturating_duration_since(now);
        Some(if waits.until <= now { A_MOMENT } else { left })
    }

    /// A subscriber is there: the messages that wait for it, in order, if the queue was not told of them yet, and its
    /// number. Others wait until these have come.
    pub fn is_there(&mut self, subscriber: &str, now: Instant) -> Option<(Vec<u64>, String)> {
        let waits = self.subscribers.get_mut(subscriber)?;
        if waits.ids.is_empty() {
            let waits = self.subscribers.remove(subscriber)?;
            return Some((Vec::new(), waits.msisdn));
        }
        if std::mem::replace(&mut waits.is_there, true) {
            return Some((Vec::new(), waits.msisdn.clone()));
        }
        waits.until = now;
        waits.behind = 0;
        Some((waits.ids.iter().copied().collect(), waits.msisdn.clone()))
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
        let there = absent.is_there("1", now);
        assert_eq!(there, Some((vec![9, 10], "49".to_owned())));
        let again = absent.is_there("1", now);
        assert_eq!(again, Some((vec![], "49".to_owned())), "the queue was told");
        assert_eq!(absent.is_there("2", now), None);
    }

    #[test]
    fn nobody_overtakes_those_who_are_called() {
        let (mut absent, now) = (Absent::default(), Instant::now());
        absent.failed("1", "49", 7, MINUTE, now);
        absent.pause("1", 8, now);
        absent.is_there("1", now);
        assert_eq!(absent.pause("1", 9, now), Some(A_MOMENT));
        assert_eq!(absent.pause("1", 7, now), None);
        assert!(absent.pause("1", 10, now).is_some(), "8 has not come yet");
        assert!(absent.pause("1", 9, now + A_MOMENT).is_some(), "nor now");
        for id in [8, 9, 10] {
            assert_eq!(absent.pause("1", id, now + A_MOMENT), None);
        }
        assert_eq!(absent.len(), 0, "all are in line");
        assert_eq!(absent.pause("1", 11, now), None);
    }

    #[test]
    fn one_that_does_not_come_holds_up_the_others_for_a_while() {
        let (mut absent, now) = (Absent::default(), Instant::now());
        absent.failed("1", "49", 9, MINUTE, now);
        absent.pause("1", 10, now);
        absent.is_there("1", now);
        let mut at = now;
        while absent.pause("1", 10, at).is_some() {
            at += A_MOMENT;
        }
        assert_eq!(at, now + MISSING);
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
        let last = now + MINUTE + STEP * 2 * MOST_OF_ONE as u32;
        absent.forget_old(last + SLACK);
        assert_eq!(absent.len(), 0);
    }
}
