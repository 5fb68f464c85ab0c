//! `[outbox]`, `[cdr]` and `[usage]`: what has happened to messages, and who hears of it.

use std::path::PathBuf;
use std::time::Duration;

use super::section::settings;

const HOUR: Duration = Duration::from_secs(3_600);
const DAY: Duration = Duration::from_secs(86_400);

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
}
