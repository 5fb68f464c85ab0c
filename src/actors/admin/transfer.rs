//! Moving what waits in a queue to another one, on all nodes.

use std::sync::Arc;

use super::abroad;
use super::command::{ask, audit};
use crate::actors::hub::Hub;
use crate::actors::ports::{QueueKind, QueuePort};
use crate::pb::order::What;
use crate::pb::queue_command::Verb;
use crate::pb::{Commanded, MoveMessages, QueueCommand, Refusal};

/// Moves what fits, here and on the other nodes.
pub(super) async fn many(hub: Arc<Hub>, order: MoveMessages) -> Result<Commanded, Refusal> {
    let mut result = here(&hub, &order).await;
    if let Ok(done) = &mut result {
        done.pending |= abroad::to_others(&hub, What::Move(order)).await?;
    }
    result
}

/// Moves what fits on this node.
pub(super) async fn here(hub: &Hub, order: &MoveMessages) -> Result<Commanded, Refusal> {
    let result = ordered(hub, order).await;
    let what = format!("queue {} to {}", order.queue, order.to);
    audit(&order.by, Verb::Move.as_str_name(), &what, &result);
    result
}

async fn ordered(hub: &Hub, order: &MoveMessages) -> Result<Commanded, Refusal> {
    let from = queue(hub, &order.queue)?;
    let sender = match order.sender.as_str() {
        "" => 0,
        name => hub.plan().sender(name).ok_or_else(|| {
            Refusal::not_found(format!("there is no account {name:?} and never was"))
        })?,
    };
    let command = QueueCommand {
        verb: Verb::Move.into(),
        by: order.by.clone(),
        to: target(hub, &order.to, from.id)?,
        sender,
        since: order.since,
        until: order.until,
        ..QueueCommand::default()
    };
    let count = ask(&from, command).await?.count;
    Ok(Commanded {
        count,
        // It goes on in steps after its answer.
        pending: count > 0,
    })
}

/// The number of the queue that messages are moved to.
pub(super) fn target(hub: &Hub, name: &str, from: u32) -> Result<u32, Refusal> {
    let to = queue(hub, name)?;
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

fn queue(hub: &Hub, name: &str) -> Result<Arc<QueuePort>, Refusal> {
    let known = hub.queues().into_iter().find(|port| port.name == name);
    known.ok_or_else(|| {
        Refusal::not_found(format!(
            "there is no queue {name:?}; GET /v1/queues lists them"
        ))
    })
}
