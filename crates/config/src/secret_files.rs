//! Files that hold secrets: read beside the configuration, and again when their contents have changed.
//!
//! Whoever mounts a Secret or rotates a password changes the content of such a file, and not the configuration. Called by
//! the command line at start, and by the actors for what the store names and for what has changed since.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use deadpool_redis::redis::IntoConnectionInfo as _;
use secrecy::{ExposeSecret, SecretString};

use super::mark::is_postgres_url;
use super::problem::ConfigProblem;
use super::sealing::{Keyring, SecretsConfig};
use super::{Account, Config};
use smsc_domain::account;
use smsc_host::files;

/// A secret that a file holds.
struct FromFile<'c> {
    /// Its key in the configuration, which ends with `_file`.
    key: String,
    /// Names the secret in the same way whatever else the configuration has.
    place: String,
    file: &'c Path,
    secret: SecretSlot<'c>,
}

/// Where the secret is held: of some there may be none, others are then empty.
enum SecretSlot<'c> {
    Perhaps(&'c mut Option<SecretString>),
    Always(&'c mut SecretString),
}

/// A file with a secret, and what it said when it was read.
pub struct SecretFile {
    /// The key that names it, as `accounts/shop.password_file`.
    pub key: String,
    file: PathBuf,
    held: Option<SecretString>,
}

/// What a file says now.
#[derive(Debug, PartialEq, Eq)]
pub enum SecretLook {
    Same,
    Changed,
    /// Nothing that could be used, and why.
    Unusable(String),
}

/// Reads every `…_file` of a file's configuration into the secret beside it.
pub(super) fn read_all(config: &mut Config, problems: &mut Vec<ConfigProblem>) {
    for secret in of_node(config) {
        read_into(secret, problems);
    }
    for secret in of_peers(config) {
        read_into(secret, problems);
    }
}

/// Only those of accounts and operators that come from the store: the secrets of the node's own file have been read
/// already. A file that cannot be used now, and was in an `earlier` configuration, is a warning: what it said then stays.
pub(super) fn read_kept(
    config: &mut Config,
    earlier: Option<&Config>,
    problems: &mut Vec<ConfigProblem>,
    warnings: &mut Vec<ConfigProblem>,
) {
    let mut known: Option<HashMap<(String, PathBuf), SecretString>> = None;
    for secret in of_peers(config) {
        let mut found = Vec::new();
        let (key, place) = (
            secret.key.clone(),
            (secret.place.clone(), secret.file.to_owned()),
        );
        let Some(unread) = read_into(secret, &mut found) else {
            problems.append(&mut found);
            continue;
        };
        let known = known.get_or_insert_with(|| earlier.map_or_else(HashMap::new, secrets_of));
        match known.remove(&place) {
            Some(before) => {
                unread.set(before);
                warnings.extend(found.drain(..).map(|problem| {
                    let message = format!("{}; what it said before stays valid", problem.message);
                    ConfigProblem::new(key.clone(), message)
                }));
            }
            None => problems.append(&mut found),
        }
    }
}

/// What the files of accounts and operators have said.
fn secrets_of(config: &Config) -> HashMap<(String, PathBuf), SecretString> {
    let mut config = config.clone();
    let held = of_peers(&mut config).into_iter().filter_map(|one| {
        let secret = one.secret.get()?.clone();
        Some(((one.place, one.file.to_owned()), secret))
    });
    held.collect()
}

/// Reads one; gives back where it belongs if its file cannot be used.
fn read_into<'c>(
    secret: FromFile<'c>,
    problems: &mut Vec<ConfigProblem>,
) -> Option<SecretSlot<'c>> {
    let FromFile {
        key, file, secret, ..
    } = secret;
    if secret.get().is_some() {
        let beside = key.trim_end_matches("_file").rsplit('.').next();
        let message = format!(
            "set either this or `{}`, not both",
            beside.unwrap_or_default()
        );
        problems.push(ConfigProblem::new(key, message));
        return None;
    }
    match read(file).and_then(|now| check(&key, now)) {
        Ok(found) => secret.set(found),
        Err(why) => {
            let message = format!("cannot use {}: {why}", file.display());
            problems.push(ConfigProblem::new(key, message));
            return Some(secret);
        }
    }
    None
}

