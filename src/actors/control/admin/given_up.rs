//! Sends a receipt again that was given up: not taken in time, refused, or purged.
//!
//! A message of its own brings it the way that it had, and waits, is tried and ends by itself. The history of the
//! message that it is about names it.

use std::sync::Arc;

use super::context::AdminContext;
use crate::actors::context::NodeContext;
use crate::actors::multipart::stage::Staged;
use crate::actors::orders;
use crate::actors::queue::dispatch;
use crate::actors::receipts::copies;
use crate::api::Replayed;
use crate::clock;
use crate::pb::{Commanded, Refusal};
use crate::store::{ChangeKind, ChangeRow, WriteBatch};

/// Sends the receipt of a message again; `again`: also one that was sent again before.
pub async fn retell(
    admin: Arc<AdminContext>,
    id: u64,
    again: bool,
    by: String,
) -> Result<Replayed, Refusal> {
    let result = told_again(&admin.node, id, again, &by).await;
    let what = format!("receipt of message {id}");
    let done = result.as_ref().map_err(Clone::clone);
    let done = done.map(|_| Commanded::done(1));
    orders::audit(&by, "RETELL", &what, &done);
    result
}

async fn told_again(
    node: &Arc<NodeContext>,
    id: u64,
    again: bool,
    by: &str,
) -> Result<Replayed, Refusal> {
    let history = orders::history(node, id).await?;
    let mut changes = history.changes.iter();
    if !changes.any(|change| change.kind == ChangeKind::GiveUp) {
        return Err(Refusal::conflict(format!(
            "the receipt of message {id} was not given up"
        )));
    }
    let before = history.changes.iter().map(ChangeRow::copy).max();
    if let Some(copy @ 1..) = before
        && !again
    {
        return Err(Refusal::conflict(format!(
            "the receipt of message {id} was sent again as {copy}: \"again\": true sends it once more"
        )));
    }
    let gone = || Refusal::conflict(format!("message {id} has no receipt"));
    let fin = history.stored.fin.as_ref().ok_or_else(gone)?;
    // The way that it had, or that of the account if there is no such way any more.
    let sender = history.stored.message.sender;
    let queue = [fin.tell, sender]
        .into_iter()
        .find(|queue| *queue != 0 && node.queue(*queue).is_some());
    let queue = queue.ok_or_else(|| {
        Refusal::conflict(format!(
            "{} is not configured any more",
            node.name_of(sender)
        ))
    })?;
    let copy = copies::of_receipt(node, queue, &history.stored.message, fin);
    let (now, copy_id, counts_for) = (clock::now_ms(), copy.id, copy.sender);
    let mut staged = Staged::single(node, Box::new(copy.clone()));
    let batch = WriteBatch {
        change: vec![ChangeRow::told_again(id, now, by, copy_id)],
        accept: vec![copy],
        ..WriteBatch::default()
    };
    dispatch::write(node, batch, staged.dispatches_mut()).await?;
    node.reserve_parts(counts_for, 1);
    dispatch::pass_on(node, 1, staged.into_dispatches(node));
    Ok(Replayed {
        message: copy_id.to_string(),
    })
}
