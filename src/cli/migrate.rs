//! `smsc migrate`: upgrades the schema of the PostgreSQL database to this release.
//!
//! Meant to run once before the nodes of a new release start; safe to run from several at once.

use std::path::PathBuf;

use anyhow::Context as _;

use crate::app::bootstrap::pg_options;
use crate::cli::client::print_line;
use crate::config::Config;
use crate::store::postgres::{migrate, pending_migrations, server_warning};

/// Arguments of `smsc migrate`.
#[derive(Debug, clap::Args)]
pub struct MigrateArgs {
    /// Configuration file with the section [postgres].
    #[arg(long, short, value_name = "FILE", env = "SMSC_CONFIG")]
    config: Option<PathBuf>,
    /// Only print what would be applied; fails if there is something.
    #[arg(long)]
    check: bool,
}

/// Applies migrations and prints their names.
///
/// # Errors
/// The configuration is wrong or names no database; the database cannot be reached or changed, or is
/// of a newer release; with `--check`, a migration is missing.
pub fn run(args: &MigrateArgs) -> anyhow::Result<()> {
    let config = Config::load(args.config.as_deref())?;
    config.validate()?;
    let options = pg_options(&config)?.context(
        "postgres.url is not set: there is no database to migrate (the embedded store needs none)",
    )?;
    if args.check {
        let missing = pending_migrations(&options)?;
        anyhow::ensure!(missing.is_empty(), "missing: {}", missing.join(", "));
        return print_line("the schema is up to date");
    }
    let applied = migrate(&options)?;
    for name in &applied {
        print_line(&format!("applied {name}"))?;
    }
    if applied.is_empty() {
        print_line("the schema is up to date")?;
    }
    if let Some(warning) = server_warning(&options)? {
        eprintln!("warning: {warning}");
    }
    Ok(())
}
