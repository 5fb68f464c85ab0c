//! `smsc context`: SMSCs whose address and token are saved under a name, for every other command.
//!
//! They are in `smsc/contexts.json` of the user's configuration folder, for its owner alone, because it has tokens.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

use anyhow::{Context as _, bail};
use serde::{Deserialize, Serialize};

use super::client::{self, AdminApiError, ListOutput, OutputPage, OutputTable, TableCell};
use crate::files;

/// More than any list of servers has.
const LONGEST_FILE: u64 = 1 << 20;

/// What to do with saved SMSCs.
#[derive(Debug, clap::Subcommand)]
pub enum ContextCommand {
    /// Save an SMSC under a name, or change what is saved.
    Add(AddContextArgs),
    /// Show what is saved, without tokens.
    List {
        #[command(flatten)]
        output: ListOutput,
    },
    /// Let commands ask this one when nothing else is given; without a name, none.
    Use {
        /// Its name.
        name: Option<String>,
    },
    /// Forget one.
    Remove {
        /// Its name.
        name: String,
    },
}

/// Arguments of `smsc context add`.
#[derive(Debug, clap::Args)]
pub struct AddContextArgs {
    /// Letters, digits, dots, underscores and hyphens.
    #[arg(value_parser = name)]
    name: String,
    /// Address of the admin API.
    #[arg(long, value_name = "URL", value_parser = url)]
    url: String,
    /// Token of the admin API, which is saved; better a file, for other users see arguments.
    #[arg(long, env = "SMSC_HTTP__ADMIN_TOKEN", hide_env_values = true)]
    token: Option<String>,
    /// File with the token, which is read each time.
    #[arg(long, value_name = "FILE", conflicts_with = "token")]
    token_file: Option<PathBuf>,
    /// Certificate authorities (PEM) to trust for an https:// address, besides those of this machine.
    #[arg(long, value_name = "FILE")]
    ca: Option<PathBuf>,
}

/// Everything that is saved.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Contexts {
    /// Which one commands ask when nothing else is given.
    #[serde(skip_serializing_if = "Option::is_none")]
    current: Option<String>,
    #[serde(default)]
    context: BTreeMap<String, Context>,
}

/// One SMSC.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Context {
    pub url: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token_file: Option<PathBuf>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ca: Option<PathBuf>,
}

/// Runs the command.
///
/// # Errors
/// The file cannot be read or written, or has no such context.
pub fn run(order: ContextCommand) -> anyhow::Result<()> {
    let path = path().context("there is no home folder: set SMSC_CONTEXTS to a file")?;
    let mut contexts = read(&path)?;
    match order {
        ContextCommand::List { output } => list(&contexts, &output),
        ContextCommand::Add(add) => {
            let (name, context) = saved(add)?;
            let done = match contexts.context.insert(name.clone(), context) {
                Some(_) => "is changed",
                None => "is saved",
            };
            write(&path, &contexts)?;
            client::print_line(&format!("{name} {done} in {}", path.display()))
        }
        ContextCommand::Use { name: None } => {
            contexts.current = None;
            write(&path, &contexts)?;
            client::print_line("commands ask the SMSC of this machine")
        }
        ContextCommand::Use { name: Some(name) } => {
            let url = contexts.find(&name, &path)?.url;
            contexts.current = Some(name);
            write(&path, &contexts)?;
            client::print_line(&format!("commands ask {url}"))
        }
        ContextCommand::Remove { name } => {
            contexts.find(&name, &path)?;
            contexts.context.remove(&name);
            contexts.current.take_if(|current| *current == name);
            write(&path, &contexts)?;
            client::print_line(&format!("{name} is forgotten"))
        }
    }
}

/// The context of this name; without a name the current one, if there is one.
///
/// # Errors
/// The file cannot be read, or has none of this name.
pub(super) fn find(name: Option<&str>) -> anyhow::Result<Option<Context>> {
    let Some(path) = path() else {
        return match name {
            Some(_) => bail!("there is no home folder with contexts: set SMSC_CONTEXTS to a file"),
            None => Ok(None),
        };
    };
    let contexts = read(&path)?;
    let name = name.or(contexts.current.as_deref());
    name.map(|name| contexts.find(name, &path)).transpose()
}

/// The names of all that are saved; none where they cannot be read.
pub(super) fn names() -> Vec<String> {
    let contexts = path().and_then(|path| read(&path).ok());
    let contexts = contexts.unwrap_or_default().context;
    contexts.into_keys().collect()
}

/// `SMSC_CONTEXTS`, or in the user's configuration folder (XDG Base Directory Specification).
fn path() -> Option<PathBuf> {
    let given = |name| env::var_os(name).filter(|value| !value.is_empty());
    if let Some(file) = given("SMSC_CONTEXTS") {
        return Some(file.into());
    }
    let folder = given("XDG_CONFIG_HOME")
        .map(PathBuf::from)
        .or_else(|| Some(Path::new(&given("HOME")?).join(".config")))?;
    Some(folder.join("smsc/contexts.json"))
}

fn read(path: &Path) -> anyhow::Result<Contexts> {
    if !path.exists() {
        return Ok(Contexts::default());
    }
    let unread = || format!("{} cannot be read", path.display());
    let text = files::read_text(path, LONGEST_FILE).with_context(unread)?;
    serde_json::from_str(&text).with_context(unread)
}

