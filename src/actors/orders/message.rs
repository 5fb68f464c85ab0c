//! Orders about one message, from administrators and from the ESME that sent it: cancel, retry, move,
//! replace.
//!
//! Called by the Admin actor and by the sessions of ESMEs. An order goes to the queue that holds the
//! message, on this node or another; cancel and replace are answered when the store shows the result.

use std::sync::Arc;
use std::time::Duration;

use prost::Message as _;

use super::{ask, audit, transfer};
use crate::actors::context::NodeContext;
use crate::actors::context::remote_command;
use crate::clock;
use crate::domain::state;
use crate::pb::order::What;
use crate::pb::queue_command_reply::Outcome;
use crate::pb::{
    CommandMessage, Commanded, MessageState, QueueCommand, Refusal, Replacement, queue_command,
};
use crate::store::{ChangeKind, MessageHistory};

/// How long to wait for the DELETED row of a cancelled message, and how often to look for it.
const EFFECT_WITHIN: Duration = Duration::from_secs(2);
const LOOK_FIRST: Duration = Duration::from_millis(1);
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// An order may be executed this long after its deadline, because clocks of nodes differ.
const GRACE_MS: i64 = 1_000;
/// How often to ask a queue for a message that is between two lists, and the pause.
const ASK_AGAIN: u32 = 50;
const ASK_PAUSE: Duration = Duration::from_millis(20);

/// The result of an order according to the message's history.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Effect {
    Seen,
    /// It can no longer be executed.
    Never,
    NotYet,
}

/// What a queue answered to an order.
struct QueueAnswer {
    outcome: Outcome,
    queue: String,
    /// Whether another node owns the message; its answer is not waited for.
    away: bool,
}

/// Cancels a message, makes it due now, moves or replaces it.
pub async fn order(node: Arc<NodeContext>, order: CommandMessage) -> Result<Commanded, Refusal> {
    let verb = order.verb();
    let result = carry_out(&node, &order).await;
    audit(
        &order.by,
        verb.as_str_name(),
        &format!("message {}", order.id),
        &result,
    );
    result
}

/// Executes an order without logging it.
///
/// # Errors
/// The message does not exist, the order is no longer possible, or the store or its queue does not
/// answer.
pub async fn carry_out(node: &NodeContext, order: &CommandMessage) -> Result<Commanded, Refusal> {
    let id = order.id;
    let mut tries = 0;
    loop {
        if order.before != 0 && clock::now_ms() > order.before {
            return Err(Refusal::conflict(format!(
                "the order about message {id} came too late"
            )));
        }
        let history = super::history(node, id).await?;
        if let Some(composition) = &history.stored.message.composition
            && !composition.sent_as.is_empty()
            && history.stored.fin.is_none()
            && order.verb() != queue_command::Verb::Replace
        {
            return parts_ordered(node, order, &composition.sent_as).await;
        }
        refuse_when_over(node, &history)?;
        refuse_when_held(node, id).await?;
        let passed = pass_to_queue(node, order, &history).await?;
        let queue = passed.queue;
        match passed.outcome {
            Outcome::Done => return wait_for_effect(node, order, passed.away).await,
            Outcome::InFlight => {
                return Err(Refusal::conflict(format!(
                    "message {id} is handed to a session of {queue} and waits for the answer"
                )));
            }
            // It is between two lists for a moment or on its way to another queue, which the history
            // will name.
            Outcome::NotHere if tries < ASK_AGAIN => {
                tries += 1;
                tokio::time::sleep(ASK_PAUSE).await;
            }
            Outcome::NotHere | Outcome::Unspecified => {
                return Err(Refusal::conflict(format!(
                    "the queue {queue} does not hold message {id} in memory now (its outcome is unknown, it is far behind in a long queue, or it is moving); try again later"
                )));
            }
        }
    }
}

/// No queue has a message that is held.
async fn refuse_when_held(node: &NodeContext, id: u64) -> Result<(), Refusal> {
    // What was counted last is enough: mostly nothing is held, and then no order waits for a look at it.
    if node.metrics.messages_held.get() == 0 || super::held_since(node, id).await?.is_none() {
        return Ok(());
    }
    Err(Refusal::conflict(format!(
        "message {id} is held, because it may have been sent before the database went back in time: `smsc held` releases \
         or cancels it (POST /v1/held/{id}/release, POST /v1/held/{id}/cancel)"
    )))
}

