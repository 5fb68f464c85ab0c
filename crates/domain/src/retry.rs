//! What a refused attempt means: retry later, final, or throttled.
//!
//! Called when an operator answered with a status other than ESME_ROK. The built-in classes are those
//! of [`super::command_status::class`]; configuration overrides them per status and operator.

use std::collections::HashMap;
use std::ops::RangeInclusive;
use std::time::Duration;

pub use super::command_status::RefusalClass;
use super::command_status::class;

/// What happens to the message now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// Give up: UNDELIVERABLE.
    Permanent,
    /// Try again.
    Temporary {
        /// Pause before the next attempt.
        after: Duration,
    },
    /// Wait, then send as if nothing had happened.
    Throttled {
        /// Pause before it is due again.
        after: Duration,
    },
}

/// An override for one status.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RetryRule {
    /// Instead of the built-in class.
    pub class: RefusalClass,
    /// Instead of the policy's delays, if not empty.
    pub delays: Vec<Duration>,
}

/// The retry schedule of an operator (or the default one).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RetryPolicy {
    /// Pauses after the first, second, … attempt; the last one repeats.
    pub delays: Vec<Duration>,
    /// Pause after [`RefusalClass::Throttled`], unless a rule names another.
    pub throttled_delay: Duration,
    /// Attempts before a temporary refusal becomes permanent; `None`: until expiry.
    pub max_attempts: Option<u32>,
    /// Overrides by command_status.
    pub rules: HashMap<u32, RetryRule>,
    /// Classes of the operator, over those of `rules`; the first range that has a status counts.
    pub classes: Vec<(RangeInclusive<u32>, RefusalClass)>,
}

/// Without a schedule. A one-time password is worth something for some minutes, a handset that is switched off comes back
/// within hours: soon at first, then seldom.
pub const DEFAULT_DELAYS: [Duration; 4] = [
    Duration::from_secs(30),
    Duration::from_secs(2 * 60),
    Duration::from_secs(10 * 60),
    LAST_DEFAULT_DELAY,
];
const LAST_DEFAULT_DELAY: Duration = Duration::from_secs(30 * 60);
/// Without a setting: a second-long rate window has half passed.
const DEFAULT_THROTTLED_DELAY: Duration = Duration::from_millis(500);

// === impl RetryPolicy ===

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            delays: DEFAULT_DELAYS.to_vec(),
            throttled_delay: DEFAULT_THROTTLED_DELAY,
            max_attempts: None,
            rules: HashMap::new(),
            classes: Vec::new(),
        }
    }
}

impl RetryPolicy {
    /// The class of a command_status under this policy.
    pub fn class(&self, command_status: u32) -> RefusalClass {
        let own =
            |(range, _): &&(RangeInclusive<u32>, RefusalClass)| range.contains(&command_status);
        let own = self.classes.iter().find(own).map(|(_, class)| *class);
        own.or_else(|| self.rules.get(&command_status).map(|rule| rule.class))
            .unwrap_or_else(|| class(command_status))
    }

    /// The longest pause that this policy makes.
    pub fn longest_delay(&self) -> Duration {
        let rules = self.rules.values().flat_map(|rule| &rule.delays);
        let delays = self.delays.iter().chain(rules).copied().max();
        delays
            .unwrap_or(LAST_DEFAULT_DELAY)
            .max(self.throttled_delay)
    }

    /// What to do after `attempt` (1 for the first) was refused with `command_status`.
    pub fn decide(&self, command_status: u32, attempt: u32) -> Decision {
        let rule = self.rules.get(&command_status);
        let own_delays = rule.map(|rule| rule.delays.as_slice()).unwrap_or_default();
        match self.class(command_status) {
            RefusalClass::Permanent => Decision::Permanent,
            RefusalClass::Throttled => Decision::Throttled {
                after: own_delays.first().copied().unwrap_or(self.throttled_delay),
            },
            RefusalClass::Temporary if self.max_attempts.is_some_and(|max| attempt >= max) => {
                Decision::Permanent
            }
            RefusalClass::Temporary => {
                let delays = if own_delays.is_empty() {
                    &self.delays
                } else {
                    own_delays
                };
                Decision::Temporary {
                    after: delay(delays, attempt),
                }
            }
        }
    }
}