/// Whole or not at all: beside it first.
fn write(path: &Path, contexts: &Contexts) -> anyhow::Result<()> {
    let unwritten = || format!("{} cannot be written", path.display());
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    fs::create_dir_all(folder).with_context(unwritten)?;
    let beside = path.with_extension(format!("{}.new", std::process::id()));
    let text = serde_json::to_string_pretty(contexts)?;
    let written = files::create_new(&beside).and_then(|mut file| {
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::rename(&beside, path)
    });
    written.with_context(unwritten)
}

/// With files by absolute paths, for commands run elsewhere.
fn saved(add: AddContextArgs) -> anyhow::Result<(String, Context)> {
    let absolute = |file: Option<PathBuf>| {
        file.map(|file| {
            fs::canonicalize(&file).with_context(|| format!("{} cannot be read", file.display()))
        })
        .transpose()
    };
    let context = Context {
        url: add.url,
        token: add.token,
        token_file: absolute(add.token_file)?,
        ca: absolute(add.ca)?,
    };
    Ok((add.name, context))
}

fn list(contexts: &Contexts, output: &ListOutput) -> anyhow::Result<()> {
    let all = contexts.context.iter().map(|(name, context)| {
        let is_current = contexts.current.as_ref() == Some(name);
        serde_json::json!({"name": name, "url": context.url, "current": is_current})
    });
    let json = serde_json::json!({ "contexts": all.collect::<Vec<_>>() });
    output.print(&json, || page(contexts))
}

fn page(contexts: &Contexts) -> OutputPage {
    let mut table = OutputTable::new(&["context", "url", "token", "ca"]).dropping(&["ca", "token"]);
    if contexts.context.is_empty() {
        let said = "none is saved; smsc context add NAME --url URL saves one";
        return OutputPage::nothing(&table, said);
    }
    let shown = |file: &Option<PathBuf>| {
        file.as_ref()
            .map_or_else(String::new, |file| file.display().to_string())
    };
    for (name, context) in &contexts.context {
        let is_current = contexts.current.as_ref() == Some(name);
        let mark = if is_current { "*" } else { "" };
        let token = match context.token {
            Some(_) => "saved".to_owned(),
            None => shown(&context.token_file),
        };
        table.row([
            TableCell::marked(name, mark),
            context.url.clone().into(),
            token.into(),
            shown(&context.ca).into(),
        ]);
    }
    table.into()
}

fn name(text: &str) -> Result<String, String> {
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    if !text.is_empty() && text.len() <= 64 && text.chars().all(is_allowed) {
        Ok(text.to_owned())
    } else {
        Err("1 to 64 letters, digits, dots, underscores and hyphens".to_owned())
    }
}

fn url(text: &str) -> Result<String, String> {
    if text.starts_with("http://") || text.starts_with("https://") {
        Ok(text.trim_end_matches('/').to_owned())
    } else {
        Err("an address begins with http:// or https://".to_owned())
    }
}

// === impl Contexts ===

impl Contexts {
    fn find(&self, name: &str, path: &Path) -> anyhow::Result<Context> {
        let found = self.context.get(name).cloned();
        let found = found.ok_or_else(|| {
            let known: Vec<&str> = self.context.keys().map(String::as_str).collect();
            let known = if known.is_empty() {
                "none is saved".to_owned()
            } else {
                format!("known are: {}", known.join(", "))
            };
            AdminApiError::NotFound(format!("{} has no context {name}; {known}", path.display()))
        });
        Ok(found?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("new/contexts.json");
        assert!(read(&path).unwrap().context.is_empty());
        let context = Context {
            url: "https://smsc.example".to_owned(),
            token: Some("secret".to_owned()),
            token_file: None,
            ca: Some("/etc/ca.pem".into()),
        };
        let contexts = Contexts {
            current: Some("live".to_owned()),
            context: BTreeMap::from([("live".to_owned(), context.clone())]),
        };
        write(&path, &contexts).unwrap();
        let again = read(&path).unwrap();
        assert_eq!(again.current.as_deref(), Some("live"));
        assert_eq!(again.find("live", &path).unwrap(), context);
        let error = again.find("test", &path).unwrap_err().to_string();
        assert!(
            error.ends_with("has no context test; known are: live"),
            "{error}"
        );
    }

    #[test]
    fn a_file_that_is_wrong_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("contexts.json");
        fs::write(
            &path,
            r#"{"context": {"live": {"url": "http://a", "tokn": "x"}}}"#,
        )
        .unwrap();
        let error = format!("{:#}", read(&path).unwrap_err());
        assert!(
            error.contains("contexts.json") && error.contains("tokn"),
            "{error}"
        );
    }

    #[test]
    fn names_and_addresses_are_checked() {
        assert!(name("live-1.eu_west").is_ok());
        for wrong in ["", "a b", "a/b", &"x".repeat(65)] {
            assert!(name(wrong).is_err(), "{wrong}");
        }
        assert_eq!(url("http://a:1/").unwrap(), "http://a:1");
        assert!(url("a:8080").is_err());
    }
}
