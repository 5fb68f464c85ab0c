//! `[outbox]`, `[cdr]` and `[usage]`: what has happened to messages, and who hears of it.

use std::path::PathBuf;
use std::time::Duration;

use super::section::{choice, section};

const HOUR: Duration = Duration::from_secs(3_600);
const DAY: Duration = Duration::from_secs(86_400);

section! {
    /// `[outbox]`: what has happened to messages, for those who read it: call detail records and usage.
    pub struct OutboxConfig {
        /// How long events, and the finished messages that they are about, wait for a reader that does not read them; then they are dropped and counted.
        @positive hold: Duration = 7 * DAY,
    }
}

choice! {
    /// Where call detail records go.
    pub enum CdrFormat {
        /// JSON Lines: files `cdr-….jsonl`.
        Jsonl = "jsonl",
        /// CSV with a header: files `cdr-….csv`.
        Csv = "csv",
        /// The table `cdr` of the store.
        Table = "table",
    }
}

section! {
    /// `[cdr]`: call detail records, one for each finished message. The node that does the work for all nodes writes them.
    pub struct CdrConfig {
        /// Write them.
        enabled: bool = true,
        /// Where they go.
        format: CdrFormat = CdrFormat::Jsonl,
        /// Their folder; without it, `cdr` in the data folder.
        dir: Option<PathBuf> = None,
        /// A new file after this many MiB.
        @at_least(1) rotate_mib: u64 = 256,
        /// A new file after this time.
        @positive rotate_every: Duration = HOUR,
        /// Files to keep; 0 keeps all.
        keep: u32 = 168,
        /// The group of a file may read it (0640), so that another user can collect the files from a separate `dir`, whose mode is then not changed; without it only the owner may (0600).
        group_may_read: bool = false,
        /// How long the records that a lost node was just writing into a file wait for it to come back; then another node writes them, perhaps once more.
        @positive wait_for_node: Duration = HOUR,
        /// How long records stay in the table `cdr`; "0s" keeps them for ever.
        table_retention: Duration = 90 * DAY,
    }
}

section! {
    /// `[usage]`: sums of messages that ended, by day, account, operator, country and state.
    pub struct UsageConfig {
        /// Count them.
        enabled: bool = false,
        /// How long the sums of a day are kept; "0s" keeps them for ever.
        retention: Duration = 400 * DAY,
    }
}