/// Those of these keys, each with the key of its file, that have a file.
macro_rules! given_in_files {
    ($config:ident: $( $($key:ident).+ in $($file:ident).+ ),+ $(,)?) => {{
        let mut found = Vec::new();
        $(
            if let Some(file) = $config.$($file).+.as_deref() {
                let key = [$( stringify!($file) ),+].join(".");
                found.push(FromFile {
                    key: key.clone(),
                    place: key,
                    file,
                    secret: SecretSlot::Perhaps(&mut $config.$($key).+),
                });
            }
        )+
        found
    }};
}

/// Secrets of the node itself.
fn of_node(config: &mut Config) -> Vec<FromFile<'_>> {
    given_in_files!(config:
        http.admin_token in http.admin_token_file,
        http.oidc.client_secret in http.oidc.client_secret_file,
        redis.url in redis.url_file,
        archive.database_url in archive.database_url_file,
        resolver.token in resolver.token_file,
        imsi.token in imsi.token_file,
        compat.smpp_connector.management_token in compat.smpp_connector.management_token_file,
        secrets.key in secrets.key_file,
    )
}

/// Passwords of accounts and operators.
fn of_peers(config: &mut Config) -> Vec<FromFile<'_>> {
    let mut found = Vec::new();
    for (index, account) in config.account.iter_mut().enumerate() {
        let system_id = account.system_id.clone();
        let all = account.secrets_in_files().into_iter();
        found.extend(all.filter_map(|(name, file, secret)| {
            Some(FromFile {
                key: format!("account[{index}].{name}_file"),
                place: format!("account {system_id}, {name}"),
                file: file.as_deref()?,
                secret: SecretSlot::Always(secret),
            })
        }));
    }
    for (index, operator) in config.operator.iter_mut().enumerate() {
        if let Some(file) = operator.password_file.as_deref() {
            found.push(FromFile {
                key: format!("operator[{index}].password_file"),
                place: format!("operator {}", operator.id),
                file,
                secret: SecretSlot::Always(&mut operator.password),
            });
        }
    }
    found
}

/// The content without the line end that editors add, of a regular file of a bounded length: whoever named it may be a
/// client of the API.
fn read(file: &Path) -> Result<SecretString, String> {
    let text = files::read_text(file, files::SECRET).map_err(|error| error.to_string())?;
    let secret = text.trim_end_matches(['\r', '\n']);
    if secret.is_empty() {
        Err("it is empty".to_owned())
    } else {
        Ok(SecretString::from(secret))
    }
}

/// A secret that could not be used, so that what was used before stays.
fn check(key: &str, secret: SecretString) -> Result<SecretString, String> {
    if key == "secrets.key_file" {
        let keys = SecretsConfig {
            key: Some(secret.clone()),
            ..SecretsConfig::default()
        };
        Keyring::new(&keys)?;
    }
    let of_account = key.starts_with("account") && key.contains(".password");
    if of_account && !account::is_well_formed(secret.expose_secret()) {
        Err("it starts like an argon2id hash but is none".to_owned())
    } else {
        Ok(secret)
    }
}

/// What a file says now that was read before. A URL that is none leaves the one before and holds up no other file; at a
/// start it is found with the rest of the configuration.
fn read_again(key: &str, file: &Path) -> Result<SecretString, String> {
    let now = check(key, read(file)?)?;
    let url = now.expose_secret();
    let is_usable = match key {
        "redis.url_file" => url.into_connection_info().is_ok(),
        "archive.database_url_file" => is_postgres_url(url),
        _ => true,
    };
    if is_usable {
        Ok(now)
    } else {
        Err("it holds no such URL".to_owned())
    }
}

// === impl Account ===

