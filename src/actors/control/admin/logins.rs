//! When accounts have bound last.

use std::sync::Arc;

use super::context::AdminContext;
use crate::api::{LastLogin, time};
use crate::pb::Refusal;

/// The last login of an account, on any node.
pub async fn last(admin: Arc<AdminContext>, account: String) -> Result<LastLogin, Refusal> {
    let node = &admin.node;
    let found = node.logins.last(node.store.as_ref(), &account).await?;
    Ok(match found {
        Some(login) => LastLogin {
            account,
            at: time(login.at),
            address: Some(login.address),
            bind_type: Some(login.bind_type),
            node: Some(login.node.into()),
        },
        None => LastLogin {
            account,
            ..LastLogin::default()
        },
    })
}
