//! Messages in the form of the admin API: the store's rows with names instead of ids.

use std::sync::Arc;

use super::{damaged, waits};
use crate::actors::context::remote_command;
use crate::actors::context::traced;
use crate::actors::context::{NodeContext, pages};
use crate::actors::control::export::Records;
use crate::actors::ingress::ingest::Intake;
use crate::actors::orders;
use crate::clock;
use crate::domain::address::mask;
use crate::domain::trace::to_hex;
use crate::pb::message_view::Stage;
use crate::pb::order::What;
use crate::pb::{
    AttemptView, ChangeView, EraseRecords, EraseSubscriber, ErasedMessages, FinalView, MessageList,
    MessageState, MessageView, Refusal, SearchMessages, TraceView,
};
use crate::store::archive::Erased;
use crate::store::heard::HeardRow;
use crate::store::{ChangeKind, FinRow, Found, History, Search, SentRow, Stored};

/// One message with its whole history.
pub(super) async fn find(node: Arc<NodeContext>, id: u64) -> Result<MessageView, Refusal> {
    let history = match orders::history(&node, id).await {
        Ok(history) => history,
        Err(refusal) => return Err(damaged::instead(&node, id, refusal).await),
    };
    if history.stored.fin.is_none()
        && let Some(since) = orders::held_since(&node, id).await?
    {
        return Ok(MessageView {
            stage: Stage::Held.into(),
            due_at: 0,
            waits: Some(waits::held(since)),
            ..view(&node, history)
        });
    }
    let stage = stage(&history, clock::now_ms());
    let waits = waits::why(&node, &history, stage, history.due_at()).await;
    Ok(MessageView {
        waits,
        ..view(&node, history)
    })
}

/// A page of messages, newest first.
pub(super) async fn search(
    node: Arc<NodeContext>,
    ask: SearchMessages,
) -> Result<MessageList, Refusal> {
    let found = page(&node, &question(&node, ask)?).await?;
    Ok(MessageList {
        messages: found
            .messages
            .into_iter()
            .map(|stored| list_entry(&node, stored))
            .collect(),
        next_before: found.next_before.unwrap_or_default(),
    })
}

/// A search in terms of the store, and the queue that the messages are to be in.
pub(super) struct Question {
    pub(super) search: Search,
    queue: Option<u32>,
}

/// The search in terms of the store.
///
/// # Errors
/// A name that does not exist.
pub(super) fn question(node: &NodeContext, ask: SearchMessages) -> Result<Question, Refusal> {
    let state = match ask.state() {
        MessageState::Unspecified => None,
        state => Some(state),
    };
    let sender = match ask.sender.as_str() {
        "" => None,
        name => Some(sender(node, name)?),
    };
    let queue = match ask.operator.as_str() {
        "" => None,
        name => Some(operator(node, name)?),
    };
    let search = Search {
        to: (!ask.to.is_empty()).then_some(ask.to),
        from: (!ask.from.is_empty()).then_some(ask.from),
        sender,
        since: (ask.since != 0).then_some(ask.since),
        until: (ask.until != 0).then_some(ask.until),
        state,
        before: (ask.before != 0).then_some(ask.before),
        limit: ask.limit as usize,
    };
    Ok(Question { search, queue })
}

/// A page of the store, which has no index of queues over time.
pub(super) async fn page(node: &NodeContext, question: &Question) -> Result<Found, Refusal> {
    let in_queue = |stored: &Stored| question.queue.is_none_or(|queue| stored.queue == queue);
    let read = async |before, limit| node.store.search(question.search.at(before, limit)).await;
    let Search { before, limit, .. } = question.search;
    Ok(pages::full_page(before, limit, read, in_queue).await?)
}

/// The id of an account or operator that sends messages.
pub(super) fn sender(node: &NodeContext, name: &str) -> Result<u32, Refusal> {
    node.plan().sender(name).ok_or_else(|| {
        Refusal::not_found(format!(
            "there is no account {name:?} and never was; GET /v1/queues lists accounts and operators"
        ))
    })
}