impl Account {
    /// The secrets that may stand in files, each with its key and its file.
    pub(super) fn secrets_in_files(
        &mut self,
    ) -> [(&'static str, &Option<PathBuf>, &mut SecretString); 4] {
        let (next, carrier) = ("password_next", "carrier_secret");
        [
            ("password", &self.password_file, &mut self.password),
            (next, &self.password_next_file, &mut self.password_next),
            (carrier, &self.carrier_secret_file, &mut self.carrier_secret),
            (
                "carrier_secret_next",
                &self.carrier_secret_next_file,
                &mut self.carrier_secret_next,
            ),
        ]
    }
}

// === impl SecretSlot ===

impl SecretSlot<'_> {
    fn get(&self) -> Option<&SecretString> {
        match self {
            Self::Perhaps(secret) => secret.as_ref(),
            Self::Always(secret) => Some(&**secret).filter(|one| !one.expose_secret().is_empty()),
        }
    }

    fn set(self, secret: SecretString) {
        match self {
            Self::Perhaps(held) => *held = Some(secret),
            Self::Always(held) => *held = secret,
        }
    }
}

// === impl SecretFile ===

impl SecretFile {
    /// Reads the file again. Blocks.
    pub fn look(&self) -> SecretLook {
        let held = self.held.as_ref().map(ExposeSecret::expose_secret);
        match read_again(&self.key, &self.file) {
            Ok(now) if held == Some(now.expose_secret()) => SecretLook::Same,
            Ok(_) => SecretLook::Changed,
            Err(why) => SecretLook::Unusable(format!("cannot use {}: {why}", self.file.display())),
        }
    }
}

// === impl Config ===

impl Config {
    /// Every file that holds a secret of this configuration.
    pub fn secret_files(&self) -> Vec<SecretFile> {
        let mut config = self.clone();
        let mut all: Vec<SecretFile> = Vec::new();
        let file = |one: FromFile| SecretFile {
            key: self.with_names(&one.key),
            file: one.file.to_owned(),
            held: one.secret.get().cloned(),
        };
        all.extend(of_node(&mut config).into_iter().map(file));
        all.extend(of_peers(&mut config).into_iter().map(file));
        all
    }

    /// This configuration with what the files of the node's own secrets say now. One that cannot be used leaves what was
    /// read before: whoever replaces it may be about to. Blocks.
    pub fn with_own_secrets_again(&self) -> Self {
        let mut config = self.clone();
        for one in of_node(&mut config) {
            if let Ok(now) = read_again(&one.key, one.file) {
                one.secret.set(now);
            }
        }
        config
    }

    /// What works but is probably not meant about secrets of these files.
    pub fn warnings_about(&self, files: &[String]) -> Vec<ConfigProblem> {
        let warnings = self.validate().unwrap_or_default().into_iter();
        let named = warnings
            .map(|warning| ConfigProblem::new(self.with_names(&warning.key), warning.message));
        let is_about = |warning: &ConfigProblem| {
            files
                .iter()
                .any(|file| file.strip_suffix("_file") == Some(&warning.key))
        };
        named.filter(is_about).collect()
    }
}

#[cfg(test)]
mod tests {
    use secrecy::ExposeSecret as _;
    use smsc_domain::settings::{ResourceKey, ResourceKind, Resources};

    use super::super::Config;
    use super::SecretLook;

