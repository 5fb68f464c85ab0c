//! Changes of the opt-out lists by the admin API.

use std::sync::Arc;

use crate::actors::context::NodeContext;
use crate::actors::routing::policy::PolicyState;
use crate::pb::{ChangeOptOut, ChangedOptOut, Refusal};

/// Puts a number on a list or takes it off: on this node at once, on other nodes within about a second.
pub(super) async fn change(
    node: Arc<NodeContext>,
    policy: Arc<PolicyState>,
    order: ChangeOptOut,
) -> Result<ChangedOptOut, Refusal> {
    let account = &order.account;
    // Numbers of a removed account can still be taken off.
    if order.out && !account.is_empty() && node.plan().account(account).is_none() {
        return Err(Refusal::not_found(format!(
            "there is no account {account:?}; GET /v1/accounts lists them"
        )));
    }
    let changed = policy.opt(&node, order.account, order.number, order.out, order.by);
    let changed = changed.await?;
    Ok(ChangedOptOut { changed })
}
