//! How far the callbacks about messages have come, so that no state is sent behind a later one.
//!
//! A queue gives states in the order of the commits that made them, but for two commits at once: what is passed on by
//! two actors may change places. Held by the actor of a queue's callbacks, for messages that ask for states; the oldest
//! are forgotten, because nothing changes places with what came thousands later.

use std::collections::{HashMap, VecDeque};

/// Messages that are remembered.
const MOST: usize = 4096;

/// The highest rank of a state of each message, as `domain/callback/states.rs` counts them.
#[derive(Debug, Default)]
pub struct LatestStates {
    ranks: HashMap<u64, u64, ahash::RandomState>,
    order: VecDeque<u64>,
}

// === impl LatestStates ===

impl LatestStates {
    /// Notes that a state of this rank is about to be sent. False if a later one was: then it must not be.
    pub fn advance(&mut self, message: u64, rank: u64) -> bool {
        if let Some(highest) = self.ranks.get_mut(&message) {
            let is_next = *highest <= rank;
            *highest = rank.max(*highest);
            return is_next;
        }
        if self.order.len() >= MOST
            && let Some(oldest) = self.order.pop_front()
        {
            self.ranks.remove(&oldest);
        }
        self.order.push_back(message);
        self.ranks.insert(message, rank);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_may_come_again_but_not_behind_a_later_one() {
        let mut latest = LatestStates::default();
        assert!(latest.advance(7, 2));
        assert!(latest.advance(7, 2), "a repetition");
        assert!(latest.advance(7, 5));
        assert!(!latest.advance(7, 2));
        assert!(latest.advance(8, 2), "another message");
    }

    #[test]
    fn its_memory_is_bounded() {
        let mut latest = LatestStates::default();
        for message in 0..2 * MOST as u64 {
            assert!(latest.advance(message, 1));
        }
        assert_eq!((latest.ranks.len(), latest.order.len()), (MOST, MOST));
        assert!(latest.advance(0, 0), "forgotten");
        assert!(!latest.advance(2 * MOST as u64 - 1, 0));
    }
}
