//! The access port on PostgreSQL. Tokens and the audit log belong to no node, so their writes carry
//! no epoch.

use std::sync::Arc;

use tokio_postgres::Row;

use super::PgStore;
use super::failure::failed;
use crate::access::{AccessStore, AuditRow, AuditSearch, HASH, TokenRow};
use crate::{Reply, StoreError, signed};
use smsc_domain::access::AccessRole;

/// Columns of a token.
const COLUMNS: &str = "name, hash, role, created_at, created_by, expires_at, used_at";

impl AccessStore for PgStore {
    fn tokens(&self) -> Reply<Vec<TokenRow>> {
        let shared = Arc::clone(&self.shared);
        self.shared.ask(async move {
            let client = shared.reader().await?;
            let statement = client
                .prepare_cached(&format!("SELECT {COLUMNS} FROM tokens ORDER BY name"))
                .await?;
            let rows = client.query(&statement, &[]).await?;
            rows.iter().map(token).collect()
        })
    }

    fn token_of(&self, hash: [u8; HASH]) -> Reply<Option<TokenRow>> {
        let shared = Arc::clone(&self.shared);
        self.shared.ask(async move {
            let select = format!("SELECT {COLUMNS} FROM tokens WHERE hash = $1");
            let client = shared.reader().await?;
            let statement = client.prepare_cached(&select).await?;
            let found = client.query_opt(&statement, &[&&hash[..]]).await?;
            found.as_ref().map(token).transpose()
        })
    }

    fn add_token(&self, token: TokenRow) -> Reply<bool> {
        let shared = Arc::clone(&self.shared);
        self.shared.ask(async move {
            let added = shared
                .reader()
                .await?
                .execute(
                    &format!(
                        "INSERT INTO tokens({COLUMNS}) VALUES($1, $2, $3, $4, $5, $6, $7)
                         ON CONFLICT(name) DO NOTHING"
                    ),
                    &[
                        &token.name,
                        &&token.hash[..],
                        &token.role.as_str(),
                        &token.created_at,
                        &token.created_by,
                        &token.expires_at,
                        &token.used_at,
                    ],
                )
                .await?;
            Ok(added > 0)
        })
    }

    fn remove_token(&self, name: String) -> Reply<bool> {
        let shared = Arc::clone(&self.shared);
        self.shared.ask(async move {
            let delete = "DELETE FROM tokens WHERE name = $1";
            Ok(shared.reader().await?.execute(delete, &[&name]).await? > 0)
        })
    }

    fn tokens_used(&self, used: Vec<(String, i64)>) -> Reply<()> {
        let shared = Arc::clone(&self.shared);
        self.shared.ask(async move {
            let (names, times): (Vec<String>, Vec<i64>) = used.into_iter().unzip();
            shared
                .reader()
                .await?
                .execute(
                    "UPDATE tokens t SET used_at = greatest(t.used_at, u.used_at)
                     FROM unnest($1::text[], $2::bigint[]) u(name, used_at)
                     WHERE t.name = u.name",
                    &[&names, &times],
                )
                .await?;
            Ok(())
        })
    }

    fn audit(&self, row: AuditRow) -> Reply<()> {
        let shared = Arc::clone(&self.shared);
        self.shared.ask(async move {
            shared
                .reader()
                .await?
                .execute(
                    "INSERT INTO audit(id, token, role, address, method, path, status, node, detail)
                     VALUES($1, $2, $3, $4, $5, $6, $7, $8, $9)",
                    &[
                        &signed(row.id),
                        &row.token,
                        &row.role,
                        &row.address,
                        &row.method,
                        &row.path,
                        &i32::from(row.status),
                        &i16::from(row.node),
                        &row.detail,
                    ],
                )
                .await?;
            Ok(())
        })
    }

    fn audited(&self, search: AuditSearch) -> Reply<Vec<AuditRow>> {
        let shared = Arc::clone(&self.shared);
        self.shared.ask(async move {
            let client = shared.reader().await?;
            let statement = client
                .prepare_cached(
                    "SELECT id, token, role, address, method, path, status, node, detail FROM audit
                     WHERE id >= $1 AND id < $2 AND ($3::text IS NULL OR token = $3)
                       AND ($4::text IS NULL OR starts_with(path, $4))
                     ORDER BY id DESC LIMIT $5",
                )
                .await?;
            let rows = client
                .query(
                    &statement,
                    &[
                        &signed(search.from),
                        &signed(search.below),
                        &search.token,
                        &search.path,
                        &(search.limit as i64),
                    ],
                )
                .await?;
            rows.iter().map(entry).collect()
        })
    }

    fn forget_audit(&self, below: u64, limit: usize) -> Reply<u64> {
        let shared = Arc::clone(&self.shared);
        self.shared.ask(async move {
            let delete = "DELETE FROM audit WHERE id IN
                (SELECT id FROM audit WHERE id < $1 ORDER BY id LIMIT $2)";
            let client = shared.reader().await?;
            Ok(client
                .execute(delete, &[&signed(below), &(limit as i64)])
                .await?)
        })
    }
}

fn token(row: &Row) -> Result<TokenRow, StoreError> {
    let name: String = row.try_get(0)?;
    let hash: &[u8] = row.try_get(1)?;
    let role: &str = row.try_get(2)?;
    Ok(TokenRow {
        hash: hash
            .try_into()
            .map_err(|_| failed(format!("the hash of token {name} is damaged")))?,
        // A role of a newer release: the token may only read.
        role: AccessRole::from_name(role).unwrap_or(AccessRole::Read),
        created_at: row.try_get(3)?,
        created_by: row.try_get(4)?,
        expires_at: row.try_get(5)?,
        used_at: row.try_get(6)?,
        name,
    })
}

fn entry(row: &Row) -> Result<AuditRow, StoreError> {
    Ok(AuditRow {
        id: row.try_get::<_, i64>(0)? as u64,
        token: row.try_get(1)?,
        role: row.try_get(2)?,
        address: row.try_get(3)?,
        method: row.try_get(4)?,
        path: row.try_get(5)?,
        status: row.try_get::<_, i32>(6)? as u16,
        node: row.try_get::<_, i16>(7)? as u8,
        detail: row.try_get(8)?,
    })
}
