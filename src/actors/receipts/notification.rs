//! Intermediate notifications of an operator, passed on to an account that asked for them with bit 4 of
//! registered_delivery (SMPP 3.4 §5.2.17, §2.11).
//!
//! Called by the correlation actor. Best effort: a notification goes at once to a receiver of the
//! account, outside the window of its bind, and is neither stored nor repeated; without a receiver it
//! is counted and dropped. It never comes after the receipt on the same bind: once a final state is in
//! the store or in memory no notification is sent, and the receipt takes longer because it passes
//! commit and queue.

use std::sync::Arc;

use crate::actors::context::NodeContext;
use crate::actors::receipts::alert;
use crate::actors::receipts::receipt;
use crate::content;
use crate::pb::{ForwardAlert, Message, OperatorReceipt};

/// registered_delivery: intermediate notification requested (§5.2.17).
const ASKED: u32 = 0x10;

/// Whether the sender of a message requested intermediate notifications.
pub fn is_wanted(node: &NodeContext, message: &Message) -> bool {
    message.registered_delivery & ASKED != 0
        && node.is_account(message.sender)
        && !content::is_internal(message)
}

/// Passes an intermediate state on to the sender of the message.
pub fn pass_on(node: &Arc<NodeContext>, message: &Message, said: &OperatorReceipt) {
    let forward = ForwardAlert {
        account: message.sender,
        notification: Some(receipt::notification_for(node, message, said)),
        ..ForwardAlert::default()
    };
    if deliver(node, &forward) {
        return;
    }
    let node = Arc::clone(node);
    actix::spawn(async move {
        if !alert::send_to_other_node(&node, forward).await {
            node.metrics.notifications_dropped.inc();
        }
    });
}

/// Handles a notification that another node has left for a receiver on this one.
pub fn arrived(node: &Arc<NodeContext>, forward: ForwardAlert) {
    let Some(id) = forward.notification.as_ref().map(|message| message.id) else {
        return;
    };
    let node = Arc::clone(node);
    actix::spawn(async move {
        // The receipt may have overtaken it on the way to this node.
        let loaded = node.store.load(vec![id]).await.unwrap_or_default();
        let is_open = loaded.iter().flatten().any(|stored| stored.fin.is_none());
        if !is_open || !deliver(&node, &forward) {
            node.metrics.notifications_dropped.inc();
        }
    });
}

/// Gives it to a receiver on this node; false if there is none or its mailbox is full.
fn deliver(node: &NodeContext, forward: &ForwardAlert) -> bool {
    // Waiting for room in the mailbox could put it behind the receipt.
    let taken = alert::receiver(node, forward.account)
        .is_some_and(|receiver| receiver.try_send(forward.clone()).is_ok());
    if taken {
        node.metrics.notifications.inc();
    }
    taken
}
