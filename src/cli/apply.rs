//! `smsc apply`: applies the accounts, operators, routes and policy of a file to a running SMSC.
//!
//! The server reports what would change, the user confirms, and the server applies it in one
//! transaction, unless somebody else has changed something meanwhile. The rest of the file is each
//! node's own and is left alone.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context as _, anyhow, bail};
use serde_json::Value;

use super::ask::confirm;
use super::client::{self, AdminApiError, AdminClient, CommandOutput, Screen, pause};
use super::diff;
use crate::api::{Changed, ResourceChange};
use crate::config::{self, Config};
use crate::domain::settings::{ResourceKey, ResourceKind, Resources};
use crate::simulator::options::parse_duration;

/// How often a refused token is tried again: slowly enough not to count as guessing.
const ASK_AGAIN: Duration = Duration::from_secs(5);

/// Arguments of `smsc apply`.
#[derive(Debug, clap::Args)]
pub struct ApplyArgs {
    /// Configuration file with the resources; it also has the address of the SMSC, unless --url or --config gives it.
    #[arg(long, short, value_name = "FILE")]
    file: PathBuf,
    /// Only show what would change.
    #[arg(long)]
    dry_run: bool,
    /// With --dry-run: only compare names. Files that new resources name may be missing.
    #[arg(long, requires = "dry_run")]
    names_only: bool,
    /// Do not ask.
    #[arg(long, short)]
    yes: bool,
    /// Refuse, and change nothing, if something would be removed that is not in the file.
    #[arg(long)]
    refuse_removals: bool,
    /// End with 0 if no SMSC runs there: for a first installation, or the repair of one.
    #[arg(long, requires = "dry_run")]
    if_running: bool,
    /// Try again for so long while the token is refused.
    #[arg(long, value_name = "DURATION", default_value = "0s", value_parser = parse_duration, hide_default_value = true)]
    token_within: Duration,
    #[command(flatten)]
    telling: CommandOutput,
}

/// Runs the command.
///
/// # Errors
/// The file is wrong, the SMSC cannot be reached or refuses, or the user declined.
pub fn run(args: ApplyArgs) -> anyhow::Result<()> {
    let config = Config::load(Some(&args.file))?;
    if config.has_no_resources() {
        bail!(
            "{} names no account, operator, route or policy: applying it would remove all of them",
            args.file.display()
        );
    }
    let telling = args.telling.or_config(&args.file);
    let client = telling.open()?;
    let asked = ask(&client, args.token_within);
    let there = match asked {
        Err(error) if args.if_running && is_down(&error) => {
            eprintln!(
                "{error}\nnothing was compared: there are no nodes that could lose something. If they are elsewhere, give \
                 their address with --url (in the chart: service.http.url)"
            );
            return Ok(());
        }
        there => there?,
    };
    if args.names_only {
        let changed = by_name(&there, &config)?;
        telling.done(serde_json::to_value(&changed)?, |changed: Changed| {
            let text = diff::render(&changed.changes, Screen::of_stdout());
            text + "; only names were compared"
        })?;
        return if args.refuse_removals {
            refuse_removals(&changed.changes)
        } else {
            Ok(())
        };
    }
    let resources = if config.compat.smpp_connector.operators.is_empty() {
        config.resources()
    } else {
        config.resources_over(&known(&there)?)
    };
    let own = config.resources();
    let document = config::document(&resources, |key, secret| {
        own.contains_key(key) && knows(&there, key.kind, secret)
    });
    let mut looked = client.put("/v1/config?dry_run=true", &document, None)?;
    let shown: Changed = client::decode(looked.clone())?;
    if shown.changes.is_empty() && !args.dry_run {
        // The files with secrets may have other contents than before.
        looked = client.put("/v1/config", &document, tag_of(shown.version))?;
    }
    let from = diff::show(looked, args.dry_run, &telling)?;
    if args.refuse_removals {
        refuse_removals(&shown.changes)?;
    }
    let Some(version) = from else {
        return Ok(());
    };
    confirm("Apply?", args.yes, "nothing was changed")?;
    let answer = client.put("/v1/config", &document, tag_of(version))?;
    telling.done(answer, |applied: Changed| {
        format!("applied as version {}", applied.version)
    })
}

/// The configuration of the SMSC. While it refuses the token it is asked again, for so long.
///
/// # Errors
/// It does not answer, or refuses.
fn ask(client: &AdminClient, token_within: Duration) -> anyhow::Result<Value> {
    let began = Instant::now();
    loop {
        let asked = client.get("/v1/config");
        let is_refused = matches!(
            asked.as_ref().map_err(|error| error.downcast_ref()),
            Err(Some(AdminApiError::WrongToken { .. }))
        );
        if !is_refused || began.elapsed() >= token_within {
            return asked;
        }
        pause(ASK_AGAIN);
    }
}

fn is_down(error: &anyhow::Error) -> bool {
    let why = error.downcast_ref::<AdminApiError>();
    matches!(
        why,
        Some(AdminApiError::NothingListens(_) | AdminApiError::NoSuchHost(_))
    )
}

/// Whether the SMSC knows this secret of its resources: one of an earlier build refuses keys that it does not know.
fn knows(there: &Value, kind: ResourceKind, secret: &str) -> bool {
    let file = format!("{secret}_file");
    let shown = there[kind.plural()].as_array().into_iter().flatten();
    !secret.ends_with("_next") || shown.into_iter().any(|one| one.get(&file).is_some())
}

/// Version 0 has no tag to match: there is nothing yet.
fn tag_of(version: u64) -> Option<u64> {
    Some(version).filter(|version| *version > 0)
}

/// The resources that the SMSC shows, without their secrets.
///
/// # Errors
/// One of them is not understood.
fn known(shown: &Value) -> anyhow::Result<Resources> {
    let mut there = Resources::new();
    for kind in ResourceKind::ALL {
        for one in shown[kind.plural()].as_array().into_iter().flatten() {
            let name = config::name_of(kind, one).map_err(|found| {
                let found = found.iter().map(ToString::to_string).collect::<Vec<_>>();
                let kind = kind.as_str();
                anyhow!(
                    "the SMSC shows a {kind} that this program does not understand: {}",
                    found.join("; ")
                )
            })?;
            there.insert(ResourceKey::new(kind, name), one.to_string());
        }
    }
    Ok(there)
}

/// What is only in the configuration that the SMSC shows, and only in the file.
///
/// # Errors
/// What the SMSC shows is not understood.
fn by_name(shown: &Value, config: &Config) -> anyhow::Result<Changed> {
    let there = known(shown)?;
    let file = config.resources_over(&there);
    let change = |key: &ResourceKey, action: &str| ResourceChange {
        resource: key.to_string(),
        action: action.to_owned(),
        fields: Vec::new(),
    };
    let added = file.keys().filter(|key| !there.contains_key(key));
    let removed = there.keys().filter(|key| !file.contains_key(key));
    Ok(Changed {
        version: shown["version"]
            .as_u64()
            .context("the answer has no version")?,
        changes: added
            .map(|key| change(key, "added"))
            .chain(removed.map(|key| change(key, "removed")))
            .collect(),
        warnings: Vec::new(),
        secrets: Vec::new(),
    })
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
