//! The settings port on SQLite.
//!
//! Reads on the connection of the admin API, edits as a job of the writer, in its own transaction.

use rusqlite::Connection;

use super::schema::{failed, sql_failed};
use super::{SqliteStore, writer};
use crate::settings::{
    Edit, Rewording, SettingsStore, SettingsVersion, StoredSetting, StoredSettings, VersionQuery,
    decode, encode,
};
use crate::{Reply, StoreError, signed};
use smsc_domain::settings::{ResourceKey, ResourceKind, ResourceUpdate};

/// A version as it is in its row: number, time, who, what, changes as JSON.
pub(super) type VersionRow = (u64, i64, String, String, String);

impl SettingsStore for SqliteStore {
    fn settings(&self) -> Reply<StoredSettings> {
        self.admin.ask(|connection| {
            let snapshot = connection.unchecked_transaction().map_err(sql_failed)?;
            read(&snapshot).map_err(sql_failed)
        })
    }

    fn settings_version(&self) -> Reply<u64> {
        self.admin
            .ask(|connection| version(connection).map_err(sql_failed))
    }

    fn edit_settings(&self, edit: Edit) -> Reply<Option<u64>> {
        let changes = match encode(&edit.changes) {
            Ok(changes) => changes,
            Err(error) => return Reply::ready(Err(error)),
        };
        writer::transact(&self.shared, move |connection, _| {
            change(connection, &edit, &changes)
        })
    }

    fn reword_settings(&self, rewording: Rewording) -> Reply<bool> {
        let history = rewording.history.iter();
        let history = history.map(|(version, changes)| Ok((*version, encode(changes)?)));
        let history = match history.collect::<Result<Vec<_>, StoreError>>() {
            Ok(history) => history,
            Err(error) => return Reply::ready(Err(error)),
        };
        self.upkeep.ask(move |upkeep| {
            let written = upkeep.transact(move |connection, _| {
                connection.pragma_update(None, "secure_delete", true)?;
                let result = reword(connection, &rewording, &history);
                connection.pragma_update(None, "secure_delete", false)?;
                result
            })?;
            if written {
                upkeep.clean_log()?;
            }
            Ok(written)
        })
    }

    fn settings_versions(&self, which: VersionQuery) -> Reply<Vec<SettingsVersion>> {
        self.admin.ask(move |connection| {
            let mark = which.mark()?;
            let kept = versions(connection, &which, mark).map_err(sql_failed)?;
            kept.into_iter().map(decoded).collect()
        })
    }
}

/// The version of the whole, 0 before the first.
pub(super) fn version(connection: &Connection) -> rusqlite::Result<u64> {
    connection
        .prepare_cached("SELECT coalesce(max(version), 0) FROM config_versions")?
        .query_row([], |row| row.get::<_, i64>(0).map(|version| version as u64))
}

/// Everything; the caller has a snapshot.
pub(super) fn read(connection: &Connection) -> rusqlite::Result<StoredSettings> {
    let mut settings = Vec::new();
    for kind in ResourceKind::ALL {
        // A store of an earlier release that is only read.
        if !connection.table_exists(None, kind.plural())? {
            continue;
        }
        let sql = format!(
            "SELECT name, version, body FROM {} ORDER BY name",
            kind.plural()
        );
        let mut statement = connection.prepare_cached(&sql)?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            settings.push(StoredSetting {
                key: ResourceKey::new(kind, row.get::<_, String>(0)?),
                version: row.get::<_, i64>(1)? as u64,
                body: row.get(2)?,
            });
        }
    }
    Ok(StoredSettings {
        version: version(connection)?,
        settings,
    })
}

/// Versions as they are kept, the newest first.
pub(super) fn versions(
    connection: &Connection,
    which: &VersionQuery,
    mark: Option<String>,
) -> rusqlite::Result<Vec<VersionRow>> {
    let (below, limit) = (signed(which.below), signed(which.limit));
    connection
        .prepare_cached(
            "SELECT version, at, who, what, changes FROM config_versions
             WHERE version > ?1 AND version < ?2 AND (?4 IS NULL OR instr(changes, ?4) > 0)
             ORDER BY version DESC LIMIT ?3",
        )?
        .query_map((which.after as i64, below, limit, mark), |row| {
            Ok((
                row.get::<_, i64>(0)? as u64,
                row.get(1)?,
                row.get(2)?,
                row.get(3)?,
                row.get(4)?,
            ))
        })?
        .collect()
}

