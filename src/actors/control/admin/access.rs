//! Tokens and the audit log for the Admin actor.

use std::sync::Arc;

use crate::actors::context::NodeContext;
use crate::actors::context::audit::write_audit;
use crate::actors::control::access::{self, Access};
use crate::clock;
use crate::domain::access::Role;
use crate::domain::id;
use crate::pb::{
    AddToken, AddedToken, AuditEntry, AuditList, ListAudit, NoteAudit, NotedAudit, Refusal,
    RemoveToken, RemovedToken, TokenList, TokenView,
};
use crate::store::access::{AuditRow, AuditSearch, TokenRow};

/// All tokens, by name.
pub(super) async fn tokens(node: Arc<NodeContext>) -> Result<TokenList, Refusal> {
    let tokens = node.store.tokens().await?;
    Ok(TokenList {
        tokens: tokens.into_iter().map(view).collect(),
    })
}

/// Makes a token; every node accepts it from now on.
pub(super) async fn add(
    node: Arc<NodeContext>,
    access: Arc<Access>,
    order: AddToken,
) -> Result<AddedToken, Refusal> {
    let (secret, hash) = access::new_token();
    let row = TokenRow {
        name: order.name,
        hash,
        role: Role::from_name(&order.role).unwrap_or(Role::Read),
        created_at: clock::now_ms(),
        created_by: order.by,
        expires_at: order.expires_at,
        used_at: 0,
    };
    if !node.store.add_token(row.clone()).await? {
        return Err(Refusal::conflict(format!(
            "there is a token {:?} already; remove it first, or choose another name",
            row.name
        )));
    }
    refresh(&node, &access).await;
    Ok(AddedToken {
        token: Some(view(row)),
        secret,
    })
}

/// Removes a token.
pub(super) async fn remove(
    node: Arc<NodeContext>,
    access: Arc<Access>,
    order: RemoveToken,
) -> Result<RemovedToken, Refusal> {
    if !node.store.remove_token(order.name.clone()).await? {
        return Err(Refusal::not_found(format!(
            "there is no token {:?}; GET /v1/tokens lists them",
            order.name
        )));
    }
    refresh(&node, &access).await;
    Ok(RemovedToken {})
}

/// Reads the tokens of the store again.
pub(super) async fn refresh(node: &NodeContext, access: &Access) {
    if let Err(error) = access.refresh(node.store.as_ref()).await {
        tracing::warn!(%error, "the tokens of the admin API could not be read again");
    }
}

/// Writes an entry of the audit log.
pub(super) async fn note(node: Arc<NodeContext>, note: NoteAudit) -> Result<NotedAudit, Refusal> {
    write_audit(&node, note).await?;
    Ok(NotedAudit {})
}

/// A page of the audit log, newest first.
pub(super) async fn audited(node: Arc<NodeContext>, ask: ListAudit) -> Result<AuditList, Refusal> {
    let limit = ask.limit as usize;
    let below = match ask.until {
        0 => u64::MAX,
        until => id::lowest_at(until),
    };
    let search = AuditSearch {
        token: (!ask.token.is_empty()).then_some(ask.token),
        path: (!ask.path.is_empty()).then_some(ask.path),
        from: id::lowest_at(ask.since),
        below: match ask.before {
            0 => below,
            before => below.min(before),
        },
        limit,
    };
    let rows = node.store.audited(search).await?;
    let next_before = match rows.last() {
        Some(last) if rows.len() >= limit => last.id,
        _ => 0,
    };
    let entry = |row: AuditRow| AuditEntry {
        id: row.id,
        node: row.node.into(),
        what: Some(NoteAudit {
            token: row.token,
            role: row.role,
            address: row.address,
            method: row.method,
            path: row.path,
            status: row.status.into(),
            detail: row.detail,
        }),
    };
    Ok(AuditList {
        entries: rows.into_iter().map(entry).collect(),
        next_before,
    })
}

fn view(row: TokenRow) -> TokenView {
    TokenView {
        name: row.name,
        role: row.role.as_str().to_owned(),
        created_at: row.created_at,
        created_by: row.created_by,
        expires_at: row.expires_at,
        used_at: row.used_at,
    }
}
