//! What limits a queue whose operator is away, fails or throttles: patience, a circuit breaker, and a slower
//! pace. A GSM network has a breaker, too.
//!
//! Used by the actions that grant and settle, and by the timer; the rules are in `domain::{presence,
//! breaker, backoff}`. Breaker and pace are per node. Invariant: the port's
//! [`TargetHealth`](crate::actors::context::target_health::TargetHealth) has what routing of new messages
//! needs to know about the operator. A queue whose operator configures none of this pays one comparison per
//! grant.

use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::time::Instant;

use crate::actors::context::NodeContext;
use crate::actors::context::plan::Plan;
use crate::actors::context::ports::QueuePort;
use crate::actors::context::target_health::Availability;
use crate::clock;
use crate::domain::backoff::{Backoff, Refusal};
use crate::domain::breaker::{Breaker, BreakerLimits, BreakerStatus};
use crate::domain::gsm_result::{self, BreakerVerdict};
use crate::domain::presence::{Patience, Presence};
use crate::domain::retry::{RefusalClass, RetryPolicy};
use crate::pb::Failed;
use crate::pb::failed::Why;
use crate::smpp::CommandStatus;

/// Messages that probe whether an operator works again.
const PROBES: u32 = 3;

/// What the queue remembers about its operator.
pub(super) struct Guard {
    presence: Presence,
    breaker: Breaker,
    backoff: Backoff,
    /// The breaker's state when it was last logged.
    stand: BreakerStatus,
    /// How often the breaker has opened.
    opened: u64,
    /// It is bound again, and new messages do not use it yet.
    returning: bool,
    /// When it was last bound again after others stood in (Unix milliseconds, 0 for never).
    failback_at: i64,
    /// Since when nothing has gone out although messages have another target.
    unserved_since: Option<Instant>,
    /// How the operator stands does not change by the clock.
    is_settled: bool,
}

/// What the guard needs to know about the load of its queue.
pub(super) struct Load {
    /// Messages that are not due yet.
    pub(super) scheduled: usize,
    /// Whether messages are in the lists or with sessions.
    pub(super) is_busy: bool,
    /// Total of messages handed out.
    pub(super) granted: u64,
}

/// What is configured about the operator or GSM network of a queue.
struct GuardedTarget {
    limits: BreakerLimits,
    patience: Patience,
    adaptive: bool,
    /// Messages that one session has under way at most.
    window: u32,
}

/// How many messages may be granted now.
pub(super) struct Quota {
    pub(super) left: u32,
    /// They probe whether the operator works again.
    pub(super) probing: bool,
}

// === impl Guard ===

impl Guard {
    pub(super) fn new() -> Self {
        Self {
            presence: Presence::new(),
            breaker: Breaker::new(BreakerLimits::OFF),
            backoff: Backoff::default(),
            stand: BreakerStatus::Closed,
            opened: 0,
            returning: false,
            failback_at: 0,
            unserved_since: None,
            is_settled: false,
        }
    }

    /// The lists are read again: attempts under way no longer count for the breaker.
    pub(super) fn begin_again(&mut self) {
        self.breaker.forget_calls();
        self.unserved_since = None;
    }

