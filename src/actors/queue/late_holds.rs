//! What sessions have reported too late that they hold, while it was on its way into the lists: its body was being
//! read, or it was in a block out of memory.
//!
//! Used by the actions that read and settle. Invariants: such a message is with its session before anything that came
//! with it is granted, and what its session settles before that is settled then.

use std::collections::HashMap;

use crate::pb::SettleBatch;

/// By the ids of the messages.
#[derive(Default)]
pub(super) struct LateHolds(HashMap<u64, LateHold, ahash::RandomState>);

struct LateHold {
    session: u64,
    /// What became of it meanwhile.
    settled: Option<SettleBatch>,
}

// === impl LateHolds ===

impl LateHolds {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn has(&self, id: u64) -> bool {
        !self.0.is_empty() && self.0.contains_key(&id)
    }

    /// A session has this one, which is on its way into the lists.
    pub(super) fn add(&mut self, session: u64, id: u64) {
        let late = LateHold {
            session,
            settled: None,
        };
        self.0.insert(id, late);
    }

    /// The ids, each with its session.
    pub(super) fn all(&self) -> Vec<(u64, u64)> {
        let all = self.0.iter();
        all.map(|(id, late)| (*id, late.session)).collect()
    }

    /// Those among these messages, each with its session.
    pub(super) fn among(&self, ids: impl Iterator<Item = u64>) -> Vec<(u64, u64)> {
        if self.0.is_empty() {
            return Vec::new();
        }
        ids.filter_map(|id| Some((id, self.0.get(&id)?.session)))
            .collect()
    }

    /// Its session has it now, or it did not come: what its session has settled meanwhile.
    pub(super) fn take(&mut self, id: u64) -> Option<SettleBatch> {
        self.0.remove(&id)?.settled
    }

    /// The lists are discarded: what sessions have settled of these, which they do not repeat.
    pub(super) fn take_settled(&mut self) -> impl Iterator<Item = SettleBatch> {
        let late = std::mem::take(&mut self.0);
        late.into_values().filter_map(|late| late.settled)
    }

    /// Keeps what a session settles of these; the rest of the batch stays.
    pub(super) fn keep_settled(&mut self, batch: &mut SettleBatch) {
        if self.0.is_empty() {
            return;
        }
        let session = batch.session;
        batch.done.retain(|id| {
            let done = || SettleBatch {
                session,
                done: vec![*id],
                ..SettleBatch::default()
            };
            !self.is_kept(session, *id, done)
        });
        batch.failed.retain(|failed| {
            let failure = || SettleBatch {
                session,
                failed: vec![failed.clone()],
                ..SettleBatch::default()
            };
            // A late answer is about what was settled before.
            failed.late || !self.is_kept(session, failed.id, failure)
        });
    }

    fn is_kept(&mut self, session: u64, id: u64, settled: impl FnOnce() -> SettleBatch) -> bool {
        let late = self.0.get_mut(&id);
        let Some(late) = late.filter(|late| late.session == session) else {
            return false;
        };
        late.settled = Some(settled());
        true
    }

    /// A session has this one no more, without having settled it.
    pub(super) fn forget(&mut self, session: u64, id: u64) {
        if self.0.get(&id).is_some_and(|late| late.session == session) {
            self.0.remove(&id);
        }
    }

    /// A session has ended: what it has not settled waits.
    pub(super) fn session_ended(&mut self, session: u64) {
        self.0
            .retain(|_, late| late.session != session || late.settled.is_some());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pb::Failed;

    #[test]
    fn what_a_session_settles_before_it_is_there_is_settled_when_it_is() {
        let mut late_holds = LateHolds::default();
        [1, 2, 3].into_iter().for_each(|id| late_holds.add(7, id));
        let batch = |session| SettleBatch {
            session,
            done: vec![1, 9],
            failed: vec![Failed::not_sent(2), Failed::not_sent(8)],
            room: 4,
            ..SettleBatch::default()
        };
        let mut of_another = batch(8);
        late_holds.keep_settled(&mut of_another);
        assert_eq!(of_another, batch(8));
        let mut rest = batch(7);
        late_holds.keep_settled(&mut rest);
        let left = SettleBatch {
            done: vec![9],
            failed: vec![Failed::not_sent(8)],
            ..batch(7)
        };
        assert_eq!(rest, left);
        late_holds.session_ended(7);
        assert!(!late_holds.has(3), "it waits");
        let failed = late_holds.take(2).expect("settled").failed;
        assert_eq!(failed, [Failed::not_sent(2)]);
        late_holds.add(8, 4);
        let settled: Vec<SettleBatch> = late_holds.take_settled().collect();
        assert_eq!(settled.len(), 1, "the other one is not settled");
        assert_eq!(settled[0].done, [1]);
    }

    #[test]
    fn a_late_answer_is_about_what_was_settled_before() {
        let mut late_holds = LateHolds::default();
        late_holds.add(7, 1);
        let late = Failed {
            late: true,
            ..Failed::not_sent(1)
        };
        let mut batch = SettleBatch {
            session: 7,
            failed: vec![late],
            ..SettleBatch::default()
        };
        late_holds.keep_settled(&mut batch);
        assert_eq!(batch.failed.len(), 1);
        late_holds.forget(8, 1);
        assert_eq!(late_holds.all(), [(1, 7)]);
        assert_eq!(late_holds.among([1, 2].into_iter()), [(1, 7)]);
        late_holds.forget(7, 1);
        assert!(late_holds.is_empty());
    }
}
