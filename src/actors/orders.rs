//! Orders about waiting messages, from administrators and from the ESMEs that sent them.
//!
//! - [`message`]: one message: cancel, retry, move, replace;
//! - [`transfer`]: moves all waiting messages of a queue to another one.
//!
//! In: orders of the Admin actor, which also passes those of other nodes, and of ESMEs' sessions. Out:
//! commands to the queues that hold the messages, on this node or through the store on another. Imports
//! `context`: queues are reached by their addresses.

pub mod message;
pub mod transfer;

use std::time::Duration;

use crate::actors::context::NodeContext;
use crate::actors::context::plan::Plan;
use crate::actors::context::ports::QueuePort;
use crate::pb::{Commanded, QueueCommand, QueueCommandReply, Refusal};
use crate::store::{MessageHistory, SentRow, StoreError};

/// A queue that has not answered by then is restarting or stuck.
const ANSWER_WITHIN: Duration = Duration::from_secs(5);

/// The rows of one message.
pub async fn history(node: &NodeContext, id: u64) -> Result<MessageHistory, Refusal> {
    let history = node.store.history(id).await?;
    history.ok_or_else(|| no_such_message(id))
}

/// The attempts of a message with operators and accounts, the oldest first: of a text that was divided, or put together with
/// others, those of what carries it, and not that it was handed to that.
pub async fn attempts(
    node: &NodeContext,
    history: &MessageHistory,
) -> Result<Vec<SentRow>, Refusal> {
    let plan = node.plan();
    let carriers = carriers_of(&plan, history);
    let carriers = if carriers.is_empty() {
        Vec::new()
    } else {
        node.store.histories(carriers).await?
    };
    Ok(joined(&plan, history, carriers.iter().flatten()))
}

/// The messages that carry one that was divided, or put together with others, once it was handed to them.
pub fn carriers_of(plan: &Plan, history: &MessageHistory) -> Vec<u64> {
    let mut handed = (history.attempts.iter())
        .filter(|attempt| plan.is_carrier(attempt.operator))
        .peekable();
    if handed.peek().is_none() {
        return Vec::new();
    }
    let composition = history.stored.message.composition.as_deref();
    let mut carriers = composition.map_or_else(Vec::new, |composition| composition.sent_as.clone());
    // What it was put into.
    carriers.extend(handed.filter_map(|row| {
        let id = std::str::from_utf8(&row.operator_message_id).ok()?;
        id.parse::<u64>().ok()
    }));
    carriers
}

/// The attempts of a message and of those that carry it, as of one message.
pub fn joined<'h>(
    plan: &Plan,
    history: &MessageHistory,
    carriers: impl Iterator<Item = &'h MessageHistory>,
) -> Vec<SentRow> {
    let own = history.attempts.iter();
    let own = own.filter(|attempt| !plan.is_carrier(attempt.operator));
    let all = own.chain(carriers.flat_map(|carrier| &carrier.attempts));
    let mut all: Vec<SentRow> = all.cloned().collect();
    all.sort_by_key(|attempt| (attempt.at, attempt.id));
    all
}

/// Since when a message is held, because it may have been sent before the database went back in time; `None` if it is not.
pub async fn held_since(node: &NodeContext, id: u64) -> Result<Option<i64>, StoreError> {
    let held = node.store.held(id.saturating_sub(1), 1).await?;
    let this = held.into_iter().find(|one| one.id == id);
    Ok(this.map(|one| one.since))
}

/// The answer about an id of no message.
pub fn no_such_message(id: u64) -> Refusal {
    Refusal::not_found(format!(
        "there is no message {id}; it was never accepted here, or it is older than store.retention"
    ))
}

/// Sends a command to a queue and waits for its answer.
pub async fn ask(port: &QueuePort, command: QueueCommand) -> Result<QueueCommandReply, Refusal> {
    port.send(command)
        .timeout(ANSWER_WITHIN)
        .await
        .map_err(|error| {
            Refusal::unavailable(format!("the queue {} does not answer: {error}", port.name))
        })
}

/// One line per command: by whom, what, with which result.
pub fn audit(by: &str, verb: &str, what: &str, result: &Result<Commanded, Refusal>) {
    let verb = verb.trim_start_matches("VERB_").to_ascii_lowercase();
    match result {
        Ok(done) => tracing::info!(
            target: "audit",
            by, command = %verb, what, count = done.count, pending = done.pending,
            "command carried out"
        ),
        Err(refusal) => tracing::warn!(
            target: "audit",
            by, command = %verb, what, reason = %refusal.detail,
            "command refused"
        ),
    }
}
