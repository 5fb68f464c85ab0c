//! The settings port: accounts, operators, routes and policy that the store holds, and their history.
//!
//! Used by the actors, which interpret the bodies; here they are text. Every edit makes a new version
//! of the whole, by compare-and-set on the version that it started from, in one transaction with the
//! history: its number is a primary key, so no lock is needed. Guarantees that versions have no gaps, that a
//! resource carries the version which last changed it, and that undoing the changes of the versions above `n`
//! restores version `n`.

use super::cold::{ColdRecord as _, ColdRow, ColdStatement, ColdTables, record, values};
use super::{Reply, StoreError, StoreResult};
use serde::Serialize;
use smsc_domain::settings::{ResourceKey, ResourceKind, ResourceUpdate, Resources};

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

record! {
    /// A [`SettingsVersion`] as it is kept.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct KeptVersion in "config_versions" {
        pub version: u64,
        pub at: i64,
        pub who: String,
        pub what: String,
        /// In JSON.
        pub changes: String,
    }
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

    /// The resources of one kind, with the version of the whole, as of one moment.
    fn settings_of(&self, kind: ResourceKind) -> Reply<StoredSettings>;

    /// The names of all resources in the order of their keys, without bodies: to be searched while somebody types.
    fn setting_names(&self) -> Reply<Vec<ResourceKey>>;

    /// The version of the whole: cheap enough to be read every second.
    fn settings_version(&self) -> Reply<u64>;

    /// Makes changes and answers the new version; `None` when the version is not the expected one,
    /// and then nothing has changed.
    fn edit_settings(&self, edit: Edit) -> Reply<Option<u64>>;

    /// Some versions, the newest first, with all that they changed.
    fn settings_versions(&self, which: VersionQuery) -> Reply<Vec<SettingsVersion>>;
}

/// Another form of what a store holds of settings. Calls never block.
pub trait RewordingStore {
    /// Replaces bodies by another form; false when the version is not the expected one, and then
    /// nothing has changed. The earlier form is overwritten where the store can do that.
    fn reword_settings(&self, rewording: Rewording) -> Reply<bool>;
}

// === impl StoredSetting ===

impl StoredSetting {
    /// The statement that writes it, over what is there.
    pub(crate) fn put(&self) -> ColdStatement {
        let sql = format!(
            "INSERT INTO {}(name, version, body) VALUES($1, $2, $3)
             ON CONFLICT(name) DO UPDATE SET version = excluded.version, body = excluded.body",
            self.key.kind.plural()
        );
        ColdStatement::new(sql, values![self.key.name, self.version, self.body])
    }
}

// === impl Edit ===

impl Edit {
    /// The statements that make it a version; they change nothing where another version is expected.
    fn statements(self) -> StoreResult<Vec<ColdStatement>> {
        let made = KeptVersion {
            version: self.expected + 1,
            at: self.at,
            changes: encode(&self.changes)?,
            who: self.who,
            what: self.what,
        };
        let changes = self.changes.into_iter();
        let writes = changes.map(|ResourceUpdate { key, after, .. }| match after {
            Some(body) => {
                let version = made.version;
                StoredSetting { key, version, body }.put()
            }
            None => {
                let sql = format!("DELETE FROM {} WHERE name = $1", key.kind.plural());
                ColdStatement::new(sql, values![key.name])
            }
        });
        let mut writes: Vec<ColdStatement> = writes.collect();
        // Those that are alike, such as for thousands of routes, are sent at once.
        writes.sort_by(|one, other| one.sql.cmp(&other.sql));
        // Another node may commit the same number meanwhile.
        let insert = made.insert("ON CONFLICT(version) DO NOTHING");
        let conditions = [when(self.expected), insert.or_nothing()];
        Ok(conditions.into_iter().chain(writes).collect())
    }
}

// === impl Rewording ===

impl Rewording {
    /// The statements that write it; they change nothing where another version is expected.
    pub(crate) fn statements(&self) -> StoreResult<Vec<ColdStatement>> {
        let mut all = vec![when(self.expected)];
        for one in &self.settings {
            let table = one.key.kind.plural();
            let sql = format!("UPDATE {table} SET body = $2 WHERE name = $1");
            all.push(ColdStatement::new(sql, values![one.key.name, one.body]));
        }
        for (version, changes) in &self.history {
            let sql = "UPDATE config_versions SET changes = $2 WHERE version = $1";
            all.push(ColdStatement::new(sql, values![*version, encode(changes)?]));
        }
        Ok(all)
    }
}

// === impl KeptVersion ===

impl KeptVersion {
    /// What it has changed.
    ///
    /// # Errors
    /// The row is damaged.
    pub(crate) fn decode(&self) -> StoreResult<Vec<ResourceUpdate>> {
        serde_json::from_str(&self.changes).map_err(|error| {
            StoreError::Failed(format!(
                "the changes of configuration version {} cannot be read: {error}",
                self.version
            ))
        })
    }

