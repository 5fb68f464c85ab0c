//! What is known against a message that has ended sessions alone, and what that makes of it.

use std::time::Duration;

use super::Suspects;
use crate::domain::culprit;

impl Suspects {
    /// How often this one has ended a session alone.
    pub fn ends_of(&self, id: u64) -> u32 {
        self.all.get(&id).map_or(0, |one| one.alone)
    }

    /// How often this one has ended a session alone, if the peer has answered others since the first time.
    pub fn ends_told_apart(&self, id: u64) -> Option<u32> {
        let one = self.all.get(&id)?;
        (self.answers > one.answers).then_some(one.alone)
    }

    /// Those whose last end counts now: the peer has answered others since the first one.
    pub fn now_counted(&mut self) -> Vec<u64> {
        if !self.is_pending || !self.enders.is_empty() {
            return Vec::new();
        }
        let (mut counted, mut is_pending) = (Vec::new(), false);
        for (id, one) in &mut self.all {
            if one.pending && self.answers > one.answers {
                one.pending = false;
                one.ended = one.ended.saturating_add(1);
                counted.push(*id);
            }
            is_pending |= one.pending;
        }
        self.is_pending = is_pending;
        counted
    }

    /// How long an accused message waits for its next try.
    pub fn pause_of(&self, id: u64, first: Duration) -> Duration {
        let one = self.all.get(&id).copied().unwrap_or_default();
        culprit::pause(one.alone, first, one.ended > 0)
    }
}
