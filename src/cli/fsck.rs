//! `smsc fsck`: checks a store or a backup against its invariants, without changing it.

use std::path::PathBuf;

use crate::store::sqlite;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// The data folder, or a backup file.
    #[arg(default_value = "./smsc-data")]
    path: PathBuf,
}

/// Prints what was found.
///
/// # Errors
/// The store cannot be read, or something is wrong with it.
pub fn run(args: &Args) -> anyhow::Result<()> {
    let report = sqlite::fsck(&args.path)?;
    println!("messages      {}", report.messages);
    println!("  enroute     {}", report.enroute);
    for (state, count) in &report.states {
        println!("  {:<11} {count}", state.to_lowercase());
    }
    println!("untold        {}", report.untold);
    println!("parked        {}", report.parked);
    println!("dead letters  {}", report.dead_letters);
    println!("carried       {}", report.carried);
    println!("configuration {}", report.configuration);
    for remark in &report.remarks {
        println!("note: {remark}");
    }
    for problem in &report.problems {
        println!("problem: {problem}");
    }
    if report.more_problems > 0 {
        println!("and {} more problems", report.more_problems);
    }
    anyhow::ensure!(report.is_clean(), "{} is not clean", args.path.display());
    Ok(())
}
