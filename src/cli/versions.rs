//! `smsc config`: the configuration in the store, its history, and rollback.

use clap::Subcommand;
use serde::de::DeserializeOwned;

use super::ask::confirm;
use super::client::{self, Client, Connection};
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
        /// Only those that changed this resource, such as routes/44.
        #[arg(long)]
        resource: Option<String>,
        #[command(flatten)]
        connection: Connection,
    },
    /// Show what one version changed.
    Show {
        /// Number of the version.
        version: u64,
        /// Show what is different from this version, instead of the one before.
        #[arg(long, value_name = "VERSION")]
        since: Option<u64>,
        #[command(flatten)]
        connection: Connection,
    },
    /// Show what applying the node's own file would change.
    Diff {
        #[command(flatten)]
        connection: Connection,
    },
    /// Seal every password in the store and its history with the first key of secrets.key_file.
    Reseal {
        #[command(flatten)]
        connection: Connection,
    },
    /// Restore an earlier version, as a new one.
    Rollback {
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
        connection: Connection,
    },
}

/// Runs the command.
///
/// # Errors
/// The SMSC cannot be reached or refuses, or the user declined.
pub fn run(args: Args) -> anyhow::Result<()> {
    match args.command {
        Command::Versions {
            limit,
            resource,
            connection,
        } => {
            let of = of_resource(resource.as_deref());
            let path = format!("/v1/config/versions?limit={limit}{of}");
            print(&connection, &path, |found: Versions| list(&found))
        }
        Command::Show {
            version,
            since,
            connection,
        } => {
            let since = since.map_or_else(String::new, |since| format!("?since={since}"));
            let path = format!("/v1/config/versions/{version}{since}");
            print(&connection, &path, |found: Version| show(&found))
        }
        Command::Diff { connection } => {
            let path = "/v1/config/diff";
            print(&connection, path, |found: Difference| difference(&found))
        }
        Command::Reseal { connection } => reseal(&connection),
        Command::Rollback {
            version,
            resource,
            dry_run,
            yes,
            connection,
        } => {
            let order = Rollback {
                version,
                resource,
                dry_run,
                yes,
            };
            rollback(&connection.open()?, &order, connection.json)
        }
    }
}

/// What is at a path, as it is or for people.
fn print<T: DeserializeOwned>(
    connection: &Connection,
    path: &str,
    render: impl FnOnce(T) -> String,
) -> anyhow::Result<()> {
    let answer = connection.open()?.get(path)?;
    match connection.json {
        true => client::print_json(&answer),
        false => client::print_line(&render(client::decode(answer)?)),
    }
}

/// What is to be restored, and how.
struct Rollback {
    version: u64,
    resource: Option<String>,
    dry_run: bool,
    yes: bool,
}

fn rollback(client: &Client, order: &Rollback, json: bool) -> anyhow::Result<()> {
    let version = order.version;
    let of = of_resource(order.resource.as_deref());
    let path = format!("/v1/config/rollback/{version}?dry_run=");
    let shown: Changed = client::decode(client.post(&format!("{path}true{of}"))?)?;
    if !json {
        client::print_line(&diff::render(&shown.changes, diff::in_colour()))?;
    }
    if order.dry_run || shown.changes.is_empty() {
        return match json {
            true => client::print_json(&serde_json::to_value(&shown)?),
            false => Ok(()),
        };
    }
    let question = match &order.resource {
        Some(resource) => format!("Restore {resource} as of version {version}?"),
        None => format!("Roll back to version {version}?"),
    };
    confirm(&question, order.yes, "nothing was changed")?;
    let answer = client.post_if(&format!("{path}false{of}"), shown.version)?;
    if json {
        return client::print_json(&answer);
    }
    let done: Changed = client::decode(answer)?;
    client::print_line(&match &order.resource {
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

fn reseal(connection: &Connection) -> anyhow::Result<()> {
    let answer = connection.open()?.post("/v1/config/reseal")?;
    if connection.json {
        return client::print_json(&answer);
    }
    let done: Done = client::decode(answer)?;
    client::print_line(&match done.count {
        0 => "every password is sealed with the first key".to_owned(),
        count => format!(
            "{} resources and changes are sealed anew",
            client::number(count)
        ),
    })
}

fn list(versions: &Versions) -> String {
    let mut table = client::table(&["version", "at", "who", "what"]);
    for version in &versions.versions {
        table.add_row([
            version.version.to_string(),
            client::time(version.at.as_deref()),
            version.who.clone(),
            version.what.clone(),
        ]);
    }
    table.to_string()
}

fn show(version: &Version) -> String {
    format!(
        "version {} of {} by {}: {}\n{}",
        version.version,
        client::time(version.at.as_deref()),
        version.who,
        version.what,
        diff::render(&version.changes, diff::in_colour())
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
            diff::render(&found.changes, diff::in_colour())
        ),
    }
}
