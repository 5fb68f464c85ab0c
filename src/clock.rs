//! The only place that reads the wall clock.
//!
//! Everything that stores or compares Unix time uses this, so that a unit test with a paused tokio
//! clock sees wall time move together with its timers. Durations and deadlines inside an actor use
//! `tokio::time::Instant`; only times that are stored, logged or put on the wire come from here.

/// Now, in Unix milliseconds.
///
/// A clock before 1970 reads as 0. The clock may step backwards; callers that need order use
/// [`crate::domain::id::IdGenerator`].
pub fn now_ms() -> i64 {
    now_us().div_euclid(1_000)
}

/// Now, in Unix microseconds, for what is too short for milliseconds.
pub fn now_us() -> i64 {
    source::now_us()
}

#[cfg(not(test))]
mod source {
    use std::time::{SystemTime, UNIX_EPOCH};

    #[allow(clippy::disallowed_methods, reason = "this module is the wall clock")]
    pub(super) fn now_us() -> i64 {
        let since_epoch = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        i64::try_from(since_epoch.as_micros()).unwrap_or(i64::MAX)
    }
}

/// Unit tests: wall time is a fixed base plus what tokio's (pausable) clock has advanced.
#[cfg(test)]
mod source {
    use std::sync::OnceLock;
    use std::time::{SystemTime, UNIX_EPOCH};

    use tokio::time::Instant;

    /// The moment of the first call: tokio's clock and the wall clock side by side.
    static BASE: OnceLock<(Instant, i64)> = OnceLock::new();

    #[allow(clippy::disallowed_methods, reason = "this module is the wall clock")]
    pub(super) fn now_us() -> i64 {
        let now = Instant::now();
        let (base, base_us) = *BASE.get_or_init(|| {
            let wall = SystemTime::now().duration_since(UNIX_EPOCH);
            (now, wall.unwrap_or_default().as_micros() as i64)
        });
        // A runtime paused before the first call stands earlier than the base.
        let ahead = now.saturating_duration_since(base).as_micros() as i64;
        let behind = base.saturating_duration_since(now).as_micros() as i64;
        base_us + ahead - behind
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::now_ms;

    #[tokio::test(start_paused = true)]
    async fn follows_the_paused_clock() {
        let before = now_ms();
        assert!(before > 1_600_000_000_000, "Unix milliseconds: {before}");
        tokio::time::advance(Duration::from_secs(3600)).await;
        assert_eq!(now_ms() - before, 3_600_000);
    }
}
