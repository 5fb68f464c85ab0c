//! When a callback is tried again, and how long a receiver that fails is left alone.
//!
//! Each callback has its own pauses, so that one that is never taken holds no other. A URL, and a host as far as it can
//! be reached, has a [`ReceiverPace`]: the more of the last requests have failed, the fewer it gets at once. Only when none of
//! them has succeeded it is left alone, longer and longer, and then gets a few.

use std::time::Duration;

/// The pause after the first failure of a callback; each further one doubles it.
const FIRST: Duration = Duration::from_secs(1);
/// The longest of these pauses, and of those that a receiver may ask for.
pub const LONGEST: Duration = Duration::from_secs(3600);
/// Requests that are looked back at.
const WINDOW: u32 = 20;
/// Failures of a URL of which nothing else is known, after which it is left alone.
const OF_URL: u32 = 8;
/// Failures of connections to a host of which nothing else is known, after which it is left alone.
const OF_HOST: u32 = 3;
/// Fewest requests at once, and the part of all that is never gone below.
const FEWEST: u32 = 2;
const FLOOR: u32 = 4;
/// The longest time that a receiver is left alone, unless it asks for more.
pub const LONGEST_REST: Duration = Duration::from_secs(60);

/// How a receiver is doing: the results of its last requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReceiverPace {
    /// One bit for each, the newest lowest; set for failures.
    failed: u32,
    known: u32,
    /// Failures since the last success.
    in_a_row: u32,
    /// How often it was left alone since then.
    rests: u32,
    tolerated: u32,
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

// === impl ReceiverPace ===

impl ReceiverPace {
    /// Of a URL: whether it takes callbacks.
    pub fn of_url() -> Self {
        Self::tolerating(OF_URL)
    }

    /// Of a host and port: whether it can be connected to.
    pub fn of_host() -> Self {
        Self::tolerating(OF_HOST)
    }

    fn tolerating(tolerated: u32) -> Self {
        Self {
            failed: 0,
            known: 0,
            in_a_row: 0,
            rests: 0,
            tolerated,
        }
    }

    /// A request has succeeded.
    pub fn succeeded(&mut self) {
        self.note(0);
        self.in_a_row = 0;
        self.rests = 0;
    }

    /// A request has failed that was under way while the receiver was left alone already.
    pub fn failed_meanwhile(&mut self) {
        self.note(1);
        self.in_a_row = self.in_a_row.saturating_add(1);
    }

    /// A request has failed. Says how long to leave the receiver alone, without jitter; not at all while some succeed.
    pub fn failed(&mut self) -> Duration {
        self.failed_meanwhile();
        if self.known < self.tolerated || self.is_proven() {
            return Duration::ZERO;
        }
        self.rests = self.rests.saturating_add(1);
        doubled(FIRST, self.rests - 1, LONGEST_REST)
    }

    /// How many of `all` requests at once it gets now.
    pub fn most(&self, all: u32) -> u32 {
        // As if there had been a few good ones before the first.
        let known = self.known.max(OF_URL);
        let good = known - self.failures();
        if good * 2 >= known {
            return all;
        }
        let share = u64::from(all) * u64::from(good) * 2 / u64::from(known);
        let floor = FEWEST.max(all / FLOOR).min(all);
        u32::try_from(share).unwrap_or(all).clamp(floor, all)
    }

    /// Whether one of its last requests has succeeded.
    pub fn is_proven(&self) -> bool {
        self.failures() < self.known
    }

    /// Failures in a row.
    pub fn in_a_row(&self) -> u32 {
        self.in_a_row
    }

    fn failures(&self) -> u32 {
        self.failed.count_ones()
    }

    fn note(&mut self, failed: u32) {
        self.failed = (self.failed << 1 | failed) & ((1 << WINDOW) - 1);
        self.known = (self.known + 1).min(WINDOW);
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
    fn a_receiver_that_takes_nothing_is_left_alone_longer_and_longer() {
        let mut pace = ReceiverPace::of_url();
        let rests: Vec<_> = (0..16).map(|_| pace.failed()).collect();
        assert_eq!(rests[..8], [0, 0, 0, 0, 0, 0, 0, 1].map(seconds));
        assert_eq!(rests[8..], [2, 4, 8, 16, 32, 60, 60, 60].map(seconds));
        assert_eq!((pace.most(8), pace.most(1)), (2, 1), "a few are tried");
        // What was under way with others adds nothing to that.
        pace.failed_meanwhile();
        pace.succeeded();
        assert_eq!((pace.failed(), pace.in_a_row()), (Duration::ZERO, 1));
        let mut host = ReceiverPace::of_host();
        let rests: Vec<_> = (0..4).map(|_| host.failed()).collect();
        assert_eq!(rests, [0, 0, 1, 2].map(seconds));
    }

    #[test]
    fn the_pace_follows_the_share_of_failures() {
        let most = |good: u32, bad: u32| {
            let mut pace = ReceiverPace::of_url();
            for _ in 0..good {
                pace.succeeded();
            }
            for _ in 0..bad {
                assert_eq!(pace.failed(), Duration::ZERO, "some succeed");
            }
            pace.most(100)
        };
        let found = [most(20, 0), most(20, 10), most(20, 15), most(20, 19)];
        assert_eq!(found, [100, 100, 50, 25]);
        assert_eq!(most(0, 1), 100, "one failure says little");
        assert_eq!(most(1, 7), 25);
    }

    /// One request at a time, `at_once` of them in a turn: what a receiver gets that fails half of them at random.
    #[test]
    fn a_receiver_that_fails_half_of_the_time_is_hardly_slowed() {
        let mut random = 88_172_645_463_325_252_u64;
        let mut pace = ReceiverPace::of_url();
        let (mut sent, mut turns) = (0, 0);
        while turns < 10_000 {
            let at_once = pace.most(8);
            sent += at_once;
            turns += 1;
            for _ in 0..at_once {
                random ^= random << 13;
                random ^= random >> 7;
                random ^= random << 17;
                if random.is_multiple_of(2) {
                    pace.succeeded();
                } else {
                    assert_eq!(pace.failed(), Duration::ZERO, "turn {turns}");
                }
            }
        }
        assert!(sent * 10 > turns * 8 * 8, "{sent} in {turns} turns of 8");
    }
}
