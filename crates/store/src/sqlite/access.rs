//! The access port on SQLite: reads on the connection of the admin API, writes as jobs of the writer.

use rusqlite::{Connection, OptionalExtension as _, Row, params};

use super::schema::sql_failed;
use super::{SqliteStore, writer};
use crate::access::{AccessStore, AuditRow, AuditSearch, HASH, TokenRow};
use crate::{Reply, signed};
use smsc_domain::access::AccessRole;

/// Columns of a token.
const COLUMNS: &str = "name, hash, role, created_at, created_by, expires_at, used_at";

impl AccessStore for SqliteStore {
    fn tokens(&self) -> Reply<Vec<TokenRow>> {
        self.admin
            .ask(|connection| tokens(connection).map_err(sql_failed))
    }

    fn token_of(&self, hash: [u8; HASH]) -> Reply<Option<TokenRow>> {
        self.admin.ask(move |connection| {
            connection
                .prepare_cached(&format!("SELECT {COLUMNS} FROM tokens WHERE hash = ?1"))
                .and_then(|mut statement| statement.query_row([&hash[..]], token).optional())
                .map_err(sql_failed)
        })
    }

    fn add_token(&self, token: TokenRow) -> Reply<bool> {
        writer::transact(&self.shared, move |connection, _| {
            let added = connection
                .prepare_cached(&format!(
                    "INSERT INTO tokens({COLUMNS}) VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7)
                     ON CONFLICT(name) DO NOTHING"
                ))?
                .execute((
                    &token.name,
                    &token.hash[..],
                    token.role.as_str(),
                    token.created_at,
                    &token.created_by,
                    token.expires_at,
                    token.used_at,
                ))?;
            Ok(added > 0)
        })
    }

    fn remove_token(&self, name: String) -> Reply<bool> {
        writer::transact(&self.shared, move |connection, _| {
            let removed = connection
                .prepare_cached("DELETE FROM tokens WHERE name = ?1")?
                .execute([&name])?;
            Ok(removed > 0)
        })
    }

    fn tokens_used(&self, used: Vec<(String, i64)>) -> Reply<()> {
        writer::transact(&self.shared, move |connection, _| {
            let mut update = connection
                .prepare_cached("UPDATE tokens SET used_at = max(used_at, ?2) WHERE name = ?1")?;
            used.iter()
                .try_for_each(|(name, at)| update.execute((name, at)).map(drop))
        })
    }

    fn audit(&self, row: AuditRow) -> Reply<()> {
        writer::transact(&self.shared, move |connection, _| {
            connection
                .prepare_cached(
                    "INSERT INTO audit(id, token, role, address, method, path, status, node, detail)
                     VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
                )?
                .execute((
                    row.id as i64,
                    &row.token,
                    &row.role,
                    &row.address,
                    &row.method,
                    &row.path,
                    row.status,
                    row.node,
                    &row.detail,
                ))?;
            Ok(())
        })
    }

    fn audited(&self, search: AuditSearch) -> Reply<Vec<AuditRow>> {
        self.admin
            .ask(move |connection| audited(connection, &search).map_err(sql_failed))
    }

    fn forget_audit(&self, below: u64, limit: usize) -> Reply<u64> {
        writer::transact(&self.shared, move |connection, _| {
            let forgotten = connection
                .prepare_cached(
                    "DELETE FROM audit WHERE id IN
                       (SELECT id FROM audit WHERE id < ?1 ORDER BY id LIMIT ?2)",
                )?
                .execute((signed(below), limit as i64))?;
            Ok(forgotten as u64)
        })
    }
}

fn tokens(connection: &Connection) -> rusqlite::Result<Vec<TokenRow>> {
    connection
        .prepare_cached(&format!("SELECT {COLUMNS} FROM tokens ORDER BY name"))?
        .query_map([], token)?
        .collect()
}

fn token(row: &Row<'_>) -> rusqlite::Result<TokenRow> {
    let role: String = row.get(2)?;
    Ok(TokenRow {
        name: row.get(0)?,
        hash: row.get::<_, [u8; HASH]>(1)?,
        // A role of a newer release: the token may only read.
        role: AccessRole::from_name(&role).unwrap_or(AccessRole::Read),
        created_at: row.get(3)?,
        created_by: row.get(4)?,
        expires_at: row.get(5)?,
        used_at: row.get(6)?,
    })
}

fn audited(connection: &Connection, search: &AuditSearch) -> rusqlite::Result<Vec<AuditRow>> {
    connection
        .prepare_cached(
            "SELECT id, token, role, address, method, path, status, node, detail FROM audit
             WHERE id >= ?1 AND id < ?2 AND (?3 IS NULL OR token = ?3)
               AND (?4 IS NULL OR substr(path, 1, length(?4)) = ?4)
             ORDER BY id DESC LIMIT ?5",
        )?
        .query_map(
            params![
                signed(search.from),
                signed(search.below),
                search.token,
                search.path,
                search.limit as i64
            ],
            entry,
        )?
        .collect()
}

fn entry(row: &Row<'_>) -> rusqlite::Result<AuditRow> {
    Ok(AuditRow {
        id: row.get::<_, i64>(0)? as u64,
        token: row.get(1)?,
        role: row.get(2)?,
        address: row.get(3)?,
        method: row.get(4)?,
        path: row.get(5)?,
        status: row.get(6)?,
        node: row.get(7)?,
        detail: row.get(8)?,
    })
}
