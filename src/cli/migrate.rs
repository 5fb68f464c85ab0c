//! `smsc migrate`: brings the schema of the PostgreSQL database up to this release.
//!
//! Meant to run once before the nodes of a new release start; safe to run from several at once.

use std::path::PathBuf;

use anyhow::Context as _;
use secrecy::SecretString;

use crate::config::Config;
use crate::store::postgres::{PgOptions, migrate, pending_migrations};

/// Arguments of `smsc migrate`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Configuration file with the section [postgres].
    #[arg(long, short, value_name = "FILE", env = "SMSC_CONFIG")]
    config: Option<PathBuf>,
    /// Only say what would be applied; fails when there is something.
    #[arg(long)]
    check: bool,
}

/// Applies migrations and prints their names.
///
/// # Errors
/// The configuration is wrong or names no database; the database cannot be reached or changed, or is
/// of a newer release; with `--check`, a migration is missing.
pub fn run(args: &Args) -> anyhow::Result<()> {
    let config = Config::load(args.config.as_deref())?;
    config.validate()?;
    let postgres = &config.postgres;
    let url = match (&postgres.url, &postgres.url_file) {
        (Some(url), _) => url.clone(),
        (None, Some(path)) => {
            let text = std::fs::read_to_string(path)
                .with_context(|| format!("cannot read {}", path.display()))?;
            SecretString::from(text.trim())
        }
        (None, None) => anyhow::bail!(
            "postgres.url is not set: there is no database to migrate (the embedded store needs none)"
        ),
    };
    let options = PgOptions {
        ca_file: postgres.ca_file.clone(),
        statement_timeout: postgres.statement_timeout,
        lock_timeout: postgres.lock_timeout,
        write_timeout: postgres.write_timeout,
        ..PgOptions::new(url)
    };
    if args.check {
        let missing = pending_migrations(&options)?;
        anyhow::ensure!(missing.is_empty(), "missing: {}", missing.join(", "));
        println!("the schema is up to date");
        return Ok(());
    }
    let applied = migrate(&options)?;
    for name in &applied {
        println!("applied {name}");
    }
    if applied.is_empty() {
        println!("the schema is up to date");
    }
    Ok(())
}
