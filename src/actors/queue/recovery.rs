//! What a queue knows about reading its lists from the store: whether it must, what arrives meanwhile, and
//! what was read.
//!
//! Used by the actor and the action that reads. Invariants: nothing is granted before the store is read and
//! each session has reported what it holds or timed out; settlements and items that arrive meanwhile are
//! kept; and no item is taken twice, from the store and from a dispatch.

use std::collections::{HashMap, HashSet};

use super::misses::Misses;
use super::overlap::Overlap;
use super::partition_set::PartitionSet;
use crate::actors::context::item::{Item, Seed};
use crate::pb::delivery::What;
use crate::pb::{QueueItem, SettleBatch};

/// Items by their ids.
type HeldBefore = HashMap<u64, Item, ahash::RandomState>;

/// Ids of items that were read.
pub(super) type RecoveredItems = HashSet<(u64, What), ahash::RandomState>;

#[derive(Default)]
pub(super) struct Recovery {
    phase: RecoveryPhase,
    /// The store is to be read once more: partitions came while it was being read, or the lists are wrong and
    /// attempts are being noted.
    read_again: bool,
    /// Sessions that have not reported in time. Their reports are still to come.
    late: HashSet<u64>,
    /// The last question that sessions were asked: the term of the reading for which that was.
    question: u64,
    /// What sessions held when the lists were discarded. The store says nothing of what is of a partition that has left.
    held_before: HeldBefore,
    /// Tells whether an item that was dispatched during the last reading is in what was read.
    overlap: Option<Overlap>,
    /// What the store had and the lists did not.
    misses: Misses,
}

/// Whether a queue may grant.
#[derive(Default)]
enum RecoveryPhase {
    #[default]
    Running,
    /// Restarted; the lists are empty. Holds earlier settlements that are not processed yet.
    Wanted(Vec<SettleBatch>),
    Reading(StoreReading),
}

/// The store is being read and sessions are being asked; what arrives meanwhile is kept.
struct StoreReading {
    /// Items dispatched in this term may be in what is read.
    term: u64,
    /// Whether the store has been asked.
    asked: bool,
    /// Sessions that have not reported yet.
    waiting_for: HashSet<u64>,
    held: HashMap<u64, u64>,
    seeds: Option<Vec<Seed>>,
    arrived: Vec<QueueItem>,
    settled: Vec<SettleBatch>,
}

/// The result of a reading.
pub(super) struct Recovered {
    pub(super) term: u64,
    pub(super) seeds: Vec<Seed>,
    /// Messages that sessions held when or after the store was read, with the session.
    pub(super) held: HashMap<u64, u64>,
    /// Those of them that sessions held before the lists were discarded, too, with the session.
    pub(super) held_before: Vec<(u64, Item)>,
    /// Items that were dispatched meanwhile.
    pub(super) arrived: Vec<QueueItem>,
    /// Settlements that came meanwhile: sessions do not repeat them.
    pub(super) settled: Vec<SettleBatch>,
}

// === impl Recovery ===

impl Recovery {
    pub(super) fn is_running(&self) -> bool {
        matches!(self.phase, RecoveryPhase::Running)
    }

    /// The lists have been discarded and must be read. Keeps settlements that `earlier` had kept. `held`: what sessions held
    /// of those lists.
    pub(super) fn want(&mut self, earlier: &mut Self, held: impl Iterator<Item = Item>) {
        self.phase = RecoveryPhase::Wanted(earlier.take_settled());
        self.held_before = std::mem::take(&mut earlier.held_before);
        self.held_before.extend(held.map(|item| (item.id, item)));
    }

    /// The lists have been discarded and are not to be read. Reports that `earlier` waited for are late; returns the
    /// settlements that it had kept.
    pub(super) fn break_off(&mut self, earlier: &mut Self) -> Vec<SettleBatch> {
        earlier.stop_waiting();
        self.late = std::mem::take(&mut earlier.late);
        self.question = earlier.question;
        earlier.take_settled()
    }

    fn take_settled(&mut self) -> Vec<SettleBatch> {
        match &mut self.phase {
            RecoveryPhase::Running => Vec::new(),
            RecoveryPhase::Wanted(settled)
            | RecoveryPhase::Reading(StoreReading { settled, .. }) => std::mem::take(settled),
        }
    }

    pub(super) fn is_wanted(&self) -> bool {
        matches!(self.phase, RecoveryPhase::Wanted(_))
    }

    /// A reading begins in this term; these sessions are asked what they hold.
    pub(super) fn begin(&mut self, term: u64, sessions: HashSet<u64>) {
        let RecoveryPhase::Wanted(settled) = &mut self.phase else {
            return;
        };
        let mut settled = std::mem::take(settled);
        // The reports of the sessions include their whole room, so that of settlements is dropped.
        settled.iter_mut().for_each(|batch| batch.room = 0);
        self.question = term;
        self.phase = RecoveryPhase::Reading(StoreReading {
            term,
            asked: false,
            waiting_for: sessions,
            held: HashMap::new(),
            seeds: None,
            arrived: Vec::new(),
            settled,
        });
    }

