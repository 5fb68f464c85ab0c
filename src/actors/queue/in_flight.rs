//! What was handed out and has not ended here: with a session, of unknown outcome, or waiting again after
//! an attempt that may be answered late.
//!
//! Used by the actions that grant and settle. Keeps true that a message is with one session at a time, whose
//! word alone counts, and that a crash repeats no more attempts than [`InFlight::room`] allows.

use std::collections::HashMap;

use super::partition_set::Parts;
use crate::actors::context::item::Item;
use crate::actors::context::unwritten::{Pace, Unwritten};

/// Most attempts without an answer whose sender is remembered.
const TIMED_OUT: usize = 65_536;

#[derive(Default)]
pub(super) struct InFlight {
    held: HashMap<u64, HeldItem, ahash::RandomState>,
    /// Outcome unknown, policy `wait`: until when (Unix ms) an answer may still come.
    unsure: HashMap<u64, (i64, Item), ahash::RandomState>,
    /// Unanswered for too long, waiting again: whose they are, should the answer come after all.
    timed_out: HashMap<u64, u32, ahash::RandomState>,
    /// At which attempts become durable.
    pace: Pace,
}

/// An item that a session has.
pub(super) struct HeldItem {
    pub(super) session: u64,
    pub(super) item: Item,
    /// Sent to try whether the operator works again.
    pub(super) probe: bool,
}

// === impl InFlight ===

impl InFlight {
    /// With sessions or of unknown outcome.
    pub(super) fn len(&self) -> usize {
        self.held.len() + self.unsure.len()
    }

    /// With sessions.
    pub(super) fn held_len(&self) -> usize {
        self.held.len()
    }

    pub(super) fn is_held(&self, id: u64) -> bool {
        self.held.contains_key(&id)
    }

    /// All of them, without what waits again.
    pub(super) fn items(&self) -> impl Iterator<Item = Item> {
        let unsure = self.unsure.values().map(|(_, item)| *item);
        self.held.values().map(|held| held.item).chain(unsure)
    }

    /// The partitions of what sessions have.
    pub(super) fn held_parts(&self) -> Parts {
        Parts::of(self.held.values().map(|held| held.item.part))
    }

    // --- with a session

    /// A session is given an item; an answer to an earlier attempt means nothing any more.
    pub(super) fn hold(&mut self, held: HeldItem) {
        if !self.timed_out.is_empty() {
            self.timed_out.remove(&held.item.id);
        }
        self.held.insert(held.item.id, held);
    }

    /// A session has reported that it has this one.
    pub(super) fn hold_reported(&mut self, session: u64, item: Item) {
        let held = HeldItem {
            session,
            item,
            probe: false,
        };
        self.held.insert(item.id, held);
    }

    /// It has been done, whoever says so.
    pub(super) fn settle(&mut self, id: u64) -> Option<HeldItem> {
        self.held.remove(&id)
    }

    /// Takes back what this session has. Given to another session since, its word is too old.
    pub(super) fn take_back(&mut self, session: u64, id: u64) -> Option<HeldItem> {
        let held = self.held.get(&id)?;
        match held.session == session {
            true => self.held.remove(&id),
            false => None,
        }
    }

    /// Whether this session has it.
    pub(super) fn is_with(&self, session: u64, id: u64) -> bool {
        let held = self.held.get(&id);
        held.is_some_and(|held| held.session == session)
    }

    /// What this session has.
    pub(super) fn held_by(&self, session: u64) -> impl Iterator<Item = u64> {
        let held = self.held.iter();
        held.filter(move |(_, held)| held.session == session)
            .map(|(id, _)| *id)
    }

    /// Goes on with what sessions had before the lists were thrown away.
    pub(super) fn keep_held(&mut self, earlier: &mut Self) {
        self.held = std::mem::take(&mut earlier.held);
    }

    // --- of unknown outcome

    /// Nobody knows what became of an attempt; an answer may come until then (Unix ms).
    pub(super) fn wait_for_receipt(&mut self, item: Item, until: i64) {
        self.unsure.insert(item.id, (until, item));
    }

    pub(super) fn is_unsure(&self, id: u64) -> bool {
        self.unsure.contains_key(&id)
    }

    /// The answer has come after all.
    pub(super) fn take_unsure(&mut self, id: u64) -> Option<Item> {
        self.unsure.remove(&id).map(|(_, item)| item)
    }

