//! What becomes of damaged rows that readers of this node have come upon: they are listed, and their messages end.
//!
//! Called by the damage keeper once a second, and before a receipt is answered whose message cannot be read. A message that has
//! not ended ends as UNKNOWN with the error `damaged`: nobody is told, because whom it is from may be as wrong as the rest. For
//! that reason one that has ended waits no longer for a receipt that cannot be made.
//! Rows are listed before their messages end, so that none ends unseen.

use std::collections::HashSet;

use crate::actors::context::NodeContext;
use crate::clock;
use crate::store::damage::DamagedRow;
use crate::store::{FinRow, StoreError, WriteBatch};

/// Rows listed in one transaction.
const CHUNK: usize = 1_000;

/// Lists what was found and ends its messages; what cannot be done now is found again. Returns how many rows there were, and
/// how many are left.
pub async fn settle(node: &NodeContext) -> (usize, usize) {
    let rows = node.store.take_damage();
    let mut left = Vec::new();
    for rows in rows.chunks(CHUNK) {
        if let Err(error) = settle_some(node, rows).await {
            tracing::error!(%error, rows = rows.len(), "damaged rows cannot be listed, or their messages not ended");
            left.extend_from_slice(rows);
        }
    }
    let counts = (rows.len(), left.len());
    node.store.put_damage_back(left);
    counts
}

async fn settle_some(node: &NodeContext, rows: &[DamagedRow]) -> Result<(), StoreError> {
    let now = clock::now_ms();
    node.store.list_damage(rows.to_vec(), now).await?;
    let ids = |concerns: fn(&DamagedRow) -> bool| -> Vec<u64> {
        let ids: HashSet<u64> = (rows.iter().filter(|row| concerns(row)))
            .map(|row| row.id)
            .collect();
        ids.into_iter().collect()
    };
    let told = node.store.untold(ids(DamagedRow::leaves_untold)).await?;
    if !told.is_empty() {
        let batch = WriteBatch {
            told,
            ..WriteBatch::default()
        };
        node.store.write(batch).await?;
    }
    let unfinished = node
        .store
        .unfinished(ids(DamagedRow::ends_its_message))
        .await?;
    if unfinished.is_empty() || end(node, &unfinished, now).await.is_ok() {
        return Ok(());
    }
    // One that cannot be ended keeps no other from it.
    let mut last = Ok(());
    for id in unfinished {
        last = end(node, &[id], now).await.and(last);
    }
    last
}

async fn end(node: &NodeContext, ids: &[u64], now: i64) -> Result<(), StoreError> {
    let end = |id: &u64| FinRow {
        at: now,
        ..FinRow::damaged(*id)
    };
    let batch = WriteBatch {
        fin: ids.iter().map(end).collect(),
        ..WriteBatch::default()
    };
    node.store.write(batch).await.map(drop)
}
