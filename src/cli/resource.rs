//! `smsc account`, `smsc operator` and `smsc route`: what the configuration names, listed, shown, added, edited and
//! removed while the SMSC runs.
//!
//! A change is shown before it is made: the server says what it would be, and refuses it when somebody else has
//! changed the same meanwhile.

mod edit;

use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow, bail};
use serde_json::{Map, Value};

use super::ask::confirm;
use super::binds::operator_table;
use super::client::{self, CommandOutput, Listing, OutputPage, OutputTable, TableCell, table_of};
use super::diff;
use super::exit::WrongCommandLine;
use crate::api::{Changed, Operators, Resource, ResourceNote, ResourceNotes};
use crate::config;
use crate::domain::settings::ResourceKind;

/// What to do with accounts, operators or routes.
#[derive(Debug, clap::Subcommand)]
pub enum ResourceCommand {
    /// Show all of them.
    List {
        #[command(flatten)]
        listing: Listing,
    },
    /// Show one, with the keys that are set.
    Show {
        /// Its name.
        name: String,
        /// Show the keys that have their default, too.
        #[arg(long)]
        all: bool,
        #[command(flatten)]
        listing: Listing,
    },
    /// Add one.
    Add(DesiredKeys),
    /// Change keys of one: by options, or in $EDITOR.
    Edit(DesiredKeys),
    /// Remove one.
    Remove {
        /// Its name.
        name: String,
        #[command(flatten)]
        how: How,
        #[command(flatten)]
        telling: CommandOutput,
    },
    /// Show notes on one, write or remove one.
    Notes {
        /// Its name.
        name: String,
        /// Write this note.
        #[arg(long, value_name = "TEXT")]
        add: Option<String>,
        /// Remove the note with this id.
        #[arg(long, value_name = "ID", conflicts_with = "add")]
        remove: Option<String>,
        #[command(flatten)]
        listing: Listing,
    },
}

/// The keys of one, as they shall be.
#[derive(Debug, clap::Args)]
pub struct DesiredKeys {
    /// Its name; of an account the system_id.
    name: String,
    /// Set a key of the configuration: rate=50, to=up,backup; may be repeated.
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// Set a key to the first line of a file (-: standard input), for secrets; may be repeated.
    #[arg(long, value_name = "KEY=FILE")]
    set_file: Vec<String>,
    /// A key that gets its default again; may be repeated.
    #[arg(long, value_name = "KEY")]
    unset: Vec<String>,
    /// A file with keys, as in the configuration or of -o json; -: standard input.
    #[arg(long, short, value_name = "FILE")]
    file: Option<PathBuf>,
    #[command(flatten)]
    how: How,
    #[command(flatten)]
    telling: CommandOutput,
}

/// How a change is made.
#[derive(Debug, Clone, Copy, clap::Args)]
pub struct How {
    /// Only show what would change.
    #[arg(long)]
    dry_run: bool,
    /// Do not ask.
    #[arg(long, short)]
    yes: bool,
}

/// Runs the command.
///
/// # Errors
/// The SMSC cannot be reached or refuses, a file or key is wrong, or the user declined.
pub fn run(kind: ResourceKind, order: ResourceCommand) -> anyhow::Result<()> {
    match order {
        ResourceCommand::List { listing } => list(kind, &listing),
        ResourceCommand::Show { name, all, listing } => {
            listing.show(&path(kind, &name), |json| show(kind, &json, all))
        }
        ResourceCommand::Add(change) => add(kind, &change),
        ResourceCommand::Edit(change) => edit(kind, &change),
        ResourceCommand::Remove { name, how, telling } => remove(kind, &name, how, &telling),
        ResourceCommand::Notes {
            name,
            add,
            remove,
            listing,
        } => notes(&format!("{}/{name}", kind.plural()), add, remove, &listing),
    }
}

fn path(kind: ResourceKind, name: &str) -> String {
    format!("/v1/{}/{}", kind.path(), client::segment(name))
}

fn list(kind: ResourceKind, listing: &Listing) -> anyhow::Result<()> {
    let all = format!("/v1/{}", kind.path());
    if kind == ResourceKind::Operator {
        return listing.show(&all, |found: Operators| {
            operator_table(&found.operators).into()
        });
    }
    let keys: &[&str] = match kind {
        ResourceKind::Account => &["max_binds", "window", "rate", "deliver_by", "addresses"],
        _ => &["prefix", "account", "to"],
    };
    listing.show_all(
        |client| client.get(&all),
        |mut json| {
            let found: Vec<Resource> = client::decode(json[kind.plural()].take())?;
            Ok(table(kind, keys, &found).into())
        },
    )
}

