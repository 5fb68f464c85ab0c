//! Files with secrets whose contents change while nothing else does: a rotated password, another Secret of Kubernetes.
//!
//! Called by [`follow_versions`](super::follow_versions) every few seconds, and after a change that changes nothing else: `smsc apply`
//! with a file that names the same files as before. A file that cannot be used, or a key that does not open the store,
//! leaves what was used before, and holds up no other file.

use std::collections::BTreeMap;
use std::sync::Arc;

use secrecy::ExposeSecret as _;

use super::{SettingsError, StoredConfiguration, blocking};
use crate::actors::runtime::locks::lock;
use crate::config::{Config, Keyring, SecretFile, SecretLook};

/// The key of the file with the keys that seal passwords.
const KEY_FILE: &str = "secrets.key_file";

/// What a look at the files has found.
struct LookAtSecrets {
    /// Keys of those with another content than what is used.
    changed: Vec<String>,
    /// Keys of those that cannot be used, and why.
    unusable: BTreeMap<String, String>,
    /// The node's own file, and the same with what the files of its secrets say now.
    file: Arc<Config>,
    newer: Arc<Config>,
}

impl StoredConfiguration {
    /// Uses what files with secrets say now; the keys of those with another content than before.
    ///
    /// # Errors
    /// What they say cannot be used with the rest, or the store does not answer: all from before stays in use.
    pub async fn refresh_secrets(self: &Arc<Self>) -> Result<Vec<String>, SettingsError> {
        let this = Arc::clone(self);
        // Without the turn: a file system that hangs must hold up nobody.
        let mut looked = blocking(move || Ok(this.look())).await?;
        let _turn = self.state.turn.lock().await;
        self.pass_over_refused_key(&mut looked);
        self.tell_unusable(looked.unusable);
        let (mut changed, is_well) = (looked.changed, self.state.trouble().is_none());
        let is_other_file = !Arc::ptr_eq(&looked.file, &self.state.file.load_full());
        if is_other_file || (changed.is_empty() && is_well) {
            return Ok(Vec::new());
        }
        let keys = Keyring::new(&looked.newer.secrets).map_err(SettingsError::Sealed)?;
        let (newer, keys) = (looked.newer, Arc::new(keys));
        match self.follow_with(true, Arc::clone(&newer), keys).await {
            Err(SettingsError::Sealed(why)) if changed.iter().any(|key| key == KEY_FILE) => {
                self.refuse_key(&newer, why);
                changed.retain(|key| key != KEY_FILE);
                let others = with_keys_of(&newer, &looked.file);
                let keys = self.state.keys.load_full();
                self.follow_with(true, Arc::new(others), keys).await?;
            }
            followed => followed?,
        }
        self.tell(&changed);
        Ok(changed)
    }

    fn look(&self) -> LookAtSecrets {
        let file = self.state.file.load_full();
        let (mut changed, mut unusable) = (Vec::new(), BTreeMap::new());
        for secret in self.secret_files().iter() {
            let key = secret.key.clone();
            match secret.look() {
                SecretLook::Same => {}
                SecretLook::Changed => changed.push(key),
                SecretLook::Unusable(why) => {
                    unusable.insert(key, why);
                }
            }
        }
        let newer = if changed.is_empty() {
            Arc::clone(&file)
        } else {
            Arc::new(file.with_own_secrets_again())
        };
        LookAtSecrets {
            changed,
            unusable,
            file,
            newer,
        }
    }

    /// Those of the configuration that is used, found once for each.
    fn secret_files(&self) -> Arc<Vec<SecretFile>> {
        let used = self.node.config();
        let mut known = lock(&self.state.secret_files);
        match &*known {
            Some((of, files)) if Arc::ptr_eq(of, &used) => Arc::clone(files),
            _ => {
                let files = Arc::new(used.secret_files());
                *known = Some((used, Arc::clone(&files)));
                files
            }
        }
    }

    /// A key that did not open this version of the store does not open it now.
    fn pass_over_refused_key(&self, looked: &mut LookAtSecrets) {
        let refused = lock(&self.state.refused_key);
        let Some((version, key, why)) = refused.as_ref() else {
            return;
        };
        let now = looked.newer.secrets.key.as_ref();
        let is_same = now.is_some_and(|now| now.expose_secret() == key.expose_secret());
        if is_same && *version == self.state.applied() {
            looked.changed.retain(|key| key != KEY_FILE);
            looked.unusable.insert(KEY_FILE.to_owned(), why.clone());
            looked.newer = Arc::new(with_keys_of(&looked.newer, &looked.file));
        }
    }

    fn refuse_key(&self, newer: &Config, why: String) {
        if let Some(key) = newer.secrets.key.clone() {
            *lock(&self.state.refused_key) = Some((self.state.applied(), key, why));
        }
    }

    /// Logs each file once when it cannot be used any more, and when it can again.
    fn tell_unusable(&self, unusable: BTreeMap<String, String>) {
        let mut known = lock(&self.state.unusable_secrets);
        for (key, why) in &unusable {
            if known.get(key) != Some(why) {
                tracing::warn!(%key, %why, "what its file said before stays valid");
            }
        }
        for key in known.keys().filter(|key| !unusable.contains_key(*key)) {
            tracing::info!(%key, "its file can be used again");
        }
        *known = unusable;
    }

    /// Logs what is used now.
    fn tell(&self, changed: &[String]) {
        for key in changed {
            tracing::info!(%key, "its file has another content now, which is used");
        }
        for warning in self.node.config().warnings_about(changed) {
            tracing::warn!("{warning}");
        }
    }
}

/// A configuration with the keys that seal of another one.
fn with_keys_of(config: &Config, other: &Config) -> Config {
    let mut config = config.clone();
    config.secrets.key.clone_from(&other.secrets.key);
    config
}
