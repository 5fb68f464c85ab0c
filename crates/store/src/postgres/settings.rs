//! The settings port on PostgreSQL.
//!
//! The number of a version is its primary key, so that of two edits made from the same version one
//! is written and the other one fails: no lock is needed.

use std::sync::Arc;

use tokio_postgres::error::SqlState;
use tokio_postgres::{Row, Transaction};

use super::connect::begin_reading;
use super::failure::failed;
use super::{PgStore, PostgresShared};
use crate::settings::{
    Edit, Rewording, SettingsStore, SettingsVersion, StoredSetting, StoredSettings, VersionQuery,
    decode, encode,
};
use crate::{Reply, StoreError, signed};
use smsc_domain::settings::{ResourceKey, ResourceKind, ResourceUpdate};

impl SettingsStore for PgStore {
    fn settings(&self) -> Reply<StoredSettings> {
        let shared = Arc::clone(&self.shared);
        self.shared.ask(async move { read(&shared).await })
    }

    fn settings_version(&self) -> Reply<u64> {
        let shared = Arc::clone(&self.shared);
        self.shared.ask(async move {
            let client = shared.reader().await?;
            let sql = "SELECT coalesce(max(version), 0) FROM config_versions";
            let statement = client.prepare_cached(sql).await?;
            number(&client.query_one(&statement, &[]).await?, 0)
        })
    }

    fn edit_settings(&self, edit: Edit) -> Reply<Option<u64>> {
        let shared = Arc::clone(&self.shared);
        self.shared.ask(async move { change(&shared, &edit).await })
    }

    fn reword_settings(&self, rewording: Rewording) -> Reply<bool> {
        let shared = Arc::clone(&self.shared);
        self.shared
            .ask(async move { reword(&shared, &rewording).await })
    }

    fn settings_versions(&self, which: VersionQuery) -> Reply<Vec<SettingsVersion>> {
        let shared = Arc::clone(&self.shared);
        self.shared.ask(async move {
            let (after, below) = (signed(which.after), signed(which.below));
            let rows = shared
                .reader()
                .await?
                .query(
                    "SELECT version, at, who, what, changes FROM config_versions
                     WHERE version > $1 AND version < $2 AND ($4::text IS NULL OR strpos(changes, $4) > 0)
                     ORDER BY version DESC LIMIT $3",
                    &[&after, &below, &signed(which.limit), &which.mark()?],
                )
                .await?;
            rows.iter().map(version).collect()
        })
    }
}

fn number(row: &Row, column: usize) -> Result<u64, StoreError> {
    Ok(row.try_get::<_, i64>(column)? as u64)
}

fn version(row: &Row) -> Result<SettingsVersion, StoreError> {
    let version = number(row, 0)?;
    Ok(SettingsVersion {
        version,
        at: row.try_get(1)?,
        who: row.try_get(2)?,
        what: row.try_get(3)?,
        changes: decode(version, row.try_get(4)?)?,
    })
}

async fn read(shared: &PostgresShared) -> Result<StoredSettings, StoreError> {
    let mut client = shared.reader().await?;
    let transaction = begin_reading(&mut client).await?;
    let sql = "SELECT coalesce(max(version), 0) FROM config_versions";
    let version = number(&transaction.query_one(sql, &[]).await?, 0)?;
    let mut settings = Vec::new();
    for kind in ResourceKind::ALL {
        let sql = format!("SELECT name, version, body FROM {}", kind.plural());
        for row in transaction.query(&sql, &[]).await? {
            settings.push(StoredSetting {
                key: ResourceKey::new(kind, row.try_get::<_, String>(0)?),
                version: number(&row, 1)?,
                body: row.try_get(2)?,
            });
        }
    }
    transaction.rollback().await?;
    // Sorted here, because the collation of the database has another order.
    settings.sort_unstable_by(|one, other| one.key.cmp(&other.key));
    Ok(StoredSettings { version, settings })
}