/// Gives the order to the parts that carry a message, except those that have ended.
async fn parts_ordered(
    node: &NodeContext,
    order: &CommandMessage,
    parts: &[u64],
) -> Result<Commanded, Refusal> {
    let mut all = Commanded::default();
    let mut refused = None;
    for part in parts {
        let order = CommandMessage {
            id: *part,
            ..order.clone()
        };
        match Box::pin(carry_out(node, &order)).await {
            Ok(done) => {
                // It counts as one message, whatever the number of parts.
                all.count = 1;
                all.pending |= done.pending;
            }
            Err(error) => refused = Some(error),
        }
    }
    match refused {
        Some(error) if all.count == 0 => Err(error),
        _ => Ok(all),
    }
}

/// Gives the order to the queue on this node, or through the store on another.
async fn pass_to_queue(
    node: &NodeContext,
    order: &CommandMessage,
    history: &MessageHistory,
) -> Result<QueueAnswer, Refusal> {
    let id = order.id;
    let queue = history.stored.queue;
    let port = node.queue(queue).ok_or_else(|| {
        Refusal::conflict(format!(
            "message {id} belongs to the queue {:?}, which does not exist on this node",
            node.name_of(queue)
        ))
    })?;
    let to = match order.verb() {
        queue_command::Verb::Move => transfer::target(node, &order.to, queue)?,
        _ => 0,
    };
    if let Some(owner) = remote_command::owner_of(node, queue, &history.stored.message) {
        remote_command::to_node(node, owner, What::Message(order.clone())).await?;
        return Ok(QueueAnswer {
            outcome: Outcome::Done,
            queue: port.name.clone(),
            away: true,
        });
    }
    let command = QueueCommand {
        verb: order.verb,
        id,
        by: order.by.clone(),
        sender: history.stored.message.sender,
        to,
        replacement: order.replacement.clone(),
        ..QueueCommand::default()
    };
    let reply = ask(&port, command).await?;
    Ok(QueueAnswer {
        outcome: reply.outcome(),
        queue: port.name.clone(),
        away: false,
    })
}

/// Refuses orders for a message that is final or that its operator has.
///
/// # Errors
/// It is so.
pub fn refuse_when_over(node: &NodeContext, history: &MessageHistory) -> Result<(), Refusal> {
    let id = history.stored.message.id;
    if let Some(fin) = &history.stored.fin {
        let name = state::name(i32::from(fin.state) as u8);
        return Err(Refusal::conflict(format!("message {id} is final: {name}")));
    }
    if let Some(attempt) = history.accepted_attempt() {
        return Err(Refusal::conflict(format!(
            "message {id} was already handed to {}; its receipt is awaited",
            node.name_of(attempt.operator)
        )));
    }
    Ok(())
}

/// Waits until the history of the message shows that the order was carried out.
async fn wait_for_effect(
    node: &NodeContext,
    order: &CommandMessage,
    away: bool,
) -> Result<Commanded, Refusal> {
    let commanded = |pending| Commanded { count: 1, pending };
    if !matches!(
        order.verb(),
        queue_command::Verb::Cancel | queue_command::Verb::Replace
    ) {
        return Ok(commanded(away));
    }
    let within = match order.before {
        0 => EFFECT_WITHIN,
        // Until it cannot be executed any more.
        before => Duration::from_millis((before + GRACE_MS - clock::now_ms()).max(0) as u64),
    };
    let looking = async {
        let mut pause = LOOK_FIRST;
        loop {
            let history = super::history(node, order.id).await?;
            match effect(order, &history) {
                Effect::Seen => return Ok(commanded(false)),
                Effect::Never => {
                    refuse_when_over(node, &history)?;
                    return Ok(commanded(true));
                }
                Effect::NotYet => tokio::time::sleep(pause).await,
            }
            pause = (pause * 2).min(LOOK_EVERY);
        }
    };
    tokio::time::timeout(within, looking)
        .await
        .unwrap_or_else(|_| Ok(commanded(true)))
}

/// What the rows of a message say about an order.
fn effect(order: &CommandMessage, history: &MessageHistory) -> Effect {
    let is_over = history.stored.fin.is_some() || history.accepted_attempt().is_some();
    let is_done = match order.verb() {
        queue_command::Verb::Cancel => history
            .stored
            .fin
            .as_ref()
            .is_some_and(|fin| fin.state == MessageState::Deleted),
        _ => {
            let wanted = order.replacement.as_ref().map(|new| new.order);
            let replaced = history
                .changes
                .iter()
                .filter(|change| change.kind == ChangeKind::Replace);
            replaced
                .filter_map(|change| Replacement::decode(change.body.clone()).ok())
                .any(|new| Some(new.order) == wanted)
        }
    };
    match (is_done, is_over) {
        (true, _) => Effect::Seen,
        (false, true) => Effect::Never,
        (false, false) => Effect::NotYet,
    }
}
