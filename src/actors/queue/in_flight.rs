//! Messages that were handed out and have not ended here: held by a session, of unknown outcome, or waiting
//! again after an attempt that may still be answered late.
//!
//! Used by the actions that grant and settle. Invariants: a message is with one session at a time, and only
//! that session can settle it; a crash repeats no more attempts than [`QueueInFlight::room`] allows.

use std::collections::HashMap;

use super::partition_set::PartitionSet;
use crate::actors::context::item::Item;
use crate::actors::context::unwritten::{DurablePace, Unwritten};
use crate::pb::{Delivery, Message};

/// Most unanswered attempts whose sender is remembered.
const TIMED_OUT: usize = 65_536;

#[derive(Default)]
pub(super) struct QueueInFlight {
    held: HashMap<u64, HeldItem, ahash::RandomState>,
    /// Outcome unknown, policy `wait`: until when (Unix ms) a receipt may still come.
    unsure: HashMap<u64, (i64, Item), ahash::RandomState>,
    /// Waiting again after an attempt without an answer: the sender of each, in case the answer comes
    /// late.
    timed_out: HashMap<u64, u32, ahash::RandomState>,
    /// The rate at which attempts become durable.
    pace: DurablePace,
}

/// An item that a session holds.
pub(super) struct HeldItem {
    pub(super) session: u64,
    pub(super) item: Item,
    /// Sent to probe whether the operator works again.
    pub(super) probe: bool,
    /// The grant with which the session was given it: how many had been granted before.
    pub(super) grant: u64,
}

// === impl QueueInFlight ===

impl QueueInFlight {
    /// Messages with sessions or of unknown outcome.
    pub(super) fn len(&self) -> usize {
        self.held.len() + self.unsure.len()
    }

    /// Messages with sessions.
    pub(super) fn held_len(&self) -> usize {
        self.held.len()
    }

    pub(super) fn is_held(&self, id: u64) -> bool {
        self.held.contains_key(&id)
    }

    /// All items, without those that wait again.
    pub(super) fn items(&self) -> impl Iterator<Item = Item> {
        let unsure = self.unsure.values().map(|(_, item)| *item);
        self.held.values().map(|held| held.item).chain(unsure)
    }

    /// The partitions of messages that sessions hold.
    pub(super) fn held_parts(&self) -> PartitionSet {
        PartitionSet::of(self.held.values().map(|held| held.item.part))
    }

    // --- with a session

    /// A session is given an item; late answers to an earlier attempt no longer count.
    pub(super) fn hold(&mut self, held: HeldItem) {
        if !self.timed_out.is_empty() {
            self.timed_out.remove(&held.item.id);
        }
        self.held.insert(held.item.id, held);
    }

    /// Holds an item, and makes the delivery that the session is given.
    pub(super) fn give(&mut self, held: HeldItem, message: Box<Message>) -> Delivery {
        let item = held.item;
        self.hold(held);
        Delivery {
            what: item.what.into(),
            id: item.id,
            attempt: u32::from(item.attempts) + 1,
            message: Some(message),
            expires: item.expires,
        }
    }

    /// A session has reported that it holds this item.
    pub(super) fn hold_reported(&mut self, session: u64, item: Item) {
        let held = HeldItem {
            session,
            item,
            probe: false,
            grant: 0,
        };
        self.held.insert(item.id, held);
    }

    /// Removes a settled item, whichever session holds it.
    pub(super) fn settle(&mut self, id: u64) -> Option<HeldItem> {
        self.held.remove(&id)
    }

    /// Takes back an item from this session; `None` if another session holds it now.
    pub(super) fn take_back(&mut self, session: u64, id: u64) -> Option<HeldItem> {
        let held = self.held.get(&id)?;
        if held.session == session {
            self.held.remove(&id)
        } else {
            None
        }
    }

    /// Whether this session holds it.
    pub(super) fn is_with(&self, session: u64, id: u64) -> bool {
        let held = self.held.get(&id);
        held.is_some_and(|held| held.session == session)
    }

    /// Whether this session holds it since this grant: it may have ended since, and be there again.
    pub(super) fn is_with_since(&self, session: u64, grant: u64, id: u64) -> bool {
        let held = self.held.get(&id);
        held.is_some_and(|held| held.session == session && held.grant == grant)
    }

    /// The item, if this session holds it.
    pub(super) fn held_item(&self, session: u64, id: u64) -> Option<Item> {
        let held = self.held.get(&id)?;
        (held.session == session).then_some(held.item)
    }

    /// The ids that this session holds.
    pub(super) fn held_by(&self, session: u64) -> impl Iterator<Item = u64> {
        let held = self.held.iter();
        held.filter(move |(_, held)| held.session == session)
            .map(|(id, _)| *id)
    }

    /// Takes over what sessions held before the lists were discarded.
    pub(super) fn keep_held(&mut self, earlier: &mut Self) {
        self.held = std::mem::take(&mut earlier.held);
    }

    /// Takes what sessions hold.
    pub(super) fn take_held(&mut self) -> impl Iterator<Item = Item> {
        let held = std::mem::take(&mut self.held);
        held.into_values().map(|held| held.item)
    }

