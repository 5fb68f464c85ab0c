//! `smsc export`: messages of a range of time into a file or a second database, also while the SMSC
//! runs.

use std::io::Write;
use std::ops::Range;
use std::path::PathBuf;

use anyhow::Context as _;

use super::exit::WrongCommandLine;
use super::times::moment_ms;
use crate::app::bootstrap::pg_options;
use crate::archive::columns::RowMaker;
use crate::archive::database::Database;
use crate::archive::{self, ArchiveFileFormat, RowSink};
use crate::clock;
use crate::config::Config;
use crate::files;
use crate::store::archive::{ArchiveStore as _, Each, first_id};
use crate::store::damage::{DamageStore as _, DamagedRow};
use crate::store::postgres::PgStore;
use crate::store::sqlite::ReadOnly;
use crate::store::{Store as _, StoreError};

/// Arguments of `smsc export`.
#[derive(Debug, clap::Args)]
pub struct ExportArgs {
    /// Accepted at this time or later: 2026-11-01 (UTC), today, 2h (ago), RFC 3339 or Unix milliseconds.
    #[arg(long, value_name = "TIME", value_parser = moment_ms)]
    since: i64,
    /// Accepted before this time.
    #[arg(long, value_name = "TIME", value_parser = moment_ms)]
    until: i64,
    /// Format of the file.
    #[arg(long, value_enum, default_value_t = FileFormat::Jsonl)]
    format: FileFormat,
    /// The file to write; it must not exist [default: standard output].
    #[arg(long, value_name = "FILE", conflicts_with = "to_database")]
    out: Option<PathBuf>,
    /// Write into the table sms_archive of this PostgreSQL instead; goes on where an earlier run of
    /// the same range ended.
    #[arg(
        long,
        value_name = "URL",
        conflicts_with = "format",
        env = "SMSC_ARCHIVE_URL",
        hide_env_values = true
    )]
    to_database: Option<String>,
    /// Include the texts.
    #[arg(long)]
    with_text: bool,
    /// Include messages that have not ended, with the state ENROUTE.
    #[arg(long)]
    include_active: bool,
    /// The data folder of the SMSC, or a backup [default: ./smsc-data].
    #[arg(long, value_name = "PATH")]
    data_dir: Option<PathBuf>,
    /// Configuration file of the SMSC: its data folder, or its PostgreSQL database.
    #[arg(long, short, value_name = "FILE", env = "SMSC_CONFIG")]
    config: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum FileFormat {
    /// JSON Lines: an object per message.
    Jsonl,
    /// RFC 4180, with a header; texts that a spreadsheet would take for a formula begin with an apostrophe.
    Csv,
    /// Parquet, for column stores.
    Parquet,
}

/// Where the messages are.
enum ExportSource {
    Embedded(Box<ReadOnly>),
    Shared(Box<PgStore>),
}

/// Exports, and prints a summary on standard error.
///
/// # Errors
/// The range is wrong or not over yet, the store cannot be read, the target cannot be written.
pub fn run(args: &ExportArgs) -> anyhow::Result<()> {
    let format = args.format.of_this_build()?;
    let range = range(args, clock::now_ms())?;
    let store = args.source()?;
    let rows = RowMaker::new(store.names()?, args.with_text);
    let (ids, sink): (Range<u64>, Box<dyn RowSink>) = match &args.to_database {
        Some(url) => {
            let database = Database::open(url, &rows, range)?;
            (database.left(), Box::new(database))
        }
        None => (range, archive::file(format, &rows, out(args)?)?),
    };
    let done = archive::pump(
        |each| store.export(ids, each),
        &rows,
        sink,
        args.include_active,
    )?;
    eprintln!("{} messages exported", done.rows);
    match (done.active, args.include_active) {
        (0, _) => {}
        (active, true) => eprintln!("{active} of them have not ended: ENROUTE"),
        (active, false) => eprintln!(
            "{active} messages of the range have not ended and were left out; --include-active exports them as ENROUTE"
        ),
    }
    let damaged = store.take_damage();
    if !damaged.is_empty() {
        eprintln!(
            "{} damaged rows were found, and their messages left out: `smsc fsck` lists them",
            damaged.len()
        );
    }
    Ok(())
}

fn range(args: &ExportArgs, now: i64) -> Result<Range<u64>, WrongCommandLine> {
    let refused = |said: &str| Err(WrongCommandLine(said.to_owned()));
    if args.since >= args.until {
        return refused("--until must be later than --since");
    }
    if args.until > now && !args.include_active {
        return refused(
            "the range is not over yet: give an --until in the past, or --include-active for what there is now",
        );
    }
    Ok(first_id(args.since)..first_id(args.until))
}

fn out(args: &ExportArgs) -> anyhow::Result<Box<dyn Write + Send>> {
    Ok(match &args.out {
        None => Box::new(std::io::stdout()),
        Some(path) => Box::new(
            files::create_new(path).with_context(|| format!("cannot create {}", path.display()))?,
        ),
    })
}

// === impl ExportArgs ===

impl ExportArgs {
    fn source(&self) -> anyhow::Result<ExportSource> {
        let folder = match (&self.data_dir, &self.config) {
            (Some(path), _) => path.clone(),
            (None, Some(config)) => {
                let config = Config::load(Some(config))?;
                if let Some(options) = pg_options(&config)? {
                    return Ok(ExportSource::Shared(Box::new(PgStore::open(options)?)));
                }
                config.data_dir
            }
            (None, None) => PathBuf::from("./smsc-data"),
        };
        Ok(ExportSource::Embedded(Box::new(ReadOnly::open(&folder)?)))
    }
}

// === impl ExportSource ===

impl ExportSource {
    fn names(&self) -> Result<Vec<(u32, String)>, StoreError> {
        match self {
            Self::Embedded(store) => store.names(),
            Self::Shared(store) => store.names(),
        }
    }

    /// Damaged rows that were found.
    fn take_damage(&self) -> Vec<DamagedRow> {
        match self {
            Self::Embedded(store) => store.take_damage(),
            Self::Shared(store) => store.take_damage(),
        }
    }

    fn export(&self, ids: Range<u64>, each: &mut Each<'_>) -> Result<(), StoreError> {
        match self {
            Self::Embedded(store) => store.export(ids, each),
            Self::Shared(store) => store.export(ids, each),
        }
    }
}

// === impl FileFormat ===

impl FileFormat {
    fn of_this_build(self) -> Result<ArchiveFileFormat, WrongCommandLine> {
        match self {
            Self::Jsonl => Ok(ArchiveFileFormat::Jsonl),
            Self::Csv => Ok(ArchiveFileFormat::Csv),
            #[cfg(feature = "parquet")]
            Self::Parquet => Ok(ArchiveFileFormat::Parquet),
            #[cfg(not(feature = "parquet"))]
            Self::Parquet => Err(WrongCommandLine(
                "--format: this build has no Parquet: build with --features parquet, or write csv or jsonl"
                    .to_owned(),
            )),
        }
    }
}

#[cfg(all(test, not(feature = "parquet")))]
mod tests {
    use super::*;

    #[test]
    fn a_format_that_is_not_built_in_is_refused() {
        let refused = FileFormat::Parquet.of_this_build().unwrap_err();
        assert!(refused.to_string().contains("--features parquet"));
        assert_eq!(
            FileFormat::Csv.of_this_build().unwrap(),
            ArchiveFileFormat::Csv
        );
    }
}
