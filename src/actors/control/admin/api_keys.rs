//! API keys of accounts, as the Admin actor keeps them.

use std::sync::Arc;

use rand::distr::{Alphanumeric, SampleString as _};

use super::access::refresh;
use super::context::AdminContext;
use crate::actors::context::NodeContext;
use crate::actors::control::access::Access;
use crate::actors::control::access::keys::new_key;
use crate::api::{ApiKey, ApiKeys, NewApiKey, time};
use crate::clock;
use crate::domain::access::KeyRole;
use crate::pb::Refusal;
use crate::store::StoreError;
use crate::store::keys::ApiKeyRow;

/// Random letters and digits of an id.
const ID_SIGNS: usize = 12;

/// What an API key is to be.
#[derive(Debug)]
pub struct WantedKey {
    pub account: String,
    /// What it is for.
    pub label: String,
    pub role: KeyRole,
    /// IP addresses and CIDR blocks it may be used from; any if empty.
    pub allow: Vec<String>,
    /// Unix milliseconds, 0 for never.
    pub expires_at: i64,
    /// Who ordered it.
    pub by: String,
}

/// The keys of an account, or all.
pub async fn list(admin: Arc<AdminContext>, account: Option<String>) -> Result<ApiKeys, Refusal> {
    if let Some(account) = &account {
        known_account(&admin.node, account)?;
    }
    let is_asked = |row: &ApiKeyRow| {
        account
            .as_ref()
            .is_none_or(|account| row.account == *account)
    };
    let rows = admin.node.store.api_keys().await?;
    Ok(ApiKeys {
        keys: rows.into_iter().filter(is_asked).map(view).collect(),
    })
}

/// Makes a key; every node accepts it from now on.
pub async fn add(admin: Arc<AdminContext>, wanted: WantedKey) -> Result<NewApiKey, Refusal> {
    known_account(&admin.node, &wanted.account)?;
    let (secret, hash) = new_key();
    let row = ApiKeyRow {
        id: format!(
            "key_{}",
            Alphanumeric.sample_string(&mut rand::rng(), ID_SIGNS)
        ),
        account: wanted.account,
        label: wanted.label,
        hash,
        role: wanted.role,
        allow: wanted.allow,
        created_at: clock::now_ms(),
        created_by: wanted.by,
        expires_at: wanted.expires_at,
        used_at: 0,
    };
    if !admin.node.store.add_api_key(row.clone()).await? {
        return Err(Refusal::unavailable(
            "the random id of the new key is taken; try again",
        ));
    }
    refresh(&admin.node, &admin.access).await;
    Ok(NewApiKey {
        key: view(row),
        secret,
    })
}

/// Revokes a key, on this node at once, on the others within seconds; gives the account that it was of.
pub async fn remove(admin: Arc<AdminContext>, id: String) -> Result<String, Refusal> {
    let Some(row) = admin.node.store.remove_api_key(id.clone()).await? else {
        return Err(Refusal::no_such("API key", &id, "api-keys"));
    };
    refresh(&admin.node, &admin.access).await;
    Ok(row.account)
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
        None => Err(Refusal::no_such("account", name, "accounts")),
    }
}

fn view(row: ApiKeyRow) -> ApiKey {
    ApiKey {
        id: row.id,
        account: row.account,
        label: row.label,
        role: row.role.as_str().to_owned(),
        allow: row.allow,
        created_at: time(row.created_at),
        created_by: row.created_by,
        expires_at: time(row.expires_at),
        used_at: time(row.used_at),
    }
}
