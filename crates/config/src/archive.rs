//! `[archive]`: finished messages, copied elsewhere before they are deleted. Read by the task Export
//! (`actors/control/export/archive.rs`); docs/events.md.

use std::path::PathBuf;
use std::time::Duration;

use secrecy::SecretString;

use super::section::settings;
use super::value::HOUR;

settings! {
    /// Where archived messages go.
    pub enum ArchiveFormat {
        /// JSON Lines: files `archive-….jsonl`.
        Jsonl = "jsonl",
        /// Parquet: files `archive-….parquet`, each complete at once.
        Parquet = "parquet",
        /// The table `sms_archive` of another PostgreSQL.
        Database = "database",
    }

    /// Form of subscribers' numbers in the archive.
    pub enum ArchiveNumbers {
        /// Complete, as in exports.
        Clear = "clear",
        /// Country, network and last digits: `4477*****123`.
        Masked = "masked",
    }

    /// `[archive]`: a copy of each finished message with its history, written by one node for all: docs/events.md.
    pub struct ArchiveConfig {
        /// Write the archive.
        enabled: bool = false,
        /// Format of the archive.
        format: ArchiveFormat = ArchiveFormat::Jsonl,
        /// Folder of the files; without it, `archive` in the data folder.
        dir: Option<PathBuf> = None,
        /// Such as `postgres://archive:secret@db.example/archive?sslmode=require`, for the format `database`.
        @postgres_url database_url: Option<SecretString> = None,
        /// File with `database_url`.
        database_url_file: Option<PathBuf> = None,
        /// PEM file of trusted CAs, instead of the system's.
        database_ca_file: Option<PathBuf> = None,
        /// The database counts as unreachable after this time without an answer.
        @positive database_timeout: Duration = Duration::from_secs(30),
        /// Include the texts.
        text: bool = true,
        /// Form of subscribers' numbers; texts may contain others.
        numbers: ArchiveNumbers = ArchiveNumbers::Clear,
        /// MiB after which a new file begins; midnight (UTC) also begins one.
        @at_least(1) rotate_mib: u64 = 256,
        /// Age at which a new file begins. A Parquet file is written at this age or at 20,000 messages.
        @positive rotate_every: Duration = HOUR,
        /// Files kept per node; 0 keeps all.
        keep: u32 = 0,
        /// Let the group read files (0640), for another user who collects them from a separate `dir`, whose mode is kept; otherwise 0600.
        group_may_read: bool = false,
        /// Time that messages of a lost node's open file wait for it; then another node writes them, perhaps again.
        @positive wait_for_node: Duration = HOUR,
    }
}
