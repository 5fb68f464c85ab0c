//! Moves the waiting messages of a queue to another one, on all nodes.

use std::sync::Arc;

use super::{ask, audit};
use crate::actors::context::NodeContext;
use crate::actors::context::ports::{QueueKind, QueuePort};
use crate::actors::context::remote_command;
use crate::pb::order::What;
use crate::pb::queue_command::Verb;
use crate::pb::{Commanded, MoveMessages, QueueCommand, Refusal};

/// Moves matching messages on this node and the others.
pub async fn many(node: Arc<NodeContext>, order: MoveMessages) -> Result<Commanded, Refusal> {
    let mut result = here(&node, &order).await;
    if let Ok(done) = &mut result {
        done.pending |= remote_command::to_others(&node, What::Move(order)).await?;
    }
    result
}

/// Moves matching messages on this node.
pub async fn here(node: &NodeContext, order: &MoveMessages) -> Result<Commanded, Refusal> {
    let result = ordered(node, order).await;
    let what = format!("queue {} to {}", order.queue, order.to);
    audit(&order.by, Verb::Move.as_str_name(), &what, &result);
    result
}

async fn ordered(node: &NodeContext, order: &MoveMessages) -> Result<Commanded, Refusal> {
    let from = queue(node, &order.queue)?;
    let sender = match order.sender.as_str() {
        "" => 0,
        name => node.plan().sender(name).ok_or_else(|| {
            Refusal::not_found(format!("there is no account {name:?} and never was"))
        })?,
    };
    let command = QueueCommand {
        verb: Verb::Move.into(),
        by: order.by.clone(),
        to: target(node, &order.to, from.id)?,
        sender,
        since: order.since,
        until: order.until,
        ..QueueCommand::default()
    };
    let count = ask(&from, command).await?.count;
    Ok(Commanded {
        count,
        // The queue continues in steps after its answer.
        pending: count > 0,
    })
}

/// The id of the queue that messages are moved to.
pub(super) fn target(node: &NodeContext, name: &str, from: u32) -> Result<u32, Refusal> {
    let to = queue(node, name)?;
    if to.id == from {
        return Err(Refusal::conflict(format!(
            "the messages are in {name} already"
        )));
    }
    if matches!(to.kind, QueueKind::Account | QueueKind::Internal) {
        return Err(Refusal::conflict(format!(
            "messages are moved to operators and test targets, not to {name}"
        )));
    }
    Ok(to.id)
}

fn queue(node: &NodeContext, name: &str) -> Result<Arc<QueuePort>, Refusal> {
    let known = node.queues().into_iter().find(|port| port.name == name);
    known.ok_or_else(|| Refusal::no_such("queue", name, "queues"))
}
