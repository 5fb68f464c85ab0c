//! Pages of the opt-out lists, for administrators and for the accounts.
//!
//! They are read from the store, because the lists in memory are sets without an order.

use std::sync::Arc;

use crate::actors::context::{NodeContext, pages};
use crate::api::{OptOut, OptOuts, time};
use crate::pb::Refusal;
use crate::store::opt_out::{OptOutRow, OptOutSearch};

/// A page of the lists, newest first: of one account, or all; with one number, or any. `before`: only versions below this
/// one, 0 for all.
///
/// # Errors
/// The store does not answer.
pub async fn list_opt_outs(
    node: Arc<NodeContext>,
    account: Option<String>,
    number: Option<String>,
    before: u64,
    limit: u32,
) -> Result<OptOuts, Refusal> {
    let limit = limit as usize;
    let search = OptOutSearch {
        account,
        number,
        below: pages::below(before),
        limit,
    };
    let rows = node.store.opt_outs(search).await?;
    let next_before = pages::next_before(&rows, limit, |last| last.version.to_string());
    Ok(OptOuts {
        opt_outs: rows.into_iter().map(view).collect(),
        next_before,
    })
}

fn view(row: OptOutRow) -> OptOut {
    OptOut {
        number: row.number,
        account: (!row.account.is_empty()).then_some(row.account),
        at: time(row.at),
        by: row.who,
    }
}
