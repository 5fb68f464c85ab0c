//! The only place that reads the wall clock.
//!
//! Nodes that share a database have its clock in common: each [follows](follow) it by its own monotonic clock, so that
//! what they stamp compares, and a wall clock that is wrong or jumps does nothing. The wall clock counts until then.
//!
//! Everything that stamps or compares Unix time asks here. Durations and deadlines inside an actor use
//! `tokio::time::Instant`; only times that are stored, logged or put on the wire come from here. Unit
//! tests with a paused tokio clock name another [`TimeSource`], so that wall time moves with their timers.

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Unix microseconds, as something else than the wall clock has them.
pub type TimeSource = fn() -> i64;

static SOURCE: OnceLock<TimeSource> = OnceLock::new();

/// No clock is followed.
const ALONE: i64 = i64::MIN;
/// What a followed clock showed (Unix microseconds) at [`ORIGIN`].
static FOLLOWED: AtomicI64 = AtomicI64::new(ALONE);
static ORIGIN: OnceLock<Instant> = OnceLock::new();
/// When it was looked at last.
static LOOKED: Mutex<Option<Instant>> = Mutex::new(None);
/// A difference is made good within this many times its length, so that the clock neither stands still nor runs away
/// when the other one is set, or is another machine's from now on.
const SLOWLY: i64 = 20;
/// What is told in milliseconds may be off by this (microseconds).
const GRAIN: i64 = 1_000;

/// How a difference to a clock that is followed is made good.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Catch {
    /// Little by little, in both directions.
    Up,
    /// At once if this clock is behind, as after this machine stood still.
    AtOnce,
}

/// Now, in Unix milliseconds.
///
/// A clock before 1970 reads as 0. The clock may step backwards; callers that need order use the
/// generator of ids (`smsc_domain::id`).
pub fn now_ms() -> i64 {
    now_us().div_euclid(1_000)
}

/// Now, in Unix microseconds, for what is too short for milliseconds.
pub fn now_us() -> i64 {
    if let Some(source) = SOURCE.get() {
        return source();
    }
    match (FOLLOWED.load(Ordering::Relaxed), ORIGIN.get()) {
        (ALONE, _) | (_, None) => wall_us(),
        (followed, Some(origin)) => followed + micros(origin.elapsed()),
    }
}

/// Follows the clock of a server, which showed `theirs_ms` (Unix milliseconds) at some moment between `asked` and
/// `answered`. The first time it is taken as it is.
pub fn follow(theirs_ms: i64, asked: Instant, answered: Instant, catch: Catch) {
    let origin = *ORIGIN.get_or_init(Instant::now);
    // Before the origin it was a moment ago, at the first time only.
    let since = |at: Instant| {
        micros(at.saturating_duration_since(origin)) - micros(origin.saturating_duration_since(at))
    };
    let theirs = theirs_ms.saturating_mul(1_000);
    let (lowest, highest) = (
        theirs - GRAIN - since(answered),
        theirs + GRAIN - since(asked),
    );
    let mut looked = LOOKED.lock().unwrap_or_else(PoisonError::into_inner);
    let next = match (FOLLOWED.load(Ordering::Relaxed), *looked) {
        (ALONE, _) | (_, None) => lowest,
        (own, Some(before)) => {
            let most = micros(answered.saturating_duration_since(before)) / SLOWLY;
            approach(own, lowest, highest, most, catch)
        }
    };
    *looked = Some(answered);
    FOLLOWED.store(next, Ordering::Relaxed);
}

/// The difference between two clocks, of which is known that it is from `lowest` to `highest`: as near as it may come at
/// a time to what was thought so far. The shorter the answers take, the better it is known.
fn approach(own: i64, lowest: i64, highest: i64, most: i64, catch: Catch) -> i64 {
    let wanted = own.max(lowest).min(highest);
    match catch {
        Catch::AtOnce if wanted > own => wanted,
        _ => own + (wanted - own).clamp(-most, most),
    }
}

fn micros(duration: Duration) -> i64 {
    i64::try_from(duration.as_micros()).unwrap_or(i64::MAX)
}

/// For unit tests: has this process ask `source` from now on, unless it asks another one already.
pub fn ask(source: TimeSource) {
    let _ = SOURCE.set(source);
}

/// The wall clock, in Unix microseconds.
#[allow(clippy::disallowed_methods, reason = "this module is the wall clock")]
pub fn wall_us() -> i64 {
    let since_epoch = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    i64::try_from(since_epoch.as_micros()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_is_made_good_little_by_little() {
        let hour = 3_600_000_000;
        assert_eq!(approach(5, 0, 10, 50, Catch::Up), 5, "as far as is known");
        assert_eq!(approach(-20, 0, 10, 50, Catch::Up), 0);
        assert_eq!(approach(40, 0, 10, 50, Catch::Up), 10);
        assert_eq!(approach(0, hour, hour + 10, 50, Catch::Up), 50);
        assert_eq!(approach(hour, 0, 10, 50, Catch::Up), hour - 50);
        assert_eq!(approach(0, hour, hour + 10, 50, Catch::AtOnce), hour);
        assert_eq!(
            approach(hour, 0, 10, 50, Catch::AtOnce),
            hour - 50,
            "never back"
        );
    }

    #[test]
    fn a_clock_that_is_followed_counts_and_the_wall_clock_no_more() {
        let day = 86_400_000;
        let now = Instant::now();
        follow(now_ms() - day, now, Instant::now(), Catch::Up);
        let behind = wall_us() / 1_000 - now_ms();
        assert!((day - 1_000..day + 60_000).contains(&behind), "{behind}");
        let again = Instant::now();
        follow(wall_us() / 1_000, again, Instant::now(), Catch::Up);
        assert!(wall_us() / 1_000 - now_ms() > day / 2, "not at once");
        follow(wall_us() / 1_000, again, Instant::now(), Catch::AtOnce);
        assert!(wall_us() / 1_000 - now_ms() < 60_000);
    }
}
