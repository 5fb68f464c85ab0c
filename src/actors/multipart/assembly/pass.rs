//! The commits by which parts leave the assembly.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;

use crate::actors::context::NodeContext;
use crate::actors::context::plan::TextSource;
use crate::actors::context::traced;
use crate::actors::multipart::stage::{self, Staged, handed_to};
use crate::actors::queue::dispatch::{pass_on, write};
use crate::actors::receipts::final_state;
use crate::clock;
use crate::content;
use crate::content::peer::{self, PeerTreatment, gather, together};
use crate::domain::mo_rule;
use crate::pb::{Final, Message, MessageState, Moved};
use crate::store::{ChangeRow, StoreError, WriteBatch};

/// Pause before the queue sends parts again that could not be written.
const PAUSE: Duration = Duration::from_secs(1);

/// Whether the commit succeeded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommitOutcome {
    Done,
    /// Nothing was written.
    Not,
}

/// Makes the whole of these parts durable and marks the parts as carried by it; or passes them on as they are, if
/// their peer can be given them so.
pub async fn put_together(node: Arc<NodeContext>, mut parts: Vec<Message>) -> CommitOutcome {
    let waited = decide(&node, &mut parts);
    if !goes_whole(&node, &parts, waited) {
        let from = node.plan().assembly;
        return move_on(node, from, parts, waited).await;
    }
    let numbered = together::numbered_as(&parts);
    let started = clock::now_us();
    let now = started / 1_000;
    let Some(mut whole) = gather::gather(&parts) else {
        return CommitOutcome::Done;
    };
    whole.id = match node.next_id(now) {
        Ok(id) => id,
        Err(ahead) => return later(&ahead).await,
    };
    if let Some(first) = parts.first() {
        whole.trace_context = traced::below_submission(first);
    }
    let Some(queue) = route(&node, &whole) else {
        return end(&node, parts, MessageState::Rejected).await;
    };
    whole.queue = node.plan().first_stop(queue, &whole);
    let sender = whole.sender;
    let mut staged = match Staged::joined(&node, Box::new(whole), numbered) {
        Ok(staged) => vec![staged],
        Err(error) => {
            tracing::warn!(%error, "a text cannot be written for its peer");
            return end(&node, parts, MessageState::Rejected).await;
        }
    };
    node.reserve_parts(sender, 1);
    let plan = node.plan();
    let mut batch = stage::rows(staged.iter(), plan.divided, now);
    for whole in &staged {
        let theirs = Bytes::from(whole.id().to_string());
        let handed = |part: &Message| handed_to(part.id, plan.assembly, theirs.clone(), now);
        batch.sent.extend(parts.iter().map(handed));
    }
    match commit(&node, batch, &mut staged).await {
        Err(error) => {
            let ids = staged.iter().flat_map(Staged::ids);
            ids.for_each(|_| node.release(sender));
            later(&error).await
        }
        Ok(rejected) if !rejected.is_empty() => {
            staged
                .iter()
                .for_each(|whole| whole.give_up(&node, &rejected));
            end(&node, parts, MessageState::Rejected).await
        }
        Ok(_) => {
            if parts.len() > 1 {
                node.metrics.assembled.inc();
            }
            let end_us = clock::now_us();
            let wholes = staged.iter().filter_map(Staged::message);
            wholes.for_each(|whole| traced::assembled(&node, whole, started, end_us));
            hand_on(&node, staged)
        }
    }
}

/// Whether a message has to be divided for the peer that it is routed to.
pub fn is_too_long(node: &NodeContext, message: &Message) -> bool {
    let plan = node.plan();
    let peer_encoding = route(node, message).and_then(|queue| plan.peer_encoding_of(queue));
    peer_encoding.is_some_and(|to| peer::way(message, to) == PeerTreatment::Divide)
}

/// Gives parts to the queues to which they are routed by themselves.
pub async fn on(node: Arc<NodeContext>, from: u32, mut parts: Vec<Message>) -> CommitOutcome {
    let waited = decide(&node, &mut parts);
    move_on(node, from, parts, waited).await
}

/// Finds the rule of parts that waited for their keyword: what the first part says counts for all. Returns whether
/// they waited.
fn decide(node: &NodeContext, parts: &mut [Message]) -> bool {
    if !parts.iter().any(Message::waits_for_keyword) {
        return false;
    }
    parts.iter_mut().for_each(|part| part.ruled_by = None);
    let plan = node.plan();
    let is_first = |part: &Message| content::part_of(part).is_none_or(|part| part.sequence <= 1);
    let (at, said) = match parts.iter().position(is_first) {
        Some(at) => (at, TextSource::Here),
        None => (0, TextSource::Nowhere),
    };
    let rule = parts.get_mut(at).and_then(|part| plan.rule(part, said));
    if let Some(rule) = rule {
        for part in parts {
            plan.note_rule(part, rule);
            node.metrics.ruled(&rule.name, rule.action.as_str());
        }
    }
    true
}

