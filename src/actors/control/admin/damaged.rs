//! Damaged rows: listed, and forgotten by people.
//!
//! Called by the Admin actor. The list is in the store, so every node shows and changes the same one. Forgetting
//! changes only the list: the rows stay as they are.

use std::sync::Arc;

use crate::actors::context::NodeContext;
use crate::actors::orders::audit;
use crate::pb::refusal::Reason;
use crate::pb::{
    Commanded, DamagedKey, DamagedList, DamagedView, ForgetDamaged, ListDamaged, Refusal,
};
use crate::store::damage::{DamageSearch, ListedDamage};

/// The table of messages.
const MESSAGES: &str = "msg";
/// Damaged rows with the id of one message that are looked at, one of each table.
const OF_ONE: usize = 16;

/// A page of damaged rows, the last ids first.
pub(super) async fn list(node: Arc<NodeContext>, ask: ListDamaged) -> Result<DamagedList, Refusal> {
    let limit = ask.limit as usize;
    let search = DamageSearch {
        id: ask.id,
        after: ask.after.map(|key| (key.id, key.table)),
        limit,
    };
    let listed = node.store.listed_damage(search).await?;
    let rows: Vec<DamagedView> = listed.into_iter().map(view).collect();
    let next = match rows.last() {
        Some(last) if rows.len() >= limit => last.key.clone(),
        _ => None,
    };
    Ok(DamagedList { rows, next })
}

/// Takes one row, or all, off the list.
pub(super) async fn forget(
    node: Arc<NodeContext>,
    order: ForgetDamaged,
) -> Result<Commanded, Refusal> {
    let what = match &order.row {
        Some(key) => format!("damaged row {} of table {}", key.id, key.table),
        None => "all damaged rows".to_owned(),
    };
    let result = forgotten(&node, order.row).await;
    audit(&order.by, "forget", &what, &result);
    result
}

async fn forgotten(node: &NodeContext, row: Option<DamagedKey>) -> Result<Commanded, Refusal> {
    let key = row.clone().map(|key| (key.table, key.id));
    let count = node.store.unlist_damage(key).await?;
    match row {
        Some(key) if count == 0 => Err(Refusal::not_found(format!(
            "no damaged row {} of table {:?} is listed; GET /v1/damaged shows those that are",
            key.id, key.table
        ))),
        _ => Ok(Commanded {
            count,
            pending: false,
        }),
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

fn view(listed: ListedDamage) -> DamagedView {
    let row = listed.row;
    DamagedView {
        key: Some(DamagedKey {
            table: row.table,
            id: row.id,
        }),
        why: row.why,
        legible: row.legible,
        found_at: listed.found_at,
    }
}
