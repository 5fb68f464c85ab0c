//! What stands between a queue and an operator that is away, fails or is sent too much: patience, a
//! circuit breaker, and a slower pace.
//!
//! Part of the queue's actor; the rules are in `domain::{presence, breaker, backoff}`. Breaker and
//! pace are those of this node. What new messages need to know of it is put into the port's
//! [`TargetHealth`](crate::actors::context::target_health::TargetHealth); a queue whose operator has none of it
//! set pays a comparison per grant.

use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::time::Instant;

use super::Queue;
use crate::actors::context::target_health::Availability;
use crate::config::Operator;
use crate::domain::backoff::{Backoff, Refusal};
use crate::domain::breaker::{Breaker, Limits, Stand};
use crate::domain::presence::{Patience, Presence};
use crate::domain::retry::Class;
use crate::pb::Failed;
use crate::pb::failed::Why;
use crate::smpp::CommandStatus;

/// Messages that try whether an operator works again.
const PROBES: u32 = 3;

/// What the queue remembers of its operator.
pub(super) struct Guard {
    presence: Presence,
    pub(super) breaker: Breaker,
    backoff: Backoff,
    /// As it was last told.
    stand: Stand,
    opened: u64,
}

/// How an attempt went, as far as a breaker cares.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Went {
    /// The operator works: it has taken the message, or refused it for good.
    Well,
    Badly,
    /// It says nothing about the operator.
    Unseen,
}

/// What may be granted now.
pub(super) struct Quota {
    pub left: u32,
    /// They try whether the operator works again.
    pub probing: bool,
}

// === impl Guard ===

impl Guard {
    pub(super) fn new() -> Self {
        Self {
            presence: Presence::new(),
            breaker: Breaker::new(Limits::OFF),
            backoff: Backoff::default(),
            stand: Stand::Closed,
            opened: 0,
        }
    }

    /// Closed, open or half open; empty without a breaker.
    pub(super) fn breaker_state(&self) -> &'static str {
        match self.stand {
            _ if !self.breaker.is_on() => "",
            Stand::Closed => "closed",
            Stand::Open => "open",
            Stand::HalfOpen => "half open",
        }
    }

    /// How often the breaker has opened.
    pub(super) fn opened(&self) -> u64 {
        self.opened
    }

    /// Messages per second that are left by a slower pace.
    pub(super) fn pace(&self) -> Option<f64> {
        self.backoff.rate()
    }
}

// === impl Queue ===

impl Queue {
    /// Looks after the operator, and tells routes how it stands. Called by the timer and whenever
    /// sessions come or go.
    pub(super) fn watch_target(&mut self) {
        let plan = self.node.plan();
        let bound = self.port.bound.load(Ordering::Relaxed).max(1);
        let Some(operator) = plan.operator(self.port.id) else {
            let account = plan.account_by_id(self.port.id);
            let capacity = account.map_or(f64::INFINITY, |account| {
                f64::from(account.config.window) * f64::from(bound)
            });
            self.port
                .target_health
                .set_load(self.scheduled.len() as u64, capacity);
            self.port
                .target_health
                .set(Availability::WhileServed, false);
            return;
        };
        let config = &operator.config;
        let now = Instant::now().into_std();
        self.guard.breaker.configure(limits_of(config));
        if !config.adaptive {
            self.guard.backoff.forget();
        } else if self
            .guard
            .backoff
            .tick(now, self.counters.granted, config.rate)
        {
            tracing::info!(queue = %self.port.name, "the operator is sent to at full speed again");
        }
        let window = f64::from(config.window) * f64::from(bound);
        let capacity = self.guard.pace().or(config.rate).unwrap_or(window);
        self.port
            .target_health
            .set_load(self.scheduled.len() as u64, capacity);
        let patience = Patience {
            failover_after: config.failover_after,
            failback_after: config.failback_after,
        };
        self.tell_breaker(now);
        let served = self.node.is_served(&self.port);
        // Also while nothing depends on it: patience may come with a reload.
        let there = self.guard.presence.see(served, now, patience);
        if patience.is_none() && !self.guard.breaker.is_on() {
            self.port
                .target_health
                .set(Availability::WhileServed, false);
            return;
        }
        let lets = match self.guard.stand {
            Stand::Closed => true,
            Stand::Open => false,
            // What waits already tries first.
            Stand::HalfOpen => !self.has_something_to_send(),
        };
        let bound_here = self.port.is_bound();
        let elsewhere = self.node.local_lease.is_shared()
            && self
                .node
                .local_lease
                .cluster_view()
                .lets(self.port.id, self.node.ids.node());
        let availability = match there && (!served || (bound_here && lets) || elsewhere) {
            true => Availability::Available,
            false => Availability::Unavailable,
        };
        self.port
            .target_health
            .set(availability, bound_here && !lets);
    }

