//! Messages that wait for an order, because they may have been sent before the database went back in time.
//!
//! Called by the Admin actor. What is released is handed off to whoever owns its partition now, marked as handed off
//! before: its owner looks whether it has it already.

use std::sync::Arc;

use super::context::AdminContext;
use super::messages;
use crate::actors::context::NodeContext;
use crate::actors::control::damage_keeper::show_held;
use crate::actors::orders::audit;
use crate::actors::receipts::final_state;
use crate::api::{HeldEntry, HeldMessages, time};
use crate::clock;
use crate::pb::delivery::What;
use crate::pb::{Commanded, Final, MessageState};
use crate::pb::{QueueItem, Refusal};
use crate::store::cluster::Partition;
use crate::store::held::HeldMessage;
use crate::store::{
    ChangeKind, ChangeRow, RemoteItem, StoreError, Stored, WriteBatch, hand_off_octets,
};

/// Messages in one step.
const STEP: usize = 500;

/// What becomes of held messages: they are sent, or end DELETED.
pub struct HeldDecision {
    /// All of them if absent; with a release no partition is doubtful any more.
    pub id: Option<u64>,
    pub cancel: bool,
    /// Who ordered it.
    pub by: String,
}

/// A page of held messages, the lowest ids first; only those with higher ids than `after`.
pub async fn list(
    admin: Arc<AdminContext>,
    after: u64,
    limit: u32,
) -> Result<HeldMessages, Refusal> {
    let (node, limit) = (&admin.node, limit as usize);
    let held = node.store.held(after, limit).await?;
    let counts = node.store.count_held().await?;
    let last = held.last().filter(|_| held.len() >= limit);
    let next_after = last.map(|last| last.id.to_string());
    let loaded = node
        .store
        .load(held.iter().map(|one| one.id).collect())
        .await?;
    let pairs = held.into_iter().zip(loaded);
    Ok(HeldMessages {
        messages: pairs
            .map(|(one, stored)| view(node, &one, stored))
            .collect(),
        next_after,
        count: counts.messages,
        partitions: counts.partitions,
    })
}

fn view(node: &NodeContext, held: &HeldMessage, stored: Option<Stored>) -> HeldEntry {
    let entry = HeldEntry {
        id: held.id.to_string(),
        since: time(held.since),
        ..HeldEntry::default()
    };
    let Some(stored) = stored else {
        return entry;
    };
    let message = messages::list_entry(node, stored, false);
    HeldEntry {
        from: Some(message.from),
        to: Some(message.to),
        sender: Some(message.sender),
        queue: Some(message.queue),
        accepted_at: message.accepted_at,
        ..entry
    }
}

/// Releases or cancels one, or all.
pub async fn order(admin: Arc<AdminContext>, order: HeldDecision) -> Result<Commanded, Refusal> {
    let verb = if order.cancel { "cancel" } else { "release" };
    let what = match order.id {
        Some(id) => format!("held message {id}"),
        None => "all held messages".to_owned(),
    };
    let result = carry_out(&admin.node, &order).await;
    audit(&order.by, verb, &what, &result);
    result
}

async fn carry_out(node: &Arc<NodeContext>, order: &HeldDecision) -> Result<Commanded, Refusal> {
    let count = if order.cancel {
        cancel_held(node, order).await?
    } else {
        release_held(node, order).await?
    };
    // What is done is done, although it may not be the moment to count what is left; that is soon counted anyway.
    if let Ok(counts) = node.store.count_held().await {
        show_held(node, counts);
    }
    match order.id {
        Some(id) if count == 0 => Err(Refusal::not_found(format!(
            "message {id} is not held; GET /v1/held shows those that are"
        ))),
        _ => Ok(Commanded::done(count)),
    }
}

/// Releases one, or all; returns how many.
async fn release_held(node: &NodeContext, order: &HeldDecision) -> Result<u64, StoreError> {
    if order.id.is_none() {
        // Before the messages: whoever reads a partition meanwhile holds none of them again.
        node.store.end_doubts(None).await?;
    }
    let mut count = 0;
    loop {
        let ids = node.store.release_held(order.id, STEP).await?;
        count += ids.len() as u64;
        if let Err(error) = release(node, &ids).await {
            // They wait for another order.
            node.store.hold(ids).await?;
            return Err(error);
        }
        if ids.len() < STEP {
            return Ok(count);
        }
    }
}

/// Cancels one, or all; returns how many. They end before they are held no more, so that a crash sends none of them.
async fn cancel_held(node: &Arc<NodeContext>, order: &HeldDecision) -> Result<u64, StoreError> {
    let (mut after, limit) = match order.id {
        Some(id) => (id.saturating_sub(1), 1),
        None => (0, STEP),
    };
    let mut count = 0;
    loop {
        let held = node.store.held(after, limit).await?;
        let ids: Vec<u64> = (held.iter().map(|one| one.id))
            .filter(|id| order.id.is_none_or(|wanted| wanted == *id))
            .collect();
        if !ids.is_empty() {
            cancel(node, &ids, &order.by).await?;
        }
        count += ids.len() as u64;
        match ids.last() {
            Some(last) if ids.len() == STEP => after = *last,
            _ => return Ok(count),
        }
    }
}

async fn release(node: &NodeContext, ids: &[u64]) -> Result<(), StoreError> {
    let loaded = node.store.load(ids.to_vec()).await?;
    let mut batch = WriteBatch::default();
    let mut owners = Vec::new();
    for stored in loaded.into_iter().flatten() {
        if stored.fin.is_some() {
            continue;
        }
        let item = hand_off(node, stored);
        owners.push(Partition {
            queue: item.queue,
            part: item.part,
        });
        batch.remote_items.push(item);
    }
    if batch.remote_items.is_empty() {
        return Ok(());
    }
    node.store.write(batch).await?;
    node.wake_owners(owners);
    Ok(())
}

fn hand_off(node: &NodeContext, stored: Stored) -> RemoteItem {
    let (queue, message) = (stored.queue, stored.message);
    let part = node.part_of(queue, &message.destination);
    let part = node.held_as(queue, part);
    let item = QueueItem {
        id: message.id,
        what: What::Message.into(),
        priority: message.priority,
        due_at: message.due_at,
        expires_at: message.expires_at,
        attempts: stored.attempts,
        part: part.into(),
        sender: message.sender,
        again: true,
        message: Some(Box::new(message)),
        ..QueueItem::default()
    };
    RemoteItem {
        queue,
        part,
        id: item.id,
        octets: hand_off_octets(&item),
    }
}

async fn cancel(node: &Arc<NodeContext>, ids: &[u64], by: &str) -> Result<(), StoreError> {
    let now = clock::now_ms();
    let change = |id: &u64| ChangeRow::new(*id, now, ChangeKind::Cancel, by);
    let mut batch = WriteBatch {
        change: ids.iter().map(change).collect(),
        ..WriteBatch::default()
    };
    let ended = |id: &u64| Final {
        id: *id,
        state: MessageState::Deleted.into(),
        at: now,
        ..Final::default()
    };
    let mut finals: Vec<Final> = ids.iter().map(ended).collect();
    final_state::try_write(node, &mut batch, &mut finals).await?;
    Ok(())
}
