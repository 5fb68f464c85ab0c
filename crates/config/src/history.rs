//! `[history]`: what is kept of the messages of each operator, account and error. Read at each write, so a reload applies it.

use std::time::Duration;

use super::section::section;

const SECOND: Duration = Duration::from_secs(1);
const MINUTE: Duration = Duration::from_secs(60);
const DAY: Duration = Duration::from_secs(86_400);

section! {
    /// `[history]`: counts of messages by operator, account and error, which the page Traffic history of the console shows: docs/day-two.md.
    pub struct HistoryConfig {
        /// Keep them.
        enabled: bool = true,
        /// How long the counts of hours are kept; those of minutes are kept for a day.
        @between(DAY, 400 * DAY) retention: Duration = 90 * DAY,
        /// How often each node writes what it has counted since.
        @between(SECOND, MINUTE) write_every: Duration = MINUTE,
    }
}