/// The id of an operator or queue, by its name in routes or in the list of queues.
pub(super) fn operator(node: &NodeContext, name: &str) -> Result<u32, Refusal> {
    let plan = node.plan();
    // An account may have the same name.
    let known = plan.queue_of(name).or_else(|| plan.sender(name));
    known.ok_or_else(|| {
        Refusal::not_found(format!(
            "there is no operator {name:?} and never was; GET /v1/queues lists operators and accounts"
        ))
    })
}

/// Erases a subscriber's number and texts in finished messages.
pub(super) async fn erase(
    node: Arc<NodeContext>,
    intake: Arc<Intake>,
    records: Records,
    ask: EraseSubscriber,
) -> Result<ErasedMessages, Refusal> {
    let whom = mask(ask.msisdn.as_bytes());
    let number = Some(ask.msisdn.as_bytes());
    intake.networks.forget_everywhere(&node, number).await?;
    intake.imsis.forget_everywhere(&node, number).await?;
    let result = node.store.erase_msisdn(ask.msisdn.clone()).await;
    match &result {
        Ok(done) => tracing::info!(
            target: "audit",
            by = ask.by, command = "erase", what = %whom, count = done.erased, active = done.active,
            "command carried out"
        ),
        Err(error) => tracing::warn!(
            target: "audit",
            by = ask.by, command = "erase", what = %whom, reason = %error,
            "command refused"
        ),
    }
    let Erased { erased, active } = result?;
    let msisdn = ask.msisdn;
    let others = What::EraseRecords(EraseRecords {
        msisdn: msisdn.clone(),
    });
    remote_command::to_others(&node, others).await?;
    erase_records(records, msisdn).await.map_err(|error| {
        Refusal::unavailable(format!(
            "number and text are gone from {erased} messages, but not from all CDRs or the archive: {error}"
        ))
    })?;
    Ok(ErasedMessages { erased, active })
}

/// Erases a number in the call detail records of this node.
pub(super) async fn erase_records(records: Records, msisdn: String) -> std::io::Result<()> {
    let count = records.erase(msisdn).await?;
    tracing::info!(target: "audit", count, "a number was taken out of the CDRs");
    Ok(())
}

/// The stage that a message has reached, according to its rows.
pub(super) fn stage(history: &History, now: i64) -> Stage {
    if history.stored.fin.is_some() {
        return Stage::Final;
    }
    if history.accepted_attempt().is_some() {
        return Stage::HandedOver;
    }
    if history.due_at() > now {
        return Stage::Scheduled;
    }
    Stage::Waiting
}

pub(super) fn view(node: &NodeContext, history: History) -> MessageView {
    let now = clock::now_ms();
    let stage = stage(&history, now);
    let due_at = history.due_at();
    let (mut told, mut given_up) = (history.told, false);
    if history
        .changes
        .iter()
        .any(|change| change.kind == ChangeKind::GiveUp)
    {
        (told, given_up) = (false, told);
    }
    MessageView {
        stage: stage.into(),
        due_at: if stage == Stage::Scheduled { due_at } else { 0 },
        history: history
            .attempts
            .into_iter()
            .map(|attempt| attempt_view(node, attempt))
            .collect(),
        changes: in_order(
            history
                .heard
                .iter()
                .map(|heard| heard_view(node, heard))
                .chain(history.changes.into_iter().map(|change| ChangeView {
                    at: change.at,
                    kind: change.name().to_owned(),
                    queue: match change.kind {
                        ChangeKind::Move => node.name_of(change.queue),
                        _ => String::new(),
                    },
                    by: change.by,
                })),
        ),
        fin: history.stored.fin.as_ref().map(|fin| FinalView {
            given_up,
            ..final_view(node, fin, told)
        }),
        ..list_entry(node, history.stored)
    }
}

/// A message for a list; the stage of an unfinished message is left out, because it would need its
/// attempts.
pub(super) fn list_entry(node: &NodeContext, stored: Stored) -> MessageView {
    let state = stored
        .fin
        .as_ref()
        .map_or(MessageState::Enroute, |fin| fin.state);
    let stage = match stored.fin {
        Some(_) => Stage::Final,
        None => Stage::Unspecified,
    };
    MessageView {
        sender: node.name_of(stored.message.sender),
        queue: node.name_of(stored.queue),
        state: state.into(),
        stage: stage.into(),
        attempts: stored.attempts,
        replayed_as: stored.replayed_as,
        fin: stored.fin.as_ref().map(|fin| final_view(node, fin, false)),
        trace: trace_view(node, &stored),
        message: Some(stored.message),
        ..MessageView::default()
    }
}

