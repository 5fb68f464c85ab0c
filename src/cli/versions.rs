//! `smsc config`: the configuration in the store, its history, and rollback.

use clap::Subcommand;

use super::ask::confirm;
use super::client::{self, Cell, Listing, Page, Screen, Table, Telling};
use super::diff;
use crate::api::{Changed, Difference, Done, Version, Versions};

/// Arguments of `smsc config`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// List who changed what, newest first.
    Versions {
        /// Versions to show.
        #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=1000))]
        limit: u32,
        #[command(flatten)]
        listing: Listing,
    },
    /// Show what one version changed.
    Show {
        /// Number of the version.
        version: u64,
        #[command(flatten)]
        listing: Listing,
    },
    /// Show what applying the node's own file would change.
    Diff {
        #[command(flatten)]
        listing: Listing,
    },
    /// Seal every password in the store and its history with the first key of secrets.key_file.
    Reseal {
        #[command(flatten)]
        telling: Telling,
    },
    /// Restore an earlier version, as a new one.
    Rollback {
        /// Number of the version.
        version: u64,
        /// Only show what would change.
        #[arg(long)]
        dry_run: bool,
        /// Do not ask.
        #[arg(long, short)]
        yes: bool,
        #[command(flatten)]
        telling: Telling,
    },
}

/// Runs the command.
///
/// # Errors
/// The SMSC cannot be reached or refuses, or the user declined.
pub fn run(args: Args) -> anyhow::Result<()> {
    match args.command {
        Command::Versions { limit, listing } => {
            let path = format!("/v1/config/versions?limit={limit}");
            listing.show(&path, |found: Versions| list(&found).into())
        }
        Command::Show { version, listing } => {
            let path = format!("/v1/config/versions/{version}");
            listing.show(&path, |found: Version| Page::default().text(show(&found)))
        }
        Command::Diff { listing } => listing.show("/v1/config/diff", |found: Difference| {
            Page::default().text(difference(&found))
        }),
        Command::Reseal { telling } => reseal(&telling),
        Command::Rollback {
            version,
            dry_run,
            yes,
            telling,
        } => rollback(version, dry_run, yes, &telling),
    }
}

fn rollback(version: u64, dry_run: bool, yes: bool, telling: &Telling) -> anyhow::Result<()> {
    let client = telling.open()?;
    let path = format!("/v1/config/rollback/{version}");
    let looked = client.post(&format!("{path}?dry_run=true"))?;
    let Some(from) = diff::show(looked, dry_run, telling)? else {
        return Ok(());
    };
    let question = format!("Roll back to version {version}?");
    confirm(&question, yes, "nothing was changed")?;
    telling.done(client.post_if(&path, from)?, |done: Changed| {
        format!("version {} is what version {version} was", done.version)
    })
}

fn reseal(telling: &Telling) -> anyhow::Result<()> {
    let answer = telling.open()?.post("/v1/config/reseal")?;
    telling.done(answer, |done: Done| match done.count {
        0 => "every password is sealed with the first key".to_owned(),
        count => format!(
            "{} resources and changes are sealed anew",
            client::number(count)
        ),
    })
}

fn list(versions: &Versions) -> Table {
    let mut table = Table::new(&["version", "at", "who", "what"]).dropping(&["at", "who"]);
    for version in &versions.versions {
        table.row([
            Cell::plain(version.version),
            Cell::time(version.at.as_deref()),
            version.who.clone().into(),
            version.what.clone().into(),
        ]);
    }
    table
}

fn show(version: &Version) -> String {
    format!(
        "version {} of {} by {}: {}\n{}",
        version.version,
        client::time(version.at.as_deref()),
        version.who,
        version.what,
        diff::render(&version.changes, Screen::of_stdout())
    )
}

fn difference(found: &Difference) -> String {
    let file = found.file.as_deref().unwrap_or("no file");
    match found.compared {
        false => format!(
            "version {} is in the store; {file} names no account, operator, route or policy",
            found.version
        ),
        true if found.changes.is_empty() => {
            format!("{file} is what version {} in the store is", found.version)
        }
        true => format!(
            "applying {file} to version {} would change:\n{}",
            found.version,
            diff::render(&found.changes, Screen::of_stdout())
        ),
    }
}
