//! Lets a queue tick often while it has something to do, and seldom while it rests.
//!
//! Called when the actor starts, by its timer, and for whatever comes: messages, and answers of the store. Invariants: nothing
//! that begins or ends by time waits in a queue at rest, and what comes finds a queue that knows what others have changed
//! meanwhile, as if it had not rested.

use actix::{AsyncContext, Context};

use crate::actors::context::ports::QueueKind;
use crate::actors::context::target_health::Availability;
use crate::actors::queue::Queue;

impl Queue {
    /// Sets the timer of the next tick.
    pub(in crate::actors::queue) fn set_timer(
        &mut self,
        is_resting: bool,
        ctx: &mut Context<Self>,
    ) {
        let (pause, number) = self.timer.set(is_resting);
        ctx.run_later(pause, move |queue, ctx| {
            if queue.timer.counts(number) {
                queue.tick(ctx);
                let is_resting = queue.has_nothing_to_do();
                queue.set_timer(is_resting, ctx);
            }
        });
    }

    /// Something comes: ends a rest.
    pub(in crate::actors::queue) fn stir(&mut self, ctx: &mut Context<Self>) {
        if self.timer.is_resting() {
            self.set_timer(false, ctx);
            // Not a whole tick: its snapshot would not count what is coming.
            self.look_around(ctx);
        }
    }

    /// Whether a tick changes nothing until something comes.
    fn has_nothing_to_do(&self) -> bool {
        let is_empty = self.len() == 0 && self.backlog.is_all_here() && self.suspects.is_quiet();
        let is_up_to_date = self.recovery.is_running() && !self.recovery.is_to_read_again();
        let is_writing = self.under_way.is_writing() || self.under_way.is_noting();
        is_empty
            && is_up_to_date
            && !is_writing
            && self.port.unwritten.count() == 0
            && self.purging.is_none()
            && self.leaving.is_settled()
            && self.guard.is_settled()
            && !self.tokens.is_on_hold()
            && !self.port.backpressure.must_wait()
            && self.hears_of_changes()
    }

    /// Whether all that matters comes in messages. Other nodes bind and unbind without one, and the line of a look-up is tidied
    /// by the clock.
    fn hears_of_changes(&self) -> bool {
        let is_alone = !self.node.local_lease.is_shared();
        let availability = || self.port.target_health.availability();
        match self.port.kind {
            QueueKind::Account | QueueKind::Operator => {
                is_alone || (availability() == Availability::WhileServed && !self.has_alternative())
            }
            QueueKind::Test | QueueKind::Internal => false,
        }
    }
}
