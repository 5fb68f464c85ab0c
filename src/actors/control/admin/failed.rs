//! Messages that ended in a failure, with their attempts.
//!
//! Called by the Admin actor, and by [`super::replay`] for messages to replay. Of a text that was
//! divided or assembled here, only the whole message is shown, because only that can be replayed.

use std::sync::Arc;

use bytes::Bytes;

use crate::actors::context::plan::Plan;
use crate::actors::context::{NodeContext, pages};
use crate::api::Messages;
use crate::content;
use crate::domain::state;
use crate::pb::{MessageState, Refusal};
use crate::store::failed::FailedSearch;
use crate::store::{Search, Stored};

use super::context::AdminContext;
use super::messages::{self, MessageFilter, Question};

/// Which messages are wanted that ended in a failure.
#[derive(Debug, Clone, Default)]
pub struct FailedFilter {
    /// `operator`: that they failed at. An unspecified state stands for EXPIRED, UNDELIVERABLE, UNKNOWN and REJECTED.
    pub which: MessageFilter,
    /// Error code of the final state, as written; any when absent.
    pub error: Option<Bytes>,
    /// Only those that were, or were not, replayed.
    pub replayed: Option<bool>,
    /// Messages whose receipt was given up instead, whatever they ended as; `replayed` is about the receipt.
    pub receipts: bool,
}

/// A page of failed messages, newest first.
pub async fn list(admin: Arc<AdminContext>, filter: FailedFilter) -> Result<Messages, Refusal> {
    let node = &admin.node;
    let search = search(node, filter)?;
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
    Ok(Messages {
        messages: histories
            .into_iter()
            .flatten()
            .map(|history| messages::view(node, history, false))
            .collect(),
        next_before: page.next_before.map(|before| before.to_string()),
    })
}

/// The search in terms of the store.
///
/// # Errors
/// A name that does not exist, or a state that is not final.
pub(super) fn search(node: &NodeContext, filter: FailedFilter) -> Result<FailedSearch, Refusal> {
    let state = filter.which.state;
    if state != MessageState::Unspecified && !state::is_final(i32::from(state) as u8) {
        return Err(Refusal::conflict(
            "state must be a final one; GET /v1/messages lists what is not final",
        ));
    }
    let Question {
        search,
        queue,
        by_end,
    } = messages::question(node, filter.which)?;
    Ok(FailedSearch {
        which: search,
        operator: queue,
        error: filter.error,
        replayed: filter.replayed,
        receipts: filter.receipts,
        by_end,
    })
}

/// Whether another message carries this one's text: the whole that it is a part of.
pub(super) fn is_carried(plan: &Plan, stored: &Stored) -> bool {
    // A part whose message stayed incomplete carries its own text.
    content::is_part(&stored.message) || (stored.queue == plan.assembly && stored.attempts > 0)
}
