//! `smsc fsck`: checks a store or a backup against its invariants, without changing it.

use std::path::PathBuf;

use crate::cli::client::print_line;
use crate::store::sqlite;

#[derive(Debug, clap::Args)]
pub struct FsckArgs {
    /// The data folder, or a backup file.
    #[arg(default_value = "./smsc-data")]
    path: PathBuf,
}

/// Prints what was found.
///
/// # Errors
/// The store cannot be read, or something is wrong with it.
pub fn run(args: &FsckArgs) -> anyhow::Result<()> {
    let report = sqlite::fsck(&args.path)?;
    print_line(&format!("messages      {}", report.messages))?;
    print_line(&format!("  enroute     {}", report.enroute))?;
    for (state, count) in &report.states {
        print_line(&format!("  {:<11} {count}", state.to_lowercase()))?;
    }
    print_line(&format!("untold        {}", report.untold))?;
    print_line(&format!("parked        {}", report.parked))?;
    print_line(&format!("dead letters  {}", report.quarantined))?;
    print_line(&format!("carried       {}", report.carried))?;
    print_line(&format!("configuration {}", report.configuration))?;
    for remark in &report.remarks {
        print_line(&format!("note: {remark}"))?;
    }
    for problem in &report.problems {
        print_line(&format!("problem: {problem}"))?;
    }
    if report.more_problems > 0 {
        print_line(&format!("and {} more problems", report.more_problems))?;
    }
    anyhow::ensure!(report.is_clean(), "{} is not clean", args.path.display());
    print_line(&format!(
        "OK: nothing is wrong with {}",
        args.path.display()
    ))
}
