//! Pages of the opt-out lists, for administrators and for the accounts.
//!
//! They are read from the store, because the lists in memory are sets without an order.

use std::sync::Arc;

use crate::actors::context::NodeContext;
use crate::pb::{ListOptOuts, OptOutList, OptOutView, Refusal};
use crate::store::opt_out::{OptOutRow, OptOutSearch};

/// A page of the lists, newest first.
///
/// # Errors
/// The store does not answer.
pub async fn list_opt_outs(
    node: Arc<NodeContext>,
    ask: ListOptOuts,
) -> Result<OptOutList, Refusal> {
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
    Ok(OptOutList {
        entries: rows.into_iter().map(view).collect(),
        next_before,
    })
}

fn view(row: OptOutRow) -> OptOutView {
    OptOutView {
        account: row.account,
        number: row.number,
        at: row.at,
        by: row.who,
    }
}
