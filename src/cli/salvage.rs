//! `smsc salvage`: reads what can be read of a store that cannot be opened into a new one.

use std::path::PathBuf;

use crate::cli::client::{number, print_line};
use crate::store::StoreError;
use crate::store::sqlite::{MissingRows, SalvageReport, salvage};

/// Ranges of keys that are printed for a table at most; `--json` has all.
const MOST_RANGES: usize = 20;

#[derive(Debug, clap::Args)]
pub struct SalvageArgs {
    /// The data folder of the damaged store, or a copy of its smsc.db with smsc.db-wal and smsc.db-shm beside it.
    #[arg(long, value_name = "PATH", default_value = "./smsc-data")]
    data_dir: PathBuf,
    /// The data folder to make; it must be new or empty.
    #[arg(long, value_name = "FOLDER")]
    into: PathBuf,
    /// Let messages wait that may have been sent already, instead of ending them.
    #[arg(long)]
    send_doubtful: bool,
    /// Print the report as JSON.
    #[arg(long)]
    json: bool,
}

/// Makes the new store, and prints what was read and what was not.
///
/// # Errors
/// Nothing could be written; or not everything could be read, in spite of which the new store is there.
pub fn run(args: &SalvageArgs) -> anyhow::Result<()> {
    let report = salvage(&args.data_dir, &args.into, args.send_doubtful)?;
    if args.json {
        print_line(&serde_json::to_string_pretty(&report)?)?;
    } else {
        print(&report)?;
    }
    if report.is_whole() {
        return Ok(());
    }
    let folder = args.into.display();
    Err(StoreError::Damaged(format!(
        "{folder} has what could be read, which is not everything. Look at it before anything is sent: `smsc serve \
         --suspended`, then `smsc damaged` (docs/runbooks.md, \"The store cannot be opened\")"
    ))
    .into())
}

fn print(report: &SalvageReport) -> anyhow::Result<()> {
    print_line(&format!(
        "pages         {}, {} of them illegible",
        number(report.pages.into()),
        number(report.illegible_pages)
    ))?;
    for (count, what) in [
        (report.stray_pages, "outside their tables, and read"),
        (report.left_out_pages, "outside their tables, and left out"),
    ] {
        if count > 0 {
            print_line(&format!("              {} {what}", number(count)))?;
        }
    }
    if let Some(log) = &report.log {
        print_line(&format!("log           {log}"))?;
    }
    for (name, table) in &report.tables {
        print_line(&format!(
            "{name:<13} {} rows, {} damaged",
            number(table.rows),
            number(table.damaged)
        ))?;
        for missing in table.missing.iter().take(MOST_RANGES) {
            print_line(&format!(
                "              some may be missing {}",
                keys(missing)
            ))?;
        }
        if let Some(more @ 1..) = table.missing.len().checked_sub(MOST_RANGES) {
            print_line(&format!("              and in {more} more ranges"))?;
        }
    }
    let doubtful = if report.doubtful_wait {
        "messages may have been sent or have ended: they wait to be sent"
    } else {
        "messages may have been sent or have ended: they have ended"
    };
    for (count, what) in [
        (
            report.lost_messages,
            "messages are lost of which other rows are left",
        ),
        (
            report.damaged_messages,
            "messages have a damaged row: they have ended",
        ),
        (report.doubtful_messages, doubtful),
    ] {
        if count > 0 {
            print_line(&format!(
                "{} {what}; `smsc damaged` lists them",
                number(count)
            ))?;
        }
    }
    for remark in &report.remarks {
        print_line(&format!("note: {remark}"))?;
    }
    for problem in &report.problems {
        print_line(&format!("problem: {problem}"))?;
    }
    Ok(())
}

fn keys(missing: &MissingRows) -> String {
    let told = |key: u64, time: &Option<String>, no_end: &str| match (key, time) {
        (_, Some(time)) => format!("{key} ({time})"),
        (0, _) | (0x7fff_ffff_ffff_ffff, _) => no_end.to_owned(),
        _ => key.to_string(),
    };
    format!(
        "from {} to {}",
        told(missing.from, &missing.from_time, "the first"),
        told(missing.to, &missing.to_time, "the last")
    )
}
