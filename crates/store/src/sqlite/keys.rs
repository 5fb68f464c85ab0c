//! The API keys port on SQLite: reads on the connection of the admin API, writes as jobs of the writer.

use rusqlite::{Connection, OptionalExtension as _, Row};

use super::schema::sql_failed;
use super::{SqliteStore, writer};
use crate::Reply;
use crate::access::HASH;
use crate::keys::{ApiKeyRow, ApiKeyStore, joined, split};
use smsc_domain::access::KeyRole;

const COLUMNS: &str =
    "id, account, label, hash, role, allow, created_at, created_by, expires_at, used_at";

impl ApiKeyStore for SqliteStore {
    fn api_keys(&self) -> Reply<Vec<ApiKeyRow>> {
        self.admin
            .ask(|connection| all(connection).map_err(sql_failed))
    }

    fn api_key_of(&self, hash: [u8; HASH]) -> Reply<Option<ApiKeyRow>> {
        self.admin.ask(move |connection| {
            connection
                .prepare_cached(&format!("SELECT {COLUMNS} FROM api_keys WHERE hash = ?1"))
                .and_then(|mut statement| statement.query_row([&hash[..]], read).optional())
                .map_err(sql_failed)
        })
    }

    fn add_api_key(&self, key: ApiKeyRow) -> Reply<bool> {
        writer::transact(&self.shared, move |connection, _| {
            let added = connection
                .prepare_cached(&format!(
                    "INSERT INTO api_keys({COLUMNS}) VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)
                     ON CONFLICT(id) DO NOTHING"
                ))?
                .execute((
                    &key.id,
                    &key.account,
                    &key.label,
                    &key.hash[..],
                    key.role.as_str(),
                    joined(&key.allow),
                    key.created_at,
                    &key.created_by,
                    key.expires_at,
                    key.used_at,
                ))?;
            Ok(added > 0)
        })
    }

    fn remove_api_key(&self, id: String) -> Reply<Option<ApiKeyRow>> {
        writer::transact(&self.shared, move |connection, _| {
            let mut statement = connection.prepare_cached(&format!(
                "DELETE FROM api_keys WHERE id = ?1 RETURNING {COLUMNS}"
            ))?;
            let mut removed = statement.query_map([&id], read)?;
            removed.next().transpose()
        })
    }

    fn api_keys_used(&self, used: Vec<(String, i64)>) -> Reply<()> {
        writer::transact(&self.shared, move |connection, _| {
            let mut update = connection
                .prepare_cached("UPDATE api_keys SET used_at = max(used_at, ?2) WHERE id = ?1")?;
            used.iter()
                .try_for_each(|(id, at)| update.execute((id, at)).map(drop))
        })
    }
}

/// All keys, by account and id.
pub fn all(connection: &Connection) -> rusqlite::Result<Vec<ApiKeyRow>> {
    connection
        .prepare_cached(&format!(
            "SELECT {COLUMNS} FROM api_keys ORDER BY account, id"
        ))?
        .query_map([], read)?
        .collect()
}

fn read(row: &Row<'_>) -> rusqlite::Result<ApiKeyRow> {
    let role: String = row.get(4)?;
    let allow: String = row.get(5)?;
    Ok(ApiKeyRow {
        id: row.get(0)?,
        account: row.get(1)?,
        label: row.get(2)?,
        hash: row.get::<_, [u8; HASH]>(3)?,
        // A role of a newer release: the key may only read.
        role: KeyRole::from_name(&role).unwrap_or(KeyRole::Read),
        allow: split(&allow),
        created_at: row.get(6)?,
        created_by: row.get(7)?,
        expires_at: row.get(8)?,
        used_at: row.get(9)?,
    })
}
