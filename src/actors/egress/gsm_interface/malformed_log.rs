//! When it is logged that something of the network cannot be read.

use std::time::Duration;

use tokio::time::Instant;

/// What cannot be read is logged no more often than this.
const LOG_EVERY: Duration = Duration::from_secs(1);

/// When it is logged that something cannot be read: strangers may send any number of it.
#[derive(Default)]
pub(super) struct MalformedLog {
    logged_at: Option<Instant>,
    /// So many were not logged since.
    unlogged: u64,
}

// === impl MalformedLog ===

impl MalformedLog {
    /// There is another one; if it is to be logged, how many were not since the last that was.
    pub(super) fn note(&mut self, now: Instant) -> Option<u64> {
        let is_soon = |logged: Instant| now.saturating_duration_since(logged) < LOG_EVERY;
        if self.logged_at.is_some_and(is_soon) {
            self.unlogged += 1;
            return None;
        }
        self.logged_at = Some(now);
        Some(std::mem::take(&mut self.unlogged))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_read_is_logged_once_a_second() {
        let (mut log, now) = (MalformedLog::default(), Instant::now());
        let mut at = |millis| log.note(now + Duration::from_millis(millis));
        assert_eq!([at(0), at(1), at(999)], [Some(0), None, None]);
        assert_eq!([at(1000), at(1001)], [Some(2), None]);
        assert_eq!([at(5000), at(6000)], [Some(1), Some(0)]);
    }
}
