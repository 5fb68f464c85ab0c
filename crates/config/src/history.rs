//! `[history]`: what is kept of the messages of each operator, account and error. Read at each write, so a reload applies it.

use std::time::Duration;

use super::section::settings;

const SECOND: Duration = Duration::from_secs(1);
const MINUTE: Duration = Duration::from_secs(60);
const DAY: Duration = Duration::from_secs(86_400);

settings! {
    /// `[history]`: counts of messages by operator, account and error, for the page Traffic history: docs/day-two.md.
    pub struct HistoryConfig {
        /// Keep the counts.
        enabled: bool = true,
        /// Age at which hourly counts are removed; those of minutes live a day.
        @between(DAY, 400 * DAY) retention: Duration = 90 * DAY,
        /// Interval at which each node writes its counts.
        @between(SECOND, MINUTE) write_every: Duration = MINUTE,
    }
}
