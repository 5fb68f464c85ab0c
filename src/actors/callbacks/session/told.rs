//! What the store has of a message that a callback tells of: how it ended, and how it was tried where that counts.

use crate::actors::context::NodeContext;
use crate::actors::receipts::{final_state, states, wanted};
use crate::domain::callback::states::{RETRYING, SENT, any, rank};
use crate::pb::StateReport;
use crate::store::{SentRow, StoreError, Stored};

/// A message, and its attempts if its callback shows them or depends on them.
pub struct Told {
    pub stored: Stored,
    pub attempts: Vec<SentRow>,
}

/// Reads the messages of callbacks, each with the state that its callback brings (`None`: the final one), in order. One
/// whose history cannot be read is an error of its own. `None` if the store will not answer any more.
pub async fn load(
    node: &NodeContext,
    wanted: Vec<(u64, Option<StateReport>)>,
) -> Option<Vec<Option<Result<Told, StoreError>>>> {
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
            Ok(Vec::new())
        };
        all.push(Some(attempts.map(|attempts| Told { stored, attempts })));
    }
    Some(all)
}

/// Waits for a store that is briefly unreachable, but not for a history that cannot be read although the store answers.
async fn attempts_of(node: &NodeContext, id: u64) -> Option<Result<Vec<SentRow>, StoreError>> {
    let mut history = node.store.history(id).await;
    if history.is_err() {
        // Answered once the store is back.
        final_state::load(node, vec![id]).await?;
        history = node.store.history(id).await;
    }
    Some(history.map(|found| found.map_or_else(Vec::new, |found| found.attempts)))
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use super::*;
    use crate::actors::test_support;
    use crate::pb::Message;
    use crate::store::WriteBatch;

    #[actix::test]
    async fn a_history_that_cannot_be_read_holds_up_no_other() {
        // Its folder is there as long as it is.
        let test_node = test_support::node(1, None).await;
        let node = Arc::clone(&test_node.context);
        let message = |id| Message {
            id,
            report_states: SENT,
            ..Message::default()
        };
        let rows = WriteBatch {
            accept: [1, 2].map(message).to_vec(),
            ..WriteBatch::default()
        };
        node.store.write(rows).await.expect("written");
        // Only the history reads this time.
        let damage = "INSERT INTO retry(id, due_at, attempts) VALUES(1, 'soon', 1)";
        rusqlite::Connection::open(node.config().data_dir.join("smsc.db"))
            .and_then(|store| store.execute(damage, []))
            .expect("damaged");
        let told = load(&node, vec![(1, None), (2, None)]);
        let told = tokio::time::timeout(Duration::from_secs(30), told).await;
        let told = told.expect("it waits").expect("the store answers");
        assert!(matches!(told[..], [Some(Err(_)), Some(Ok(_))]));
    }
}
