//! Whether an operator takes another message now: the counting of `mode = "operator"`.
//!
//! Counted in the seconds of the clock, as the system that these commands come from does: a command above the rate of this
//! second goes back to the stream. Where there is Redis, it counts ([`admit`](super::admit)). Without Redis each node counts
//! its share of the binds, so that together they stay below the rate.

use std::sync::atomic::Ordering;

use crate::actors::context::NodeContext;
use crate::actors::context::target_health::Availability;

/// How an operator stands for this node.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum OperatorStanding {
    /// Other nodes have its binds, and take the commands.
    Elsewhere,
    /// No node is bound, its queue is suspended, or its breaker is open.
    Away,
    /// It takes messages, any number with `None`.
    Takes(Option<OperatorRate>),
}

/// How many messages an operator takes in a second.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct OperatorRate {
    pub(super) of_all_nodes: f64,
    pub(super) of_this_node: f64,
}

/// What was admitted in the second that runs.
#[derive(Debug, Default)]
pub(super) struct Pace {
    period: i64,
    used: u32,
}

/// How the operator of this queue stands.
pub(super) fn standing(node: &NodeContext, queue: u32) -> OperatorStanding {
    let plan = node.plan();
    let (Some(operator), Some(port)) = (plan.operator(queue), node.queue(queue)) else {
        return OperatorStanding::Away;
    };
    let share = node
        .local_lease
        .share_of_binds(queue, operator.config.binds);
    let is_served = node.is_served(&port);
    if share == 0.0 && is_served {
        return OperatorStanding::Elsewhere;
    }
    let health = &port.target_health;
    let is_open = !port.suspended.load(Ordering::Relaxed)
        && !health.is_tripped()
        && health.availability() != Availability::Unavailable;
    if is_open && is_served {
        // For a managed operator, what its management service says counts, too.
        OperatorStanding::Takes(node.rate_of(queue).map(|(rate, _)| OperatorRate {
            of_all_nodes: rate,
            of_this_node: rate * share,
        }))
    } else {
        OperatorStanding::Away
    }
}

/// The queue of who stands in for an operator that is not bound, where the management service names somebody who is.
/// Whose binds are elsewhere takes the message in its queue, as from a route.
pub(super) fn stand_in(node: &NodeContext, queue: u32) -> Option<u32> {
    if standing(node, queue) != OperatorStanding::Away {
        return None;
    }
    let backup = node.managed.of(queue)?.backup?;
    let other = node.plan().queue_of(&backup)?;
    (standing(node, other) != OperatorStanding::Away).then_some(other)
}

// === impl Pace ===

impl Pace {
    /// Whether a text of `parts` messages is within `rate` a second. One of more parts than that takes all of a second.
    pub(super) fn admits(&mut self, now_ms: i64, rate: f64, parts: u32) -> bool {
        let most = most(rate);
        let period = now_ms.div_euclid(length(rate));
        if period != self.period {
            *self = Self { period, used: 0 };
        }
        let used = self.used + parts.min(most);
        if used > most {
            return false;
        }
        self.used = used;
        true
    }

    /// A text of `parts` messages that was admitted in this second is not sent after all.
    pub(super) fn give_back(&mut self, now_ms: i64, rate: f64, parts: u32) {
        if now_ms.div_euclid(length(rate)) == self.period {
            self.used = self.used.saturating_sub(parts.min(most(rate)));
        }
    }
}

/// Milliseconds of a period: a rate below one a second is one in a longer time.
fn length(rate: f64) -> i64 {
    (1_000.0 / rate.clamp(0.001, 1.0)) as i64
}

/// Messages of a period.
fn most(rate: f64) -> u32 {
    rate.max(1.0) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_above_the_rate_of_a_second_of_the_clock_is_not_admitted() {
        let mut pace = Pace::default();
        let start = 1_700_000_000_000;
        let admitted =
            |pace: &mut Pace, now, count| (0..count).filter(|_| pace.admits(now, 100.0, 1)).count();
        assert_eq!(admitted(&mut pace, start, 110), 100);
        // After the delay of a NAK it is still the same second.
        assert_eq!(admitted(&mut pace, start + 500, 10), 0);
        assert_eq!(admitted(&mut pace, start + 1_000, 10), 10);
    }

    #[test]
    fn what_was_sent_before_takes_nothing() {
        let mut pace = Pace::default();
        assert!(pace.admits(0, 2.0, 2));
        pace.give_back(999, 2.0, 2);
        assert!(pace.admits(999, 2.0, 2));
        // What is given back in the next second was of this one.
        assert!(pace.admits(1_000, 2.0, 2));
        pace.give_back(2_000, 2.0, 2);
        assert!(!pace.admits(1_999, 2.0, 1));
    }

    #[test]
    fn a_long_text_takes_as_much_as_it_has_parts() {
        let mut pace = Pace::default();
        assert!(pace.admits(0, 3.0, 2));
        assert!(!pace.admits(0, 3.0, 2));
        assert!(pace.admits(0, 3.0, 1));
        assert!(pace.admits(1_000, 3.0, 7), "more than a second has");
        assert!(!pace.admits(1_999, 3.0, 1));
    }

    #[test]
    fn a_rate_below_one_is_one_in_a_longer_time() {
        let mut pace = Pace::default();
        assert!(pace.admits(0, 0.5, 1));
        assert!(!pace.admits(1_999, 0.5, 1));
        assert!(pace.admits(2_000, 0.5, 1));
    }
}