/// `None` when the version is another one.
fn change(connection: &Connection, edit: &Edit, changes: &str) -> rusqlite::Result<Option<u64>> {
    if version(connection)? != edit.expected {
        return Ok(None);
    }
    let next = edit.expected + 1;
    connection
        .prepare_cached("INSERT INTO config_versions(version, at, who, what, changes) VALUES(?1, ?2, ?3, ?4, ?5)")?
        .execute((next as i64, edit.at, &edit.who, &edit.what, changes))?;
    for ResourceUpdate { key, after, .. } in &edit.changes {
        let table = key.kind.plural();
        match after {
            Some(body) => connection
                .prepare_cached(&format!(
                    "INSERT INTO {table}(name, version, body) VALUES(?1, ?2, ?3) ON CONFLICT(name) DO UPDATE
                     SET version = excluded.version, body = excluded.body"
                ))?
                .execute((&key.name, next as i64, body))?,
            None => connection
                .prepare_cached(&format!("DELETE FROM {table} WHERE name = ?1"))?
                .execute([&key.name])?,
        };
    }
    Ok(Some(next))
}

/// False when the version is another one.
fn reword(
    connection: &Connection,
    rewording: &Rewording,
    history: &[(u64, String)],
) -> rusqlite::Result<bool> {
    if version(connection)? != rewording.expected {
        return Ok(false);
    }
    for StoredSetting { key, body, .. } in &rewording.settings {
        let table = key.kind.plural();
        connection
            .prepare_cached(&format!("UPDATE {table} SET body = ?2 WHERE name = ?1"))?
            .execute((&key.name, body))?;
    }
    for (version, changes) in history {
        connection
            .prepare_cached("UPDATE config_versions SET changes = ?2 WHERE version = ?1")?
            .execute((*version as i64, changes))?;
    }
    Ok(true)
}

/// What is wrong with the settings of a store, in words.
pub(super) fn problems(connection: &Connection) -> rusqlite::Result<Vec<String>> {
    let mut found = Vec::new();
    let (count, first, last): (i64, i64, i64) = connection.query_row(
        "SELECT count(*), coalesce(min(version), 1), coalesce(max(version), 0) FROM config_versions",
        [],
        |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)),
    )?;
    if first != 1 || count != last {
        found.push(format!(
            "configuration: {count} versions from {first} to {last}, some are missing"
        ));
    }
    let settings = read(connection)?;
    // Applied to an empty configuration, the changes of all versions must give the resources.
    let mut replayed = smsc_domain::settings::Resources::new();
    for (version, _, _, _, changes) in versions(connection, &VersionQuery::ALL, None)?.iter().rev()
    {
        match decode(*version, changes) {
            Err(StoreError::Failed(why)) => found.push(why),
            Err(error) => found.push(error.to_string()),
            Ok(changes) => {
                for change in changes {
                    match change.after {
                        Some(body) => replayed.insert(change.key, body),
                        None => replayed.remove(&change.key),
                    };
                }
            }
        }
    }
    let there = settings.resources();
    for change in smsc_domain::settings::difference(&replayed, &there) {
        found.push(format!(
            "configuration: {} is not what its history says",
            change.key
        ));
    }
    for setting in &settings.settings {
        if setting.version == 0 || setting.version > settings.version {
            found.push(format!(
                "configuration: {} has version {}, the whole has {}",
                setting.key, setting.version, settings.version
            ));
        }
    }
    Ok(found)
}

fn decoded((version, at, who, what, changes): VersionRow) -> Result<SettingsVersion, StoreError> {
    Ok(SettingsVersion {
        version,
        at,
        who,
        what,
        changes: decode(version, &changes)?,
    })
}

/// What is moved to another store: the resources, and the history as it is kept.
pub(super) fn everything(
    connection: &Connection,
) -> Result<(StoredSettings, Vec<SettingsVersion>), StoreError> {
    let settings = read(connection).map_err(sql_failed)?;
    let kept = versions(connection, &VersionQuery::ALL, None).map_err(sql_failed)?;
    let history = kept
        .into_iter()
        .map(decoded)
        .collect::<Result<_, StoreError>>()
        .map_err(|error| failed(error.to_string()))?;
    Ok((settings, history))
}
