//! What waits for its time goes into the lists when that comes.

use std::time::Duration;

use tokio::time::Instant;

use super::scheduled::Due;
use super::{Item, Queue};
use crate::clock;

impl Queue {
    /// Not before the time that its sender has asked for (Unix ms).
    pub(super) fn schedule(&mut self, item: Item, at: i64) {
        self.scheduled.push(item, Due::TimeOfDay(at));
    }

    /// Not before a pause is over, which is so at this time as the wall clock is now (Unix ms). The time
    /// may be that of another clock, or of ours before it stepped: no pause is longer than those that
    /// are configured.
    pub(super) fn pause(&mut self, item: Item, at: i64) {
        let longest = self.node.plan().longest_pause.as_millis();
        let left = (at - clock::now_ms()).min(i64::try_from(longest).unwrap_or(i64::MAX));
        let due = Due::Pause(self.elapsed_ms() + left);
        self.scheduled.push(item, due);
    }

    /// Grants nothing for a while.
    pub(super) fn hold_for(&mut self, pause: Duration) {
        self.hold_until = Some(Instant::now() + pause);
    }

    /// Puts what is due now (Unix ms) behind what waits.
    pub(super) fn wake_due(&mut self, now: i64) {
        let elapsed = self.elapsed_ms();
        while let Some(item) = self.scheduled.pop_due(now, elapsed) {
            self.lists.push_back(item);
        }
    }

    fn elapsed_ms(&self) -> i64 {
        i64::try_from(self.began.elapsed().as_millis()).unwrap_or(i64::MAX)
    }
}
