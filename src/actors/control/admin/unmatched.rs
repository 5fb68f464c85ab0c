//! Receipts that match no message: listed, matched by hand, dropped.
//!
//! Called by the Admin actor. A match by hand ends the message as the receipt would have ended it
//! ([`final_state`]) and deletes the receipt in the same commit. The Correlation of every node is
//! notified, so that none compares the receipt any longer. Unmatched receipts do not wait for ever: after
//! `correlation.ttl` the sweep of the janitor's node drops them.

use std::sync::Arc;

use prost::Message as _;

use super::context::AdminContext;
use super::messages;
use crate::actors::context::addresses::post_to;
use crate::actors::context::remote_command;
use crate::actors::context::{NodeContext, pages};
use crate::actors::orders;
use crate::actors::receipts::correlation;
use crate::actors::receipts::final_state;
use crate::api::{Message, RefusedReplay, Unmatched, UnmatchedReceipt, time};
use crate::clock;
use crate::config::OutcomePolicy;
use crate::domain::address::printable;
use crate::domain::state;
use crate::pb::order::What;
use crate::pb::{ForgetParked, OperatorReceipt, Refusal};
use crate::store::failed::ParkedSearch;
use crate::store::{MessageHistory, ParkedRow, SentRow, WriteBatch};

/// Reasons that a report of many messages names.
const REASONS: usize = 20;

/// A page of unmatched receipts, newest first: of one operator, or all. `before`: only ids below this one, 0 for all.
pub async fn list(
    admin: Arc<AdminContext>,
    operator: Option<String>,
    before: u64,
    limit: u32,
    with_text: bool,
) -> Result<Unmatched, Refusal> {
    let node = &admin.node;
    let operator = operator.map(|name| messages::operator(node, &name));
    let limit = limit as usize;
    let search = ParkedSearch {
        id: None,
        operator: operator.transpose()?,
        before: (before != 0).then_some(before),
        limit,
    };
    let rows = node.store.unmatched(search).await?;
    let next_before = pages::next_before(&rows, limit, |last| last.id.to_string());
    let rows = rows.into_iter();
    Ok(Unmatched {
        receipts: rows.map(|row| view(node, row, with_text)).collect(),
        next_before,
    })
}

/// Ends a message with this receipt.
pub async fn settle(
    admin: Arc<AdminContext>,
    receipt: u64,
    message: u64,
    by: String,
) -> Result<Message, Refusal> {
    let result = matched(&admin.node, receipt, message).await;
    let what = format!("receipt {receipt} with message {message}");
    audit(&by, "match", &what, result.as_ref().err());
    result
}

async fn matched(node: &Arc<NodeContext>, receipt: u64, message: u64) -> Result<Message, Refusal> {
    let row = row(node, receipt).await?;
    let history = orders::history(node, message).await?;
    refuse_unless_sent(node, &history)?;
    let receipt = OperatorReceipt::decode(row.receipt.clone()).map_err(|error| {
        Refusal::conflict(format!("receipt {} cannot be read: {error}", row.id))
    })?;
    let mut ends = correlation::final_of(message, receipt, row.operator, clock::now_ms());
    ends.message = Some(Box::new(history.stored.message));
    ends.attempts = history.stored.attempts;
    let mut batch = WriteBatch {
        unpark: vec![row.id],
        ..WriteBatch::default()
    };
    final_state::try_write(node, &mut batch, &mut vec![ends]).await?;
    node.metrics.receipts_matched_by_hand.inc();
    forget(node, row.id).await?;
    messages::with_history(node, message, false).await
}

/// Drops a receipt; its message, if it has one, ends UNKNOWN when its own TTL is over.
pub async fn drop_one(admin: Arc<AdminContext>, id: u64, by: String) -> Result<(), Refusal> {
    let result = dropped(&admin.node, id).await;
    let what = format!("receipt {id}");
    audit(&by, "drop", &what, result.as_ref().err());
    result
}

async fn dropped(node: &Arc<NodeContext>, id: u64) -> Result<(), Refusal> {
    let row = row(node, id).await?;
    let gone = WriteBatch {
        unpark: vec![row.id],
        ..WriteBatch::default()
    };
    node.store.write(gone).await?;
    node.metrics.receipts_dropped_by_hand.inc();
    forget(node, row.id).await
}