    fn reading(&mut self) -> Option<&mut StoreReading> {
        match &mut self.phase {
            RecoveryPhase::Reading(reading) => Some(reading),
            _ => None,
        }
    }

    /// Whether to ask the store now; true once per reading.
    pub(super) fn asks_store(&mut self) -> bool {
        let reading = self.reading();
        reading.is_some_and(|reading| !std::mem::replace(&mut reading.asked, true))
    }

    /// The store has been read.
    pub(super) fn read(&mut self, seeds: Vec<Seed>) {
        if let Some(reading) = self.reading() {
            reading.seeds = Some(seeds);
        }
    }

    /// Whether a report answers the last question, and not one before: what was granted since that one is not in it.
    pub(super) fn is_answer(&self, question: u64) -> bool {
        question == 0 || question == self.question
    }

    /// A session reports what it holds; returns whether a reading waits for reports.
    pub(super) fn reported(&mut self, session: u64, ids: &[u64]) -> bool {
        let Some(reading) = self.reading() else {
            return false;
        };
        reading.waiting_for.remove(&session);
        reading.held.extend(ids.iter().map(|id| (*id, session)));
        true
    }

    /// Whether this session had not reported in time; it does now.
    pub(super) fn reported_late(&mut self, session: u64) -> bool {
        self.late.remove(&session)
    }

    /// A session has ended: its report is not waited for, and what it held and has not settled waits again.
    pub(super) fn session_ended(&mut self, session: u64) {
        self.late.remove(&session);
        if let Some(reading) = self.reading() {
            reading.waiting_for.remove(&session);
            reading.held.retain(|_, holder| *holder != session);
        }
    }

    /// Sessions that have not answered are taken to hold nothing.
    pub(super) fn stop_waiting(&mut self) {
        if let RecoveryPhase::Reading(reading) = &mut self.phase {
            self.late.extend(reading.waiting_for.drain());
        }
    }

    /// Keeps an item that arrived while the store was being read.
    pub(super) fn keep(&mut self, item: QueueItem) {
        if let Some(reading) = self.reading() {
            reading.arrived.push(item);
        }
    }

    /// Whether the report of a session is to come. It includes the room that the session gives before.
    pub(super) fn awaits(&self, session: u64) -> bool {
        let is_asked = match &self.phase {
            RecoveryPhase::Reading(reading) => reading.waiting_for.contains(&session),
            RecoveryPhase::Running | RecoveryPhase::Wanted(_) => false,
        };
        is_asked || self.late.contains(&session)
    }

    /// Keeps what was settled of messages that the discarded lists did not have yet.
    pub(super) fn keep_settled(&mut self, more: impl Iterator<Item = SettleBatch>) {
        if let RecoveryPhase::Wanted(settled) = &mut self.phase {
            settled.extend(more);
        }
    }

    /// Keeps a settlement that came while the store was being read; otherwise returns it.
    pub(super) fn settled(&mut self, mut batch: SettleBatch) -> Option<SettleBatch> {
        if self.awaits(batch.session) {
            batch.room = 0;
        }
        let Some(reading) = self.reading() else {
            return Some(batch);
        };
        reading.settled.push(batch);
        None
    }

    /// Ends the reading once the store is read and every session has answered or timed out.
    pub(super) fn finish(&mut self) -> Option<Recovered> {
        let reading = self.reading()?;
        if !reading.waiting_for.is_empty() {
            return None;
        }
        let seeds = reading.seeds.take()?;
        let mut held = std::mem::take(&mut reading.held);
        let settled = std::mem::take(&mut reading.settled);
        // What a session has settled since it was asked, it had held before.
        for batch in &settled {
            let failed = batch.failed.iter().map(|failed| failed.id);
            let ids = batch.done.iter().copied().chain(failed);
            held.extend(ids.map(|id| (id, batch.session)));
        }
        let (term, arrived) = (reading.term, std::mem::take(&mut reading.arrived));
        let before = std::mem::take(&mut self.held_before).into_iter();
        let still = before.filter_map(|(id, item)| Some((*held.get(&id)?, item)));
        let held_before = still.collect();
        self.phase = RecoveryPhase::Running;
        Some(Recovered {
            term,
            seeds,
            held,
            held_before,
            arrived,
            settled,
        })
    }

    /// The lists have what the reading that began with `term` found.
    pub(super) fn remember(&mut self, term: u64, known: RecoveredItems) {
        self.overlap = Some(Overlap::new(term, known));
    }

    /// Whether the lists lack an item that was dispatched: no reading of the store has brought it.
    /// `term` is that of its partition now; without one, the partition's owner has found it in the
    /// store.
    pub(super) fn is_news(&self, item: &QueueItem, term: Option<u64>) -> bool {
        let Some(term) = term else { return false };
        let came_after = |overlap: &Overlap| overlap.lacks(item);
        item.term == term || self.overlap.as_ref().is_some_and(came_after)
    }

    /// Partitions came, with their waiting items. Returns false while the store is being read: that
    /// reading may lack them, so another one follows.
    pub(super) fn adopts(&mut self, parts: PartitionSet) -> bool {
        if !self.is_running() {
            self.read_again = true;
            return false;
        }
        if let Some(overlap) = &mut self.overlap {
            overlap.close(parts);
        }
        true
    }

