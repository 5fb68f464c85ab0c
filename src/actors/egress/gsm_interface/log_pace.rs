//! When it is logged what strangers may send any number of: what cannot be read, and what the firewall has found.

use std::time::Duration;

use tokio::time::Instant;

/// The time in which so many are logged.
const LOG_EVERY: Duration = Duration::from_secs(1);

/// When one kind of it is logged: so many times in a second, and no more.
pub(super) struct LogPace {
    most: u64,
    /// When the second began, and what was logged in it.
    begun: Option<Instant>,
    logged: u64,
    /// So many were not logged since.
    unlogged: u64,
}

// === impl LogPace ===

impl Default for LogPace {
    fn default() -> Self {
        Self::of(1)
    }
}

impl LogPace {
    /// One of so many in a second.
    pub(super) fn of(most: u64) -> Self {
        Self {
            most,
            begun: None,
            logged: 0,
            unlogged: 0,
        }
    }

    /// There is another one; if it is to be logged, how many were not since the last that was.
    pub(super) fn note(&mut self, now: Instant) -> Option<u64> {
        let is_soon = |begun: Instant| now.saturating_duration_since(begun) < LOG_EVERY;
        if !self.begun.is_some_and(is_soon) {
            (self.begun, self.logged) = (Some(now), 0);
        }
        if self.logged >= self.most {
            self.unlogged += 1;
            return None;
        }
        self.logged += 1;
        Some(std::mem::take(&mut self.unlogged))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_strangers_send_is_logged_once_a_second() {
        let (mut log, now) = (LogPace::default(), Instant::now());
        let mut at = |millis| log.note(now + Duration::from_millis(millis));
        assert_eq!([at(0), at(1), at(999)], [Some(0), None, None]);
        assert_eq!([at(1000), at(1001)], [Some(2), None]);
        assert_eq!([at(5000), at(6000)], [Some(1), Some(0)]);
    }

    #[test]
    fn several_may_be_logged_in_a_second() {
        let (mut log, now) = (LogPace::of(2), Instant::now());
        let mut at = |millis| log.note(now + Duration::from_millis(millis));
        assert_eq!([at(0), at(1), at(2)], [Some(0), Some(0), None]);
        assert_eq!([at(1000), at(1001)], [Some(1), Some(0)]);
    }
}
