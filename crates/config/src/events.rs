//! `[outbox]`, `[cdr]`, `[usage]`, `[history]` and `[incidents]`: what has happened to messages, and who hears of it. The
//! last two are read at each write and look, so a reload applies them.

use std::path::PathBuf;
use std::time::Duration;

use super::section::settings;
use super::value::{DAY, HOUR, MINUTE, SECOND};

settings! {
    /// `[outbox]`: events of messages for their readers, such as call detail records and usage.
    pub struct OutboxConfig {
        /// Time that events and their finished messages wait for readers; then they are dropped and counted.
        @positive hold: Duration = 7 * DAY,
    }

    /// Format of call detail records.
    pub enum CdrFormat {
        /// JSON Lines: files `cdr-….jsonl`.
        Jsonl = "jsonl",
        /// CSV with a header: files `cdr-….csv`.
        Csv = "csv",
        /// The table `cdr` of the store.
        Table = "table",
    }

    /// `[cdr]`: call detail records of finished messages, written by one node for all.
    pub struct CdrConfig {
        /// Write call detail records.
        enabled: bool = true,
        /// Format of the records.
        format: CdrFormat = CdrFormat::Jsonl,
        /// Folder of the files; without it, `cdr` in the data folder.
        dir: Option<PathBuf> = None,
        /// MiB after which a new file begins.
        @at_least(1) rotate_mib: u64 = 256,
        /// Age at which a new file begins.
        @positive rotate_every: Duration = HOUR,
        /// Files kept; 0 keeps all.
        keep: u32 = 168,
        /// Let the group read files (0640), for another user who collects them from a separate `dir`, whose mode is kept; otherwise 0600.
        group_may_read: bool = false,
        /// Time that records of a lost node's open file wait for it; then another node writes them, perhaps again.
        @positive wait_for_node: Duration = HOUR,
        /// Age at which records leave the table `cdr`; "0s" keeps them for ever.
        table_retention: Duration = 90 * DAY,
    }

    /// `[usage]`: sums of messages that ended, by day, account, operator, country and state.
    pub struct UsageConfig {
        /// Count messages for usage.
        enabled: bool = false,
        /// Age at which the sums of a day are removed; "0s" keeps them for ever.
        retention: Duration = 400 * DAY,
    }

    /// `[history]`: counts of messages by operator, account and error, for the page Traffic history: docs/day-two.md.
    pub struct HistoryConfig {
        /// Keep the counts.
        enabled: bool = true,
        /// Age at which hourly counts are removed; those of minutes live a day.
        @between(DAY, 400 * DAY) retention: Duration = 90 * DAY,
        /// Interval at which each node writes its counts.
        @between(SECOND, MINUTE) write_every: Duration = MINUTE,
    }

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