    pub(super) fn has_unsure(&self) -> bool {
        !self.unsure.is_empty()
    }

    /// Takes what no answer came for in time.
    pub(super) fn take_unanswered(&mut self, now: i64) -> Vec<Item> {
        let late = self.unsure.extract_if(|_, (until, _)| *until <= now);
        late.map(|(_, (_, item))| item).collect()
    }

    /// Forgets what waits for answers in these partitions; it is all in the store.
    pub(super) fn forget_unsure(&mut self, parts: Parts) {
        self.unsure.retain(|_, (_, item)| !parts.has(item.part));
    }

    // --- waiting again

    /// An attempt was not answered in time: its item waits again.
    pub(super) fn remember_timed_out(&mut self, item: &Item) {
        if self.timed_out.len() >= TIMED_OUT {
            // Those of the others are looked for at every account.
            self.timed_out.clear();
        }
        self.timed_out.insert(item.id, item.sender);
    }

    /// Whose it is, if it waits again; asked once.
    pub(super) fn take_timed_out(&mut self, id: u64) -> Option<u32> {
        self.timed_out.remove(&id)
    }

    // --- how many more

    /// Looks how many attempts become durable.
    pub(super) fn look(&mut self, unwritten: &Unwritten) {
        self.pace.look(unwritten);
    }

    /// How many more attempts may be unwritten: unanswered and answered ones together stay within the
    /// windows of the sessions, one commit, and what becomes durable in a moment.
    pub(super) fn room(&self, windows: u64, commit: usize, unwritten: &Unwritten) -> u32 {
        let most = windows + commit as u64 + self.pace.in_a_moment();
        let made = self.held.len() as u64 + unwritten.count();
        u32::try_from(most.saturating_sub(made)).unwrap_or(u32::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pb::delivery::What;

    fn item(id: u64, part: u8) -> Item {
        Item {
            id,
            expires: u32::MAX,
            attempts: 0,
            priority: 0,
            what: What::Message,
            part,
            sender: 9,
        }
    }

    #[test]
    fn only_the_session_that_has_it_gives_it_back() {
        let mut in_flight = InFlight::default();
        in_flight.hold_reported(1, item(7, 0));
        in_flight.hold_reported(2, item(7, 0));
        assert!(in_flight.take_back(1, 7).is_none(), "given to another one");
        assert_eq!(in_flight.held_by(2).collect::<Vec<_>>(), [7]);
        let held = in_flight.take_back(2, 7).expect("the other one has it");
        assert_eq!((held.item.id, in_flight.len()), (7, 0));
    }

    #[test]
    fn a_late_answer_belongs_to_the_attempt_before() {
        let mut in_flight = InFlight::default();
        in_flight.remember_timed_out(&item(7, 0));
        in_flight.remember_timed_out(&item(8, 0));
        assert_eq!(in_flight.take_timed_out(8), Some(9));
        in_flight.hold(HeldItem {
            session: 1,
            item: item(7, 0),
            probe: false,
        });
        assert_eq!(in_flight.take_timed_out(7), None, "it is tried again");
    }

    #[test]
    fn what_is_unanswered_ends_in_its_time_and_leaves_with_its_partition() {
        let mut in_flight = InFlight::default();
        in_flight.wait_for_receipt(item(1, 0), 100);
        in_flight.wait_for_receipt(item(2, 0), 200);
        in_flight.wait_for_receipt(item(3, 5), 100);
        in_flight.forget_unsure(Parts::of([5]));
        assert_eq!(in_flight.take_unanswered(100), [item(1, 0)]);
        assert_eq!(in_flight.take_unsure(2), Some(item(2, 0)));
        assert!(!in_flight.has_unsure());
    }

    #[test]
    fn attempts_stay_within_windows_and_one_commit() {
        let mut in_flight = InFlight::default();
        let unwritten = Unwritten::default();
        assert_eq!(in_flight.room(3, 5, &unwritten), 8);
        in_flight.hold_reported(1, item(7, 0));
        unwritten.add(6);
        assert_eq!(in_flight.room(3, 5, &unwritten), 1);
        unwritten.add(6);
        assert_eq!(in_flight.room(3, 5, &unwritten), 0);
    }
}
