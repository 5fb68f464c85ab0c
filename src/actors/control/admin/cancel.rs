//! Cancels messages that wait, many with one order.
//!
//! Called by the Admin actor. Each is cancelled as a single one would be ([`orders::message`]), so what an operator
//! has, or a session holds, is left alone. Invariant: a request that ended early is simply repeated.

use std::sync::Arc;
use std::time::Duration;

use futures_util::{StreamExt as _, stream};
use tokio::time::Instant;

use super::context::AdminContext;
use super::messages::{self, MessageFilter};
use super::unmatched;
use crate::actors::context::NodeContext;
use crate::actors::orders;
use crate::api::CancelReport;
use crate::content;
use crate::pb::queue_command::Verb;
use crate::pb::{CommandMessage, Commanded, MessageState, Refusal};
use crate::store::MessageHistory;

/// Messages read at once.
const PAGE: usize = 500;
/// Orders under way at once.
const AT_ONCE: usize = 64;
/// After this time no further order begins: the answer says how many are left.
const NO_LONGER: Duration = Duration::from_secs(8);

/// Cancels those that fit, whatever state the filter has, or counts them.
pub async fn many(
    admin: Arc<AdminContext>,
    which: MessageFilter,
    dry_run: bool,
    by: String,
) -> Result<CancelReport, Refusal> {
    let result = ordered(&admin.node, which, dry_run, &by).await;
    let counts = result.as_ref().map(|done| (done.cancelled, done.matched));
    unmatched::audit_many(&by, "cancel", counts, dry_run);
    result
}

async fn ordered(
    node: &Arc<NodeContext>,
    which: MessageFilter,
    dry_run: bool,
    by: &str,
) -> Result<CancelReport, Refusal> {
    let started = Instant::now();
    let (found, next_before) = find(node, which, started).await?;
    let mut report = CancelReport {
        dry_run,
        matched: found.len() as u64,
        next_before: next_before.map(|before| before.to_string()),
        ..CancelReport::default()
    };
    if dry_run {
        return Ok(report);
    }
    let cancel = |id: u64| {
        let node = Arc::clone(node);
        let by = by.to_owned();
        async move {
            if started.elapsed() > NO_LONGER {
                return None;
            }
            let order = CommandMessage {
                id,
                verb: Verb::Cancel.into(),
                by,
                ..CommandMessage::default()
            };
            Some((id, orders::message::carry_out(&node, &order).await))
        }
    };
    let mut outcomes = stream::iter(found.into_iter().map(cancel)).buffer_unordered(AT_ONCE);
    while let Some(outcome) = outcomes.next().await {
        match outcome {
            // Another node has not said yet that it is: a session of it may have the message.
            None | Some((_, Ok(Commanded { pending: true, .. }))) => report.left += 1,
            Some((_, Ok(_))) => report.cancelled += 1,
            Some((id, Err(refusal))) => {
                report.refused += 1;
                unmatched::give_reason(&mut report.reasons, id, refusal);
            }
        }
    }
    Ok(report)
}

/// The ids of messages that can be cancelled, newest first, and where older ones continue.
async fn find(
    node: &Arc<NodeContext>,
    which: MessageFilter,
    started: Instant,
) -> Result<(Vec<u64>, Option<u64>), Refusal> {
    let most = which.limit as usize;
    let asked = MessageFilter {
        state: MessageState::Enroute,
        ..which
    };
    let mut question = messages::question(node, asked)?;
    let mut found = Vec::new();
    loop {
        question.search.limit = PAGE.min(most - found.len());
        let page = messages::page(node, &question).await?;
        let whole = page.messages.iter().map(|stored| &stored.message);
        let whole = whole.filter(|message| !content::is_part(message));
        let ids = whole.map(|message| message.id).collect();
        let histories = node.store.histories(ids).await?;
        let open = histories.into_iter().flatten().filter(is_open);
        found.extend(open.map(|history| history.stored.message.id));
        match page.next_before {
            Some(next) if found.len() < most && started.elapsed() < NO_LONGER / 2 => {
                question.search.before = Some(next);
            }
            next => return Ok((found, next)),
        }
    }
}

/// Whether no operator has it. The parts of a divided text are asked one by one.
fn is_open(history: &MessageHistory) -> bool {
    let parts = history.stored.message.composition.as_deref();
    let is_divided = parts.is_some_and(|composition| !composition.sent_as.is_empty());
    history.stored.fin.is_none() && (is_divided || history.accepted_attempt().is_none())
}
