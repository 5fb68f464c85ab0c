//! Tells a bind that the results of its messages are durable, for it sends no more to their subscribers until then.
//!
//! Made by Correlation for answers, and by queues for what failed and may have arrived. Invariant: whatever becomes of
//! the work, the bind is told: nobody would wait for less.

use std::sync::Arc;

use crate::actors::context::NodeContext;
use crate::pb::{Failed, ReceiptReply, SentBatch};

/// Messages of a batch whose bind waits; it is told when this is dropped.
pub struct Confirms {
    node: Arc<NodeContext>,
    session: u64,
    ids: Vec<u64>,
}

// === impl Confirms ===

impl Confirms {
    /// `None` when the bind does not wait.
    pub fn of(node: &Arc<NodeContext>, batch: &SentBatch) -> Option<Self> {
        batch.confirm.then(|| Self {
            node: Arc::clone(node),
            session: batch.session,
            ids: batch.sent.iter().map(|sent| sent.id).collect(),
        })
    }

    /// Of those failures that the session waits for; `None` when it waits for none.
    pub fn of_failed(node: &Arc<NodeContext>, session: u64, failed: &[Failed]) -> Option<Self> {
        let awaited = failed.iter().filter(|failed| failed.confirm);
        let ids: Vec<u64> = awaited.map(|failed| failed.id).collect();
        (!ids.is_empty()).then(|| Self {
            node: Arc::clone(node),
            session,
            ids,
        })
    }
}

impl Drop for Confirms {
    fn drop(&mut self) {
        let written = std::mem::take(&mut self.ids);
        let reply = ReceiptReply {
            written,
            ..ReceiptReply::default()
        };
        self.node.binds.reply(self.session, reply);
    }
}
