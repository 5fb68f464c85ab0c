//! `[incidents]`: when an operator or an account is named as one that needs a look. Read at every look, so a reload applies it.

use std::time::Duration;

use super::section::section;

const SECOND: Duration = Duration::from_secs(1);
const HOUR: Duration = Duration::from_secs(3_600);

section! {
    /// `[incidents]`: operators and accounts whose messages are refused, fail, get no receipts, or are answered slowly: docs/day-two.md.
    pub struct IncidentConfig {
        /// Look for them.
        enabled: bool = true,
        /// The time whose messages are compared; what is usual is taken from the 34 such times before, a little more than an hour.
        @between(2 * SECOND, HOUR) window: Duration = 120 * SECOND,
        /// How often to look.
        @between(SECOND / 2, HOUR) look_every: Duration = 10 * SECOND,
        /// Fewer messages (receipts, answers) in the window name nobody; each node takes its part of this.
        @at_least(1) min_messages: u32 = 50,
        /// Share of messages that an operator refuses, throttling left out, from which on it is named; if more are usual, at twice what is usual.
        @share refused_share: f64 = 0.1,
        /// Share of receipts that report a failure, from which on their operator is named; if more are usual, at twice what is usual.
        @share failed_share: f64 = 0.25,
        /// Mean time of answers from which on an operator is named, if it is three times what is usual.
        @positive slow_answer: Duration = SECOND,
    }
}
