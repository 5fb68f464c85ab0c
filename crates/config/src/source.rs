//! Where the configuration comes from: a TOML file, then environment variables over it.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use figment::providers::{Format, Toml};
use figment::value::{Dict, Map, Value};
use figment::{Error, Figment, Metadata, Profile, Provider};
use secrecy::{ExposeSecret, SecretString};

use super::Config;
use super::problem::{ConfigError, Problem};
use super::reference::reference;
use super::setting::{ENVIRONMENT, Reader, Setting, Shape, variable};
use smsc_host::files;

/// What our environment variables start with.
const PREFIX: &str = "SMSC_";

/// Reads file and environment; the problems found so far come along.
///
/// # Errors
/// A file that cannot be read or is not TOML.
pub(super) fn read(
    path: Option<&Path>,
    variables: impl IntoIterator<Item = (String, String)>,
) -> Result<(Config, Vec<Problem>), ConfigError> {
    let environment = Environment::from_variables(variables);
    let mut figment = Figment::new();
    if let Some(path) = path {
        // Read once here for a clear error; figment only reports that parsing failed.
        fs::read_to_string(path).map_err(|source| ConfigError::Unreadable {
            path: path.to_owned(),
            source,
        })?;
        figment = figment.merge(Toml::file_exact(path));
    }
    let mut problems = environment.problems.clone();
    let figment = figment.merge(environment);
    let data = figment.data().map_err(|error| ConfigError::Syntax {
        path: path.unwrap_or(Path::new("the environment")).to_owned(),
        message: without_excerpt(&error.to_string()),
    })?;
    let dict = data.get(&Profile::Default).cloned().unwrap_or_default();

    let mut reader = Reader::new(&figment);
    let mut config = Config::read(&Value::from(dict), "", &mut reader).unwrap_or_default();
    problems.append(&mut reader.problems);
    read_secret_files(&mut config, &mut problems);
    Ok((config, problems))
}

/// A TOML error without the lines that quote the file: the broken line may hold a password.
fn without_excerpt(message: &str) -> String {
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
    problems: Vec<Problem>,
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
            .filter(|entry| entry.shape == Shape::Value && !entry.key.contains("[]"))
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
                problems.push(Problem::new(name, message));
            } else if path.len() > 1 || Config::KEYS.contains(&top) {
                insert(&mut dict, &path, value);
            } else if let Some(meant) = known.get(&letters(rest)) {
                let message = format!("unknown variable, did you mean `{meant}`?");
                problems.push(Problem::new(name, message));
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

// === secrets from files ===

/// Reads every `…_file` of a file's configuration into the secret beside it.
fn read_secret_files(config: &mut Config, problems: &mut Vec<Problem>) {
    if let Some(file) = &config.http.admin_token_file {
        let given = config.http.admin_token.is_some();
        let key = "http.admin_token_file".to_owned();
        config.http.admin_token = secret_of(key, file, given, read_secret, problems);
    }
    let oidc = &mut config.http.oidc;
    if let Some(file) = &oidc.client_secret_file {
        let given = oidc.client_secret.is_some();
        let key = "http.oidc.client_secret_file".to_owned();
        oidc.client_secret = secret_of(key, file, given, read_secret, problems);
    }
    if let Some(file) = &config.redis.url_file {
        let given = config.redis.url.is_some();
        config.redis.url = secret_of(
            "redis.url_file".to_owned(),
            file,
            given,
            read_secret,
            problems,
        );
    }
    if let Some(file) = &config.archive.database_url_file {
        let given = config.archive.database_url.is_some();
        let key = "archive.database_url_file".to_owned();
        config.archive.database_url = secret_of(key, file, given, read_secret, problems);
    }
    if let Some(file) = &config.resolver.token_file {
        let given = config.resolver.token.is_some();
        let key = "resolver.token_file".to_owned();
        config.resolver.token = secret_of(key, file, given, read_secret, problems);
    }
    if let Some(file) = &config.imsi.token_file {
        let given = config.imsi.token.is_some();
        let key = "imsi.token_file".to_owned();
        config.imsi.token = secret_of(key, file, given, read_secret, problems);
    }
    let compat = &mut config.compat.smpp_connector;
    if let Some(file) = &compat.management_token_file {
        let given = compat.management_token.is_some();
        let key = "compat.smpp_connector.management_token_file".to_owned();
        compat.management_token = secret_of(key, file, given, read_secret, problems);
    }
    if let Some(file) = &config.secrets.key_file {
        let given = config.secrets.key.is_some();
        let key = "secrets.key_file".to_owned();
        config.secrets.key = secret_of(key, file, given, read_secret, problems);
    }
    read_password_files(config, problems, read_secret);
}

/// How a file with a secret is read.
type Read = fn(&Path) -> Result<SecretString, String>;

/// Only those of accounts and operators that come from the store: the secrets of the node's own file
/// have been read already. Who named these files may be a client of the API.
pub(super) fn read_kept_password_files(config: &mut Config, problems: &mut Vec<Problem>) {
    read_password_files(config, problems, |file| {
        let text = files::read_text(file, files::SECRET).map_err(|error| error.to_string())?;
        secret_in(&text)
    });
}

fn read_password_files(config: &mut Config, problems: &mut Vec<Problem>, read: Read) {
    for (index, account) in config.account.iter_mut().enumerate() {
        if let Some(file) = &account.password_file {
            let given = !account.password.expose_secret().is_empty();
            let key = format!("account[{index}].password_file");
            let secret = secret_of(key, file, given, read, problems);
            account.password = secret.unwrap_or_else(|| account.password.clone());
        }
        if let Some(file) = &account.carrier_secret_file {
            let given = account.has_carrier_secret();
            let key = format!("account[{index}].carrier_secret_file");
            let secret = secret_of(key, file, given, read, problems);
            account.carrier_secret = secret.unwrap_or_else(|| account.carrier_secret.clone());
        }
    }
    for (index, operator) in config.operator.iter_mut().enumerate() {
        if let Some(file) = &operator.password_file {
            let given = !operator.password.expose_secret().is_empty();
            let key = format!("operator[{index}].password_file");
            let secret = secret_of(key, file, given, read, problems);
            operator.password = secret.unwrap_or_else(|| operator.password.clone());
        }
    }
}

/// The secret in `file`, unless it is `given` beside; why not is a problem of `key`.
fn secret_of(
    key: String,
    file: &Path,
    given: bool,
    read: Read,
    problems: &mut Vec<Problem>,
) -> Option<SecretString> {
    if given {
        let beside = key.trim_end_matches("_file").rsplit('.').next();
        let message = format!(
            "set either this or `{}`, not both",
            beside.unwrap_or_default()
        );
        problems.push(Problem::new(key, message));
        return None;
    }
    read(file)
        .map_err(|why| {
            let message = format!("cannot use {}: {why}", file.display());
            problems.push(Problem::new(key, message));
        })
        .ok()
}

/// The content without the line end that editors add.
fn read_secret(file: &Path) -> Result<SecretString, String> {
    let text = fs::read_to_string(file).map_err(|error| error.to_string())?;
    secret_in(&text)
}

fn secret_in(text: &str) -> Result<SecretString, String> {
    let secret = text.trim_end_matches(['\r', '\n']);
    if secret.is_empty() {
        return Err("it is empty".to_owned());
    }
    Ok(SecretString::from(secret))
}
