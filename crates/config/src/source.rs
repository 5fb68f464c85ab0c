//! Where the configuration comes from: a TOML file, then environment variables over it.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use figment::providers::{Format, Toml};
use figment::value::{Dict, Map, Value};
use figment::{Error, Figment, Metadata, Profile, Provider};

use super::Config;
use super::former;
use super::problem::{ConfigError, ConfigProblem};
use super::reference::reference;
use super::secret_files;
use super::setting::{ENVIRONMENT, EntryShape, Setting, SettingReader, variable};

/// What our environment variables start with.
const PREFIX: &str = "SMSC_";

/// Reads file and environment; the problems found so far come along.
///
/// # Errors
/// A file that cannot be read or is not TOML.
pub(super) fn read(
    path: Option<&Path>,
    variables: impl IntoIterator<Item = (String, String)>,
) -> Result<(Config, Vec<ConfigProblem>), ConfigError> {
    let mut figment = Figment::new();
    if let Some(path) = path {
        // Read once here for a clear error; figment only reports that parsing failed.
        fs::read_to_string(path).map_err(|source| ConfigError::Unreadable {
            path: path.to_owned(),
            source,
        })?;
        figment = figment.merge(Toml::file_exact(path));
    }
    let environment = Environment::from_variables(variables);
    let problems = environment.problems.clone();
    form(&figment.merge(environment), path, problems)
}

/// Reads a text; the problems found so far come along.
///
/// # Errors
/// It is not TOML.
pub(super) fn read_text(text: &str) -> Result<(Config, Vec<ConfigProblem>), ConfigError> {
    let figment = Figment::new().merge(Toml::string(text));
    form(&figment, Some(Path::new("the configuration")), Vec::new())
}

/// The configuration that a source gives; `path` is what an error names.
fn form(
    figment: &Figment,
    path: Option<&Path>,
    mut problems: Vec<ConfigProblem>,
) -> Result<(Config, Vec<ConfigProblem>), ConfigError> {
    let data = figment.data().map_err(|error| ConfigError::Syntax {
        path: path.unwrap_or(Path::new("the environment")).to_owned(),
        message: without_excerpt(&error.to_string()),
    })?;
    let mut dict = data.get(&Profile::Default).cloned().unwrap_or_default();

    let mut reader = SettingReader::new(figment);
    former::refuse(&mut dict, &mut reader);
    let mut config = Config::read(&Value::from(dict), "", &mut reader).unwrap_or_default();
    problems.append(&mut reader.problems);
    secret_files::read_all(&mut config, &mut problems);
    Ok((config, problems))
}

/// A TOML error without the lines that quote the file: the broken line may hold a password.
pub(super) fn without_excerpt(message: &str) -> String {
    let quotes = |line: &&str| {
        line.trim_start_matches(|c: char| c.is_ascii_digit() || c == ' ')
            .starts_with('|')
    };
    let kept: Vec<&str> = message
        .lines()
        .filter(|line| !quotes(line))
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .collect();
    kept.join("; ")
}

// === Environment ===

/// Our environment variables as a figment provider. Values stay text: what they are read as is
/// decided by the key's type, so that a token of digits keeps its leading zeros.
struct Environment {
    dict: Dict,
    problems: Vec<ConfigProblem>,
}

impl Provider for Environment {
    fn metadata(&self) -> Metadata {
        Metadata::named(ENVIRONMENT)
    }

    fn data(&self) -> Result<Map<Profile, Dict>, Error> {
        Ok(Profile::Default.collect(self.dict.clone()))
    }
}

impl Environment {
    /// `SMSC_HTTP__WORKERS` is `http.workers`. A variable without `__` is ours only if it names a
    /// top-level key; the others belong to somebody else (Kubernetes sets `SMSC_PORT` and the
    /// like), except that a forgotten underscore is worth an error.
    fn from_variables(variables: impl IntoIterator<Item = (String, String)>) -> Self {
        let known: HashMap<String, String> = reference()
            .into_iter()
            .filter(|entry| entry.shape == EntryShape::Value && !entry.key.contains("[]"))
            .map(|entry| (letters(&entry.key), variable(&entry.key)))
            .collect();
        let mut dict = Dict::new();
        let mut problems = Vec::new();
        for (name, value) in variables {
            let Some(rest) = name.strip_prefix(PREFIX) else {
                continue;
            };
            let path: Vec<String> = rest.to_lowercase().split("__").map(str::to_owned).collect();
            let top = path[0].as_str();
            if ["listener", "account", "operator", "route", "list", "limit"].contains(&top) {
                let message = format!("{top}s come from the file; remove the variable");
                problems.push(ConfigProblem::new(name, message));
            } else if path.len() > 1 || Config::KEYS.contains(&top) {
                insert(&mut dict, &path, value);
            } else if let Some(meant) = known.get(&letters(rest)) {
                let message = format!("unknown variable, did you mean `{meant}`?");
                problems.push(ConfigProblem::new(name, message));
            }
        }
        Self { dict, problems }
    }
}

/// A name without its separators, to compare names whose underscores were miscounted.
fn letters(name: &str) -> String {
    let keep = |c: &char| c.is_ascii_alphanumeric();
    name.to_lowercase().chars().filter(keep).collect()
}

fn insert(dict: &mut Dict, path: &[String], value: String) {
    let [name, rest @ ..] = path else {
        return;
    };
    if rest.is_empty() {
        dict.insert(name.clone(), Value::from(value));
        return;
    }
    let below = dict
        .entry(name.clone())
        .or_insert_with(|| Value::from(Dict::new()));
    if let Value::Dict(_, below) = below {
        insert(below, rest, value);
    }
}
