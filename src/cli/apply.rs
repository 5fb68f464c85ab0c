//! `smsc apply`: applies the accounts, operators, routes and policy of a file to a running SMSC.
//!
//! The server reports what would change, the user confirms, and the server applies it in one
//! transaction, unless somebody else has changed something meanwhile. The rest of the file is each
//! node's own and is left alone.

use std::path::PathBuf;

use anyhow::bail;

use super::ask::confirm;
use super::client::{self, Connection};
use super::diff;
use crate::api::{Changed, ResourceChange};
use crate::config::{self, Config};

/// Arguments of `smsc apply`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Configuration file with the accounts, operators, routes and policy; also gives the address of the
    /// SMSC, unless --url or --config does.
    #[arg(long, short, value_name = "FILE")]
    file: PathBuf,
    /// Only show what would change.
    #[arg(long)]
    dry_run: bool,
    /// Do not ask.
    #[arg(long, short)]
    yes: bool,
    /// Refuse, and change nothing, if something would be removed that is not in the file.
    #[arg(long)]
    refuse_removals: bool,
    #[command(flatten)]
    connection: Connection,
}

/// Runs the command.
///
/// # Errors
/// The file is wrong, the SMSC cannot be reached or refuses, or the user declined.
pub fn run(args: Args) -> anyhow::Result<()> {
    let config = Config::load(Some(&args.file))?;
    if config.has_no_resources() {
        bail!(
            "{} names no account, operator, route or policy: applying it would remove all of them",
            args.file.display()
        );
    }
    let json = args.connection.json;
    let client = args.connection.or_config(&args.file).open()?;
    let document = config::document(&config.resources());
    let shown: Changed = client::decode(client.put("/v1/config?dry_run=true", &document, None)?)?;
    if !json {
        let text = diff::render(&shown.changes, diff::in_colour());
        client::print_line(&(diff::render_warnings(&shown.warnings) + &text))?;
    }
    if args.refuse_removals {
        refuse_removals(&shown.changes)?;
    }
    if args.dry_run || shown.changes.is_empty() {
        return match json {
            true => client::print_json(&serde_json::to_value(&shown)?),
            false => Ok(()),
        };
    }
    confirm("Apply?", args.yes, "nothing was changed")?;
    // Version 0 has no tag to match: there is nothing yet.
    let from = Some(shown.version).filter(|version| *version > 0);
    let answer = client.put("/v1/config", &document, from)?;
    if json {
        return client::print_json(&answer);
    }
    let applied: Changed = client::decode(answer)?;
    client::print_line(&format!("applied as version {}", applied.version))
}

/// # Errors
/// Something would be removed; the text names what.
fn refuse_removals(changes: &[ResourceChange]) -> anyhow::Result<()> {
    let removed = changes.iter().filter(|change| change.action == "removed");
    let names: Vec<&str> = removed.map(|change| change.resource.as_str()).collect();
    if names.is_empty() {
        return Ok(());
    }
    bail!(
        "nothing was changed, because {} would be removed: the file does not have what somebody made by the API or by an \
         earlier file. Add it to the file, or leave out --refuse-removals (in the chart: allowRemovals: true) to remove it",
        names.join(", ")
    )
}
