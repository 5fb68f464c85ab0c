//! What a queue publishes: its snapshot, and how many messages of each sender wait.
//!
//! Called by the timer and after changes of many messages. Invariant: the port gets an exact count in
//! place of the estimate that other actors have adjusted since the last one.

use std::collections::HashMap;
use std::sync::atomic::Ordering;

use crate::actors::queue::Queue;
use crate::clock;
use crate::domain::id;
use crate::pb::QueueSnapshot;

/// Up to this depth, messages are always counted by sender.
const COUNTED: u64 = 10_000;

impl Queue {
    pub(in crate::actors::queue) fn publish(&self) {
        let depth = self.len() as u64;
        self.port.set_waiting(depth, self.waiting_by_sender(depth));
        // What is set aside is with nobody.
        let aside = self.suspects.aside_len();
        self.port
            .held
            .store(self.under_way_len() as u64, Ordering::Relaxed);
        let levels = self.backlog.levels();
        let scheduled = self.backlog.scheduled_len();
        let attempts = self.port.attempts.counts();
        self.port.snapshot.set(QueueSnapshot {
            name: self.port.name.clone(),
            waiting: (self.backlog.len() - scheduled + aside) as u64,
            scheduled: scheduled as u64,
            in_flight: (self.in_flight.len() - aside) as u64,
            ready_in_memory: self.backlog.ready() as u64,
            sessions: self.sessions.len() as u64,
            room: self.sessions.room(),
            suspended: self.port.suspended.load(Ordering::Relaxed),
            suspended_by: self.port.suspended_by.get().as_ref().clone(),
            paused_by: self.port.paused_by.get().as_ref().clone(),
            on_hold: self.tokens.is_on_hold(),
            attempts_total: attempts.all,
            throttled_total: attempts.throttled,
            refused_total: attempts.refused,
            unanswered_total: attempts.unanswered,
            // Ids may be ahead of the clock.
            oldest_at: (self.backlog.oldest()).map_or(0, |id| id::millis(id).min(clock::now_ms())),
            delivered_total: self.counters.delivered,
            failed_total: self.counters.failed,
            retried_total: self.counters.retried,
            expired_total: self.counters.expired,
            suspects: self.suspects.len() as u64,
            ended_sessions_total: self.counters.ended_sessions,
            restarts: self.port.health.restarts(),
            spilled: self.backlog.spilled() as u64,
            waiting_by_priority: levels.iter().map(|level| level.len() as u64).collect(),
            enqueued_total: self.counters.enqueued,
            granted_total: self.counters.granted,
            breaker: self.guard.breaker_state().to_owned(),
            breaker_opened_total: self.guard.opened(),
            available: self.node.available(self.port.id),
            rate: self.rate(),
            slowed: self.guard.pace().is_some(),
            returning: self.guard.is_returning(),
            failback_at: self.guard.failback_at(),
            unwritten: self.port.unwritten.count(),
            senders: levels
                .iter()
                .map(|level| level.senders() as u64)
                .max()
                .unwrap_or(0),
            ..QueueSnapshot::default()
        });
    }

    /// How many messages of each sender wait. Empty while a long queue is far below the limit of one
    /// account.
    fn waiting_by_sender(&self, depth: u64) -> HashMap<u32, u64, ahash::RandomState> {
        let mut counts = HashMap::default();
        let least = self.node.plan().most_of_one() / 2;
        if depth < least && depth > COUNTED {
            return counts;
        }
        for (sender, count) in self.backlog.counts() {
            *counts.entry(sender).or_default() += count as u64;
        }
        counts
    }

    /// Messages per second that the operator may be sent; 0 without a limit.
    fn rate(&self) -> f64 {
        let configured = || {
            if self.is_operator() {
                self.node.rate_of(self.port.id)
            } else {
                None
            }
        };
        let pace = self.guard.pace();
        pace.or_else(|| configured().map(|(rate, _)| rate))
            .unwrap_or_default()
    }
}