    /// Goes on measuring where the lists that were discarded had measured.
    pub(super) fn keep_pace(&mut self, earlier: &mut Self) {
        self.pace = std::mem::take(&mut earlier.pace);
    }

    // --- of unknown outcome

    /// The outcome of an attempt is unknown; an answer may come until `until` (Unix ms).
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

    /// Takes items for which no answer came in time.
    pub(super) fn take_unanswered(&mut self, now: i64) -> Vec<Item> {
        let late = self.unsure.extract_if(|_, (until, _)| *until <= now);
        late.map(|(_, (_, item))| item).collect()
    }

    /// Forgets items of unknown outcome in these partitions; the store has them all.
    pub(super) fn forget_unsure(&mut self, parts: PartitionSet) {
        self.unsure.retain(|_, (_, item)| !parts.has(item.part));
    }

    // --- waiting again

    /// An attempt was not answered in time: its item waits again.
    pub(super) fn remember_timed_out(&mut self, item: &Item) {
        if self.timed_out.len() >= TIMED_OUT {
            // For forgotten ids, a late answer searches the lists of all accounts.
            self.timed_out.clear();
        }
        self.timed_out.insert(item.id, item.sender);
    }

    /// The sender of an item that waits again; forgets it.
    pub(super) fn take_timed_out(&mut self, id: u64) -> Option<u32> {
        self.timed_out.remove(&id)
    }

    // --- how many more

    /// Measures how fast attempts become durable.
    pub(super) fn look(&mut self, unwritten: &Unwritten) {
        self.pace.look(unwritten);
    }

    /// Whether attempts become durable as fast as this machine allows.
    pub(super) fn is_fast(&self) -> bool {
        self.pace.is_fast()
    }

    /// How many more attempts may be unwritten: unanswered and answered ones together stay within the
    /// windows of the sessions, one commit, and what becomes durable in a moment. `under_way`: those that are unanswered.
    pub(super) fn room(
        &self,
        windows: u64,
        commit: usize,
        under_way: usize,
        unwritten: &Unwritten,
    ) -> u32 {
        let most = windows + commit as u64 + self.pace.in_a_moment();
        let made = under_way as u64 + unwritten.count();
        u32::try_from(most.saturating_sub(made)).unwrap_or(u32::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(id: u64, part: u8) -> Item {
        Item {
            part,
            sender: 9,
            ..Item::message(id)
        }
    }

    #[test]
    fn only_the_session_that_has_it_gives_it_back() {
        let mut in_flight = QueueInFlight::default();
        in_flight.hold_reported(1, item(7, 0));
        in_flight.hold_reported(2, item(7, 0));
        assert!(in_flight.take_back(1, 7).is_none(), "given to another one");
        assert_eq!(in_flight.held_by(2).collect::<Vec<_>>(), [7]);
        let held = in_flight.take_back(2, 7).expect("the other one has it");
        assert_eq!((held.item.id, in_flight.len()), (7, 0));
    }

    #[test]
    fn a_late_answer_belongs_to_the_attempt_before() {
        let mut in_flight = QueueInFlight::default();
        in_flight.remember_timed_out(&item(7, 0));
        in_flight.remember_timed_out(&item(8, 0));
        assert_eq!(in_flight.take_timed_out(8), Some(9));
        in_flight.hold(HeldItem {
            session: 1,
            item: item(7, 0),
            probe: false,
            grant: 1,
        });
        assert_eq!(in_flight.take_timed_out(7), None, "it is tried again");
    }

    #[test]
    fn what_is_unanswered_ends_in_its_time_and_leaves_with_its_partition() {
        let mut in_flight = QueueInFlight::default();
        in_flight.wait_for_receipt(item(1, 0), 100);
        in_flight.wait_for_receipt(item(2, 0), 200);
        in_flight.wait_for_receipt(item(3, 5), 100);
        in_flight.forget_unsure(PartitionSet::of([5]));
        assert_eq!(in_flight.take_unanswered(100), [item(1, 0)]);
        assert_eq!(in_flight.take_unsure(2), Some(item(2, 0)));
        assert!(!in_flight.has_unsure());
    }

    #[test]
    fn attempts_stay_within_windows_and_one_commit() {
        let mut in_flight = QueueInFlight::default();
        let unwritten = Unwritten::default();
        assert_eq!(in_flight.room(3, 5, in_flight.held_len(), &unwritten), 8);
        in_flight.hold_reported(1, item(7, 0));
        unwritten.add(6);
        assert_eq!(in_flight.room(3, 5, in_flight.held_len(), &unwritten), 1);
        unwritten.add(6);
        assert_eq!(in_flight.room(3, 5, in_flight.held_len(), &unwritten), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn what_became_durable_before_the_lists_were_discarded_is_no_pace() {
        let (unwritten, mut before) = (Unwritten::default(), QueueInFlight::default());
        unwritten.add(1_000);
        unwritten.written(1_000);
        let time = std::time::Duration::from_millis(100);
        tokio::time::advance(time).await;
        before.look(&unwritten);
        assert_eq!(before.room(3, 5, before.held_len(), &unwritten), 208);
        let mut after = QueueInFlight::default();
        after.keep_pace(&mut before);
        tokio::time::advance(time).await;
        after.look(&unwritten);
        assert_eq!(after.room(3, 5, after.held_len(), &unwritten), 8);
    }
}
