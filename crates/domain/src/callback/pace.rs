//! When a callback is tried again, and how long a receiver that fails is left alone.
//!
//! Each callback has its own pauses, so that one that is never taken holds no other. The receiver as a whole has
//! [`Pace`]: after failures in a row it gets one callback at a time, with a pause before each, until one
//! succeeds.

use std::time::Duration;

/// The pause after the first failure of a callback; each further one doubles it.
const FIRST: Duration = Duration::from_secs(1);
/// The longest of these pauses, and of those that a receiver may ask for.
pub const LONGEST: Duration = Duration::from_secs(3600);
/// Failures in a row after which the receiver is left alone.
const TOLERATED: u32 = 3;
/// The longest time that it is left alone, unless it asks for more.
const LONGEST_REST: Duration = Duration::from_secs(60);

/// How a receiver is doing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Pace {
    failures: u32,
}

/// The pause before the next attempt at a callback, after `attempt` of them (1 for the first), without jitter.
/// `asked` is the receiver's `Retry-After`.
pub fn pause(attempt: u32, asked: Option<Duration>) -> Duration {
    let own = doubled(FIRST, attempt.saturating_sub(1), LONGEST);
    own.max(asked.unwrap_or_default()).min(LONGEST)
}

/// The value of a Retry-After header (RFC 9110 section 10.2.3): seconds, or a date, here as Unix seconds.
pub fn retry_after(value: &str, now: i64) -> Option<Duration> {
    let value = value.trim();
    let seconds = match value.parse::<u64>() {
        Ok(seconds) => seconds,
        Err(_) => {
            let date = jiff::fmt::rfc2822::parse(value).ok()?;
            let ahead = date.timestamp().as_second().saturating_sub(now);
            u64::try_from(ahead).unwrap_or_default()
        }
    };
    Some(Duration::from_secs(seconds).min(LONGEST))
}

fn doubled(first: Duration, times: u32, longest: Duration) -> Duration {
    let factor = 1_u32.checked_shl(times).unwrap_or(u32::MAX);
    first.saturating_mul(factor).min(longest)
}

// === impl Pace ===

impl Pace {
    /// It has taken a callback.
    pub fn succeeded(&mut self) {
        self.failures = 0;
    }

    /// It has not. Says how long to leave it alone, without jitter; not at all after few failures.
    pub fn failed(&mut self) -> Duration {
        self.failures = self.failures.saturating_add(1);
        match self.failures.checked_sub(TOLERATED) {
            None => Duration::ZERO,
            Some(more) => doubled(FIRST, more, LONGEST_REST),
        }
    }

    /// It could not be reached at all: nothing else will be, either.
    pub fn unreachable(&mut self) -> Duration {
        self.failures = self.failures.max(TOLERATED - 1);
        self.failed()
    }

    /// Failures in a row.
    pub fn failures(&self) -> u32 {
        self.failures
    }

    /// Whether it gets one callback at a time.
    pub fn is_probing(&self) -> bool {
        self.failures >= TOLERATED
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn pauses_double_up_to_an_hour() {
        let pauses: Vec<_> = (1..=14).map(|attempt| pause(attempt, None)).collect();
        assert_eq!(pauses[..4], [1, 2, 4, 8].map(seconds));
        assert_eq!(pauses[11..], [2048, 3600, 3600].map(seconds));
        for attempt in [0, 40, u32::MAX] {
            assert!((FIRST..=LONGEST).contains(&pause(attempt, None)));
        }
        assert_eq!(pause(1, Some(seconds(90))), seconds(90));
        assert_eq!(pause(8, Some(seconds(90))), seconds(128), "ours is longer");
        assert_eq!(pause(1, Some(seconds(86_400))), LONGEST);
    }

    #[test]
    fn retry_after_is_seconds_or_a_date() {
        assert_eq!(retry_after(" 120 ", 0), Some(seconds(120)));
        assert_eq!(retry_after("999999999", 0), Some(LONGEST));
        let date = "Thu, 25 Feb 2021 15:02:10 GMT";
        assert_eq!(retry_after(date, 1_614_265_300), Some(seconds(30)));
        assert_eq!(retry_after(date, 1_614_999_999), Some(Duration::ZERO));
        for wrong in ["", "soon", "-5", "1.5"] {
            assert_eq!(retry_after(wrong, 0), None, "{wrong}");
        }
    }

    #[test]
    fn a_receiver_that_fails_is_left_alone_longer_and_longer() {
        let mut pace = Pace::default();
        let rests: Vec<_> = (0..10).map(|_| pace.failed()).collect();
        assert_eq!(rests, [0, 0, 1, 2, 4, 8, 16, 32, 60, 60].map(seconds));
        assert!(pace.is_probing());
        pace.succeeded();
        assert!(!pace.is_probing());
        assert_eq!(pace.failed(), Duration::ZERO);
        assert_eq!(pace.unreachable(), seconds(1));
        assert_eq!(pace.unreachable(), seconds(2));
    }
}
