//! A crowd of culprits at the head of a queue looks like a peer that ends every session, until another message is taken.
//!
//! So messages are passed over while none is answered: one, two, four and so on after each session that was ended. They are
//! set aside like suspects, and tried when others were answered or none is left. Invariant: no more are aside than
//! [`ACCUSED`].

use super::{ACCUSED, Suspects};
use crate::actors::context::item::Item;

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
            self.suspect_later(item);
        }
        passes
    }

    /// It is tried after the present case.
    pub(super) fn suspect_later(&mut self, item: &Item) {
        self.entry(item);
        self.later.push(item.id);
    }
}
