//! A crowd of culprits at the head of a queue looks like a peer that ends every session, until another message is taken.
//!
//! So messages are passed over while none is answered: one, two, four and so on after each session that was ended. They are
//! set aside like suspects, and have their turn when others were answered or none is left. Invariants: no more are aside
//! than [`ACCUSED`], and who has ended a session while none was answered does so again only when all that are aside had
//! their turn.

use super::{ACCUSED, DOUBT, Suspects};
use crate::actors::context::item::Item;

/// So many sessions that were ended without an answer between are enough to find a message that the peer takes: twice as
/// many as twice as many each time lead through all that are aside.
const SEARCH: u32 = 32;

/// Messages that are passed over, to find one that the peer takes, and whose turn is next among them.
#[derive(Debug, Default)]
pub(super) struct PassedOver {
    /// How many more, before one is sent again.
    left: usize,
    /// How many after the next session that is ended.
    next: usize,
    /// Sessions that were ended since the last answer.
    ends: u32,
    /// Those that have not had their turn, in order.
    ids: Vec<u64>,
    /// Whose turn is next.
    at: usize,
    /// How many are tried together, if the peer takes some.
    group: usize,
}

// === impl PassedOver ===

impl PassedOver {
    /// Another session was ended, and nothing was answered since the one before: twice as many as then.
    pub(super) fn more(&mut self) {
        self.left = self.next.max(1);
        self.next = self.left.saturating_mul(2);
        self.ends = self.ends.saturating_add(1);
    }

    /// One was answered: none is passed over until sessions were ended again.
    pub(super) fn rest(&mut self) {
        (self.left, self.next, self.ends) = (0, 0, 0);
    }

    /// A session was ended: the next one is tried alone.
    pub(super) fn one_by_one(&mut self) {
        self.group = 0;
    }

    /// Whether the next message is one of them, with so many behind it: of these, half are left.
    fn has_one_more(&mut self, behind: usize) -> bool {
        self.left = self.left.min(behind.div_ceil(2));
        let has_one = self.left > 0;
        self.left -= usize::from(has_one);
        has_one
    }

    /// Those of the next try: one behind those that are passed over, or else the next ones, twice as many each time.
    fn take(&mut self, passes_over: bool) -> Vec<u64> {
        let count = self.ids.len();
        if self.at >= count {
            self.at = 0;
        }
        let behind = count - self.at;
        if passes_over {
            self.at += std::mem::take(&mut self.left).min(behind / 2);
            self.one_by_one();
        }
        self.group = self.group.saturating_mul(2).max(1);
        let end = count.min(self.at + self.group);
        self.ids.drain(self.at..end).collect()
    }
}

impl Suspects {
    /// Whether there is room for more.
    pub fn may_pass_over(&self) -> bool {
        self.all.len() < ACCUSED
    }

    /// Whether this one, which would be sent now with so many behind it, is passed over. It is under suspicion then, and
    /// the caller sets it aside.
    pub fn passes_over(&mut self, item: &Item, behind: usize) -> bool {
        let may = self.doubts_peer() && self.may_pass_over();
        let passes = may && self.passed_over.has_one_more(behind);
        if passes {
            self.entry(item);
            self.passed_over.ids.push(item.id);
        }
        passes
    }

    /// Different messages have ended sessions one after another, and none was answered between: one at a time shows
    /// whether the peer takes any.
    pub fn doubts_peer(&self) -> bool {
        self.enders.len() >= DOUBT
    }

    /// Whether it takes none of them, as far as can be found out soon. `others`: whether there are some that are not aside.
    pub fn gives_peer_up(&self, others: bool) -> bool {
        let is_searched = self.passed_over.ends >= SEARCH;
        self.doubts_peer() && (is_searched || !others && self.passed_over.ids.is_empty())
    }

    /// The next try of those that were passed over. When all had their turn and `may_repeat`, they begin again.
    pub(super) fn next_passed_over(&mut self, may_repeat: bool) -> Vec<u64> {
        let doubts = self.doubts_peer();
        let (aside, all) = (&self.aside, &self.all);
        // Who is accused is tried alone, and that rarely, if the peer takes others.
        let may = |id: &u64| {
            let is_accused = || all.get(id).is_some_and(|one| one.alone > 0);
            aside.contains_key(id) && (doubts || !is_accused())
        };
        self.passed_over.ids.retain(may);
        if self.passed_over.ids.is_empty() && may_repeat {
            let again = aside.keys().copied().filter(may);
            self.passed_over.ids.extend(again);
        }
        self.passed_over.take(doubts)
    }

    /// Those that were passed over wait for no try any longer, but for those that are accused.
    pub(super) fn acquit_passed_over(&mut self) {
        for id in self.passed_over.ids.drain(..) {
            if self.all.get(&id).is_some_and(|one| one.alone == 0) {
                self.all.remove(&id);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn twice_as_many_are_passed_over_each_time_but_never_all() {
        let mut passed_over = PassedOver::default();
        let mut of = |waiting: usize| {
            passed_over.more();
            let behind = (0..waiting).rev();
            behind
                .take_while(|behind| passed_over.has_one_more(*behind))
                .count()
        };
        assert_eq!([of(100), of(100), of(100), of(100)], [1, 2, 4, 8]);
        assert_eq!(
            [of(9), of(3), of(2), of(1)],
            [4, 1, 1, 0],
            "half of what is left"
        );
    }

    #[test]
    fn each_has_its_turn_in_few_steps_or_many_at_once() {
        let mut passed_over = PassedOver::default();
        passed_over.ids.extend(1..=20);
        let mut next = |doubts: bool| {
            passed_over.more();
            passed_over.take(doubts)
        };
        assert_eq!(next(true), [2]);
        assert_eq!(next(true), [5]);
        assert_eq!(next(true), [10]);
        assert_eq!(next(true), [16], "half of those behind it");
        assert_eq!(
            [next(false), next(false), next(false)],
            [vec![17, 18], vec![19, 20], vec![1, 3, 4, 6, 7, 8, 9, 11]]
        );
        passed_over.one_by_one();
        assert_eq!(passed_over.take(false), [12]);
    }
}
