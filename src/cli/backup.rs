//! `smsc backup`: an online copy of the store, also while the SMSC runs.

use std::path::PathBuf;

use crate::cli::client::print_line;
use crate::store::sqlite::{MAIN_FILE, backup};

#[derive(Debug, clap::Args)]
pub struct BackupArgs {
    /// The data folder of the SMSC.
    #[arg(long, default_value = "./smsc-data")]
    data_dir: PathBuf,
    /// The file to write; it must not exist.
    to: PathBuf,
}

/// Copies the store.
///
/// # Errors
/// The store cannot be read, the file exists or cannot be written, or rows are damaged, in spite of which it is written.
pub fn run(args: &BackupArgs) -> anyhow::Result<()> {
    let damaged = backup(&args.data_dir.join(MAIN_FILE), &args.to)?;
    print_line(&format!("{} written", args.to.display()))?;
    anyhow::ensure!(
        damaged == 0,
        "{damaged} rows of it are damaged, as they are in the store: `smsc fsck {}` lists them",
        args.to.display()
    );
    Ok(())
}
