//! The opt-out lists in the admin API.

use std::sync::Arc;

use crate::actors::context::NodeContext;
use crate::actors::routing::policy::PolicyState;
use crate::pb::{ChangeOptOut, ChangedOptOut, ListOptOuts, OptOutList, OptOutView, Refusal};
use crate::store::opt_out::{OptOutRow, OptOutSearch};

/// A page of the lists, newest first.
pub(super) async fn list(node: Arc<NodeContext>, ask: ListOptOuts) -> Result<OptOutList, Refusal> {
    let given = |text: String| (!text.is_empty()).then_some(text);
    let limit = ask.limit as usize;
    let search = OptOutSearch {
        account: given(ask.account),
        number: given(ask.number),
        below: match ask.before {
            0 => u64::MAX,
            before => before,
        },
        limit,
    };
    let rows = node.store.opt_outs(search).await?;
    let next_before = match rows.last() {
        Some(last) if rows.len() >= limit => last.version,
        _ => 0,
    };
    let view = |row: OptOutRow| OptOutView {
        account: row.account,
        number: row.number,
        at: row.at,
        by: row.who,
    };
    Ok(OptOutList {
        entries: rows.into_iter().map(view).collect(),
        next_before,
    })
}

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
