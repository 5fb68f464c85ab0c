//! `[archive]`: finished messages, copied elsewhere before they are deleted. Read by the task Export
//! (`actors/control/export/archive.rs`); docs/events.md.

use std::path::PathBuf;
use std::time::Duration;

use secrecy::SecretString;

use super::section::{choice, section};

const HOUR: Duration = Duration::from_secs(3_600);

choice! {
    /// Where archived messages go.
    pub enum ArchiveFormat {
        /// JSON Lines: files `archive-….jsonl`.
        Jsonl = "jsonl",
        /// Parquet: files `archive-….parquet`, each written at once.
        Parquet = "parquet",
        /// The table `sms_archive` of another PostgreSQL.
        Database = "database",
    }
}

choice! {
    /// How subscribers' numbers look in the archive.
    pub enum ArchiveNumbers {
        /// As they are, as in exports.
        Clear = "clear",
        /// Country and network, and the last digits: `4477*****123`.
        Masked = "masked",
    }
}

section! {
    /// `[archive]`: a copy of each finished message, with all that happened to it, made before it is deleted. The node that does the work for all nodes writes it: docs/events.md.
    pub struct ArchiveConfig {
        /// Write it.
        enabled: bool = false,
        /// Where it goes.
        format: ArchiveFormat = ArchiveFormat::Jsonl,
        /// The folder of its files; without it, `archive` in the data folder.
        dir: Option<PathBuf> = None,
        /// Such as `postgres://archive:secret@db.example/archive?sslmode=require`, for the format `database`.
        @postgres_url database_url: Option<SecretString> = None,
        /// File with the URL, instead of `database_url`.
        database_url_file: Option<PathBuf> = None,
        /// File with the authorities (PEM) that may issue the certificate of that server; without it, those that the machine trusts.
        database_ca_file: Option<PathBuf> = None,
        /// That database counts as unreachable when it has not answered for this time.
        @positive database_timeout: Duration = Duration::from_secs(30),
        /// With the texts.
        text: bool = true,
        /// How subscribers' numbers look; a text may hold numbers of its own.
        numbers: ArchiveNumbers = ArchiveNumbers::Clear,
        /// A new file after this many MiB; one begins at midnight (UTC) in any case.
        @at_least(1) rotate_mib: u64 = 256,
        /// A new file after this time; a file of Parquet is written when its messages have waited so long, or when there are 20,000.
        @positive rotate_every: Duration = HOUR,
        /// Files to keep of each node; 0 keeps all.
        keep: u32 = 0,
        /// The group of a file may read it (0640), so that another user can collect the files from a separate `dir`, whose mode is then not changed; without it only the owner may (0600).
        group_may_read: bool = false,
        /// How long the messages that a lost node was just writing into a file wait for it to come back; then another node writes them, perhaps once more.
        @positive wait_for_node: Duration = HOUR,
    }
}
