//! How often a dead letter is tried to be published before its command ends without one.
//!
//! Held by a source; used when publishing fails although the connection is there: no stream takes the subject in, or the
//! user must not publish on it. A command then has [`TRIES`], later and later. Once nothing could be published for
//! [`PATIENCE`], each further command has one, so that those that are dead never keep the places of those that live.

use std::collections::HashMap;
use std::time::Duration;

use tokio::time::Instant;

/// Tries of one command.
const TRIES: u32 = 5;
/// For so long all of them have as many.
const PATIENCE: Duration = Duration::from_secs(15);
/// Commands whose tries are counted.
const MOST: usize = 10_000;
/// Between two lines of the log.
const SAY_EVERY: Duration = Duration::from_secs(10);

/// The failures of a source since a dead letter was last published.
#[derive(Debug, Default)]
pub(super) struct Burials {
    since: Option<Instant>,
    /// By place in the stream.
    tries: HashMap<u64, u32, ahash::RandomState>,
    said_at: Option<Instant>,
    unsaid: u64,
}

/// What becomes of a command whose dead letter could not be published.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Unburied {
    /// It comes again after this time.
    Again(Duration),
    /// It ends.
    Ends,
}

// === impl Burials ===

impl Burials {
    /// A dead letter was published. True if none could be before.
    pub(super) fn published(&mut self) -> bool {
        self.tries.clear();
        self.since.take().is_some()
    }

    /// One could not be; the first pause of a command is `pause`.
    pub(super) fn failed(&mut self, sequence: u64, pause: Duration, now: Instant) -> Unburied {
        let since = *self.since.get_or_insert(now);
        if !self.tries.contains_key(&sequence) && self.tries.len() >= MOST {
            // They have gone to other nodes, or are counted anew.
            self.tries.clear();
        }
        let tries = self.tries.entry(sequence).or_default();
        *tries += 1;
        if *tries >= TRIES || now.saturating_duration_since(since) >= PATIENCE {
            self.tries.remove(&sequence);
            return Unburied::Ends;
        }
        Unburied::Again(pause * (1 << (*tries - 1)))
    }

    /// A command has ended. How many have since the last line of the log, if there is to be another one.
    pub(super) fn next_count(&mut self, now: Instant) -> Option<u64> {
        self.unsaid += 1;
        let is_due = |at: Instant| now.saturating_duration_since(at) >= SAY_EVERY;
        if !self.said_at.is_none_or(is_due) {
            return None;
        }
        self.said_at = Some(now);
        Some(std::mem::take(&mut self.unsaid))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAUSE: Duration = Duration::from_millis(500);

    #[test]
    fn a_command_has_a_few_tries_later_and_later() {
        let (mut burials, now) = (Burials::default(), Instant::now());
        let found: Vec<_> = (0..5).map(|_| burials.failed(7, PAUSE, now)).collect();
        let again = |factor| Unburied::Again(PAUSE * factor);
        assert_eq!(
            found,
            [again(1), again(2), again(4), again(8), Unburied::Ends]
        );
        assert_eq!(burials.failed(8, PAUSE, now), again(1), "another one");
        assert!(burials.published());
        assert!(!burials.published());
    }

    #[test]
    fn after_a_while_each_has_one() {
        let (mut burials, now) = (Burials::default(), Instant::now());
        burials.failed(1, PAUSE, now);
        let later = now + PATIENCE;
        assert_eq!(burials.failed(2, PAUSE, later), Unburied::Ends);
        burials.published();
        let again = Unburied::Again(PAUSE);
        assert_eq!(
            burials.failed(3, PAUSE, later),
            again,
            "it worked meanwhile"
        );
    }

    #[test]
    fn what_is_remembered_and_said_is_bounded() {
        let (mut burials, now) = (Burials::default(), Instant::now());
        for sequence in 0..3 * MOST as u64 {
            burials.failed(sequence, PAUSE, now);
        }
        assert!(burials.tries.len() <= MOST);
        assert_eq!(burials.next_count(now), Some(1));
        assert_eq!(
            (burials.next_count(now), burials.next_count(now)),
            (None, None)
        );
        assert_eq!(burials.next_count(now + SAY_EVERY), Some(3));
    }
}
