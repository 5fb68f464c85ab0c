//! Tokens and the audit log for the Admin actor.

use std::sync::Arc;

use super::context::AdminContext;
use crate::actors::context::audit::{AuditNote, write_audit};
use crate::actors::context::{NodeContext, pages};
use crate::actors::control::access::{self, Access};
use crate::api::{Audit, AuditEntry, NewToken, Token, Tokens, request_in_words, time};
use crate::clock;
use crate::domain::access::AccessRole;
use crate::domain::id;
use crate::pb::Refusal;
use crate::store::access::{AuditRow, AuditSearch, TokenRow};

/// What a token is to be.
#[derive(Debug)]
pub struct WantedToken {
    pub name: String,
    pub role: AccessRole,
    /// Unix milliseconds, 0 for never.
    pub expires_at: i64,
    /// Who ordered it.
    pub by: String,
}

/// Which entries of the audit log are wanted.
pub struct AuditQuestion {
    /// Of this token.
    pub token: Option<String>,
    /// Whose paths begin so.
    pub path: Option<String>,
    /// About this path, or what is below it.
    pub about: Option<String>,
    /// With `about`, also about what is below this path.
    pub queue: Option<String>,
    /// At this time or later, Unix milliseconds.
    pub since: i64,
    /// Before this time, Unix milliseconds, 0 for any.
    pub until: i64,
    /// Only ids below this one, 0 for all.
    pub before: u64,
    pub limit: u32,
}

/// All tokens, by name.
pub async fn tokens(admin: Arc<AdminContext>) -> Result<Tokens, Refusal> {
    let tokens = rows(admin).await?;
    Ok(Tokens {
        tokens: tokens.into_iter().map(view).collect(),
    })
}

/// All tokens, as the store has them.
pub async fn rows(admin: Arc<AdminContext>) -> Result<Vec<TokenRow>, Refusal> {
    Ok(admin.node.store.tokens().await?)
}

/// Makes a token; every node accepts it from now on.
pub async fn add(admin: Arc<AdminContext>, wanted: WantedToken) -> Result<NewToken, Refusal> {
    let (secret, hash) = access::new_token();
    let row = TokenRow {
        name: wanted.name,
        hash,
        role: wanted.role,
        created_at: clock::now_ms(),
        created_by: wanted.by,
        expires_at: wanted.expires_at,
        used_at: 0,
    };
    if !admin.node.store.add_token(row.clone()).await? {
        return Err(Refusal::conflict(format!(
            "there is a token {:?} already; remove it first, or choose another name",
            row.name
        )));
    }
    refresh(&admin.node, &admin.access).await;
    Ok(NewToken {
        token: view(row),
        secret,
    })
}

/// Removes a token.
pub async fn remove(admin: Arc<AdminContext>, name: String) -> Result<(), Refusal> {
    if !admin.node.store.remove_token(name.clone()).await? {
        return Err(Refusal::no_such("token", &name, "tokens"));
    }
    refresh(&admin.node, &admin.access).await;
    Ok(())
}

/// Reads the tokens of the store again.
pub(super) async fn refresh(node: &NodeContext, access: &Access) {
    if let Err(error) = access.refresh(node.store.as_ref()).await {
        tracing::warn!(%error, "the tokens of the admin API could not be read again");
    }
}

/// Writes an entry of the audit log.
pub async fn note(admin: Arc<AdminContext>, note: AuditNote) -> Result<(), Refusal> {
    Ok(write_audit(&admin.node, note).await?)
}

/// A page of the audit log, newest first.
pub async fn audited(admin: Arc<AdminContext>, ask: AuditQuestion) -> Result<Audit, Refusal> {
    let limit = ask.limit as usize;
    let below = match ask.until {
        0 => u64::MAX,
        until => id::lowest_at(until),
    };
    let search = AuditSearch {
        token: ask.token,
        path: ask.path,
        about: ask.about,
        queue: ask.queue,
        from: id::lowest_at(ask.since),
        below: below.min(pages::below(ask.before)),
        limit,
    };
    let rows = admin.node.store.audited(search).await?;
    let next_before = pages::next_before(&rows, limit, |last| last.id.to_string());
    Ok(Audit {
        entries: rows.into_iter().map(entry).collect(),
        next_before,
    })
}

fn entry(row: AuditRow) -> AuditEntry {
    AuditEntry {
        id: row.id.to_string(),
        at: time(id::millis(row.id)),
        token: row.token,
        role: row.role,
        address: row.address,
        what: request_in_words(&row.method, &row.path),
        method: row.method,
        path: row.path,
        status: row.status.into(),
        node: row.node.into(),
        detail: row.detail,
        version: Some(row.version).filter(|version| *version > 0),
    }
}

fn view(row: TokenRow) -> Token {
    Token {
        name: row.name,
        role: row.role.as_str().to_owned(),
        created_at: time(row.created_at),
        created_by: row.created_by,
        expires_at: time(row.expires_at),
        used_at: time(row.used_at),
    }
}