fn trace_view(node: &NodeContext, stored: &Stored) -> Option<TraceView> {
    let end = stored.fin.as_ref().map(|fin| (fin.state, fin.at));
    let context = traced::shown(node, &stored.message, end)?;
    let trace_id = to_hex(&context.trace_id);
    let url = node.plan().config.telemetry.trace_url.clone();
    Some(TraceView {
        traceparent: context.traceparent(context.parent),
        url: url.map_or_else(String::new, |url| url.replace("{trace_id}", &trace_id)),
        trace_id,
    })
}

fn final_view(node: &NodeContext, fin: &FinRow, told: bool) -> FinalView {
    FinalView {
        at: fin.at,
        done_at: fin.done_at,
        error: fin.error.clone(),
        operator: node.name_of(fin.operator),
        tell: node.name_of(fin.tell),
        told,
        given_up: false,
    }
}

/// What an operator said of a message without ending it: its word, and its error.
fn heard_view(node: &NodeContext, heard: &HeardRow) -> ChangeView {
    let word = String::from_utf8_lossy(&heard.word);
    let error = String::from_utf8_lossy(&heard.error);
    ChangeView {
        at: heard.at,
        kind: "heard".to_owned(),
        queue: node.name_of(heard.operator),
        by: match error.is_empty() {
            true => word.into_owned(),
            false => format!("{word} err:{error}"),
        },
    }
}

fn in_order(changes: impl Iterator<Item = ChangeView>) -> Vec<ChangeView> {
    let mut changes: Vec<ChangeView> = changes.collect();
    changes.sort_by_key(|change| change.at);
    changes
}

fn attempt_view(node: &NodeContext, attempt: SentRow) -> AttemptView {
    let unanswered = attempt.status == SentRow::NO_ANSWER;
    AttemptView {
        attempt: attempt.attempt,
        at: attempt.at,
        queue: node.name_of(attempt.operator),
        status: if unanswered { 0 } else { attempt.status },
        unanswered,
        operator_message_id: attempt.operator_message_id,
        latency_ms: attempt.latency_ms,
        bind: attempt.bind,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pb::Message;
    use crate::store::RetryRow;

    fn fresh() -> History {
        History {
            stored: Stored {
                message: Message::default(),
                queue: 1,
                fin: None,
                attempts: 0,
                replayed_as: 0,
                sent_at: 0,
            },
            attempts: Vec::new(),
            retry: None,
            told: false,
            changes: Vec::new(),
            heard: Vec::new(),
        }
    }

    fn attempt(status: u32) -> SentRow {
        SentRow {
            id: 1,
            attempt: 1,
            at: 0,
            operator: 1,
            status,
            operator_message_id: bytes::Bytes::new(),
            latency_ms: 0,
            correlation: 0,
            bind: 0,
            known_as: None,
        }
    }

    #[test]
    fn the_stage_follows_from_the_rows() {
        let mut history = fresh();
        assert_eq!(stage(&history, 1_000), Stage::Waiting);
        history.stored.message.due_at = 2_000;
        assert_eq!(stage(&history, 1_000), Stage::Scheduled);
        // A retry row replaces the time of the submission.
        history.attempts.push(attempt(0x58));
        history.retry = Some(RetryRow {
            id: 1,
            due_at: 900,
            attempts: 1,
        });
        assert_eq!(stage(&history, 1_000), Stage::Waiting);
        history.attempts.push(attempt(SentRow::NO_ANSWER));
        assert_eq!(stage(&history, 1_000), Stage::Waiting);
        history.attempts.push(attempt(0));
        assert_eq!(stage(&history, 1_000), Stage::HandedOver);
        history.stored.fin = Some(FinRow {
            id: 1,
            at: 950,
            state: MessageState::Delivered,
            error: bytes::Bytes::new(),
            operator: 1,
            tell: 0,
            done_at: 0,
            remote_item: bytes::Bytes::new(),
            remote_part: 0,
        });
        assert_eq!(stage(&history, 1_000), Stage::Final);
    }
}