    /// The store is to be read once more as soon as that may begin.
    pub(super) fn ask_again(&mut self) {
        self.read_again = true;
    }

    pub(super) fn is_to_read_again(&self) -> bool {
        self.read_again
    }

    /// Whether to read the store once more; clears the flag.
    pub(super) fn take_read_again(&mut self) -> bool {
        std::mem::take(&mut self.read_again)
    }

    /// An item has entered the lists.
    pub(super) fn came(&mut self, item: &Item) {
        self.misses.forget(item.id, item.what);
    }

    pub(super) fn misses(&mut self) -> &mut Misses {
        &mut self.misses
    }

    /// Forgets what was read when no dispatch of that time can be under way any more.
    pub(super) fn look_after(&mut self) {
        self.overlap.take_if(|overlap| overlap.is_over());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(sessions: impl IntoIterator<Item = u64>) -> Recovery {
        let mut recovery = Recovery::default();
        recovery.want(&mut Recovery::default(), std::iter::empty());
        recovery.begin(1, sessions.into_iter().collect());
        recovery
    }

    fn settled(session: u64, id: u64) -> SettleBatch {
        SettleBatch {
            session,
            done: vec![id],
            room: 5,
            ..SettleBatch::default()
        }
    }

    #[test]
    fn it_ends_when_the_store_is_read_and_all_sessions_have_answered() {
        let mut recovery = reading([7, 8]);
        assert!(recovery.asks_store() && !recovery.asks_store(), "once");
        assert!(recovery.reported(7, &[1, 2]));
        recovery.read(Vec::new());
        assert!(recovery.finish().is_none(), "a session has not answered");
        recovery.stop_waiting();
        let recovered = recovery.finish().expect("all is known");
        assert_eq!(recovered.held, HashMap::from([(1, 7), (2, 7)]));
        assert!(recovery.is_running() && !recovery.reported(8, &[]));
    }

    #[test]
    fn what_is_settled_meanwhile_is_kept_and_was_held() {
        let mut recovery = reading([7]);
        assert!(recovery.settled(settled(7, 1)).is_none());
        recovery.reported(7, &[]);
        assert!(recovery.settled(settled(7, 2)).is_none());
        recovery.read(Vec::new());
        let recovered = recovery.finish().expect("all is known");
        let rooms: Vec<u32> = (recovered.settled.iter().map(|batch| batch.room)).collect();
        assert_eq!(rooms, [0, 5], "room before the report is in the report");
        assert_eq!(recovered.held, HashMap::from([(1, 7), (2, 7)]));
        assert!(recovery.settled(settled(7, 3)).is_some(), "it runs");
    }

    #[test]
    fn a_session_that_ends_holds_only_what_it_has_settled() {
        let mut recovery = reading([7, 8]);
        recovery.reported(7, &[1, 2]);
        assert!(recovery.settled(settled(7, 2)).is_none());
        recovery.session_ended(7);
        recovery.read(Vec::new());
        assert!(recovery.finish().is_none(), "a session has not answered");
        recovery.session_ended(8);
        let recovered = recovery.finish().expect("nobody is waited for");
        assert_eq!(recovered.held, HashMap::from([(2, 7)]));
    }

    #[test]
    fn the_report_of_a_session_that_is_late_includes_the_room_that_it_gave_before() {
        let mut recovery = reading([7]);
        recovery.stop_waiting();
        let room = |recovery: &mut Recovery, session| {
            let settled = recovery.settled(settled(session, 1));
            settled.map(|batch| batch.room)
        };
        assert_eq!(room(&mut recovery, 7), None, "it is kept");
        recovery.read(Vec::new());
        let recovered = recovery.finish().expect("nobody is waited for");
        assert_eq!(recovered.settled[0].room, 0);
        assert_eq!(room(&mut recovery, 7), Some(0));
        assert_eq!(room(&mut recovery, 8), Some(5));
        assert!(recovery.reported_late(7) && !recovery.reported_late(7));
        assert_eq!(room(&mut recovery, 7), Some(5));
    }

    #[test]
    fn only_the_last_question_is_answered_though_the_lists_are_discarded_once_more() {
        let mut before = reading([7]);
        assert!(before.is_answer(1) && before.is_answer(0));
        let mut after = Recovery::default();
        after.break_off(&mut before);
        assert!(after.is_answer(1) && after.reported_late(7));
        after.want(&mut Recovery::default(), std::iter::empty());
        after.begin(2, HashSet::from([7]));
        assert!(after.is_answer(2) && !after.is_answer(1));
    }

    #[test]
    fn a_reading_that_is_begun_again_keeps_what_was_settled() {
        let mut before = reading([7]);
        before.settled(settled(8, 1));
        let mut after = Recovery::default();
        after.want(&mut before, std::iter::empty());
        after.begin(2, HashSet::new());
        after.read(Vec::new());
        let recovered = after.finish().expect("nobody is asked");
        assert_eq!(recovered.settled.len(), 1);
        assert_eq!(recovered.settled[0].room, 0);
    }
}
