//! Messages that ended in a failure, with their attempts.
//!
//! Called by the Admin actor, and by [`super::replay`] for messages to replay. Of a text that was
//! divided or assembled here, only the whole message is shown, because only that can be replayed.

use std::sync::Arc;

use crate::actors::context::plan::Plan;
use crate::actors::context::{NodeContext, pages};
use crate::content;
use crate::domain::state;
use crate::pb::{ListFailed, MessageList, MessageState, Refusal, SearchMessages};
use crate::store::failed::FailedSearch;
use crate::store::{Search, Stored};

use super::messages;

/// A page of failed messages, newest first.
pub(super) async fn list(node: Arc<NodeContext>, ask: ListFailed) -> Result<MessageList, Refusal> {
    let search = search(&node, ask)?;
    let plan = node.full_plan();
    let read = async |before, limit| {
        let mut search = search.clone();
        search.which = search.which.at(before, limit);
        node.store.failed(search).await
    };
    let Search { before, limit, .. } = search.which;
    let is_whole = |stored: &Stored| !is_carried(&plan, stored);
    let page = pages::full_page(before, limit, read, is_whole).await?;
    let ids = page.messages.iter().map(|stored| stored.message.id);
    let histories = node.store.histories(ids.collect()).await?;
    Ok(MessageList {
        messages: histories
            .into_iter()
            .flatten()
            .map(|history| messages::view(&node, history))
            .collect(),
        next_before: page.next_before.unwrap_or_default(),
    })
}

/// The search in terms of the store.
///
/// # Errors
/// A name that does not exist, or a state that is not final.
pub(super) fn search(node: &NodeContext, ask: ListFailed) -> Result<FailedSearch, Refusal> {
    let which: SearchMessages = ask.which.unwrap_or_default();
    let state = match which.state() {
        MessageState::Unspecified => None,
        one if state::is_final(i32::from(one) as u8) => Some(one),
        _ => {
            return Err(Refusal::conflict(
                "state must be a final one; GET /v1/messages lists what is not final",
            ));
        }
    };
    let sender = match which.sender.as_str() {
        "" => None,
        name => Some(messages::sender(node, name)?),
    };
    let operator = match ask.operator.as_str() {
        "" => None,
        name => Some(messages::operator(node, name)?),
    };
    Ok(FailedSearch {
        which: Search {
            to: (!which.to.is_empty()).then_some(which.to),
            from: (!which.from.is_empty()).then_some(which.from),
            sender,
            since: (which.since != 0).then_some(which.since),
            until: (which.until != 0).then_some(which.until),
            state,
            before: (which.before != 0).then_some(which.before),
            limit: which.limit as usize,
        },
        operator,
        error: ask.error,
        replayed: ask.replayed,
        receipts: ask.receipts,
    })
}

/// Whether another message carries this one's text: the whole that it is a part of.
pub(super) fn is_carried(plan: &Plan, stored: &Stored) -> bool {
    // A part whose message stayed incomplete carries its own text.
    content::is_part(&stored.message) || (stored.queue == plan.assembly && stored.attempts > 0)
}
