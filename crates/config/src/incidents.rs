//! `[incidents]`: when an operator or an account is named as one that needs a look. Read at every look, so a reload applies it.

use std::time::Duration;

use super::section::settings;

const SECOND: Duration = Duration::from_secs(1);
const HOUR: Duration = Duration::from_secs(3_600);

settings! {
    /// `[incidents]`: detection of operators and accounts with refusals, failures, missing receipts or slow answers: docs/day-two.md.
    pub struct IncidentConfig {
        /// Detect incidents.
        enabled: bool = true,
        /// Length of the compared period; the usual values come from the 34 periods before.
        @between(2 * SECOND, HOUR) window: Duration = 120 * SECOND,
        /// Interval of the detection.
        @between(SECOND / 2, HOUR) look_every: Duration = 10 * SECOND,
        /// Fewest messages (receipts, answers) in the window for an incident, over all nodes.
        @at_least(1) min_messages: u32 = 50,
        /// Share of messages refused by an operator, throttling excluded, that opens an incident; at least twice the usual share.
        @share refused_share: f64 = 0.1,
        /// Share of failed receipts that opens an incident; at least twice the usual share.
        @share failed_share: f64 = 0.25,
        /// Mean answer time that opens an incident; at least three times the usual one.
        @positive slow_answer: Duration = SECOND,
    }
}
