//! Shares of a pool that has an end: places, entries or octets that several holders want.
//!
//! A holder is an account, an operator, an address, a queue or a user of the machine. Two rules, for two kinds of pools:
//!
//! - What cannot be taken back (a place, a key that is remembered, octets under way) is given while its holder has no more
//!   than half of what the others leave ([`FairShares::try_take`]). So one holder alone has at most half, two have a third
//!   each, and a holder that has nothing finds something as long as anything is free.
//! - What can be given up (a part that waits, a receipt that matched nothing) may fill the pool. When that is full, what
//!   is given up belongs to the holder with the most ([`FairShares::largest`]), so nobody loses what is below its fair part.
//!
//! Pure. Invariant: what a holder has is what it took less what it gave, and never below 0; holders that have nothing
//! take no memory.

use std::collections::HashMap;
use std::hash::Hash;

/// What each holder has of a pool.
#[derive(Debug, Clone)]
pub struct FairShares<H> {
    held: HashMap<H, u64, ahash::RandomState>,
    all: u64,
}

// === impl FairShares ===

impl<H> Default for FairShares<H> {
    fn default() -> Self {
        Self {
            held: HashMap::default(),
            all: 0,
        }
    }
}

impl<H: Eq + Hash + Clone> FairShares<H> {
    /// What all holders have.
    pub fn all(&self) -> u64 {
        self.all
    }

    /// What this one has.
    pub fn of(&self, holder: &H) -> u64 {
        self.held.get(holder).copied().unwrap_or_default()
    }

    /// How many holders have something.
    pub fn holders(&self) -> usize {
        self.held.len()
    }

    /// What a holder may have of a pool of `most`: half of what the others leave.
    pub fn most_of(&self, holder: &H, most: u64) -> u64 {
        let others = self.all - self.of(holder);
        most.saturating_sub(others).div_ceil(2)
    }

    /// Whether a holder may have that much more of a pool of `most`.
    pub fn may_take(&self, holder: &H, amount: u64, most: u64) -> bool {
        self.of(holder).saturating_add(amount) <= self.most_of(holder, most)
    }

    /// Takes that much of a pool of `most`, if the holder [may](Self::may_take).
    pub fn try_take(&mut self, holder: &H, amount: u64, most: u64) -> bool {
        let may = self.may_take(holder, amount, most);
        if may {
            self.take(holder, amount);
        }
        may
    }

    /// Takes as much of it as the holder may have; returns how much.
    pub fn take_up_to(&mut self, holder: &H, amount: u64, most: u64) -> u64 {
        let room = self.most_of(holder, most).saturating_sub(self.of(holder));
        let taken = amount.min(room);
        self.take(holder, taken);
        taken
    }

    /// Takes that much in any case: for what is there already, and pools whose content can be given up.
    pub fn take(&mut self, holder: &H, amount: u64) {
        if amount == 0 {
            return;
        }
        self.all += amount;
        match self.held.get_mut(holder) {
            Some(held) => *held += amount,
            None => drop(self.held.insert(holder.clone(), amount)),
        }
    }

    /// Gives that much back; no more than it has.
    pub fn give(&mut self, holder: &H, amount: u64) {
        let Some(held) = self.held.get_mut(holder) else {
            return;
        };
        let given = amount.min(*held);
        *held -= given;
        self.all -= given;
        if *held == 0 {
            self.held.remove(holder);
        }
    }

    /// The holder that has the most; costs a look at each.
    pub fn largest(&self) -> Option<&H> {
        let largest = self.held.iter().max_by_key(|(_, held)| **held);
        largest.map(|(holder, _)| holder)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use proptest::prelude::*;

    use super::*;

    /// Each of these takes one at a time in turns until none may.
    fn filled(holders: u8, most: u64) -> FairShares<u8> {
        let mut shares = FairShares::default();
        while (0..holders)
            .filter(|one| shares.try_take(one, 1, most))
            .count()
            > 0
        {}
        shares
    }

    #[test]
    fn one_alone_has_half_and_more_have_equal_parts() {
        assert_eq!(filled(1, 100).all(), 50);
        let three = filled(3, 100);
        assert_eq!([three.of(&0), three.of(&1), three.of(&2)], [25, 25, 25]);
        assert!(
            three.may_take(&9, 1, 100),
            "who has nothing finds something"
        );
        let least = filled(1, 1);
        assert_eq!(least.all(), 1, "a pool of one can be used");
    }

    #[test]
    fn some_of_what_is_wanted() {
        let mut shares = FairShares::default();
        assert_eq!(shares.take_up_to(&1, 1_000, 100), 50);
        assert_eq!(shares.take_up_to(&1, 1, 100), 0);
        assert_eq!(shares.take_up_to(&2, 10, 100), 10);
        assert_eq!(shares.take_up_to(&2, 1_000, 100), 15);
        shares.give(&1, 30);
        assert_eq!(shares.take_up_to(&2, 1_000, 100), 15);
        assert_eq!((shares.of(&1), shares.of(&2)), (20, 40));
    }

    #[test]
    fn who_comes_last_finds_something_as_long_as_anything_is_free() {
        let mut shares = FairShares::default();
        for holder in 0..20_u8 {
            while shares.try_take(&holder, 1, 1_000) {}
            let had = shares.of(&holder);
            assert_eq!(had > 0, holder < 10, "{holder} got {had}");
        }
        shares.give(&0, 100);
        assert!(shares.may_take(&19, 1, 1_000));
        assert!(
            !shares.may_take(&0, 1, 1_000),
            "it still has more than that"
        );
    }

    proptest! {
        #[test]
        fn what_is_taken_less_what_is_given(
            steps in prop::collection::vec((0..5_u8, 0..50_u64, any::<bool>()), 0..200),
            most in 1..500_u64,
        ) {
            let mut shares = FairShares::default();
            let mut model = HashMap::<u8, u64>::new();
            for (holder, amount, takes) in steps {
                let before = model.get(&holder).copied().unwrap_or_default();
                let free = most - model.values().sum::<u64>();
                let fair = (free + before).div_ceil(2);
                if !takes {
                    shares.give(&holder, amount);
                    model.insert(holder, before.saturating_sub(amount));
                } else if shares.try_take(&holder, amount, most) {
                    prop_assert!(amount == 0 || before + amount <= fair);
                    model.insert(holder, before + amount);
                } else {
                    prop_assert!(before + amount > fair);
                    prop_assert!(before > 0 || amount > 1 || free == 0, "a reserve for who has nothing");
                }
                prop_assert_eq!(shares.of(&holder), model.get(&holder).copied().unwrap_or_default());
                prop_assert_eq!(shares.all(), model.values().sum::<u64>());
                prop_assert!(shares.all() <= most);
                let have = model.values().filter(|held| **held > 0);
                prop_assert_eq!(shares.holders(), have.count());
                let largest = shares.largest().map(|one| model[one]);
                prop_assert_eq!(largest, model.values().copied().filter(|held| *held > 0).max());
            }
        }

        #[test]
        fn giving_up_the_largest_takes_nobody_below_the_fair_part(
            amounts in prop::collection::vec(1..1_000_u64, 1..20),
            most in 1..2_000_u64,
        ) {
            let mut shares = FairShares::default();
            for (holder, amount) in amounts.iter().enumerate() {
                shares.take(&holder, *amount);
            }
            while shares.all() > most {
                let largest = *shares.largest().unwrap();
                shares.give(&largest, 1);
            }
            let fair = most / amounts.len() as u64;
            for (holder, amount) in amounts.iter().enumerate() {
                prop_assert!(shares.of(&holder) >= (*amount).min(fair));
            }
        }
    }
}
