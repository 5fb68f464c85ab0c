//! Changes of the opt-out lists by the admin API.

use std::sync::Arc;

use super::context::AdminContext;
use crate::api::ChangedOptOut;
use crate::pb::Refusal;

/// Puts a number on the list of an account, or with an empty name on that for all accounts; or takes it off: on this node
/// at once, on other nodes within about a second. The number is without a leading plus.
pub async fn change(
    admin: Arc<AdminContext>,
    account: String,
    number: String,
    out: bool,
    by: String,
) -> Result<ChangedOptOut, Refusal> {
    let node = &admin.node;
    // Numbers of a removed account can still be taken off.
    if out && !account.is_empty() && node.plan().account(&account).is_none() {
        return Err(Refusal::no_such("account", &account, "accounts"));
    }
    let changed = admin.intake.policy.opt(node, account, number, out, by);
    let changed = changed.await?;
    Ok(ChangedOptOut { changed })
}
