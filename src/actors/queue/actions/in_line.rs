//! The line of a look-up: what waits in its queue, by number, so that Ingest puts nothing before it.
//!
//! Called where messages come and go; does nothing in other queues.

use crate::actors::context::look_up_line::LookUpLine;
use crate::actors::context::ports::QueueKind;
use crate::actors::queue::Queue;

impl Queue {
    /// Who waits here, if this is the queue of a look-up.
    pub(in crate::actors::queue) fn line(&self) -> Option<&LookUpLine> {
        match self.port.kind {
            QueueKind::Internal => self.node.look_up_line(&self.node.plan(), self.port.id),
            _ => None,
        }
    }

    /// These messages are in their next queue, or have ended.
    pub(super) fn have_left(&self, ids: impl Iterator<Item = u64>) {
        if let Some(line) = self.line() {
            ids.for_each(|id| line.leave(id));
        }
    }

    /// What was read from the store without its number has been granted, and is in line since then.
    pub(in crate::actors::queue) fn tidy_line(&self, now: i64) {
        let Some(line) = self.line().filter(|_| self.recovery.is_running()) else {
            return;
        };
        // What waits for its time of day is in line when that has come.
        if self.backlog.len() == self.backlog.scheduled_len() {
            line.has_caught_up();
            if self.in_flight.len() == 0 {
                line.tidy(now);
            }
        }
    }
}