/// Whether parts go on as one message: a rule answers or drops it, or its peer needs the whole. Those that have `waited`
/// for their keyword may still have no route.
fn goes_whole(node: &NodeContext, parts: &[Message], waited: bool) -> bool {
    let plan = node.plan();
    let has_route = |first: &&Message| !waited || !plan.wants_network(first);
    let Some(first) = parts.first().filter(has_route) else {
        return false;
    };
    let queue = route(node, first);
    let to = queue.and_then(|queue| plan.peer_encoding_of(queue));
    (queue.is_some() && queue == plan.responder)
        || to.is_some_and(|to| together::must_join(parts, to))
}

/// Moves messages to the queues to which they are routed. Those that have `waited` for a rule were not routed before:
/// their network may have to be looked up, and their history names the rule.
pub async fn move_on(
    node: Arc<NodeContext>,
    from: u32,
    parts: Vec<Message>,
    waited: bool,
) -> CommitOutcome {
    let now = clock::now_ms();
    let mut batch = WriteBatch::default();
    let mut staged = Vec::with_capacity(parts.len());
    let mut homeless = Vec::new();
    for part in parts {
        let Some(queue) = target(&node, &part, waited) else {
            homeless.push(part);
            continue;
        };
        let rule = part.ruled_by.as_deref().filter(|_| waited);
        let by = rule.map_or_else(
            || node.name_of(from),
            |rule| mo_rule::note(&rule.rule, &rule.callback),
        );
        let moved = Moved {
            rule: rule.cloned(),
            ..Moved::default()
        };
        let row = ChangeRow::moved(part.id, now, queue, &by, moved);
        batch.change.push(row);
        let one = Staged::single(&node, Box::new(Message { queue, ..part }));
        let one = one.with_copy(&node);
        batch.accept.extend(one.copy().cloned());
        staged.push(one);
    }
    if !homeless.is_empty() {
        end(&node, homeless, MessageState::Rejected).await;
    }
    match commit(&node, batch, &mut staged).await {
        Ok(_) => hand_on(&node, staged),
        Err(error) => {
            let copies = staged.iter().filter_map(Staged::copy);
            copies.for_each(|copy| node.release(copy.sender));
            later(&error).await
        }
    }
}

/// Ends parts of a text that was sent, or will be: they are not delivered twice.
pub async fn repeated(node: Arc<NodeContext>, parts: Vec<Message>) -> CommitOutcome {
    end(&node, parts, MessageState::Accepted).await
}

fn target(node: &NodeContext, message: &Message, waited: bool) -> Option<u32> {
    let plan = node.plan();
    if waited && plan.wants_network(message) {
        return plan.resolve_queue;
    }
    let queue = route(node, message)?;
    let to = plan.peer_encoding_of(queue);
    let is_too_long = to.is_some_and(|to| peer::way(message, to) == PeerTreatment::Divide);
    Some(if is_too_long {
        plan.assembly
    } else {
        plan.first_stop(queue, message)
    })
}

fn route(node: &NodeContext, message: &Message) -> Option<u32> {
    node.plan().first_target(message, message.id, node)
}

async fn end(node: &Arc<NodeContext>, parts: Vec<Message>, state: MessageState) -> CommitOutcome {
    let at = clock::now_ms();
    let finals = parts.into_iter().map(|part| Final {
        id: part.id,
        state: state.into(),
        at,
        message: Some(Box::new(part)),
        ..Final::default()
    });
    final_state::write(node, WriteBatch::default(), finals.collect()).await;
    CommitOutcome::Done
}

/// Writes; returns the ids of messages that the store has refused.
async fn commit(
    node: &NodeContext,
    batch: WriteBatch,
    staged: &mut [Staged],
) -> Result<Vec<u64>, StoreError> {
    let dispatches = staged.iter_mut().flat_map(Staged::dispatches_mut);
    let written = write(node, batch, dispatches).await?;
    let ids: Vec<u64> = staged.iter().flat_map(Staged::ids).collect();
    let rejected = written.rejected.iter().map(|row| row.id);
    Ok(rejected.filter(|id| ids.contains(id)).collect())
}

/// Passes the written messages to their queues.
fn hand_on(node: &NodeContext, staged: Vec<Staged>) -> CommitOutcome {
    let count = staged.iter().map(Staged::dispatches).sum();
    let dispatches = staged.into_iter().flat_map(|one| one.into_dispatches(node));
    pass_on(node, count, dispatches);
    CommitOutcome::Done
}

/// The queue sends the parts again: too many are being written.
pub async fn no_room() -> CommitOutcome {
    tokio::time::sleep(PAUSE).await;
    CommitOutcome::Not
}

/// The queue sends the parts again.
async fn later(error: &(dyn std::error::Error + Sync)) -> CommitOutcome {
    tracing::warn!(%error, "parts wait for the store");
    no_room().await
}
