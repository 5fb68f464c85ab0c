//! What stands between a queue and an operator that is away, fails or is sent too much: patience, a
//! circuit breaker, and a slower pace.
//!
//! Used by the actions that grant and settle, and by the timer; the rules are in
//! `domain::{presence, breaker, backoff}`. Breaker and pace are those of this node. Keeps true that what new
//! messages need to know of the operator is in the port's
//! [`TargetHealth`](crate::actors::context::target_health::TargetHealth). A queue whose operator has none of it set
//! pays a comparison per grant.

use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::time::Instant;

use crate::actors::context::NodeContext;
use crate::actors::context::plan::Plan;
use crate::actors::context::ports::QueuePort;
use crate::actors::context::target_health::Availability;
use crate::config::Operator;
use crate::domain::backoff::{Backoff, Refusal};
use crate::domain::breaker::{Breaker, Limits, Stand};
use crate::domain::presence::{Patience, Presence};
use crate::domain::retry::{Class, RetryPolicy};
use crate::pb::Failed;
use crate::pb::failed::Why;
use crate::smpp::CommandStatus;

/// Messages that try whether an operator works again.
const PROBES: u32 = 3;

/// What the queue remembers of its operator.
pub(super) struct Guard {
    presence: Presence,
    breaker: Breaker,
    backoff: Backoff,
    /// The breaker as it was last told.
    stand: Stand,
    /// How often it has opened.
    opened: u64,
    /// Since when nothing goes out although there is another way.
    unserved_since: Option<Instant>,
}