/// `None` when the version is another one.
async fn change(shared: &PostgresShared, edit: &Edit) -> Result<Option<u64>, StoreError> {
    let mut client = shared.reader().await?;
    let transaction = client.transaction().await?;
    let next = edit.expected as i64 + 1;
    let written = transaction
        .execute(
            "INSERT INTO config_versions SELECT $1::bigint, $2::bigint, $3::text, $4::text, $5::text
             WHERE (SELECT coalesce(max(version), 0) FROM config_versions) = $1::bigint - 1",
            &[
                &next,
                &edit.at,
                &edit.who,
                &edit.what,
                &encode(&edit.changes)?,
            ],
        )
        .await;
    match written {
        Ok(1) => {}
        Ok(_) => return Ok(None),
        // Another node committed the same number while this one waited for it.
        Err(error) if error.code() == Some(&SqlState::UNIQUE_VIOLATION) => return Ok(None),
        Err(error) => return Err(error.into()),
    }
    for kind in ResourceKind::ALL {
        let mut put = ResourceColumns::default();
        let mut gone = Vec::new();
        for ResourceUpdate { key, after, .. } in &edit.changes {
            match after {
                _ if key.kind != kind => {}
                Some(body) => put.add(&key.name, next, body),
                None => gone.push(key.name.as_str()),
            }
        }
        if !gone.is_empty() {
            let sql = format!("DELETE FROM {} WHERE name = ANY($1)", kind.plural());
            transaction.execute(&sql, &[&gone]).await?;
        }
        put.write(&transaction, kind).await?;
    }
    transaction.commit().await?;
    Ok(Some(next as u64))
}

/// False when the version is another one.
async fn reword(shared: &PostgresShared, rewording: &Rewording) -> Result<bool, StoreError> {
    let mut client = shared.reader().await?;
    let transaction = client.transaction().await?;
    // An edit could come between reading the version and the bodies.
    transaction
        .batch_execute("LOCK TABLE config_versions IN EXCLUSIVE MODE")
        .await?;
    let sql = "SELECT coalesce(max(version), 0) FROM config_versions";
    if number(&transaction.query_one(sql, &[]).await?, 0)? != rewording.expected {
        return Ok(false);
    }
    for kind in ResourceKind::ALL {
        let mut rows = ResourceColumns::default();
        let of_kind = rewording.settings.iter().filter(|one| one.key.kind == kind);
        of_kind.for_each(|one| rows.add(&one.key.name, one.version as i64, &one.body));
        rows.write(&transaction, kind).await?;
    }
    for (version, changes) in &rewording.history {
        let sql = "UPDATE config_versions SET changes = $2 WHERE version = $1";
        transaction
            .execute(sql, &[&(*version as i64), &encode(changes)?])
            .await?;
    }
    transaction.commit().await?;
    // Deleted rows are invisible to readers; after this their space is reused.
    for table in ["accounts", "operators", "config_versions"] {
        client.batch_execute(&format!("VACUUM {table}")).await?;
    }
    Ok(true)
}

/// Resources of one kind, column by column: one statement for thousands of routes.
#[derive(Default)]
struct ResourceColumns<'a> {
    names: Vec<&'a str>,
    versions: Vec<i64>,
    bodies: Vec<&'a str>,
}

impl<'a> ResourceColumns<'a> {
    fn add(&mut self, name: &'a str, version: i64, body: &'a str) {
        self.names.push(name);
        self.versions.push(version);
        self.bodies.push(body);
    }

    async fn write(
        &self,
        transaction: &Transaction<'_>,
        kind: ResourceKind,
    ) -> Result<(), StoreError> {
        if self.names.is_empty() {
            return Ok(());
        }
        let sql = format!(
            "INSERT INTO {} SELECT * FROM unnest($1::text[], $2::bigint[], $3::text[])
             ON CONFLICT(name) DO UPDATE SET version = excluded.version, body = excluded.body",
            kind.plural()
        );
        transaction
            .execute(&sql, &[&self.names, &self.versions, &self.bodies])
            .await?;
        Ok(())
    }
}

/// Writes what another store had, into empty tables.
pub(super) async fn import(
    transaction: &Transaction<'_>,
    settings: &StoredSettings,
    history: &[SettingsVersion],
) -> Result<(), StoreError> {
    for kind in ResourceKind::ALL {
        let mut rows = ResourceColumns::default();
        let of_kind = settings.settings.iter().filter(|one| one.key.kind == kind);
        of_kind.for_each(|one| rows.add(&one.key.name, one.version as i64, &one.body));
        rows.write(transaction, kind).await?;
    }
    for version in history {
        let sql = "INSERT INTO config_versions VALUES($1, $2, $3, $4, $5)";
        let number = i64::try_from(version.version)
            .map_err(|_| failed(format!("configuration version {}", version.version)))?;
        let changes = encode(&version.changes)?;
        transaction
            .execute(
                sql,
                &[&number, &version.at, &version.who, &version.what, &changes],
            )
            .await?;
    }
    Ok(())
}