fn table(kind: ResourceKind, keys: &[&str], found: &[Resource]) -> OutputTable {
    let mut titles = vec![kind.as_str()];
    titles.extend(keys);
    titles.push("changed in");
    let mut dispensable = vec!["changed in"];
    dispensable.extend(keys.iter().filter(|key| **key != "to").rev());
    let mut table = OutputTable::new(&titles).dropping(&dispensable);
    for one in found {
        let mut row = vec![TableCell::from(one.name.clone())];
        row.extend(keys.iter().map(|key| cell(&one.settings[key])));
        row.push(TableCell::right(format!("version {}", one.version)));
        table.row(row);
    }
    table
}

/// The state of an operator, then the keys; for `smsc why` too.
pub(super) fn show(kind: ResourceKind, json: &Value, all: bool) -> OutputPage {
    let state = ["state", "bound", "configured", "last_error", "version"];
    let state = state.iter().filter(|key| !json[**key].is_null());
    let mut facts: Vec<(String, TableCell)> = state
        .map(|key| ((*key).to_owned(), cell(&json[*key])))
        .collect();
    for (key, value) in json["settings"].as_object().into_iter().flatten() {
        if all || !config::is_default(kind, key, value) {
            facts.push((key.clone(), cell(value)));
        }
    }
    OutputPage::default().facts(facts)
}

/// Writes a note about a resource, removes one, or shows the newest.
fn notes(
    about: &str,
    add: Option<String>,
    remove: Option<String>,
    listing: &Listing,
) -> anyhow::Result<()> {
    if let Some(text) = add {
        let order = serde_json::json!({ "about": about, "text": text });
        let json = listing.open()?.post_json("/v1/notes", &order)?;
        return listing.done(json, |note: ResourceNote| {
            format!("{about} has the note {}", note.id)
        });
    }
    if let Some(id) = remove {
        let path = format!("/v1/notes/{}", client::segment(&id));
        let json = listing.open()?.delete(&path)?;
        return listing.done(json, |_: Value| format!("the note {id} is removed"));
    }
    let path = format!("/v1/notes?limit=200&about={}", client::segment(about));
    listing.show(&path, |found: ResourceNotes| {
        let table = table_of!(&found.notes, |note| {
            "note" => note.id.clone(),
            "at" [2] => TableCell::time(note.at.as_deref()),
            "by" [1] => note.by.clone(),
            "text" => note.text.clone(),
        });
        table.into()
    })
}

/// A setting as people write it on the command line.
fn cell(value: &Value) -> TableCell {
    let plain = |value: &Value| match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    match value {
        Value::Array(list) => {
            let all: Vec<String> = list.iter().map(plain).collect();
            all.join(", ").into()
        }
        Value::Number(number) => TableCell::right(number),
        other => plain(other).into(),
    }
}

fn add(kind: ResourceKind, change: &DesiredKeys) -> anyhow::Result<()> {
    let mut settings = Map::new();
    if !change.keys_into(kind, &mut settings)? {
        bail!(WrongCommandLine(format!(
            "a new {} needs keys: give --set or --file",
            kind.as_str()
        )));
    }
    let client = change.telling.open()?;
    let (path, body) = (path(kind, &change.name), Value::Object(settings));
    let looked = client.put_new(&format!("{path}?dry_run=true"), &body)?;
    let Some(_) = diff::show(looked, change.how.dry_run, &change.telling)? else {
        return Ok(());
    };
    change.confirm("Add this?")?;
    change.done("added", kind, client.put_new(&path, &body)?)
}

fn edit(kind: ResourceKind, change: &DesiredKeys) -> anyhow::Result<()> {
    let client = change.telling.open()?;
    let path = path(kind, &change.name);
    let found = client.get(&path)?;
    let version = found["version"].as_u64();
    let mut settings = found["settings"].as_object().cloned().unwrap_or_default();
    let look = |settings: &Map<String, Value>| {
        let body = Value::Object(settings.clone());
        client.put(&format!("{path}?dry_run=true"), &body, version)
    };
    let looked = if change.keys_into(kind, &mut settings)? {
        look(&settings)?
    } else {
        edit::until_accepted(kind, &change.name, &mut settings, look)?
    };
    let Some(_) = diff::show(looked, change.how.dry_run, &change.telling)? else {
        return Ok(());
    };
    change.confirm("Change this?")?;
    let answer = client.put(&path, &Value::Object(settings), version)?;
    change.done("changed", kind, answer)
}

fn remove(kind: ResourceKind, name: &str, how: How, telling: &CommandOutput) -> anyhow::Result<()> {
    let client = telling.open()?;
    let path = path(kind, name);
    let version = client.get(&path)?["version"].as_u64();
    let looked = client.delete_if(&format!("{path}?dry_run=true"), version)?;
    let Some(_) = diff::show(looked, how.dry_run, telling)? else {
        return Ok(());
    };
    confirm("Remove this?", how.yes, "nothing was changed")?;
    telling.done(client.delete_if(&path, version)?, |done: Changed| {
        format!(
            "{} {name} is removed in version {}",
            kind.as_str(),
            done.version
        )
    })
}

// === impl DesiredKeys ===

