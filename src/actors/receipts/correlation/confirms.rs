//! Tells a bind that the results of its messages are durable, for it sends no more to their subscribers until then.
//!
//! Invariant: whatever becomes of the work, the bind is told: nobody would wait for less.

use std::sync::Arc;

use crate::actors::context::NodeContext;
use crate::pb::{ReceiptReply, SentBatch};

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
