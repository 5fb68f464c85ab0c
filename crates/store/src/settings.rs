//! The settings port: accounts, operators, routes and policy that the store holds, and their history.
//!
//! Used by the actors, which interpret the bodies; here they are text. Every edit makes a new version
//! of the whole, by compare-and-set on the version that it started from, in one transaction with the
//! history. Guarantees that versions have no gaps, that a resource carries the version which last
//! changed it, and that undoing the changes of the versions above `n` restores version `n`.

use super::{Reply, StoreError};
use smsc_domain::settings::{ResourceKey, ResourceUpdate, Resources};

/// One resource as it is now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredSetting {
    pub key: ResourceKey,
    /// The version of the whole that brought this body.
    pub version: u64,
    pub body: String,
}

/// All resources, as of one moment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StoredSettings {
    /// 0 when nothing was ever written.
    pub version: u64,
    /// In the order of their keys.
    pub settings: Vec<StoredSetting>,
}

/// Changes that become one version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edit {
    /// The version that the changes were made from.
    pub expected: u64,
    /// Unix milliseconds.
    pub at: i64,
    pub who: String,
    /// In words.
    pub what: String,
    pub changes: Vec<ResourceUpdate>,
}

/// Bodies of resources and of the history with the same meaning in another form (sealed). This makes
/// no version.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rewording {
    /// The version that there must be.
    pub expected: u64,
    /// Only their bodies change.
    pub settings: Vec<StoredSetting>,
    /// The changes of versions.
    pub history: Vec<(u64, Vec<ResourceUpdate>)>,
}

/// One version in the history.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettingsVersion {
    pub version: u64,
    /// Unix milliseconds.
    pub at: i64,
    pub who: String,
    /// In words.
    pub what: String,
    /// From the version before.
    pub changes: Vec<ResourceUpdate>,
}

/// Which versions of the history are asked for.
#[derive(Debug, Clone)]
pub struct VersionQuery {
    /// Only versions above this one.
    pub after: u64,
    /// Only versions below this one.
    pub below: u64,
    pub limit: usize,
    /// Only versions that changed this resource.
    pub of: Option<ResourceKey>,
}

/// The settings part of a store. Calls never block.
pub trait SettingsStore {
    /// Everything, as of one moment.
    fn settings(&self) -> Reply<StoredSettings>;

    /// The version of the whole: cheap enough to be read every second.
    fn settings_version(&self) -> Reply<u64>;

    /// Makes changes and answers the new version; `None` when the version is not the expected one,
    /// and then nothing has changed.
    fn edit_settings(&self, edit: Edit) -> Reply<Option<u64>>;

    /// Replaces bodies by another form; false when the version is not the expected one, and then
    /// nothing has changed. The earlier form is overwritten where the store can do that.
    fn reword_settings(&self, rewording: Rewording) -> Reply<bool>;

    /// Some versions, the newest first, with all that they changed.
    fn settings_versions(&self, which: VersionQuery) -> Reply<Vec<SettingsVersion>>;
}

// === impl VersionQuery ===

impl VersionQuery {
    /// The whole history.
    pub const ALL: Self = Self {
        after: 0,
        below: u64::MAX,
        limit: usize::MAX,
        of: None,
    };

    /// What the kept changes of a version contain that changed [`Self::of`], as [`encode`] writes it.
    pub(super) fn mark(&self) -> Result<Option<String>, StoreError> {
        let written = self.of.as_ref().map(serde_json::to_string).transpose();
        written.map_err(|error| StoreError::Failed(error.to_string()))
    }
}

// === impl StoredSettings ===

impl StoredSettings {
    /// Bodies by key.
    pub fn resources(&self) -> Resources {
        self.settings
            .iter()
            .map(|setting| (setting.key.clone(), setting.body.clone()))
            .collect()
    }

    /// One of them.
    pub fn get(&self, key: &ResourceKey) -> Option<&StoredSetting> {
        let at = self
            .settings
            .binary_search_by(|setting| setting.key.cmp(key))
            .ok()?;
        self.settings.get(at)
    }
}

/// The changes of a version as they are kept.
///
/// # Errors
/// They cannot be written as JSON, which no text brings about.
pub(super) fn encode(changes: &[ResourceUpdate]) -> Result<String, StoreError> {
    serde_json::to_string(changes).map_err(|error| StoreError::Failed(error.to_string()))
}

/// The kept changes of a version.
///
/// # Errors
/// The row is damaged.
pub(super) fn decode(version: u64, changes: &str) -> Result<Vec<ResourceUpdate>, StoreError> {
    serde_json::from_str(changes).map_err(|error| {
        StoreError::Failed(format!(
            "the changes of configuration version {version} cannot be read: {error}"
        ))
    })
}
