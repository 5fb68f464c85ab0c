//! Reads and writes the configuration in the store, with its passwords sealed, and opens them.

use std::collections::HashMap;

use super::error::{SettingsError, TRIES};
use super::state::ConfigState;
use crate::config::{Keyring, SecretStorage, Unopened};
use crate::domain::settings::{ResourceKey, ResourceKind, ResourceUpdate, Resources};
use crate::store::Store;
use crate::store::settings::{
    Edit, Rewording, SettingsVersion, StoredSetting, StoredSettings, VersionQuery,
};

/// The resources with their passwords in clear.
///
/// # Errors
/// The key of one of them is missing.
pub(super) fn open(
    keys: &Keyring,
    mut settings: StoredSettings,
) -> Result<StoredSettings, Unopened> {
    for StoredSetting { key, body, .. } in &mut settings.settings {
        *body = keys.open(key, body)?;
    }
    Ok(settings)
}

/// Versions with their passwords in clear. A version whose key is missing stays sealed, because nobody
/// is shown its passwords.
pub(super) fn open_history(
    keys: &Keyring,
    mut versions: Vec<SettingsVersion>,
) -> Vec<SettingsVersion> {
    for version in &mut versions {
        each_body(&mut version.changes, |key, body| {
            keys.open(key, body).unwrap_or_else(|_| body.to_owned())
        });
    }
    versions
}

/// An edit in the form that is stored.
pub(super) fn seal(keys: &Keyring, mut edit: Edit) -> Edit {
    each_body(&mut edit.changes, |key, body| keys.seal(key, body));
    edit
}

fn each_body(changes: &mut [ResourceUpdate], mut with: impl FnMut(&ResourceKey, &str) -> String) {
    for ResourceUpdate { key, before, after } in changes {
        for body in [before, after].into_iter().flatten() {
            *body = with(key, body);
        }
    }
}

impl ConfigState {
    /// The resources of the store with their passwords in clear.
    ///
    /// # Errors
    /// The store does not answer, or the key of a password is missing.
    pub async fn read(&self, store: &dyn Store) -> Result<StoredSettings, SettingsError> {
        let settings = store.settings().await?;
        Ok(open(&self.keys.load(), settings)?)
    }

    /// The resources of one kind, as [`Self::read`] gives them.
    ///
    /// # Errors
    /// The store does not answer, or the key of a password of this kind is missing.
    pub async fn read_kind(
        &self,
        store: &dyn Store,
        kind: ResourceKind,
    ) -> Result<StoredSettings, SettingsError> {
        let settings = store.settings_of(kind).await?;
        Ok(open(&self.keys.load(), settings)?)
    }

    /// Versions of the history, the newest first.
    ///
    /// # Errors
    /// The store does not answer.
    pub async fn history(
        &self,
        store: &dyn Store,
        which: VersionQuery,
    ) -> Result<Vec<SettingsVersion>, SettingsError> {
        let versions = store.settings_versions(which).await?;
        Ok(open_history(&self.keys.load(), versions))
    }

    /// Checks that every password is in clear. An old version or a request may contain one that is
    /// sealed with a missing key, which could never be read again.
    ///
    /// # Errors
    /// A password is sealed.
    pub(super) fn check_sealing(&self, resources: &Resources) -> Result<(), SettingsError> {
        let keys = self.keys.load();
        for (key, body) in resources {
            keys.open(key, body)?;
        }
        Ok(())
    }

    /// Logs passwords that are not stored as configured.
    pub(super) fn tell_sealing(keys: &Keyring, settings: &StoredSettings) {
        let kept = look(keys, settings);
        if keys.is_empty() && kept.in_clear > 0 {
            tracing::warn!(
                passwords = kept.in_clear,
                "passwords are kept in clear in the store and its history: set secrets.key_file to \
                 seal them"
            );
        } else if kept != SecretStorage::default() {
            tracing::warn!(
                in_clear = kept.in_clear,
                with_older_key = kept.with_older_key,
                "passwords in the store are not sealed with the first key: `smsc config reseal` \
                 seals all of them, also those of the history"
            );
        }
    }
}

fn look(keys: &Keyring, settings: &StoredSettings) -> SecretStorage {
    let mut all = SecretStorage::default();
    for StoredSetting { key, body, .. } in &settings.settings {
        let kept = keys.look(key, body);
        all.in_clear += kept.in_clear;
        all.with_older_key += kept.with_older_key;
    }
    all
}

/// Seals every password of the store and its history with the first key; returns in how many bodies.
/// Without a key it opens nothing and changes nothing.
///
/// # Errors
/// There is no key; the key of a password is missing; the store does not answer.
pub(super) async fn reseal(
    store: &dyn Store,
    keys: &Keyring,
    by: &str,
) -> Result<u64, SettingsError> {
    if keys.is_empty() {
        let said =
            "there is no key to seal with: set secrets.key_file on every node, and restart them";
        return Err(SettingsError::Sealed(said.to_owned()));
    }
    for _ in 0..TRIES {
        let kept = store.settings().await?;
        let history = store.settings_versions(VersionQuery::ALL).await?;
        let mut count = 0;
        // A text that occurs twice is sealed once, because the current resources are also the last
        // entries of their history.
        let mut known: HashMap<(ResourceKey, String), String> = HashMap::new();
        let mut sealed = |key: &ResourceKey, body: &str| -> Result<String, Unopened> {
            if keys.look(key, body) != SecretStorage::default() {
                count += 1;
            }
            let clear = keys.open(key, body)?;
            let sealed = known.entry((key.clone(), clear));
            let sealed = sealed.or_insert_with_key(|(key, clear)| keys.seal(key, clear));
            Ok(sealed.clone())
        };
        let mut rewording = Rewording {
            expected: kept.version,
            settings: kept.settings,
            history: Vec::with_capacity(history.len()),
        };
        for StoredSetting { key, body, .. } in &mut rewording.settings {
            *body = sealed(key, body)?;
        }
        for mut version in history {
            let mut failed = None;
            each_body(&mut version.changes, |key, body| {
                sealed(key, body).unwrap_or_else(|error| {
                    failed = Some(error);
                    body.to_owned()
                })
            });
            if let Some(error) = failed {
                return Err(error.into());
            }
            rewording.history.push((version.version, version.changes));
        }
        if count == 0 {
            return Ok(0);
        }
        if store.reword_settings(rewording).await? {
            tracing::info!(target: "audit", by, command = "reseal", count, "command carried out");
            return Ok(count);
        }
    }
    Err(SettingsError::Busy)
}
