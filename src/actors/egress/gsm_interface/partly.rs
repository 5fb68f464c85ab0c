//! How many TPDUs of a message of several its handset has already, while the message waits for its next attempt.
//!
//! A message may expire, or be cancelled, before that: nothing tells it here. So there is room for so many, and the one
//! that was accepted first makes room for the next.

use std::collections::BTreeMap;

/// Messages that are remembered.
const MOST: usize = 4096;

/// By id: the oldest is first.
#[derive(Default)]
pub(super) struct Partly(BTreeMap<u64, usize>);

// === impl Partly ===

impl Partly {
    /// Remembers how many have arrived, unless it is none.
    pub(super) fn keep(&mut self, id: u64, arrived: usize) {
        if arrived == 0 {
            return;
        }
        self.0.insert(id, arrived);
        if self.0.len() > MOST {
            self.0.pop_first();
        }
    }

    /// How many have arrived; forgets it.
    pub(super) fn take(&mut self, id: u64) -> usize {
        self.0.remove(&id).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_makes_room() {
        let mut partly = Partly::default();
        partly.keep(7, 0);
        assert!(partly.0.is_empty());
        let all = 1..=MOST as u64 + 1;
        all.clone().for_each(|id| partly.keep(id, 2));
        assert_eq!(partly.0.len(), MOST);
        assert_eq!(partly.take(*all.start()), 0);
        assert_eq!((partly.take(*all.end()), partly.take(*all.end())), (2, 0));
    }
}
