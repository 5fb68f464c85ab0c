//! `smsc repair-ids`: sets aside ids that a wrong clock has left in the future, so that new ids
//! follow the clock again.

use std::path::PathBuf;

use super::ask::confirm;
use super::client;
use crate::app::bootstrap::pg_options;
use crate::clock;
use crate::config::Config;
use crate::domain::{id, moment};
use crate::store::{SetAside, StoreError, postgres, sqlite};

/// Arguments of `smsc repair-ids`.
#[derive(Debug, clap::Args)]
pub struct RepairIdsArgs {
    /// The data folder of the SMSC, which must be stopped [default: ./smsc-data].
    #[arg(long, value_name = "PATH")]
    data_dir: Option<PathBuf>,
    /// Configuration file of the SMSC: its data folder, or its PostgreSQL database.
    #[arg(long, short, value_name = "FILE", env = "SMSC_CONFIG")]
    config: Option<PathBuf>,
    /// Only print what would be done.
    #[arg(long)]
    dry_run: bool,
    /// Do not ask.
    #[arg(long, conflicts_with = "dry_run")]
    yes: bool,
}

/// Prints which ids are ahead of the clock, and sets them aside after confirmation.
///
/// # Errors
/// Not confirmed, or the store cannot be opened.
pub fn run(args: &RepairIdsArgs) -> anyhow::Result<()> {
    let now = clock::now_ms();
    let repair = store(args)?;
    let found = repair(now, false)?;
    if found.is_empty() {
        return client::print_line("no ids are ahead of the clock");
    }
    for set in &found {
        client::print_line(&describe(set, now))?;
    }
    client::print_line(
        "They keep their ids. New ones are given by the clock again, with another node number.",
    )?;
    if args.dry_run {
        return Ok(());
    }
    let question = format!("It is {} now: is that right?", moment::text(now));
    confirm(&question, args.yes, "nothing was changed")?;
    repair(now, true)?;
    client::print_line("set aside")
}

type Repair = Box<dyn Fn(i64, bool) -> Result<Vec<SetAside>, StoreError>>;

fn store(args: &RepairIdsArgs) -> anyhow::Result<Repair> {
    let folder = match (&args.data_dir, &args.config) {
        (Some(path), _) => path.clone(),
        (None, Some(config)) => {
            let config = Config::load(Some(config))?;
            if let Some(options) = pg_options(&config)? {
                return Ok(Box::new(move |now, apply| {
                    postgres::repair_ids(&options, now, apply)
                }));
            }
            config.data_dir
        }
        (None, None) => PathBuf::from("./smsc-data"),
    };
    Ok(Box::new(move |now, apply| {
        sqlite::repair_ids(&folder, now, apply)
    }))
}

fn describe(set: &SetAside, now: i64) -> String {
    let at = |id| moment::text(id::millis(id));
    format!(
        "{} messages and parked receipts of node {} have ids from {} to {}, {} s ahead of the clock",
        client::number(set.rows),
        set.ids.node,
        at(set.ids.first),
        at(set.ids.last),
        (id::millis(set.ids.last) - now) / 1_000
    )
}