impl DesiredKeys {
    /// Puts what was given over the settings; whether anything was.
    fn keys_into(
        &self,
        kind: ResourceKind,
        settings: &mut Map<String, Value>,
    ) -> anyhow::Result<bool> {
        if let Some(file) = &self.file {
            let text = read(file)?;
            let keys = config::read_page(kind, &text);
            settings.extend(keys.map_err(|why| anyhow!("{} {why}", file.display()))?);
        }
        for given in &self.set {
            let (key, value) = pair("--set", given)?;
            let value =
                config::typed(kind, key, value).map_err(|why| anyhow!("--set {key} {why}"))?;
            put(settings, key, value)?;
        }
        for given in &self.set_file {
            let (key, file) = pair("--set-file", given)?;
            let text = read(Path::new(file))?;
            let line = text.lines().next().unwrap_or_default();
            let value =
                config::typed(kind, key, line).map_err(|why| anyhow!("--set-file {key} {why}"))?;
            put(settings, key, value)?;
        }
        for key in &self.unset {
            // A secret that is left out stays.
            let nothing = if config::is_secret(kind, key) {
                Value::from("")
            } else {
                Value::Null
            };
            put(settings, key, nothing)?;
        }
        let given = [&self.set, &self.set_file, &self.unset];
        Ok(self.file.is_some() || given.iter().any(|list| !list.is_empty()))
    }

    fn confirm(&self, question: &str) -> anyhow::Result<()> {
        confirm(question, self.how.yes, "nothing was changed")
    }

    fn done(&self, verb: &str, kind: ResourceKind, answer: Value) -> anyhow::Result<()> {
        self.telling.done(answer, |done: Changed| {
            let (kind, name) = (kind.as_str(), &self.name);
            format!("{kind} {name} is {verb} in version {}", done.version)
        })
    }
}

fn pair<'a>(flag: &str, given: &'a str) -> anyhow::Result<(&'a str, &'a str)> {
    let pair = given.split_once('=');
    pair.with_context(|| format!("{flag} {given}: write KEY=VALUE"))
}

/// The text of a file, or of standard input.
fn read(file: &Path) -> anyhow::Result<String> {
    let read = if file.as_os_str() == "-" {
        std::io::read_to_string(std::io::stdin())
    } else {
        std::fs::read_to_string(file)
    };
    read.with_context(|| format!("{} cannot be read", file.display()))
}

/// Sets a key; one with dots is in a table.
fn put(settings: &mut Map<String, Value>, key: &str, value: Value) -> anyhow::Result<()> {
    let Some((table, rest)) = key.split_once('.') else {
        settings.insert(key.to_owned(), value);
        return Ok(());
    };
    let below = settings.entry(table).or_insert(Value::Null);
    if below.is_null() {
        *below = Value::Object(Map::new());
    }
    match below {
        Value::Object(below) => put(below, rest, value),
        _ => bail!("{table} is no table, so there is no {key}"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::cli::parsed;

    fn keys(line: &[&str]) -> anyhow::Result<Value> {
        let mut words = vec!["x", "shop"];
        words.extend(line);
        let mut settings = json!({"rate": 5, "window": 10})
            .as_object()
            .unwrap()
            .clone();
        parsed::<DesiredKeys>(&words)?.keys_into(ResourceKind::Operator, &mut settings)?;
        Ok(Value::Object(settings))
    }

    #[test]
    fn keys_are_set_read_from_files_and_unset() {
        let folder = tempfile::tempdir().unwrap();
        let secret = folder.path().join("secret");
        std::fs::write(&secret, "12345\n").unwrap();
        let from = format!("password={}", secret.display());
        let line = [
            "--set",
            "retry.max_attempts=3",
            "--set-file",
            &from,
            "--unset",
            "rate",
        ];
        assert_eq!(
            keys(&line).unwrap(),
            json!({"rate": null, "window": 10, "password": "12345", "retry": {"max_attempts": 3}})
        );
        for (line, wanted) in [
            (["--set", "rate"], "--set rate: write KEY=VALUE"),
            (
                ["--set", "window.a=1"],
                "window is no table, so there is no window.a",
            ),
            (["--set-file", "password=/none"], "/none cannot be read"),
            (["--file", "/none"], "/none cannot be read"),
        ] {
            let error = keys(&line).unwrap_err().to_string();
            assert!(error.contains(wanted), "{line:?}: {error}");
        }
    }

    #[test]
    fn one_is_shown_by_what_is_set() {
        let json = json!({"name": "shop", "version": 3,
            "settings": {"window": 10, "rate": 50.0, "addresses": ["1", "2"], "callback_url": null}});
        let text = show(ResourceKind::Account, &json, false).render(client::Screen::default());
        assert_eq!(text, "version    3\naddresses  1, 2\nrate       50.0");
        let text = show(ResourceKind::Account, &json, true).render(client::Screen::default());
        assert!(
            text.lines()
                .any(|line| line.starts_with("window ") && line.ends_with(" 10")),
            "{text}"
        );
    }
}
