//! What the store has and the queue did not know when it was asked last.
//!
//! Filled by the comparison that the janitor asks for. Keeps true that only what was missed in the round
//! before, unchanged in the store, without having come into the queue in between, counts as lost.

use std::collections::HashMap;

use crate::actors::context::item::Seed;
use crate::pb::delivery::What;

/// As the store had it, and in which round.
#[derive(Debug, Default)]
pub(super) struct Misses(HashMap<(u64, What), (Seed, u64), ahash::RandomState>);

// === impl Misses ===

impl Misses {
    /// It has come into the queue after all.
    pub(super) fn forget(&mut self, id: u64, what: What) {
        if !self.0.is_empty() {
            self.0.remove(&(id, what));
        }
    }

    /// A round of questions begins, or goes on: only the one before it counts.
    pub(super) fn begin_round(&mut self, round: u64) {
        self.0.retain(|_, (_, in_round)| *in_round + 1 >= round);
    }

    /// Whether one that is missed in this round is lost: it was missed before.
    pub(super) fn is_lost(&mut self, seed: Seed, round: u64) -> bool {
        let key = (seed.item.id, seed.item.what);
        match self.0.get(&key) {
            Some((before, in_round)) if *before == seed && *in_round < round => true,
            _ => {
                self.0.insert(key, (seed, round));
                false
            }
        }
    }
}
