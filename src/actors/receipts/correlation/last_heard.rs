//! Ends messages with the state that was heard last of them: what is due, and what the sweep finds.
//!
//! Called by Correlation ([`super::heard`], [`super::sweep`]), which it does not know.

use std::collections::HashMap;
use std::sync::Arc;

use tokio::time::Instant;

use crate::actors::context::NodeContext;
use crate::actors::receipts::final_state;
use crate::clock;
use crate::domain::ByQueue;
use crate::pb::Final;
use crate::store::heard::HeardRow;
use crate::store::{StoreError, WriteBatch};

/// Messages that are settled at once.
const PAGE: usize = 1000;

/// What is known of states that wait.
#[derive(Default)]
pub(super) struct HeardStates {
    pub(super) next_look: Option<Instant>,
    pub(super) is_looking: bool,
    /// When each operator's words of no standard were logged last.
    pub(super) warned: ByQueue<Instant>,
}

/// Ends the messages of a page of states that are due; returns whether there may be more.
pub(super) async fn settle_page(node: &Arc<NodeContext>) -> Result<bool, StoreError> {
    let now = clock::now_ms();
    let due = node.store.heard_due(now, PAGE).await?;
    if due.is_empty() {
        return Ok(false);
    }
    let ids: Vec<u64> = due.iter().map(|row| row.id).collect();
    let stored = node.store.load(ids.clone()).await?;
    let finals: Vec<Final> = due
        .iter()
        .zip(stored)
        .filter_map(|(row, stored)| {
            let stored = stored.filter(|stored| stored.fin.is_none())?;
            let mut ended = end_of(row, now);
            final_state::note_sent(&mut ended, stored.sent_at);
            ended.attempts = stored.attempts;
            ended.message = Some(Box::new(stored.message));
            Some(ended)
        })
        .collect();
    final_state::write(node, WriteBatch::default(), finals).await;
    node.store.heard_settled(ids).await?;
    Ok(due.len() >= PAGE)
}

/// The end that a state makes which was heard last, known now (Unix ms).
fn end_of(row: &HeardRow, now: i64) -> Final {
    Final {
        id: row.id,
        state: row.state.into(),
        error: row.error.clone(),
        at: now,
        done_at: row.done_at,
        operator: row.operator,
        by_receipt: true,
        ..Final::default()
    }
}

/// Gives ends of correlations the state that was heard last of their messages.
pub(super) async fn end_as_heard(node: &NodeContext, finals: &mut [Final]) {
    let ids = finals.iter().map(|ended| ended.id).collect();
    let heard = match node.store.last_heard(ids).await {
        Ok(heard) => heard,
        Err(error) => {
            tracing::warn!(%error, "what was heard of messages could not be read");
            return;
        }
    };
    let heard: HashMap<u64, HeardRow> = heard.into_iter().map(|row| (row.id, row)).collect();
    for ended in finals {
        if let Some(row) = heard.get(&ended.id) {
            *ended = Final {
                attempts: ended.attempts,
                ..end_of(row, ended.at)
            };
        }
    }
}
