//! When a message is due and when it expires.
//!
//! Takes the absolute times that the protocol layer parsed from schedule_delivery_time and
//! validity_period (SMPP 3.4 §5.2.15, §5.2.16, §7.1.1) and applies default, cap and plausibility. A
//! schedule in the past means now, as every SMSC in the field does; a validity in the past is the
//! sender's mistake and refused, because an accepted message would expire at once.

use std::time::Duration;

use thiserror::Error;

use super::command_status::{ESME_RINVEXPIRY, ESME_RINVSCHED};

/// How far ahead a message may be scheduled: beyond it, it is a wrong clock or a wrong century.
const MAX_SCHEDULE_AHEAD_MS: i64 = 366 * 24 * 3600 * 1000;

/// Validity of messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lifetime {
    /// For a message that names no validity period.
    pub default: Duration,
    /// The longest life, counted from the time it is due; longer wishes are cut.
    pub max: Duration,
}

/// The times of one accepted message, in Unix milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MessageTimes {
    /// Not handed over before; 0 for at once, whose clock ever looks.
    pub due_at: i64,
    /// Not handed over after.
    pub expires_at: i64,
}

/// Why the times of a message are refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum ValidityError {
    /// The validity period ended before the message came.
    #[error("validity_period ends in the past")]
    ValidityInPast,
    /// The message would expire before it is due.
    #[error("validity_period ends before schedule_delivery_time")]
    ExpiresBeforeDue,
    /// Scheduled more than a year ahead.
    #[error("schedule_delivery_time is more than a year ahead")]
    ScheduleTooFar,
}

/// Times for a message that came at `now_ms`.
///
/// # Errors
/// See [`ValidityError`]; [`ValidityError::command_status`] is the answer to the sender.
pub fn times(
    now_ms: i64,
    schedule_ms: Option<i64>,
    validity_ms: Option<i64>,
    lifetime: Lifetime,
) -> Result<MessageTimes, ValidityError> {
    let scheduled = schedule_ms.filter(|at| *at > now_ms);
    let begins = scheduled.unwrap_or(now_ms);
    if begins - now_ms > MAX_SCHEDULE_AHEAD_MS {
        return Err(ValidityError::ScheduleTooFar);
    }
    // Another node may deliver it, whose clock is behind.
    let due_at = scheduled.unwrap_or(0);
    let latest = begins.saturating_add(millis(lifetime.max));
    let Some(wanted) = validity_ms else {
        let default = begins.saturating_add(millis(lifetime.default));
        return Ok(MessageTimes {
            due_at,
            expires_at: default.min(latest),
        });
    };
    if wanted <= now_ms {
        return Err(ValidityError::ValidityInPast);
    }
    if wanted <= begins {
        return Err(ValidityError::ExpiresBeforeDue);
    }
    Ok(MessageTimes {
        due_at,
        expires_at: wanted.min(latest),
    })
}

// === impl ValidityError ===

impl ValidityError {
    /// The command_status for the sender (SMPP 3.4 §5.1.3).
    pub fn command_status(self) -> u32 {
        match self {
            Self::ValidityInPast | Self::ExpiresBeforeDue => ESME_RINVEXPIRY,
            Self::ScheduleTooFar => ESME_RINVSCHED,
        }
    }
}

fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: i64 = 1_700_000_000_000;
    const HOUR: i64 = 3_600_000;
    const LIFETIME: Lifetime = Lifetime {
        default: Duration::from_secs(48 * 3600),
        max: Duration::from_secs(72 * 3600),
    };

    #[test]
    fn table() {
        let ok = |due: i64, expires: i64| {
            Ok(MessageTimes {
                due_at: if due == 0 { 0 } else { NOW + due * HOUR },
                expires_at: NOW + expires * HOUR,
            })
        };
        let cases = [
            ("neither", None, None, ok(0, 48)),
            ("validity", None, Some(1), ok(0, 1)),
            ("cut to the cap", None, Some(1000), ok(0, 72)),
            ("schedule", Some(10), None, ok(10, 58)),
            (
                "schedule in the past is at once",
                Some(-10),
                None,
                ok(0, 48),
            ),
            ("both", Some(10), Some(11), ok(10, 11)),
            ("cap counts from due", Some(10), Some(1000), ok(10, 82)),
            (
                "validity past",
                None,
                Some(-1),
                Err(ValidityError::ValidityInPast),
            ),
            (
                "validity now",
                None,
                Some(0),
                Err(ValidityError::ValidityInPast),
            ),
            (
                "before due",
                Some(10),
                Some(9),
                Err(ValidityError::ExpiresBeforeDue),
            ),
            ("far", Some(9_000), None, Err(ValidityError::ScheduleTooFar)),
        ];
        for (name, schedule, validity, wanted) in cases {
            let at = |hours: Option<i64>| hours.map(|h| NOW + h * HOUR);
            assert_eq!(
                times(NOW, at(schedule), at(validity), LIFETIME),
                wanted,
                "{name}"
            );
        }
    }

    #[test]
    fn a_default_above_the_cap_is_cut() {
        let lifetime = Lifetime {
            default: Duration::MAX,
            max: Duration::from_secs(3600),
        };
        let times = times(NOW, None, None, lifetime).unwrap();
        assert_eq!(times.expires_at, NOW + HOUR);
    }

    #[test]
    fn answers_name_the_field() {
        assert_eq!(ValidityError::ValidityInPast.command_status(), 0x62);
        assert_eq!(ValidityError::ExpiresBeforeDue.command_status(), 0x62);
        assert_eq!(ValidityError::ScheduleTooFar.command_status(), 0x61);
    }
}