    /// Whether what waits here goes out, now or as soon as there are tokens and credit.
    pub(super) fn sends(&self) -> bool {
        match self.port.target_health.availability() {
            Availability::WhileServed => self.node.available(self.port.id),
            Availability::Available | Availability::Unavailable => {
                !self.port.suspended.load(Ordering::Relaxed)
                    && self.node.is_served(&self.port)
                    && self.guard.breaker.room(Instant::now().into_std()) > 0
            }
        }
    }

    /// What may be granted now, apart from tokens and credit.
    pub(super) fn quota(&mut self) -> Quota {
        let mut quota = Quota {
            left: self.room_for_unwritten(),
            probing: false,
        };
        let guard = &mut self.guard;
        // Nearly always both are so, and the time need not be asked for.
        if !guard.breaker.is_open() && guard.pace().is_none() {
            return quota;
        }
        let now = Instant::now().into_std();
        if guard.breaker.is_open() {
            quota.probing = true;
            quota.left = quota.left.min(guard.breaker.room(now));
        }
        if let Some(allowed) = guard.backoff.allowance(now) {
            quota.left = quota.left.min(allowed);
        }
        quota
    }

    /// So many of a quota were granted.
    pub(super) fn spent(&mut self, quota: &Quota, granted: u32) {
        self.guard.backoff.spend(granted);
        if quota.probing {
            let now = Instant::now().into_std();
            (0..granted).for_each(|_| {
                self.guard.breaker.admit(now);
            });
        }
    }

    /// An attempt has ended. `probe`: it was made to try.
    pub(super) fn went(&mut self, probe: bool, how: Went) {
        if !self.guard.breaker.is_on() {
            return;
        }
        // What was under way when it opened says nothing new.
        if self.guard.breaker.is_open() && !probe {
            return;
        }
        let now = Instant::now().into_std();
        match how {
            Went::Well => self.guard.breaker.succeeded(now),
            Went::Badly => drop(self.guard.breaker.failed(now)),
            Went::Unseen => self.guard.breaker.abandoned(),
        }
        self.tell_breaker(now);
    }

    /// What a failure says about the operator.
    pub(super) fn verdict(&self, failure: &Failed) -> Went {
        match failure.why() {
            Why::NotSent => Went::Unseen,
            // A lost bind has its own way of being away.
            Why::Unknown if failure.lost => Went::Unseen,
            Why::Unknown => Went::Badly,
            Why::Status => match self
                .node
                .plan()
                .retry_of(self.port.id)
                .class(failure.status)
            {
                Class::Temporary => Went::Badly,
                Class::Permanent => Went::Well,
                Class::Throttled => Went::Unseen,
            },
        }
    }

    /// The operator says that it is sent too much; whether its pace is adapted to that.
    pub(super) fn slow_down(&mut self, status: u32) -> bool {
        let plan = self.node.plan();
        let Some(operator) = plan.operator(self.port.id) else {
            return false;
        };
        if !operator.config.adaptive {
            return false;
        }
        let refusal = match CommandStatus(status) {
            CommandStatus::ESME_RTHROTTLED => Refusal::Rate,
            _ => Refusal::Doubtful,
        };
        let now = Instant::now().into_std();
        let is_first = self.guard.pace().is_none();
        let sent = self.counters.granted;
        let backoff = &mut self.guard.backoff;
        if backoff.refused(now, sent, operator.config.rate, refusal) && is_first {
            let rate = backoff.rate().unwrap_or_default();
            tracing::warn!(queue = %self.port.name, rate, "the operator throttles: it is sent to slower");
        }
        true
    }

    fn has_something_to_send(&self) -> bool {
        !self.lists.is_empty() || !self.held.is_empty()
    }

    /// Says so in the log when the breaker stands otherwise than before.
    fn tell_breaker(&mut self, now: std::time::Instant) {
        let stand = self.guard.breaker.stand(now);
        if stand == self.guard.stand {
            return;
        }
        let queue = &self.port.name;
        match stand {
            Stand::Open => {
                self.guard.opened += 1;
                tracing::warn!(%queue, "the breaker opens: the operator fails and is left alone for a while");
            }
            Stand::HalfOpen => {
                tracing::info!(%queue, "the breaker is half open: a few messages try")
            }
            Stand::Closed => tracing::info!(%queue, "the breaker closes: the operator works"),
        }
        self.guard.stand = stand;
    }
}

fn limits_of(config: &Operator) -> Limits {
    Limits {
        in_a_row: config.breaker_failures,
        share: config.breaker_share,
        pause: config.breaker_pause.max(Duration::from_millis(1)),
        probes: PROBES,
    }
}
