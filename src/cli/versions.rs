//! `smsc config`: the configuration in the store, its history, and rollback.

use super::ask::confirm;
use super::client::{
    self, CommandOutput, Listing, OutputPage, OutputTable, Screen, TableCell, table_of,
};
use super::diff;
use crate::api::{Changed, Difference, Done, Version, Versions};

/// What to do with the configuration.
#[derive(Debug, clap::Subcommand)]
pub enum ConfigCommand {
    /// List who changed what, newest first.
    Versions {
        /// Versions to show.
        #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=1000))]
        limit: u32,
        /// Only those that changed this resource, such as routes/44.
        #[arg(long)]
        resource: Option<String>,
        #[command(flatten)]
        listing: Listing,
    },
    /// Show what one version changed.
    Show {
        /// Number of the version.
        version: u64,
        /// Show what is different from this version, instead of the one before.
        #[arg(long, value_name = "VERSION")]
        since: Option<u64>,
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
        telling: CommandOutput,
    },
    /// Restore an earlier version, as a new one.
    Rollback(RollbackArgs),
}

/// Arguments of `smsc config rollback`.
#[derive(Debug, clap::Args)]
pub struct RollbackArgs {
    /// Number of the version.
    version: u64,
    /// Restore only this resource, such as routes/44.
    #[arg(long)]
    resource: Option<String>,
    /// Only show what would change.
    #[arg(long)]
    dry_run: bool,
    /// Do not ask.
    #[arg(long, short)]
    yes: bool,
    #[command(flatten)]
    telling: CommandOutput,
}

/// Runs the command.
///
/// # Errors
/// The SMSC cannot be reached or refuses, or the user declined.
pub fn run(order: ConfigCommand) -> anyhow::Result<()> {
    match order {
        ConfigCommand::Versions {
            limit,
            resource,
            listing,
        } => {
            let of = of_resource(resource.as_deref());
            let path = format!("/v1/config/versions?limit={limit}{of}");
            listing.show(&path, |found: Versions| list(&found).into())
        }
        ConfigCommand::Show {
            version,
            since,
            listing,
        } => {
            let since = since.map_or_else(String::new, |since| format!("?since={since}"));
            let path = format!("/v1/config/versions/{version}{since}");
            listing.show(&path, |found: Version| {
                OutputPage::default().text(show(&found))
            })
        }
        ConfigCommand::Diff { listing } => listing.show("/v1/config/diff", |found: Difference| {
            OutputPage::default().text(difference(&found))
        }),
        ConfigCommand::Reseal { telling } => reseal(&telling),
        ConfigCommand::Rollback(args) => rollback(&args),
    }
}

fn rollback(order: &RollbackArgs) -> anyhow::Result<()> {
    let (telling, version) = (&order.telling, order.version);
    let client = telling.open()?;
    let of = of_resource(order.resource.as_deref());
    let path = format!("/v1/config/rollback/{version}?dry_run=");
    let looked = client.post(&format!("{path}true{of}"))?;
    let Some(from) = diff::show(looked, order.dry_run, telling)? else {
        return Ok(());
    };
    let question = match &order.resource {
        Some(resource) => format!("Restore {resource} as of version {version}?"),
        None => format!("Roll back to version {version}?"),
    };
    confirm(&question, order.yes, "nothing was changed")?;
    let answer = client.post_if(&format!("{path}false{of}"), from)?;
    telling.done(answer, |done: Changed| match &order.resource {
        Some(resource) => format!(
            "version {}: {resource} is what it was in version {version}",
            done.version
        ),
        None => format!("version {} is what version {version} was", done.version),
    })
}

/// The part of a query that names a resource.
fn of_resource(resource: Option<&str>) -> String {
    resource.map_or_else(String::new, |one| {
        format!("&resource={}", client::segment(one))
    })
}

fn reseal(telling: &CommandOutput) -> anyhow::Result<()> {
    let answer = telling.open()?.post("/v1/config/reseal")?;
    telling.done(answer, |done: Done| match done.count {
        0 => "every password is sealed with the first key".to_owned(),
        count => format!(
            "{} resources and changes are sealed anew",
            client::number(count)
        ),
    })
}

fn list(versions: &Versions) -> OutputTable {
    table_of!(&versions.versions, |version| {
        "version" => TableCell::plain(version.version),
        "at" [1] => TableCell::time(version.at.as_deref()),
        "who" [2] => version.who.clone(),
        "what" => version.what.clone(),
    })
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
    if !found.compared {
        format!(
            "version {} is in the store; {file} names no account, operator, route or policy",
            found.version
        )
    } else if found.changes.is_empty() {
        format!("{file} is what version {} in the store is", found.version)
    } else {
        format!(
            "applying {file} to version {} would change:\n{}",
            found.version,
            diff::render(&found.changes, Screen::of_stdout())
        )
    }
}