    /// `closed`, `open` or `half open`; empty without a breaker.
    pub(super) fn breaker_state(&self) -> &'static str {
        match self.stand {
            _ if !self.breaker.is_on() => "",
            BreakerStatus::Closed => "closed",
            BreakerStatus::Open => "open",
            BreakerStatus::HalfOpen => "half open",
        }
    }

    /// How often the breaker has opened.
    pub(super) fn opened(&self) -> u64 {
        self.opened
    }

    /// The slower pace in messages per second; `None` without one.
    pub(super) fn pace(&self) -> Option<f64> {
        self.backoff.rate()
    }

    /// Whether the operator is bound again, and new messages do not use it yet.
    pub(super) fn is_returning(&self) -> bool {
        self.returning
    }

    /// When it was last bound again after others stood in by a route (Unix milliseconds, 0 for never).
    pub(super) fn failback_at(&self) -> i64 {
        self.failback_at
    }

    /// Whether nothing changes by the clock: no patience runs, the breaker is closed, and the pace is not reduced.
    pub(super) fn is_settled(&self) -> bool {
        self.is_settled
    }

    // --- how the operator stands

    /// Updates presence, breaker and pace, and publishes the operator's health to routing. Called by
    /// the timer and whenever sessions come or go.
    pub(super) fn watch(&mut self, node: &NodeContext, port: &QueuePort, load: &Load) {
        let plan = node.plan();
        let bound = f64::from(port.bound.load(Ordering::Relaxed).max(1));
        let health = &port.target_health;
        let Some(target) = GuardedTarget::of(&plan, port.id) else {
            let account = plan.account_by_id(port.id);
            let capacity = account.map_or(f64::INFINITY, |account| {
                f64::from(account.config.window) * bound
            });
            health.set_load(load.scheduled as u64, capacity);
            health.set(Availability::WhileServed, false);
            self.is_settled = true;
            return;
        };
        let rate = node.rate_of(port.id).map(|(rate, _)| rate);
        let now = Instant::now().into_std();
        self.breaker.configure(target.limits);
        if !target.adaptive {
            self.backoff.forget();
        } else if self.backoff.tick(now, load.granted, rate) {
            tracing::info!(queue = %port.name, "the operator is sent messages at full speed again");
        }
        let window = f64::from(target.window) * bound;
        let capacity = self.pace().or(rate).unwrap_or(window);
        health.set_load(load.scheduled as u64, capacity);
        let patience = target.patience;
        self.tell_breaker(now, &port.name);
        let served = node.is_served(port);
        // Also while nothing uses it: a reload may configure patience.
        let comes_back = self.presence.comes_back(served);
        let there = self.presence.see(served, now, patience);
        self.returning = served && !there;
        let is_closed = self.stand == BreakerStatus::Closed;
        self.is_settled = served == there && is_closed && self.pace().is_none();
        if comes_back && node.has_stand_in(port.id) {
            self.failback_at = clock::now_ms();
        }
        if patience.is_none() && !self.breaker.is_on() {
            health.set(Availability::WhileServed, false);
            return;
        }
        let lets = match self.stand {
            BreakerStatus::Closed => true,
            BreakerStatus::Open => false,
            // Waiting messages probe first.
            BreakerStatus::HalfOpen => !load.is_busy,
        };
        let bound_here = port.is_bound();
        let elsewhere = node.local_lease.is_shared()
            && (node.local_lease.cluster_view()).lets(port.id, node.ids.node());
        let availability = if there && (!served || (bound_here && lets) || elsewhere) {
            Availability::Available
        } else {
            Availability::Unavailable
        };
        health.set(availability, bound_here && !lets);
    }

    /// Whether waiting messages go out, now or as soon as there are tokens and credit.
    pub(super) fn sends(&self, node: &NodeContext, port: &QueuePort) -> bool {
        match port.target_health.availability() {
            Availability::WhileServed => node.available(port.id),
            Availability::Available | Availability::Unavailable => {
                !port.suspended.load(Ordering::Relaxed)
                    && node.is_served(port)
                    && self.breaker.room(Instant::now().into_std()) > 0
            }
        }
    }

    /// Logs a change of the breaker's state.
    fn tell_breaker(&mut self, now: std::time::Instant, queue: &str) {
        let stand = self.breaker.stand(now);
        if stand == self.stand {
            return;
        }
        match stand {
            BreakerStatus::Open => {
                self.opened += 1;
                tracing::warn!(%queue, "the breaker opens: the other side fails and gets no messages for a while");
            }
            BreakerStatus::HalfOpen => {
                tracing::info!(%queue, "the breaker is half open: a few messages probe the other side")
            }
            BreakerStatus::Closed => {
                tracing::info!(%queue, "the breaker closes: the other side works")
            }
        }
        self.stand = stand;
    }

    // --- how long nothing goes out

    /// For how long nothing has gone out, counted from the first call.
    pub(super) fn unserved_for(&mut self) -> Duration {
        let since = self.unserved_since.get_or_insert_with(Instant::now);
        since.elapsed()
    }

    pub(super) fn is_served_again(&mut self) {
        self.unserved_since = None;
    }

    /// No waiting message can go elsewhere: the wait starts again.
    pub(super) fn count_unserved_anew(&mut self) {
        self.unserved_since = Some(Instant::now());
    }

    pub(super) fn is_breaker_open(&self) -> bool {
        self.breaker.is_open()
    }

    // --- grants and what came of them

    /// How many of `room` messages may be granted now, before tokens and credit are considered.
    pub(super) fn quota(&mut self, room: u32) -> Quota {
        let mut quota = Quota {
            left: room,
            probing: false,
        };
        // The usual case, which does not need the clock.
        if !self.breaker.is_open() && self.pace().is_none() {
            return quota;
        }
        let now = Instant::now().into_std();
        if self.breaker.is_open() {
            quota.probing = true;
            quota.left = quota.left.min(self.breaker.room(now));
        }
        if let Some(allowed) = self.backoff.allowance(now) {
            quota.left = quota.left.min(allowed);
        }
        quota
    }

    /// `granted` messages of a quota were granted.
    pub(super) fn spent(&mut self, quota: &Quota, granted: u32) {
        self.backoff.spend(granted);
        if quota.probing {
            let now = Instant::now().into_std();
            (0..granted).for_each(|_| {
                self.breaker.admit(now);
            });
        }
    }

    /// Whether the breaker needs the results of attempts.
    pub(super) fn is_watching(&self) -> bool {
        self.breaker.is_on()
    }

    /// An attempt of this queue has ended. `probe`: whether it was a probe.
    pub(super) fn note_attempt(&mut self, probe: bool, verdict: BreakerVerdict, queue: &str) {
        if !self.breaker.is_on() {
            return;
        }
        // Attempts that were under way when it opened add nothing.
        if self.breaker.is_open() && !probe {
            return;
        }
        let now = Instant::now().into_std();
        match verdict {
            BreakerVerdict::Works => self.breaker.succeeded(now),
            BreakerVerdict::Fails => drop(self.breaker.failed(now)),
            BreakerVerdict::Nothing => self.breaker.abandoned(),
        }
        self.tell_breaker(now, queue);
    }

    /// The operator throttles; returns whether its pace adapts to that. `sent`: total of messages sent.
    pub(super) fn slow_down(
        &mut self,
        plan: &Plan,
        port: &QueuePort,
        status: u32,
        sent: u64,
    ) -> bool {
        let Some(operator) = plan.operator(port.id) else {
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
        let is_first = self.pace().is_none();
        let backoff = &mut self.backoff;
        if backoff.refused(now, sent, operator.config.rate, refusal) && is_first {
            let rate = backoff.rate().unwrap_or_default();
            tracing::warn!(queue = %port.name, rate, "the operator throttles: the pace is reduced");
        }
        true
    }
}

