//! Messages that the store has and the queue did not know at the last comparison.
//!
//! Filled by the comparison that the janitor requests. Invariant: a message counts as lost only if the
//! previous round missed it too, it is unchanged in the store, and it has not entered the queue in
//! between.

use std::collections::HashMap;

use crate::actors::context::item::Seed;
use crate::pb::delivery::What;

/// Each as the store had it, and in which round.
#[derive(Debug, Default)]
pub(super) struct Misses(HashMap<(u64, What), (Seed, u64), ahash::RandomState>);

// === impl Misses ===

impl Misses {
    /// It has entered the queue after all.
    pub(super) fn forget(&mut self, id: u64, what: What) {
        if !self.0.is_empty() {
            self.0.remove(&(id, what));
        }
    }

    /// A round begins or continues: only misses of this round and the one before count.
    pub(super) fn begin_round(&mut self, round: u64) {
        self.0.retain(|_, (_, in_round)| *in_round + 1 >= round);
    }

    /// Whether a message missed in this round is lost: the previous round missed it, too.
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
