//! A crowd of culprits at the head of a queue looks like a peer that ends every session, until another message is taken.
//!
//! So messages are passed over while none is answered: one, two, four and so on after each session that was ended. They are
//! set aside like suspects, and have their turn when others were answered or none is left. Invariants: no more are aside
//! than [`ACCUSED`], and who has ended a session while none was answered does so again only when all that are aside had
//! their turn.

use super::{ACCUSED, DOUBT, Suspects};
use crate::actors::context::item::Item;

/// After so many sessions in a row that were ended without an answer, the peer is given up for now. Twice as many are passed
/// over each time, so a dozen lead through all in the lists, and another dozen through all that are aside.
const SEARCH: u32 = 32;

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
