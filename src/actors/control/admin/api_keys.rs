//! API keys of accounts, as the Admin actor keeps them.

use std::sync::Arc;

use rand::distr::{Alphanumeric, SampleString as _};

use super::access::refresh;
use crate::actors::context::NodeContext;
use crate::actors::control::access::Access;
use crate::actors::control::access::keys::new_key;
use crate::clock;
use crate::domain::access::KeyRole;
use crate::pb::{
    AddApiKey, AddedApiKey, ApiKeyList, ApiKeyView, ListApiKeys, Refusal, RemoveApiKey,
    RemovedApiKey,
};
use crate::store::StoreError;
use crate::store::keys::ApiKeyRow;

/// Random letters and digits of an id.
const ID_SIGNS: usize = 12;

/// The keys of an account, or all.
pub(super) async fn list(node: Arc<NodeContext>, ask: ListApiKeys) -> Result<ApiKeyList, Refusal> {
    if !ask.account.is_empty() {
        known_account(&node, &ask.account)?;
    }
    let is_asked = |row: &ApiKeyRow| ask.account.is_empty() || row.account == ask.account;
    let rows = node.store.api_keys().await?;
    Ok(ApiKeyList {
        keys: rows.into_iter().filter(is_asked).map(view).collect(),
    })
}

/// Makes a key; every node accepts it from now on.
pub(super) async fn add(
    node: Arc<NodeContext>,
    access: Arc<Access>,
    order: AddApiKey,
) -> Result<AddedApiKey, Refusal> {
    known_account(&node, &order.account)?;
    let (secret, hash) = new_key();
    let row = ApiKeyRow {
        id: format!(
            "key_{}",
            Alphanumeric.sample_string(&mut rand::rng(), ID_SIGNS)
        ),
        account: order.account,
        label: order.label,
        hash,
        role: KeyRole::from_name(&order.role).unwrap_or(KeyRole::Read),
        allow: order.allow,
        created_at: clock::now_ms(),
        created_by: order.by,
        expires_at: order.expires_at,
        used_at: 0,
    };
    if !node.store.add_api_key(row.clone()).await? {
        return Err(Refusal::unavailable(
            "the random id of the new key is taken; try again",
        ));
    }
    refresh(&node, &access).await;
    Ok(AddedApiKey {
        key: Some(view(row)),
        secret,
    })
}

/// Revokes a key: on this node at once, on the others within seconds.
pub(super) async fn remove(
    node: Arc<NodeContext>,
    access: Arc<Access>,
    order: RemoveApiKey,
) -> Result<RemovedApiKey, Refusal> {
    let Some(row) = node.store.remove_api_key(order.id.clone()).await? else {
        return Err(Refusal::not_found(format!(
            "there is no API key {:?}; GET /v1/api-keys lists them",
            order.id
        )));
    };
    refresh(&node, &access).await;
    Ok(RemovedApiKey {
        key: Some(view(row)),
    })
}

/// Revokes the keys of an account that was removed: one that gets its name later is another one.
///
/// # Errors
/// The store does not answer; some may be left.
pub(super) async fn remove_all(
    node: &NodeContext,
    access: &Access,
    account: &str,
) -> Result<(), StoreError> {
    let rows = node.store.api_keys().await?;
    for row in rows.into_iter().filter(|row| row.account == account) {
        node.store.remove_api_key(row.id).await?;
    }
    refresh(node, access).await;
    Ok(())
}

fn known_account(node: &NodeContext, name: &str) -> Result<(), Refusal> {
    match node.plan().account(name) {
        Some(_) => Ok(()),
        None => Err(Refusal::not_found(format!(
            "there is no account {name:?}; GET /v1/accounts lists them"
        ))),
    }
}

fn view(row: ApiKeyRow) -> ApiKeyView {
    ApiKeyView {
        id: row.id,
        account: row.account,
        label: row.label,
        role: row.role.as_str().to_owned(),
        allow: row.allow,
        created_at: row.created_at,
        created_by: row.created_by,
        expires_at: row.expires_at,
        used_at: row.used_at,
    }
}
