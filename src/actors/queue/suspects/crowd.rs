//! A crowd of culprits at the head of a queue looks like a peer that ends every session, until another message is taken.
//!
//! So messages are passed over while none is answered: one, two, four and so on after each session that was ended. They are
//! set aside like suspects, and tried when others were answered or none is left. Invariant: no more are aside than
//! [`ACCUSED`].

use super::{ACCUSED, Suspects};
use crate::actors::context::item::Item;

/// Messages that are passed over to find one that the peer takes.
#[derive(Debug, Default)]
pub(super) struct PassedOver {
    /// How many more, before one is sent again.
    left: usize,
    /// How many after the next session that is ended.
    next: usize,
}

impl Suspects {
    /// Another session was ended, and none was answered since the one before.
    pub(super) fn pass_over_more(&mut self) {
        let passed_over = &mut self.passed_over;
        passed_over.left = passed_over.next.max(1);
        passed_over.next = (passed_over.left * 2).min(ACCUSED);
    }

    /// Whether there is room for more.
    pub fn may_pass_over(&self) -> bool {
        self.all.len() < ACCUSED
    }

    /// Whether this one, which would be sent now, is passed over, with so many behind it: of these, half are left. It is
    /// under suspicion then, and the caller sets it aside.
    pub fn passes_over(&mut self, item: &Item, behind: usize) -> bool {
        self.passed_over.left = self.passed_over.left.min(behind.div_ceil(2));
        if self.passed_over.left == 0 || !self.may_pass_over() {
            return false;
        }
        self.passed_over.left -= 1;
        self.suspect_later(item);
        true
    }

    /// It is tried after the present case.
    pub(super) fn suspect_later(&mut self, item: &Item) {
        self.entry(item);
        self.later.push(item.id);
    }
}
