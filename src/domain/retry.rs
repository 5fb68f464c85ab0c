//! What a refused attempt means: again later, never, or wait.
//!
//! Called when an operator answered with a status other than ESME_ROK. The built-in table is what
//! large providers publish (Vonage's list of statuses worth another try, extended by those of the
//! standard that name a passing condition); configuration overrides it per status.

use std::collections::HashMap;
use std::time::Duration;

use super::command_status as status;

/// What kind of refusal a command_status is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Class {
    /// Worth another attempt later; counts as an attempt.
    Temporary,
    /// Final: the message is UNDELIVERABLE.
    Permanent,
    /// The operator is over its limit: the message waits, and nothing counts as an attempt.
    Throttled,
}

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
pub struct Rule {
    /// Instead of the built-in class.
    pub class: Class,
    /// Instead of the policy's delays, if not empty.
    pub delays: Vec<Duration>,
}

/// The retry schedule of an operator (or the default one).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RetryPolicy {
    /// Pauses after the first, second, … attempt; the last one repeats.
    pub delays: Vec<Duration>,
    /// Pause after [`Class::Throttled`], unless a rule names another.
    pub throttled_delay: Duration,
    /// Attempts before a temporary refusal becomes permanent; `None`: until expiry.
    pub max_attempts: Option<u32>,
    /// Overrides by command_status.
    pub rules: HashMap<u32, Rule>,
}

/// Stands for "no answer came" in attempt rows.
const NO_ANSWER: u32 = u32::MAX;
/// Without a schedule: design default, 30 minutes.
const DEFAULT_DELAY: Duration = Duration::from_secs(30 * 60);
/// Without a setting: a second-long rate window has half passed.
const DEFAULT_THROTTLED_DELAY: Duration = Duration::from_millis(500);

/// The built-in class of a command_status.
///
/// Everything that is not known to pass is permanent, vendor statuses (0x400-0x4FF) included: a
/// message that can never be delivered must not be sent again for ten days.
pub fn default_class(command_status: u32) -> Class {
    match command_status {
        status::ESME_RTHROTTLED | status::ESME_RMSGQFUL => Class::Throttled,
        status::ESME_RSYSERR
        | status::ESME_RSUBMITFAIL
        | status::ESME_RX_T_APPN
        | status::ESME_RQUERYFAIL
        | status::ESME_RDELIVERYFAILURE
        | status::ESME_RUNKNOWNERR
        | status::ESME_RSERTYPUNAVAIL
        // The bind was lost or of the wrong kind: says nothing about the message.
        | 0x04 // ESME_RINVBNDSTS
        | 0x0D // ESME_RBINDFAIL
        | NO_ANSWER => Class::Temporary,
        _ => Class::Permanent,
    }
}

// === impl RetryPolicy ===

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            delays: vec![DEFAULT_DELAY],
            throttled_delay: DEFAULT_THROTTLED_DELAY,
            max_attempts: None,
            rules: HashMap::new(),
        }
    }
}

impl RetryPolicy {
    /// The class of a command_status under this policy.
    pub fn class(&self, command_status: u32) -> Class {
        self.rules
            .get(&command_status)
            .map_or_else(|| default_class(command_status), |rule| rule.class)
    }

    /// What to do after `attempt` (1 for the first) was refused with `command_status`.
    pub fn decide(&self, command_status: u32, attempt: u32) -> Decision {
        let rule = self.rules.get(&command_status);
        let own_delays = rule.map(|rule| rule.delays.as_slice()).unwrap_or_default();
        match self.class(command_status) {
            Class::Permanent => Decision::Permanent,
            Class::Throttled => Decision::Throttled {
                after: own_delays.first().copied().unwrap_or(self.throttled_delay),
            },
            Class::Temporary if self.max_attempts.is_some_and(|max| attempt >= max) => {
                Decision::Permanent
            }
            Class::Temporary => {
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
        .unwrap_or(DEFAULT_DELAY)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(list: &[u64]) -> Vec<Duration> {
        list.iter().copied().map(Duration::from_secs).collect()
    }

    #[test]
    fn built_in_table() {
        for throttled in [0x58, 0x14] {
            assert_eq!(default_class(throttled), Class::Throttled, "{throttled:#x}");
        }
        for temporary in [0x08, 0x45, 0x67, 0xFE, 0xFF, 0x64, 0x102, u32::MAX] {
            assert_eq!(default_class(temporary), Class::Temporary, "{temporary:#x}");
        }
        for permanent in [
            0x01, 0x0A, 0x0B, 0x61, 0x65, 0x66, 0x101, 0x400, 0x4FF, 0x10000,
        ] {
            assert_eq!(default_class(permanent), Class::Permanent, "{permanent:#x}");
        }
    }

    #[test]
    fn the_default_is_half_an_hour_until_expiry() {
        let policy = RetryPolicy::default();
        for attempt in [0, 1, 2, 1_000] {
            let after = Duration::from_secs(1800);
            assert_eq!(policy.decide(0x08, attempt), Decision::Temporary { after });
        }
        assert_eq!(policy.decide(0x0B, 1), Decision::Permanent);
        let after = Duration::from_millis(500);
        assert_eq!(policy.decide(0x58, 99), Decision::Throttled { after });
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
        let rule = |class, delays: &[u64]| Rule {
            class,
            delays: seconds(delays),
        };
        let policy = RetryPolicy {
            rules: HashMap::from([
                (0x0B, rule(Class::Temporary, &[10, 20])),
                (0x401, rule(Class::Throttled, &[2])),
                (0x08, rule(Class::Permanent, &[])),
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
}
