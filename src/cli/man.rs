//! `smsc man`: the manual pages, one of the program and one of each subcommand.

use std::fs;
use std::path::PathBuf;

use anyhow::Context as _;

/// Arguments of `smsc man`.
#[derive(Debug, clap::Args)]
pub struct ManPageArgs {
    /// Folder to write them into, such as /usr/local/share/man/man1; created if it is missing.
    folder: PathBuf,
}

/// Writes `smsc.1`, `smsc-serve.1` and so on.
///
/// # Errors
/// The folder or a file in it cannot be written.
pub fn run(args: &ManPageArgs) -> anyhow::Result<()> {
    let cannot = || format!("{} cannot be written", args.folder.display());
    fs::create_dir_all(&args.folder).with_context(cannot)?;
    clap_mangen::generate_to(super::command(), &args.folder).with_context(cannot)
}