    fn decoded(self) -> StoreResult<SettingsVersion> {
        Ok(SettingsVersion {
            changes: self.decode()?,
            version: self.version,
            at: self.at,
            who: self.who,
            what: self.what,
        })
    }
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

    /// The statement that reads them.
    fn select(&self) -> StoreResult<ColdStatement> {
        // As the kept changes contain it.
        let of = self.of.as_ref().map(encode).transpose()?;
        Ok(KeptVersion::select(
            "WHERE version > $1 AND version < $2
               AND (CAST($3 AS text) IS NULL OR replace(changes, $3, '') <> changes)
             ORDER BY version DESC LIMIT $4",
            values![self.after, self.below, of, self.limit],
        ))
    }
}

// === impl StoredSettings ===

impl StoredSettings {
    /// The statement that reads the version and the resources of these kinds, as of one moment.
    pub(crate) fn select(kinds: &[ResourceKind]) -> ColdStatement {
        Self::select_with(kinds, "body")
    }

    /// The statement that reads them with this in place of bodies.
    fn select_with(kinds: &[ResourceKind], body: &str) -> ColdStatement {
        let mut sql = format!(
            "SELECT {}, '', coalesce(max(version), 0), '' FROM config_versions",
            ResourceKind::ALL.len()
        );
        for kind in kinds {
            let (number, table) = (*kind as usize, kind.plural());
            sql += &format!(" UNION ALL SELECT {number}, name, version, {body} FROM {table}");
        }
        ColdStatement::new(sql, Vec::new())
    }

    /// What [`Self::select`] has found.
    ///
    /// # Errors
    /// A column holds no value of its type.
    pub(crate) fn read(rows: Vec<ColdRow>) -> StoreResult<Self> {
        let mut all = Self::default();
        for mut row in rows {
            let number: usize = row.take("the kind of a resource")?;
            let name: String = row.take("the name of a resource")?;
            let version = row.take("the version of a resource")?;
            match ResourceKind::ALL.get(number) {
                Some(kind) => all.settings.push(StoredSetting {
                    key: ResourceKey::new(*kind, name),
                    version,
                    body: row.take("the body of a resource")?,
                }),
                None => all.version = version,
            }
        }
        // Sorted here, because the collation of a database may have another order.
        all.settings
            .sort_unstable_by(|one, other| one.key.cmp(&other.key));
        Ok(all)
    }

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

impl<S: ColdTables> SettingsStore for S {
    fn settings(&self) -> Reply<StoredSettings> {
        let all = StoredSettings::select(&ResourceKind::ALL);
        self.look_up(all, StoredSettings::read)
    }

    fn settings_of(&self, kind: ResourceKind) -> Reply<StoredSettings> {
        self.select(StoredSettings::select(&[kind]), StoredSettings::read)
    }

    fn setting_names(&self) -> Reply<Vec<ResourceKey>> {
        let names = StoredSettings::select_with(&ResourceKind::ALL, "''");
        self.select(names, |rows| {
            let all = StoredSettings::read(rows)?.settings.into_iter();
            Ok(all.map(|one| one.key).collect())
        })
    }

    fn settings_version(&self) -> Reply<u64> {
        let none = StoredSettings::select(&[]);
        self.look_up(none, |rows| Ok(StoredSettings::read(rows)?.version))
    }

    fn edit_settings(&self, edit: Edit) -> Reply<Option<u64>> {
        let next = edit.expected + 1;
        match edit.statements() {
            Ok(statements) => {
                self.change(statements, move |done| Ok((done.rows > 0).then_some(next)))
            }
            Err(error) => Reply::ready(Err(error)),
        }
    }

    fn settings_versions(&self, which: VersionQuery) -> Reply<Vec<SettingsVersion>> {
        match which.select() {
            Ok(select) => self.select(select, |rows| {
                let kept = KeptVersion::all(rows)?.into_iter();
                kept.map(KeptVersion::decoded).collect()
            }),
            Err(error) => Reply::ready(Err(error)),
        }
    }
}

/// The condition that this is the version of the whole.
fn when(version: u64) -> ColdStatement {
    let sql = "SELECT 1 WHERE (SELECT coalesce(max(version), 0) FROM config_versions) = $1";
    ColdStatement::new(sql, values![version]).or_nothing()
}

/// What is kept as JSON.
///
/// # Errors
/// It cannot be written as JSON, which no text brings about.
pub(super) fn encode<T: Serialize + ?Sized>(kept: &T) -> StoreResult<String> {
    serde_json::to_string(kept).map_err(|error| StoreError::Failed(error.to_string()))
}