/// What of a queue its guard looks at.
pub(super) struct Load {
    /// Messages that wait for their time.
    pub(super) scheduled: usize,
    /// Something is in its lists, or with sessions.
    pub(super) is_busy: bool,
    /// Messages that were handed out altogether.
    pub(super) granted: u64,
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
    pub(super) left: u32,
    /// They try whether the operator works again.
    pub(super) probing: bool,
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
            unserved_since: None,
        }
    }

    /// The lists are read anew: what was under way tells the breaker nothing.
    pub(super) fn begin_again(&mut self) {
        self.breaker.forget_calls();
        self.unserved_since = None;
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

    // --- how the operator stands

    /// Looks after the operator, and tells routes how it stands. Called by the timer and whenever
    /// sessions come or go.
    pub(super) fn watch(&mut self, node: &NodeContext, port: &QueuePort, load: &Load) {
        let plan = node.plan();
        let bound = f64::from(port.bound.load(Ordering::Relaxed).max(1));
        let health = &port.target_health;
        let Some(operator) = plan.operator(port.id) else {
            let account = plan.account_by_id(port.id);
            let capacity = account.map_or(f64::INFINITY, |account| {
                f64::from(account.config.window) * bound
            });
            health.set_load(load.scheduled as u64, capacity);
            health.set(Availability::WhileServed, false);
            return;
        };
        let config = &operator.config;
        let now = Instant::now().into_std();
        self.breaker.configure(limits_of(config));
        if !config.adaptive {
            self.backoff.forget();
        } else if self.backoff.tick(now, load.granted, config.rate) {
            tracing::info!(queue = %port.name, "the operator is sent to at full speed again");
        }
        let window = f64::from(config.window) * bound;
        let capacity = self.pace().or(config.rate).unwrap_or(window);
        health.set_load(load.scheduled as u64, capacity);
        let patience = Patience {
            failover_after: config.failover_after,
            failback_after: config.failback_after,
        };
        self.tell_breaker(now, &port.name);
        let served = node.is_served(port);
        // Also while nothing depends on it: patience may come with a reload.
        let there = self.presence.see(served, now, patience);
        if patience.is_none() && !self.breaker.is_on() {
            health.set(Availability::WhileServed, false);
            return;
        }
        let lets = match self.stand {
            Stand::Closed => true,
            Stand::Open => false,
            // What waits already tries first.
            Stand::HalfOpen => !load.is_busy,
        };
        let bound_here = port.is_bound();
        let elsewhere = node.local_lease.is_shared()
            && (node.local_lease.cluster_view()).lets(port.id, node.ids.node());
        let availability = match there && (!served || (bound_here && lets) || elsewhere) {
            true => Availability::Available,
            false => Availability::Unavailable,
        };
        health.set(availability, bound_here && !lets);
    }

    /// Whether what waits goes out, now or as soon as there are tokens and credit.
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

    /// Says so in the log when the breaker stands otherwise than before.
    fn tell_breaker(&mut self, now: std::time::Instant, queue: &str) {
        let stand = self.breaker.stand(now);
        if stand == self.stand {
            return;
        }
        match stand {
            Stand::Open => {
                self.opened += 1;
                tracing::warn!(%queue, "the breaker opens: the operator fails and is left alone for a while");
            }
            Stand::HalfOpen => {
                tracing::info!(%queue, "the breaker is half open: a few messages try")
            }
            Stand::Closed => tracing::info!(%queue, "the breaker closes: the operator works"),
        }
        self.stand = stand;
    }

    // --- how long nothing goes out

    /// For how long nothing goes out, counted from the first call.
    pub(super) fn unserved_for(&mut self) -> Duration {
        let since = self.unserved_since.get_or_insert_with(Instant::now);
        since.elapsed()
    }

    pub(super) fn is_served_again(&mut self) {
        self.unserved_since = None;
    }

    /// Nothing that waits can go elsewhere: it is looked at again after as long a time.
    pub(super) fn count_unserved_anew(&mut self) {
        self.unserved_since = Some(Instant::now());
    }

    pub(super) fn is_breaker_open(&self) -> bool {
        self.breaker.is_open()
    }

    // --- grants and what came of them

    /// What may be granted now, apart from tokens and credit: of so many.
    pub(super) fn quota(&mut self, room: u32) -> Quota {
        let mut quota = Quota {
            left: room,
            probing: false,
        };
        // Nearly always both are so, and the time need not be asked for.
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

    /// So many of a quota were granted.
    pub(super) fn spent(&mut self, quota: &Quota, granted: u32) {
        self.backoff.spend(granted);
        if quota.probing {
            let now = Instant::now().into_std();
            (0..granted).for_each(|_| {
                self.breaker.admit(now);
            });
        }
    }

    /// Whether it matters how attempts go.
    pub(super) fn is_watching(&self) -> bool {
        self.breaker.is_on()
    }

    /// An attempt of this queue has ended. `probe`: it was made to try.
    pub(super) fn went(&mut self, probe: bool, how: Went, queue: &str) {
        if !self.breaker.is_on() {
            return;
        }
        // What was under way when it opened says nothing new.
        if self.breaker.is_open() && !probe {
            return;
        }
        let now = Instant::now().into_std();
        match how {
            Went::Well => self.breaker.succeeded(now),
            Went::Badly => drop(self.breaker.failed(now)),
            Went::Unseen => self.breaker.abandoned(),
        }
        self.tell_breaker(now, queue);
    }

    /// The operator says that it is sent too much; whether its pace is adapted to that. `sent`: messages
    /// altogether.
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
            tracing::warn!(queue = %port.name, rate, "the operator throttles: it is sent to slower");
        }
        true
    }
}

// === impl Went ===

impl Went {
    /// What a failure says about the operator, whose refusals mean what `retry` says.
    pub(super) fn by(failure: &Failed, retry: &RetryPolicy) -> Self {
        match failure.why() {
            Why::NotSent => Self::Unseen,
            // A lost bind has its own way of being away.
            Why::Unknown if failure.lost => Self::Unseen,
            Why::Unknown | Why::Later | Why::GivenUp => Self::Badly,
            Why::Status => match retry.class(failure.status) {
                Class::Temporary => Self::Badly,
                Class::Permanent => Self::Well,
                Class::Throttled => Self::Unseen,
            },
        }
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
