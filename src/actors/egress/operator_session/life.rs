//! Whether a bind goes on: what the plan, the lease and the drain say, and an operator that does not
//! read.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use actix::Context;
use tokio::time::Instant;

use super::OperatorSession;
use crate::actors::context::plan::OperatorPlan;
use crate::actors::session::bound::BoundProtocol as _;
use crate::smpp::session::SessionState;

impl OperatorSession {
    /// Whether more waits for the operator than may, or it has taken nothing of what waits for as long
    /// as an answer may take.
    pub(super) fn does_not_read(&mut self, now: Instant) -> bool {
        let Some(outbox) = &self.core.outbox else {
            return false;
        };
        if outbox.is_over() {
            return true;
        }
        let stuck = self.core.is_stuck();
        self.core.has_stalled(stuck, now)
    }

    /// Counts what was written to the present connection since the last call.
    pub(super) fn count_octets(&mut self) {
        if let Some(outbox) = &self.core.outbox {
            let written = outbox.written();
            let more = written.saturating_sub(self.octets_counted);
            self.meter.octets_sent.inc_by(more);
            self.octets_counted = written;
        }
    }

    /// On the way out: takes no more from the queue, and unbinds when the windows of both directions are
    /// finished, or the time for that is over.
    pub(super) fn finish_windows(&mut self, now: Instant, ctx: &mut Context<Self>) {
        if !self.retired
            && let Some(serving) = &self.core.serving
        {
            serving.retire();
            self.retired = true;
        }
        // Fewer binds are wanted, or another node shall have this one: there is no hurry.
        let draining = self.core.node.draining.load(Ordering::Relaxed);
        let time_is_over = (draining || self.departing) && self.left_long_enough();
        if draining && time_is_over && self.core.protocol.state() == SessionState::Unbinding {
            return self.come_back("unbound at the end of the drain", ctx);
        }
        if time_is_over || (self.core.protocol.in_flight() == 0 && self.core.intake == 0) {
            self.core
                .write(|smpp, out| smpp.unbind(now.into_std(), out));
        }
    }

    /// Whether the time to finish windows, which begins with the first call, is over.
    pub(super) fn left_long_enough(&mut self) -> bool {
        let since = *self.leaving_since.get_or_insert_with(Instant::now);
        since.elapsed() >= self.core.node.config().smpp.drain_timeout
    }

    /// Ends the bind in good order; at once when there is none, or when it is ordered again.
    pub(super) fn end_by_order(&mut self, ctx: &mut Context<Self>) {
        let again = std::mem::replace(&mut self.departing, true);
        match self.core.protocol.state() {
            SessionState::Bound(_) if self.core.outbox.is_some() && !again => {
                self.finish_windows(Instant::now(), ctx);
            }
            SessionState::Unbinding | SessionState::Leaving if !again => {}
            _ => self.depart(ctx),
        }
    }

    /// Whether the windows are to be finished and the bind ended: the process stops, another node
    /// shall have this slot, or there are to be fewer.
    pub(super) fn is_leaving(&self) -> bool {
        if self.is_given {
            let is_gone = self.newest_plan().is_none();
            return is_gone || self.core.node.draining.load(Ordering::Relaxed);
        }
        let is_beyond = |plan: &Arc<OperatorPlan>| self.options.slot >= plan.config.binds;
        self.core.node.draining.load(Ordering::Relaxed)
            || !self.holds_slot()
            || self.plan.as_ref().is_some_and(is_beyond)
    }

    /// Takes what does not need another bind from the newest plan. The Supervisor ends the binds of an
    /// operator that is gone.
    pub(super) fn take_plan(&mut self) {
        if let Some(plan) = self.newest_plan() {
            self.plan = Some(plan);
        }
    }

    pub(super) fn newest_plan(&self) -> Option<Arc<OperatorPlan>> {
        let plan = self.core.node.plan();
        plan.operator(self.options.operator).cloned()
    }

    pub(super) fn holds_slot(&self) -> bool {
        self.core
            .node
            .local_lease
            .holds_bind(self.options.operator, self.options.slot)
    }
}
