//! The API keys port on PostgreSQL. Keys belong to no node, so their writes carry no epoch.

use std::sync::Arc;

use tokio_postgres::{GenericClient, Row, Transaction};

use super::PgStore;
use super::failure::failed;
use crate::access::HASH;
use crate::keys::{ApiKeyRow, ApiKeyStore, joined, split};
use crate::{Reply, StoreError};
use smsc_domain::access::KeyRole;

const COLUMNS: &str =
    "id, account, label, hash, role, allow, created_at, created_by, expires_at, used_at";

impl ApiKeyStore for PgStore {
    fn api_keys(&self) -> Reply<Vec<ApiKeyRow>> {
        let shared = Arc::clone(&self.shared);
        self.shared.ask(async move {
            let select = format!("SELECT {COLUMNS} FROM api_keys ORDER BY account, id");
            let client = shared.reader().await?;
            let rows = client.query(&select, &[]).await?;
            rows.iter().map(read).collect()
        })
    }

    fn api_key_of(&self, hash: [u8; HASH]) -> Reply<Option<ApiKeyRow>> {
        let shared = Arc::clone(&self.shared);
        self.shared.ask(async move {
            let select = format!("SELECT {COLUMNS} FROM api_keys WHERE hash = $1");
            let client = shared.reader().await?;
            let statement = client.prepare_cached(&select).await?;
            let found = client.query_opt(&statement, &[&&hash[..]]).await?;
            found.as_ref().map(read).transpose()
        })
    }

    fn add_api_key(&self, key: ApiKeyRow) -> Reply<bool> {
        let shared = Arc::clone(&self.shared);
        self.shared.ask(async move {
            let client = shared.reader().await?;
            Ok(insert(&**client, &key).await? > 0)
        })
    }

    fn remove_api_key(&self, id: String) -> Reply<Option<ApiKeyRow>> {
        let shared = Arc::clone(&self.shared);
        self.shared.ask(async move {
            let delete = format!("DELETE FROM api_keys WHERE id = $1 RETURNING {COLUMNS}");
            let removed = shared.reader().await?.query_opt(&delete, &[&id]).await?;
            removed.as_ref().map(read).transpose()
        })
    }

    fn api_keys_used(&self, used: Vec<(String, i64)>) -> Reply<()> {
        let shared = Arc::clone(&self.shared);
        self.shared.ask(async move {
            let (ids, times): (Vec<String>, Vec<i64>) = used.into_iter().unzip();
            shared
                .reader()
                .await?
                .execute(
                    "UPDATE api_keys k SET used_at = greatest(k.used_at, u.used_at)
                     FROM unnest($1::text[], $2::bigint[]) u(id, used_at) WHERE k.id = u.id",
                    &[&ids, &times],
                )
                .await?;
            Ok(())
        })
    }
}

/// Writes the keys of another store.
pub(super) async fn import(
    transaction: &Transaction<'_>,
    keys: &[ApiKeyRow],
) -> Result<(), StoreError> {
    for key in keys {
        insert(transaction, key).await?;
    }
    Ok(())
}

async fn insert(
    client: &impl GenericClient,
    key: &ApiKeyRow,
) -> Result<u64, tokio_postgres::Error> {
    let insert = format!(
        "INSERT INTO api_keys({COLUMNS}) VALUES($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
         ON CONFLICT(id) DO NOTHING"
    );
    client
        .execute(
            &insert,
            &[
                &key.id,
                &key.account,
                &key.label,
                &&key.hash[..],
                &key.role.as_str(),
                &joined(&key.allow),
                &key.created_at,
                &key.created_by,
                &key.expires_at,
                &key.used_at,
            ],
        )
        .await
}

fn read(row: &Row) -> Result<ApiKeyRow, StoreError> {
    let id: String = row.try_get(0)?;
    let hash: &[u8] = row.try_get(3)?;
    let role: &str = row.try_get(4)?;
    Ok(ApiKeyRow {
        account: row.try_get(1)?,
        label: row.try_get(2)?,
        hash: hash
            .try_into()
            .map_err(|_| failed(format!("the hash of API key {id} is damaged")))?,
        // A role of a newer release: the key may only read.
        role: KeyRole::from_name(role).unwrap_or(KeyRole::Read),
        allow: split(row.try_get(5)?),
        created_at: row.try_get(6)?,
        created_by: row.try_get(7)?,
        expires_at: row.try_get(8)?,
        used_at: row.try_get(9)?,
        id,
    })
}
