//! What the store has of a message that a callback tells of: how it ended, and how it was tried where that counts.

use std::time::Duration;

use crate::actors::context::NodeContext;
use crate::actors::receipts::{final_state, states, wanted};
use crate::domain::callback::states::{RETRYING, SENT, any, rank};
use crate::pb::StateReport;
use crate::store::{SentRow, StoreError, Stored};

const PAUSE: Duration = Duration::from_millis(500);

/// A message, and its attempts if its callback shows them or depends on them.
pub struct Told {
    pub stored: Stored,
    pub attempts: Vec<SentRow>,
}

/// Reads the messages of callbacks, each with the state that its callback brings (`None`: the final one), in order.
/// `None` if the store will not answer any more.
pub async fn load(
    node: &NodeContext,
    wanted: Vec<(u64, Option<StateReport>)>,
) -> Option<Vec<Option<Told>>> {
    let ids = wanted.iter().map(|(id, _)| *id).collect();
    let stored = final_state::load(node, ids).await?;
    let mut all = Vec::with_capacity(stored.len());
    for ((_, report), stored) in wanted.into_iter().zip(stored) {
        let Some(stored) = stored else {
            all.push(None);
            continue;
        };
        let (needs, carrier) = match &report {
            Some(report) => (!report.in_order, report.carrier),
            None => {
                let message = &stored.message;
                let about = states::about(message).into_iter().next();
                let carrier = about.map_or(0, |(_, carrier)| carrier);
                (any(message.report_states), carrier)
            }
        };
        let carrier = match carrier {
            0 => stored.message.id,
            carrier => carrier,
        };
        let attempts = if needs {
            attempts_of(node, carrier).await?
        } else {
            Vec::new()
        };
        all.push(Some(Told { stored, attempts }));
    }
    Some(all)
}

/// Waits for a store that is briefly unreachable.
async fn attempts_of(node: &NodeContext, id: u64) -> Option<Vec<SentRow>> {
    loop {
        match node.store.history(id).await {
            Ok(history) => return Some(history.map_or_else(Vec::new, |found| found.attempts)),
            Err(StoreError::Fenced | StoreError::Closed) => return None,
            Err(error) => tracing::warn!(%error, id, "a callback waits for the store"),
        }
        tokio::time::sleep(PAUSE).await;
    }
}

// === impl Told ===

impl Told {
    /// Whether a state is out of date: a later one of its message is known, and its receiver hears of that.
    pub fn is_past(&self, node: &NodeContext, report: &StateReport) -> bool {
        let message = &self.stored.message;
        let fin = self.stored.fin.as_ref();
        if fin.is_some_and(|fin| wanted::wants_receipt(node, message, fin.state)) {
            return true;
        }
        let own = rank(states::bit(report.state()), report.attempt);
        self.attempts.iter().any(|attempt| {
            let state = if attempt.status == 0 { SENT } else { RETRYING };
            message.report_states & state != 0 && rank(state, attempt.attempt) > own
        })
    }
}
