//! Ends messages whose validity is over, and attempts of unknown outcome whose wait for a receipt is
//! over.
//!
//! Called by the timer; a grant ends a late message whose turn comes first. Invariants: nothing ends
//! while the store is stalled, and commits stay small.

use actix::Context;

use crate::actors::context::item::{Item, to_seconds};
use crate::actors::queue::Queue;
use crate::actors::queue::backlog::{BlockWaiter, Withdrawn};
use crate::config::OutcomePolicy;
use crate::pb::MessageState;

/// Most messages ended in one step.
const STEP: usize = 1000;

impl Queue {
    /// Ends messages whose validity is over, once a second. A grant also checks the messages that it
    /// takes.
    pub(in crate::actors::queue) fn expire(&mut self, now: i64, ctx: &mut Context<Self>) {
        let second = to_seconds(now);
        // While the store is stalled nothing can end, and nothing goes out either.
        if self.backlog.has_looked_for_late(second) || self.node.store.is_stalled() {
            return;
        }
        self.expire_suspects(second, ctx);
        let (late, blocks) = self.backlog.take_late(second);
        for block in blocks {
            self.fetch_block(block, BlockWaiter::Expiry, ctx);
        }
        if !late.is_empty() {
            self.expire_items(late, ctx);
        }
    }

    pub(super) fn expire_items(&mut self, items: Vec<Withdrawn>, ctx: &mut Context<Self>) {
        self.counters.expired += items.len() as u64;
        self.node.metrics.expired.inc_by(items.len() as u64);
        let mut items = items.into_iter();
        // After a stall, all messages that gathered meanwhile may be late at once.
        while items.len() > 0 {
            let some = items.by_ref().take(STEP).collect();
            self.end(some, MessageState::Expired, "validity.receipts", ctx);
        }
    }

    /// Keeps a message of unknown outcome until its receipt comes or its time is over.
    pub(in crate::actors::queue) fn wait_for_receipt(&mut self, item: Item, now: i64) {
        self.node.metrics.outcome_unknown.inc();
        let ttl = self.node.plan().correlation_ttl(self.port.id);
        let until = now + ttl.as_millis() as i64;
        self.in_flight.wait_for_receipt(item, until);
    }

    /// Ends messages of unknown outcome for which neither an answer nor a receipt came in time.
    pub(in crate::actors::queue) fn give_up_unsure(&mut self, now: i64, ctx: &mut Context<Self>) {
        if !self.in_flight.has_unsure() || self.node.store.is_stalled() {
            return;
        }
        let late = self.in_flight.take_unanswered(now);
        if late.is_empty() {
            return;
        }
        let state = match self.node.plan().outcome_policy(self.port.id) {
            OutcomePolicy::Fail => MessageState::Undeliverable,
            _ => MessageState::Unknown,
        };
        let late = late.into_iter().map(|item| (item, None)).collect();
        self.end(late, state, "", ctx);
    }
}
