//! The only place that reads the wall clock.
//!
//! Everything that stamps or compares Unix time asks here. Durations and deadlines inside an actor use
//! `tokio::time::Instant`; only times that are stored, logged or put on the wire come from here. Unit
//! tests with a paused tokio clock name another [`Source`], so that wall time moves with their timers.

use std::sync::OnceLock;
use std::time::{SystemTime, UNIX_EPOCH};

/// Unix microseconds, as something else than the wall clock has them.
pub type Source = fn() -> i64;

static SOURCE: OnceLock<Source> = OnceLock::new();

/// Now, in Unix milliseconds.
///
/// A clock before 1970 reads as 0. The clock may step backwards; callers that need order use the
/// generator of ids (`smsc_domain::id`).
pub fn now_ms() -> i64 {
    now_us().div_euclid(1_000)
}

/// Now, in Unix microseconds, for what is too short for milliseconds.
pub fn now_us() -> i64 {
    SOURCE.get().map_or_else(wall_us, |source| source())
}

/// For unit tests: has this process ask `source` from now on, unless it asks another one already.
pub fn ask(source: Source) {
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
