//! Budgets of memory that the actors of this node share, in octets.
//!
//! Queues take what the bodies of their messages need (`queue.page_mib`), accounts what their submissions need until they
//! are durable (`smpp.intake_mib`). What one holder may have is said by [`FairShares`]: one that needs much leaves room for
//! those that need little. Invariant: what is taken is given back when it is dropped.

use std::sync::{Arc, Mutex};

use crate::actors::runtime::locks::lock;
use crate::domain::share::FairShares;

/// Octets are taken in steps, so that this is asked once in a while and not for each message.
const STEP: u64 = 256 * 1024;

/// A budget. Holders are queues or accounts, by their interned names.
#[derive(Default)]
pub struct OctetPool(Mutex<FairShares<u32>>);

/// Octets that are there in any case, until this is dropped.
pub struct HeldOctets {
    pool: Arc<OctetPool>,
    holder: u32,
    octets: u64,
}

/// What one holder has of a budget.
pub struct OctetShare {
    pool: Arc<OctetPool>,
    holder: u32,
    taken: u64,
}

// === impl OctetPool ===

impl OctetPool {
    /// Nothing yet, for this holder.
    pub fn holder(self: &Arc<Self>, holder: u32) -> OctetShare {
        OctetShare {
            pool: Arc::clone(self),
            holder,
            taken: 0,
        }
    }

    /// Counts octets that are there already. Whether their holder is within its share of `most` then.
    pub fn hold(self: &Arc<Self>, holder: u32, octets: u64, most: u64) -> (HeldOctets, bool) {
        let mut shares = lock(&self.0);
        shares.take(&holder, octets);
        let is_within = shares.may_take(&holder, 0, most);
        let held = HeldOctets {
            pool: Arc::clone(self),
            holder,
            octets,
        };
        (held, is_within)
    }

    /// Whether a holder is within its share of `most`.
    pub fn is_within(&self, holder: u32, most: u64) -> bool {
        lock(&self.0).may_take(&holder, 0, most)
    }

    /// What all holders have.
    pub fn taken(&self) -> u64 {
        lock(&self.0).all()
    }
}

// === impl HeldOctets ===

impl Drop for HeldOctets {
    fn drop(&mut self) {
        lock(&self.pool.0).give(&self.holder, self.octets);
    }
}

// === impl OctetShare ===

impl OctetShare {
    /// What it has.
    pub fn taken(&self) -> u64 {
        self.taken
    }

    /// Takes more of a budget of `most`, if it has not `wanted` yet; what it gets may be less.
    pub fn reach(&mut self, wanted: u64, most: u64) -> u64 {
        if wanted > self.taken {
            let more = (wanted - self.taken).next_multiple_of(STEP.min(most));
            self.taken += lock(&self.pool.0).take_up_to(&self.holder, more, most);
        }
        self.taken
    }

    /// Gives back what is beyond what it needs now.
    pub fn keep(&mut self, needed: u64) {
        let beyond = self.taken.saturating_sub(needed) / STEP * STEP;
        if beyond > 0 {
            self.give(beyond);
        }
    }

    fn give(&mut self, octets: u64) {
        lock(&self.pool.0).give(&self.holder, octets);
        self.taken -= octets;
    }
}

impl Drop for OctetShare {
    fn drop(&mut self) {
        self.give(self.taken);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOST: u64 = 64 * STEP;

    #[test]
    fn one_that_takes_all_it_can_leaves_room_for_others() {
        let pool = Arc::<OctetPool>::default();
        let mut greedy = pool.holder(1);
        assert_eq!(greedy.reach(MOST * 9, MOST), MOST / 2);
        let mut other = pool.holder(2);
        assert_eq!(other.reach(1, MOST), STEP);
        assert_eq!(other.reach(STEP, MOST), STEP, "it has that");
        greedy.keep(3 * STEP - 1);
        assert_eq!(greedy.taken(), 3 * STEP);
        drop((greedy, other));
        assert_eq!(pool.taken(), 0);
    }

    #[test]
    fn who_holds_more_than_its_share_waits_and_others_do_not() {
        let pool = Arc::<OctetPool>::default();
        let (first, is_within) = pool.hold(1, 40, 100);
        assert!(is_within);
        let (second, is_within) = pool.hold(1, 40, 100);
        assert!(!is_within);
        let (_other, is_within) = pool.hold(2, 10, 100);
        assert!(is_within && !pool.is_within(1, 100));
        drop(second);
        assert!(pool.is_within(1, 100));
        drop(first);
        assert_eq!(pool.taken(), 10);
    }
}