async fn row(node: &NodeContext, id: u64) -> Result<ParkedRow, Refusal> {
    let search = ParkedSearch {
        id: Some(id),
        limit: 1,
        ..ParkedSearch::default()
    };
    node.store.unmatched(search).await?.pop().ok_or_else(|| {
        Refusal::not_found(format!(
            "there is no unmatched receipt {id}; it was matched, or dropped after correlation.ttl"
        ))
    })
}

/// Refuses messages that no operator has or may have. Which operator it was does not matter: a receipt
/// that comes over another operator's bind is one of those that match nothing.
fn refuse_unless_sent(node: &NodeContext, history: &MessageHistory) -> Result<(), Refusal> {
    let message = &history.stored.message;
    let id = message.id;
    if let Some(fin) = &history.stored.fin {
        let name = state::name(i32::from(fin.state) as u8);
        return Err(Refusal::conflict(format!("message {id} is final: {name}")));
    }
    let plan = node.plan();
    if let Some(attempt) = history.accepted_attempt() {
        if !plan.is_carrier(attempt.operator) {
            return Ok(());
        }
        let carriers = message.composition.as_deref().map_or_else(
            || String::from_utf8_lossy(&attempt.operator_message_id).into_owned(),
            |composition| {
                let ids: Vec<String> = composition.sent_as.iter().map(u64::to_string).collect();
                ids.join(", ")
            },
        );
        return Err(Refusal::conflict(format!(
            "message {id} travels as {carriers}: match the receipt with one of those"
        )));
    }
    // Only a receipt can tell the outcome, and the message is not sent meanwhile.
    let is_unsure = history.attempts.last().is_some_and(|last| {
        last.status == SentRow::NO_ANSWER
            && plan.outcome_policy(last.operator) == OutcomePolicy::Wait
    });
    if is_unsure {
        Ok(())
    } else {
        Err(Refusal::conflict(format!(
            "message {id} was not handed to any operator yet, so no receipt can be about it; it waits in {}",
            node.name_of(history.stored.queue)
        )))
    }
}

/// Makes all nodes forget a receipt that is no longer in the store.
async fn forget(node: &NodeContext, row: u64) -> Result<(), Refusal> {
    let order = ForgetParked { rows: vec![row] };
    post_to(node.correlation.recipient(), order.clone());
    remote_command::to_others(node, What::ForgetParked(order)).await?;
    Ok(())
}

fn view(node: &NodeContext, row: ParkedRow, with_text: bool) -> UnmatchedReceipt {
    let receipt = OperatorReceipt::decode(row.receipt).unwrap_or_else(|_| {
        // What is known of the receipt without its body.
        OperatorReceipt {
            operator_message_id: row.operator_message_id,
            ..OperatorReceipt::default()
        }
    });
    UnmatchedReceipt {
        id: row.id.to_string(),
        operator: node.name_of(row.operator),
        operator_message_id: printable(&receipt.operator_message_id),
        from: printable(&receipt.source),
        to: printable(&receipt.destination),
        state: state::name(receipt.state.to_le_bytes()[0]).to_owned(),
        error: printable(&receipt.error),
        at: time(row.at),
        done_at: time(receipt.done_at),
        text: with_text.then(|| printable(&receipt.raw)),
    }
}

/// Names why a message was refused, of many; only the first reasons are named.
pub(super) fn give_reason(reasons: &mut Vec<RefusedReplay>, id: u64, refusal: Refusal) {
    if reasons.len() < REASONS {
        let (id, reason) = (id.to_string(), refusal.detail);
        reasons.push(RefusedReplay { id, reason });
    }
}

/// [`audit`] of a command about many messages, with how many it was carried out for and how many fit.
pub(super) fn audit_many(
    by: &str,
    command: &str,
    counts: Result<(u64, u64), &Refusal>,
    dry_run: bool,
) {
    let tried = if dry_run { ", only looked at" } else { "" };
    let what = match counts {
        Ok((done, matched)) => format!("{done} of {matched} messages{tried}"),
        Err(_) => "many messages".to_owned(),
    };
    audit(by, command, &what, counts.err());
}

/// One line per command: by whom, what, with which result.
pub(super) fn audit(by: &str, command: &str, what: &str, refused: Option<&Refusal>) {
    match refused {
        None => tracing::info!(target: "audit", by, command, what, "command carried out"),
        Some(refusal) => tracing::warn!(
            target: "audit",
            by, command, what, reason = %refusal.detail,
            "command refused"
        ),
    }
}