    #[test]
    fn what_has_changed_is_read_again_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text);
        write("token", "first-admin-token\n").unwrap();
        write("shop", "old\n").unwrap();
        write("up", "upstream").unwrap();
        let at = |name: &str| folder.path().join(name).display().to_string();
        let file = format!(
            "http.admin_token_file = {:?}\n\
             [[account]]\nsystem_id = \"plain\"\npassword = \"plain\"\n\
             [[account]]\nsystem_id = \"shop\"\npassword_file = {:?}\n\
             [[operator]]\nid = \"up\"\naddress = \"127.0.0.1:1\"\nsystem_id = \"us\"\npassword_file = {:?}\n",
            at("token"),
            at("shop"),
            at("up"),
        );
        write("smsc.toml", &file).unwrap();
        let config = Config::load(Some(&folder.path().join("smsc.toml"))).unwrap();
        let looks = |wanted: &SecretLook| -> Vec<String> {
            let files = config.secret_files().into_iter();
            let found = files.filter(|file| file.look() == *wanted);
            found.map(|file| file.key).collect()
        };
        let all = [
            "http.admin_token_file",
            "accounts/shop.password_file",
            "operators/up.password_file",
        ];
        assert_eq!(looks(&SecretLook::Same), all);
        // The line end is no part of it.
        write("up", "upstream\n").unwrap();
        assert_eq!(looks(&SecretLook::Same), all);
        write("shop", "new").unwrap();
        write("token", "another").unwrap();
        assert_eq!(looks(&SecretLook::Changed), all[..2]);
        let newer = config.with_own_secrets_again();
        let token = newer.http.admin_token.as_ref().unwrap();
        assert_eq!(token.expose_secret(), "another");
        let warnings = newer.warnings_about(&["http.admin_token_file".to_owned()]);
        assert_eq!(warnings.len(), 1, "it is short: {warnings:?}");
        // One that is about to be replaced, and one that is no secret of this kind.
        write("token", "").unwrap();
        write("shop", "$argon2id$nothing").unwrap();
        std::fs::remove_file(folder.path().join("up")).unwrap();
        for file in config.secret_files() {
            let look = file.look();
            assert!(
                matches!(look, SecretLook::Unusable(_)),
                "{}: {look:?}",
                file.key
            );
        }
        let token = newer.with_own_secrets_again().http.admin_token;
        assert_eq!(token.unwrap().expose_secret(), "another");
    }

    #[test]
    fn a_url_that_is_none_leaves_the_one_before() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text);
        let at = |name: &str| folder.path().join(name).display().to_string();
        write("redis", "redis://:hush@a").unwrap();
        write("archive", "postgres://u:hush@a/b").unwrap();
        let (redis, archive) = (at("redis"), at("archive"));
        let file = format!("redis.url_file = {redis:?}\narchive.database_url_file = {archive:?}\n");
        write("smsc.toml", &file).unwrap();
        let config = Config::load(Some(&folder.path().join("smsc.toml"))).unwrap();
        write("redis", "http://:secret@a").unwrap();
        write("archive", "u:secret@a/b").unwrap();
        for file in config.secret_files() {
            let look = file.look();
            let SecretLook::Unusable(why) = &look else {
                panic!("{}: {look:?}", file.key);
            };
            assert!(!why.contains("secret"), "{why}");
        }
        let stays = config.with_own_secrets_again();
        assert_eq!(stays.redis.url.unwrap().expose_secret(), "redis://:hush@a");
        let url = stays.archive.database_url.unwrap();
        assert_eq!(url.expose_secret(), "postgres://u:hush@a/b");
    }

    /// One file that is gone holds up no change of others.
    #[test]
    fn what_a_file_has_said_stays_while_it_cannot_be_used() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let account = |name: &str| {
            let body = serde_json::json!({ "system_id": name, "password_file": at(name) });
            (
                ResourceKey::new(ResourceKind::Account, name),
                body.to_string(),
            )
        };
        let all = Resources::from([account("gone"), account("rotated")]);
        let node = Config::default();
        for name in ["gone", "rotated"] {
            std::fs::write(at(name), "first").unwrap();
        }
        let before = node.with_resources(&all);
        assert!(before.problems.is_empty(), "{:?}", before.problems);
        std::fs::remove_file(at("gone")).unwrap();
        std::fs::write(at("rotated"), "second").unwrap();
        let after = node.with_resources_after(&all, Some(&before.config));
        assert!(after.problems.is_empty(), "{:?}", after.problems);
        let said = after
            .warnings
            .iter()
            .find(|one| one.key == "accounts/gone.password_file");
        assert!(said.unwrap().message.contains("stays valid"), "{said:?}");
        let passwords = after
            .config
            .account
            .iter()
            .map(|one| one.password.expose_secret());
        assert_eq!(passwords.collect::<Vec<_>>(), ["first", "second"]);
        // At a start nothing was before.
        let problems = node.with_resources(&all).problems;
        assert_eq!(problems.len(), 1, "{problems:?}");
    }
}
