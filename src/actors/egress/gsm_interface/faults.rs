//! Subscribers whose message has failed although nothing is known to be wrong with them: of one subscriber a failure
//! counts once for the circuit breaker of the network, so that one number cannot stop all others.
//!
//! Pure; held by the interface. Invariants: a failure counts again when another message has shown since that the network
//! works, and no earlier than the breaker has forgotten the one before; memory is bounded.

use std::collections::HashMap;

use tokio::time::Instant;

use crate::domain::breaker::WINDOW;

/// Most subscribers that are remembered.
const MOST: usize = 65_536;

/// Whose failures have counted.
#[derive(Debug, Default)]
pub struct Faults {
    /// By subscriber, when a failure counted, and in which row.
    counted: HashMap<String, (Instant, u64), ahash::RandomState>,
    /// Failures in a row end with an answer that shows that the network works.
    row: u64,
}

// === impl Faults ===

impl Faults {
    /// The network has answered as one that works.
    pub fn worked(&mut self) {
        self.row += 1;
    }

    /// A message to a subscriber has failed; whether a failure of that one has counted already.
    pub fn is_repeated(&mut self, subscriber: &str, now: Instant) -> bool {
        let row = self.row;
        let is_kept = |at: Instant, of_row: u64| of_row == row || now.duration_since(at) < WINDOW;
        if let Some((at, of_row)) = self.counted.get_mut(subscriber) {
            if is_kept(*at, *of_row) {
                return true;
            }
            (*at, *of_row) = (now, row);
            return false;
        }
        if self.counted.len() >= MOST {
            self.counted.retain(|_, (at, of_row)| is_kept(*at, *of_row));
        }
        if self.counted.len() >= MOST {
            self.counted.clear();
        }
        self.counted.insert(subscriber.to_owned(), (now, row));
        false
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const MINUTE: Duration = Duration::from_secs(60);

    #[test]
    fn a_subscriber_counts_once_in_a_row() {
        let (mut faults, now) = (Faults::default(), Instant::now());
        assert!(!faults.is_repeated("1", now));
        assert!(faults.is_repeated("1", now + MINUTE));
        assert!(!faults.is_repeated("2", now + MINUTE));
        faults.worked();
        assert!(!faults.is_repeated("1", now + MINUTE));
    }

    #[test]
    fn and_once_in_the_time_over_which_a_share_is_measured() {
        let (mut faults, now) = (Faults::default(), Instant::now());
        assert!(!faults.is_repeated("1", now));
        faults.worked();
        assert!(faults.is_repeated("1", now + WINDOW / 2));
        assert!(!faults.is_repeated("1", now + WINDOW));
    }

    #[test]
    fn memory_is_bounded() {
        let (mut faults, now) = (Faults::default(), Instant::now());
        for subscriber in 0..=2 * MOST {
            assert!(!faults.is_repeated(&subscriber.to_string(), now));
            assert!(faults.counted.len() <= MOST);
        }
    }
}
