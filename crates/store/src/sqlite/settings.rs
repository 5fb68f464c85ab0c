//! Another form of the settings on SQLite, and what is read of them in a store at rest.

use rusqlite::Connection;

use super::SqliteStore;
use super::cold::{as_sql_error, records, run, run_all};
use crate::cold::ColdRecord as _;
use crate::settings::{KeptVersion, Rewording, RewordingStore, StoredSettings};
use crate::{Reply, StoreError};
use smsc_domain::settings::ResourceKind;

impl RewordingStore for SqliteStore {
    fn reword_settings(&self, rewording: Rewording) -> Reply<bool> {
        self.upkeep.ask(move |upkeep| {
            let statements = rewording.statements()?;
            let written = upkeep.transact(move |connection, _| {
                connection.pragma_update(None, "secure_delete", true)?;
                let result = run_all(connection, &statements);
                connection.pragma_update(None, "secure_delete", false)?;
                Ok(result?.rows > 0)
            })?;
            if written {
                upkeep.clean_log()?;
            }
            Ok(written)
        })
    }
}

/// The version of the whole, 0 before the first.
pub(super) fn version(connection: &Connection) -> rusqlite::Result<u64> {
    Ok(read_kinds(connection, &[])?.version)
}

/// Everything.
pub(super) fn read(connection: &Connection) -> rusqlite::Result<StoredSettings> {
    let mut kinds = Vec::new();
    for kind in ResourceKind::ALL {
        // A store of an earlier release that is only read has not all tables.
        if connection.table_exists(None, kind.plural())? {
            kinds.push(kind);
        }
    }
    read_kinds(connection, &kinds)
}

fn read_kinds(connection: &Connection, kinds: &[ResourceKind]) -> rusqlite::Result<StoredSettings> {
    let rows = run(connection, &StoredSettings::select(kinds))?.returned;
    StoredSettings::read(rows).map_err(as_sql_error)
}

/// The versions as they are kept, the oldest first.
pub(super) fn history(connection: &Connection) -> rusqlite::Result<Vec<KeptVersion>> {
    records(
        connection,
        &KeptVersion::select("ORDER BY version", Vec::new()),
    )
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
    for version in history(connection)? {
        match version.decode() {
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
