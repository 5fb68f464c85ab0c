//! Whether a bind goes on: what the plan, the lease and the drain say, and an operator that does not
//! read.

use super::*;

impl OperatorSession {
    /// Whether more waits for the operator than may, or it has taken nothing of what waits for as long
    /// as an answer may take.
    pub(super) fn does_not_read(&mut self, now: Instant) -> bool {
        let Some(outbox) = &self.outbox else {
            return false;
        };
        if outbox.is_over() {
            return true;
        }
        if !outbox.is_stuck(&mut self.written) {
            self.stuck_since = None;
            return false;
        }
        let since = *self.stuck_since.get_or_insert(now);
        now.duration_since(since) > self.core.config().response_timeout
    }

    /// Whether the node drains and the time to finish windows is over.
    pub(super) fn drained_long_enough(&mut self) -> bool {
        if !self.hub().draining.load(Ordering::Relaxed) {
            self.draining_since = None;
            return false;
        }
        let since = *self.draining_since.get_or_insert_with(Instant::now);
        since.elapsed() >= self.hub().config().smpp.drain_timeout
    }

    /// Whether the windows are to be finished and the bind ended: the process stops, another node
    /// shall have this slot, or there are to be fewer.
    pub(super) fn is_leaving(&self) -> bool {
        let is_beyond = |plan: &Arc<OperatorPlan>| self.options.slot >= plan.config.binds;
        self.hub().draining.load(Ordering::Relaxed)
            || !self.holds_slot()
            || self.plan.as_ref().is_some_and(is_beyond)
    }

    /// What does not need another bind is as the newest plan says. An operator that is gone is the
    /// Supervisor's business.
    pub(super) fn take_plan(&mut self) {
        if let Some(plan) = self.hub().plan().operator(self.options.operator).cloned() {
            self.plan = Some(plan);
        }
    }

    pub(super) fn holds_slot(&self) -> bool {
        self.hub()
            .tenure
            .holds_bind(self.options.operator, self.options.slot)
    }
}
