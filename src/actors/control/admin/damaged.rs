//! Damaged rows: listed, and forgotten by people.
//!
//! Called by the Admin actor. The list is in the store, so every node shows and changes the same one. Forgetting
//! changes only the list: the rows stay as they are.

use std::sync::Arc;

use super::context::AdminContext;
use crate::actors::context::{NodeContext, pages};
use crate::actors::orders::audit;
use crate::api::{DamagedRowEntry, DamagedRows, time};
use crate::pb::refusal::Reason;
use crate::pb::{Commanded, Refusal};
use crate::store::damage::{DamageSearch, ListedDamage};

/// The table of messages.
const MESSAGES: &str = "msg";
/// Damaged rows with the id of one message that are looked at, one of each table.
const OF_ONE: usize = 16;

/// Names one damaged row: its table, and the message that it is about or its own number.
pub type DamagedKey = (String, u64);

/// A page of damaged rows, the last ids first: of one message or row, or all; behind that of `after`.
pub async fn list(
    admin: Arc<AdminContext>,
    id: Option<u64>,
    after: Option<DamagedKey>,
    limit: u32,
) -> Result<DamagedRows, Refusal> {
    let limit = limit as usize;
    let search = DamageSearch {
        id,
        after: after.map(|(table, id)| (id, table)),
        limit,
    };
    let listed = admin.node.store.listed_damage(search).await?;
    let name = |last: &ListedDamage| format!("{}/{}", last.row.table, last.row.id);
    let next_before = pages::next_before(&listed, limit, name);
    Ok(DamagedRows {
        rows: listed.into_iter().map(view).collect(),
        next_before,
    })
}

/// Takes one row, or all, off the list; what is damaged stays so.
pub async fn forget(
    admin: Arc<AdminContext>,
    row: Option<DamagedKey>,
    by: String,
) -> Result<Commanded, Refusal> {
    let what = match &row {
        Some((table, id)) => format!("damaged row {id} of table {table}"),
        None => "all damaged rows".to_owned(),
    };
    let result = forgotten(&admin.node, row).await;
    audit(&by, "forget", &what, &result);
    result
}

async fn forgotten(node: &NodeContext, row: Option<DamagedKey>) -> Result<Commanded, Refusal> {
    let count = node.store.unlist_damage(row.clone()).await?;
    match row {
        Some((table, id)) if count == 0 => Err(Refusal::not_found(format!(
            "no damaged row {id} of table {table:?} is listed; GET /v1/damaged shows those that are"
        ))),
        _ => Ok(Commanded::done(count)),
    }
}

/// Why a message is not found: it is damaged, if it is, otherwise as `refusal` says.
pub(super) async fn instead(node: &NodeContext, id: u64, refusal: Refusal) -> Refusal {
    if refusal.reason() != Reason::NotFound {
        return refusal;
    }
    let search = DamageSearch {
        id: Some(id),
        after: None,
        limit: OF_ONE,
    };
    let listed = node.store.listed_damage(search).await.unwrap_or_default();
    match listed.iter().find(|one| one.row.table == MESSAGES) {
        Some(one) => Refusal::not_found(format!(
            "message {id} is damaged and cannot be shown: {}; `smsc damaged --id {id}` shows what it seems to say",
            one.row.why
        )),
        None => refusal,
    }
}

fn view(listed: ListedDamage) -> DamagedRowEntry {
    let row = listed.row;
    DamagedRowEntry {
        table: row.table,
        id: row.id.to_string(),
        why: row.why,
        legible: row.legible,
        found_at: time(listed.found_at),
    }
}