// === impl GuardedTarget ===

impl GuardedTarget {
    fn of(plan: &Plan, queue: u32) -> Option<Self> {
        if let Some(operator) = plan.operator(queue) {
            let config = &operator.config;
            return Some(Self {
                limits: limits(
                    config.breaker_failures,
                    config.breaker_share,
                    config.breaker_pause,
                ),
                patience: Patience {
                    failover_after: config.failover_after,
                    failback_after: config.failback_after,
                },
                adaptive: config.adaptive,
                window: config.most_unanswered(),
            });
        }
        let config = &plan.gsm(queue)?.config;
        Some(Self {
            limits: limits(
                config.breaker_failures,
                config.breaker_share,
                config.breaker_pause,
            ),
            patience: Patience::default(),
            adaptive: false,
            window: config.window,
        })
    }
}

fn limits(in_a_row: u32, share: f64, pause: Duration) -> BreakerLimits {
    BreakerLimits {
        in_a_row,
        share,
        pause: pause.max(Duration::from_millis(1)),
        probes: PROBES,
    }
}

/// What a failure says about the operator or network; `retry` interprets the statuses of operators. `probe`: whether
/// the message was a probe.
pub(super) fn breaker_verdict(
    failure: &Failed,
    retry: &RetryPolicy,
    probe: bool,
) -> BreakerVerdict {
    let verdict = match failure.why() {
        Why::NotSent | Why::Waits | Why::HeldUp => BreakerVerdict::Nothing,
        // Presence deals with lost binds.
        Why::Unknown if failure.lost => BreakerVerdict::Nothing,
        Why::Status | Why::GivenUp if gsm_result::is_one(failure.status) => {
            gsm_result::verdict(failure.status)
        }
        Why::Unknown | Why::Later | Why::GivenUp => BreakerVerdict::Fails,
        Why::Status => match retry.class(failure.status) {
            RefusalClass::Temporary => BreakerVerdict::Fails,
            RefusalClass::Permanent => BreakerVerdict::Works,
            RefusalClass::Throttled => BreakerVerdict::Nothing,
        },
    };
    match verdict {
        // One subscriber that fails again and again is no network that fails; but a probe decides by itself.
        BreakerVerdict::Fails if failure.repeated && !probe => BreakerVerdict::Nothing,
        verdict => verdict,
    }
}