/// The pause after `attempt` (1 for the first); the last one repeats.
fn delay(delays: &[Duration], attempt: u32) -> Duration {
    let index = (attempt.max(1) - 1) as usize;
    delays
        .get(index)
        .or(delays.last())
        .copied()
        .unwrap_or(LAST_DEFAULT_DELAY)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(list: &[u64]) -> Vec<Duration> {
        list.iter().copied().map(Duration::from_secs).collect()
    }

    #[test]
    fn the_default_is_soon_at_first_then_every_half_hour_until_expiry() {
        let policy = RetryPolicy::default();
        for (attempt, seconds) in [(1, 30), (2, 120), (3, 600), (4, 1_800), (5, 1_800)] {
            let after = Duration::from_secs(seconds);
            assert_eq!(policy.decide(0x08, attempt), Decision::Temporary { after });
        }
        let after = Duration::from_secs(1_800);
        let late = policy.decide(0x08, 1_000);
        assert_eq!(late, Decision::Temporary { after });
        assert_eq!(policy.longest_delay(), after);
        assert_eq!(policy.decide(0x0B, 1), Decision::Permanent);
        let after = Duration::from_millis(500);
        assert_eq!(policy.decide(0x58, 99), Decision::Throttled { after });
    }

    #[test]
    fn the_longest_delay_is_any_of_them() {
        let policy = RetryPolicy {
            delays: seconds(&[30, 60]),
            ..RetryPolicy::default()
        };
        assert_eq!(policy.longest_delay(), Duration::from_secs(60));
        let rule = RetryRule {
            class: RefusalClass::Temporary,
            delays: seconds(&[5, 90, 7]),
        };
        let mut policy = RetryPolicy {
            rules: HashMap::from([(0x14, rule)]),
            ..policy
        };
        assert_eq!(policy.longest_delay(), Duration::from_secs(90));
        policy.throttled_delay = Duration::from_secs(100);
        assert_eq!(policy.longest_delay(), Duration::from_secs(100));
    }

    #[test]
    fn the_last_delay_repeats_until_the_attempts_are_used_up() {
        let policy = RetryPolicy {
            delays: seconds(&[30, 60, 300]),
            max_attempts: Some(5),
            ..RetryPolicy::default()
        };
        let waits: Vec<_> = (1..=5)
            .map(|attempt| policy.decide(0x08, attempt))
            .collect();
        let after = |s| Decision::Temporary {
            after: Duration::from_secs(s),
        };
        assert_eq!(
            waits,
            [
                after(30),
                after(60),
                after(300),
                after(300),
                Decision::Permanent
            ]
        );
        assert!(
            matches!(policy.decide(0x58, 100), Decision::Throttled { .. }),
            "waiting is not an attempt"
        );
    }

    #[test]
    fn rules_override_class_and_schedule() {
        let rule = |class, delays: &[u64]| RetryRule {
            class,
            delays: seconds(delays),
        };
        let policy = RetryPolicy {
            rules: HashMap::from([
                (0x0B, rule(RefusalClass::Temporary, &[10, 20])),
                (0x401, rule(RefusalClass::Throttled, &[2])),
                (0x08, rule(RefusalClass::Permanent, &[])),
            ]),
            ..RetryPolicy::default()
        };
        let ten = Duration::from_secs(10);
        let twenty = Duration::from_secs(20);
        assert_eq!(policy.decide(0x0B, 1), Decision::Temporary { after: ten });
        assert_eq!(
            policy.decide(0x0B, 7),
            Decision::Temporary { after: twenty }
        );
        let two = Duration::from_secs(2);
        assert_eq!(policy.decide(0x401, 1), Decision::Throttled { after: two });
        assert_eq!(policy.decide(0x08, 1), Decision::Permanent);
    }

    #[test]
    fn an_operator_s_classes_come_first_and_delays_stay() {
        let policy = RetryPolicy {
            rules: HashMap::from([(
                0x0B,
                RetryRule {
                    class: RefusalClass::Permanent,
                    delays: seconds(&[7]),
                },
            )]),
            classes: vec![
                (0x0B..=0x0B, RefusalClass::Temporary),
                (0x412..=0x412, RefusalClass::Permanent),
                (0x410..=0x41F, RefusalClass::Throttled),
            ],
            ..RetryPolicy::default()
        };
        let after = Duration::from_secs(7);
        assert_eq!(policy.decide(0x0B, 1), Decision::Temporary { after });
        assert_eq!(policy.class(0x412), RefusalClass::Permanent);
        assert_eq!(policy.class(0x413), RefusalClass::Throttled);
        assert_eq!(policy.class(0x420), RefusalClass::Permanent);
        assert_eq!(policy.class(0x08), RefusalClass::Temporary);
    }
}
